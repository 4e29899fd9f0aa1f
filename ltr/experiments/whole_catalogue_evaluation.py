"""Measured as served: each query against every tool of the catalogue, beside the list that its samples offer."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.config.run import RunConfig
from ltr.data.candidates import key_order, rows_repeated, tool_candidates
from ltr.data.catalogues.tools import ToolCatalogue, read_tools
from ltr.data.distinct_tools import ToolList
from ltr.data.groups import Groups, select
from ltr.errors import UsageError
from ltr.evaluation.bootstrap import intervals, resampled_units
from ltr.evaluation.evaluate import Evaluation, NoRelevant, evaluate_by
from ltr.evaluation.metrics.ranking_measures import TOP1
from ltr.evaluation.metrics.registry import on_catalogue
from ltr.evaluation.ranking import rank
from ltr.features.feature_context import StateMemo
from ltr.features.precomputed_tables import Tables
from ltr.logs import stage
from ltr.results.evaluated_ranking import CatalogueCounts, EvaluatedRanking
from ltr.results.prompt_token_savings import PromptSums, added, tool_tokens
from ltr.serving.router import Router

NOT_SERVED = (
    "the training queries are not ranked on the whole catalogue, as the features have seen their answers; "
    "name test data (--test)"
)
ROWS = 1 << 17  # candidates at once: memory does not grow with the queries
SHORT = 2  # a list is short where the catalogue has more than so many times its candidates


def catalogue_to_rank(
    config: RunConfig, router: Router, groups: Groups, *, by_name: bool = False
) -> ToolCatalogue | None:
    """The catalogue, if it is to be ranked: if the config says so; else if candidates were drawn, or lists are short.

    It is the one that the config names, else the router's own. Lists are short where half of them, or more, hold less
    than half of the catalogue. `by_name`: a metric of the catalogue is asked for.
    """
    candidates, is_wanted = groups.candidates, True if by_name else config.evaluate.catalogue
    has_texts = candidates.kind == "tool" and candidates.features is None
    if is_wanted is False or (is_wanted is None and not has_texts):
        return None
    if candidates.kind == "graph":
        raise UsageError("evaluate.catalogue ranks all tools of a catalogue; the candidates are graphs")
    if not has_texts:
        raise UsageError("evaluate.catalogue needs texts; the samples bear ready features")
    tools = read_tools(config.data.tools) if config.data.tools else router.tools
    if is_wanted and not tools:
        raise UsageError("evaluate.catalogue ranks all tools of a catalogue: name one with --tools (data.tools)")
    sizes = np.diff(groups.offsets)
    if not tools or (is_wanted is None and sizes.min() >= len(tools)):  # else the lists are the catalogue
        return None
    is_unlike = is_short(float(np.median(sizes)), len(tools)) or not candidates.is_logged.all()
    return tools if is_wanted or is_unlike else None


def is_short(median: float, tools: int) -> bool:
    """Whether lists of so many candidates are short beside a catalogue of so many tools.

    >>> is_short(5.0, 10), is_short(5.0, 11)
    (False, True)
    """
    return SHORT * median < tools


@stage("measuring on the catalogue")
def with_catalogue(measured: EvaluatedRanking, router: Router, tools: ToolCatalogue, *, seed: int) -> EvaluatedRanking:
    """The evaluation with its metrics of the ranking on the whole catalogue as well, each named NAME@catalogue.

    A query counts where it counts on its own list. One whose right tools the catalogue lacks counts 0.
    """
    names, groups, evaluation = tuple(tools), measured.groups, measured.evaluation
    rules = replace(evaluation.rules, metrics=tuple(evaluation.values), no_relevant=NoRelevant.ZERO)
    if router.features is None:
        raise UsageError("evaluate.catalogue needs texts; the model was trained on ready numbers")
    of_states: StateMemo = {}
    prepared = router.features.prepared(ToolList(names, tuple(tools.values())), of_states)
    parts, sums = list[Evaluation](), list[PromptSums]()
    tokens = np.array([tool_tokens(name, text) for name, text in tools.items()])
    is_counted = ~np.isnan(evaluation.values[TOP1])
    for block in _blocks(len(groups.offsets) - 1, len(names)):
        queries = on_all_tools(select(groups, block), tools)
        candidates, labels = queries.candidates, queries.labels
        scores = router.scores(router.features(candidates, Tables(prepared, candidates.names, of_states)))
        ranking = rank(scores, candidates.offsets, keys=key_order(candidates))
        parts.append(evaluate_by(ranking, labels, rules))
        is_right = labels >= rules.rel_threshold
        sums.append(PromptSums.of(ranking, is_right, np.tile(tokens, len(block)), is_counted[block]))
    values = {
        on_catalogue(name): np.where(is_counted, np.concatenate([part.values[name] for part in parts]), np.nan)
        for name in evaluation.values
    }
    means = {name: float(np.nanmean(column)) if is_counted.any() else None for name, column in values.items()}
    more = replace(evaluation, values=values, means=means)
    lacking = np.concatenate([part.num_positives == 0 for part in parts]) & is_counted
    of_catalogue = intervals(more, resampled_units(groups.candidates.traces), seed=seed)
    return replace(
        measured,
        evaluation=replace(evaluation, values={**evaluation.values, **values}, means={**evaluation.means, **means}),
        intervals={**measured.intervals, **of_catalogue},
        catalogue=CatalogueCounts(len(names), int(lacking.sum())),
        prompt=added(sums),
    )


def _blocks(queries: int, tools: int) -> Iterator[IntArray]:
    """The queries, as many at once as have about ROWS candidates."""
    at_once = max(ROWS // tools, 1)
    for first in range(0, queries, at_once):
        yield np.arange(first, min(first + at_once, queries))


def on_all_tools(groups: Groups, tools: ToolCatalogue) -> Groups:
    """The groups, each with every tool of the catalogue, whose label is that of the samples, 0 where they lack it."""
    every = rows_repeated(tool_candidates("", tools), len(groups.offsets) - 1)
    candidates = replace(groups.candidates, **every)
    return replace(groups, candidates=candidates, labels=_labels(groups, tuple(tools)), offsets=candidates.offsets)


def _labels(groups: Groups, names: tuple[str, ...]) -> FloatArray:
    """The label of every tool for each query."""
    places = {name: place for place, name in enumerate(names)}
    codes = np.array([places.get(name, -1) for name in groups.candidates.name_texts], dtype=np.int64)
    tools, sizes = codes[groups.candidates.names], np.diff(groups.offsets)
    labels = np.zeros((len(sizes), len(names)))
    owners, is_listed = np.repeat(np.arange(len(sizes)), sizes), tools >= 0
    labels[owners[is_listed], tools[is_listed]] = groups.labels[is_listed]
    return labels.ravel()
