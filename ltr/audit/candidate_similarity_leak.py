"""Whether likeness to the wrong candidates reveals the right one, as when the wrong ones were made by changing it."""

import re
from collections.abc import Iterator

import numpy as np

from ltr.arrays import FloatArray
from ltr.audit.chance_test import ChanceTest
from ltr.audit.findings import Finding, first_lines
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups, select

MOST_GROUPS = 2000
WORD = re.compile(r"[^\W_]+")
# Of the way from chance to certainty. Tools that are often right may resemble each other, so that words alone
# reach .36 on real logs; edges of graphs that nobody perturbed stay at 0.
EXCESS = {"tool": 0.5, "graph": 0.2}


def likeness_leak(groups: Groups) -> Iterator[Finding]:
    """A warning where mean likeness to the others, without the query, ranks the right one first far above chance."""
    counted = np.flatnonzero(ChanceTest.of(groups).counts)
    has_texts = groups.candidates.graphs.size or groups.candidates.texts.size  # columns of an earlier version may not
    if not counted.size or not has_texts:
        return
    sample = select(groups, counted[:: -(-len(counted) // MOST_GROUPS)])
    tally = ChanceTest.of(sample).ranked_first(likeness(sample.candidates))
    if tally.is_beyond_chance[0] and tally.excess[0] >= EXCESS[sample.candidates.kind]:
        what = "edges" if sample.candidates.kind == "graph" else "words"
        hits, queries, expected = (float(column[0]) for column in (tally.hits, tally.trials, tally.expected))
        message = (
            f"the {what} a candidate shares with the others of its group rank the right one first in "
            f"{hits / queries:.3f} of the groups, by chance {expected / queries:.3f}, without the query: "
            "the wrong ones look made from the right one"
        )
        where = first_lines(sample.candidates, np.arange(len(sample.offsets) - 1))
        yield Finding(severity="warning", code="leak-likeness", message=message, where=where, count=round(hits))


def likeness(candidates: Candidates) -> FloatArray:
    """Mean Jaccard index of the edges of each row, or of its words, with those of the others of its group."""
    sets, codes = edge_sets(candidates) if candidates.kind == "graph" else word_sets(candidates)
    values, bounds = np.zeros(len(codes)), candidates.offsets.tolist()
    for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
        in_group = [sets[code] for code in codes[start:stop]]
        for place, own in enumerate(in_group):
            values[start + place] = sum(jaccard(own, other) for other in in_group) - 1.0
        values[start:stop] /= max(stop - start - 1, 1)
    return values


def jaccard(left: frozenset[object], right: frozenset[object]) -> float:
    """Size of the intersection / size of the union; two empty sets are alike.

    >>> jaccard(frozenset("abc"), frozenset("bcd"))
    0.5
    """
    common = len(left & right)
    union = len(left) + len(right) - common
    return common / union if union else 1.0


def edge_sets(candidates: Candidates) -> tuple[list[frozenset[object]], list[int]]:
    """The edges of each distinct graph, as pairs of texts; and the graph of each row."""
    edges = ([(graph.texts[a], graph.texts[b]) for a, b in graph.edges] for graph in candidates.distinct_graphs)
    return [frozenset(pairs) for pairs in edges], candidates.graphs.tolist()


def word_sets(candidates: Candidates) -> tuple[list[frozenset[object]], list[int]]:
    """The words of each distinct name with its description; and which of them each row has."""
    texts = max(len(candidates.tool_texts), 1)
    distinct, codes = np.unique(
        candidates.names * texts + (candidates.texts if candidates.texts.size else 0), return_inverse=True
    )
    sets = []
    for code in distinct.tolist():
        name, text = divmod(code, texts)
        description = candidates.tool_texts[text].description if candidates.tool_texts else ""
        sets.append(frozenset[object](WORD.findall(f"{candidates.name_texts[name]} {description}".lower())))
    return sets, codes.tolist()
