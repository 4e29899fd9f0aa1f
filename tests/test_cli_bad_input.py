"""Input that cannot be used: one clear line on stderr, the documented code, nothing half-written, no traceback.

LTR_FUZZ_CASES sets the number of damaged files that go through training (300 without it).
"""

import gzip
import json
import os
import random
import re
import sys
from pathlib import Path

import pytest

from ltr import RunConfig, TrainConfig, run
from ltr.errors import LtrError
from ltr.files import write_lines
from ltr.report.words import shortened, visible, width_of
from tests.made import DataConfig, graph_rows, process, save_run, tool_rows, written
from tests.stored import stored_metrics
from tests.test_samples_fuzz import MUTATORS, sound_lines

CASES = int(os.environ.get("LTR_FUZZ_CASES", "150"))
TOOL = list(tool_rows(range(4)))
READY = [row | {"features": [0.5, 1.0]} for row in TOOL]
GRAPH = list(graph_rows(range(4)))


def lines(rows):
    return [json.dumps(row).encode() for row in rows]


def changed(rows, place, **values):
    """The lines, with values of the one at `place` (from 1) replaced."""
    return lines([*rows[: place - 1], rows[place - 1] | values, *rows[place:]])


def edge(start, end):
    nodes = [{"id": "a", "name": "x"}, {"id": "b", "name": "y"}]
    return {"tree": {"nodes": nodes, "edges": [[start, end]]}}


NAN = json.dumps(READY[6] | {"features": [0.5, "@"]}).replace('"@"', "NaN").encode()
LABEL = r"1 \(right\), 0 \(wrong\) or a grade up to 1e300 is needed"
DEEP = b'{"trace_id": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"
LINES = {
    "an empty file": ([], r"s.jsonl: no samples; at least one line is needed"),
    "only blank lines": ([b"", b"  ", b"\r"], r"s.jsonl: no samples; at least one line is needed"),
    "NaN in line 7": (lines(READY[:6]) + [NAN], r"s.jsonl:7: features\[1\]: found NaN; a finite number is needed"),
    "one feature less in line 12": (
        changed(READY, 12, features=[0.5]),
        r"s.jsonl:12: features: found 1 numbers; the candidates before have 2 numbers",
    ),
    "no features in line 12": (
        changed(READY, 12, features=None),
        r"s.jsonl:12: features: found none; the candidates before have 2 numbers",
    ),
    "mixed kinds": (
        lines([*TOOL[:5], GRAPH[0]]),
        r"s.jsonl:6: candidate_id: found a graph; the candidates before it are tools, and one kind is needed",
    ),
    "a duplicate candidate": (
        changed(TOOL, 3, tool=TOOL[0]["tool"]),
        r"s.jsonl:3: tool: found '\w+' again; s.jsonl:1 has it for the same group: keep one of them",
    ),
    "a dangling edge": (changed(GRAPH, 2, **edge("a", "c")), r"s.jsonl:2: tree.edges\[0\].*'c'.*"),
    "a repeated node": (
        changed(GRAPH, 2, tree={"nodes": [{"id": 1, "name": "x"}, {"id": 1, "name": "y"}], "edges": []}),
        r"s.jsonl:2: tree.nodes\[1\].*",
    ),
    "nesting of 10,000": ([*lines(TOOL[:2]), DEEP], r"s.jsonl:3: .*nested too deep.*|s.jsonl:3: trace_id: .*"),
    "a lone surrogate": ([json.dumps(TOOL[0] | {"query": "\ud800"}).encode()], r"s.jsonl:1: query: found half a sur.*"),
    "bytes that are not UTF-8": ([b'{"trace_id": "\xff"}'], r"s.jsonl:1: byte 15 is not UTF-8"),
    "a negative label": (
        changed(TOOL, 2, label=-1),
        rf"s.jsonl:2: label: found -1; {LABEL}",
    ),
    "a label of text": (
        changed(TOOL, 2, label="1"),
        rf"s.jsonl:2: label: found '1'; {LABEL}.*",
    ),
    "a label of yes or no": (changed(TOOL, 2, label=True), rf"s.jsonl:2: label: found true; {LABEL}; write 1 .*"),
    "no label": (
        changed(TOOL, 2, label=None),
        rf"s.jsonl:2: label: missing; {LABEL}",
    ),
    "an infinite label": (
        [*lines(TOOL[:1]), lines(TOOL[1:2])[0].replace(b'"label": 0', b'"label": 1e999')],
        r"s.jsonl:2: .*",
    ),
    "an empty tool name": (changed(TOOL, 2, tool=""), r"s.jsonl:2: tool: .*"),
    "weights that differ in a group": (
        lines([TOOL[0] | {"weight": 1}, TOOL[1] | {"weight": 2}]),
        r"s.jsonl:2: weight: .*",
    ),
    "no object": ([b"[1, 2]"], r"s.jsonl:1: found 1, 2; one JSON object a line is needed"),
    "no object among objects": (
        [b"[" + b",\n".join(lines(TOOL[:2])) + b", 7]"],
        r"s.jsonl:2: found 7; one JSON object a line is needed",
    ),
    "half a line": (lines(TOOL[:2]) + [lines(TOOL)[2][:-9]], r"s.jsonl:3: not JSON: .*"),
    "two objects on a line": ([lines(TOOL)[0] * 2], r"s.jsonl:1: not JSON: .*"),
}


@pytest.mark.parametrize("command", ["train", "featurize"])
@pytest.mark.parametrize("name", LINES)
def test_a_line_that_cannot_be_used_is_named(cli, command, name):
    content, told = LINES[name]
    Path("s.jsonl").write_bytes(b"\n".join(content))
    code, said = cli.refused(command, "s.jsonl", "-o", "out.npz")
    assert (code, bool(re.fullmatch(told, said))) == (3, True), said
    assert [path.name for path in Path().iterdir()] == ["s.jsonl"]


@pytest.mark.parametrize("name", LINES)
def test_test_samples_are_read_as_strictly(cli, name):
    written("s.jsonl", TOOL)
    Path("t.jsonl").write_bytes(b"\n".join(LINES[name][0]))
    code, said = cli.refused("train", "s.jsonl", "--test", "t.jsonl", "-o", "run")
    assert (code, said[:7]) == (3, "t.jsonl")
    assert not Path("run").exists()


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_a_truncated_compressed_file_is_never_read_short(cli, ending):
    name = f"s.jsonl.{ending}"
    write_lines(name, lines(tool_rows(range(200))))
    whole = Path(name).read_bytes()
    for cut in (len(whole) // 2, len(whole) - 1, 12):
        Path(name).write_bytes(whole[:cut])
        code, said = cli.refused("train", name, "-o", "run")
        assert code == 3
        place = r"(after [1-9][\d,]* bytes|near the beginning, or not what the name says)"
        assert re.fullmatch(rf"{name}: compressed data damaged {place} \(.*\)", said)
    assert not Path("run").exists()


def test_text_under_a_name_of_compressed_data_is_told(cli):
    Path("s.jsonl.gz").write_text('{"trace_id": 1}')
    said = "s.jsonl.gz: compressed data damaged near the beginning, or not what the name says (Not a gzipped file"
    code, message = cli.refused("train", "s.jsonl.gz", "-o", "run")
    assert (code, message.startswith(said)) == (3, True), message


def test_a_compressed_file_under_a_plain_name_is_told(cli):
    Path("s.jsonl").write_bytes(gzip.compress(b"\n".join(lines(TOOL))))
    assert cli.refused("train", "s.jsonl", "-o", "run") == (
        3,
        "s.jsonl: gzip data; a name that ends in .gz is needed",
    )


@pytest.mark.parametrize("encoding, told", [("utf-16", "UTF-16 text"), ("utf-16-le", "UTF-16, UTF-32 or binary data")])
def test_other_encodings_are_told(cli, encoding, told):
    Path("s.jsonl").write_bytes(b"\n".join(lines(TOOL)).decode().encode(encoding))
    code, said = cli.refused("train", "s.jsonl", "-o", "run")
    assert code == 3
    assert told in said


def test_a_byte_order_mark_crlf_and_u2028_change_nothing(cli):
    rows = [row | {"query": f"a\u2028b{row['query']}"} for row in TOOL]
    content = [json.dumps(row, ensure_ascii=False).encode() for row in rows]
    Path("plain.jsonl").write_bytes(b"\n".join(content) + b"\n")
    Path("odd.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(content) + b"\r\n")
    for name in ("plain", "odd"):
        cli.good("train", f"{name}.jsonl", "-o", name, "--encoder", "hash")
    for file in ("model.json", "model.npz", "per_query.jsonl", "metrics.json", "tools.jsonl"):
        assert Path("plain", file).read_bytes() == Path("odd", file).read_bytes()


def test_a_line_of_a_hundred_megabytes_is_refused_not_held(cli):
    with gzip.open("s.jsonl.gz", "wb", compresslevel=1) as file:
        file.write(lines(TOOL)[0] + b'\n{"query": "')
        for _ in range(100):
            file.write(b"x" * (1 << 20))
    problem = "the line is longer than 64 MiB; set LTR_LARGEST_LINE=128 to read up to 128 MiB"
    assert cli.refused("train", "s.jsonl.gz", "-o", "run") == (3, f"s.jsonl.gz:2: {problem}")


@pytest.mark.parametrize(
    "make, told",
    [
        (Path.mkdir, "a directory"),  # some commands read one of columns, and say so
        (os.mkfifo, "not a regular file; name one, or pipe it in and read -"),
        (lambda path: None, "no such file or directory"),
    ],
)
def test_what_is_no_file_is_refused_wherever_a_file_is_needed(cli, make, told):
    written("s.jsonl", TOOL)
    cli.good("train", "s.jsonl", "-o", "run", "-q")
    make(Path("odd.jsonl"))
    for arguments in (
        ["train", "odd.jsonl", "-o", "x"],
        ["train", "s.jsonl", "--test", "odd.jsonl", "-o", "x"],
        ["train", "s.jsonl", "--tools", "odd.jsonl", "-o", "x"],
        ["train", "s.jsonl", "-c", "odd.jsonl", "-o", "x"],
        ["featurize", "odd.jsonl", "-o", "x.npz"],
        ["evaluate", "run", "odd.jsonl"],
        ["rank", "run", "--samples", "odd.jsonl"],
        ["rank", "run", "q", "--tools", "odd.jsonl"],
        ["run", "odd.jsonl"],
        ["config", "check", "odd.jsonl"],
    ):
        code, said = cli.refused(*arguments)
        assert code == 3, arguments
        assert said.startswith(f"odd.jsonl: {told}"), arguments
    code, said = cli.refused("evaluate", "odd.jsonl", "s.jsonl")
    assert code == 3
    assert said.startswith("odd.jsonl")
    assert not Path("x").exists()


def test_a_glob_without_a_match_is_told(cli):
    assert cli.refused("train", "no*.jsonl", "-o", "run") == (3, "no*.jsonl: no regular file matches")


def test_columns_are_read_alone(cli):
    written("s.jsonl", TOOL)
    cli.good("featurize", "s.jsonl", "-o", "x.npz")
    assert cli.refused("train", "x.npz", "s.jsonl", "-o", "run") == (
        2,
        "x.npz: a file of featurised columns is read alone",
    )


@pytest.mark.parametrize(
    "config, told",
    [
        ("trian: 3", "ltr.yaml:1:1: trian: unknown key; did you mean train?"),
        ("data: {train: s.jsonl}\ntrain: {l2: abc}", "ltr.yaml:2:9: train.l2: 'abc' is not a number or a list"),
        ("data: {train: s.jsonl}\nkind: graph", "the config says kind graph; the samples are tools"),
        ("{}", "no training samples: name files, or set data.train in the config"),
        (
            "data: {train: s.jsonl, test: 0.001}",
            (
                "test 0.001 of 4 traces is 0 traces: nothing is left to measure on; "
                "add traces (more values of trace_id) or change the share"
            ),
        ),
        ("data: {train: s.jsonl}\nfeatures: [graph.rel]", "the features are of graphs; the candidates are tools"),
    ],
)
def test_a_config_that_cannot_be_run_is_told(cli, config, told):
    written("s.jsonl", TOOL)
    Path("ltr.yaml").write_text(config)
    code = 2 if "ltr.yaml" in told or "share" in told or "no training" in told else 3
    assert cli.refused("run") == (code, told if "ltr.yaml" in told else f"run: {told}")
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "flags", [["--epochs", "0"], ["--l2", "-1"], ["--l2", "nan"], ["--trainer", "x"], ["--kind", "x"]]
)
def test_a_flag_out_of_range_is_named(cli, flags):
    written("s.jsonl", TOOL)
    code, said = cli.refused("train", "s.jsonl", "-o", "run", *flags)
    assert code == 2
    assert said.startswith(f"{flags[0]}: ")


def test_featurised_data_is_not_featurised_again_nor_split(cli):
    written("s.jsonl", tool_rows(range(25)))
    cli.good("featurize", "s.jsonl", "-o", "x.npz", "-q")
    assert cli.refused("train", "x.npz", "--test", "0.2", "-o", "run")[0] == 2
    assert cli.refused("featurize", "x.npz", "-o", "y.npz") == (2, "the samples bear ready features already")
    assert cli.refused("featurize", "x.npz", "-m", "x.npz", "-o", "y.npz")[0] == 2
    assert cli.refused("train", "x.npz", "-o", "run", "--set", "features=[tool.rel]")[0] == 2


def test_other_features_than_those_of_the_model_are_named(cli):
    written("s.jsonl", tool_rows(range(25)))
    cli.good("train", "s.jsonl", "-o", "run", "-q")
    cli.good("featurize", "s.jsonl", "-o", "x.npz", "-q", "--set", "features=[tool.rel, tool.coop]")
    code, said = cli.refused("evaluate", "run", "x.npz")
    assert code == 3
    assert "tool.rel, tool.coop" in said
    assert "tool.rel, tool.hist, tool.coop, tool.struct" in said


def test_a_model_of_another_kind_is_told(cli):
    written("s.jsonl", TOOL)
    written("g.jsonl", GRAPH)
    cli.good("train", "s.jsonl", "-o", "run", "-q")
    assert cli.refused("evaluate", "run", "g.jsonl") == (3, "the model ranks tools; the candidates are graphs")


def test_an_output_of_another_kind_or_that_is_there_is_refused_before_the_work(cli):
    written("s.jsonl", TOOL)
    Path("x.npz").write_text("mine")
    Path("y.features.json").write_text("mine")
    assert cli.refused("featurize", "s.jsonl", "-o", "x.csv")[0] == 2
    assert cli.refused("featurize", "s.jsonl", "-o", "x.npz") == (
        2,
        "x.npz: exists; add --overwrite, or choose another name",
    )
    assert cli.refused("featurize", "s.jsonl", "-o", "y.jsonl")[0] == 2
    assert Path("x.npz").read_text() == "mine"


def test_a_working_directory_that_was_removed_is_one_message(cli, tmp_path, monkeypatch):
    samples = written(tmp_path / "s.jsonl", TOOL)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    code, said = cli.refused("train", samples, "-o", tmp_path / "run")
    assert (code, said) == (2, "the working directory was removed; change to another")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("out", ["/proc/run", "s.jsonl/run", "x" * 300])
def test_a_directory_that_cannot_be_made_ends_with_a_code(cli, out):
    written("s.jsonl", TOOL)
    code, said = cli.refused("train", "s.jsonl", "-o", out)
    assert code == (2 if out.startswith("s.jsonl") else 74)
    assert said.startswith(f"{out}: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_directory_is_told_before_the_work(cli):
    written("s.jsonl", TOOL)
    Path("locked").mkdir(mode=0o500)
    assert cli.refused("train", "s.jsonl", "-o", "locked/run") == (74, "locked/run: locked cannot be written to")


def test_a_disk_that_fills_while_a_run_is_written_leaves_no_record(cli, monkeypatch):
    written("s.jsonl", TOOL)
    write, left = os.write, [1]
    for steps in range(1, 999):
        if steps > 18 and steps % 5:  # most write columns of what outcomes are learned beside
            continue
        left[0] = steps

        def failing(descriptor, content, left=left):
            left[0] -= 1
            if left[0] == 0:
                raise OSError(28, "No space left on device")
            return write(descriptor, content)

        monkeypatch.setattr(os, "write", failing)
        code = cli.run("train", "s.jsonl", "-o", "run", "--encoder", "hash", "--epochs", "2", "--overwrite", "-q")
        monkeypatch.setattr(os, "write", write)
        if code == 0:
            break
        assert (code, cli.out) == (74, "")
        assert re.fullmatch(r"error: run/[\w.]+: no space left on device\n", cli.err)
        assert not Path("run/run.json").exists()
        assert not list(Path("run").glob(".ltr-*"))
    assert code == 0
    assert steps > 5


def test_existing_work_needs_overwrite(cli):
    written("s.jsonl", TOOL)
    cli.good("train", "s.jsonl", "-o", "run", "-q")
    before = Path("run/run.json").read_bytes()
    for arguments in (["train", "s.jsonl", "-o", "run"], ["evaluate", "run", "s.jsonl", "-o", "out"]):
        cli.run(*arguments)
        code, said = cli.refused(*arguments)
        assert code == 2
        assert said.endswith("holds a result; add --overwrite, or name another directory")
    assert Path("run/run.json").read_bytes() == before
    code, said = cli.refused("evaluate", "run", "s.jsonl", "-o", "run", "--overwrite")
    assert code == 2
    assert "run: holds other things" in said
    assert Path("run/run.json").read_bytes() == before


# ---- degenerate groups


def groups_of(*labels):
    """One group for each list of labels."""
    return [
        {"trace_id": f"t{g}", "node_id": "n", "query": "q", "tool": f"tool{row}", "label": label}
        for g, group in enumerate(labels)
        for row, label in enumerate(group)
    ]


def test_groups_that_cannot_train_are_counted(cli):
    written("s.jsonl", groups_of([1], [0, 0], [1, 0], [1, 1], [2, 0, 1]))
    human = cli.good("train", "s.jsonl", "-o", "run", "--format", "human", "-v")
    assert "groups that cannot train: 1 with one candidate, 1 without a right candidate" in human
    flat = stored_metrics("run")
    assert (flat["num_queries"], flat["num_no_relevant"], flat["num_one_candidate"]) == (4, 1, 1)


@pytest.mark.parametrize("labels", [[[1]], [[0, 0]], [[1], [0, 0]]])
def test_data_without_a_group_that_can_train_is_refused(cli, labels):
    written("s.jsonl", groups_of(*labels))
    code, said = cli.refused("train", "s.jsonl", "-o", "run")
    assert code == 3
    assert "group" in said
    assert not Path("run").exists()


def test_a_constant_feature_is_told_apart(cli):
    written("s.jsonl", [row | {"features": [row["label"] + 0.1 * place, 1]} for place, row in enumerate(TOOL)])
    human = cli.good("train", "s.jsonl", "-o", "run", "--format", "human", "--trainer", "newton", "-v")
    assert "not identified, changes no probability: x2" in human


def test_equal_features_are_ties_that_are_counted(cli):
    written("s.jsonl", [row | {"features": [1]} for row in TOOL])
    cli.good("train", "s.jsonl", "-o", "run")
    flat = stored_metrics("run")
    assert (flat["num_tied"], flat["top1_accuracy"]) == (8, pytest.approx(1 / 5))


def test_a_query_that_says_nothing_is_refused_and_samples_without_one_train(cli):
    written("s.jsonl", [row | {"query": ""} for row in TOOL])
    cli.good("train", "s.jsonl", "-o", "run")
    assert cli.refused("rank", "run", "") == (2, "the QUERY is blank; a text is needed")


# ---- hostile text

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
    "\x9b31m",
    "\x90q\x9c",
    "a\rb\x08\x08c\x0bd\x0c",
    "tab\there",
    "two\nlines\r\n",
    "\u202egnp.exe\u202c",
    "zero\u200bwidth\u2060\ufeff",
    "line\u2028sep\u2029\x85",
    "[red]markup[/red] [/x] :bomb: [link=http://evil]x[/link]",
    "\x00null\x7f",
    "\U000e0041tag",
]
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060\ufeff\U000e0000-\U000e007f]")


def hostile_rows():
    for trace, text in enumerate(HOSTILE):
        for place in range(3):
            yield {
                "trace_id": f"{text}{trace}",
                "node_id": text,
                "query": f"ask {text}",
                "tool": f"{text}{place}",
                "tool_description": text,
                "label": int(place == trace % 3),
            }


def shown_without_controls(text, tabs):
    """Whether none of the data's control characters is in what was printed; our bold, and tabs of a table, are."""
    ours = text.replace("\x1b[1m", "").replace("\x1b[0m", "")
    return not CONTROL.search(ours.replace("\t", "") if tabs else ours)


@pytest.mark.parametrize("form", ["human", "tsv"])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_no_control_character_of_the_data_reaches_the_terminal(cli, form, is_terminal):
    if is_terminal:
        cli.on_terminal(100)
    rows = list(hostile_rows())
    written("s.jsonl", rows)
    bad = "x\x1b[31m\u202e\ny"
    written(f"{bad}.jsonl", [{**rows[0], "label": "\x1b[31m"}])
    format_flags, named = ["--format", form], ["--encoder", "hash"]  # which is too quick for a progress bar
    commands = [
        ["train", "s.jsonl", "--test", "s.jsonl", "-o", "run", *format_flags, *named],
        ["train", "s.jsonl", "-o", f"run{bad}", *format_flags, *named],
        ["train", "s.jsonl", "-o", f"run{bad}", *format_flags, *named],
        ["train", "s.jsonl", "-o", f"dry{bad}", "--dry-run"],
        ["evaluate", "run", "s.jsonl", "--baselines", "--explain", *format_flags],
        ["rank", "run", "--samples", "s.jsonl", "--explain", *format_flags],
        *(["rank", "run", text, *format_flags] for text in HOSTILE if "\0" not in text),
        ["train", f"{bad}.jsonl", "-o", "x"],
        ["train", "s.jsonl", "-o", "x", "--metrics", bad],
        ["train", "s.jsonl", "-o", "x", "--set", f"{bad}=1"],
        ["evaluate", bad, "s.jsonl"],
        ["run", f"{bad}.yaml"],
    ]
    for arguments in commands:
        cli.run(*arguments)
        assert cli.out + cli.err
        tabs = form == "tsv" and not arguments[-1].startswith("--dry")
        assert shown_without_controls(cli.out, tabs), arguments
        assert shown_without_controls(cli.err, False), arguments
        assert not re.search("^y|^lines", cli.out + cli.err, re.MULTILINE), arguments


def test_markup_is_only_text(cli):
    written("s.jsonl", hostile_rows())
    cli.good("train", "s.jsonl", "-o", "run", "-q")
    said = cli.good("rank", "run", "[red]markup[/red] [/x] :bomb:", "--format", "human")
    assert said.startswith('"[red]markup[/red] [/x] :bomb:"\n')
    assert "[link=http://evil]x[/link]0" in cli.good("rank", "run", "markup bomb link", "-k", "99")


def test_json_keeps_the_data_as_it_is(cli):
    written("s.jsonl", hostile_rows())
    cli.good("train", "s.jsonl", "-o", "run", "-q")
    answers = [
        json.loads(line)
        for line in cli.good("rank", "run", "--samples", "s.jsonl", "--format", "json").split("\n")[:-1]
    ]
    assert [answer["query"] for answer in answers] == [f"ask {text}" for text in HOSTILE]


def test_json_on_a_terminal_holds_no_control_character_and_means_the_same(cli):
    written("s.jsonl", hostile_rows())
    cli.good("train", "s.jsonl", "-o", "run", "-q")
    plain = cli.good("rank", "run", "--samples", "s.jsonl", "--format", "json")
    assert "\x9b31m" in plain
    cli.on_terminal(100)
    shown = cli.good("rank", "run", "--samples", "s.jsonl", "--format", "json")
    assert shown.isascii()
    assert not CONTROL.search(shown)
    assert [*map(json.loads, shown.splitlines())] == [*map(json.loads, plain.split("\n")[:-1])]


def test_the_name_of_a_run_never_leaves_its_directory(cli):
    written("s.jsonl", TOOL)
    for place, name in enumerate(["../../out", "/etc/x", "a/b", "..", "CON", ".hidden", "x" * 300, ""]):
        Path("c.yaml").write_text(json.dumps({"name": name, "data": {"train": "s.jsonl"}}))
        assert cli.run("run", "c.yaml", "-o", "runs") == 0, (name, cli.err)
        assert sum(path.is_dir() for path in Path("runs").iterdir()) == place + 1
    assert sorted(path.name for path in Path().iterdir()) == ["c.yaml", "runs", "s.jsonl"]


@pytest.mark.parametrize(
    "command",
    [
        "report NAME -o page.html",
        "report run -o NAME.html",
        "compare NAME run",
        "compare run --baseline NAME",
        "list features --code NAME",
        "validate NAME",
        "rank NAME query",
        "rank run --samples NAME",
        "evaluate NAME s.jsonl",
        "evaluate run s.jsonl -o NAME",
        "evaluate run s.jsonl --tools NAME",
        "train s.jsonl -o NAME",
        "train NAME -o x",
        "featurize s.jsonl -o NAME.jsonl",
        "export trec NAME -o x",
        "export trec run -o NAME",
        "import trec NAME -o x.jsonl",
        "run NAME",
        "bench NAME",
        "bench bench.yaml -o NAME",
        "config check NAME",
        "init NAME",
    ],
)
def test_a_name_that_is_too_long_for_a_file_is_refused_in_one_line(cli, filled, command):
    def trained():
        written("s.jsonl", TOOL)
        Path("bench.yaml").write_text("rerankers: [random]\ndata: {samples: s.jsonl}\n")
        cli.good("train", "s.jsonl", "-o", "run", "-q")

    filled(Path.cwd(), trained)
    code, message = cli.refused(*command.replace("NAME", "a" * 256).split())
    assert code in (2, 3, 74)
    assert "file name too long" in message


def test_arguments_that_are_no_text_are_refused(cli):
    written("s.jsonl", TOOL)
    cli.good("train", "s.jsonl", "-o", "run", "-q")
    done = process("rank", "run", b"caf\xe9".decode("utf-8", "surrogateescape"))
    assert done.returncode == 2
    assert done.stderr == b"error: caf\\udce9: not UTF-8; rename the file, or mend the text\n"


# ---- widths


@pytest.mark.parametrize("columns", [80, 120])
def test_human_output_fits_the_terminal(cli, columns):
    cli.on_terminal(columns)
    long = {"query": "what " * 60, "tool_description": "text " * 60}
    written("s.jsonl", [row | long | {"tool": row["tool"] + "_with_a_long_name" * 5} for row in tool_rows(range(6))])
    written("g.jsonl", [row | {"query": "天気 " * 60} for row in graph_rows(range(6))])
    written(
        "many.jsonl", [row | {"features": [float(n == place % 9) for n in range(40)]} for place, row in enumerate(TOOL)]
    )
    metrics = ["--metrics", ",".join(f"ndcg@{k},hit@{k},recall@{k}" for k in range(1, 6))]
    for samples in ("s.jsonl", "g.jsonl", "many.jsonl"):
        for arguments in (
            ["train", samples, "--test", samples, "-o", "run", "--overwrite", *metrics],
            ["train", samples, "-o", "run", "--overwrite"],
            ["evaluate", "run", samples, "--baselines", "--explain"],
            ["evaluate", "run", samples, *metrics],
            ["rank", "run", "--samples", samples, "--explain"],
        ):
            wide = [
                line for line in cli.good(*arguments).split("\n") if width_of(re.sub("\x1b.*?m", "", line)) > columns
            ]
            assert not wide, arguments
    for arguments in (["list", "features"], ["list", "metrics"], ["list", "encoders"], ["list", "trainers"], ["env"]):
        said = re.sub("\x1b.*?m", "", cli.good(*arguments))
        assert max(map(width_of, said.split("\n"))) <= columns
        assert "…" not in said
    Path("c.yaml").write_text(json.dumps({"name": "a_long_name_" * 6, "data": {"train": "s.jsonl"}}))
    assert max(width_of(re.sub("\x1b.*?m", "", line)) for line in cli.good("run", "c.yaml").split("\n")) <= columns


def test_a_pipe_has_neither_boxes_nor_colours_nor_cuts(cli):
    written("s.jsonl", [row | {"tool": row["tool"] + "_with_a_long_name" * 20} for row in TOOL])
    for arguments in (["train", "s.jsonl", "-o", "run"], ["rank", "run", "q"], ["list", "metrics"], ["env"]):
        for form in ("human", "tsv"):
            cli.good(*arguments, "--format", form, *(["--overwrite"] if arguments[0] == "train" else []))
            assert not re.search("[\u2500-\u257f\x1b…]", cli.out)


def test_a_real_terminal_gets_the_human_form(cli):
    import pty
    import subprocess

    from tests.made import ENVIRONMENT

    written("s.jsonl", TOOL)
    cli.good("train", "s.jsonl", "-o", "run", "-q")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "ltr", "rank", "run", "weather \x1b[31m", "-k", "2"]
    environment = ENVIRONMENT | {"COLUMNS": "80", "TERM": "xterm"}
    subprocess.run(command, stdout=theirs, stderr=theirs, env=environment, check=True)
    os.close(theirs)
    said = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert said.startswith('\x1b[1m"weather \\x1b[31m"\x1b[0m\r\n')
    assert shown_without_controls(said.replace("\r\n", "\n"), False)


@pytest.mark.parametrize(
    "text, columns, cut", [("日本語", 6, "日本語"), ("日本語", 5, "日本…"), ("e\u0301" * 4, 4, "e\u0301" * 4)]
)
def test_wide_and_combining_characters_are_measured(text, columns, cut):
    assert shortened(text, columns) == cut


@pytest.mark.parametrize("text", ["weather", "天気", "café", "a\\x1b", "👍🏽"])
def test_text_that_hides_nothing_is_shown_as_it_is(text):
    assert visible(text) == text


# ---- damaged files


def test_damaged_samples_train_or_are_refused_and_nothing_else(tmp_path):
    generator, path = random.Random(22), tmp_path / "s.jsonl"
    config = RunConfig(data=DataConfig(train=str(path)), train=TrainConfig(epochs=2))
    trained = 0
    for case in range(CASES):
        name = list(MUTATORS)[case % len(MUTATORS)]
        path.write_bytes(b"\n".join(MUTATORS[name](generator, sound_lines(generator))))
        try:
            if case % 20:
                run(config)
            else:
                save_run(config, tmp_path / "run", overwrite=True)
        except LtrError as error:
            assert "\n" not in str(error)  # noqa: PT017
            continue
        trained += 1
    assert 0.1 * CASES < trained < 0.9 * CASES
