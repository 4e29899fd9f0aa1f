"""The audit of samples: clean ones, and catalogues."""

import json

import pytest

from ltr import audit_samples
from tests.audits import CLEAN, alarms, changed, findings_of
from tests.builders import write_lines

pytestmark = pytest.mark.contract


@pytest.mark.parametrize("kind", CLEAN)
def test_clean_samples_give_no_error_and_no_warning(tmp_path, kind):
    assert alarms(findings_of(tmp_path, CLEAN[kind])) <= {"no-text"}  # some of the graphs are empty


def test_files_and_catalogues_that_are_not_there_are_errors(tmp_path):
    samples = write_lines(tmp_path / "s.jsonl", CLEAN["tool"])
    for arguments in ({"tools": "no.json"}, {"graphs": "no.jsonl"}, {"against": "no.jsonl"}):
        assert audit_samples(str(samples), **arguments).counts["errors"] == 1
    assert audit_samples("no.jsonl").counts["errors"] == 1


def test_a_catalogue_gives_the_texts_that_are_examined(tmp_path):
    lines = changed(CLEAN["tool"], tool_description=lambda line: None)
    assert "no-text" in findings_of(tmp_path, lines)
    tools = {line["tool"]: {"description": f"does {line['tool']}"} for line in lines}
    (tmp_path / "tools.json").write_text(json.dumps({"tools": tools}))
    assert not {"no-text", "not-in-catalogue"} & set(findings_of(tmp_path, lines, tools=str(tmp_path / "tools.json")))
    (tmp_path / "tools.json").write_text(json.dumps({"tools": dict(list(tools.items())[1:])}))
    assert findings_of(tmp_path, lines, tools=str(tmp_path / "tools.json"))["not-in-catalogue"].severity == "info"
    assert " (1 names)" in findings_of(tmp_path, lines, tools=str(tmp_path / "tools.json"))["not-in-catalogue"].message


def test_a_catalogue_that_names_fewer_than_half_of_the_tools_is_an_error(tmp_path):
    lines = changed(CLEAN["tool"], tool_description=lambda line: None)
    names = sorted({line["tool"] for line in lines})
    half = (len(names) + 1) // 2
    for count, severity in ((half, "info"), (half - 1, "error")):
        (tmp_path / "tools.json").write_text(
            json.dumps({"tools": {name: {"description": ""} for name in names[:count]}})
        )
        finding = findings_of(tmp_path, lines, tools=str(tmp_path / "tools.json"))["not-in-catalogue"]
        assert finding.severity == severity
    assert finding.message.startswith(f"the catalogue names {half - 1} of {len(names)} tools; name one that has")
