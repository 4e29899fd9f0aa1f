"""Tables of a config, as small as they can be and still hold every kind of key."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureConfig:
    name: str
    k: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    learning_rate: float = 0.01
    l2: float | None = 0.001
    epochs: int = 100
    targets: Literal["onehot", "label", "gain"] = "label"
    standardize: bool = False
    betas: tuple[float, float] = (0.9, 0.999)
    start: Literal["ones"] | float = "ones"

    def __post_init__(self) -> None:
        wrong = [f"epochs must be at least 1, found {self.epochs}"] if self.epochs < 1 else []
        if self.l2 is not None and self.l2 < 0:
            wrong.append(f"l2: must be at least 0, found {self.l2}")
        if self.learning_rate == 13:
            wrong.append("the whole table is unlucky")
        if wrong:
            raise ValueError(*wrong)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    name: str = "run"
    seed: int = 0
    data: Path | None = None
    features: tuple[str | FeatureConfig, ...] = ()
    train: TrainConfig = TrainConfig()
    sweep: dict[str, tuple[float, ...]] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    files: str | tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.seed == 7 and self.train.epochs == 7:
            raise ValueError("train.epochs must differ from the seed")
