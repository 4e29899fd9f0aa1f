"""None of these: a second logit, learned with w held, on scores that saw none of their own traces."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize

import ltr
from ltr import RunConfig, TrainConfig, read_groups, run
from ltr.arrays import offsets_of
from ltr.columns import IN_MEMORY
from ltr.errors import ConfigError, DataError, FileError
from ltr.evaluation import NoneQueries
from ltr.evaluation.probabilities import calibration_error
from ltr.experiments.featurize import featurize_and_save
from ltr.read import DRAWN_FOR_THE_REST, NOT_CROSS_FITTED
from ltr.runs import load_model
from ltr.samples import Whole
from ltr.steps.heldout import held_out
from ltr.steps.none import learn_none, none_source, removal_of
from ltr.training import NoneRows, fit_none, none_inputs
from tests.made import WORDS, DataConfig, NoneConfig, tool_rows, written
from tests.test_none_and_context import with_none

NEWTON = TrainConfig(trainer="newton")


def made_rows(groups=400, seed=0, share=0.3):
    """Scores of lists of six, whose best is high where something is right; four queries a trace."""
    random = np.random.default_rng(seed)
    is_none = random.random(groups) < share
    scores = random.normal(size=(groups, 6))
    scores[~is_none, 0] += 2.5
    offsets = np.arange(groups + 1) * 6
    words = random.integers(3, 20, groups).astype(float)
    relevance = random.random(groups * 6)
    z, rest = none_inputs(scores.ravel(), offsets, relevance, words)
    return NoneRows(z, rest, is_none, np.arange(groups) // 4, random.uniform(0.5, 2, groups))


def fitted(rows, **options):
    return fit_none(rows, **{"relevance": "", "source": "log", "l2": 1e-4} | options)


def removed(groups, share, *, seed):
    """All groups less one wrong candidate each, and copies of a share of them less the right one instead."""
    removal = removal_of(Whole(groups), share, seed=seed)
    return removal.rest(groups), removal.copies(groups)


def test_b_is_the_optimum_that_scipy_finds():
    rows, l2 = made_rows(), 1e-3
    mean, deviation = rows.z.mean(axis=0), rows.z.std(axis=0)
    mean[0], deviation[0] = 0, 1
    u, weight = (rows.z - mean) / deviation, rows.weights / rows.weights.sum()

    def objective(c):
        eta = u @ c - rows.rest
        return weight @ (np.logaddexp(0, eta) - rows.is_none * eta) + l2 * c @ c

    best = optimize.minimize(objective, np.zeros(7), method="BFGS", options={"gtol": 1e-9})
    model = fitted(rows, l2=l2)
    slopes = best.x / deviation
    b = [best.x[0] - slopes[1:] @ mean[1:], *slopes[1:]]
    assert model.b == pytest.approx(b, abs=1e-5)
    assert model.objective <= best.fun + 1e-12
    assert (model.optimum, model.gradient_norm < 1e-10, model.gap_bound < 1e-15) == ("found", True, True)


def test_standard_errors_are_those_of_whole_traces_drawn_again():
    rows = made_rows(1200)
    weights = np.ones(len(rows.rest))
    rows = replace(rows, weights=weights)
    model, random, drawn = fitted(rows), np.random.default_rng(1), []
    traces = rows.traces.max() + 1
    for _ in range(200):
        chosen = random.integers(0, traces, traces)
        places = (chosen[:, None] * 4 + np.arange(4)).ravel()
        columns = (rows.z, rows.rest, rows.is_none, np.arange(len(places)), weights)
        drawn.append(fitted(NoneRows(*(column[places] for column in columns))).b)
    assert model.standard_errors == pytest.approx(np.std(drawn, axis=0), rel=0.25)


def test_the_constant_moves_by_the_log_odds_of_the_share_and_nothing_else_does():
    trained = fitted(made_rows())
    moved = replace(trained, share=0.05)
    step = np.log(0.05 / 0.95) - np.log(trained.trained_share / (1 - trained.trained_share))
    assert moved.served - trained.served == pytest.approx([step, 0, 0, 0, 0, 0, 0])


def test_p_none_is_the_formula():
    model = fitted(made_rows())
    scores, relevance = np.array([0.3, -1.0, 2.0]), np.array([0.1, 0.2, 0.6])
    p = model.probabilities(scores, np.array([0, 3]), relevance, np.array([7.0]))
    rest = np.log(np.exp(scores).sum())
    z = np.array([1, 2.0, 0.3, 1.3 / 3, rest, 0.6, np.log(8)])
    assert p[0] == pytest.approx(1 / (1 + np.exp(rest - np.array(model.b) @ z)))


def test_the_order_of_candidates_and_a_shift_of_rows_change_no_input():
    scores, relevance = np.array([2.0, 2.0, 0.0]), np.array([0.1, 0.9, 0.5])
    z, rest = none_inputs(scores, np.array([0, 3]), relevance, np.array([1.0]))
    back, rest_back = none_inputs(scores[::-1], np.array([0, 3]), relevance[::-1], np.array([1.0]))
    assert z == pytest.approx(back)
    assert z[0] == pytest.approx([1, 2, 2, 4 / 3, np.log(2 * np.exp(2) + 1), 0.9, np.log(2)])
    assert rest == pytest.approx(rest_back)


def test_queries_of_one_kind_teach_nothing():
    rows = made_rows()
    with pytest.raises(DataError, match="there is no query for which none is right"):
        fitted(replace(rows, is_none=rows.is_none & False))


def test_calibration_error_is_the_sum_over_bins():
    p, is_true = np.array([0.11, 0.19, 0.95]), np.array([True, False, True])
    assert calibration_error(p, is_true, np.ones(3)) == pytest.approx((abs(0.3 - 1) + 0.05) / 3)


def test_measures_count_by_hand():
    p, first = np.array([0.6, 0.1, 0.6, 0.1]), np.array([0.5, 0.5, 0.9, 0.9])
    queries = NoneQueries(p, first, np.array([0.0, 0.0, 1.0, 1.0]), np.array([True, True, False, False]))
    measures = queries.measured(learned_from="log", for_share=0.5)
    assert (measures.found, measures.said_wrongly, measures.top1_of_rest, measures.right) == (0.5, 0.5, 1.0, 0.5)


@pytest.fixture
def rows():
    return list(tool_rows(range(25)))


def config_of(path, **none):
    return RunConfig(data=DataConfig(train=str(path)), none=NoneConfig(**none), train=NEWTON)


def test_copies_lose_what_is_right_and_the_rest_as_many_wrong_ones(tmp_path, rows):
    groups = read_groups(written(tmp_path / "s.jsonl", rows))
    rest, copies = removed(groups, 0.2, seed=0)
    number = len(groups.offsets) - 1
    assert (len(rest.offsets) - 1, len(copies.offsets) - 1) == (number, round(0.2 * number))
    assert copies.labels.sum() == 0
    assert rest.labels.sum() == groups.labels.sum()
    assert set(np.diff(rest.offsets)) == set(np.diff(copies.offsets)) == {int(np.diff(groups.offsets)[0]) - 1}
    again = removed(groups, 0.2, seed=0)[1].candidates
    assert (again.node_ids, again.trace_ids) == (copies.candidates.node_ids, copies.candidates.trace_ids)
    backwards = read_groups(written(tmp_path / "b.jsonl", rows[::-1]))
    keys = [keys_of(part) for part in removed(backwards, 0.2, seed=0)]
    assert keys == [keys_of(rest), keys_of(copies)]


def keys_of(groups):
    candidates, owner = groups.candidates, np.repeat(np.arange(len(groups.offsets) - 1), np.diff(groups.offsets))
    traces = [candidates.trace_ids[code] for code in candidates.traces]
    names = [candidates.name_texts[code] for code in candidates.names]
    return {(traces[g], candidates.node_ids[g], name) for g, name in zip(owner, names, strict=True)}


def test_scores_of_a_trace_follow_from_no_label_of_it(tmp_path, rows):
    config = config_of(tmp_path / "s.jsonl")
    groups = read_groups(written(tmp_path / "s.jsonl", rows))
    changed = replace(groups, labels=groups.labels.copy())
    mine = np.repeat(groups.candidates.traces == 3, np.diff(groups.offsets))
    changed.labels[mine] = np.roll(changed.labels[mine], 1)
    before, after = (held_out(config, config.train, Whole(some)).scored(groups).scores for some in (groups, changed))
    assert np.array_equal(before[mine], after[mine])
    assert not np.array_equal(before, after)


def test_groups_of_none_train_b_alone(tmp_path, rows):
    marked = written(tmp_path / "none.jsonl", with_none(rows))
    result = run(config_of(marked))
    none = result.router.none
    assert (none.source, none.groups, none.none_groups, none.optimum) == ("log", 50, 13, "found")
    assert none.share == none.trained_share == 13 / 50
    left = read_groups(marked).without_none()
    assert np.array_equal(result.model.w, run(RunConfig(data=DataConfig(train=str(marked)), train=NEWTON)).model.w)
    assert result.measured.none.none_queries == 13
    assert len(result.measured.groups.offsets) == len(left.offsets)
    assert not [text for text in result.warnings if "not used" in text]


def test_b_by_the_pipeline_is_b_of_rows_made_by_hand(tmp_path, rows):
    config = config_of(written(tmp_path / "s.jsonl", rows), source="removed:0.3", share=0.1)
    groups = read_groups(tmp_path / "s.jsonl")
    source = none_source(config.none, Whole(groups), config.seed, IN_MEMORY)
    models = held_out(config, config.train, Whole(groups), (source.none,))
    by_hand = []
    for part, is_none in ((source.rest.groups, False), (source.none.groups, True)):
        scored = models.scored(part)
        for g in range(len(part.offsets) - 1):
            rows_of = slice(*part.offsets[g : g + 2])
            s = np.sort(scored.scores[rows_of])[::-1]
            relevance = scored.phi[rows_of, 0][np.argmax(scored.scores[rows_of])]
            words = len(part.candidates.query_texts[part.candidates.queries[g]].split())
            trace = int(part.candidates.trace_ids[part.candidates.traces[g]].strip("t") or 0)
            rest = np.log(np.exp(s).sum())
            z = [1, s[0], s[1], s.mean(), rest, relevance, np.log1p(words)]
            by_hand.append((z, rest, is_none, trace, 1.0))
    z, *columns = (np.array(column) for column in zip(*by_hand, strict=True))
    expected = fit_none(NoneRows(z, *columns), relevance="tool.rel", source="removed:0.3", share=0.1, l2=1e-4)
    learned = learn_none(config.none, source, models, IN_MEMORY)
    assert learned.b == pytest.approx(expected.b, rel=1e-6)
    assert run(config).router.none.b == learned.b


def test_neither_w_nor_the_order_moves_and_probabilities_sum_to_one(tmp_path, rows):
    path = written(tmp_path / "s.jsonl", rows)
    plain = run(RunConfig(data=DataConfig(train=str(path)), train=NEWTON)).router
    router = run(config_of(path, source="removed:0.2", share=0.3)).router
    assert np.array_equal(plain.w, router.w)
    router.save(tmp_path)
    loaded = ltr.load(tmp_path / "model.json", tools=[{"name": name} for name in ("a", "b", "c")])
    assert loaded.none == router.none
    answer = loaded.rank("which one?", k=None)
    alone = ltr.rank([choice.score for choice in answer], [0, 3])
    assert sum(choice.probability for choice in answer) + answer.none == pytest.approx(1)
    assert [choice.score for choice in answer] == sorted(alone.scores, reverse=True)
    assert replace(loaded, none=None).rank("which one?").none is None


def test_a_model_file_with_a_none_that_fits_nothing_is_refused(tmp_path, rows):
    router = run(config_of(written(tmp_path / "s.jsonl", rows), source="removed:0.2", share=0.3)).router
    replace(router, none=replace(router.none, relevance="tool.other")).save(tmp_path)
    with pytest.raises(FileError, match="none reads the column tool.other"):
        load_model(tmp_path / "model.json")
    with pytest.raises(DataError, match="none has 7 finite coefficients"):
        replace(router.none, b=(1.0,))


@pytest.mark.parametrize(
    "flags, message",
    [
        ("--none-from removed:0.2", "none.share is missing: removed answers do not say how often none is right"),
        ("--none-from removed:1.5 --none-share .1", "'removed:1.5' is neither log nor removed:SHARE with a share"),
        ("--none-from some", "none.source: 'some' is neither log nor removed:SHARE"),
        ("--none-from removed:0.2 --none-share 1", "--none-share: none.share: 1 is not between 0 and 1"),
        ("--none-from log", "no training query says that none is right"),
        ("--none-share 0.2", "no training query says that none is right"),
    ],
)
def test_bad_input_is_refused_in_one_line(cli, rows, flags, message):
    written("s.jsonl", rows)
    code, said = cli.refused("train", "s.jsonl", "-o", "r", *flags.split())
    assert message in said
    assert code in (2, 3)


def test_commands_show_none(cli, rows):
    written("s.jsonl", with_none(rows))
    cli.good("train", "s.jsonl", "-o", "r", "--test", "0.3", "--none-share", "0.1", "--trainer", "newton")
    assert "none: 13 groups" not in cli.err
    answer = json.loads(cli.good("rank", "r", "which one?", "--format", "json"))
    assert answer["none"] + sum(choice["probability"] for choice in answer["ranking"]) <= 1
    assert "none of these: probability" in cli.good("rank", "r", "which one?", "--format", "human")
    flat = json.loads(cli.good("evaluate", "r", "s.jsonl", "--format", "json"))
    assert (flat["none.none_queries"], flat["none.for_share"]) == (13, 0.1)
    assert "none: 13 queries for which none is right" in cli.good("evaluate", "r", "s.jsonl", "--format", "human")
    assert "None of these" in Path("r/report.html").read_text(encoding="utf-8")
    queries = [json.loads(line) for line in Path("r/per_query.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all(0 < query["none"] < 1 for query in queries)


def test_what_makes_none_doubtful_is_said(tmp_path, rows):
    path = written(tmp_path / "s.jsonl", with_none(rows))
    names = [{"name": f"get_{word}", "description": word} for word in (*WORDS, "bus", "boat")]
    Path(tmp_path / "tools.json").write_text(json.dumps(names), encoding="utf-8")
    data = DataConfig(train=str(path), tools=str(tmp_path / "tools.json"), negatives="catalogue")
    assert DRAWN_FOR_THE_REST in run(RunConfig(data=data)).warnings
    featurize_and_save(RunConfig(data=DataConfig(train=str(path))), tmp_path / "x.npz")
    assert NOT_CROSS_FITTED in run(RunConfig(data=DataConfig(train=str(tmp_path / "x.npz")))).warnings
    assert not any("none:" in text for text in run(RunConfig(data=DataConfig(train=str(path)))).warnings)


def test_a_config_error_of_none_names_the_flag(tmp_path):
    with pytest.raises(ConfigError, match="none"):
        ltr.load_config(None, ["none.share=2"])


def test_offsets_are_those_of_lists(tmp_path, rows):
    groups = read_groups(written(tmp_path / "s.jsonl", rows))
    rest, _ = removed(groups, 0.5, seed=3)
    assert rest.offsets.tolist() == offsets_of(np.diff(rest.offsets)).tolist()


def test_the_recommended_recipe_learns_none_from_its_log_whatever_folds_choose(cli):
    written("s.jsonl", with_none(tool_rows(range(25))))
    cli.good("train", "s.jsonl", "--recommended", "--encoder", "hash", "-o", "run", "-q")
    assert json.loads(Path("run/model.json").read_bytes())["none"]["source"] == "log"
    assert ltr.load("run").rank("mail?").none is not None
