"""The cheap part of the audit."""

from ltr import read_groups
from ltr.audit import quick_findings
from tests.audits import CLEAN, changed
from tests.builders import write_lines


def test_the_quick_part_is_leaks_and_overlap_only(tmp_path):
    lines = changed(CLEAN["graph"], candidate_id=lambda line: line["candidate_id"] + "_gold" * line["label"])
    groups = read_groups(str(write_lines(tmp_path / "s.jsonl", lines)))
    assert [each.code for each in quick_findings(groups, None)] == ["leak-id"]
    assert [each.code for each in quick_findings(groups, groups)] == ["leak-id", "overlap-file"]
