"""Exporters by name: each writes groups in another format."""

from collections.abc import Callable
from dataclasses import dataclass

from ltr.arrays import FloatArray, IntArray
from ltr.data.groups import Groups
from ltr.files.path_arguments import AnyPath
from ltr.registry import Registry


@dataclass(frozen=True, slots=True, eq=False)
class Exported:
    """The groups to export, with their features and, where they were ranked, scores and order."""

    groups: Groups  # labels are NaN where there are none
    phi: FloatArray | None
    names: tuple[str, ...]  # of the columns of phi
    scores: FloatArray | None = None  # of each row, where it was ranked
    order: IntArray | None = None  # the rows of each group, the best first, where it was ranked


Exporter = Callable[[Exported, AnyPath], list[str]]  # the files that were written

EXPORTERS: Registry[Exporter] = Registry(
    "exporter",
    {
        "ltr.data.exporters.csv": ("csv",),
        "ltr.data.exporters.letor": ("letor",),
        "ltr.data.exporters.trec": ("trec",),
    },
)
exporter = EXPORTERS.register
