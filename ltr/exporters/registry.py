"""Exporters by name: each writes groups in another format."""

from collections.abc import Callable
from dataclasses import dataclass

from ltr.arrays import FloatArray
from ltr.files import AnyPath
from ltr.groups import Groups
from ltr.ranking import Ranking
from ltr.registry import Registry


@dataclass(frozen=True, slots=True, eq=False)
class Exported:
    """What there is to export."""

    groups: Groups  # labels are NaN where there are none
    phi: FloatArray | None
    names: tuple[str, ...]  # of the columns of phi
    ranking: Ranking | None


Exporter = Callable[[Exported, AnyPath], list[str]]  # the files that were written

EXPORTERS: Registry[Exporter] = Registry("exporter")
exporter = EXPORTERS.register
