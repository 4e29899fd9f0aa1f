"""What lies in a run directory, read for a page. All of it is untrusted: types are checked, texts stay texts."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ltr.data.jsonlines import records
from ltr.errors import FileError
from ltr.evaluation.metrics.ranked import MRR, TOP1, TOP3
from ltr.files.reading import AnyPath, read_bytes, read_lines
from ltr.reporting.figures import NONE, short
from ltr.storage.model_file import LARGEST_DOCUMENT, MODEL
from ltr.storage.run_directory import CONFIG, CURVES, EXAMPLES, HISTORY, METRICS, PER_QUERY, RUN

NEEDED = {"": "a line as ltr writes it is needed"}
Kind = TypeVar("Kind")


class Weight(msgspec.Struct):
    """A feature's weight, and what is known of it."""

    weight: float
    unpenalised: float | None = None
    standard_error: float | None = None
    z: float | None = None
    low: float | None = None
    high: float | None = None
    loss_without: float | None = None
    lowest_at: float | None = None
    highest_at: float | None = None
    range: float | None = None


class Best(msgspec.Struct):
    """The best single feature."""

    name: str = ""
    sign: int = 1


class Training(msgspec.Struct):
    """What model.json says of its training."""

    best_feature: Best = msgspec.field(default_factory=Best)
    groups: int = 0
    groups_one_candidate: int = 0
    groups_no_positive: int = 0
    groups_all_alike: int = 0
    effective_groups: float | None = None
    epochs: int = 0
    objective: float | None = None
    objective_at_zero: float | None = None
    lost_to_penalty: float | None = None
    gap: float | None = None
    gap_bound: float | None = None
    gradient_norm: float | None = None
    condition_number: float | None = None
    optimum: str = ""
    deviations: list[float] | None = None
    escape: str | None = None
    not_identified: list[str] = []
    weights: dict[str, Weight] = {}
    curves: dict[str, list[tuple[float, float]]] = {}
    errors: dict[str, Any] = {}
    watched: dict[str, Any] | None = None
    warnings: list[str] = []

    def told(self, name: str) -> str:
        """The feature's weight in a cell: no number says one that changes along the way."""
        if name not in self.weights:
            return NONE
        return "a curve" if len(self.curves.get(name, ())) > 2 else short(self.weights[name].weight)


class Feature(msgspec.Struct):
    """A feature by its name."""

    name: str
    options: dict[str, Any] = {}


class ModelFile(msgspec.Struct):
    """What a page says of model.json."""

    kind: str
    features: list[Feature]
    trainer: dict[str, Any] = {}
    training: Training = msgspec.field(default_factory=Training)
    encoder: dict[str, Any] | None = None
    checksum: str = ""


class Epoch(msgspec.Struct):
    """A line of history.jsonl."""

    epoch: int
    loss: float
    valid: float | None = None


class Placed(msgspec.Struct):
    """What the histogram of ranks needs of a query."""

    rank: int | None
    num_candidates: int = 0


class Candidate(msgspec.Struct):
    """One candidate of an example."""

    candidate: str
    place: int
    is_right: bool
    is_chosen_by_best_feature: bool
    probability: float
    score: float
    contributions: list[float]


class Example(msgspec.Struct):
    """A line of examples.jsonl."""

    kind: str
    trace_id: str
    node_id: str
    query: str
    rank: int
    num_candidates: int
    features: list[str]
    candidates: list[Candidate]


class Input(msgspec.Struct):
    """A file that was read."""

    path: str
    bytes: int = 0
    sha256: str = ""


class Record(msgspec.Struct):
    """What a page says of run.json."""

    name: str = ""
    seed: int = 0
    inputs: list[Input] = []
    warnings: list[str] = []
    timings: dict[str, float] = {}
    machine: dict[str, Any] = {}
    task: dict[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """All that is kept of a run; of an evaluation the metrics, and what is known of each query."""

    path: str
    record: Record
    is_recorded: bool  # an evaluation has no record, and nobody looked at its data
    metrics: dict[str, Any]
    model: ModelFile | None
    curves: dict[str, dict[str, list[float]]]
    history: list[Epoch]
    placed: list[Placed]
    examples: list[Example]
    config: str

    @property
    def name(self) -> str:
        """What the run is called."""
        return self.record.name or Path(self.path).name or self.path

    def number(self, key: str) -> float | None:
        """A number of metrics.json; None where there is none."""
        value = self.metrics.get(key)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    @property
    def measured(self) -> list[str]:
        """The metrics, in their order: the keys before the rules and counts that made them."""
        keys = list(self.metrics)
        found = keys[: keys.index("split")] if "split" in keys else [TOP1, TOP3, MRR]
        return [
            key for key in found if key != "num_queries" and (key in (TOP1, TOP3, MRR) or self.number(key) is not None)
        ]


def read_run(directory: AnyPath, known: Record | None = None) -> RunFiles:
    """The run, or the evaluation, that lies there; `known`: what its record will say once it is written."""
    home = Path(directory)
    record = known or optional(home / RUN, Record)
    return RunFiles(
        path=home.as_posix(),
        record=record or Record(),
        is_recorded=record is not None,
        metrics=document(home / METRICS, dict[str, Any]),
        model=optional(home / MODEL, ModelFile),
        curves=optional(home / CURVES, dict[str, dict[str, list[float]]]) or {},
        history=_lines(home / HISTORY, Epoch),
        placed=_lines(home / PER_QUERY, Placed),
        examples=_lines(home / EXAMPLES, Example),
        config=_read(home / CONFIG).decode("utf-8", "replace") if (home / CONFIG).exists() else "",
    )


def optional(path: Path, kind: type[Kind]) -> Kind | None:
    """The document of the kind; None where there is no such file."""
    return document(path, kind) if path.exists() else None


def document(path: Path, kind: Callable[..., Kind]) -> Kind:
    """The document of the kind, or an error that names the file."""
    return decoded(path, _read(path), kind)


def decoded(path: Path, content: bytes, kind: Callable[..., Kind]) -> Kind:
    """The same of what is, or will be, the content of the file."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FileError(str(path), f"not what ltr writes: {error}") from error


def _read(path: Path) -> bytes:
    return read_bytes(path, limit=LARGEST_DOCUMENT)


def _lines(path: Path, kind: type[Kind]) -> list[Kind]:
    return [line for _, line in records(path, read_lines(path), kind, NEEDED)] if path.exists() else []
