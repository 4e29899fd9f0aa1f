"""Curves instead of lines: the knots, the optimum with them, and what is kept and told of it."""

import hashlib
import json
import math
import shutil
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from ltr import ListwiseRanker, RunConfig, TrainConfig, fit, load, run, write_report
from ltr.errors import DataError, FileError, RangeError
from ltr.experiments.single_run import run_and_save
from ltr.folds import settled
from ltr.records.training import training_record
from ltr.report import lines
from ltr.report.training import trust_texts, weight_blocks
from ltr.training import Design, Knots, Validation, curves
from ltr.training.curves import NO_KNOTS
from tests.made import ROWS, DataConfig, diagnose, exact_path, save_run, written
from tests.oracles import naive_objective, random_groups

CURVED = TrainConfig(trainer="newton", knots=3)
seeds = st.integers(0, 10**6)


@pytest.fixture(scope="module")
def hills():
    """300 groups whose right candidate is the one nearest to 0 on the first column."""
    rng = np.random.default_rng(3)
    phi, _, offsets = random_groups(rng, 300, sizes=(3, 8))
    worth = -np.abs(phi[:, 0]) * 3 + phi[:, 1] * 0.5 + rng.gumbel(size=len(phi)) * 0.3
    return phi, (worth == np.repeat(np.maximum.reduceat(worth, offsets[:-1]), np.diff(offsets))).astype(float), offsets


def hinged(row, knots):
    """The columns of one row, as they are defined."""
    pairs = zip(knots.columns, knots.positions, strict=True)
    return [*row, *(max(row[column] - place, 0.0) for column, place in pairs)]


@given(seeds, st.integers(0, 5))
def test_scores_and_parts_are_what_the_columns_say(seed, most):
    rng = np.random.default_rng(seed)
    phi = rng.choice([0.0, 0.3, 0.7, 1.0, rng.normal()], size=(rng.integers(1, 30), rng.integers(1, 4)))
    knots = Knots.of(phi, most)
    w = rng.normal(size=phi.shape[1] + len(knots))
    wide = np.array([hinged(row, knots) for row in phi.tolist()])
    np.testing.assert_array_equal(knots(phi), wide)
    np.testing.assert_allclose(knots.scores(phi, w), wide @ w, atol=1e-12)
    np.testing.assert_allclose(knots.parts(phi, w).sum(axis=1), wide @ w, atol=1e-12)


@given(seeds, st.integers(1, 9))
def test_knots_lie_on_values_between_the_ends(seed, most):
    column = np.random.default_rng(seed).integers(0, 12, size=(40, 1)).astype(float)
    knots, values = Knots.of(column, most), np.unique(column)
    assert len(knots) == min(most, max(len(values) - 2, 0))
    assert set(knots.positions) <= set(values[1:-1])
    assert (np.diff(knots.positions) > 0).all()


def test_beyond_what_was_learned_from_a_curve_goes_on_level(hills):
    model, phi = fit(*hills, CURVED), hills[0]
    outside = np.array([phi.max(axis=0) + 100, phi.min(axis=0) - 100])
    at_ends = model.scores(np.array([phi.max(axis=0), phi.min(axis=0)]))
    np.testing.assert_array_equal(model.scores(outside), at_ends)
    flat = Knots.of(np.column_stack([phi[:, 0], np.sign(phi[:, 1])]), 2)  # a column of two values has no knot
    assert flat.scores(np.array([[0.0, 5.0]]), np.r_[np.zeros(1), 2.0, np.zeros(len(flat))]) == 10.0


def test_equal_rows_score_alike_wherever_they_stand(hills):
    model = fit(*hills, CURVED)
    rows = np.repeat(hills[0][:7], 40, axis=0)
    found = model.scores(rows).reshape(7, 40)
    assert (found == found[:, :1]).all()


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("l2", [0.01, 0.3])
def test_the_optimum_is_that_of_the_extended_columns_with_costlier_knots(hills, l2, standardize):
    rows = hills[2][25]
    phi, labels, offsets = hills[0][:rows], hills[1][:rows], hills[2][:26]
    config = TrainConfig(trainer="newton", l2=l2, knots=3, standardize=standardize)
    model = fit(phi, labels, offsets, config)
    wide = np.array([hinged(row, model.terms.knots) for row in phi.tolist()])
    unit = phi.std(axis=0) if standardize else np.ones(phi.shape[1])
    units = np.array([*unit, *(unit[column] * np.sqrt(10) for column in model.terms.knots.columns)])
    best = minimize(lambda v: naive_objective(v, wide / units, labels, offsets, l2), np.zeros(len(units)), tol=1e-12)
    assert model.training.optimum == "found"
    assert model.training.objective <= best.fun + 1e-9
    np.testing.assert_allclose(model.w * units, best.x, atol=2e-3)


def test_a_curve_finds_what_no_line_can(hills):
    curved, line = (fit(*hills, TrainConfig(trainer="newton", knots=knots)) for knots in (3, 0))
    assert curved.training.objective < line.training.objective - 0.3
    known = diagnose(*hills, CURVED, curved)
    values, added = known.curves[0].T
    assert 0 < np.argmax(added) < len(values) - 1  # a hill
    assert values[0] == hills[0][:, 0].min()
    assert values[-1] == hills[0][:, 0].max()


def test_without_knots_nothing_changes(hills):
    straight = fit(*hills, TrainConfig(trainer="newton"))
    assert len(straight.terms) == len(NO_KNOTS) == 0
    assert diagnose(*hills, TrainConfig(trainer="newton"), straight).curves == ()
    assert NO_KNOTS(hills[0]) is hills[0]


def test_a_feature_is_left_out_with_its_knots(hills):
    phi, labels, offsets = hills
    model = fit(*hills, CURVED)
    worth = diagnose(*hills, CURVED, model).loss_without
    for place in range(phi.shape[1]):
        others = fit(np.delete(phi, place, axis=1), labels, offsets, CURVED)
        assert worth[place] == pytest.approx(others.training.objective - model.training.objective, abs=1e-9)


def test_no_standard_errors_of_what_is_no_single_weight(hills):
    known = diagnose(*hills, CURVED, fit(*hills, CURVED), names=("a", "b", "c"))
    assert known.errors is None
    assert known.no_errors.startswith("a curve or a product has no single weight")
    assert all(second < 3 for _, second, _ in known.collinear)  # columns of knots are left out


def test_the_path_with_knots_is_that_of_single_fits(hills):
    config = TrainConfig(trainer="newton", knots=2, l2=(0.1, 0.001), standardize=True)
    for l2, w in zip(config.l2, exact_path(*hills, config), strict=True):
        single = TrainConfig(trainer="newton", knots=2, l2=l2, standardize=True)
        np.testing.assert_allclose(w, fit(*hills, single).w, atol=1e-6)


def test_validation_data_have_the_columns_of_the_knots(hills):
    config = TrainConfig(knots=2, epochs=30, learning_rate=0.05, patience=30)
    model = fit(*hills, config, valid=Validation.of(*hills))
    losses = [naive_objective(w, model.terms(hills[0]), *hills[1:], 0.0) for w in _path(hills, config)]
    np.testing.assert_allclose(model.training.watched.values, losses, rtol=1e-12)


def _path(data, config):
    seen = []
    fit(*data, config, on_epoch=lambda epoch: seen.append(epoch.w))
    return seen


@pytest.mark.parametrize("knots", [-1, 65, 1.5, True, "3"])
def test_other_numbers_of_knots_are_refused(knots):
    with pytest.raises(RangeError, match="knots is"):
        TrainConfig(knots=knots)


def test_the_estimator_learns_the_curves_of_fit(hills):
    phi, labels, offsets = hills
    qid = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    ranker = ListwiseRanker(knots=3).fit(phi, labels, qid=qid)
    np.testing.assert_allclose(ranker.predict(phi), fit(*hills, CURVED).scores(phi), atol=1e-9)
    assert ranker.get_params()["knots"] == 3
    assert ranker.n_features_in_ == phi.shape[1]


@pytest.fixture(scope="module", params=["tool", "graph"])
def kept(request, tmp_path_factory):
    """A run with knots, and the directory it is kept in."""
    home = tmp_path_factory.mktemp(request.param)
    written(home / "train.jsonl", ROWS[request.param](range(25)))
    config = RunConfig(data=DataConfig(train=str(home / "train.jsonl")), train=CURVED)
    return home / "run", run_and_save(config, home / "run").result


def test_a_score_is_that_of_the_row_alone_whatever_stands_beside_it(monkeypatch):
    monkeypatch.setattr(curves, "ROWS_AT_ONCE", 7)
    rng = np.random.default_rng(3)
    phi = rng.normal(size=(50, 4))
    knots = Knots.of(phi[:40], 6)
    w = rng.normal(size=4 + len(knots))
    scores = knots.scores(phi, w)
    assert scores.tobytes() == b"".join(knots.scores(row[np.newaxis], w).tobytes() for row in phi)
    for row, score in zip(phi, scores, strict=True):
        values = np.clip(row, knots.ends[:, 0], knots.ends[:, 1])
        terms = [weight * value for weight, value in zip(w, values, strict=False)]
        pairs = zip(knots.columns, knots.positions, w[4:], strict=True)
        terms += [change * max(values[column] - position, 0.0) for column, position, change in pairs]
        assert score == pytest.approx(math.fsum(terms), rel=1e-12)


def test_a_model_with_knots_is_read_as_it_was_written(kept):
    directory, result = kept
    router, phi = load(directory), result.measured.phi
    assert len(router.terms) == len(result.model.terms) > 0
    assert router.scores(phi).tobytes() == result.router.scores(phi).tobytes()
    np.testing.assert_allclose(router.contributions(phi).sum(axis=1), router.scores(phi), rtol=1e-12)
    document = json.loads((directory / "model.json").read_bytes())
    assert len(document["weights"]) == len(document["features"]) == len(router.names)
    for place, feature in enumerate(document["features"]):
        values, added = np.array(document["training"]["curves"][feature["name"]]).T
        low, high = feature.get("ends", (-np.inf, np.inf))
        assert low <= values[0]
        assert values[-1] <= high
        expected = document["weights"][place] * values
        for position, change in feature.get("knots", []):
            expected = expected + change * np.maximum(values - position, 0)
        np.testing.assert_allclose(added, expected, atol=1e-12)


@pytest.mark.parametrize("damage", ["knots", "place", "many", "ends"])
def test_damaged_knots_are_refused(kept, tmp_path, damage):
    shutil.copytree(kept[0], tmp_path, dirs_exist_ok=True)
    document = json.loads((tmp_path / "model.json").read_bytes())
    document.pop("checksum")
    feature = next(each for each in document["features"] if "knots" in each)
    key = "ends" if damage == "ends" else "knots"
    feature[key] = {"knots": "x", "place": [["0.5", 1.0]], "many": [[0.5, 1.0]] * 65, "ends": [1.0, 0.0]}[damage]
    document["checksum"] = f"sha256:{hashlib.sha256(msgspec.json.encode(document)).hexdigest()}"
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(FileError, match="not a usable model"):
        load(tmp_path / "model.json")


def test_folds_fit_their_own_knots(hills, tmp_path):
    written(tmp_path / "train.jsonl", ROWS["tool"](range(25)))
    config = TrainConfig(trainer="newton", knots=3, folds=3, l2=(0.1, 0.01))
    result = run(RunConfig(data=DataConfig(train=str(tmp_path / "train.jsonl")), train=config))
    assert result.measured.folds.num_groups == len(result.train.offsets) - 1
    assert len(result.model.terms) > 0


def test_a_descent_begins_with_straight_lines(hills):
    config = TrainConfig(knots=3, epochs=1, learning_rate=1e-12, standardize=True)
    model = fit(*hills, config)
    np.testing.assert_allclose(model.w[:3] * hills[0].std(axis=0), 1, rtol=1e-9)
    np.testing.assert_allclose(model.w[3:], 0, atol=1e-9)
    assert model.training.deviations.shape == (3,)
    assert fit(*hills, TrainConfig(knots=3, epochs=1)).training.deviations is None


@pytest.mark.parametrize(
    "phi, problem",
    [([["a"] * 3] * 2, "phi"), ([1.0, 2.0], "rows x features"), ([[1.0] * 2] * 2, "3 features are needed")],
)
def test_validation_data_of_another_width_are_refused(hills, phi, problem):
    with pytest.raises(DataError, match=problem):
        fit(*hills, TrainConfig(knots=2, epochs=2), valid=Validation.of(phi, [1, 0], [0, 2]))


def test_contributions_add_up_to_the_scores(kept):
    directory, result = kept
    router, measured = result.router, result.measured
    scores = router.scores(measured.phi)
    for row in range(0, len(scores), 7):
        assert sum(router.named_contributions(measured.phi[row]).values()) == pytest.approx(scores[row], rel=1e-12)
    for line in (directory / "examples.jsonl").read_bytes().splitlines():
        for candidate in json.loads(line)["candidates"]:
            assert sum(candidate["contributions"]) == pytest.approx(candidate["score"], rel=1e-9)


def test_the_terminal_shows_each_curve_by_its_ends(kept):
    said = kept[1].router.training
    shown = lines(weight_blocks(said), 1_000)
    assert shown[0].split() == [
        "feature",
        "knots",
        "adds",
        "least",
        "at",
        "adds",
        "most",
        "at",
        "range",
        "loss",
        "without",
    ]
    for line, (name, points) in zip(shown[1:], said.curves.items(), strict=True):
        least, most = (at(points, key=lambda point: point[1]) for at in (min, max))
        assert line.split()[:2] == [name, str(len(points) - 2)]
        assert [float(cell) for cell in line.split()[2:4]] == pytest.approx([least[0], most[0]], rel=1e-3, abs=1e-9)
        assert float(line.split()[4]) == pytest.approx(most[1] - least[1], abs=1e-3)
        assert said.weights[name].range == pytest.approx(most[1] - least[1])
    assert f", {len(kept[1].model.terms.knots)} knots, " in " ".join(trust_texts(kept[1]))


def test_pages_draw_the_curves_and_list_all_of_them(kept, tmp_path):
    write_report([kept[0]], tmp_path / "page.html")
    write_report([kept[0]], tmp_path / "card.md")
    page, card = ((tmp_path / name).read_text(encoding="utf-8") for name in ("page.html", "card.md"))
    for name, points in kept[1].router.training.curves.items():
        assert f"What {name} adds" in page
        assert (f"| {name} | a curve |" in card) == (len(points) > 2)
    assert "a curve or a product has no single weight" in page


def test_a_page_names_the_curves_that_it_does_not_draw(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        {"trace_id": f"t{n // 4}", "node_id": "n", "query": "q", "tool": f"a{n % 4}", "label": int(n % 4 == 0)}
        | {"features": [*rng.normal(size=13).tolist(), (n % 4 == 0) + rng.normal()]}
        for n in range(400)
    ]
    written(tmp_path / "many.jsonl", rows)
    config = RunConfig(data=DataConfig(train=str(tmp_path / "many.jsonl")), kind="tool", train=replace(CURVED, knots=7))
    save_run(config, tmp_path / "run")
    write_report([tmp_path / "run"], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "What x14 adds" in page  # it decides: it is drawn
    assert "The first 12 of 14 curves are drawn." in page
    assert all(f">x{place}<" in page for place in range(1, 15))


def test_directions_and_warnings_name_knots_and_count_their_weights(hills):
    column = np.array([[0.0], [1.0], [2.0], [3.0]] * 20)
    labels, offsets = np.array([0.0, 0, 1, 0] * 20), np.arange(0, 81, 4)
    free = TrainConfig(trainer="newton", l2=0.0, knots=2)
    model = fit(column, labels, offsets, free)
    known = diagnose(column, labels, offsets, free, model)
    document = training_record(model, known, ("rel",))
    assert model.training.escape is not None
    assert "rel above 2" in document.escape
    assert "20 groups for 3 weights: another sample gives other weights" in document.warnings
    twins = (np.column_stack([hills[0], -hills[0][:, 0]]), *hills[1:])
    straight, curved = (TrainConfig(trainer="newton", l2=0.0, knots=knots) for knots in (0, 3))
    told = [
        training_record(each, diagnose(*twins, config, each), ("a", "b", "c", "d")).not_identified
        for config in (straight, curved)
        for each in [fit(*twins, config)]
    ]
    assert told == [["a + d"], ["a + d"]]


def test_validation_data_choose_among_penalties_of_curves(hills):
    phi, labels, offsets = hills
    train = TrainConfig(trainer="newton", knots=3, l2=(1.0, 0.001))
    chosen = settled(RunConfig(train=train), (Design(*hills),), None, Validation.of(*hills))
    for said in chosen.by_validation.path:
        model = fit(*hills, replace(train, l2=said.l2))
        assert said.value == pytest.approx(naive_objective(model.w, model.terms(phi), labels, offsets, 0.0), rel=1e-8)
    assert chosen.train.l2 == 0.001
