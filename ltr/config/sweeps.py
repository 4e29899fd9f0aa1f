"""Sweeps: a config with lists of values to try becomes one config for each combination of them."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr.config.run import RunConfig, checked
from ltr.configtext import dataclass_checks
from ltr.configtext.config_file import read_document
from ltr.configtext.parsed_document import Document, KeyPath, Value, path_text, value_text
from ltr.data.config import missing_files
from ltr.errors import MOST_PROBLEMS_SHOWN, ConfigError, Place, Problem
from ltr.files.path_arguments import AnyPath
from ltr.files.safe_file_names import safe_name

SWEEP, COUNT = "sweep", "sweep_count"
OWN = ("name", SWEEP, COUNT)  # keys that are no setting of a run
MOST_RUNS = 1_000
MOST_VALUES = 1_000  # of one key; beyond, looking for what stands twice takes long
MOST_COMBINATIONS = 10**15


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a config: with the values that it tries, by path; none without a sweep."""

    config: RunConfig
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Axis:
    """The values that a sweep gives one key, and where each stands."""

    path: str
    values: tuple[Value, ...]
    places: tuple[Place, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The parts of the path."""
        return tuple(part for part in re.split(r"[.\[\]]+", self.path) if part)


def sweep(path: AnyPath | None = None, overrides: Sequence[str] = ()) -> tuple[Point, ...]:
    """The runs of a config file: all combinations of its sweep, or the one run of a config without."""
    return expanded(read_document(path, overrides), path)


def expanded(document: Document, path: AnyPath | None = None) -> tuple[Point, ...]:
    """The runs of the document, in the order of the grid: the last key varies fastest.

    A ConfigError names every mistake, each where its value stands.
    """
    sweep, count = document.value.get(SWEEP), document.value.get(COUNT)
    axes = _latest(document, tuple(_axes(document, sweep, (SWEEP,)))) if isinstance(sweep, dict) else ()
    problems = list(_mistakes(document, axes) if axes else _lonely_count(document))
    if axes and not problems and (count is None or type(count) is int):
        return tuple(_points(document, path, axes))
    try:
        config = checked(document, path)
    except ConfigError as error:
        problems += error.problems
    _refuse(document, problems)
    return (Point(config, {}),)


def refuse_missing_files(document: Document, points: Iterable[Point]) -> None:
    """Raise a ConfigError that names every file of the runs that is not there; the runs are those of the document."""
    sweep, problems = document.value.get(SWEEP), {}
    swept_places = (
        {axis.path: axis.places[0] for axis in _axes(document, sweep, (SWEEP,))} if isinstance(sweep, dict) else {}
    )
    for point in points:
        for path, problem in missing_files(point.config.data):
            place = swept_places.get(path_text(path[:2]), document.place(path))
            problems[path, problem] = Problem(place, path_text(path), problem)
    _refuse(document, problems.values())


def _axes(document: Document, sweep: Mapping[str, Value], above: KeyPath) -> Iterator[Axis]:
    """The lists of values, whether their path stands as one key or as mappings in mappings."""
    for key, entry in sweep.items():
        here = (*above, key)
        if isinstance(entry, dict) and entry:
            yield from _axes(document, entry, here)
            continue
        values = tuple(entry) if isinstance(entry, list) else ()
        places = tuple(document.place((*here, index)) for index in range(len(values)))
        yield Axis(".".join(str(part) for part in here[1:]), values, places or (document.place(here),))


def _latest(document: Document, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The axes without those of the file that a flag has replaced, however either spells the path."""
    flagged = {axis.keys for axis in axes if axis.places[0].source != document.source}
    return tuple(axis for axis in axes if axis.keys not in flagged or axis.places[0].source != document.source)


def _lonely_count(document: Document) -> Iterator[Problem]:
    if document.value.get(COUNT) is not None and not document.value.get(SWEEP):
        yield Problem(document.place((COUNT,)), COUNT, "there is no sweep to draw from")


def _mistakes(document: Document, axes: Sequence[Axis]) -> Iterator[Problem]:
    """What is wrong with a sweep before its values are looked at."""
    for place, axis in enumerate(axes):
        yield from _axis_mistakes(axis, axes[:place])
    total, count = math.prod(len(axis.values) for axis in axes), document.value.get(COUNT)
    if isinstance(count, int) and not 1 <= count <= total:
        yield Problem(document.place((COUNT,)), COUNT, f"{count} is not between 1 and the {total:,} combinations")
    elif (runs := count if isinstance(count, int) else total) > MOST_RUNS:
        why = f"{runs:,} runs; at most {MOST_RUNS:,} are possible, sweep_count draws some of them"
        yield Problem(document.place((SWEEP,)), SWEEP, why)
    elif total > MOST_COMBINATIONS:
        yield Problem(document.place((SWEEP,)), SWEEP, f"more than {MOST_COMBINATIONS:,} combinations")


def _axis_mistakes(axis: Axis, before: Sequence[Axis]) -> Iterator[Problem]:
    name = f"{SWEEP}.{axis.path}"
    if not axis.keys or axis.keys[0] in OWN:
        yield Problem(axis.places[0], name, "cannot be swept; a path such as train.l2 is needed")
    if not axis.values:
        yield Problem(axis.places[0], name, "a list of values is needed, such as [0.01, 0.1]")
    if len(axis.values) > MOST_VALUES:
        yield Problem(axis.places[0], name, f"{len(axis.values):,} values; at most {MOST_VALUES:,} are possible")
        return
    for index, value in enumerate(axis.values):
        if any(_same(value, other) for other in axis.values[:index]):
            yield Problem(axis.places[index], name, f"{value_text(value)} stands twice")
    for other in before:
        shorter = min(len(axis.keys), len(other.keys))
        if axis.keys[:shorter] == other.keys[:shorter]:
            yield Problem(axis.places[0], name, f"{other.path} is swept too, and one holds the other")


def _same(value: Value, other: Value) -> bool:
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _points(document: Document, path: AnyPath | None, axes: Sequence[Axis]) -> Iterator[Point]:
    """Each combination as a config; all that is wrong with any of them as one error."""
    unswept = {key: value for key, value in document.value.items() if key not in (SWEEP, COUNT)}
    base = Document(document.source, unswept, document.places)
    problems: dict[tuple[str, str], Problem] = {}
    for indices in _combinations(document, [len(axis.values) for axis in axes]):
        try:
            yield _point(base, path, axes, indices)
        except ConfigError as error:
            problems = {(problem.path, problem.message): problem for problem in error.problems} | problems
        if len(problems) > MOST_PROBLEMS_SHOWN:
            break
    _refuse(document, problems.values())


def _combinations(document: Document, sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The places of the values of each combination: all of them, or as many as asked for, drawn without repetition."""
    total, count, seed = math.prod(sizes), document.value.get(COUNT), document.value.get("seed")
    numbers = np.arange(total) if count is None else _drawn(total, count, seed if isinstance(seed, int) else 0)
    yield from (tuple(int(place) for place in np.unravel_index(number, sizes)) for number in numbers)


def _drawn(total: int, count: Any, seed: int) -> list[int]:
    return sorted(np.random.default_rng(abs(seed)).choice(total, count, replace=False).tolist())


def _point(base: Document, path: AnyPath | None, axes: Sequence[Axis], indices: Sequence[int]) -> Point:
    document, values = base, dict[str, Any]()
    for axis, index in zip(axes, indices, strict=True):
        document = document.replace(axis.path, axis.values[index], axis.places[index])
        values[axis.path] = axis.values[index]
    name = base.value.get("name", RunConfig.name)
    if isinstance(name, str):
        document = document.replace("name", run_name(name, values), base.place(("name",)))
    return Point(checked(document, path), values)


def run_name(name: str, values: Mapping[str, Any]) -> str:
    """The name of a run of a sweep: of the values it tries, so that it stays when the sweep grows.

    >>> run_name("tools", {"train.l2": 0.1, "seed": 3})
    'tools-l2-0.1-seed-3'
    """
    paths = {path: Axis(path, (), ()).keys for path in values}
    leaves = [keys[-1] for keys in paths.values()]
    labels = [
        keys[-1] if leaves.count(keys[-1]) == 1 and not keys[-1].isdigit() else ".".join(keys)
        for keys in paths.values()
    ]
    return "-".join([name, *(f"{label}-{_text(value)}" for label, value in zip(labels, values.values(), strict=True))])


def _text(value: Any) -> str:
    """A value in a name; a list or mapping by a hash of it."""
    if isinstance(value, list | dict):
        return safe_name(f"/{value!r}").rpartition("-")[2]
    return safe_name(value if isinstance(value, str) else value_text(value))


def _refuse(document: Document, problems: Iterable[Problem]) -> None:
    ordered = dataclass_checks.in_order(document, problems)
    if ordered:
        raise ConfigError(ordered)


def swept(values: Mapping[str, Any]) -> str:
    """The values that a run tries, to read."""
    return ", ".join(f"{path_text((path,))} {value_text(value)}" for path, value in values.items())
