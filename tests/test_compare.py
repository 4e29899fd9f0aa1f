"""Runs side by side: what is aligned, what is refused, and that every number is the one of its formula."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from ltr import compare
from ltr.errors import DataError, UsageError
from ltr.evaluation import Paired, holm
from tests.made import page_of, told, written

QUERIES = 60


def rows(traces=QUERIES, labels_from=0, graded=False):
    """One query of six tools a trace, one of them right."""
    draw = np.random.default_rng(labels_from)
    for trace in range(traces):
        right = int(draw.integers(6))
        for place in range(6):
            yield {
                "trace_id": f"t{trace}",
                "node_id": "n",
                "query": f"question {trace}",
                "tool": f"tool {place}",
                "label": (2 if graded else 1) * int(place == right),
            }


def kept(directory, name, seed=None, samples=None, skill=1.0, **rules):
    """An evaluation under a name: scores of chance, and skill times the label; of no chance without a seed."""
    lines = list(rows() if samples is None else samples)
    noise = np.zeros(len(lines)) if seed is None else np.random.default_rng(seed).normal(size=len(lines))
    scores = skill * np.array([line["label"] for line in lines]) + noise
    scored = [line | {"features": [score]} for line, score in zip(lines, scores.tolist(), strict=True)]
    flags = [f"--{rule.replace('_', '-')}={value}" for rule, value in ({"metrics": "ndcg@3"} | rules).items()]
    told("evaluate", "--run", written(directory / f"{name}.jsonl", scored), "-o", directory / name, *flags)
    return str(directory / name)


@pytest.fixture
def two(tmp_path, filled):
    def evaluations():
        kept(tmp_path, "a", 1)
        kept(tmp_path, "b", 2, skill=1.8)

    filled(tmp_path, evaluations)
    return [str(tmp_path / name) for name in "ab"]


def values(directory, key):
    lines = Path(directory, "per_query.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return np.array([row[key] if key in row else row["metrics"][key] for row in rows])


def test_one_query_has_a_difference_and_no_interval(tmp_path, cli):
    one = [kept(tmp_path, name, seed, samples=list(rows(1))) for name, seed in (("a", 1), ("b", 2))]
    found = compare(one).runs[0].differences[0]
    assert (found.low, found.high) == (None, None)
    said = cli.good("compare", *one, "--format", "human")
    assert "fewer than 20 queries are too few to be sure" in " ".join(said.split())
    assert re.search("(?m)^95 % interval +(- *)+$", said)
    assert json.loads(cli.good("compare", *one, "--format", "json"))["runs"][0]["differences"][0]["low"] is None
    assert "is not significantly different from" in page_of(one)


def test_the_numbers_are_those_of_the_formulas(two):
    found = {each.metric: each for each in compare(two).runs[0].differences}
    for metric, key in (("top1_accuracy", "top1"), ("mrr", "reciprocal_rank"), ("ndcg@3", "ndcg@3")):
        baseline, ours = (values(each, key) for each in two)
        paired, row = ours - baseline, found[metric]
        assert row.value == pytest.approx(ours.mean(), abs=1e-15)
        assert row.baseline_value == pytest.approx(baseline.mean(), abs=1e-15)
        assert row.difference == pytest.approx(paired.mean(), abs=1e-15)
        assert row.low < row.difference < row.high
        assert row.t_p == pytest.approx(stats.ttest_rel(ours, baseline).pvalue, rel=1e-9)
        assert row.permutation_p == pytest.approx(row.t_p, abs=0.1)
        assert row.effect_size == pytest.approx(paired.mean() / paired.std(ddof=1), rel=1e-9)
        assert (row.wins, row.ties, row.losses) == ((paired > 0).sum(), (paired == 0).sum(), (paired < 0).sum())


def test_no_p_is_said_to_be_0(tmp_path, cli):
    runs = [kept(tmp_path, "none", 1, skill=0.0), kept(tmp_path, "all", 1, skill=9.0)]
    shown = cli.good("compare", *runs, "--format", "human")
    (t_line,) = [line for line in shown.splitlines() if line.startswith("paired t p")]
    assert t_line.count("< 0.0001") == 4
    assert "0.0000" not in shown
    cli.good("report", *runs, "-o", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "&lt; 0.0001" in page


def test_holm_counts_every_difference_of_every_run(tmp_path, two):
    comparison = compare([*two, kept(tmp_path, "c", 3)])
    found = [row for run in comparison.runs for row in run.differences]
    assert comparison.family == len(found) == 2 * 4
    assert [row.holm_p for row in found] == holm([row.permutation_p for row in found])


def test_identical_runs_give_one_everywhere(tmp_path):
    comparison = compare([kept(tmp_path, "a", 1), kept(tmp_path, "b", 1)])
    for row in comparison.runs[0].differences:
        assert (row.difference, row.low, row.high, row.effect_size) == (0, 0, 0, 0)
        assert (row.permutation_p, row.t_p, row.holm_p) == (1, 1, 1)
        assert (row.wins, row.ties, row.losses) == (0, QUERIES, 0)
    assert comparison.runs[0].changed == []


def test_a_run_against_itself_gives_one(two):
    assert compare([two[0], two[0]]).runs[0].differences[0].permutation_p == 1.0


def test_runs_over_a_shuffled_file_are_aligned_by_their_keys(tmp_path):
    shuffled = np.random.default_rng(0).permutation(QUERIES)
    every = list(rows())
    moved = [every[6 * query + place] for query in shuffled for place in range(6)]
    found = compare([kept(tmp_path, "a"), kept(tmp_path, "b", samples=moved)])
    assert all(row.permutation_p == 1.0 for row in found.runs[0].differences)


def test_the_baseline_is_the_first_run_or_the_named_one(two):
    assert compare(two).baseline == Path(two[0]).as_posix()
    named = compare(two, baseline=two[1])
    assert (named.baseline, [run.run for run in named.runs]) == (two[1], [two[0]])
    first, turned = (compare(two, baseline=each).runs[0].differences[0] for each in two)
    assert first.difference == -turned.difference


def test_a_baseline_outside_the_runs_is_held_against_all(tmp_path, two):
    assert [run.run for run in compare(two, baseline=kept(tmp_path, "c", 3)).runs] == two


def test_metrics_can_be_chosen_and_keep_their_order(two):
    found = compare(two, metrics=["ndcg@3", "mrr"])
    assert [row.metric for row in found.runs[0].differences] == ["ndcg@3", "mrr"]
    assert found.family == 2


def test_metrics_that_one_run_lacks_are_left_out_unless_asked_for(tmp_path, two):
    third = kept(tmp_path, "c", 3, metrics="map")
    assert [row.metric for row in compare([two[0], third]).runs[0].differences] == [
        "top1_accuracy", "top3_accuracy", "mrr"
    ]  # fmt: skip
    with pytest.raises(UsageError, match=r"c: no ndcg@3 query by query; evaluate it again with --metrics ndcg@3"):
        compare([two[0], third], metrics=["ndcg@3"])


def test_the_queries_that_changed_most_come_first(two):
    comparison = compare(two)
    changed = comparison.runs[0].changed
    amounts = [abs(each.value - each.baseline_value) for each in changed]
    assert (comparison.changed_by, len(changed)) == ("mrr", 10)
    assert amounts == sorted(amounts, reverse=True)
    paired = np.abs(values(two[1], "reciprocal_rank") - values(two[0], "reciprocal_rank"))
    assert amounts[0] == paired.max()
    assert changed[0].true_candidate.startswith("tool ")


def test_queries_of_one_trace_are_resampled_and_flipped_together(tmp_path):
    together = [row | {"trace_id": f"t{int(row['trace_id'][1:]) // 10}", "node_id": row["trace_id"]} for row in rows()]
    comparison = compare([kept(tmp_path, "a", 1, together), kept(tmp_path, "b", 2, together, skill=1.8)])
    assert (comparison.unit, comparison.num_units, comparison.num_queries) == ("trace", 6, QUERIES)
    for row in comparison.runs[0].differences:
        assert row.permutation_p * 2**6 == pytest.approx(round(row.permutation_p * 2**6))  # all signs of six traces


def test_queries_that_do_not_count_are_left_out(tmp_path):
    some = [row | {"label": 0} if row["trace_id"] in ("t3", "t8") else row for row in rows()]
    comparison = compare([kept(tmp_path, "a", 1, some), kept(tmp_path, "b", 2, some)])
    assert comparison.num_queries == QUERIES - 2


@pytest.mark.parametrize(
    "rules, problem",
    [
        ({"ties": "worst"}, "differ in the tie rule: worst and expected"),
        ({"rel_threshold": 0.5}, "differ in the threshold of what is right: 0.5 and 1.0"),
        ({"no_relevant": "zero"}, "differ in the rule for queries without a right candidate: zero and skip"),
    ],
)
def test_runs_under_other_rules_are_refused(tmp_path, rules, problem):
    with pytest.raises(DataError, match=problem):
        compare([kept(tmp_path, "a", 1), kept(tmp_path, "b", 1, **rules)])


def test_another_version_of_the_metrics_is_refused(two):
    path = Path(two[1], "metrics.json")
    path.write_text(path.read_text().replace('"metrics_version": 1', '"metrics_version": 2'))
    with pytest.raises(DataError, match="differ in the metric version: 2 and 1"):
        compare(two)
    path.write_text(path.read_text().replace('"metrics_version": 2,', ""))
    with pytest.raises(DataError, match=r"metrics.json: not what ltr writes: .*`metrics_version`"):
        compare(two)


def test_metrics_of_an_earlier_version_are_refused_with_what_to_do(two):
    Path(two[1], "metrics.json").write_text('{"top1_accuracy": 1.0, "num_queries": 3}')
    with pytest.raises(DataError, match=r"metrics.json: made by an earlier version; train .* again"):
        compare(two)


@pytest.mark.parametrize(
    "samples, problem",
    [
        (list(rows(QUERIES - 1)), r"a has 1 queries that .*b lacks, such as trace_id 't59', node_id 'n'"),
        (list(rows(QUERIES + 2)), r"b has 2 queries that .*a lacks, such as trace_id 't60'"),
        (list(rows(labels_from=9)), "have other candidates or labels"),
        (list(rows(graded=True)), "have other candidates or labels"),
        ([row for row in rows() if row["tool"] != "tool 0" or row["label"]], "have other candidates or labels"),
        (
            [row | {"query": "a task", "tool": f"team {row['tool']}"} for row in rows(QUERIES - 1)],
            "one id names different queries in .*b and .*a, such as trace_id 't0', node_id 'n'",
        ),
    ],
    ids=["a query less", "two more", "other labels", "other grades", "fewer candidates", "other queries"],
)
def test_other_test_data_is_refused_and_said_how(tmp_path, samples, problem):
    with pytest.raises(DataError, match=f"different test data: .*{problem}"):
        compare([kept(tmp_path, "a", 1), kept(tmp_path, "b", 1, samples)])


def test_a_metric_that_leaves_out_more_queries_is_compared_on_those_it_counts(two):
    for directory in two:
        path = Path(directory, "per_query.jsonl")
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        lines = [line | {"metrics": {"ndcg@3": None}} if line["trace_id"] in ("t1", "t2") else line for line in lines]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    row = compare(two).runs[0].differences[-1]
    assert (row.metric, row.wins + row.ties + row.losses) == ("ndcg@3", QUERIES - 2)
    path.write_text(path.read_text().replace('"ndcg@3": null', '"ndcg@3": 1.0', 1))
    with pytest.raises(DataError, match="ndcg@3 does not count the same queries"):
        compare(two)


def test_one_run_alone_cannot_be_compared(two):
    for arguments in ({"runs": two[:1]}, {"runs": two[:1], "baseline": two[0]}):
        with pytest.raises(UsageError, match="name at least two runs"):
            compare(**arguments)


def test_a_run_that_a_kill_has_put_aside_is_compared(tmp_path, two):
    for name in two:
        shutil.copytree(name, tmp_path / "killed" / Path(name).name)
    here = [str(tmp_path / "killed" / Path(name).name) for name in two]
    (tmp_path / "killed" / "b").rename(tmp_path / "killed" / ".b.old")
    assert [run.run for run in compare(here).runs] == [here[1]]


def test_what_is_no_evaluation_is_refused_by_name(tmp_path, two):
    with pytest.raises(DataError, match=r"metrics.json: a file; name the run directory"):
        compare([two[0], f"{two[1]}/metrics.json"])
    with pytest.raises(DataError, match=r"nowhere: no such run directory"):
        compare([two[0], tmp_path / "nowhere"])
    Path(two[1], "per_query.jsonl").write_text('{"trace_id": 1}\n')
    with pytest.raises(DataError, match=r"per_query.jsonl:1: "):
        compare(two)
    Path(two[1], "metrics.json").write_text("[]")
    with pytest.raises(DataError, match=r"metrics.json: not what ltr writes"):
        compare(two)


def test_the_same_seed_gives_the_same_bytes(two):
    assert compare(two, seed=3) == compare(two, seed=3)


def test_the_command_prints_every_format(cli, tmp_path, two):
    whole = json.loads(cli.good("compare", *two, "--format", "json"))
    assert whole["permutations"] == Paired.PERMUTATIONS
    assert [row["metric"] for row in whole["runs"][0]["differences"]][:3] == ["top1_accuracy", "top3_accuracy", "mrr"]
    header, *lines = [line.split("\t") for line in cli.good("compare", *two).splitlines()]
    assert header[:3] == ["run", "metric", "value"]
    assert len(lines) == 4
    assert {len(line) for line in lines} == {len(header)}
    shown = cli.good("compare", *two, "--format", "human")
    for words in ("permutation p", "Holm p, 4 tests", "paired t p", "effect size d", "better/same/worse", "question"):
        assert words in shown


@pytest.mark.parametrize("columns", [60, 80, 132])
def test_the_lines_of_the_command_fit_the_terminal(cli, two, columns, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(Path(two[0]).parent)
    cli.on_terminal(columns)
    assert max(map(len, cli.good("compare", "a", "b", "--format", "human").splitlines())) <= columns


def test_a_difference_below_its_limit_ends_with_four(cli, two):
    assert cli.run("compare", *two, "--fail-under", "mrr=-0.01") == 0
    assert cli.run("compare", *two[::-1], "--fail-under", "mrr=-0.01") == 4
    assert "mrr differs by -0." in cli.err
    assert cli.out.count("\n") == 5  # the result is there all the same


def test_a_limit_of_what_is_not_compared_is_refused(cli, two):
    assert cli.refused("compare", *two, "--fail-under", "map=0")[0] == 2
    assert cli.refused("compare", *two, "--metrics", "mrr", "--fail-under", "map=0")[0] == 2


def test_hostile_names_reach_the_terminal_written_out(cli, tmp_path):
    hostile = [row | {"query": "a\x1b[31mb\u202e", "tool": row["tool"] + "\x07"} for row in rows()]
    names = [kept(tmp_path, "a", 1, hostile), kept(tmp_path, "b", 2, hostile)]
    for form in ("human", "tsv"):
        assert not {"\x1b", "\x07", "\u202e"} & set(cli.good("compare", *names, "--format", form))


def test_a_run_named_twice_is_compared_once(two):
    assert compare([*two, two[1]]) == compare(two)
