"""The optimum of the corrections beside a general optimiser, and the column that they make."""

import numpy as np
import pytest
from scipy.optimize import minimize

import ltr
from ltr.training import influence, solve_corrections
from ltr.training.corrections import PENALTY
from tests.made import WORDS, tool_rows, written

TOOLS = [f"get_{word}" for word in WORDS]


def problem(seed, corrections=5, offered=4, spread=3.0):
    """Influences, scores, offsets, tools and counts; the first two corrections are of one query."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(corrections, 3))
    vectors[1] = vectors[0]
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    tools = np.concatenate([rng.permutation(offered + 3)[:offered] for _ in range(corrections)])
    counts = np.zeros(corrections * offered)
    counts[np.arange(corrections) * offered + rng.integers(0, offered, corrections)] = rng.integers(1, 5, corrections)
    counts[0] += 2
    scores = spread * rng.normal(size=len(tools))
    return influence(vectors @ vectors.T), scores, np.arange(corrections + 1) * offered, tools, counts


def added(a, influences, offsets, tools):
    """K a, pair by pair of rows."""
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.array(
        [
            sum(influences[j, i] * a[row] for row, i in enumerate(owners) if tools[row] == tool)
            for j, tool in zip(owners, tools, strict=True)
        ]
    )


def objective(a, influences, scores, offsets, tools, counts):
    """The losses, weighed by how often something was said, and the penalty."""
    more = added(a, influences, offsets, tools)
    total = PENALTY / 2 * (a @ more)
    for first, last in zip(offsets[:-1], offsets[1:], strict=True):
        z, said = (scores + more)[first:last], counts[first:last]
        total += said.sum() * (z.max() + np.log(np.exp(z - z.max()).sum())) - said @ z
    return total


@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_that_of_a_general_optimiser(seed):
    given = problem(seed)
    influences, scores, offsets, tools, _ = given
    a = solve_corrections(*given)
    other = minimize(objective, np.zeros(len(scores)), args=given, method="BFGS", options={"gtol": 1e-7})
    assert objective(a, *given) <= other.fun + 1e-9
    found, expected = (added(x, influences, offsets, tools) for x in (a, other.x))
    assert found == pytest.approx(expected, abs=2e-2)


@pytest.mark.parametrize("spread", [0.0, 30.0, 1000.0])
def test_scores_however_far_apart_have_an_optimum(spread):
    given = problem(7, spread=spread)
    a = solve_corrections(*given)
    influences, scores, offsets, tools, counts = given
    z = scores + added(a, influences, offsets, tools)
    for first, last in zip(offsets[:-1], offsets[1:], strict=True):
        p = np.exp(z[first:last] - z[first:last].max())
        said = counts[first:last]
        assert PENALTY * a[first:last] == pytest.approx(said - said.sum() * p / p.sum(), abs=1e-5)


def test_a_query_gets_the_same_term_alone_and_among_others(tmp_path):
    samples = written(tmp_path / "samples.jsonl", tool_rows(range(25)))
    ltr.train(samples, out=tmp_path / "run", features=("tool.rel", "tool.hist"), encoder="hash", trainer="newton")
    router = ltr.load(tmp_path / "run")
    router.learn([{"query": f"what is the {word}?", "right": f"get_{WORDS[0]}"} for word in WORDS[1:6]])
    queries = ["what is the news?", "is there mail?", "what is the stock today?"]
    alone = [[choice.score for choice in router.rank(query, k=None)] for query in queries]
    assert [[choice.score for choice in answer] for answer in router.rank_many(queries, k=None)] == alone
    some = router.rank(queries[0], [{"name": TOOLS[1]}, {"name": TOOLS[0]}], k=None)
    terms = {choice.candidate: choice.contributions["tool.corrections"] for choice in router.rank(queries[0], k=None)}
    assert {choice.candidate: choice.contributions["tool.corrections"] for choice in some} == {
        name: terms[name] for name in TOOLS[:2]
    }
