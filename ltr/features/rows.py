"""What the rows of candidates and groups are of: their queries, and which of them were right."""

import numpy as np

from ltr.arrays import IntArray
from ltr.data.groups import Candidates, Groups


def row_queries(candidates: Candidates) -> IntArray:
    """The query of each row."""
    return np.repeat(candidates.queries, np.diff(candidates.offsets))


def right_rows(groups: Groups) -> IntArray:
    """The rows whose candidate was right."""
    return np.flatnonzero(groups.labels > 0)
