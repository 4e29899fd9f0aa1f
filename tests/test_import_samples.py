"""What every importer shares: options, counting, redaction, recognition."""

import json
from pathlib import Path

import pytest

from ltr import import_samples
from ltr.errors import UsageError
from ltr.importers import Count, Tally, recognise
from ltr.importers.frame import IMPORTERS, Imported, Importer, read_opening
from tests.made import tool_rows, written


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
        "  1  no tools (log:3)",
        "also",
        "  2  mail addresses replaced by [mail]",
    ]
    assert cli.run("import", "words", "log", "-o", "out.jsonl", "--overwrite", "--no-redact") == 0
    assert "also" not in cli.out


def test_an_option_without_a_value_is_refused(cli, logs):
    assert cli.run("import", "words", "log", "-o", "out.jsonl", "--option", "label") == 2
    assert cli.err == "error: --option 'label': NAME=VALUE is needed\n"


CHAT = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "tools": [{"name": "t"}]}
POOL, TREE = {"tools": {"t": {"description": "T"}}}, {"traces": [{"nodes": {}, "decisions": []}]}


@pytest.mark.parametrize(
    "content, expected",
    [
        (CHAT, "openai"),
        ([CHAT, CHAT], "openai"),
        ({"request": CHAT, "response": {"choices": []}}, "openai"),
        ({"model": "m", "input": "a", "output": [{"type": "message"}]}, "openai"),
        ({**CHAT, "tools": [{"name": "t", "input_schema": {}}]}, "anthropic"),
        ({"request": CHAT, "response": {"content": [], "stop_reason": "end_turn"}}, "anthropic"),
        (POOL, "calling-trees"),
        (TREE, "calling-trees"),
    ],
)
def test_a_log_is_known_by_its_first_value(tmp_path, content, expected):
    (tmp_path / "log").write_text(json.dumps(content))
    assert recognise(tmp_path / "log") == (expected,)


@pytest.mark.parametrize(
    "text, is_trec",
    [
        ("t1 Q0 d1 1 0.5 tag\n", True),
        ("t1 0 d1 1\n", True),
        ("t1 Q0 d1\n", False),
        ("rain in Oslo today\n", False),
        ("this is not a run at all\n", False),
        ("", False),
    ],
)
def test_a_trec_run_is_known_by_its_first_line(tmp_path, text, is_trec):
    (tmp_path / "run").write_text(text)
    assert ("trec" in recognise(tmp_path / "run")) is is_trec


def test_a_samples_file_looks_like_no_log(tmp_path):
    (tmp_path / "samples.jsonl").write_text(
        '{"trace_id": "t", "node_id": "n", "query": "q", "tool": "a", "label": 1}\n'
    )
    assert not set(recognise(tmp_path / "samples.jsonl")) & {"openai", "anthropic", "calling-trees"}


def test_without_a_format_the_files_say_what_they_are(cli):
    Path("a.jsonl").write_text(json.dumps(CHAT), encoding="utf-8")
    assert cli.run("import", "a.jsonl", "-o", "out.jsonl") == 0
    assert cli.out.splitlines()[:2] == ["read as openai", "wrote 2 samples in 1 group to out.jsonl"]
    assert cli.run("import", "auto", "*.jsonl", "-o", "out.jsonl.gz") == 2  # out.jsonl is samples, no log


def test_files_of_several_formats_are_refused_by_name(cli):
    Path("a.jsonl").write_text(json.dumps(CHAT), encoding="utf-8")
    Path("pool.json").write_text(json.dumps(POOL), encoding="utf-8")
    assert cli.run("import", "a.jsonl", "pool.json", "-o", "out.jsonl") == 2
    assert cli.err.splitlines() == [
        "error: a.jsonl: looks like an OpenAI chat log",
        "error: pool.json: looks like a tool pool, or calling graphs made with one",
        "error: files of several formats; import those of one format at a time",
    ]


def test_a_file_of_no_known_format_gets_the_list_of_formats(cli):
    Path("a.txt").write_text("hello\n", encoding="utf-8")
    assert cli.run("import", "a.txt", "-o", "out.jsonl") == 2
    first, second, *formats = cli.err.splitlines()
    assert first == "error: a.txt: looks like no format that ltr knows"
    assert second == "error: name the format: ltr import FORMAT FILES -o OUT; the formats are"
    assert "  openai: an OpenAI chat log" in formats


def test_the_files_of_a_run_are_no_samples(cli):
    written(Path("s.jsonl"), tool_rows(range(6)))
    cli.good("train", "s.jsonl", "-o", "run", "-q")
    for name in ("per_query.jsonl", "examples.jsonl"):
        assert cli.run("import", f"run/{name}", "-o", "out.jsonl") == 2
        assert "samples already" not in cli.err


def test_an_error_about_a_name_that_begins_with_a_space_begins_as_any_other(cli):
    assert cli.refused("train", "  x.jsonl", "-o", "run") == (3, "  x.jsonl: no such file or directory")


def test_samples_are_no_log_and_that_is_said(cli):
    rows = [{"trace_id": "t", "node_id": "n", "query": "q", "tool": name, "label": 0} for name in "ab"]
    written(Path("my samples.jsonl"), rows)
    assert cli.run("import", "my samples.jsonl", "-o", "out.jsonl") == 2
    said = "error: my samples.jsonl: these are samples already; train on them: ltr train 'my samples.jsonl'"
    assert cli.err.splitlines()[0] == said


def test_a_file_that_two_importers_know_is_refused_with_their_names(cli, logs):
    Path("log").write_text("q,a,b\nq,a,b\n", encoding="utf-8")
    IMPORTERS._own["words2"] = IMPORTERS._own["words"]
    IMPORTERS._sources["words2"] = IMPORTERS.source("letor")
    try:
        assert cli.run("import", "log", "-o", "out.jsonl") == 2
        assert "name the format: " in cli.err
        assert "words, words2" in cli.err
    finally:
        del IMPORTERS._own["words2"], IMPORTERS._sources["words2"]


@pytest.mark.parametrize(
    "words, message",
    [
        (["opnai", "log"], "opnai: neither a file nor a format; did you mean openai?; the formats are auto, anthropic"),
        (["openai"], "the files are missing: ltr import openai FILES -o OUT"),
        (["-"], "the format of stdin cannot be looked up; name it: ltr import FORMAT - -o OUT"),
    ],
)
def test_words_that_are_no_format_and_no_file_are_explained(cli, words, message):
    assert cli.run("import", *words, "-o", "out.jsonl") == 2
    assert message in cli.err


def test_the_summary_is_shown_for_programs_too(cli, logs):
    Path("log").write_text("q1 a\nq\n", encoding="utf-8")
    assert cli.run("import", "words", "log", "-o", "out.jsonl", "--format", "json") == 0
    assert json.loads(cli.out) == {
        "out": "out.jsonl",
        "format": "words",
        "samples": 1,
        "groups": 1,
        "notes": ["words are not weighed"],
        "kept": [{"reason": "with tools", "number": 1, "places": []}],
        "skipped": [{"reason": "no tools", "number": 1, "places": ["log:2"]}],
        "remarks": [],
    }
    assert cli.run("import", "words", "log", "-o", "out.jsonl", "--overwrite", "--format", "tsv") == 0
    assert cli.out.splitlines() == [
        "what\tnumber\treason\tplaces",
        "wrote\t1\tsamples\tout.jsonl",
        "wrote\t1\tgroups\t",
        "kept\t1\twith tools\t",
        "skipped\t1\tno tools\tlog:2",
    ]
