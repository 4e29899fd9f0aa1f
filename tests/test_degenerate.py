"""Groups that teach or measure nothing."""

import pytest

from tests.audits import CLEAN, findings_of, one_group

pytestmark = pytest.mark.contract


@pytest.mark.parametrize(
    "lines, severity, code, count",
    [
        (one_group([1]), "warning", "one-candidate", 1),
        (one_group([0, 0]), "warning", "no-positive", 1),
        (one_group([1, 1]), "warning", "all-positive", 1),
        (one_group([1, 1, 0]), "info", "several-positives", 1),
        (one_group([2, 0.5, 0]), "info", "graded-labels", 2),
        (one_group([32, 0]), "warning", "large-labels", 1),
        (one_group([1, 0], query="  "), "warning", "empty-query", 1),
        (one_group([1, 0], tool_description=None), "warning", "no-text", 2),
        (one_group([1, 0, 0], tool_description="same"), "info", "same-text", 2),
        (one_group([None, None]), "info", "no-labels", 1),
        (one_group([1, None, 0]), "error", "data-error", 1),
        ([*one_group([1]), *CLEAN["tool"][:4], *one_group([0, 0, 0])[1:]], "info", "split-group", 1),
    ],
)
def test_a_degenerate_group_is_found_with_its_severity(tmp_path, lines, severity, code, count):
    finding = findings_of(tmp_path, lines)[code]
    assert (finding.severity, finding.count) == (severity, count)
