"""context, previous and the none candidate: read, refused where they contradict each other, counted, never a row."""

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import ltr
from ltr import RunConfig, TrainConfig, audit_samples, read_groups, run
from ltr.errors import DataError, LtrWarning
from ltr.experiments.export import export
from ltr.experiments.featurize import featurize_and_save
from ltr.featurized import load_columns
from ltr.samples import ABSENT, RIGHT
from ltr.samples.groups import WRONG
from tests.made import DataConfig, tool_rows, written
from tests.stored import stored_metrics

NEWTON = TrainConfig(trainer="newton")


def sample(node="n1", tool="a", label=0, **fields):
    return {"trace_id": "t1", "node_id": node, "query": f"q {node}", "tool": tool, "label": label} | fields


def none(node="n1", label=1, **fields):
    line = sample(node, label=label, none=True) | fields
    del line["tool"]
    return line


def read(tmp_path, *lines, **options):
    return read_groups(written(tmp_path / "s.jsonl", lines), **options)


def refusal(tmp_path, *lines, **options):
    with pytest.raises(DataError) as error:
        read(tmp_path, *lines, **options)
    return str(error.value).replace(f"{tmp_path}/", "")


def with_none(rows, every=4):
    """The rows, of every fourth group without a right tool and with a none candidate that is right."""
    rows, keys = [dict(row) for row in rows], []
    for row in rows:
        if (key := (row["trace_id"], row["node_id"])) not in keys:
            keys.append(key)
    chosen = set(keys[::every])
    for row in rows:
        row["label"] = 0 if (row["trace_id"], row["node_id"]) in chosen else row["label"]
    queries = {(row["trace_id"], row["node_id"]): row["query"] for row in rows}
    marks = [
        {"trace_id": trace, "node_id": node, "query": query, "none": True, "label": int((trace, node) in chosen)}
        for (trace, node), query in queries.items()
    ]
    return [*rows, *marks]


def test_context_and_previous_are_columns_of_groups_in_order_of_first_appearance(tmp_path):
    groups = read(
        tmp_path,
        sample("n1", context="user: hi", previous=["x", "y"]),
        sample("n2"),
        sample("n1", tool="b"),
        sample("n3", context="user: hi", previous=["x"]),
        sample("n3", tool="b", context="user: hi", previous=["x"]),
    )
    candidates = groups.candidates
    assert [candidates.context_texts[code] for code in candidates.contexts] == ["user: hi", "", "user: hi"]
    assert [candidates.previous_lists[code] for code in candidates.previous] == [("x", "y"), (), ("x",)]
    assert (candidates.context_texts, candidates.previous_lists) == (("user: hi", ""), (("x", "y"), (), ("x",)))
    last = groups.select(np.array([2])).candidates
    assert (last.context_texts, last.previous_lists) == (("user: hi",), (("x",),))


def test_samples_without_them_have_no_such_columns(tmp_path):
    groups = read(tmp_path, sample(), sample(tool="b"))
    assert (groups.candidates.contexts, groups.candidates.previous, groups.none) == (None, None, None)


def test_features_see_context_and_previous(tmp_path):
    @ltr.feature("tool.was_used_before", "hist")
    def was_used(candidates, state, context):
        """Whether the tool was used before in the trace."""
        lists = [candidates.previous_lists[code] for code in candidates.previous.tolist()]
        owner = np.repeat(np.arange(len(lists)), np.diff(candidates.offsets))
        names = [candidates.name_texts[code] for code in candidates.names.tolist()]
        return np.array([float(name in lists[group]) for name, group in zip(names, owner.tolist(), strict=True)])

    rows = [row | {"previous": [row["tool"]]} if row["label"] else row for row in tool_rows(range(20))]
    data = DataConfig(train=str(written(tmp_path / "s.jsonl", rows)))
    config = RunConfig(data=data, features=("tool.was_used_before",))
    assert run(config).measured.evaluation.means["top1_accuracy"] == 1.0


@pytest.mark.parametrize(
    "lines, message",
    [
        (
            [sample(context="a"), sample(tool="b", context="c")],
            "s.jsonl:2: context: found 'c'; s.jsonl:1 has 'a' for the same group",
        ),
        (
            [sample(previous=["a"]), sample(tool="b", previous=["c"])],
            's.jsonl:2: previous: found ["c"]; s.jsonl:1 has ["a"] for the same group',
        ),
        ([sample(context=["a"])], 's.jsonl:1: context: found ["a"]; a text is needed'),
        (
            [sample(previous="a")],
            "s.jsonl:1: previous: found 'a'; a list of at most 10,000 names of at most 1,000 characters is needed",
        ),
        (
            [sample(previous=["a", 1])],
            "s.jsonl:1: previous[1]: found 1; a list of at most 10,000 names of at most 1,000 characters is needed",
        ),
        ([sample(previous=["a", " "])], "s.jsonl:1: previous: found ' '; a name is needed"),
        ([none(none="yes")], "s.jsonl:1: none: found 'yes'; true is needed; a candidate that is a tool or a graph"),
        ([none(none=1)], "s.jsonl:1: none: found 1; true is needed"),
        ([sample(none=True)], "s.jsonl:1: tool: stands beside none; a candidate is a tool, a graph or none"),
        ([none(features=[1.0])], "s.jsonl:1: features: stands beside none"),
        ([none(drawn="near")], "s.jsonl:1: drawn: stands beside none"),
        ([none(tree={"nodes": []})], "s.jsonl:1: tree: stands beside none"),
        ([none(label=2)], "s.jsonl:1: label: found 2.0; 0 or 1 is needed beside none"),
        ([sample(), none(label=None)], "s.jsonl:2: label: missing; 0 or 1 is needed beside none"),
        ([none()], "s.jsonl:1: none: stands alone; what was offered is needed beside it"),
        ([sample("n2"), none()], "s.jsonl:2: none: stands alone; what was offered is needed beside it"),
        (
            [none(label=0), sample(), none(label=0)],
            "s.jsonl:3: none: found again; s.jsonl:1 has it for the same group: keep one of them",
        ),
        (
            [none(), sample(tool="b", label=1)],
            "s.jsonl:1: label: found 1; s.jsonl:2 has 'b' as right for the same group, and either is right or none is",
        ),
        (
            [{"trace_id": 1, "node_id": 2, "query": "q", "none": True, "candidates": [{"tool": "a", "label": 0}]}],
            "s.jsonl:1: none: stands beside candidates; its place is inside one of them",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_file_line_and_field_by_reader_and_audit_alike(tmp_path, lines, message):
    assert refusal(tmp_path, *lines).startswith(message)
    errors = [found for found in audit_samples(tmp_path / "s.jsonl").findings if found.severity == "error"]
    told = [f"{found.where[0]}: {found.message}".replace(f"{tmp_path}/", "") for found in errors]
    assert any(message.startswith(text) or text.startswith(message) for text in told), told


def test_an_error_in_a_list_of_candidates_names_its_place(tmp_path):
    line = {"trace_id": 1, "node_id": 2, "query": "q", "candidates": [{"tool": "a", "label": 0}, {"none": True}]}
    assert refusal(tmp_path, line) == "s.jsonl:1: candidates[1].label: missing; 0 or 1 is needed beside none"


def test_texts_of_ten_megabytes_are_a_context_and_no_name(tmp_path):
    long = "x" * 10_000_000
    assert read(tmp_path, sample(context=long)).candidates.context_texts == (long,)
    needed = "a list of at most 10,000 names of at most 1,000 characters is needed"
    assert refusal(tmp_path, sample(previous=["a", long])).endswith(f"found a value that cannot be used; {needed}")
    assert "s.jsonl:1: previous: found" in refusal(tmp_path, sample(previous=["a"] * 10_001))


def test_two_ids_of_one_trace_in_one_line_are_told(tmp_path):
    line = '{"trace_id": "t1", "node_id": "n", "query": "q", "tool": "a", "label": 1, "trace_id": "t2"}\n'
    (tmp_path / "s.jsonl").write_text(line)
    found = {finding.code: finding.message for finding in audit_samples(tmp_path / "s.jsonl").findings}
    assert found["repeated-key"] == "trace_id stands twice in one object; only the last counts"


def test_none_is_a_mark_of_its_group_and_never_a_row(tmp_path):
    groups = read(
        tmp_path,
        none("n2"),
        sample("n1", label=1),
        sample("n2"),
        none("n1", label=0),
        sample("n3"),
        sample("n2", tool="none"),
    )
    assert groups.none.tolist() == [RIGHT, WRONG, ABSENT]
    assert groups.offsets.tolist() == [0, 2, 3, 4]
    assert [groups.candidates.name_texts[code] for code in groups.candidates.names] == ["a", "none", "a", "a"]
    left = groups.without_none()
    assert (left.num_none, left.none.tolist(), len(left.labels)) == (1, [WRONG, ABSENT], 2)


def test_a_tool_may_be_called_none(tmp_path):
    groups = read(tmp_path, sample(tool="none", label=1), sample(tool="b"))
    assert (groups.candidates.name_texts, groups.none) == (("none", "b"), None)


def test_ranking_needs_no_label_of_none(tmp_path):
    groups = read(tmp_path, sample(label=None), none(label=None), labels_required=False)
    assert groups.none.tolist() == [ABSENT]


@pytest.fixture
def files(tmp_path):
    """The same samples with groups for which none is right, and with these groups cut out."""
    rows = with_none(tool_rows(range(25)))
    marked = {(row["trace_id"], row["node_id"]) for row in rows if row.get("none") and row["label"] == 1}
    cut = [row for row in rows if (row["trace_id"], row["node_id"]) not in marked and not row.get("none")]
    return written(tmp_path / "none.jsonl", rows), written(tmp_path / "cut.jsonl", cut), len(marked)


def test_w_features_and_metrics_leave_groups_out_for_which_none_is_right(files):
    with_it, without, number = files
    results = [run(RunConfig(data=DataConfig(train=str(path)), train=NEWTON)) for path in (with_it, without)]
    assert number == 13
    assert np.array_equal(results[0].model.w, results[1].model.w)
    assert str(results[0].router.features.states) == str(results[1].router.features.states)
    assert results[0].measured.evaluation.means == results[1].measured.evaluation.means
    assert results[0].measured.counts == {"num_none": 13}
    assert [result.router.none is None for result in results] == [False, True]
    assert not any("not used" in text for text in results[0].warnings)


def test_a_share_for_the_test_counts_its_own(files, tmp_path):
    with_it, _, number = files
    result = run(RunConfig(data=DataConfig(train=str(with_it), test=0.3), train=NEWTON))
    counts = [result.train.num_none, result.measured.counts["num_none"]]
    assert min(counts) > 0
    assert sum(counts) == number
    assert result.measured.none.none_queries == counts[1]


def test_samples_of_nothing_but_none_are_refused(tmp_path, cli):
    written("s.jsonl", [sample(), none()])
    said = "s.jsonl: none is right in 1 group, and there is no other to use"
    assert cli.refused("train", "s.jsonl", "-o", "r") == (3, said)
    assert cli.run("validate", "s.jsonl") == 3
    assert said in cli.out


def test_every_command_that_meets_them_says_so(cli):
    written("s.jsonl", with_none(tool_rows(range(25))))
    said = "none: 13 groups, not used"
    cli.good("train", "s.jsonl", "-o", "r", "--trainer", "newton")
    assert said not in cli.err
    assert stored_metrics("r")["num_none"] == 13
    written("rest.jsonl", tool_rows(range(25)))
    cli.good("train", "rest.jsonl", "-o", "r", "--test", "s.jsonl", "--trainer", "newton", "--overwrite")
    assert f"test data: {said}" in cli.err
    assert json.loads(cli.good("evaluate", "r", "s.jsonl", "--format", "json"))["num_none"] == 13
    assert said in cli.err
    for out in ("x.npz", "x.jsonl"):
        cli.good("featurize", "s.jsonl", "-o", out)
        assert said in cli.err
    assert "in 13 of 50 groups nothing offered is right (none)" in cli.good("validate", "s.jsonl")
    bench = "data: {samples: s.jsonl}\nrerankers: [random, bm25]\ntimed: 2\nrepeats: 1\n"
    Path("bench.yaml").write_text(bench, encoding="utf-8")
    cli.good("bench", "bench.yaml", "-o", "b")
    assert said in cli.err
    with warnings.catch_warnings():
        warnings.simplefilter("always", LtrWarning)
        cli.good("export", "csv", "s.jsonl", "-o", "s.csv")
    assert said in cli.err


@pytest.mark.parametrize("name", ["x.npz", "x.jsonl"])
def test_featurised_samples_keep_none_context_and_previous(tmp_path, name):
    rows = [row | {"context": f"c{row['trace_id']}", "previous": ["u"]} for row in with_none(tool_rows(range(25)))]
    path = written(tmp_path / "s.jsonl", rows)
    raw = read_groups(path)
    featurize_and_save(RunConfig(data=DataConfig(train=str(path))), tmp_path / name)
    back = load_columns(tmp_path / name)[0] if name.endswith(".npz") else read_groups(tmp_path / name)
    assert back.none.tolist() == raw.none.tolist()
    assert back.labels.tolist() == raw.labels.tolist()
    for column in ("context_texts", "previous_lists"):
        assert getattr(back.candidates, column) == getattr(raw.candidates, column)
    for column in ("contexts", "previous"):
        assert getattr(back.candidates, column).tolist() == getattr(raw.candidates, column).tolist()
    direct = run(RunConfig(data=DataConfig(train=str(path)), train=NEWTON))
    featurised = run(RunConfig(data=DataConfig(train=str(tmp_path / name)), train=NEWTON))
    assert np.array_equal(direct.model.w, featurised.model.w)
    assert featurised.train.num_none == 13


def test_a_model_is_applied_to_groups_without_a_right_tool_as_well(tmp_path):
    path = written(tmp_path / "s.jsonl", with_none(tool_rows(range(25))))
    config = RunConfig(data=DataConfig(train=str(path)))
    result = run(config)
    result.router.save(tmp_path)
    featurize_and_save(config, tmp_path / "x.npz", model=tmp_path / "model.json")
    applied = load_columns(tmp_path / "x.npz")[0].candidates.features
    assert np.array_equal(applied, result.router.phi(read_groups(path).candidates))


def test_a_table_has_columns_for_context_and_previous_where_the_samples_have_them(tmp_path):
    lines = [sample(context="=hi", previous=["x", "y"]), sample("n2", "b"), sample("n3"), none("n3")]
    path = written(tmp_path / "s.jsonl", lines)
    with pytest.warns(LtrWarning, match="none: 1 group, not used"):
        export("csv", path, tmp_path / "s.csv")
    table = list(csv.DictReader((tmp_path / "s.csv").read_text().splitlines()))
    assert [(row["context"], row["previous"]) for row in table] == [("'=hi", '["x", "y"]'), ("", "[]")]


def test_the_audit_of_a_group_with_an_error_keeps_the_none_of_the_others(tmp_path):
    lines = [sample("n1"), none("n1"), sample("n2", label=-1), none("n2"), sample("n3", label=1), none("n3", label=0)]
    report = audit_samples(written(tmp_path / "s.jsonl", lines))
    assert (report.counts["errors"], report.counts["groups"], report.counts["none"]) == (1, 1, 1)
    assert json.dumps([finding.message for finding in report.findings]).count("nothing offered is right") == 1


def test_groups_that_were_left_out_are_not_unknown(tmp_path):
    groups = read(tmp_path, sample("n1"), none("n1"), sample("n2"), sample("n3", label=1)).without_none()
    assert groups.num_none == 1
    report = audit_samples(tmp_path / "s.jsonl")
    assert next(found.count for found in report.findings if found.code == "no-positive") == 1
