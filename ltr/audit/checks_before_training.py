"""The cheap part of an audit, which every run makes of its data."""

import numpy as np

from ltr.audit.catalogue_coverage import silent_tool_findings
from ltr.audit.findings import Finding
from ltr.audit.id_and_position_leaks import label_leaks
from ltr.audit.overlap import file_overlap, query_overlap
from ltr.data.groups import Groups, select

ENOUGH = 20_000  # groups to look for leaks in


def quick_findings(train: Groups, test: Groups | None, *, is_share: bool = False) -> list[Finding]:
    """Tools without a text, leaks of the label, and what training and test data share.

    A test set that is a share of the training files has the same files by design (`is_share`), but other groups.
    """
    shared: list[Finding] = []
    if test is not None:
        shared = [] if is_share else list(file_overlap(test, train))
        shared = shared or list(query_overlap(test, train))  # a shared file says it all
    groups = len(train.offsets) - 1
    sample = select(train, np.arange(0, groups, -(-groups // ENOUGH)))
    return [*silent_tool_findings(train.candidates), *label_leaks(sample), *shared]
