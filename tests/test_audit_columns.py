"""Columns that reveal the label, change nothing, or repeat each other."""

import re
from dataclasses import replace

import numpy as np
import pytest

from ltr import audit_samples, read_groups
from ltr.errors import FileError
from ltr.features import FeatureConfig, fit_features
from ltr.featurized import load_columns
from ltr.featurized.columns import save_columns
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


@pytest.mark.parametrize(
    "changes, problem",
    [
        ({"labels": -5.0}, r"labels\[1\] \(group 0, row 1\): -5.0; it must be finite, from 0 to 1e\+300"),
        ({"labels": np.inf}, r"labels\[1\] \(group 0, row 1\): inf; it must be finite"),
        ({"weights": 0.0}, r"weights\[1\] \(group 1\): 0.0 must be finite and above 0"),
        ({"weights": np.nan}, r"weights\[1\] \(group 1\): nan must be finite and above 0"),
        ({"times": -np.inf}, r"times\[1\] \(group 1, row 0\): -inf; it must be finite"),
    ],
)
def test_a_number_that_samples_may_not_hold_is_an_error_in_a_columns_file(tmp_path, changes, problem):
    groups = read_groups(str(write_lines(tmp_path / "s.jsonl", CLEAN["tool"])))
    features, phi = fit_features([FeatureConfig("tool.rel")], groups, "hash")
    ones = np.ones(len(groups.offsets) - 1)
    columns = {"labels": groups.labels.copy(), "weights": ones.copy(), "times": ones.copy()}
    for name, value in changes.items():
        columns[name][1] = value
    save_columns(tmp_path / "s.npz", replace(groups, **columns), phi, features)
    (finding,) = audit_samples(str(tmp_path / "s.npz")).findings
    assert (finding.severity, finding.code) == ("error", "data-error")
    assert re.search(problem, finding.message)
    with pytest.raises(FileError, match=problem):
        load_columns(tmp_path / "s.npz")


def test_a_columns_file_may_hold_groups_without_labels_and_without_a_time(tmp_path):
    groups = read_groups(str(write_lines(tmp_path / "s.jsonl", CLEAN["tool"])))
    features, phi = fit_features([FeatureConfig("tool.rel")], groups, "hash")
    nothing = np.full(len(groups.labels), np.nan)
    times = np.full(len(groups.offsets) - 1, np.nan)
    save_columns(tmp_path / "s.npz", replace(groups, labels=nothing, times=times), phi, features)
    loaded = load_columns(tmp_path / "s.npz")[0]
    assert np.isnan(loaded.labels).all()
    assert np.isnan(loaded.times).all()
