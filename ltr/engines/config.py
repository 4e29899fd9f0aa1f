"""The section `engine` of a config."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """Who works on the shards; nothing of it changes a byte of a result."""

    name: Literal["local", "ray"] = "local"
    """local: processes of this machine; ray: a Ray cluster."""
    workers: int | None = None
    """How many shards at the same time; without it, one here, and on a cluster one for each processor."""
    address: str | None = None
    """The Ray cluster, as HOST:PORT or auto; without it, Ray starts on this machine for the time of the command."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers is {self.workers}; it must be at least 1")
