"""Features fitted once: the states that travel with the model, and training columns that saw no own label."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, State
from ltr.data.graphs import graph_text
from ltr.data.groups import Candidates, Groups, select
from ltr.data.schema import Kind
from ltr.encoders.cached import CachedEncoder
from ltr.encoders.protocol import Encoder
from ltr.errors import DataError, UsageError
from ltr.features.registry import FEATURES, Context, FeatureConfig, column, fit_state
from ltr.features.tool_specification import tool_text
from ltr.logs import LOG, stage

FOLDS = 10
FEWEST_TRACES = 20  # below: a fold for each trace


@dataclass(frozen=True, slots=True)
class FittedFeatures:
    """Phi for any candidates of the kind: the features, what each has learned, and the encoder they share."""

    kind: Kind
    configs: tuple[FeatureConfig, ...]
    states: tuple[State | None, ...]
    encoder: Encoder

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(config.name for config in self.configs)

    def __call__(self, candidates: Candidates) -> FloatArray:
        """Phi of candidates that were not trained on, (rows, features)."""
        refuse_other_kind(self.kind, candidates)
        context = Context(self.encoder)
        each = zip(self.configs, self.states, strict=True)
        return np.column_stack([column(config, candidates, state, context) for config, state in each])


@stage("featurising")
def fit_features(configs: Sequence[FeatureConfig], groups: Groups, encoder: str) -> tuple[FittedFeatures, FloatArray]:
    """The features fitted on all the groups, and the groups' own cross-fitted phi.

    Traces are dealt into folds; a column of a feature that learns comes, for the rows of a fold, from a
    state fitted on the other folds. Leaving out only the row's group would not do: the groups of a trace
    know each other's answers.
    """
    candidates = groups.candidates
    for config in configs:
        refuse_other_kind(FEATURES[config.name].kind, candidates)
    context = Context(CachedEncoder.fitted(encoder, texts(candidates)))
    LOG.info(f"encoder {context.encoder.name}, revision {context.encoder.revision}")
    states = tuple(fit_state(config, groups, context) for config in configs)
    fitted = FittedFeatures(candidates.kind, tuple(configs), states, context.encoder)
    phi = np.empty((len(groups.labels), len(configs)))
    learning = [place for place, config in enumerate(configs) if FEATURES[config.name].fit]
    for place in set(range(len(configs))) - set(learning):
        phi[:, place] = column(configs[place], candidates, None, context)
    for inside, outside in _folds(groups) if learning else ():
        fit_on, apply_to = select(groups, outside), select(groups, inside)
        rows, fold_context = _rows(groups, inside), Context(context.encoder, lexicon=context.lexicon)
        fold_states = [fit_state(configs[place], fit_on, fold_context) for place in learning]
        for place, state in zip(learning, fold_states, strict=True):
            phi[rows, place] = column(configs[place], apply_to.candidates, state, fold_context)
    return fitted, phi


def refuse_other_kind(kind: str, candidates: Candidates) -> None:
    """Raise unless the candidates are of the kind and bear texts to be featurised."""
    if kind != candidates.kind:
        raise DataError(f"the features are of {kind}s; the candidates are {candidates.kind}s")
    if candidates.features is not None:
        raise UsageError("the samples bear ready features; they cannot be featurised again")


def texts(candidates: Candidates) -> list[str]:
    """What an encoder may learn from: each distinct query and text of a candidate."""
    if candidates.kind == "graph":
        return [*candidates.query_texts, *(graph_text(graph) for graph in candidates.distinct_graphs)]
    pairs = dict.fromkeys(zip(candidates.names.tolist(), candidates.texts.tolist(), strict=True))
    spoken = (tool_text(candidates.name_texts[name], *candidates.tool_texts[text]) for name, text in pairs)
    return [*candidates.query_texts, *spoken]


def trace_fold(trace_id: str) -> int:
    """The fold of a trace: a hash of its id, so that neither order nor other traces move it.

    >>> [trace_fold(trace) for trace in ("t1", "t2", "t3")]
    [7, 0, 0]
    """
    return int.from_bytes(hashlib.blake2b(trace_id.encode(), digest_size=8).digest(), "little") % FOLDS


def _folds(groups: Groups) -> Iterator[tuple[IntArray, IntArray]]:
    """Of each fold: the groups in it and the groups outside it."""
    trace_ids = groups.candidates.trace_ids
    few = len(trace_ids) < FEWEST_TRACES
    fold_of_trace = np.arange(len(trace_ids)) if few else np.array([trace_fold(trace) for trace in trace_ids])
    folds = fold_of_trace[groups.candidates.traces]
    for fold in np.unique(folds):
        yield np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)


def _rows(groups: Groups, indices: IntArray) -> IntArray:
    is_in = np.zeros(len(groups.offsets) - 1, dtype=bool)
    is_in[indices] = True
    return np.flatnonzero(np.repeat(is_in, np.diff(groups.offsets)))
