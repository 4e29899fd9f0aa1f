"""The whole catalogue: every tool for each query, where samples offer lists that are short beside it, or drawn."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.catalogues import ToolCatalogue, read_tools
from ltr.config import RunConfig
from ltr.errors import UsageError
from ltr.evaluation import Ranking, rank
from ltr.features import Tables
from ltr.runs import StoredModel
from ltr.samples import Candidates, Groups, Shards, ToolList

NOT_SERVED = (
    "the training queries are not ranked on the whole catalogue, as the features have seen their answers; "
    "name test data (--test)"
)
ROWS = 1 << 17  # candidates at once: memory does not grow with the queries
SHORT = 2  # a list is short where the catalogue has more than so many times its candidates


def catalogue_to_rank(
    config: RunConfig, tools_of_router: ToolCatalogue | None, shards: Shards, *, by_name: bool = False
) -> ToolCatalogue | None:
    """Return the catalogue to rank, as the config says, else where candidates were drawn or lists are short.

    It is the one that the config names, else the router's own. Lists are short where half of them, or more, hold less
    than half of the catalogue. `by_name`: a metric of the catalogue is asked for. Columns of samples have the texts of
    their queries, but are measured as they are unless the catalogue is asked for.
    """
    candidates, is_wanted = shards[0].candidates, True if by_name else config.evaluate.catalogue
    is_given = candidates.features is not None
    if is_wanted is False or (is_wanted is None and (candidates.kind == "graph" or is_given)):
        return None
    if candidates.kind == "graph":
        raise UsageError("evaluate.catalogue ranks all tools of a catalogue; the candidates are graphs")
    if is_given and not (candidates.fit or candidates.are_applied):
        raise UsageError("evaluate.catalogue needs texts; the samples bear ready features that ltr did not compute")
    tools = read_tools(config.data.tools) if config.data.tools else tools_of_router
    if is_wanted and not tools:
        raise UsageError("evaluate.catalogue ranks all tools of a catalogue: name one with --tools (data.tools)")
    if is_wanted or not tools:
        return tools
    every = [_offered(shards[number].candidates) for number in range(len(shards))]
    sizes = np.concatenate([of for of, _ in every])
    is_unlike = is_short(float(np.median(sizes)), len(tools)) or not all(is_logged for _, is_logged in every)
    return tools if is_unlike and sizes.min() < len(tools) else None  # else the lists are the catalogue


def _offered(candidates: Candidates) -> tuple[IntArray, bool]:
    """The sizes of the lists, and whether no candidate of them was drawn."""
    return np.diff(candidates.offsets), bool(candidates.is_logged.all())


def rankings_on(
    model: StoredModel, groups: Groups, tools: ToolCatalogue
) -> Iterator[tuple[IntArray, Ranking, FloatArray]]:
    """Yield some of the groups, as many as have about ROWS candidates, ranked on all tools, and the labels of these."""
    if model.features is None:
        raise UsageError("evaluate.catalogue needs texts; the model was trained on ready numbers")
    of_states = dict[object, object]()
    prepared = model.features.prepared(ToolList(tuple(tools), tuple(tools.values())), of_states)
    number, at_once = len(groups.offsets) - 1, max(ROWS // len(tools), 1)
    for first in range(0, number, at_once):
        block = np.arange(first, min(first + at_once, number))
        queries = on_all_tools(groups.select(block), tools)
        candidates = queries.candidates
        phi = model.features(candidates, Tables(prepared, candidates.names, of_states))
        scores = model.terms.scores(phi, model.w)
        yield block, rank(scores, candidates.offsets, keys=candidates.key_order()), queries.labels


def is_short(median: float, tools: int) -> bool:
    """Return whether lists of so many candidates are short beside a catalogue of so many tools.

    >>> is_short(5.0, 10), is_short(5.0, 11)
    (False, True)
    """
    return SHORT * median < tools


def on_all_tools(groups: Groups, tools: ToolCatalogue) -> Groups:
    """Return the groups, each with every tool, whose label is that of the samples, 0 where they lack it."""
    every = Candidates.of_tools("", tools).rows_repeated(len(groups.offsets) - 1)
    candidates = replace(groups.candidates, **every | {"feature_names": ()})
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
