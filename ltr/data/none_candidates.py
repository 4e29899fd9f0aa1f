"""The candidate {"none": true}: that nothing offered is right. It is never a row, but a mark of its group."""

from array import array
from dataclasses import dataclass
from typing import Self

import numpy as np

from ltr.arrays import FloatArray, IntArray

ABSENT, WRONG, RIGHT = range(3)  # of a group: it has no such candidate with a label, or one with label 0, or 1


@dataclass(frozen=True, slots=True, eq=False)
class NoneCandidates:
    """Every none candidate as it was read; a group may hold one."""

    groups: IntArray  # codes
    lines: IntArray  # counted through all files
    labels: FloatArray  # 0 or 1; NaN where a line has none

    @classmethod
    def of(cls, groups: "array[int]", lines: "array[int]", labels: "array[float]") -> Self:
        """The columns as arrays."""
        return cls(np.array(groups, dtype=np.int64), np.array(lines, dtype=np.int64), np.array(labels))

    def of_groups(self, groups: IntArray) -> Self:
        """Those of the groups with these codes, in rising order, which become 0, 1 and so on."""
        is_kept = np.isin(self.groups, groups)
        codes = np.searchsorted(groups, self.groups[is_kept])
        return type(self)(codes, self.lines[is_kept], self.labels[is_kept])

    def marks(self, groups: int) -> IntArray:
        """ABSENT, WRONG or RIGHT for each of so many groups.

        >>> NoneCandidates.of(array("q", [2, 0]), array("q", [9, 4]), array("d", [1.0, 0.0])).marks(4)
        array([1, 0, 2, 0])
        """
        marks = np.full(groups, ABSENT)
        marks[self.groups[self.labels == 0]] = WRONG
        marks[self.groups[self.labels == 1]] = RIGHT
        return marks
