"""Abstaining: the threshold by conformal risk control, the exact limit, the temperature, and what is said of them."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

import ltr
from ltr import RunConfig, TrainConfig, read_groups, run
from ltr.errors import DataError
from ltr.evaluation import ConfidentAnswers, fewest_traces, fixed_thresholds, precision_threshold, risk_threshold
from ltr.evaluation.abstaining import drawn_rows, upper_limit
from ltr.serving import router as serving
from ltr.steps.abstain import confident_answers, promise_warnings, promised
from ltr.training import helpful_temperature
from ltr.training.temperature import fit_temperature, log_softmax
from tests.made import AbstainConfig, DataConfig, NoneConfig, page_of, save_run, tool_rows, written
from tests.test_none_and_context import with_none

NEWTON = TrainConfig(trainer="newton")
PROMISED = ("--abstain", "risk=0.3", "--trainer", "newton", "--format", "human")
PROMISE = "of all queries of a new trace like these, at most 30 % are answered wrongly, on average over calibrations"


def made_answers(seed, traces=30):
    """Traces of one to four queries, confidences on a coarse grid, so that many are equal."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(rng.permutation(traces), rng.integers(1, 5, traces))
    confidence = rng.integers(1, 20, len(codes)) / 20
    return ConfidentAnswers(confidence, rng.random(len(codes)) > confidence, codes)


def brute_force(answers, risk):
    """The lowest threshold of 0 and all confidences that the definition allows."""
    for threshold in [0.0, *sorted(set(answers.confidence.tolist()))]:
        losses = []
        for trace in set(answers.traces.tolist()):
            mine = answers.traces == trace
            losses.append((mine & answers.is_wrong & (answers.confidence > threshold)).sum() / mine.sum())
        if (sum(losses) + 1) / (len(losses) + 1) <= risk + 1e-12:
            return threshold
    return None


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("risk", [0.02, 1 / 31, 0.05, 0.1, 0.3, 0.9])
def test_the_threshold_is_the_lowest_that_the_definition_allows(seed, risk):
    answers = made_answers(seed)
    assert risk_threshold(answers, risk) == brute_force(answers, risk)


def test_the_losses_of_traces_fall_as_the_threshold_rises_and_count_queries_alike_inside_a_trace():
    answers = ConfidentAnswers(np.array([0.9, 0.4, 0.6]), np.array([True, True, True]), np.array([7, 7, 9]))
    losses = [answers.trace_losses(threshold).tolist() for threshold in (0.0, 0.4, 0.6, 0.9, None)]
    assert losses == [[1, 1], [0.5, 1], [0.5, 0], [0, 0], [0, 0]]


def test_the_promise_holds_on_average_over_calibrations():
    rng, level, risks = np.random.default_rng(0), 0.1, []
    for _ in range(400):
        sure = rng.uniform(0.3, 1, 90)
        is_wrong = rng.random(90) > sure
        calibration = ConfidentAnswers(sure[:60], is_wrong[:60], np.repeat(np.arange(20), 3))
        new = ConfidentAnswers(sure[60:], is_wrong[60:], np.repeat(np.arange(10), 3))
        risks.append(new.trace_losses(risk_threshold(calibration, level)).mean())
    assert np.mean(risks) <= level + 2 * np.std(risks) / np.sqrt(len(risks))


def test_below_so_many_traces_nothing_keeps_the_risk():
    for risk in (0.05, 0.1, 0.3):
        least = fewest_traces(risk)
        right = [ConfidentAnswers(np.full(n, 0.9), np.zeros(n, bool), np.arange(n)) for n in (least - 1, least)]
        assert [risk_threshold(answers, risk) for answers in right] == [None, 0.0]


@pytest.mark.parametrize("wrong, of", [(0, 10), (1, 10), (9, 10), (37, 200), (0, 1)])
def test_the_upper_limit_is_that_of_clopper_and_pearson(wrong, of):
    for error in (0.05, 0.005):
        limit = upper_limit(wrong, of, error)
        assert limit == pytest.approx(stats.beta.ppf(1 - error, wrong + 1, of - wrong))
        assert stats.binom.cdf(wrong, of, limit) == pytest.approx(error)


def test_precision_takes_the_last_threshold_before_the_first_whose_limit_is_too_high():
    rng = np.random.default_rng(0)
    sure, asked = rng.uniform(0, 1, 4000), (0.95, 0.9, 0.84, 0.6, 0.0)
    answers = ConfidentAnswers(sure, rng.random(4000) > np.where(sure > 0.82, 0.99, 0.5), np.arange(4000))
    limits = []
    for threshold in asked:
        answered = sure > threshold
        limits.append(
            stats.beta.ppf(0.95, (answered & answers.is_wrong).sum() + 1, (answered & ~answers.is_wrong).sum())
        )
    holds = [limit <= 0.05 for limit in limits]
    assert holds == [True, True, True, False, False]
    assert precision_threshold(answers, 0.95, asked, np.random.default_rng(0)) == 0.84
    assert precision_threshold(answers, 0.95, (0.6, *asked), np.random.default_rng(0)) is None
    assert precision_threshold(answers, 0.95, asked[:2], np.random.default_rng(0)) == 0.9  # all of them hold
    few = ConfidentAnswers(sure[:30], answers.is_wrong[:30] & False, np.arange(30))
    assert precision_threshold(few, 0.95, asked, np.random.default_rng(0)) is None


def test_thresholds_follow_from_confidences_of_training_and_the_number_of_traces_alone():
    sure = np.random.default_rng(0).uniform(0, 1, 10_000)
    for precision, traces, surest in ((0.95, 2000, 0.1), (0.9, 400, 0.25), (0.95, 100, 1.0)):
        thresholds = fixed_thresholds(sure, precision, traces)
        through = [(sure > threshold).mean() for threshold in thresholds]
        assert through == pytest.approx(np.geomspace(surest, 1, 10)[-len(through) :], abs=1e-3)
    assert fixed_thresholds(np.full(50, 0.7), 0.95, 2000) == (0.7, 0.0)


def test_precision_is_held_in_more_than_19_of_20_calibrations():
    rng = np.random.default_rng(0)

    def drawn(traces):
        sure = rng.uniform(0, 1, traces)
        return ConfidentAnswers(sure, rng.random(traces) > 0.7 + 0.28 * sure, np.arange(traces))

    thresholds = fixed_thresholds(drawn(2000).confidence, 0.9, 800)
    chosen = [precision_threshold(drawn(800), 0.9, thresholds, rng) for _ in range(300)]
    answered = [threshold for threshold in chosen if threshold is not None]
    errors = [1 - 0.7 - 0.28 * (1 + threshold) / 2 for threshold in answered]  # the mean over sure > threshold
    assert np.mean([error > 0.1 for error in errors]) * len(errors) / 300 <= 0.05
    assert len(answered) > 150


def test_one_query_of_each_trace_is_drawn_and_each_as_often():
    traces = np.array([0, 0, 0, 1, 1, 2])
    counts = np.zeros(6)
    for seed in range(600):
        rows = drawn_rows(traces, np.random.default_rng(seed))
        assert traces[rows].tolist() == [0, 1, 2]
        counts[rows] += 1
    assert counts / 600 == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2, 1], abs=0.06)


def test_what_is_as_sure_as_the_threshold_is_not_answered():
    answers = ConfidentAnswers(np.full(100, 0.5), np.zeros(100, dtype=bool), np.arange(100))
    assert precision_threshold(answers, 0.95, (0.5,), np.random.default_rng(0)) is None
    assert precision_threshold(answers, 0.95, (0.4,), np.random.default_rng(0)) == 0.4


def test_one_draw_counts_the_answered_and_the_wrong_among_them():
    answers = ConfidentAnswers(np.array([0.9, 0.8, 0.2]), np.array([True, False, True]), np.arange(3))
    assert answers.error_limit(0.5, np.random.default_rng(0)) == upper_limit(1, 2)
    assert answers.error_limit(None, np.random.default_rng(0)) == upper_limit(0, 0)


def test_no_answer_has_no_curve():
    none = ConfidentAnswers(np.empty(0), np.empty(0, dtype=bool), np.empty(0, dtype=np.int64))
    with pytest.raises(DataError, match="no query to draw risk and coverage of"):
        none.risk_over_coverage()


@pytest.mark.parametrize("precision, is_wrong", [(0.05, False), (0.0, True)])
def test_an_upper_limit_that_is_just_what_is_allowed_is_allowed(precision, is_wrong):
    # of one answer the limit is .95 where it is right, and 1 where it is wrong
    answer = ConfidentAnswers(np.array([0.9]), np.array([is_wrong]), np.zeros(1, dtype=int))
    assert precision_threshold(answer, precision, (0.5,), np.random.default_rng(0)) == 0.5


def test_the_curve_of_risk_over_coverage_is_that_of_its_thresholds():
    answers = made_answers(3)
    curve = answers.risk_over_coverage()
    for threshold, coverage, risk, error in zip(*curve.values(), strict=True):
        answered = answers.answered(threshold)
        assert coverage == pytest.approx(answered.mean())
        assert risk == pytest.approx(answers.trace_losses(threshold).mean())
        assert error == pytest.approx(answers.is_wrong[answered].mean())


def test_the_temperature_is_the_optimum_that_scipy_finds():
    rng = np.random.default_rng(0)
    scores, offsets = rng.normal(0, 3, 600), np.arange(0, 601, 6)
    labels = np.zeros(600)
    labels[offsets[:-1] + rng.integers(0, 6, 100)] = 1

    def loss(inverse):
        return -log_softmax(scores * inverse, offsets)[labels > 0].mean()

    best = optimize.minimize_scalar(loss, bounds=(1e-3, 10), method="bounded", options={"xatol": 1e-10})
    assert 1 / fit_temperature(scores, labels, offsets) == pytest.approx(best.x, rel=1e-5)
    assert fit_temperature(scores, labels * 0, offsets) == 1.0


def test_a_temperature_is_taken_where_it_helps_in_folds_it_was_not_fitted_on():
    rng, offsets, folds = np.random.default_rng(0), np.arange(0, 2401, 6), np.arange(400) % 5
    scores = rng.normal(0, 1.5, 2400)
    drawn = scores + rng.gumbel(size=2400)  # the highest has the probability of the softmax of the scores
    labels = (drawn == np.repeat(drawn.reshape(-1, 6).max(axis=1), 6)).astype(float)
    assert helpful_temperature(3 * scores, labels, offsets, folds) == fit_temperature(3 * scores, labels, offsets)
    assert helpful_temperature(scores, labels, offsets, folds) == 1.0


@pytest.fixture
def samples(tmp_path):
    return written(tmp_path / "s.jsonl", tool_rows(range(60)))


def abstaining_run(path, rule="risk=0.3", **data):
    return run(RunConfig(data=DataConfig(train=str(path), **data), abstain=AbstainConfig(rule=rule), train=NEWTON))


def test_a_router_abstains_below_the_threshold_that_its_calibration_chose(tmp_path, samples):
    result = abstaining_run(samples, calibrate=0.2, test=0.2)
    router, rule = result.router, result.router.abstain
    assert (rule.rule, rule.level, rule.traces, rule.queries) == ("risk", 0.3, 12, 24)
    router.save(tmp_path)
    loaded = ltr.load(tmp_path / "model.json", tools=[{"name": "get_map"}, {"name": "get_mail"}])
    assert loaded.abstain == rule
    for query in ("what is the map in city 3?", "anything?"):
        answer = loaded.rank(query)
        scores = np.array([choice.score for choice in answer]) / rule.temperature
        p = np.exp(scores) / np.exp(scores).sum()
        assert [choice.probability for choice in answer] == pytest.approx(p.tolist())
        assert answer.abstains == (answer[0].probability <= rule.threshold)
    nothing = replace(loaded, abstain=replace(rule, threshold=None))
    assert nothing.rank("what is the map in city 3?").abstains


def test_calibration_traces_choose_the_threshold_and_nothing_else(tmp_path, samples):
    rows = [json.loads(line) for line in Path(samples).read_text(encoding="utf-8").splitlines()]
    ids = sorted({row["trace_id"] for row in rows})
    train = written(tmp_path / "t.jsonl", [row for row in rows if row["trace_id"] in ids[:40]])
    rest = written(tmp_path / "c.jsonl", [row for row in rows if row["trace_id"] in ids[40:]])
    plain = run(RunConfig(data=DataConfig(train=str(train)), train=NEWTON))
    result = abstaining_run(train, calibrate=str(rest))
    assert np.array_equal(plain.model.w, result.model.w)
    answers = confident_answers(result.router, read_groups(rest))
    assert result.router.abstain.threshold == brute_force(answers, 0.3)


def test_an_answered_query_for_which_none_is_right_is_a_wrong_answer(tmp_path):
    path = written(tmp_path / "s.jsonl", with_none(tool_rows(range(60))))
    config = RunConfig(data=DataConfig(train=str(path)), none=NoneConfig(source="log"), train=NEWTON)
    router, groups = run(config).router, read_groups(path).without_none()
    answers = confident_answers(router, groups)
    assert len(answers.is_wrong) == 120
    assert answers.is_wrong[-groups.num_none :].all()
    first, confidence = router.first_choices(groups.candidates)
    assert answers.is_wrong[: -groups.num_none].tolist() == (groups.labels[first] == 0).tolist()
    assert answers.confidence[: -groups.num_none].tolist() == confidence.tolist()


class Sure:
    """A router whose first choice is always the first candidate."""

    def first_choices(self, candidates):
        starts = candidates.offsets[:-1]
        return starts, np.ones(len(starts))


def doubts(rule, groups):
    """Why the promise of the rule does not apply to the groups."""
    of = promised(Sure(), rule, groups, 1.0)
    return list(promise_warnings(rule, of, groups.num_none, len(groups.offsets) - 1))


def test_the_promise_names_what_makes_it_not_apply(tmp_path, samples):
    rule = abstaining_run(samples).router.abstain
    rows = [row | {"time": 5.0} for row in tool_rows(range(60))]
    same = read_groups(samples)
    assert doubts(replace(rule, candidates=()), same) == ["10 candidates of 10 are not in the calibration data"]
    assert doubts(rule, same) == []
    timed = read_groups(written(tmp_path / "timed.jsonl", rows))
    assert doubts(replace(rule, newest=4.0), timed) == ["120 queries of 120 are later than all calibration data"]
    none = read_groups(written(tmp_path / "none.jsonl", with_none(rows))).without_none()
    assert any("none is right in 25.0% of the queries" in text for text in doubts(replace(rule, queries=120), none))


def test_a_cut_takes_the_promise_away(tmp_path, samples, monkeypatch):
    router = abstaining_run(samples).router
    monkeypatch.setattr(serving, "MOST_SCORED", 3)
    router.save(tmp_path)
    loaded = ltr.load(tmp_path / "model.json", tools=[{"name": f"get_{n}", "description": "d"} for n in range(9)])
    unseen, warning = loaded.rank("what is the map?").warnings
    assert unseen == "9 of 9 tools were never right in training: little but their texts is known of them"
    assert warning == f"{serving.CUT}: probabilities are over that, and the promise of abstaining does not apply"
    plain = replace(loaded, abstain=None)
    assert plain.rank("what is the map?").warnings == (unseen, f"{serving.CUT}: probabilities are over that")
    assert loaded.rank("what is the map?", exact=True).warnings == (unseen,)


@pytest.mark.parametrize(
    "flags, message",
    [
        ("--abstain risk=2", "abstain.rule: 'risk=2' is neither risk=SHARE nor precision=SHARE"),
        ("--abstain sure", "abstain.rule: 'sure' is neither risk=SHARE nor precision=SHARE"),
        ("--abstain risk=0.05", "abstain risk=0.05 needs at least 19 calibration traces (1 / risk - 1); there are 6:"),
        ("--abstain risk=0.3 --calibrate 1.5", "data.calibrate: 1.5 is not a share between 0 and 1"),
        ("--calibrate c.jsonl", "data.calibrate names samples, and nothing is calibrated"),
        ("--abstain risk=0.3 --calibrate none.jsonl", "none.jsonl"),
    ],
)
def test_bad_input_is_refused_in_one_line(cli, flags, message):
    written("s.jsonl", tool_rows(range(60)))
    code, said = cli.refused("train", "s.jsonl", "-o", "r", *flags.split())
    assert message in said
    assert code in (2, 3)


def test_commands_make_the_promise_in_its_words_and_call_nothing_else_one(cli):
    written("s.jsonl", tool_rows(range(60)))
    shown = cli.good("train", "s.jsonl", "-o", "r", *PROMISED, "--test", "0.3")
    assert PROMISE in " ".join(shown.split())
    again = " ".join(cli.good("evaluate", "r", "s.jsonl", "--format", "human").split())
    assert PROMISE in again
    assert "of the answered wrong, which nothing is promised of" in again
    fields = json.loads(cli.good("evaluate", "r", "s.jsonl", "--format", "json"))
    assert 0 <= fields["abstention.risk_low"] <= fields["abstention.risk"] <= fields["abstention.risk_high"]
    page = Path("r/report.html").read_text(encoding="utf-8")
    assert PROMISE[1:] in page
    assert "Risk against coverage" in page
    assert {"coverage", "risk"} <= set(json.loads(Path("r/curves.json").read_text(encoding="utf-8"))["risk_coverage"])
    assert PROMISE[1:] in page_of(["r"], name="card.md")


def wrong_test_data(path):
    """Queries that name one tool while another is right: a model that learned to go by the name is wrong."""
    return written(path, [row | {"trace_id": f"w{row['trace_id']}", "label": 1 - row["label"]} for row in named_rows()])


def named_rows():
    """Queries that name their right tool, beside one other."""
    for row in tool_rows(range(60)):
        if row["tool"].removeprefix("get_") in row["query"]:
            other = "get_news" if row["tool"] != "get_news" else "get_mail"
            yield from (row, row | {"tool": other, "label": 0})


def test_every_command_that_measures_says_first_that_the_promise_is_not_kept(cli):
    written("s.jsonl", named_rows())
    wrong_test_data("wrong.jsonl")
    flags = ("--abstain", "risk=0.3", "--trainer", "newton", "--features", "tool.rel", "--encoder", "hash")
    risk = (
        r"\d\.\d{3} \[0\.[3-9]\d\d, \d\.\d{3}\] of all queries were answered wrongly, and at most 0\.300 was promised"
    )
    warning = re.compile(rf"warning: (r: )?the promise of abstaining is not kept: {risk}")
    for command in (
        ("train", "s.jsonl", "--test", "wrong.jsonl", "-o", "r", *flags),
        ("train", "s.jsonl", "--test", "wrong.jsonl", "-o", "r", *flags, "-v", "--overwrite"),
        ("evaluate", "r", "wrong.jsonl"),
        ("run", "r/config.yaml", "-o", "runs"),
    ):
        shown = cli.good(*command, "--format", "human")
        first = next(line for line in cli.err.splitlines() if "-v" not in command or line.startswith("warning"))
        assert warning.fullmatch(first)  # -v writes its log before
        if command[0] != "run":
            assert shown.splitlines()[0].endswith("; the promise of abstaining is not kept")
            assert f"not kept here: {PROMISE}" in " ".join(shown.split())
            assert not re.search(f"(?m)^{PROMISE}", shown)
    fields = json.loads(cli.good("evaluate", "r", "wrong.jsonl", "--format", "json"))
    assert warning.match(cli.err)
    assert fields["abstention.promised"] == 0.3 < fields["abstention.risk_low"]
    sentence = "The promise of abstaining is not kept: "
    cli.good("report", "r", "-o", "page.html")
    assert f"<li>{sentence}" in Path("page.html").read_text(encoding="utf-8")
    assert f"- {sentence}" in page_of(["r"], name="card.md")


def test_a_promise_that_is_kept_or_cannot_be_told_is_not_doubted(cli):
    written("s.jsonl", named_rows())
    cli.good("train", "s.jsonl", "-o", "r", *PROMISED)
    cli.good("evaluate", "r", "s.jsonl")
    assert "not kept" not in cli.err
    written("one.jsonl", list(named_rows())[:2])  # a single trace has no interval
    cli.good("evaluate", "r", "one.jsonl")
    assert "not kept" not in cli.err


def test_precision_with_few_traces_answers_nothing_and_says_so(cli):
    written("s.jsonl", tool_rows(range(60)))
    shown = cli.good(
        "train", "s.jsonl", "-o", "r", "--abstain", "precision=0.95", "--trainer", "newton", "--format", "human"
    )
    assert "abstains always: too few traces" in shown
    written("new.jsonl", [row | {"tool": f"new_{row['tool']}"} for row in tool_rows(range(60))])
    again = cli.good("evaluate", "r", "new.jsonl", "--format", "human")
    assert "the calibration does not apply here: 10 candidates of 10 are not in the calibration data" in again
    assert json.loads(cli.good("rank", "r", "what is the map?", "--format", "json"))["abstains"]


def test_a_rule_that_makes_no_sense_is_refused(samples):
    rule = abstaining_run(samples).router.abstain
    for wrong in ({"rule": "luck"}, {"level": 1.0}, {"threshold": 2.0}, {"temperature": 0.0}):
        with pytest.raises(DataError):
            replace(rule, **wrong)


def test_outcomes_that_move_the_weights_take_the_promise_away(tmp_path):
    path = written(tmp_path / "s.jsonl", tool_rows(range(60)))
    config = RunConfig(data=DataConfig(train=str(path)), abstain=AbstainConfig(rule="risk=0.3"), train=NEWTON)
    save_run(config, tmp_path / "r")
    router = ltr.load(tmp_path / "r")
    assert router.rank("what is the map?").warnings == ()
    router.learn({"query": "what is the map?", "offered": ["get_map", "get_mail"], "right": "get_map"})
    lost = (f"{serving.UPDATED}: the promise of abstaining does not apply",)
    assert router.rank("what is the map?").warnings == lost
    assert ltr.load(tmp_path / "r").rank("what is the map?").warnings == lost
