"""The cheap part of an audit, which every run makes of its data."""

import numpy as np

from ltr.audit.degenerate import silent_tool_findings
from ltr.audit.findings import Finding
from ltr.audit.leaks import label_leaks
from ltr.audit.overlap import overlaps
from ltr.data.groups import Groups, select

ENOUGH = 20_000  # groups to look for leaks in


def quick_findings(train: Groups, test: Groups | None, *, is_share: bool = False) -> list[Finding]:
    """Tools without a text, leaks of the label, and what training and test data share.

    A test set that is a share of the training files has the same files by design (`is_share`), but other groups.
    """
    shared = [] if test is None else list(overlaps(test, train))
    shared = [finding for finding in shared if not (is_share and finding.code == "overlap-file")]
    if shared and shared[0].code == "overlap-file":  # the other overlaps follow from it
        del shared[1:]
    groups = len(train.offsets) - 1
    sample = select(train, np.arange(0, groups, -(-groups // ENOUGH)))
    return [*silent_tool_findings(train.candidates), *label_leaks(sample), *shared]
