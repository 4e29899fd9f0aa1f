"""The commands on small data: what they print, what they leave, how they end."""

import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE

import msgspec
import pytest

import ltr
from ltr.cli import COMMANDS as BY_NAME
from ltr.features import FEATURES
from ltr.files import write_lines
from ltr.report.training import trust_texts
from tests import warm
from tests.made import ENVIRONMENT, ROWS, graph_rows, grouped, process, tool_rows, written
from tests.stored import stored_metrics

COMMANDS = ["train", "evaluate", "rank", "run", "featurize", "list", "env", "config", "config check", "config render"]
HEAVY = {"numpy", "scipy", "torch", "numba", "pydantic", "jinja2"}
FILES = [
    *("config.yaml", "curves.json", "examples.jsonl", "history.jsonl", "log.jsonl", "metrics.json", "model.json"),
    *("model.npz", "per_query.jsonl", "report.html"),
]


@pytest.fixture(params=["tool", "graph"])
def kind(request, cli):
    """Training and test samples of a kind in the current directory."""
    rows = ROWS[request.param]
    written("train.jsonl", rows(range(25)))
    written("test.jsonl", rows(range(30, 40), seed=1))
    return request.param


@pytest.fixture
def tools(cli, filled):
    """A run of tools under `run`."""

    def run_of_tools():
        written("train.jsonl", tool_rows(range(25)))
        written("test.jsonl", tool_rows(range(30, 40), seed=1))
        cli.good("train", "train.jsonl", "--test", "test.jsonl", "-o", "run", "--encoder", "hash", "-q")

    filled(Path.cwd(), run_of_tools)


def kept(directory):
    """The bytes of each file but those that hold times."""
    return {
        path.name: path.read_bytes() for path in Path(directory).iterdir() if path.name not in ("run.json", "log.jsonl")
    }


# ---- starting


def test_the_version_is_one_line(cli):
    assert cli.good("--version") == f"ltr {ltr.__version__}\n"


def test_every_help_ends_well_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom ltr.cli import app\n"
        f"for command in {['', *COMMANDS]!r}:\n"
        "    try: app([*command.split(), '--help'])\n"
        "    except SystemExit as done: assert done.code == 0, command\n"
        f"print({HEAVY!r} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert done.stdout.splitlines()[-1] == "set()"
    assert done.stdout.count("Usage: ") == len(COMMANDS) + 1


def test_the_list_of_commands_loads_no_command_and_a_command_loads_no_other():
    modules = {f"ltr.cli.{module}" for module, _, _ in BY_NAME.values()}
    modules |= {"ltr.report.table", "logging", "html", "msgspec", "decimal"}
    code = (
        "import sys\nfrom ltr.cli import app\n"
        "for words in ['--help'], ['rank', '--help']:\n"
        "    try: app(words)\n"
        f"    except SystemExit: print('loaded', *sorted({modules!r} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    lines = [line for line in done.stdout.splitlines() if line.startswith("loaded")]
    assert lines == ["loaded", "loaded ltr.cli.serve"]


def test_the_list_of_commands_is_not_cut(cli):
    assert "..." not in cli.good("--help").replace("[ARGS]...", "")


def test_without_a_command_there_is_help_and_exit_two(cli):
    assert cli.run() == 2
    assert "Commands:" in cli.err
    assert cli.out == ""


@pytest.mark.parametrize("arguments", [["trian"], ["train", "--epoch", "3"], ["train"], ["list", "features", "x"]])
def test_a_mistyped_command_line_is_a_usage_error(cli, arguments):
    assert cli.run(*arguments) == 2
    assert cli.err.startswith("error: ")
    assert cli.err.count("\n") == 1
    assert cli.out == ""


def test_every_option_out_of_range_is_told_at_once(cli):
    written("s.jsonl", tool_rows(range(3)))
    sets = [word for key in ("epochs", "patience", "learning_rate") for word in ("--set", f"train.{key}=0")]
    assert cli.run("train", "s.jsonl", "-o", "r", *sets) == 2
    assert [line.split(": ")[1] for line in cli.err.splitlines()] == [
        "--set train.epochs",
        "--set train.learning_rate",
        "--set train.patience",
    ]


@pytest.mark.parametrize("text", ['{"tools": {"a": {"description": "x"}}}', '[\n{"name": "a"}\n]', '{"name": "a"}\n'])
def test_tools_given_for_graphs_are_named_as_what_they_are(cli, text):
    written("s.jsonl", graph_rows(range(3)))
    Path("tools.json").write_text(text)
    assert cli.run("train", "s.jsonl", "-o", "r", "--graphs", "tools.json") == 3
    assert cli.err == "error: tools.json: a catalogue of tools, which --tools takes; graphs are needed here\n"


def test_verbose_tells_files_encoder_and_stages_on_stderr_and_only_then(cli):
    written("s.jsonl", tool_rows(range(12)))
    options = ("--encoder", "hash", "--folds", 2, "--trainer", "newton", "--overwrite", "--format", "tsv")
    words = ("train", "s.jsonl", "-o", "r", *options)
    silent = cli.good(*words)
    told = cli.err
    assert cli.good(*words, "-v") == silent
    added = [line for line in cli.err.splitlines() if line not in told.splitlines()]
    size = Path("s.jsonl").stat().st_size
    assert added[:2] == [f"read s.jsonl: 120 lines, {size:,} bytes", "found 120 candidates, 24 groups, 12 traces"]
    assert added[3].startswith("encoder hash, revision ")
    stages = [line.split(" took ")[0] for line in added if " took " in line]
    last = ["featurising"] * 2 + ["cross-validation", "training", "diagnosis", "measuring"]
    assert stages == ["reading", "featurising", *last]
    cli.good(*words)
    assert cli.err == told


# ---- the flow


def test_training_keeps_a_whole_run(cli, kind):
    cli.good("train", "train.jsonl", "--test", "test.jsonl", "-o", "runs/a", "--encoder", "hash")
    own = ["by_tool.jsonl", "tools.jsonl"] if kind == "tool" else []
    assert sorted(path.name for path in Path("runs/a").iterdir()) == sorted([*FILES, *own, "training.npz", "run.json"])
    assert cli.err == ""


def test_two_steps_equal_one(cli, kind):
    exact, named = ("--trainer", "newton"), ("--encoder", "hash")  # whose state is an array
    cli.good("train", "train.jsonl", "--test", "test.jsonl", "-o", "one", *exact, *named)
    cli.good("evaluate", "one", "test.jsonl", "-o", "one.test")
    one = cli.good("rank", "one", "--samples", "test.jsonl", "--format", "json", "--explain")
    for name in ("x.npz", "x.jsonl", "x.jsonl.gz"):
        cli.good("featurize", "train.jsonl", "-o", name, "--overwrite", *named)
        cli.good("featurize", "test.jsonl", "-m", name, "-o", f"test.{name}", "--overwrite")
        cli.good("train", name, "--test", "test.jsonl", "-o", "two", "--overwrite", *exact)
        cli.good("evaluate", "two", f"test.{name}", "-o", "two.test", "--overwrite")
        assert cli.good("rank", "two", "--samples", "test.jsonl", "--format", "json", "--explain") == one
        for file in ("per_query.jsonl", "model.npz", "history.jsonl"):
            assert Path("one", file).read_bytes() == Path("two", file).read_bytes(), (name, file)
        for file in ("metrics.json", "model.json"):
            assert trained_part(Path("one", file)) == trained_part(Path("two", file)), (name, file)
        assert kept("one.test") == kept("two.test"), name


def trained_part(path):
    """A document without what texts alone can be ranked by, which featurised samples are not compared with."""
    document = json.loads(path.read_bytes())
    document.get("training", {}).pop("baselines", None)
    compared = ("baselines", "best_baseline", "over_best_baseline", "left_out", "checksum")
    return {key: value for key, value in document.items() if key not in compared}


def test_features_of_a_model_and_of_featurised_data_are_applied_alike(cli, kind):
    cli.good("featurize", "train.jsonl", "-o", "x.npz")
    cli.good("train", "x.npz", "-o", "run", "--trainer", "newton")
    for place, fitted in enumerate(["x.npz", "run", "run/model.json"]):
        cli.good("featurize", "test.jsonl", "-m", fitted, "-o", f"{place}.jsonl")
    assert Path("0.jsonl").read_bytes() == Path("1.jsonl").read_bytes() == Path("2.jsonl").read_bytes()


def test_a_model_made_of_columns_still_knows_the_tools(cli):
    written("train.jsonl", tool_rows(range(25)))
    cli.good("featurize", "train.jsonl", "-o", "x.npz")
    cli.good("train", "x.npz", "-o", "two", "--trainer", "newton")
    cli.good("train", "train.jsonl", "-o", "one", "--trainer", "newton")
    assert Path("one/tools.jsonl").read_bytes() == Path("two/tools.jsonl").read_bytes()
    assert cli.good("rank", "two", "the weather?") == cli.good("rank", "one", "the weather?")


def test_a_catalogue_that_columns_do_not_need_is_not_looked_for_and_costs_no_finished_run(cli):
    written("train.jsonl", tool_rows(range(25)))
    cli.good("featurize", "train.jsonl", "-o", "x.npz")
    cli.good("train", "x.npz", "-o", "run", "--trainer", "newton")
    before = kept("run")
    cli.good("train", "x.npz", "--tools", "nowhere.json", "-o", "run", "--overwrite", "--trainer", "newton")
    told = ("config.yaml", "report.html")  # the page shows the config
    assert {name: content for name, content in kept("run").items() if name not in told} == {
        name: content for name, content in before.items() if name not in told
    }
    assert [each["path"] for each in json.loads(Path("run/run.json").read_bytes())["inputs"]] == ["../x.npz"]


def test_every_shape_of_the_same_samples_gives_the_same_run(cli, kind, monkeypatch):
    rows, exact = list(ROWS[kind](range(25))), ("--trainer", "newton", "--encoder", "hash")
    cli.good("train", "train.jsonl", "-o", "one", *exact)
    lines = [json.dumps(row).encode() for row in rows]
    write_lines("a.jsonl.gz", lines)
    write_lines("a.jsonl.zst", lines)
    written("grouped.jsonl", grouped(rows))
    written("part1.jsonl", rows[:60])
    written("part2.jsonl", rows[60:])
    for samples in (
        ["a.jsonl.gz"],
        ["a.jsonl.zst"],
        ["grouped.jsonl"],
        ["part*.jsonl"],
        ["part1.jsonl", "part2.jsonl"],
    ):
        cli.good("train", *samples, "-o", "two", "--overwrite", *exact)
        for file in set(FILES) - {"config.yaml", "report.html", "log.jsonl"}:  # the page tells config and directory
            assert Path("one", file).read_bytes() == Path("two", file).read_bytes(), (samples, file)


def test_samples_come_through_stdin(tools, cli):
    content = Path("train.jsonl").read_bytes()
    words = ("train", "-", "--test", "test.jsonl", "-o", "two", "--encoder", "hash", "-q")
    done = warm.command(*words, cwd=Path.cwd(), given=content)
    assert done.returncode == 0, done.stderr
    assert Path("run/model.json").read_bytes() == Path("two/model.json").read_bytes()
    assert json.loads(Path("two/run.json").read_bytes())["inputs"][0]["path"] == "<stdin>"


def test_catalogues_give_texts_and_trees(cli):
    bare = [{key: row[key] for key in row if key != "tool_description"} for row in tool_rows(range(25))]
    texts = {row["tool"]: row["tool_description"] for row in tool_rows(range(25))}
    written("bare.jsonl", bare)
    written("full.jsonl", tool_rows(range(25)))
    Path("tools.json").write_text(json.dumps({"tools": {name: {"description": text} for name, text in texts.items()}}))
    cli.good("train", "bare.jsonl", "--tools", "tools.json", "-o", "one", "--trainer", "newton")
    cli.good("train", "full.jsonl", "-o", "two", "--trainer", "newton")
    assert Path("one/model.json").read_bytes() == Path("two/model.json").read_bytes()
    rows = list(graph_rows(range(25)))
    written("graphs.jsonl", rows)
    written("bare.jsonl", [{key: row[key] for key in row if key not in ("tree", "candidate_type")} for row in rows])
    cli.good("train", "bare.jsonl", "--graphs", "graphs.jsonl", "-o", "three", "--trainer", "newton")
    cli.good("train", "graphs.jsonl", "-o", "four", "--trainer", "newton")
    assert Path("three/model.json").read_bytes() == Path("four/model.json").read_bytes()


def test_ready_numbers_need_no_texts(cli):
    rows = [row | {"features": [row["label"] + 0.1 * place, 0.5]} for place, row in enumerate(tool_rows(range(25)))]
    written("ready.jsonl", rows)
    cli.good("train", "ready.jsonl", "-o", "run", "--trainer", "newton")
    assert "x1" in Path("run/model.json").read_text()
    cli.good("evaluate", "run", "ready.jsonl")
    written("raw.jsonl", tool_rows(range(5)))
    told = "the model was trained on ready numbers; it ranks featurised samples only"
    assert cli.refused("evaluate", "run", "raw.jsonl") == (3, told)
    assert cli.run("rank", "run", "weather?", "--tools", "tools.jsonl") == 3


# ---- formats and streams


def test_the_result_goes_to_stdout_in_three_formats(tools, cli):
    flat = json.loads(cli.good("evaluate", "run", "test.jsonl", "--format", "json", "--baselines"))
    assert list(flat)[:4] == ["top1_accuracy", "top3_accuracy", "mrr", "num_queries"]
    assert {"ties", "gain", "rel_threshold", "no_relevant", "num_tied", "random.mrr", "oracle.mrr"} <= set(flat)
    tsv = dict(line.split("\t") for line in cli.good("evaluate", "run", "test.jsonl", "--baselines").splitlines())
    assert {name: str(value) for name, value in flat.items()} == tsv
    human = cli.good("evaluate", "run", "test.jsonl", "--baselines", "--format", "human")
    assert re.search(rf"^the model +{flat['top1_accuracy']:.3f} +{flat['top3_accuracy']:.3f}", human, re.MULTILINE)
    assert cli.err == ""


def test_the_metrics_of_a_run_are_those_its_evaluation_prints(tools, cli):
    kept_metrics = stored_metrics("run")
    printed = json.loads(cli.good("evaluate", "run", "test.jsonl", "--baselines", "--format", "json"))
    assert kept_metrics == printed | {"split": "test"}


def test_quiet_commands_say_nothing_but_the_result(cli):
    written("train.jsonl", tool_rows(range(25)))
    cli.good("featurize", "train.jsonl", "-o", "x.npz", "-q")
    assert (cli.out, cli.err) == ("", "")
    cli.good("train", "x.npz", "-o", "run", "-q", "--format", "json", "--trainer", "newton")
    assert json.loads(cli.out)["run"] == "run"
    assert cli.err == ""


def test_featurising_is_told_on_stderr(cli):
    written("train.jsonl", tool_rows(range(25)))
    assert cli.good("featurize", "train.jsonl", "-o", "x.npz", "--encoder", "hash") == ""
    assert cli.err == (
        "250 candidates of 50 groups, tool.rel, tool.hist, tool.coop, tool.struct fitted and cross-fitted: x.npz\n"
    )


def test_featurising_few_traces_says_that_fewer_features_are_used(cli):
    written("few.jsonl", tool_rows(range(4)))
    cli.good("featurize", "few.jsonl", "-o", "x.npz", "-q", "--set", "features=[recommended]")
    few = "warning: only 4 training traces: 5 of the 11 recommended features are used; all from 10 traces on\n"
    assert cli.err.startswith(few)


def test_a_ranking_has_a_line_a_candidate_and_probabilities(tools, cli):
    lines = [line.split("\t") for line in cli.good("rank", "run", "the weather?", "-k", "3").splitlines()]
    assert lines[0] == ["trace_id", "node_id", "query", "rank", "candidate", "probability", "score"]
    assert lines[1][3:5] == ["1", "get_weather"]
    assert len(lines) == 4
    every = json.loads(cli.good("rank", "run", "the weather?", "-k", "99", "--format", "json"))["ranking"]
    assert sum(each["probability"] for each in every) == pytest.approx(1)
    assert [each["rank"] for each in every] == list(range(1, 11))


def test_an_explained_score_is_the_sum_of_its_parts(tools, cli):
    header, *lines = [
        line.split("\t") for line in cli.good("rank", "run", "--samples", "test.jsonl", "--explain").splitlines()
    ]
    assert header[6:] == ["score", "tool.rel", "tool.hist", "tool.coop", "tool.struct"]
    assert len(lines) == 20 * 5
    for line in lines:
        assert float(line[6]) == pytest.approx(sum(map(float, line[7:])))
    answer = json.loads(cli.good("rank", "run", "the news?", "--explain", "--format", "json"))
    assert set(answer["ranking"][0]["contributions"]) == set(header[7:])


def test_samples_to_rank_need_no_labels(tools, cli):
    written("asked.jsonl", tool_rows(range(30, 40), seed=1, labels=False))
    asked = cli.good("rank", "run", "--samples", "asked.jsonl")
    assert asked == cli.good("rank", "run", "--samples", "test.jsonl")
    assert cli.refused("evaluate", "run", "asked.jsonl") == (
        3,
        "asked.jsonl:1: label: missing; 1 (right), 0 (wrong) or a grade up to 1e300 is needed",
    )


def test_unlabelled_columns_rank_but_neither_train_nor_measure(tools, cli):
    written("asked.jsonl", tool_rows(range(30, 40), seed=1, labels=False))
    cli.good("featurize", "asked.jsonl", "-m", "run", "-o", "asked.npz")
    assert cli.good("rank", "run", "--samples", "asked.npz") == cli.good("rank", "run", "--samples", "test.jsonl")
    assert cli.refused("train", "asked.npz", "-o", "x")[0] == 3
    assert cli.refused("evaluate", "run", "asked.npz")[0] == 3
    assert not Path("x").exists()


def test_queries_come_line_by_line_through_stdin(tools):
    asked = b"the weather?\r\n\n \nthe news?"
    done = warm.command("rank", "run", "-", "--format", "json", cwd=Path.cwd(), given=asked)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["query"] for answer in answers] == ["the weather?", "the news?"]
    assert [answer["ranking"][0]["candidate"] for answer in answers] == ["get_weather", "get_news"]


@pytest.mark.parametrize(
    "typed, told",
    [(b"", "<stdin>: no queries; one a line is needed"), (b"a\nb\xff\n", "<stdin>:2: byte 2 is not UTF-8")],
)
def test_stdin_without_queries_or_of_other_bytes_is_refused(tools, typed, told):
    done = warm.command("rank", "run", "-", "-k", "1", cwd=Path.cwd(), given=typed)
    assert (done.returncode, done.stderr.decode()) == (3, f"error: {told}\n")


def test_graphs_are_ranked_by_query_from_a_catalogue(cli):
    rows = list(graph_rows(range(25)))
    written("train.jsonl", rows)
    written("graphs.jsonl", rows[:4])
    cli.good("train", "train.jsonl", "-o", "run", "--trainer", "newton")
    assert cli.refused("rank", "run", "solve it") == (
        2,
        "no graphs to choose from: name a catalogue (--graphs), or samples to rank",
    )
    assert cli.good("rank", "run", "solve it", "--graphs", "graphs.jsonl").count("\n") == 5


def test_a_query_and_samples_exclude_each_other(tools, cli):
    for arguments in ([], ["q", "--samples", "test.jsonl"]):
        assert cli.refused("rank", "run", *arguments) == (2, "give a QUERY, or --samples FILE")


# ---- evaluate


def test_an_evaluation_is_kept_with_its_explanations(tools, cli):
    cli.good("evaluate", "run", "test.jsonl", "-o", "out", "--explain")
    assert sorted(path.name for path in Path("out").iterdir()) == ["by_tool.jsonl", "metrics.json", "per_query.jsonl"]
    record = json.loads(Path("out/per_query.jsonl").read_text().splitlines()[0])
    assert list(record["contributions"]) == ["predicted", "true"]
    assert sum(record["contributions"]["predicted"].values()) == pytest.approx(record["top3_scores"][0])


def test_an_explanation_nobody_sees_is_told(tools, cli):
    cli.good("evaluate", "run", "test.jsonl", "--explain")
    assert cli.err == "note: --explain is shown on a terminal (--format human), and kept with -o\n"
    cli.good("evaluate", "run", "test.jsonl", "--explain", "-q")
    assert cli.err == ""


def test_a_record_of_a_query_has_the_documented_keys_in_order(tools):
    record = json.loads(Path("run/per_query.jsonl").read_text().splitlines()[0])
    assert " ".join(record) == (
        "trace_id node_id query true_candidate predicted_candidate top3_candidates top3_scores rank is_top1_correct "
        "is_top3_correct top1 top3 reciprocal_rank tied num_candidates num_positives probability"
    )


def test_the_means_are_those_of_the_records(tools):
    records = [json.loads(line) for line in Path("run/per_query.jsonl").read_text().splitlines()]
    metrics = stored_metrics("run")
    for mean, value in (("top1_accuracy", "top1"), ("top3_accuracy", "top3"), ("mrr", "reciprocal_rank")):
        assert metrics[mean] == pytest.approx(sum(record[value] for record in records) / len(records), abs=1e-12)


@pytest.mark.parametrize("rule", ["skip", "zero"])
def test_queries_without_a_right_candidate_follow_the_rule(tools, cli, rule):
    rows = [
        row | {"label": 0 if row["trace_id"] == "t31" else row["label"]} for row in tool_rows(range(30, 40), seed=1)
    ]
    written("test.jsonl", rows)
    flat = json.loads(cli.good("evaluate", "run", "test.jsonl", "--no-relevant", rule, "--format", "json", "-o", rule))
    assert (flat["no_relevant"], flat["num_no_relevant"]) == (rule, 2)
    assert flat["num_queries"] == {"skip": 18, "zero": 20}[rule]
    records = [json.loads(line) for line in Path(rule, "per_query.jsonl").read_text().splitlines()]
    assert [record["trace_id"] for record in records if record["rank"] is None] == ["t31", "t31"]


def test_a_query_without_a_right_candidate_can_be_an_error(tools, cli):
    written("test.jsonl", [row | {"label": 0} for row in tool_rows(range(2))])
    code, told = cli.refused("evaluate", "run", "test.jsonl", "--no-relevant", "error")
    assert code == 3
    assert told == (
        "test.jsonl:1: the query of trace 't0', node 'n0', has no label of 1 or more, and no_relevant is 'error'"
    )


@pytest.mark.parametrize("rule", ["expected", "file", "worst", "best", "trec"])
def test_every_rule_of_ties_is_named_in_the_result(tools, cli, rule):
    flat = json.loads(cli.good("evaluate", "run", "test.jsonl", "--ties", rule, "--format", "json"))
    assert flat["ties"] == rule


@pytest.mark.parametrize(
    "limits, code, told",
    [
        (["mrr=0"], 0, ""),
        (["mrr=1.1"], 4, r"error: mrr is 0\.\d+, below 1.1\n"),
        (["mrr=1.1", "ndcg@03=2"], 4, r"error: mrr is 0\.\d+, below 1.1; ndcg@3 is 0\.\d+, below 2\n"),
    ],
)
def test_a_metric_below_its_limit_ends_with_four_after_the_result(tools, cli, limits, code, told):
    flags = [part for limit in limits for part in ("--fail-under", limit)]
    assert cli.run("evaluate", "run", "test.jsonl", *flags) == code
    assert cli.out.startswith("top1_accuracy\t")
    assert re.fullmatch(told, cli.err)


def test_a_metric_that_is_undefined_misses_any_limit(tools, cli):
    written("test.jsonl", [row | {"label": 0} for row in tool_rows(range(2))])
    assert cli.run("evaluate", "run", "test.jsonl", "--fail-under", "mrr=-5") == 4
    assert cli.err.splitlines()[-1] == "error: mrr is undefined, below -5"


@pytest.mark.parametrize("limit", ["mrr", "mrr=", "mrr=x", "mrr=nan", "mrr=inf"])
def test_a_limit_is_a_metric_and_a_number(tools, cli, limit):
    told = f"--fail-under {limit}: write METRIC=X, such as mrr=0.7"
    assert cli.refused("evaluate", "run", "test.jsonl", "--fail-under", limit) == (2, told)


# ---- configs and runs


def test_configs_run_in_order_and_end_in_a_leaderboard(cli):
    written("train.jsonl", tool_rows(range(25)))
    for name, trainer in (("exact", "newton"), ("steps", "descent")):
        Path(f"{name}.yaml").write_text(f"name: {name}\ndata: {{train: train.jsonl}}\ntrain: {{trainer: {trainer}}}\n")
    lines = [
        line.split("\t") for line in cli.good("run", "exact.yaml", "steps.yaml", "--set", "encoder=hash").splitlines()
    ]
    metrics = ["top1_accuracy", "top3_accuracy", "mrr"]
    counts = ["num_queries", "candidates_median", "candidates_least", "candidates_most"]
    answers = ["known_top1", "unseen_top1", "num_unseen"]
    assert lines[0] == ["place", "run", "status", "split", *metrics, *counts, *answers, "low", "high", "error"]
    assert sorted(line[1] for line in lines[1:]) == ["exact", "steps"]
    assert re.fullmatch(r"kept runs/exact/ \(\d+\.\d s\)\nkept runs/steps/ \(\d+\.\d s\)\n", cli.err)
    assert Path("runs/steps/run.json").exists()


def test_the_config_here_is_the_default(cli):
    assert cli.refused("run") == (2, "no ltr.yaml here; name a config, or make one with `ltr init`")
    written("train.jsonl", tool_rows(range(25)))
    Path("ltr.yaml").write_text("data: {train: train.jsonl}\n")
    cli.good("run", "-o", "out", "-q")
    assert Path("out/run/run.json").exists()


def test_a_run_that_is_there_stops_all_before_the_first(cli):
    written("train.jsonl", tool_rows(range(25)))
    for name in ("a", "b"):
        Path(f"{name}.yaml").write_text(f"name: {name}\ndata: {{train: train.jsonl}}\n")
    cli.good("run", "b.yaml", "-q")
    assert cli.refused("run", "a.yaml", "b.yaml") == (
        2,
        "runs/b: holds a result; add --resume to keep it, or --overwrite, or -o elsewhere",
    )
    assert not Path("runs/a").exists()
    cli.good("run", "a.yaml", "b.yaml", "-q", "--overwrite")


@pytest.mark.parametrize("command", [("train", "train.jsonl", "-o", "run"), ("run", "ltr.yaml")])
def test_what_is_there_cannot_both_be_gone_on_with_and_replaced(cli, command):
    written("train.jsonl", tool_rows(range(25)))
    Path("ltr.yaml").write_text("data: {train: train.jsonl}\n")
    message = "--resume goes on with what is there, --overwrite replaces it: give one of them"
    assert cli.refused(*command, "--resume", "--overwrite") == (2, message)


def test_a_command_line_beats_the_config_it_starts_from(cli):
    written("train.jsonl", tool_rows(range(25)))
    Path("ltr.yaml").write_text("data: {train: other.jsonl}\ntrain: {epochs: 7, l2: 0.5}\nseed: 3\n")
    cli.good(
        "train", "train.jsonl", "-c", "ltr.yaml", "-o", "run", "--set", "train.l2=0.25", "--set", "seed=4", "--seed", 5
    )
    text = Path("run/config.yaml").read_text()
    assert all(line in text for line in ("train: [../train.jsonl]", "epochs: 7", "l2: 0.25", "seed: 5"))


def test_a_dry_run_says_what_it_would_do_and_writes_nothing(cli):
    written("train.jsonl", tool_rows(range(25)))
    Path("ltr.yaml").write_text("data: {train: train.jsonl, test: 0.2}\nencoder: hash\n")
    before = sorted(Path().rglob("*"))
    assert cli.good("train", "train.jsonl", "-o", "out", "--dry-run").startswith("name: out\n")
    assert cli.err == "would learn from 50 groups, measure on the same, and write out/\n"
    said = "runs/run/: is to be made: learns from 40 groups, is measured on 10 test groups\n"
    assert cli.good("run", "--dry-run") == said
    assert sorted(Path().rglob("*")) == before


def test_a_directory_of_runs_in_place_of_a_run_names_one(tools, cli):
    cli.good("train", "train.jsonl", "-o", "runs/a", "-q")
    said = "runs: holds no model.json; name a run directory, such as runs/a"
    assert cli.refused("rank", "runs", "a query") == (3, said)
    assert cli.refused("compare", "runs", "runs")[1] == said.replace("model", "metrics")
    assert cli.refused("rank", "train.jsonl", "a query")[1].endswith("; name a run directory or its model.json")


def test_a_ranking_of_teams_tells_who_is_in_them_and_programs_their_ids(cli):
    cli.good("train", written("g.jsonl", graph_rows(range(12))), "-o", "run", "-q", "--trainer", "newton")
    human = cli.good("rank", "run", "--samples", "g.jsonl", "-k", "1", "--format", "human").splitlines()[2]
    told = json.loads(cli.good("rank", "run", "--samples", "g.jsonl", "-k", "1", "--format", "json").splitlines()[0])
    assert f"{told['ranking'][0]['candidate']} (" in human
    assert set(told["ranking"][0]) == {"rank", "candidate", "probability", "score"}


def test_a_query_without_its_quotes_is_told_to_have_some(tools, cli):
    quotes = "a text with spaces stands in quotes, and only one is taken"
    said = f"Got unexpected extra argument(s) (in Paris); {quotes}; see ltr rank -h"
    assert cli.refused("rank", "run", "weather", "in", "Paris") == (2, said)


@pytest.mark.parametrize(
    "arguments, said",
    [
        (
            ("rank", "run", "q", "-k", 0),
            "Invalid value for '-k': 0 is too small; at least 1 is needed; see ltr rank -h",
        ),
        (("rank", "run", "q", "-k", 2.5), "Invalid value for '-k': 2.5 is not a whole number; see ltr rank -h"),
        (("train", "s", "-o", "x", "--l2", "{}"), "Invalid value for '--l2': {} is not a number; see ltr train -h"),
    ],
)
def test_a_number_that_is_none_or_too_small_is_told_in_our_words(cli, arguments, said):
    assert cli.refused(*arguments) == (2, said)


def test_a_weight_that_vanishes_beside_another_is_told_with_its_line(cli):
    weights = {"t1": 1e-160, "t2": 1e160}
    written("s.jsonl", ({**row, "weight": weights.get(row["trace_id"], 1)} for row in tool_rows(range(4))))
    said = "s.jsonl:11: weight: 1e-160 vanishes beside the largest, 1e+160; keep their ratio below 1e+300"
    assert cli.refused("train", "s.jsonl", "-o", "run") == (3, said)


def test_a_percentage_is_told_how_a_share_is_written(tools, cli):
    said = "--test: data.test: '20%': write a share as a number between 0 and 1, such as 0.2"
    assert cli.refused("train", "train.jsonl", "-o", "x", "--test", "20%") == (2, said)


def test_a_config_of_a_bench_and_one_of_runs_are_told_apart_in_one_line(cli):
    Path("bench.yaml").write_text("data: {samples: a.jsonl}\nrerankers: [bm25]\n")
    Path("run.yaml").write_text("data: {train: a.jsonl}\ntrain: {l2: 1}\n")
    other = "rerankers: a key of a bench, not of runs; ltr bench takes this config (and checks it, with --dry-run)"
    assert cli.refused("config", "check", "bench.yaml") == (2, f"bench.yaml:2:1: {other}")
    assert cli.refused("run", "bench.yaml") == (2, f"bench.yaml:2:1: {other}")
    own = "train: a key of runs, not of a bench; ltr run takes this config"
    assert cli.refused("bench", "run.yaml") == (2, f"run.yaml:2:1: {own}")


def test_a_dry_run_refuses_what_the_run_would_refuse(tools, cli):
    told = "run: holds a result; add --overwrite, or name another directory"
    assert cli.refused("train", "train.jsonl", "-o", "run", "--dry-run") == (2, told)
    assert cli.run("train", "train.jsonl", "-o", "run", "--dry-run", "--overwrite") == 0


def test_a_config_is_checked_rendered_and_described(cli):
    Path("ltr.yaml").write_text("train: {l2: 0.5}\n")
    assert cli.good("config", "check", "ltr.yaml") == ""
    assert cli.err == "ltr.yaml: good\n"
    assert "  l2: 0.5\n" in cli.good("config", "render", "ltr.yaml", "--set", "seed=3")
    assert json.loads(cli.good("config", "schema"))["properties"]["train"]
    Path("ltr.yaml").write_text("trian: {l2: 0.5}\nseed: x\n")
    assert cli.run("config", "check", "ltr.yaml") == 2
    assert cli.err == (
        "error: ltr.yaml:1:1: trian: unknown key; did you mean train?\n"
        "error: ltr.yaml:2:1: seed: 'x' is not an integer\n"
    )


def test_a_config_is_not_good_while_a_file_that_it_names_is_missing(cli):
    written("here.jsonl", tool_rows(range(3)))
    Path("c").mkdir()
    Path("c/ltr.yaml").write_text(
        'data:\n  train: [../here.jsonl, gone.jsonl]\n  valid: "0.2"\n  test: h*.jsonl\n  tools: ~/no/tools.json\n'
    )
    assert cli.run("config", "check", "c/ltr.yaml") == 2
    home = str(Path("~/no/tools.json").expanduser())
    share = "; a share is a number between 0 and 1 without quotes, such as 0.2"
    assert cli.err == (
        "error: c/ltr.yaml:2:26: data.train[1]: c/gone.jsonl: no such file or directory\n"
        f"error: c/ltr.yaml:3:3: data.valid: c/0.2: no such file or directory{share}\n"
        f"error: c/ltr.yaml:4:3: data.test: c/h*.jsonl: no regular file matches{share}\n"
        f"error: c/ltr.yaml:5:3: data.tools: {home}: no such file or directory\n"
    )
    Path("c/ltr.yaml").write_text("data: {train: ../here.jsonl, test: 0.2}\nsweep: {train.l2: [1, 2]}\n")
    cli.good("config", "check", "c/ltr.yaml")
    assert cli.run("config", "check", "c/ltr.yaml", "--set", "sweep.data.tools=[a.json]") == 2
    assert cli.err == "error: --set sweep.data.tools: data.tools: a.json: no such file or directory\n"


@pytest.mark.parametrize("name", ["valid", "test", "calibrate"])
@pytest.mark.parametrize("command", ["config check", "run", "config render"])
def test_a_percentage_in_a_config_is_no_file(cli, command, name):
    written("s.jsonl", tool_rows(range(9)))
    Path("ltr.yaml").write_text(f'data:\n  train: s.jsonl\n  {name}: "20%"\n')
    told = f"ltr.yaml:3:3: data.{name}: '20%': write a share as a number between 0 and 1, such as 0.2"
    assert cli.refused(*command.split(), "ltr.yaml") == (2, told)


@pytest.mark.parametrize(
    "plugins, name", [("features", "tool.rel"), ("encoders", "hash"), ("metrics", "mrr"), ("trainers", "newton")]
)
def test_plugins_are_listed(cli, plugins, name):
    listed = json.loads(cli.good("list", plugins, "--format", "json"))
    assert name in {each["name"] for each in listed}
    assert all(all(each.values()) for each in listed)
    assert cli.good("list", plugins).count("\n") == len(listed) + 1


def test_features_are_listed_with_a_title_and_a_plug_in_without_one_with_its_name(cli):
    Path("own.py").write_text(
        "import numpy as np\nfrom ltr import feature\n"
        '@feature("tool.untitled", "rel")\n'
        "def untitled(candidates, state, context):\n    return np.zeros(len(candidates.names))\n",
        encoding="utf-8",
    )
    try:
        listed = json.loads(cli.good("list", "features", "--code", "own.py", "--format", "json"))
    finally:
        FEATURES._own.pop("tool.untitled")
    rows = {row["name"]: row for row in listed}
    assert rows["tool.lift"]["title"] == "how often chosen when offered"
    assert (rows["tool.untitled"]["title"], rows["tool.untitled"]["value"]) == ("tool.untitled", "")


def test_sums_are_made_by_one_thread_unless_the_user_says_otherwise(cli, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("VECLIB_MAXIMUM_THREADS", "3")
    cli.good("--version")
    assert (os.environ["OPENBLAS_NUM_THREADS"], os.environ["VECLIB_MAXIMUM_THREADS"]) == ("1", "3")


def test_the_environment_is_what_a_bug_report_needs(cli):
    facts = json.loads(cli.good("env", "--format", "json"))
    assert {"ltr", "python", "numpy", "blas", "platform", "cpus"} <= set(facts)
    assert cli.good("env").count("\n") == len(facts)


def test_shared_data_of_training_and_test_are_warned_about(cli):
    written("train.jsonl", tool_rows(range(25)))
    cli.good("train", "train.jsonl", "--test", "train.jsonl", "-o", "a", "--encoder", "hash", "--trainer", "newton")
    assert cli.err == "warning: overlap-file: 1 file stands in the training data, too, such as 'train.jsonl'\n"
    written("test.jsonl", tool_rows(range(20, 30)))
    cli.good("train", "train.jsonl", "--test", "test.jsonl", "-o", "b", "--trainer", "newton")
    told = [line.split(" stand")[0] for line in cli.err.splitlines()]
    assert told[0] == "warning: overlap-group: 10 groups"


def test_features_fitted_on_other_data_are_warned_about(tools, cli):
    cli.good("featurize", "test.jsonl", "-m", "run", "-o", "applied.npz", "-q")
    cli.good("featurize", "test.jsonl", "-o", "fitted.npz", "-q")
    cli.good("evaluate", "run", "applied.npz")
    assert cli.err == ""
    cli.good("evaluate", "run", "fitted.npz")
    assert cli.err == (
        "warning: the features of the samples were fitted on other data than those of the model, perhaps on the very "
        "labels they are measured by; featurize with -m MODEL\n"
    )


# ---- how a process ends


def test_a_reader_that_leaves_early_is_no_error(tools):
    command = f"{sys.executable} -m ltr rank run --samples train.jsonl -k 9 --format json --explain | head -1"
    shell = ["bash", "-c", f"{command}; echo ${{PIPESTATUS[0]}}"]
    done = subprocess.run(shell, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


@pytest.mark.parametrize(
    "arguments", ["list features", "--help", "--version", "rank run --samples train.jsonl", "env --format json"]
)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_a_full_stdout_is_one_line_and_code_74(tools, arguments):
    if arguments != "--version":
        done = warm.command(*arguments.split(), cwd=Path.cwd(), out="/dev/full")
    else:
        with open("/dev/full", "w") as full:  # noqa: PTH123
            command = [sys.executable, "-m", "ltr", arguments]
            done = subprocess.run(command, stdout=full, stderr=PIPE, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stderr) == (74, b"error: <stdout>: no space left on device\n")


def test_closed_streams_are_no_traceback(tools):
    for command, code in (("rank run weather >&- 2>&-", 0), ("rank nothing weather 2>&-", 3), ("list metrics >&-", 0)):
        shell = ["bash", "-c", f"{sys.executable} -m ltr {command}"]
        done = subprocess.run(shell, capture_output=True, text=True, env=ENVIRONMENT, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_narrow_stdout_still_takes_any_text(tools, encoding):
    done = process("rank", "run", "天気 é?", "--format", "json", environment={"PYTHONIOENCODING": encoding})
    assert json.loads(done.stdout)["query"] == "天気 é?"
    human = process("rank", "run", "天気?", "--format", "human", environment={"PYTHONIOENCODING": encoding})
    assert (human.returncode, human.stderr) == (0, b"")


def test_a_signal_ends_the_work_and_leaves_nothing_half_written(tools):
    started = {143: long_training("long143"), 130: long_training("long130")}
    try:
        time.sleep(0.2)
        for code, number in ((143, signal.SIGTERM), (130, signal.SIGINT)):
            started[code].send_signal(number)
        said = {code: running.communicate(timeout=20) for code, running in started.items()}
    finally:
        for running in started.values():
            running.kill()  # where the signal was not heard
            running.wait()
    for code, running in started.items():
        assert (running.returncode, *said[code]) == (code, b"", b"")
        left = {path.name for path in Path(f"long{code}").rglob("*")}  # a whole checkpoint, after half a second
        assert left in (set(), {"checkpoints", "task.json"}, {"checkpoints", "task.json", "progress.json"})


def long_training(out):
    """A process that has read most of its samples."""
    command = [sys.executable, "-m", "ltr", "train", "-", "-o", out, "--epochs", "10000000"]
    running = subprocess.Popen(command, env=ENVIRONMENT, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    running.stdin.write(b"\n" * (1 << 20) + Path("train.jsonl").read_bytes())  # more than a pipe holds: it reads
    running.stdin.close()
    running.stdin = None
    return running


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_python_ends_changes_no_exit_code(number):
    code = (
        "import atexit, os, sys; from ltr.cli import main; sys.argv = ['ltr', '--version']; "
        f"atexit.register(os.kill, os.getpid(), {int(number)}); main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"ltr {ltr.__version__}\n", "")


IN_A_TEXT = """
import ltr.__main__
import ltr.cli.start

def interrupted():
    try:
        exec("raise KeyboardInterrupt")  # as in the making of a dataclass
    except KeyboardInterrupt:
        return 130

ltr.cli.start.run_app = interrupted
ltr.__main__.main()
"""
WHILE_LOADED = """
import sys

class Interrupted:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
from ltr.__main__ import main
main()
"""


@pytest.mark.parametrize("code", [IN_A_TEXT, WHILE_LOADED])
def test_an_interrupt_ends_the_command_as_any_other_wherever_python_is(tmp_path, code):
    (tmp_path / "interrupted.py").write_text(code)
    command = [sys.executable, "-m", "interrupted"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=ENVIRONMENT, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_gzip_member_after_another_is_read(cli):
    lines = [json.dumps(row).encode() + b"\n" for row in tool_rows(range(25))]
    Path("two.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[:50])) + gzip.compress(b"".join(lines[50:])))
    cli.good("train", "two.jsonl.gz", "-o", "run", "--trainer", "newton")
    assert stored_metrics("run")["num_candidates"] == 250


# ---- what a person sees


def test_a_person_sees_how_good_what_it_weighs_how_far_to_trust_it_and_where_it_is(tools, cli):
    cli.on_terminal(80)
    said = cli.good(
        "train", "train.jsonl", "--test", "test.jsonl", "-o", "run", "--encoder", "hash", "--overwrite", "-v"
    )
    plain = re.sub(r"[-+]?[0-9.]*[0-9][0-9.e-]*", "#", re.sub(r"\x1b\[\dm", "", said))
    head, _, tail = re.sub(" +", " ", plain).partition("learned from")
    assert (
        head
        == """# queries, # candidates, # each, right tools all known (test data)
 top# top# MRR
trained # # #
# % interval [#, #] [#, #] [#, #]
random order # # #
offered order # # #
most used # # #
BM# # # #
similarity # # #
best single column tool.coop # # #
untrained, w = # # # #
oracle # # #
ties: expected; # queries with a right candidate in a tie
intervals resample whole traces: the queries of one depend on each other
top# #: good (usable above #, good above #, excellent above #)
fewer than # queries: differences of a few hundredths are chance
too little was measured to be sure: # traces; the intervals promise too much
top# over BM#: # [#, #] (# %, by # traces: too few)
top# over best single column tool.coop: # [#, #] (# %, by #
 traces: too few)

feature weight loss without
tool.rel # #
tool.hist # #
tool.coop # #
tool.struct # #

"""
    )
    assert tail.startswith(" # groups by descent, l# #, # epochs: objective #,\n # above the optimum\n")
    told = " ".join(tail.split())
    assert "no standard errors: your data set no limit to the weight of tool.coop; more data would" in told
    assert "note: descent ended # above the optimum, #% of all there is to gain over w = #" in told
    assert (
        "note: tool.rel and tool.struct are nearly the same column (correlation #): read their weights together" in told
    )
    assert tail.endswith("kept in run/ (# s)\n")


def scaled_rows(scale):
    """A hundred queries of three candidates whose first column has another scale."""
    draw = random.Random(0)
    for query in range(100):
        columns = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(3)]
        best = max(range(3), key=lambda place: sum(columns[place]) + draw.gauss(0, 1))
        for place, (first, second) in enumerate(columns):
            row = {"trace_id": str(query // 2), "node_id": str(query % 2), "query": "q", "tool": str(place)}
            yield row | {"label": int(place == best), "features": [first * scale, second]}


def test_an_optimum_that_is_not_proved_is_told_as_such_in_few_digits_with_a_bound(tmp_path):
    samples = written(tmp_path / "s.jsonl", scaled_rows(1))
    result = ltr.train(str(samples))
    unproved = {"objective": 3.6468712e21, "optimum": "not_reached", "gap": None, "gap_bound": 4.6123e21}
    training = msgspec.structs.replace(result.router.training, **unproved)
    told = next(trust_texts(replace(result, router=replace(result.router, training=training))))
    assert told.endswith(": objective 3.64687e+21, not proved to be the optimum; at most 4.6e+21 above it")


def test_whether_the_optimum_is_proved_is_told_as_the_model_records_it(cli):
    # with columns of such scales the rounding of some processors lets the optimum be proved
    said = cli.good("train", written("s.jsonl", scaled_rows(1e12)), "-o", "run", "--format", "human", "-v")
    training = json.loads(Path("run/model.json").read_bytes())["training"]
    told = next(line for line in said.splitlines() if line.startswith("learned from"))
    note = "note: the optimum could not be proved, as columns differ in scale by a factor of 9e+11"
    is_proved = training["gap"] is not None
    assert (" above the optimum" in told, "not proved to be the optimum" in told) == (is_proved, not is_proved)
    assert (note in said) == (not is_proved)
    assert f"{training['scale_ratio']:.0e}" == "9e+11"


def test_the_weights_are_followed_by_what_they_rest_on(cli):
    said = cli.good(
        "train", written("s.jsonl", scaled_rows(1)), "-o", "run", "--trainer", "newton", "--format", "human", "-v"
    )
    told = re.search(
        r"(?m)^gradient norm (\S+), effective groups 100, condition number 1\.\d+, standard errors by trace \(50\)$",
        said,
    )
    assert float(told[1]) <= 1e-10  # what newton calls the optimum; the digits are those of rounding
    kept = json.loads(Path("run/model.json").read_bytes())["training"]
    assert (kept["errors"]["effective_clusters"], kept["groups_all_alike"]) == (pytest.approx(50), 0)
    assert 0 < kept["lost_to_penalty"] < 0.01
    assert kept["possible_gain"] > 0.1


def test_one_trace_has_no_interval_to_show(cli):
    rows = [row | {"trace_id": "t", "node_id": place // 3} for place, row in enumerate(scaled_rows(1))]
    said = cli.good("train", written("s.jsonl", rows), "-o", "run", "--format", "human", "--trainer", "newton")
    assert re.search("(?m)^95 % interval +- +- +-$", said)
    assert re.search(r"(?m)^top-1 over most used: \S+ - \(95 %, by 1 trace: too few\)$", said)


def test_more_metrics_than_fit_beside_each_other_stand_below_each_other(tools, cli):
    cli.on_terminal(80)
    said = cli.good(
        "evaluate", "run", "test.jsonl", "--baselines", "--metrics", ",".join(f"hit@{k}" for k in range(1, 9))
    )
    lines = said.replace("\x1b[1m", "").replace("\x1b[0m", "").split("\n")
    blocks = [line.split() for line in lines if re.match(" {20}", line)]
    assert len(blocks) > 1
    assert [name for block in blocks for name in block] == ["top-1", "top-3", "MRR", *(f"hit@{k}" for k in range(1, 9))]
    assert max(map(len, lines)) <= 80


def test_the_four_features_are_explained_in_eighty_columns(tools, cli):
    cli.on_terminal(80)
    lines = cli.good("rank", "run", "the weather?", "--explain", "-k", "2").split("\n")
    assert lines[1].replace("\x1b[1m", "").split() == [
        "rank", "candidate", "prob.", "score", "rel", "hist", "coop", "struct\x1b[0m",
    ]  # fmt: skip
    assert len(lines) == 5


def test_queries_that_went_wrong_are_explained_by_the_parts_of_two_scores(tools, cli):
    cli.on_terminal(80)
    said = cli.good("evaluate", "run", "test.jsonl", "--explain")
    assert re.search(r"\d+ quer(y|ies) went wrong; where the right candidate is least probable:", said)
    assert re.search(r"  right: get_\w+, at rank \d of 5, probability 0\.\d{3}\n", said)


def test_queries_without_a_right_candidate_are_not_said_to_have_gone_well(tools, cli):
    written("none.jsonl", [row | {"label": 0} for row in tool_rows(range(30, 32))])
    said = cli.good("evaluate", "run", "none.jsonl", "--explain", "--no-relevant", "zero", "--format", "human")
    assert said.endswith("\nno query with a right candidate went wrong\n")


def test_explanations_keep_the_candidate_on_a_narrow_terminal(tools, cli):
    cli.on_terminal(40)
    said = cli.good("evaluate", "run", "test.jsonl", "--explain")
    assert re.search(r"  right: get_\w+\n  at rank \d of 5, probability 0\.\d{3}\n", said)
    assert max(map(len, re.sub("\x1b\\[\\dm", "", said).split("went wrong")[1].split("\n")[1:])) <= 40


EAGER = """
from ltr.cli import progress

progress.run_progress.__wrapped__.__kwdefaults__["patience"] = 0.0  # on a terminal a bar would be drawn at once
"""


def test_a_bar_is_drawn_on_a_terminal_only(tools):
    Path("eager.py").write_text(EAGER)
    command = ("train", "train.jsonl", "-o", "x", "--encoder", "hash", "--code", "eager.py")
    done = warm.command(*command, cwd=Path.cwd())
    assert (done.returncode, done.stderr) == (0, b"")
