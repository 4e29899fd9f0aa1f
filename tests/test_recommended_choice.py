"""What folds choose for the recommended recipe: alternatives, the rule, and what a run records of it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ltr
from ltr import Groups, RunConfig, TrainConfig, load_config, read_tools
from ltr import choose as choosing
from ltr.choose import Overview, alternatives, choose, on_folds, served_lists
from ltr.columns import IN_MEMORY
from ltr.errors import RangeError, UsageError
from ltr.features import Presets
from ltr.features.presets import WEIGHTS, prior_weights
from ltr.samples import Whole, past_from_labels
from ltr.steps.negatives import WHOLE, draw_negatives
from ltr.training import CHOICES, FoldResults, Level, MeanDifference, climbed, group_losses
from ltr.training.choice import simplest_as_good
from tests.builders import features_of
from tests.made import tool_rows, written
from tests.oracles import naive_objective, random_groups

RECOMMENDED = load_config(None, ["train.recipe=recommended", "encoder=hash"])
TRAIN = RECOMMENDED.train


@pytest.fixture(scope="module")
def samples():
    return ltr.read_groups("data/tools/train.jsonl.gz", tools=read_tools("data/tools/tools.json"))


def of_traces(groups: Groups, number: int) -> Groups:
    """The groups of the first traces."""
    return groups.select(np.flatnonzero(groups.candidates.traces < number))


def shared(groups: Groups, config: RunConfig = RECOMMENDED):
    """What a run of the config would use, of groups in memory."""
    return features_of(groups, config)


def judged_by_folds(config, groups, listed):
    """What folds of groups in memory say of the alternatives."""
    overview = Overview.of(config, Whole(groups), IN_MEMORY)
    return on_folds(config, features_of(groups, config), overview, listed)


@pytest.mark.parametrize("kind", ["tool", "graph"])
def test_alternatives_go_from_simple_to_rich_and_hold_every_column_alone(kind):
    usual = (*Presets.ALL[kind], *(Presets.PAST if kind == "tool" else ()))
    names = (*usual, *Presets.MORE[kind])
    listed = alternatives(TRAIN, kind, names)
    sizes = [(one.level, one.shape, len(one.columns)) for one in listed]
    assert sizes == sorted(sizes)
    assert len({one.title for one in listed}) == len(listed)
    assert sum(one.level < Level.OTHER or len(one.columns) > 1 for one in listed) <= 13
    assert sorted(one.columns for one in listed if len(one.columns) == 1) == sorted((name,) for name in names)
    has_more = [any(one.shape) or len(one.columns) > len(usual) for one in listed]
    is_good_alone = [one.columns in {(name,) for name in Presets.SINGLES[kind]} for one in listed]
    is_sum = [len(one.columns) > 1 and not more for one, more in zip(listed, has_more, strict=True)]
    assert [one.level == Level.SINGLE for one in listed] == is_good_alone
    assert [one.level == Level.SEVERAL for one in listed] == is_sum
    strengths = [one.strength for one in listed if one.columns == usual and not any(one.shape)]
    assert strengths == sorted(strengths, reverse=True)  # pulled less, so richer


@pytest.mark.parametrize("key", CHOICES)
def test_what_is_not_chosen_is_as_the_config_says(key):
    config = replace(TRAIN, choose=tuple(other for other in CHOICES if other != key), knots=3, products=True, l2=0.5)
    listed = alternatives(config, "tool", Presets.ALL["tool"])
    if key == "columns":
        assert {one.columns for one in listed} == {Presets.ALL["tool"]}
    elif key == "knots":
        assert {one.shape.knots for one in listed} == {3}
    elif key == "products":
        assert {one.shape.products for one in listed} == {True, False}
        assert all(one.shape.products == (len(one.columns) > 1) for one in listed)
    else:
        assert {one.trained(config, 10).l2 for one in listed} == {0.5}


def test_l2_is_the_strength_over_the_number_of_training_traces():
    one = alternatives(TRAIN, "tool", Presets.ALL["tool"])[0]
    assert one.trained(TRAIN, 50).l2 == one.strength / 50


@given(st.integers(0, 10**6))
def test_the_loss_of_a_group_is_that_of_the_naive_loop(seed):
    rng = np.random.default_rng(seed)
    phi, labels, offsets = random_groups(rng, 8, features=2, sizes=(1, 5), positives=2)
    w = rng.normal(size=2)
    losses = group_losses(phi @ w, labels, offsets)
    for group, (first, last) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        rows = slice(first, last)
        if last - first < 2 or not labels[rows].any():
            assert np.isnan(losses[group])
            continue
        alone = naive_objective(w, phi[rows], labels[rows], np.array([0, last - first]), 0.0)
        assert losses[group] == pytest.approx(alone, abs=1e-12)


def test_the_paired_error_is_that_of_trace_sums():
    losses, others = np.array([1.0, 2.0, 4.0, 3.0]), np.array([0.5, 1.0, 2.0, 2.5])  # apart .5, 1, 2, .5: mean 1
    gap = MeanDifference.of(losses, others, np.ones(4), np.array([7, 7, 9, 9]))
    sums = np.array([-0.5, 0.5])  # of both traces, over the mean
    assert gap.mean == 1.0
    assert gap.standard_error == pytest.approx(np.sqrt(2 / 1 * (sums @ sums)) / 4)


def test_the_simplest_within_one_standard_error_is_chosen_and_equals_are_the_first():
    rng = np.random.default_rng(0)
    rich = rng.normal(1.0, 0.1, 200)
    level = rich + rng.normal(0.0, 0.1, 200)
    level += rich.mean() - level.mean() + 0.001
    worse = rich + 0.1
    assert simplest_as_good(np.array([worse, level, rich]), np.ones(200), np.arange(200)) == 1
    assert simplest_as_good(np.array([rich, rich]), np.ones(200), np.arange(200)) == 0
    assert simplest_as_good(np.array([worse, rich]), np.ones(200), np.arange(200)) == 1


def taken(losses, ranks, served, levels):
    """The choice among alternatives by their reciprocal ranks, of groups of traces of their own."""
    groups = losses.shape[1]
    return climbed(FoldResults(losses, ranks, ranks, served), levels, np.ones(groups), np.arange(groups))[-1]


def improved(ranks, wrong, number):
    """The ranks with so many of the wrong queries right."""
    better = ranks.copy()
    better[wrong[:number]] = 1.0
    return better


SINGLE, SEVERAL, OTHER = Level


@pytest.mark.parametrize("level, errors", [(SEVERAL, 1.0), (OTHER, 1.96)])
def test_what_is_richer_is_taken_only_where_it_ranks_better_by_its_margin_however_little_it_loses(level, errors):
    rng = np.random.default_rng(0)
    losses = np.array([np.ones(200), np.full(200, 0.5)]) + rng.normal(0.0, 0.01, (2, 200))
    alone, unserved = rng.choice([1.0, 0.5, 0.25], 200), np.full((2, 200), np.nan)
    wrong, seen = np.flatnonzero(alone < 1), set()
    for number in range(12):  # the error of +k of 200 is nearly sqrt(k) times that of +1
        ranks = np.array([alone, improved(alone, wrong, number)])
        gap = MeanDifference.of(ranks[1], ranks[0], np.ones(200), np.arange(200))
        expected = int(gap.mean > errors * gap.standard_error + 1e-12)
        assert taken(losses, ranks, unserved, np.array([SINGLE, level])) == expected
        seen.add(expected)
    assert seen == {0, 1}


def test_what_ranks_worse_where_it_will_be_served_is_not_taken():
    losses, unserved = np.ones((2, 200)), np.full((2, 200), np.nan)
    usual = np.tile([1.0, 0.5], 100)
    ranks, levels = np.array([usual, improved(usual, np.flatnonzero(usual < 1), 30)]), np.array([SEVERAL, OTHER])
    assert taken(losses, ranks, unserved, levels) == 1
    assert taken(losses, ranks, ranks, levels) == 1
    assert taken(losses, ranks, ranks[::-1], levels) == 0
    assert taken(losses, ranks, np.array([ranks[1], ranks[1] - 1e-16]), levels) == 1  # rounding is no loss


def test_a_single_column_that_ranks_better_than_the_sum_that_loses_least_is_taken():
    groups = 400
    rng = np.random.default_rng(1)
    noise = rng.normal(0.0, 0.01, (3, groups))
    losses = np.array([[1.2], [1.0], [0.3]]) + noise  # the second column ranks best, and the sum loses least by far
    proto, several = np.where(np.arange(groups) < 200, 1.0, 0.5), np.where(np.arange(groups) < 340, 1.0, 0.5)
    ridge = np.where(np.arange(groups) < 380, 1.0, 0.5)
    unserved, levels = np.full((3, groups), np.nan), np.array([SINGLE, SINGLE, SEVERAL])
    assert taken(losses, np.array([proto, ridge, several]), unserved, levels) == 1
    worse = losses[[1, 0, 2]]  # the least loss is that of the first column, which the sum outranks
    assert taken(worse, np.array([proto, ridge, several]), unserved, levels) == 1


@given(st.integers(0, 10**6), st.integers(2, 60), st.booleans())
def test_nothing_that_counts_ranks_better_than_what_is_taken_beyond_noise(seed, groups, has_served):
    rng = np.random.default_rng(seed)
    levels = np.sort(rng.integers(0, 3, rng.integers(1, 12)))
    levels[0] = SINGLE
    losses, ranks = rng.exponential(1.0, (2, len(levels), groups))
    served = rng.random((len(levels), groups)) if has_served else np.full((len(levels), groups), np.nan)
    traces, weights = rng.integers(0, max(groups // 3, 2), groups), rng.uniform(0.5, 2.0, groups)
    last = climbed(FoldResults(losses, ranks, ranks, served), levels, weights, traces)[-1]
    limit = (served @ weights)[levels < OTHER].max()
    for place, level in enumerate(levels):
        gap = MeanDifference.of(ranks[place], ranks[last], weights, traces)
        if level < OTHER or not has_served or served[place] @ weights > limit + 1e-9:
            assert gap.mean <= 1.96 * gap.standard_error + 1e-9


def test_of_what_ranks_better_beyond_noise_the_simplest_within_one_standard_error_of_the_best_is_taken():
    losses, unserved = np.ones((4, 200)), np.full((4, 200), np.nan)
    usual = np.tile([1.0, 0.5], 100)
    wrong, levels = np.flatnonzero(usual < 1), np.array([SINGLE, OTHER, OTHER, OTHER])
    for lead, expected in ((1, 2), (5, 3)):  # +1 of 200 has an error as large
        ranks = np.array([improved(usual, wrong, number) for number in (0, 20, 40, 40 + lead)])
        assert taken(losses, ranks, unserved, levels) == expected


def test_an_alternative_that_one_fold_cannot_train_takes_no_group_from_the_others(samples, monkeypatch):
    groups, refused = of_traces(samples, 40), []
    usual = choosing.optima_along

    def once(designs, terms, train, **options):
        if train.products and not refused:
            refused.append(train)
            raise UsageError("too large")
        return usual(designs, terms, train, **options)

    config = replace(RECOMMENDED, train=replace(TRAIN, choose=("products",)), features=("tool.proto", "tool.lift"))
    expected = choose(config, shared(groups, config)).record.alternatives[0]
    monkeypatch.setattr(choosing, "optima_along", once)
    record = choose(config, shared(groups, config)).record
    assert refused
    assert [way.title for way in record.alternatives] == [expected.title]
    assert record.alternatives[0].loss == pytest.approx(expected.loss, rel=1e-12)  # a BLAS kernel sums fewer rows anew


def test_columns_too_large_to_multiply_are_trained_without_products(samples):
    groups = of_traces(samples, 40)
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(len(groups.labels), 2)) + groups.labels[:, np.newaxis]
    candidates = replace(groups.candidates, features=phi * 1e200, feature_names=("x1", "x2"))
    config = load_config(None, ["train.recipe=recommended"])
    record = choose(config, shared(replace(groups, candidates=candidates), config)).record
    assert record.folds == 5
    assert not any("products" in way.title for way in record.alternatives)


def test_one_column_with_a_past_of_labels_has_a_choice_of_l2(samples):
    rows = [row | {"node_id": f"n{place // 5}"} for place, row in enumerate(tool_rows(range(6)))]
    groups = past_from_labels(ltr.read_groups(rows))
    train = replace(TRAIN, choose=("l2",))
    config = replace(RECOMMENDED, train=train, features=("tool.proto",))
    assert choose(config, shared(groups, config)).record.folds == 5


def test_means_of_hits_that_differ_by_rounding_are_equal_however_many_groups_there_are():
    groups, rng = 30_000, np.random.default_rng(0)
    served = rng.integers(1, 4, groups) / 3
    rounded = np.array([served, served - 1e-13])  # their sums differ by 3e-9
    losses = np.array([np.ones(groups), np.full(groups, 0.5)]) + rng.normal(0.0, 0.01, (2, groups))
    better = np.array([served, np.minimum(served + 1 / 3, 1.0)])
    assert taken(losses, better, rounded, np.array([SEVERAL, OTHER])) == 1


def test_a_heavy_group_counts_as_often_as_it_weighs():
    values, others = np.array([1.0, 3.0, 2.0]), np.array([2.0, 2.0, 2.5])
    weighed = MeanDifference.of(values, others, np.array([1.0, 2.0, 1.0]), np.arange(3))
    repeated = MeanDifference.of(values[[0, 1, 1, 2]], others[[0, 1, 1, 2]], np.ones(4), np.array([0, 1, 1, 2]))
    assert weighed.mean == pytest.approx(repeated.mean)
    assert weighed.standard_error == pytest.approx(repeated.standard_error)


def test_a_label_moves_no_loss_of_another_group_of_its_trace(samples):
    groups = of_traces(samples, 6)
    config = replace(RECOMMENDED, train=replace(TRAIN, choose=("products", "l2")), features=("tool.proto", "tool.lift"))
    listed = alternatives(config.train, "tool", config.features)
    trace = int(np.argmax(np.bincount(groups.candidates.traces)))
    first, *others = np.flatnonzero(groups.candidates.traces == trace).tolist()
    rows = slice(groups.offsets[first], groups.offsets[first + 1])
    labels = groups.labels.copy()
    labels[rows] = np.roll(labels[rows], 1)
    before, folds = judged_by_folds(config, groups, listed)
    after, _ = judged_by_folds(config, replace(groups, labels=labels), listed)
    assert folds == 5
    for name in ("losses", "hits", "ranks", "served"):
        np.testing.assert_allclose(getattr(after, name)[:, others], getattr(before, name)[:, others], rtol=1e-9)
    elsewhere = groups.candidates.traces != trace
    assert not np.array_equal(after.losses[:, elsewhere], before.losses[:, elsewhere], equal_nan=True)


def test_alternatives_are_judged_on_the_whole_catalogue_too_where_lists_are_short_beside_it(samples):
    groups = of_traces(samples, 6)
    config = replace(RECOMMENDED, train=replace(TRAIN, choose=("l2",)), features=("tool.proto", "tool.lift"))
    listed = [replace(way, level=Level.OTHER) for way in alternatives(config.train, "tool", config.features)]
    judged, _ = judged_by_folds(config, groups, listed)
    assert len(groups.candidates.name_texts) > 2 * np.median(np.diff(groups.offsets))
    assert judged.served.mean() < judged.hits.mean()  # more tools compete
    everywhere = draw_negatives(groups, read_tools("data/tools/tools.json"), WHOLE, encoder="hash", seed=0)
    overview, places = Overview.of(config, Whole(everywhere), IN_MEMORY), np.arange(len(everywhere.offsets) - 1)
    assert (
        served_lists(config, overview, Whole(everywhere), places, [len(places)])[1] is None
    )  # what was offered is the catalogue


def test_a_run_records_the_choice_and_its_config_names_what_was_chosen(samples):
    groups = of_traces(samples, 6)
    result = ltr.run(RECOMMENDED, shared=shared(groups))
    choice, train = result.router.training.choice, result.config.train
    assert choice.folds == 5
    assert choice.chosen in [one.title for one in choice.alternatives]
    (chosen,) = [one for one in choice.alternatives if one.title == choice.chosen]
    assert (chosen.difference, chosen.low, chosen.high) == (0, 0, 0)
    assert train.choose == ()
    assert result.router.trainer.l2 == train.l2
    assert tuple(result.config.features) == tuple(result.router.training.weights)
    again = ltr.run(result.config, shared=shared(groups, result.config))
    np.testing.assert_array_equal(again.model.w, result.model.w)
    assert again.router.training.choice is None


def test_no_row_of_the_table_of_a_run_ranks_better_than_the_chosen_one_beyond_noise(cli):
    flags = ["--recommended", "--encoder", "hash", "-o", "run", "--format", "human", "-v"]
    shown = cli.good("train", written("s.jsonl", tool_rows(range(12))), *flags)
    training = json.loads(Path("run/model.json").read_bytes())["training"]
    choice, titles = training["choice"], [row["title"] for row in training["choice"]["alternatives"]]
    assert {f"{name} alone, l2 1 / traces" for name in (*Presets.ALL["tool"], *Presets.MORE["tool"])} <= set(titles)
    rows = dict(zip(titles, choice["alternatives"], strict=True))
    assert all(row["low"] <= 1e-12 for row in rows.values()) or "served" in choice["reason"]
    for row in rows.values():
        assert row["difference"] == pytest.approx(row["mrr"] - rows[choice["chosen"]]["mrr"], abs=1e-12)
    assert f"chose among {len(titles)}: {choice['chosen']}; " in " ".join(shown.split())


def test_one_trace_leaves_nothing_to_choose_by(samples):
    chosen = choose(RECOMMENDED, shared(of_traces(samples, 1)))
    assert chosen.record.reason == "no folds: 1 training trace, too few for folds"
    assert chosen.config.features == Presets.ALL["tool"]
    assert (chosen.config.train.knots, chosen.config.train.l2) == (0, 10.0)


def test_the_prior_is_of_the_columns_by_name():
    assert prior_weights(["mine", "tool.lift"]).tolist() == [0.0, WEIGHTS["tool.lift"]]
    assert {name for names in Presets.ALL.values() for name in names} == set(WEIGHTS)


@pytest.mark.parametrize(
    "written, choose, prior",
    [
        ("{recipe: recommended}", ("columns", "knots", "products", "l2"), "shipped"),
        ("{recipe: recommended, l2: 0.1}", ("columns", "knots", "products"), "shipped"),
        ("{recipe: recommended, knots: 0}", ("columns", "products", "l2"), "shipped"),
        ("{recipe: recommended, products: false}", ("columns", "knots", "l2"), "shipped"),
        ("{recipe: recommended, l2: [0.1, 1.0], folds: 2}", (), "shipped"),
        ("{recipe: recommended, trainer: descent}", (), "zero"),
        ("{recipe: recommended, standardize: false}", (), "zero"),
        ("{recipe: recommended, choose: [l2]}", ("l2",), "shipped"),
        ("{recipe: specification}", (), "zero"),
    ],
)
def test_the_recipe_leaves_to_folds_what_the_config_does_not_name(tmp_path, written, choose, prior):
    path = tmp_path / "ltr.yaml"
    path.write_text(f"train: {written}\n")
    train = load_config(path).train
    assert (train.choose, train.prior) == (choose, prior)


def test_named_features_are_not_chosen_among(tmp_path):
    path = tmp_path / "ltr.yaml"
    path.write_text("features: [tool.proto]\ntrain: {recipe: recommended}\n")
    assert load_config(path).train.choose == ("knots", "products", "l2")


@pytest.mark.parametrize(
    "settings, problem",
    [
        ({"prior": "mine"}, "prior is 'mine'; zero or shipped is needed"),
        (
            {"choose": ("rows",), "trainer": "newton", "standardize": True},
            "a list of columns, knots, products, l2 is needed",
        ),
        ({"choose": ("l2",), "trainer": "newton", "standardize": True, "l2": (0.1, 1.0)}, "choose needs one l2"),
    ],
)
def test_what_cannot_be_chosen_or_pulled_to_is_refused(settings, problem):
    with pytest.raises(RangeError, match=problem):
        TrainConfig(**settings)


@pytest.mark.parametrize(
    "overrides, problem",
    [
        (["train.prior=shipped"], "train.prior needs train.trainer newton and train.standardize true"),
        (["train.choose=[l2]"], "train.choose needs train.trainer newton and train.standardize true"),
        (
            ["train.choose=[columns]", "train.trainer=newton", "train.standardize=true"],
            "train.choose names columns, which needs features: \\[recommended\\]",
        ),
    ],
)
def test_a_run_refuses_what_needs_other_keys(samples, overrides, problem):
    config = load_config(None, ["encoder=hash", *overrides])
    with pytest.raises(UsageError, match=problem):
        ltr.run(config, shared=shared(of_traces(samples, 3), config))
