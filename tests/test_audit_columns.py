"""Columns that reveal the label, change nothing, or repeat each other."""

from ltr.audit.audit import audit_samples
from ltr.data.groups import read_groups
from ltr.features.crossfit import fit_features
from ltr.features.registry import FeatureConfig
from ltr.storage.feature_file import save_columns
from tests.audits import CLEAN, alarms, changed, findings_of
from tests.builders import write_lines


def test_a_ready_feature_that_knows_the_answer_is_found_by_number_and_direction(tmp_path):
    lines = changed(CLEAN["tool"], features=lambda line: [float(len(line["tool"])), 0.5, -3.0 * line["label"]])
    findings = findings_of(tmp_path, lines)
    assert findings["leak-feature"].message.startswith(
        "x3 alone knows the answer: its smallest value is right in 100 %"
    )
    assert findings["constant-feature"].message.startswith("x2 is the same for all candidates of each group")
    assert alarms(findings) == {"leak-feature", "constant-feature"}


def test_copies_among_the_columns_are_found(tmp_path):
    copied = changed(CLEAN["tool"], features=lambda line: [float(len(line["tool"])), 1 - 2.0 * len(line["tool"])])
    assert "x2 is x1 in another scale: r = -1.00000" in findings_of(tmp_path, copied)["collinear"].message
    plain = findings_of(tmp_path, CLEAN["tool"])["collinear"]
    assert plain.severity == "info"
    assert plain.message.startswith("tool.struct is a monotone copy of tool.rel")


def test_featurised_columns_are_examined_under_their_names(tmp_path):
    groups = read_groups(str(write_lines(tmp_path / "s.jsonl", CLEAN["tool"])))
    features, phi = fit_features([FeatureConfig("tool.rel"), FeatureConfig("tool.struct")], groups, "hash")
    save_columns(tmp_path / "s.npz", groups, phi, features)
    report = audit_samples(str(tmp_path / "s.npz"))
    assert "tool.struct is a monotone copy of tool.rel" in report.findings[0].message
