"""Whether the right candidate is told by its likeness to the wrong ones, as when those were made by changing it."""

import re
from collections.abc import Iterator

import numpy as np

from ltr.arrays import FloatArray
from ltr.audit.chance_test import Judged, Tally, beyond_chance
from ltr.audit.findings import Finding, first_rows
from ltr.data.groups import Candidates, Groups, select
from ltr.evaluation.evaluate import evaluate
from ltr.evaluation.metrics.ranked import TOP1
from ltr.evaluation.ranking import rank

MOST_GROUPS = 2000
WORD = re.compile(r"[^\W_]+")
# Of the way from chance to certainty. Tools that are often right may resemble each other, so that words alone
# reach .36 on real logs; edges of graphs that nobody perturbed stay at 0.
EXCESS = {"tool": 0.5, "graph": 0.2}


def likeness_leak(groups: Groups) -> Iterator[Finding]:
    """A warning when mean likeness to the others, without the query, ranks the truth first far above chance."""
    chosen = np.flatnonzero(Judged.of(groups).can_tell)
    if not chosen.size:
        return
    step = -(-len(chosen) // MOST_GROUPS)
    sample = select(groups, chosen[::step])
    judged = Judged.of(sample)
    ranked = evaluate(rank(likeness(sample.candidates), sample.offsets), judged.is_right)
    hits, queries = (ranked.means[TOP1] or 0.0) * len(judged.sizes), float(len(judged.sizes))
    expected = float((judged.right / judged.sizes).sum())
    found = Tally(*(np.array([number]) for number in (hits, queries, expected, queries, queries)))
    if beyond_chance(found)[0] and found.excess[0] >= EXCESS[sample.candidates.kind]:
        what = "edges" if sample.candidates.kind == "graph" else "words"
        message = (
            f"the {what} a candidate shares with the others of its group rank the right one first in "
            f"{hits / queries:.3f} of the groups, by chance {expected / queries:.3f}, without the query: "
            "the wrong ones look made from the right one"
        )
        where = first_rows(sample.candidates, np.arange(len(judged.sizes)))
        yield Finding(severity="warning", code="leak-likeness", message=message, where=where, count=round(hits))


def likeness(candidates: Candidates) -> FloatArray:
    """Of each row the mean Jaccard index of its edges, or of its words, with the others of its group."""
    sets, codes = _sets(candidates)
    values, bounds = np.zeros(len(codes)), candidates.offsets.tolist()
    for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
        held = [sets[code] for code in codes[start:stop]]
        for place, one in enumerate(held):
            values[start + place] = sum(jaccard(one, other) for other in held) - 1.0
        values[start:stop] /= max(stop - start - 1, 1)
    return values


def jaccard(one: frozenset[object], other: frozenset[object]) -> float:
    """Size of what both have / size of what either has; two empty sets are alike.

    >>> jaccard(frozenset("abc"), frozenset("bcd"))
    0.5
    """
    common = len(one & other)
    either = len(one) + len(other) - common
    return common / either if either else 1.0


def _sets(candidates: Candidates) -> tuple[list[frozenset[object]], list[int]]:
    """The distinct sets, and the place there of each row's."""
    if candidates.kind == "graph":
        graphs = candidates.distinct_graphs
        pairs = ([(graph.texts[a], graph.texts[b]) for a, b in graph.edges] for graph in graphs)
        return [frozenset(each) for each in pairs], candidates.graphs.tolist()
    codes = candidates.names * max(len(candidates.tool_texts), 1) + (candidates.texts if candidates.texts.size else 0)
    distinct, places = np.unique(codes, return_inverse=True)
    spoken = []
    for code in distinct.tolist():
        name, text = divmod(code, max(len(candidates.tool_texts), 1))
        description = candidates.tool_texts[text].description if candidates.tool_texts else ""
        spoken.append(frozenset[object](WORD.findall(f"{candidates.name_texts[name]} {description}".lower())))
    return spoken, places.tolist()
