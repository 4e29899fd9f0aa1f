"""What every importer shares: options, counting, redaction, recognition."""

import json
from pathlib import Path

import pytest

from ltr.data.importers.importing import IMPORTERS, Imported, Importer, import_samples
from ltr.data.importers.opening import read_opening
from ltr.data.importers.tally import Count, Tally
from ltr.errors import UsageError


@pytest.fixture
def logs(monkeypatch):
    """An importer of lines of words: the first is the query, the others are tools."""

    def convert(files, *, label="1"):
        """Lines of words."""
        tally = Tally()
        return Imported(lines(files, tally, int(label)), ("words are not weighed",), tally)

    def lines(files, tally, label):
        for path in files:
            for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
                query, *tools = line.split()
                if not tools:
                    tally.skip("no tools", f"{path}:{number}")
                    continue
                tally.keep("with tools")
                key = {"trace_id": path, "node_id": number, "query": query}
                yield from (key | {"tool": tool, "label": label} for tool in tools)

    monkeypatch.setitem(
        IMPORTERS._own, "words", Importer(convert, "a list of words", lambda opening: opening.content[:1] == b"q")
    )
    monkeypatch.setitem(IMPORTERS._sources, "words", IMPORTERS.source("letor"))


def test_a_summary_counts_samples_groups_and_reasons_with_their_first_places(tmp_path, logs, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log").write_text("q1 a b\nq2\nq3 c\nq4\nq5\nq6\n")
    summary = import_samples("words", ["log"], "out.jsonl")
    assert (summary.samples, summary.groups) == (3, 2)
    assert summary.kept == (Count("with tools", 2),)
    assert summary.skipped == (Count("no tools", 4, ("log:2", "log:4", "log:5")),)


def test_keyword_only_parameters_are_options_and_another_name_is_refused(tmp_path, logs):
    (tmp_path / "log").write_text("q1 a\n")
    import_samples("words", [tmp_path / "log"], tmp_path / "out.jsonl", options={"label": "0"})
    assert json.loads((tmp_path / "out.jsonl").read_text())["label"] == 0
    with pytest.raises(UsageError, match="importer words has no option 'labels'; did you mean label.; known: label"):
        import_samples("words", [tmp_path / "log"], tmp_path / "x.jsonl", options={"labels": "0"})


def test_texts_of_every_importer_are_redacted_unless_asked_otherwise(tmp_path, logs):
    (tmp_path / "log").write_text("ann@example.org a\n")
    summary = import_samples("words", [tmp_path / "log"], tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text())["query"] == "[mail]"
    assert summary.remarks == (Count("mail addresses replaced by [mail]", 1),)
    import_samples("words", [tmp_path / "log"], tmp_path / "raw.jsonl", redact=False)
    assert json.loads((tmp_path / "raw.jsonl").read_text())["query"] == "ann@example.org"


def test_the_opening_of_a_file_shows_its_first_bytes_and_its_first_json_value(tmp_path, logs):
    (tmp_path / "log.json").write_text('[\n{"messages": [], "n": 1}, {"n": 2}]')
    opening = read_opening(tmp_path / "log.json")
    assert opening.document == {"messages": [], "n": 1}
    assert opening.has("messages", "n")
    assert not opening.has("messages", "tools")
    (tmp_path / "words").write_text("q1 a\n")
    opening = read_opening(tmp_path / "words")
    assert (opening.content, opening.document) == (b"q1 a\n", None)
    assert IMPORTERS["words"].looks_like(opening)
    assert not IMPORTERS["letor"].looks_like(opening)


def test_the_command_shows_what_was_kept_and_skipped(cli, logs):
    Path("log").write_text("q1 a\na@b.org a b\nq\n", encoding="utf-8")
    assert cli.run("import", "words", "log", "-o", "out.jsonl", "--option", "label=2") == 0
    assert cli.err == "warning: words are not weighed\n"
    assert cli.out.splitlines() == [
        "wrote 3 samples in 2 groups to out.jsonl",
        "kept",
        "  2  with tools",
        "skipped",
        "  1  no tools  log:3",
        "also",
        "  2  mail addresses replaced by [mail]",
    ]
    assert cli.run("import", "words", "log", "-o", "out.jsonl", "--overwrite", "--no-redact") == 0
    assert "also" not in cli.out


def test_an_option_without_a_value_is_refused(cli, logs):
    assert cli.run("import", "words", "log", "-o", "out.jsonl", "--option", "label") == 2
    assert cli.err == "error: --option 'label': NAME=VALUE is needed\n"
