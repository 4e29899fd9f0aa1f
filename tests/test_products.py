"""Products of features: the optimum with them, and what is kept and shown of it."""

import hashlib
import json
import shutil
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from ltr import ListwiseRanker, RunConfig, TrainConfig, evaluate, fit, load, rank, run, write_report
from ltr.errors import FileError, UsageError
from ltr.experiments.single_run import run_and_save
from ltr.report import lines
from ltr.report.training import trust_texts, weight_blocks
from ltr.training import Products, Terms, terms
from ltr.training.geometry import COST
from ltr.training.terms import NO_PRODUCTS, NO_TERMS
from tests.made import ROWS, DataConfig, diagnose, exact_path, written
from tests.oracles import naive_objective, random_groups

MULTIPLIED = TrainConfig(trainer="newton", products=True)
BENT = replace(MULTIPLIED, knots=2)
seeds = st.integers(0, 10**6)


@pytest.fixture(scope="module")
def crossed():
    """300 groups whose right candidate is the one in which the first two columns agree most."""
    rng = np.random.default_rng(3)
    phi, _, offsets = random_groups(rng, 300, sizes=(3, 8))
    worth = phi[:, 0] * phi[:, 1] * 3 + phi[:, 2] * 0.5 + rng.gumbel(size=len(phi)) * 0.3
    return phi, (worth == np.repeat(np.maximum.reduceat(worth, offsets[:-1]), np.diff(offsets))).astype(float), offsets


def multiplied(row, products):
    """The products of one row, as they are defined."""
    inside = [min(max(value, low), high) for value, (low, high) in zip(row, products.ends, strict=True)]
    away = [value - centre for value, centre in zip(inside, products.centres, strict=True)]
    return [away[first] * away[second] for first in range(len(row)) for second in range(first + 1, len(row))]


@given(seeds)
def test_scores_and_parts_are_what_the_columns_say(seed):
    rng = np.random.default_rng(seed)
    phi = rng.choice([0.0, 0.3, 0.7, 1.0, rng.normal()], size=(rng.integers(1, 30), rng.integers(1, 5)))
    products, beyond = Products.of(phi), np.vstack([phi, 3 * phi, -phi])
    w = rng.normal(size=len(products))
    wide = np.array([multiplied(row, products) for row in beyond.tolist()]).reshape(len(beyond), len(products))
    np.testing.assert_allclose(products(beyond), wide, atol=1e-12)
    np.testing.assert_allclose(products.scores(beyond, w), wide @ w, atol=1e-12)
    np.testing.assert_allclose(products.parts(beyond, w).sum(axis=1), wide @ w, atol=1e-12)


def test_a_feature_has_half_of_each_of_its_products():
    products = Products.at([0.0, 0.0, 0.0], np.array([[0.0, 9.0]] * 3))
    added = products.parts(np.array([[1.0, 2.0, 3.0]]), np.array([1.0, 10.0, 100.0]))  # 2, 3 and 6
    np.testing.assert_allclose(added, [[(2 + 30) / 2, (2 + 600) / 2, (30 + 600) / 2]])


def test_the_centre_is_a_value_of_the_column_and_nothing_depends_on_where_the_scale_begins(crossed):
    phi, labels, offsets = crossed
    moved = phi + np.array([1e3, -50.0, 7.0])
    centres = Products.of(moved).centres
    assert all(centre in column for centre, column in zip(centres, moved.T, strict=True))
    here, there = (fit(rows, labels, offsets, MULTIPLIED) for rows in (phi, moved))
    np.testing.assert_allclose(there.w, here.w, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("knots", [0, 2])
def test_the_optimum_is_that_of_the_extended_columns_with_costlier_terms(crossed, knots, standardize):
    rows = crossed[2][25]
    phi, labels, offsets = crossed[0][:rows], crossed[1][:rows], crossed[2][:26]
    config = replace(MULTIPLIED, l2=0.05, knots=knots, standardize=standardize)
    model = fit(phi, labels, offsets, config)
    wide = model.terms(phi)
    unit = phi.std(axis=0) if standardize else np.ones(phi.shape[1])
    of_products = wide[:, -3:].std(axis=0) if standardize else np.ones(3)
    of_terms = np.array([*(unit[column] for column in model.terms.knots.columns), *of_products])
    units = np.concatenate([unit, np.sqrt(COST) * of_terms])
    best = minimize(lambda v: naive_objective(v, wide / units, labels, offsets, 0.05), np.zeros(len(units)), tol=1e-12)
    assert model.training.optimum == "found"
    assert model.training.objective <= best.fun + 1e-9
    np.testing.assert_allclose(model.w * units, best.x, atol=2e-3)


def test_products_find_what_no_sum_of_curves_can(crossed):
    phi, labels, offsets = crossed
    hits = {}
    for name, config in (("products", MULTIPLIED), ("curves", replace(MULTIPLIED, knots=7, products=False))):
        model = fit(phi, labels, offsets, config)
        hits[name] = evaluate(rank(model.scores(phi), offsets), labels).means["top1_accuracy"]
    assert hits["products"] > 0.8 > 0.5 > hits["curves"]


def test_without_products_nothing_changes(crossed):
    line = fit(*crossed, TrainConfig(trainer="newton"))
    assert len(line.terms) == len(NO_PRODUCTS) == len(NO_TERMS) == 0
    assert NO_TERMS(crossed[0]) is crossed[0]
    assert len(fit(crossed[0][:, :1], *crossed[1:], MULTIPLIED).terms) == 0  # one column


def test_a_feature_is_left_out_with_its_products(crossed):
    phi, labels, offsets = crossed
    for config in (MULTIPLIED, BENT):
        model = fit(*crossed, config)
        loss_without = diagnose(*crossed, config, model).loss_without
        for place in range(phi.shape[1]):
            others = fit(np.delete(phi, place, axis=1), labels, offsets, config)
            rise = others.training.objective - model.training.objective
            assert loss_without[place] == pytest.approx(rise, abs=1e-9)


def test_the_range_of_a_product_is_that_over_the_training_rows(crossed):
    model = fit(*crossed, MULTIPLIED)
    added = model.terms.products(crossed[0]) * model.w[3:]
    np.testing.assert_allclose(diagnose(*crossed, MULTIPLIED, model).product_ranges, np.ptp(added, axis=0), rtol=1e-12)


def test_the_path_with_products_is_that_of_single_fits(crossed):
    config = replace(BENT, l2=(0.1, 0.001), standardize=True)
    for l2, w in zip(config.l2, exact_path(*crossed, config), strict=True):
        np.testing.assert_allclose(w, fit(*crossed, replace(config, l2=l2)).w, atol=1e-6)


def test_a_descent_begins_without_products(crossed):
    model = fit(*crossed, TrainConfig(products=True, epochs=1, learning_rate=1e-12))
    np.testing.assert_allclose(model.w, [1.0] * 3 + [0.0] * 3, atol=1e-9)


def test_a_score_is_that_of_the_row_alone_whatever_stands_beside_it(monkeypatch):
    monkeypatch.setattr(terms, "ROWS_AT_ONCE", 7)
    rng = np.random.default_rng(3)
    phi = rng.normal(size=(50, 4))
    both = Terms.of(phi[:40], BENT)
    w = rng.normal(size=4 + len(both))
    scores = both.scores(phi, w)
    assert scores.tobytes() == b"".join(both.scores(row[np.newaxis], w).tobytes() for row in phi)
    np.testing.assert_allclose(scores, both(phi) @ w, rtol=1e-9, atol=1e-12)


def test_the_estimator_learns_the_products_of_fit(crossed):
    phi, labels, offsets = crossed
    qid = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    ranker = ListwiseRanker(products=True).fit(phi, labels, qid=qid)
    np.testing.assert_allclose(ranker.predict(phi), fit(*crossed, MULTIPLIED).scores(phi), atol=1e-9)


def test_as_many_features_as_are_allowed_are_multiplied_and_no_more():
    most = Products.MOST_FEATURES
    ends = np.tile([0.0, 1.0], (most + 1, 1))
    assert len(Products.at([0.0] * most, ends[1:])) == most * (most - 1) // 2
    assert len(Products.of(np.zeros((2, most)))) == most * (most - 1) // 2
    with pytest.raises(UsageError, match="multiplies at most 24 features; there are 25"):
        Products.at([0.0] * (most + 1), ends)
    with pytest.raises(UsageError, match="multiplies at most 24 features; there are 25"):
        Products.of(np.zeros((2, most + 1)))


def test_a_product_is_too_large_by_how_far_it_reaches_from_its_centres():
    far = np.array([[1e200, 1e200 + 1e190], [0.0, 1e101]])
    assert len(Products.at([1e200, 0.0], far)) == 1  # 1e190 at most beside the centre, times 1e101
    assert len(Products.at([0.0, 0.0], np.array([[0.0, 1e150], [0.0, 1e150]]))) == 1  # LARGEST itself can be used
    with pytest.raises(UsageError, match="the product of columns 1 and 2"):
        Products.at([-1e200, 0.0], far)


def test_without_products_there_is_nothing_to_score_and_no_end_is_held():
    assert NO_PRODUCTS.ends.shape == (0, 2)
    np.testing.assert_array_equal(NO_PRODUCTS.scores(np.ones((3, 5)), np.empty(0)), np.zeros(3))


def test_more_columns_than_can_be_multiplied_are_refused():
    phi = np.random.default_rng(0).normal(size=(8, Products.MOST_FEATURES + 1))
    with pytest.raises(UsageError, match="train.products multiplies at most 24 features; there are 25"):
        fit(phi, [1, 0] * 4, np.arange(0, 9, 2), MULTIPLIED)


@pytest.mark.parametrize("size, is_refused", [(1e200, True), (1e140, False), (1e-155, False)])
def test_a_product_beyond_the_range_of_numbers_is_refused_in_one_line(crossed, size, is_refused):
    phi = crossed[0] * [size, size, 1.0]
    for config in (MULTIPLIED, replace(MULTIPLIED, standardize=True)):
        if is_refused:
            with pytest.raises(UsageError, match="train.products: the product of columns 1 and 2 is above 1e"):
                fit(phi, *crossed[1:], config)
        elif config.standardize:
            assert np.isfinite(fit(phi, *crossed[1:], config).scores(phi)).all()


@pytest.fixture(scope="module", params=["tool", "graph"])
def stored(request, tmp_path_factory):
    """A run with curves and products, and the directory it is stored in."""
    home = tmp_path_factory.mktemp(request.param)
    written(home / "train.jsonl", ROWS[request.param](range(25)))
    config = RunConfig(data=DataConfig(train=str(home / "train.jsonl")), train=BENT)
    return home / "run", run_and_save(config, home / "run").result


def test_a_model_with_products_is_read_as_it_was_written(stored):
    directory, result = stored
    router, phi = load(directory), result.measured.phi
    assert len(router.terms.products) == 4 * 3 // 2
    assert router.scores(phi).tobytes() == result.router.scores(phi).tobytes()
    np.testing.assert_allclose(router.contributions(phi).sum(axis=1), router.scores(phi), rtol=1e-12)
    document = json.loads((directory / "model.json").read_bytes())
    assert [pair[:2] for pair in document["products"]] == [
        [first, second] for place, first in enumerate(router.names) for second in router.names[place + 1 :]
    ]


def damaged(document, damage):
    """Change what a model says of its products."""
    products, feature = document["products"], document["features"][0]
    if damage == "twice":
        products.append([products[0][1], products[0][0], 1.0])
    elif damage in ("centre", "ends"):
        feature.pop(damage)
    elif damage == "outside":
        feature["centre"] = feature["ends"][1] + 1.0
    else:
        products[0] = {"unknown": ["mine", products[0][1], 1.0], "itself": [products[0][1]] * 2 + [1.0], "text": "x"}[
            damage
        ]


@pytest.mark.parametrize("damage", ["twice", "centre", "ends", "outside", "unknown", "itself", "text"])
def test_damaged_products_are_refused(stored, tmp_path, damage):
    shutil.copytree(stored[0], tmp_path, dirs_exist_ok=True)
    document = json.loads((tmp_path / "model.json").read_bytes())
    document.pop("checksum")
    damaged(document, damage)
    document["checksum"] = f"sha256:{hashlib.sha256(msgspec.json.encode(document)).hexdigest()}"
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(FileError, match="not a usable model"):
        load(tmp_path / "model.json")


def test_terminal_and_page_list_the_products_by_their_range(stored, tmp_path):
    training = stored[1].router.training
    shown = lines(weight_blocks(training), 1_000)
    ranges = [pair.range for pair in training.products]
    assert ranges == sorted(ranges, reverse=True)
    assert shown[shown.index("") + 1] == "the 6 of 6 products that move the score most"
    listed = shown[shown.index("") + 3 :]
    assert [line.split()[:2] for line in listed] == [[pair.first, pair.second] for pair in training.products]
    assert ", 6 products, " in " ".join(trust_texts(stored[1]))
    write_report([stored[0]], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "What each two features add together" in page
    assert "a curve or a product has no single weight" in page


def test_cross_validation_knows_products(tmp_path):
    written(tmp_path / "train.jsonl", ROWS["tool"](range(25)))
    config = replace(MULTIPLIED, folds=3, l2=(0.1, 0.01))
    result = run(RunConfig(data=DataConfig(train=str(tmp_path / "train.jsonl")), train=config))
    assert result.measured.folds.num_groups == len(result.train.offsets) - 1
    assert len(result.model.terms) == 6
