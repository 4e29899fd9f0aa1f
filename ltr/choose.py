"""What folds choose for the recommended recipe: columns, their curves and products, and l2."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.catalogues import ToolCatalogue, read_tools, united
from ltr.columns import Features, Work, count_traces, narrowed
from ltr.config import RunConfig
from ltr.errors import DataError, RunError, UsageError, count
from ltr.evaluation import MAP, MRR, TOP1, evaluate, rank
from ltr.features import RECOMMENDED, Presets, prior_of
from ltr.hashes import Hashes
from ltr.logs import stage
from ltr.progress import OnProgress, Step, silent
from ltr.records.training import AlternativeRecord, RecommendedChoiceRecord
from ltr.samples import Groups, Kind, Past, Shards
from ltr.serving import MOST_SCORED
from ltr.splits import Side, trace_ranks
from ltr.steps.catalogue import is_short, on_all_tools
from ltr.steps.negatives import DRAWN, MOST_WHOLE, WHOLE, draw_negatives
from ltr.steps.past import both_pasts
from ltr.training import (
    COLUMNS,
    KNOTS,
    L2,
    NORMAL_95,
    PRODUCTS,
    Designs,
    FoldResults,
    Level,
    MeanDifference,
    Products,
    Terms,
    TrainConfig,
    climbed,
    group_losses,
    optima_along,
    terms_of,
)

CURVES = 7  # knots
ROWS = 1 << 15  # candidates of a fold's groups on the lists that will be served
DRAWN_ROWS = 1 << 19  # of all tools, where candidates were drawn: nothing else judges there
NO_PLACES = np.empty(0, dtype=np.int64)
STRENGTH, STRENGTHS = 1.0, (10.0, 3.0, 1.0, 0.3)  # l2 times training traces; those of a weight for each column


class Shape(NamedTuple):
    """What the score has beside a weight for each column."""

    knots: int
    products: bool


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to train."""

    columns: tuple[str, ...]
    shape: Shape
    strength: float | None  # l2 times training traces; None: the l2 of the config
    level: Level

    def trained(self, config: TrainConfig, traces: int) -> TrainConfig:
        """The settings of its training on so many traces."""
        l2 = config.penalty if self.strength is None else self.strength / max(traces, 1)
        return replace(config, **self.shape._asdict(), l2=l2, choose=())

    @property
    def title(self) -> str:
        """How it is named to people.

        >>> Alternative(("a",), Shape(0, False), 1.0, Level.SINGLE).title
        'a alone, l2 1 / traces'
        >>> Alternative(("a", "b"), Shape(7, True), 10.0, Level.OTHER).title
        '2 columns, 7 knots, products, l2 10 / traces'
        """
        (knots, products), several = self.shape, len(self.columns) > 1
        parts = [f"{len(self.columns)} columns" if several else f"{self.columns[0]} alone"]
        parts += [count(knots, "knot")] if knots else ["lines"] if several else []
        parts += ["products"] if products else []
        parts += [] if self.strength is None else [f"l2 {self.strength:g} / traces"]
        return ", ".join(parts)


def alternatives(config: TrainConfig, kind: Kind, names: Sequence[str]) -> tuple[Alternative, ...]:
    """The alternatives of columns with these names, from simple to rich: at most 13, and each other column alone.

    What is beyond a line of the recommended columns, products, knots or more columns, comes last, where folds choose
    it. Products are left out where there are too many columns to multiply.

    >>> config = TrainConfig(trainer="newton", standardize=True, choose=("columns",))
    >>> [alternative.columns for alternative in alternatives(config, "tool", ["tool.proto", "tool.ridge", "mine"])]
    [('tool.proto',), ('tool.ridge',), ('tool.proto', 'tool.ridge', 'mine'), ('mine',)]
    """
    names, past = tuple(names), tuple(name for name in Presets.PAST if name in names)
    first, singles = Presets.FIRST[kind], ((name,) for name in Presets.SINGLES[kind])
    sets = (*singles, first, (*first, *past), Presets.ALL[kind])
    sets = tuple(dict.fromkeys(sets)) if COLUMNS in config.choose else ()
    recommended = tuple(name for name in names if not (sets and name in Presets.MORE[kind]))
    strength, strengths = (STRENGTH, STRENGTHS) if L2 in config.choose else (None, (None,))
    plain = Shape(0 if KNOTS in config.choose else config.knots, config.products and PRODUCTS not in config.choose)
    knots = CURVES if KNOTS in config.choose else config.knots
    alone = Shape(plain.knots, products=False)
    fewer = [
        Alternative(some, plain if len(some) > 1 else alone, strength, _level(some))
        for some in sets
        if set(some) < set(recommended)
    ]
    lines = [Alternative(recommended, plain, l2, _level(recommended)) for l2 in strengths]
    usual = {way.columns for way in fewer}
    others = [(name,) for name in names if sets and (name,) not in {*usual, recommended}]
    rich = dict.fromkeys(
        (
            columns,
            Shape(number, plain.products or (PRODUCTS in config.choose and 1 < len(columns) <= Products.MOST_FEATURES)),
        )
        for columns, number in ((recommended, plain.knots), (recommended, knots), (names, knots))
    )
    rich.pop((recommended, plain), None)
    more = (Alternative(*way, strength, Level.OTHER) for way in (*((one, alone) for one in others), *rich))
    return (*fewer, *lines, *more)


def _level(columns: tuple[str, ...]) -> Level:
    return Level.SEVERAL if len(columns) > 1 else Level.SINGLE


def default_of(listed: Sequence[Alternative]) -> Alternative:
    """The recommended columns with a weight each, pulled most: what is taken where nothing can be proved."""
    return max((one for one in listed if one.level < Level.OTHER), key=lambda one: len(one.columns))


def paths(listed: Sequence[Alternative]) -> dict[tuple[tuple[str, ...], Shape], list[int]]:
    """The places of the alternatives that differ in l2 alone, by their columns and shape.

    >>> line, both = Shape(0, False), ("a", "b")
    >>> one, several = Level.SINGLE, Level.SEVERAL
    >>> listed = Alternative(("a",), line, 1.0, one), *(Alternative(both, line, l2, several) for l2 in (9.0, 1.0))
    >>> list(paths(listed).values())
    [[0], [1, 2]]
    """
    places: dict[tuple[tuple[str, ...], Shape], list[int]] = {}
    for place, alternative in enumerate(listed):
        places.setdefault((alternative.columns, alternative.shape), []).append(place)
    return places


Optima = dict[tuple[tuple[str, ...], Shape], FloatArray]  # the weights at the largest l2, by columns and shape


@dataclass(frozen=True, slots=True)
class Overview:
    """What is to be known of all training groups before folds judge."""

    sizes: tuple[IntArray, ...]  # of the lists of each shard
    weights: FloatArray  # of the groups
    traces: IntArray  # of the groups, counted through all shards
    ranks: Hashes  # of the groups: the order in which their traces are taken
    tools: ToolCatalogue | None  # that a router would rank
    are_logged: bool  # no candidate was drawn
    is_given: bool  # the samples bear ready numbers
    past: Past | None  # what it is made of

    @classmethod
    def of(cls, config: RunConfig, shards: Shards, work: Work) -> "Overview":
        """Return that of the shards, in one pass."""
        parts, before, traces = list(work.map_shards(partial(_seen, config), shards)), 0, list[IntArray]()
        for part in parts:
            traces.append(part.traces + before)
            before += part.num_traces
        tools = None
        if parts[0].tools is not None:
            tools = united([part.tools or {} for part in parts])
            if config.data.tools is not None and not parts[0].is_given:
                tools = {**tools, **read_tools(config.data.tools)}
        return cls(
            tuple(part.sizes for part in parts),
            np.concatenate([part.weights for part in parts]),
            np.concatenate(traces),
            np.concatenate([part.ranks for part in parts]),
            tools,
            all(part.are_logged for part in parts),
            parts[0].is_given,
            next((part.past for part in parts if part.past), None),
        )

    @property
    def median(self) -> float:
        """The candidates of half of the groups, at most."""
        return float(np.median(np.concatenate(self.sizes)))

    def holds(self, side: Side, shards: Shards, work: Work) -> tuple[IntArray, list[int]]:
        """Return the places of a side's groups among all, and how many each shard has."""
        places, first = list[IntArray](), 0
        for sizes, of_shard in zip(self.sizes, work.map_shards(partial(_held, side), shards), strict=True):
            places.append(of_shard + first)
            first += len(sizes)
        return np.concatenate(places), [len(of_shard) for of_shard in places]


@dataclass(frozen=True, slots=True)
class _Seen:
    sizes: IntArray
    weights: FloatArray
    traces: IntArray
    num_traces: int
    ranks: Hashes
    tools: ToolCatalogue | None
    are_logged: bool
    is_given: bool
    past: Past | None


def _seen(config: RunConfig, groups: Groups) -> _Seen:
    candidates = groups.candidates
    return _Seen(
        np.diff(groups.offsets),
        groups.group_weights,
        candidates.traces,
        len(candidates.trace_ids),
        trace_ranks(candidates.trace_ids, config.seed)[candidates.traces],
        candidates.first_texts() if candidates.kind == "tool" else None,
        bool(candidates.is_logged.all()),
        candidates.features is not None,
        candidates.known_past,
    )


def _held(side: Side, groups: Groups) -> IntArray:
    return side.holds(groups.candidates)


@dataclass(frozen=True, slots=True)
class Judges:
    """Groups that a fold leaves out, with the columns of the candidates that judge them."""

    places: IntArray  # of the groups among those of all shards
    designs: tuple[Designs, ...]  # where the past is made of labels, a second time after own choices


@dataclass(frozen=True, slots=True)
class FoldToJudge:
    """What a fold learns from, and what it leaves out."""

    learned: Designs
    names: tuple[str, ...]
    traces: int  # that it learns from
    offered: Judges
    served: Judges | None  # with more candidates; None where those that will be served were offered


def on_folds(
    config: RunConfig,
    features: Features,
    overview: Overview,
    listed: Sequence[Alternative],
    on_progress: OnProgress = silent,
) -> tuple[FoldResults, int]:
    """Return what each alternative, learned without a fold, does with the fold's groups; and how many folds there are.

    Where the past is made of labels each group counts twice, as in a training: with right tools before it, and with
    own choices. Lists that will be served have right tools before them alone. Where candidates were drawn, a group is
    judged on all tools of the catalogue: what ranks best among a few that were drawn may not among all of them.
    """
    sides, optima = features.choosing_folds(), Optima()
    left_out = FoldResults.empty(len(listed), len(overview.weights))
    for number in range(len(sides)):
        on_progress(Step("folds", number, len(sides)))
        fold = _fold(config, features, overview, number, sides, listed)
        of_fold, served = _left_out(fold, config, features.work, listed, optima)
        for values, of_groups in zip(left_out.parts, of_fold, strict=False):
            values[:, fold.offered.places] = of_groups
        if fold.served is not None:
            left_out.served[:, fold.served.places] = served
    is_plain = np.array([alternative.level < Level.OTHER for alternative in listed])
    if np.isnan(left_out.losses[is_plain]).all(axis=1).any():
        raise DataError("no fold has groups to judge by")
    return left_out, len(sides)


def _fold(
    config: RunConfig,
    features: Features,
    overview: Overview,
    number: int,
    sides: Sequence[tuple[Side, Side]],
    listed: Sequence[Alternative],
) -> FoldToJudge:
    """Both sides of a fold with their columns."""
    work, shards = features.work, features.samples
    learned, outside = sides[number]
    held, (places, counts) = shards.changed(outside), overview.holds(outside, shards, work)
    judged = places
    if tools := catalogue_of_drawn(overview):
        chosen = _first_traces(overview.ranks[places], max(DRAWN_ROWS // len(tools), 1))
        judged, held = places[chosen], held.picked(chosen, counts).changed(partial(on_all_tools, tools=tools))
    has_others = any(alternative.level == Level.OTHER for alternative in listed)
    asked, wider = served_lists(config, overview, held, places, counts) if has_others else (NO_PLACES, None)
    prepared, *designs = features.choosing_fold(number, sides, held, *([wider] if wider else []))
    served = Judges(places[asked], (designs[1],)) if wider else None
    traces = sum(work.map_shards(count_traces, shards.changed(learned)))
    if overview.past != "labels":
        return FoldToJudge(prepared.designs, prepared.names, traces, Judges(judged, (designs[0],)), served)
    settings = default_of(listed).trained(config.train, traces)
    taught, walked = both_pasts(config, settings, prepared, held)
    return FoldToJudge(taught.designs, prepared.names, traces, Judges(judged, (designs[0], walked)), served)


def _left_out(
    fold: FoldToJudge, config: RunConfig, work: Work, listed: Sequence[Alternative], optima: Optima
) -> tuple[tuple[FloatArray, FloatArray, FloatArray], FloatArray]:
    """What each alternative learns from one side of a fold, and does with the other; and with lists to be served.

    `optima` has the weights of the fold before, near which those of this one are looked for.
    """
    shape = len(listed), len(fold.offered.places)
    losses, hits, ranks = np.full(shape, np.nan), np.zeros(shape), np.zeros(shape)
    served = np.full((len(listed), 0 if fold.served is None else len(fold.served.places)), np.nan)
    for key, same in paths(listed).items():
        used, _ = key
        places = tuple(fold.names.index(name) for name in used)
        settings = [listed[place].trained(config.train, fold.traces) for place in same]
        train = replace(settings[0], l2=tuple(train.penalty for train in settings))
        own = narrowed(fold.learned, places)
        try:
            terms, prior = terms_of(own, train, engine=work.engine), prior_of(train, used)
            ws = optima_along(own, terms, train, prior=prior, start=optima.get(key), engine=work.engine)
        except (DataError, UsageError, RunError):
            if listed[same[0]].level < Level.OTHER:
                raise
            continue  # its products leave the range of numbers: it is no alternative
        optima[key] = ws[int(np.argmax(train.l2s))]
        judge = Judge(places, terms, tuple(ws), train.targets, config.evaluate.rel_threshold)
        by_past = [judge.results(designs, work) for designs in fold.offered.designs]
        losses[same], hits[same], ranks[same] = (np.mean(several, axis=0) for several in zip(*by_past, strict=True))
        if fold.served is not None:
            served[same] = judge.results(fold.served.designs[0], work)[1]
    return (losses, hits, ranks), served


@dataclass(frozen=True, slots=True)
class Judge:
    """Weights for each l2 of some columns, and how they are judged."""

    places: tuple[int, ...]  # of the columns
    terms: Terms
    ws: tuple[FloatArray, ...]
    targets: str
    threshold: float

    def results(self, designs: Designs, work: Work) -> tuple[FloatArray, ...]:
        """Return losses, Top-1 and precision, (ws, groups) each."""
        parts = list(work.engine.map(partial(self.of, designs), range(len(designs))))
        return tuple(np.concatenate(several, axis=1) for several in zip(*parts, strict=True))

    def of(self, designs: Designs, number: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return those of one design."""
        design = designs[number]
        labels, offsets = np.asarray(design.labels), np.asarray(design.offsets)
        if len(offsets) == 1:
            nothing = np.empty((len(self.ws), 0))
            return nothing, nothing, nothing
        columns = np.asarray(design.phi)[:, np.array(self.places)]
        scores, added = [self.terms.scores(columns, w) for w in self.ws], design.score_offset
        offset = None if added is None else np.asarray(added)
        losses = np.array([group_losses(column, labels, offsets, offset, self.targets) for column in scores])
        return losses, *ranked(scores, labels, offsets, self.threshold)


def served_lists(
    config: RunConfig, overview: Overview, held: Shards, places: IntArray, counts: Sequence[int]
) -> tuple[IntArray, Shards | None]:
    """Return which left out groups, as many as make ROWS, and these with tools of the catalogue added.

    None where what was offered is what will be served: lists that are not short beside the catalogue, or drawn.
    """
    tools = None if overview.is_given else overview.tools
    if not tools or not overview.are_logged or not is_short(overview.median, len(tools)):
        return NO_PLACES, None
    number = len(places)
    longest = len(tools)
    if len(tools) > MOST_WHOLE:
        longest = DRAWN + int(np.concatenate(overview.sizes)[places].max())
    asked = np.unique(np.linspace(0, number - 1, min(number, max(ROWS // longest, 1))).astype(np.int64))
    options: dict[str, Any] = {"tools": tools, "asked": WHOLE, "encoder": config.encoder_name, "seed": config.seed}
    return asked, held.picked(asked, counts).changed(partial(draw_negatives, **options))


def catalogue_of_drawn(overview: Overview) -> ToolCatalogue | None:
    """Return the tools on all of which groups are judged, where candidates were drawn.

    None where lists hold most of the catalogue; where a router would cut it, as few queries would make DRAWN_ROWS; and
    where columns are given, which know no other tool.
    """
    if overview.are_logged or overview.is_given:
        return None
    tools = overview.tools or {}
    return tools if is_short(overview.median, len(tools)) and len(tools) <= MOST_SCORED else None


def _first_traces(ranks: Hashes, number: int) -> IntArray:
    """The places of so many groups, of whole traces but for the last, by a hash of the traces' ids."""
    return np.sort(np.argsort(ranks, kind="stable")[:number])


def ranked(scores: Sequence[FloatArray], labels: FloatArray, offsets: IntArray, threshold: float) -> FloatArray:
    """Return Top-1 and precision of each group by each of the scores, ties by their expectation; 0 where none is right.

    The precision is the mean over right candidates of the share of right ones down to each: of one the reciprocal rank.
    Shape (2, scores, groups).
    """
    found = [evaluate(rank(column, offsets), labels, (MAP,), rel_threshold=threshold) for column in scores]
    # the same of one right candidate but for the last digit of ties, which stays as the MRR of a run has it
    precision = [np.where(of.num_positives > 1, of.values[MAP], of.values[MRR]) for of in found]
    return np.nan_to_num(np.array([[of.values[TOP1] for of in found], precision]))


@dataclass(frozen=True, slots=True)
class Chosen:
    """What folds chose: the config that names all of it, its columns, and how it was chosen."""

    config: RunConfig
    features: Features
    record: RecommendedChoiceRecord | None = None  # nothing was left to choose


def choose(config: RunConfig, features: Features, on_progress: OnProgress = silent) -> Chosen:
    """Return what folds choose, where the config leaves them something to choose."""
    if not config.train.choose:
        return Chosen(config, features)
    config.train.refuse_other_scale("choose")
    if COLUMNS in config.train.choose and config.features != (RECOMMENDED,):
        raise UsageError("train.choose names columns, which needs features: [recommended]")
    return _choose(config, features, on_progress)


@stage("choosing by folds")
def _choose(config: RunConfig, features: Features, on_progress: OnProgress) -> Chosen:
    """The alternative to which left out traces climb (`climbed`).

    In each fold everything is fitted again without its traces. Where that is impossible the recommended columns are
    taken, pulled most, and the record says why.
    """
    prepared, train, work = features.training(on_progress), config.train, features.work
    if features.data.samples is None or prepared.features is None:  # given numbers stay as they are
        train = replace(train, choose=tuple(key for key in train.choose if key != COLUMNS))
    listed = alternatives(train, prepared.kind, prepared.names)
    traces = sum(work.map_shards(count_traces, prepared.shards))
    try:
        overview = Overview.of(config, features.samples, work)
        left_out, folds = on_folds(config, features, overview, listed, on_progress)
    except (DataError, UsageError) as error:
        default = default_of(listed)
        return _chosen(config, features, default, traces, RecommendedChoiceRecord(default.title, f"no folds: {error}"))
    is_plain = np.array([alternative.level < Level.OTHER for alternative in listed])
    is_judged = ~np.isnan(left_out.losses[is_plain]).any(axis=0)
    is_trained = np.array([not np.isnan(losses[is_judged]).any() for losses in left_out.losses])  # in every fold
    listed, left_out = tuple(compress(listed, is_trained)), left_out.of(is_trained)
    counted = np.flatnonzero(~np.isnan(left_out.losses).any(axis=0))
    levels = np.array([alternative.level for alternative in listed])
    left_out, weights, clusters = left_out.only(counted), overview.weights[counted], overview.traces[counted]
    stood = climbed(left_out, levels, weights, clusters)
    best = left_out.ranks[stood[-1]]
    leads = [MeanDifference.of(row, best, weights, clusters) for row in left_out.ranks]
    loss, top1, mrr = (part @ weights / weights.sum() for part in (left_out.losses, left_out.hits, left_out.ranks))
    records = [
        AlternativeRecord(
            way.title, float(loss[place]), float(top1[place]), float(mrr[place]), *_interval(leads[place])
        )
        for place, way in enumerate(listed)
    ]
    reason = _reason(listed, stood, leads) + _judged_on(overview, len(counted))
    record = RecommendedChoiceRecord(listed[stood[-1]].title, reason, folds, records)
    return _chosen(config, features, listed[stood[-1]], traces, record)


def _chosen(
    config: RunConfig, features: Features, alternative: Alternative, traces: int, record: RecommendedChoiceRecord
) -> Chosen:
    prepared, train = features.training(), alternative.trained(config.train, traces)
    places = [prepared.names.index(name) for name in alternative.columns]
    fitted = prepared.only(places).features
    named = config.with_columns(fitted.configs) if fitted else config
    return Chosen(replace(named, train=train), features.narrowed(config, places), record)


def _interval(lead: MeanDifference) -> tuple[float, float | None, float | None]:
    """The mean and the ends of its 95 % interval; no ends with one trace."""
    half = NORMAL_95 * lead.standard_error
    return (lead.mean, lead.mean - half, lead.mean + half) if math.isfinite(half) else (lead.mean, None, None)


def _reason(listed: Sequence[Alternative], stood: Sequence[int], leads: Sequence[MeanDifference]) -> str:
    """Why the last one that stood was taken; `leads`: of each alternative over it, in the mean reciprocal rank."""
    chosen, outranking = listed[stood[-1]], [place for place, lead in enumerate(leads) if lead.exceeds(NORMAL_95)]
    if len(stood) == 1:
        reason = "the least loss of its kind, and nothing richer ranks better beyond noise"
    else:
        noise = "one standard error" if chosen.level == Level.SEVERAL else "the 95 % interval"
        before = listed[stood[-2]].title
        reason = f"its MRR is {-leads[stood[-2]].mean:.3f} above that of {before}, more than {noise}"
    if outranking:
        best = listed[max(outranking, key=lambda place: leads[place].mean)].title
        reason += f"; {best} ranks better on the lists of the samples, and worse on the lists that will be served"
    return reason


def _judged_on(overview: Overview, judged: int) -> str:
    """Where candidates were drawn, the lists on which so many of the groups judged; else nothing."""
    if overview.are_logged:
        return ""
    if tools := catalogue_of_drawn(overview):
        of = count(len(overview.weights), "query", "queries")
        return f"; judged on all {len(tools):,} tools, as candidates were drawn, by {judged:,} of {of}"
    return "; judged on the lists with drawn candidates"
