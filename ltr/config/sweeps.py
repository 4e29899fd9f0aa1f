"""Sweeps: a config with lists of values to try becomes one config for each combination of them."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr.config.run import RunConfig, run_config
from ltr.config.text import Document, KeyPath, Value, path_text, value_text
from ltr.errors import MOST_PROBLEMS_SHOWN, ConfigError, Place, Problem
from ltr.paths import AnyPath, safe_name

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
    """Return the runs of a config file: all combinations of its sweep, or the one run of a config without."""
    return runs(Document.read(path, overrides))


def runs(document: Document, *, with_files: bool = False) -> tuple[Point, ...]:
    """Return the runs of the document, in the order of the grid: the last key varies fastest.

    A ConfigError names every mistake, each where its value stands; `with_files`, also every file that is not there.
    """
    axes, count = _axes(document), document.get(COUNT)
    problems = list(_mistakes(document, axes))
    points: tuple[Point, ...] = ()
    if axes and not problems and (count is None or type(count) is int):
        points = tuple(_points(document, axes))
    else:
        try:
            points = (Point(run_config(document), {}),)
        except ConfigError as error:
            problems += error.problems
        document.refuse(problems)
    if with_files:
        _refuse_missing_files(document, points, axes)
    return points


def _refuse_missing_files(document: Document, points: Sequence[Point], axes: Sequence[Axis]) -> None:
    swept_places = {axis.path: axis.places[0] for axis in axes}
    problems = {
        (path, problem): Problem(swept_places.get(path_text(path[:2]), document.place(path)), path_text(path), problem)
        for point in points
        for path, problem in point.config.data.missing_files()
    }
    document.refuse(problems.values())


def _axes(document: Document) -> tuple[Axis, ...]:
    """Return the axes of the sweep without those of the file that a flag replaced, however spelt."""
    swept = document.get(SWEEP)
    axes = tuple(_lists(document, swept, (SWEEP,)) if isinstance(swept, dict) else ())
    flagged = {axis.keys for axis in axes if axis.places[0].source != document.source}
    return tuple(axis for axis in axes if axis.keys not in flagged or axis.places[0].source != document.source)


def _lists(document: Document, swept: Mapping[str, Value], above: KeyPath) -> Iterator[Axis]:
    """Yield the lists of values, whether their path stands as one key or as mappings in mappings."""
    for key, entry in swept.items():
        here = (*above, key)
        if isinstance(entry, dict) and entry:
            yield from _lists(document, entry, here)
            continue
        values = tuple(entry) if isinstance(entry, list) else ()
        places = tuple(document.place((*here, index)) for index in range(len(values)))
        yield Axis(".".join(map(str, here[1:])), values, places or (document.place(here),))


def _mistakes(document: Document, axes: Sequence[Axis]) -> Iterator[Problem]:
    """Yield what is wrong with a sweep before its values are looked at."""
    for place, axis in enumerate(axes):
        yield from _axis_mistakes(axis, axes[:place])
    total, count = math.prod(len(axis.values) for axis in axes), document.get(COUNT)
    if not axes:
        if count is not None and not document.get(SWEEP):
            yield document.problem((COUNT,), "there is no sweep to draw from")
    elif isinstance(count, int) and not 1 <= count <= total:
        yield document.problem((COUNT,), f"{count} is not between 1 and the {total:,} combinations")
    elif (wanted := count if isinstance(count, int) else total) > MOST_RUNS:
        why = f"{wanted:,} runs; at most {MOST_RUNS:,} are possible, sweep_count draws some of them"
        yield document.problem((SWEEP,), why)
    elif total > MOST_COMBINATIONS:
        yield document.problem((SWEEP,), f"more than {MOST_COMBINATIONS:,} combinations")


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
        earlier = axis.values[:index]
        if any(value == other and isinstance(value, bool) == isinstance(other, bool) for other in earlier):
            yield Problem(axis.places[index], name, f"{value_text(value)} stands twice")
    for other in before:
        shorter = min(len(axis.keys), len(other.keys))
        if axis.keys[:shorter] == other.keys[:shorter]:
            yield Problem(axis.places[0], name, f"{other.path} is swept too, and one holds the other")


def _points(document: Document, axes: Sequence[Axis]) -> Iterator[Point]:
    """Yield each combination as a config; raise all that is wrong with any of them as one error."""
    base = document.without(SWEEP, COUNT)
    problems: dict[tuple[str, str], Problem] = {}
    for indices in _combinations(document, [len(axis.values) for axis in axes]):
        try:
            yield _point(base, axes, indices)
        except ConfigError as error:
            problems = {(problem.path, problem.message): problem for problem in error.problems} | problems
        if len(problems) > MOST_PROBLEMS_SHOWN:
            break
    document.refuse(problems.values())


def _combinations(document: Document, sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the places of the values of each combination: of all, or of as many as asked for, each drawn once."""
    total, count, seed = math.prod(sizes), document.get(COUNT), document.get("seed")
    numbers: Any = range(total)
    if isinstance(count, int):
        generator = np.random.default_rng(abs(seed) if isinstance(seed, int) else 0)
        numbers = sorted(generator.choice(total, count, replace=False).tolist())
    for number in numbers:
        yield tuple(int(place) for place in np.unravel_index(number, sizes))


def _point(base: Document, axes: Sequence[Axis], indices: Sequence[int]) -> Point:
    document, values = base, dict[str, Any]()
    for axis, index in zip(axes, indices, strict=True):
        document = document.replace(axis.path, axis.values[index], axis.places[index])
        values[axis.path] = axis.values[index]
    name = base.value.get("name", RunConfig.name)
    if isinstance(name, str):
        document = document.replace("name", run_name(name, values), base.place(("name",)))
    return Point(run_config(document), values)


def run_name(name: str, values: Mapping[str, Any]) -> str:
    """Return the name of a run of a sweep: of the values it tries, so that it stays when the sweep grows.

    >>> run_name("tools", {"train.l2": 0.1, "seed": 3})
    'tools-l2-0.1-seed-3'
    """
    paths = [Axis(path, (), ()).keys for path in values]
    leaves = [keys[-1] for keys in paths]
    is_plain = [leaves.count(leaf) == 1 and not leaf.isdigit() for leaf in leaves]
    labels = [leaf if plain else ".".join(keys) for leaf, plain, keys in zip(leaves, is_plain, paths, strict=True)]
    return "-".join([name, *(f"{label}-{_text(value)}" for label, value in zip(labels, values.values(), strict=True))])


def _text(value: Any) -> str:
    """Return a value in a name; a list or mapping by a hash of it."""
    if isinstance(value, list | dict):
        return safe_name(f"/{value!r}").rpartition("-")[2]
    return safe_name(value if isinstance(value, str) else value_text(value))
