"""What a command says of samples that a model ranks, before it shows how well."""

import json
import random
import re
from pathlib import Path

import pytest

from ltr import RunConfig, read_groups, run
from ltr.results import evaluate_router
from tests.made import PARTLY_SEEN, SEEN, DataConfig, tool_rows, written


def bare(rows, texts_as=None):
    """The rows without the texts of their tools, or with them under another key."""
    for row in rows:
        row = dict(row)
        text = row.pop("tool_description")
        yield row | ({texts_as: text} if texts_as else {})


@pytest.fixture
def told(cli, filled):
    """A run whose training samples bear texts, and test samples with and without them."""

    def run_and_samples():
        written("train.jsonl", tool_rows(range(25)))
        written("test.jsonl", tool_rows(range(30, 40), seed=1))
        written("bare.jsonl", bare(tool_rows(range(30, 40), seed=1)))
        cli.good("train", "train.jsonl", "-o", "run", "-q")

    filled(Path.cwd(), run_and_samples)
    return cli


def test_a_single_feature_that_is_better_than_the_model_is_told(cli):
    """x1 says it all; descent is hardly begun and its w = 1 listens to x2, which is large and says nothing."""
    draw = random.Random(0)
    rows = [
        {"trace_id": g, "node_id": "n", "query": "q", "tool": str(tool), "label": int(tool == right)}
        | {"features": [int(tool == right), 9 * draw.random()]}
        for g in range(60)
        for right in [draw.randrange(4)]
        for tool in range(4)
    ]
    cli.good("train", written("s.jsonl", rows), "-o", "run", "--epochs", "1", "--learning-rate", "1e-6")
    told = "best single column x1 alone is better than this model: top-1 over it is -0."
    assert told in cli.err
    assert any(told in each for each in json.loads(Path("run/run.json").read_bytes())["warnings"])
    cli.good("evaluate", "run", "s.jsonl", "--baselines")
    assert told in cli.err
    cli.good("train", "s.jsonl", "-o", "good", "--trainer", "newton")
    assert "a single feature" not in cli.err


@pytest.mark.parametrize("model", ["run", "run/model.json"])
def test_tools_without_a_text_have_the_one_they_had_in_training(told, model):
    assert told.good("evaluate", model, "bare.jsonl") == told.good("evaluate", model, "test.jsonl")
    assert told.err == ""
    ranked = [told.good("rank", model, "--samples", name) for name in ("bare.jsonl", "test.jsonl")]
    assert ranked[0] == ranked[1]
    assert told.err == ""


def test_a_text_of_its_own_stands_before_that_of_the_run(told):
    rows = [{**row, "tool_description": "says nothing"} for row in tool_rows(range(30, 40), seed=1)]
    written("other.jsonl", rows)
    ranked = [told.good("rank", "run", "--samples", name) for name in ("other.jsonl", "test.jsonl")]
    assert ranked[0] != ranked[1]


def test_tools_that_nothing_is_known_of_are_warned_about(told, cli):
    names = sorted({row["tool"] for row in tool_rows(range(30, 40), seed=1)} - {"get_calendar"})
    written("other.jsonl", [{"name": name, "description": "gives something"} for name in names[:5]])
    told_of = (
        "warning: no-text: 5 of 10 tools have no text, such as 'get_calendar': neither tool_description nor a "
        "catalogue (--tools) gives one\n"
    )
    cli.good("evaluate", "run", "bare.jsonl", "--tools", "other.jsonl")
    assert cli.err.replace(cli.err.split("'")[1], "get_calendar") == told_of
    cli.good("rank", "run", "--samples", "bare.jsonl", "--tools", "other.jsonl")
    assert cli.err.startswith("warning: no-text: 5 of 10 tools")


def test_texts_under_another_key_are_missed_in_training(cli):
    written("s.jsonl", bare(tool_rows(range(25)), texts_as="description"))
    cli.good("train", "s.jsonl", "-o", "run")
    assert cli.err.startswith("warning: no-text: 10 of 10 tools have no text")
    assert json.loads(Path("run/run.json").read_bytes())["warnings"][0].startswith("no-text: 10 of 10")
    said = cli.err.splitlines()[0].removeprefix("warning: no-text: ")
    findings = json.loads(cli.good("validate", "s.jsonl", "--format", "json"))["findings"]
    assert findings[0]["message"] == "description: unknown key, which is ignored; is tool_description meant?"
    finding = next(finding for finding in findings if finding["code"] == "no-text")
    assert (finding["severity"], finding["message"]) == ("warning", said)
    assert finding["where"][0] == "s.jsonl:1"


@pytest.mark.parametrize("form", ["npz", "jsonl"])
def test_test_columns_that_were_fitted_on_their_own_labels_are_warned_about_wherever_they_are_measured(told, cli, form):
    for samples, model in (("train", []), ("test", []), ("train", ["-m", "run"])):
        cli.good("featurize", f"{samples}.jsonl", *model, "-o", f"{samples}{len(model)}.{form}", "-q")
    for arguments in (
        ["train", "train.jsonl", "--test", f"test0.{form}", "-o", "x"],
        ["train", f"train0.{form}", "--test", f"test0.{form}", "-o", "y"],
        ["rank", "run", "--samples", f"test0.{form}"],
        ["evaluate", "run", f"test0.{form}"],
    ):
        cli.good(*arguments)
        assert cli.err.startswith("warning: the features of the samples were fitted on other data"), arguments
    assert any("fitted on other data" in each for each in json.loads(Path("x/run.json").read_bytes())["warnings"])


@pytest.mark.parametrize("form", ["npz", "jsonl"])
def test_training_columns_that_are_not_cross_fitted_are_warned_about(told, cli, form):
    cli.good("featurize", "train.jsonl", "-m", "run", "-o", f"applied.{form}", "-q")
    cli.good("train", f"applied.{form}", "-o", "x")
    assert cli.err.startswith("warning: the features of the training samples were applied (featurize -m), not cross")
    cli.good("featurize", "train.jsonl", "-o", f"fitted.{form}", "-q")
    cli.good("train", f"fitted.{form}", "-o", "y")
    assert cli.err == ""


@pytest.mark.parametrize("form", ["npz", "jsonl"])
def test_a_share_of_columns_is_no_test_even_where_only_the_encoder_has_learned(told, cli, form):
    cli.good("featurize", "train.jsonl", "--encoder", "hash", "--set", "features=[tool.rel]", "-o", f"x.{form}", "-q")
    code, message = cli.refused("train", f"x.{form}", "--test", "0.2", "-o", "x")
    assert (code, message[:35]) == (2, "test is a share, and the samples be")


def test_ready_numbers_without_a_state_are_said_to_be_that(cli):
    written("x.jsonl", [{**row, "features": [float(place)]} for place, row in enumerate(tool_rows(range(5)))])
    cli.good("train", "x.jsonl", "-o", "x")
    assert cli.err.startswith("warning: the samples bear ready numbers without the state that made them")


def test_featurised_files_of_one_fit_keep_it_together(told, cli):
    for name in ("test", "train"):
        cli.good("featurize", f"{name}.jsonl", "-m", "run", "-o", f"{name}.x.jsonl", "-q")
    cli.good("train", "train.x.jsonl", "test.x.jsonl", "-o", "two", "-q")
    assert json.loads(Path("two/model.json").read_bytes())["features"][0]["name"] == "tool.rel"


def test_featurised_files_of_several_fits_are_refused(told, cli):
    for name in ("test", "train"):
        cli.good("featurize", f"{name}.jsonl", "-o", f"{name}.x.jsonl", "-q")
    code, message = cli.refused("train", "train.x.jsonl", "test.x.jsonl", "-o", "two")
    assert code == 2
    assert message == "test.x.jsonl: its features were fitted on other data than those of train.x.jsonl"
    Path("test.x.features.json").unlink()
    code, message = cli.refused("train", "train.x.jsonl", "test.x.jsonl", "-o", "two")
    assert message == "test.x.jsonl: no state lies beside it, and one beside train.x.jsonl; read them apart"


def test_a_state_belongs_to_the_lines_it_was_written_for(told, cli):
    for name in ("test", "train"):
        cli.good("featurize", f"{name}.jsonl", "-o", f"{name}.x.jsonl", "-q")
    Path("test.x.jsonl").replace("train.x.jsonl")
    code, message = cli.refused("train", "train.x.jsonl", "-o", "two")
    assert code == 3
    assert message == "train.x.features.json: belongs to other lines than train.x.jsonl has; featurize again"


def test_what_the_model_learned_from_is_noticed_in_whatever_form_it_comes_back(told, cli):
    rows = list(tool_rows(range(25)))
    written("part.jsonl", [row for row in rows if row["trace_id"] in ("t3", "t4")] + list(tool_rows([40, 41])))
    shown = cli.good("evaluate", "run", "part.jsonl", "--format", "human")
    assert cli.err == f"warning: the model was trained on 2 of 4 traces checked: {PARTLY_SEEN}\n"
    assert shown.splitlines()[0].endswith("(given data, with queries of the training)")
    cli.good("featurize", "train.jsonl", "-m", "run", "-o", "x.npz", "-q")
    cli.good("evaluate", "run", "x.npz")
    assert cli.err == f"warning: the model was trained on 25 of 25 traces checked: {SEEN}\n"
    assert cli.good("evaluate", "run", "test.jsonl", "--format", "human").splitlines()[0].endswith("(given data)")
    assert json.loads(cli.good("evaluate", "run", "test.jsonl", "--format", "json"))["split"] == "given"


def test_of_many_training_traces_the_lowest_marks_are_kept_and_compared(cli):
    written("s.jsonl", [row | {"tool_description": "x"} for row in tool_rows(range(1200))])
    cli.good("train", "s.jsonl", "-o", "run", "-q", "--epochs", "1")
    written("part.jsonl", tool_rows(range(100, 1300)))
    cli.good("evaluate", "run", "part.jsonl")
    seen, compared = (int(number) for number in re.findall(r"(?<= )\d+(?= )", cli.err.replace(",", ""))[:2])
    assert 850 < seen < compared < 1100


def test_labels_that_never_reach_the_threshold_are_warned_about_and_a_lower_one_counts_them(cli):
    written("s.jsonl", [row | {"label": row["label"] / 2} for row in tool_rows(range(25))])
    cli.good("train", "s.jsonl", "-o", "run", "--encoder", "hash")
    told = "no query has a candidate with a label of 1 or more, so none is right; lower --rel-threshold"
    assert cli.err == f"warning: {told}\n"
    assert json.loads(Path("run/run.json").read_bytes())["warnings"] == [told]
    cli.good("evaluate", "run", "s.jsonl")
    assert cli.err.splitlines()[-1] == f"warning: {told}"
    flat = json.loads(
        cli.good("train", "s.jsonl", "-o", "half", "--encoder", "hash", "--rel-threshold", "0.5", "--format", "json")
    )
    assert (cli.err, flat["num_queries"]) == ("", 50)
    flat = json.loads(
        cli.good("train", "s.jsonl", "-o", "zero", "--encoder", "hash", "--no-relevant", "zero", "--format", "json")
    )
    assert flat["num_queries"] == 50


def test_a_measured_ranking_carries_its_warnings(tmp_path):
    """Whoever measures from Python sees what the command says."""
    rows = list(tool_rows(range(25)))
    samples = written(tmp_path / "s.jsonl", rows)
    made = run(RunConfig(data=DataConfig(train=str(samples)), encoder="hash"))
    assert made.measured.split == "train"
    assert made.measured.warnings == ()
    learned_from = f"the model was trained on 25 of 25 traces checked: {SEEN}"
    assert evaluate_router(made.router, read_groups(samples), RunConfig()).warnings == (learned_from,)
    wrong = written(
        tmp_path / "wrong.jsonl", [{**row, "label": 0, "trace_id": f"new {row['trace_id']}"} for row in rows]
    )
    nothing_right = "no query has a candidate with a label of 1 or more, so none is right; lower --rel-threshold"
    assert evaluate_router(made.router, read_groups(wrong), RunConfig()).warnings == (nothing_right,)


def test_a_trec_run_without_a_right_candidate_says_so(cli):
    Path("run.txt").write_text("q1 Q0 d1 1 0.5 me\n", encoding="utf-8")
    Path("qrels.txt").write_text("q1 0 d1 0\n", encoding="utf-8")
    cli.good("evaluate", "--run", "run.txt", "--qrels", "qrels.txt")
    assert cli.err == (
        "warning: no query has a candidate with a label of 1 or more, so none is right; lower --rel-threshold\n"
    )
