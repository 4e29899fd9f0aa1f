"""Groups that somebody else has ranked."""

from dataclasses import dataclass

from ltr.arrays import BoolArray, FloatArray
from ltr.data.groups import Groups


@dataclass(frozen=True, slots=True, eq=False)
class RankedGroups:
    """Each topic that counts a group: the documents retrieved for it, and those judged and not retrieved."""

    groups: Groups
    scores: FloatArray  # (rows,) 0 where not retrieved
    listed: BoolArray  # (rows,): retrieved
    num_missing: int  # topics of the qrels that the run does not have
    num_ignored: int  # topics of the run without qrels
    likely_data: tuple[tuple[str, int], ...] = ()  # files with comments that have the columns of data, and how many
