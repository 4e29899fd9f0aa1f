"""Candidates of one group that have the same name: merged if they are right and all the same, else a contradiction.

So are none beside a right one, and none alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ltr.arrays import IntArray
from ltr.data.draw_rules_and_probabilities import Draws
from ltr.data.sample_reader import NONE_ALONE, Samples
from ltr.data.source_files import place
from ltr.data.value_excerpts import excerpt
from ltr.errors import SampleError, count

REPEATED = "repeated-candidate"  # the code of the finding


@dataclass(frozen=True, slots=True)
class Repetitions:
    """Right rows that repeat one of their group in all that they say: how many, and the first of them."""

    number: int = 0
    example: str = ""

    def __add__(self, other: "Repetitions") -> "Repetitions":
        return Repetitions(self.number + other.number, self.example or other.example)

    def __str__(self) -> str:
        """What is said of them; nothing where there are none."""
        rows = count(self.number, "right candidate stands", "right candidates stand")
        said = f"{REPEATED}: {rows} twice for the same group, such as {self.example}"
        return f"{said}: each counts once" if self.number else ""


NOTHING_TWICE = Repetitions()


def merge_repetitions(samples: Samples) -> tuple[Samples, Repetitions]:
    """The samples without right rows that repeat one of their group in all that they say, and what those were.

    What was right is what was called, and a tool may be called twice for one query. What was offered is a list, and a
    list with one name twice was written wrongly: it stays, and is refused.
    """
    again, before = repeated_rows(samples)
    if again.size:
        is_alike = (samples.labels[again] > 0) & (samples.labels[again] == samples.labels[before])
        for codes in (samples.descriptions, samples.types, samples.trees):
            is_alike &= codes[again] == codes[before] if codes.size else True
        if samples.features is not None:
            is_alike &= (samples.features[again] == samples.features[before]).all(axis=1)
        if (draws := Draws.of(samples.draw_rules, samples.draw_probabilities)) is not None:
            is_alike &= draws.are_alike(again, before)
        again, before = again[is_alike], before[is_alike]
    if not again.size:
        return samples, NOTHING_TWICE
    first = int(np.argmin(again))
    here, there = ("{}:{}".format(*place(samples.files, int(samples.lines[rows[first]]))) for rows in (again, before))
    name = excerpt(samples.name_texts[samples.names[again[first]]])
    rest = np.setdiff1d(np.arange(len(samples.labels)), again)
    return samples.at(rest), Repetitions(len(again), f"{name} in {there} and {here}")


def refuse_contradictions(samples: Samples) -> None:
    """Raise for the first name that its group has already, and for the first none that cannot be."""
    for _, error in first_contradictions(samples):
        raise error


def first_contradictions(samples: Samples) -> Iterator[tuple[int, SampleError]]:
    """The first name that its group has already (0), and the first none that cannot be (1)."""
    repeated, before = repeated_rows(samples)
    if repeated.size:
        first = int(np.argmin(repeated))
        yield 0, repetition_error(samples, int(repeated[first]), int(before[first]))
    for error, _ in none_errors(samples):
        yield 1, error
        return


def repeated_rows(samples: Samples) -> tuple[IntArray, IntArray]:
    """The rows whose name an earlier row of their group has, and for each the last such row."""
    keys = samples.groups * len(samples.name_texts) + samples.names
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    repeated = np.flatnonzero(keys[order[1:]] == keys[order[:-1]]) + 1
    return order[repeated], order[repeated - 1]


def repetition_error(samples: Samples, row: int, before: int) -> SampleError:
    """The error for a row whose name the row `before` has for the same group."""
    path, line = place(samples.files, int(samples.lines[row]))
    first_path, first_line = place(samples.files, int(samples.lines[before]))
    name = excerpt(samples.name_texts[samples.names[row]])
    field = "tool" if samples.kind == "tool" else "candidate_id"
    problem = f"found {name} again; {first_path}:{first_line} has it for the same group: keep one of them"
    return SampleError(path, line, field, problem)


def none_without_label(samples: Samples) -> Iterator[tuple[SampleError, int]]:
    """None candidates without a label beside rows that have one, each with its group."""
    if samples.none is None or np.isnan(samples.labels).all():
        return
    missing = np.isnan(samples.none.labels)
    for group, line in zip(samples.none.groups[missing].tolist(), samples.none.lines[missing].tolist(), strict=True):
        yield SampleError(*place(samples.files, line), "label", "missing; 0 or 1 is needed beside none"), group


def none_errors(samples: Samples) -> Iterator[tuple[SampleError, int]]:
    """What is wrong with none candidates, in file order, each error with its group."""
    none = samples.none
    if none is None:
        return
    rows_of_group = np.bincount(samples.groups, minlength=len(samples.traces))
    right_rows = np.flatnonzero(samples.labels > 0)
    right_row = dict(zip(samples.groups[right_rows].tolist(), right_rows.tolist(), strict=True))
    first_line: dict[int, int] = {}
    for group, line, label in zip(none.groups.tolist(), none.lines.tolist(), none.labels.tolist(), strict=True):
        path, number = place(samples.files, line)
        if group in first_line:
            earlier = "{}:{}".format(*place(samples.files, first_line[group]))
            problem = f"found again; {earlier} has it for the same group: keep one of them"
            yield SampleError(path, number, "none", problem), group
        elif not rows_of_group[group]:
            yield SampleError(path, number, "none", NONE_ALONE), group
        elif label == 1 and group in right_row:
            row = right_row[group]
            earlier = "{}:{}".format(*place(samples.files, int(samples.lines[row])))
            name = excerpt(samples.name_texts[samples.names[row]])
            problem = f"found 1; {earlier} has {name} as right for the same group, and either is right or none is"
            yield SampleError(path, number, "label", problem), group
        first_line.setdefault(group, line)
