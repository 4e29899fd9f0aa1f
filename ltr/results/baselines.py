"""Rankings that need no training: what a router must beat to be worth it, and the best of them on the training groups.

`offered` is the order in which the samples list the candidates, `most_used` how often a tool, or a type of graphs, was
right in training, `bm25` the words that query and text share, `similarity` the cosine of their vectors.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from operator import add

import msgspec
import numpy as np

from ltr.arrays import BoolArray, FloatArray, linear_scores, ragged
from ltr.catalogues import ToolCatalogue, ToolText, read_tools, united
from ltr.columns import Data, Prepared
from ltr.config import RunConfig
from ltr.doubts import MOST_MARKS, trace_marks
from ltr.encoders import Encoder
from ltr.errors import DataError
from ltr.evaluation import (
    MRR,
    TOP1,
    Baseline,
    BestFeature,
    Evaluation,
    Ranking,
    Rules,
    alone,
    alone_in_training,
    baseline_rankings,
    best_baseline,
    best_of,
)
from ltr.features import FeatureConfig, FittedFeatures, documents, named_candidates
from ltr.hashes import text_mark
from ltr.records.training import BaselinesRecord, TrainingRecord
from ltr.results.bm25 import Bm25
from ltr.results.evaluated import Evaluated
from ltr.samples import Candidates, Groups, Kind, Past, Shards, Whole
from ltr.serving import Router
from ltr.steps.negatives import count_uncorrected
from ltr.sums import added
from ltr.training import Designs

FIRST_IS_RIGHT = "the training samples list a right candidate first in every query"
DRAWN = "candidates were drawn, and stand as in the catalogue"
UNTYPED = "the candidates have no candidate_type"
NEVER_AGAIN = "no tool, or type of graphs, was right twice"
NO_TEXTS = "the samples bear ready numbers"
COLUMN_OF: dict[Kind, dict[str, str]] = {  # what ready numbers may hold of them
    "tool": {Baseline.SIMILARITY: "tool.rel", Baseline.BM25: "tool.bm25"},
    "graph": {Baseline.SIMILARITY: "graph.rel"},
}


def _scores(
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
        scores[Baseline.OFFERED] = -ragged(np.diff(groups.offsets))[1].astype(np.float64)
    else:
        missing[Baseline.OFFERED] = DRAWN
    if named_candidates(candidates)[1] in ((), ("",)):
        missing[Baseline.MOST_USED] = UNTYPED
    else:
        scores[Baseline.MOST_USED] = times_right(groups, uses, is_training=is_training)
    named = COLUMN_OF[candidates.kind]
    scores |= {name: columns[column] for name, column in named.items() if column in columns}
    if candidates.features is None and encoder is not None:
        scores[Baseline.BM25] = bm25(candidates)
        if Baseline.SIMILARITY not in scores:
            alike = FittedFeatures(candidates.kind, (FeatureConfig(named[Baseline.SIMILARITY]),), (None,), encoder)
            scores[Baseline.SIMILARITY] = alike(candidates)[:, 0]
    missing |= {name: NO_TEXTS for name in (Baseline.BM25, Baseline.SIMILARITY) if name not in scores}
    return scores, missing


def bm25(candidates: Candidates) -> FloatArray:
    """Return BM25 of each row's query and text, in the collection of these candidates."""
    texts = documents(candidates)
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
    scores, missing = _scores(groups, columns, encoder, training.baselines.uses, is_training=is_training)
    left_out = training.baselines.left_out | missing
    if best.name in columns:
        scores[Baseline.BEST_FEATURE] = best.sign * columns[best.name]
    elif best_column is not None:
        scores[Baseline.BEST_FEATURE] = best.sign * best_column(groups)
    else:
        left_out[Baseline.BEST_FEATURE] = f"{best.name} is no column of this model"
    scores[Baseline.UNTRAINED] = linear_scores(phi, np.ones(len(router.names)))
    return baseline_rankings(scores, groups.labels, measured.ranking, rules), left_out


# What the training groups say, counted in one pass over the shards and ranked in a second.


@dataclass(frozen=True, slots=True)
class Marks:
    """What a model keeps of the groups that it learned from, and its tools."""

    traces: list[str]
    answers: set[str]
    past: Past | None
    tools: dict[str, ToolText]  # as the first group has them
    uncorrected: int  # groups whose drawn rows get no offset
    groups: int
    num_none: int  # others, for which none is right

    @classmethod
    def of(cls, groups: Groups) -> "Marks":
        """Return those of a shard."""
        candidates = groups.candidates
        return cls(
            trace_marks(candidates)[:MOST_MARKS],
            set(_answer_marks(candidates, groups.labels)),
            candidates.known_past,
            candidates.first_texts() if candidates.kind == "tool" else {},
            count_uncorrected(groups),
            len(groups.offsets) - 1,
            groups.num_none,
        )

    def __add__(self, more: "Marks") -> "Marks":
        """Return those of both; a tool has the text of the first."""
        return Marks(
            sorted([*self.traces, *more.traces])[:MOST_MARKS],
            self.answers | more.answers,
            self.past or more.past,
            united([self.tools, more.tools]),
            self.uncorrected + more.uncorrected,
            self.groups + more.groups,
            self.num_none + more.num_none,
        )

    def put_into(self, training: TrainingRecord) -> TrainingRecord:
        """Return the record of the training with the marks."""
        answers = sorted(self.answers)
        return msgspec.structs.replace(training, traces=self.traces, answers=answers, past=self.past or "")

    def tools_to_rank(self, config: RunConfig, data: Data) -> ToolCatalogue | None:
        """Return what the router ranks when a query comes alone: the tools of the samples, and all of data.tools."""
        is_given = data.train[0].candidates.features is not None
        if data.kind == "graph":
            return None
        if config.data.tools is None or is_given:  # columns hold their texts
            return self.tools
        return {**self.tools, **read_tools(config.data.tools)}


def _answer_marks(candidates: Candidates, labels: FloatArray) -> list[str]:
    """Return a short hash of each tool that is right in some group, in order; none of graphs: their ids say nothing."""
    if candidates.kind == "graph":
        return []
    right = np.unique(candidates.names[labels > 0]).tolist()
    return sorted(text_mark(candidates.name_texts[code]) for code in right)


@dataclass(frozen=True, slots=True)
class Untrained:
    """How the training groups rank without training."""

    best: BestFeature  # of all columns that were made, also those that folds leave out
    column: Prepared  # it alone
    baselines: BaselinesRecord
    marks: Marks  # seen on the way

    def put_into(self, training: TrainingRecord) -> TrainingRecord:
        """Return the record of the training with the rankings."""
        return msgspec.structs.replace(training, best_feature=self.best, baselines=self.baselines)


def untrained(prepared: Prepared) -> Untrained:
    """Return the best single column, and how the training groups rank without training."""
    shards, engine, names = prepared.shards, prepared.work.engine, prepared.names
    seen = list(engine.map(partial(_alone, shards, prepared.designs, names), range(len(shards))))
    marks, parts = reduce(add, (of for of, _ in seen)), [part for _, part in seen if part is not None]
    if not parts:
        raise DataError("no group can train: in every query none is right")
    by_column = {of: added([alone[of] for alone, _, _ in parts]) for of in parts[0][0]}
    best = best_of({of: (one.means[MRR] or 0.0, one.means[TOP1] or 0.0) for of, one in by_column.items()})
    uses, are_wrong_first = sum((uses for _, uses, _ in parts), Counter[str]()), sum(wrong for _, _, wrong in parts)
    encoder = prepared.features.encoder if prepared.features and isinstance(shards, Whole) else None
    rank_each = partial(_ranked, shards, prepared.designs, names, encoder, uses)
    ranked = [of_shard for of_shard in engine.map(rank_each, range(len(shards))) if of_shard is not None]
    left_out = {name: why for _, missing in ranked for name, why in missing.items()}
    sums = {name: added([of[name] for of, _ in ranked]) for name in ranked[0][0] if name not in left_out}
    top1 = {name: of.means[TOP1] or 0.0 for name, of in sums.items()}
    if Baseline.OFFERED in top1 and not are_wrong_first:
        left_out[Baseline.OFFERED] = FIRST_IS_RIGHT
    if Baseline.MOST_USED in top1 and max(uses.values(), default=0) < 2:
        left_out[Baseline.MOST_USED] = NEVER_AGAIN
    record = BaselinesRecord(best_baseline(top1, left_out), top1, left_out, dict(sorted(uses.items())))
    return Untrained(best, prepared.only([names.index(best.name)]), record, marks)


def _alone(
    shards: Shards, designs: Designs, names: tuple[str, ...], number: int
) -> tuple[Marks, tuple[dict[BestFeature, Evaluation], Counter[str], int] | None]:
    """Return the marks of a shard; how each column ranks alone, how often each tool was right, where a wrong is first.

    Queries of two candidates or more count as wrong where one is right and the first is not.
    """
    groups, phi = shards[number], np.asarray(designs[number].phi)
    if not len(groups.labels):
        return Marks.of(groups), None
    evaluated = {of: one.light() for of, one in alone(names, phi, groups.labels, groups.offsets)}
    is_right, starts = groups.labels > 0, groups.offsets[:-1]
    has_choice = (np.diff(groups.offsets) > 1) & np.logical_or.reduceat(is_right, starts)
    return Marks.of(groups), (evaluated, uses_of(groups), int((has_choice & ~is_right[starts]).sum()))


def _ranked(
    shards: Shards,
    designs: Designs,
    names: tuple[str, ...],
    encoder: Encoder | None,
    uses: Counter[str],
    number: int,
) -> tuple[dict[str, Evaluation], dict[str, str]] | None:
    """Measure the rankings of a shard, and say why others are missing, once it is counted what was used elsewhere."""
    groups = shards[number]
    if not len(groups.labels):
        return None
    columns = dict(zip(names, np.asarray(designs[number].phi).T, strict=True))
    scores, missing = _scores(groups, columns, encoder, uses, is_training=True)
    return {name: alone_in_training(of, groups.labels, groups.offsets).light() for name, of in scores.items()}, missing
