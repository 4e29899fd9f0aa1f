"""Rankings that need no training: what a router must beat to be worth it, and the best of them on the training groups.

`offered` is the order in which the samples list the candidates, `most_used` how often a tool, or a type of graphs, was
right in training, `bm25` the words that query and text share, `similarity` the cosine of their vectors.
"""

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from ltr.arrays import BoolArray, FloatArray, ragged
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups
from ltr.data.schema import Kind
from ltr.encoders.protocol import Encoder
from ltr.evaluation.baselines import (
    BEST_FEATURE,
    BM25,
    MOST_USED,
    OFFERED,
    SIMILARITY,
    UNTRAINED,
    alone_in_training,
    baseline_rankings,
    best_baseline,
)
from ltr.evaluation.evaluate import Evaluation, Rules
from ltr.evaluation.linear_scores import linear_scores
from ltr.evaluation.metrics.ranking_measures import TOP1
from ltr.evaluation.ranking import Ranking
from ltr.features.fitted_features import FittedFeatures
from ltr.features.registry import FeatureConfig
from ltr.features.specified_graph_features import graph_texts
from ltr.features.specified_tool_features import tool_texts
from ltr.features.success_rates import named_candidates
from ltr.rerankers.bm25 import Bm25
from ltr.results.evaluated import Evaluated
from ltr.serving.router import Router
from ltr.storage.training_record import BaselinesRecord

FIRST_IS_RIGHT = "the training samples list a right candidate first in every query"
DRAWN = "candidates were drawn, and stand as in the catalogue"
UNTYPED = "the candidates have no candidate_type"
NEVER_AGAIN = "no tool, or type of graphs, was right twice"
NO_TEXTS = "the samples bear ready numbers"
COLUMN_OF: dict[Kind, dict[str, str]] = {  # what ready numbers may hold of them
    "tool": {SIMILARITY: "tool.rel", BM25: "tool.bm25"},
    "graph": {SIMILARITY: "graph.rel"},
}


def untrained(
    groups: Groups,
    columns: Mapping[str, FloatArray],
    encoder: Encoder | None,
    uses: Mapping[str, int],
    *,
    is_training: bool,
) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """Return the scores of the rows by every ranking that needs no training, and why others are missing.

    `columns` are those of phi by name. Of training groups a use counts in other traces alone: a count that knows the
    answer of its own query flatters itself.
    """
    candidates = groups.candidates
    scores, missing = dict[str, FloatArray](), dict[str, str]()
    if candidates.is_logged.all():
        scores[OFFERED] = -ragged(np.diff(groups.offsets))[1].astype(np.float64)
    else:
        missing[OFFERED] = DRAWN
    if named_candidates(candidates)[1] in ((), ("",)):
        missing[MOST_USED] = UNTYPED
    else:
        scores[MOST_USED] = times_right(groups, uses, is_training=is_training)
    named = COLUMN_OF[candidates.kind]
    scores |= {name: columns[column] for name, column in named.items() if column in columns}
    if candidates.features is None and encoder is not None:
        scores[BM25] = bm25(candidates)
        if SIMILARITY not in scores:
            alike = FittedFeatures(candidates.kind, (FeatureConfig(named[SIMILARITY]),), (None,), encoder)
            scores[SIMILARITY] = alike(candidates)[:, 0]
    missing |= {name: NO_TEXTS for name in (BM25, SIMILARITY) if name not in scores}
    return scores, missing


def bm25(candidates: Candidates) -> FloatArray:
    """Return BM25 of each row's query and text, in the collection of these candidates."""
    texts = (tool_texts if candidates.kind == "tool" else graph_texts)(candidates, None)
    known, bounds, codes = Bm25(texts.texts), candidates.offsets.tolist(), texts.codes.tolist()
    scores = np.empty(bounds[-1])
    for group, query in enumerate(candidates.queries.tolist()):
        rows = slice(bounds[group], bounds[group + 1])
        scores[rows] = known.scores(candidates.query_texts[query], [texts.texts[code] for code in codes[rows]])
    return scores


def uses_of(groups: Groups) -> Counter[str]:
    """Count how often each tool, or type of graphs, was right; a row that was drawn from a catalogue was not used."""
    codes, names = named_candidates(groups.candidates)
    if not names:
        return Counter()
    right = codes[_is_used(groups)]
    return Counter({names[code]: times for code, times in enumerate(np.bincount(right).tolist()) if times})


def times_right(groups: Groups, uses: Mapping[str, int], *, is_training: bool) -> FloatArray:
    """Return how often the tool of each row, or its type of graphs, was right; of training groups in other traces."""
    codes, names = named_candidates(groups.candidates)
    times = np.array([uses.get(name, 0) for name in names], dtype=np.float64)[codes]
    if is_training:
        trace = np.repeat(groups.candidates.traces, np.diff(groups.offsets))
        keys = trace * len(names) + codes
        distinct, place = np.unique(keys, return_inverse=True)
        times -= np.bincount(place, _is_used(groups), minlength=len(distinct))[place]
    return times


def _is_used(groups: Groups) -> BoolArray:
    is_used: BoolArray = (groups.labels > 0) & groups.candidates.is_logged
    return is_used


def wrong_first(groups: Groups) -> int:
    """Count the queries of two candidates or more, one of them right, that list a wrong one first."""
    is_right, starts = groups.labels > 0, groups.offsets[:-1]
    has_choice = (np.diff(groups.offsets) > 1) & np.logical_or.reduceat(is_right, starts)
    return int((has_choice & ~is_right[starts]).sum())


def top1_sums(
    groups: Groups, columns: Mapping[str, FloatArray], encoder: Encoder | None, uses: Mapping[str, int]
) -> tuple[dict[str, Evaluation], dict[str, str]]:
    """Return what each ranking comes to on training groups, and why others are missing; that of shards adds up."""
    scores, missing = untrained(groups, columns, encoder, uses, is_training=True)
    return {name: alone_in_training(of, groups.labels, groups.offsets).light() for name, of in scores.items()}, missing


def baselines_record(
    sums: Mapping[str, Evaluation], missing: Mapping[str, str], uses: Mapping[str, int], *, are_wrong_first: int
) -> BaselinesRecord:
    """Record which ranking is the best on the training groups, what each has there, and which are not compared."""
    top1 = {name: of.means[TOP1] or 0.0 for name, of in sums.items()}
    left_out = dict(missing)
    if OFFERED in top1 and not are_wrong_first:
        left_out[OFFERED] = FIRST_IS_RIGHT
    if MOST_USED in top1 and max(uses.values(), default=0) < 2:
        left_out[MOST_USED] = NEVER_AGAIN
    return BaselinesRecord(best_baseline(top1, left_out), top1, left_out, dict(sorted(uses.items())))


def baselines_of(
    router: Router,
    measured: Evaluated,
    rules: Rules,
    best_column: Callable[[Groups], FloatArray] | None = None,
) -> tuple[dict[str, tuple[Ranking, Rules]], dict[str, str]]:
    """Rank what a router ranked by each baseline; also return which are missing or not compared, and why.

    `best_column` computes the best single column where folds left it out of the router.
    """
    groups, phi, training = measured.groups, measured.phi, router.training
    columns, best = dict(zip(router.names, phi.T, strict=True)), training.best_feature
    encoder = router.features.encoder if router.features else None
    is_training = measured.split == "train"
    scores, missing = untrained(groups, columns, encoder, training.baselines.uses, is_training=is_training)
    left_out = training.baselines.left_out | missing
    if best.name in columns:
        scores[BEST_FEATURE] = best.sign * columns[best.name]
    elif best_column is not None:
        scores[BEST_FEATURE] = best.sign * best_column(groups)
    else:
        left_out[BEST_FEATURE] = f"{best.name} is no column of this model"
    scores[UNTRAINED] = linear_scores(phi, np.ones(len(router.names)))
    return baseline_rankings(scores, groups.labels, measured.ranking, rules), left_out
