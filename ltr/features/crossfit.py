"""Cross-fitting: states that travel with the model, and training columns from states that saw no label of the row."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, State
from ltr.data.graphs import graph_text
from ltr.data.groups import Candidates, Groups, select
from ltr.data.schema import Kind
from ltr.encoders.cached import CachedEncoder
from ltr.encoders.protocol import Encoder
from ltr.errors import DataError, UsageError
from ltr.features.registry import FEATURES, Context, FeatureConfig, feature_column, fit_state
from ltr.features.tool_specification import tool_text
from ltr.logs import LOG, stage

FOLDS = 10
FEWEST_TRACES = 20  # below: a fold for each trace

OnFold = Callable[[int, int], object]


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
        pairs = zip(self.configs, self.states, strict=True)
        return np.column_stack([feature_column(config, candidates, state, context) for config, state in pairs])


@stage("featurising")
def fit_features(
    configs: Sequence[FeatureConfig], groups: Groups, encoder: str, on_fold: OnFold = lambda fold, of: None
) -> tuple[FittedFeatures, FloatArray]:
    """The features fitted on all the groups, and the groups' own cross-fitted phi.

    A feature that learns nothing has one column for all rows. Of one that learns, the rows of a fold come from a state
    fitted on the other folds. A fold has whole traces: leaving out the row's group alone would not do, because the
    groups of a trace know each other's answers. `on_fold` hears the number of each fold that is done, and how many
    there are.
    """
    candidates = groups.candidates
    for config in configs:
        refuse_other_kind(FEATURES[config.name].kind, candidates)
    context = Context(CachedEncoder.fitted(encoder, training_texts(candidates)))
    LOG.info(f"encoder {context.encoder.name}, revision {context.encoder.revision}")
    states = tuple(fit_state(config, groups, context) for config in configs)
    fitted = FittedFeatures(candidates.kind, tuple(configs), states, context.encoder)
    phi = np.empty((len(groups.labels), len(configs)))
    learning = [place for place, config in enumerate(configs) if FEATURES[config.name].fit]
    for place in set(range(len(configs))) - set(learning):
        phi[:, place] = feature_column(configs[place], candidates, None, context)
    trace_ids = candidates.trace_ids
    is_few = len(trace_ids) < FEWEST_TRACES
    trace_folds = np.array([place if is_few else trace_fold(trace) for place, trace in enumerate(trace_ids)], dtype=int)
    group_folds = trace_folds[candidates.traces]
    row_folds = np.repeat(group_folds, np.diff(groups.offsets))
    folds = np.unique(group_folds) if learning else np.empty(0, dtype=int)
    for number, fold in enumerate(folds, start=1):
        others, fold_groups = (
            select(groups, np.flatnonzero(part)) for part in (group_folds != fold, group_folds == fold)
        )
        fold_context = Context(context.encoder, lexicon=context.lexicon)
        # all states before all columns: what features share is held for the last candidates only
        fold_states = [fit_state(configs[place], others, fold_context) for place in learning]
        for place, state in zip(learning, fold_states, strict=True):
            phi[row_folds == fold, place] = feature_column(configs[place], fold_groups.candidates, state, fold_context)
        on_fold(number, len(folds))
    return fitted, phi


def refuse_other_kind(kind: str, candidates: Candidates) -> None:
    """Raise unless the candidates are of the kind and have texts to be featurised."""
    if kind != candidates.kind:
        raise DataError(f"the features are of {kind}s; the candidates are {candidates.kind}s")
    if candidates.features is not None:
        raise UsageError("the samples bear ready features; they cannot be featurised again")


def training_texts(candidates: Candidates) -> list[str]:
    """What an encoder may learn from: each distinct query and text of a candidate."""
    if candidates.kind == "graph":
        return [*candidates.query_texts, *(graph_text(graph) for graph in candidates.distinct_graphs)]
    pairs = dict.fromkeys(zip(candidates.names.tolist(), candidates.texts.tolist(), strict=True))
    tool_texts = (tool_text(candidates.name_texts[name], *candidates.tool_texts[text]) for name, text in pairs)
    return [*candidates.query_texts, *tool_texts]


def trace_fold(trace_id: str) -> int:
    """The fold of a trace: a hash of its id, so that neither order nor other traces move it.

    >>> [trace_fold(trace) for trace in ("t1", "t2", "t3")]
    [7, 0, 0]
    """
    return int.from_bytes(hashlib.blake2b(trace_id.encode(), digest_size=8).digest(), "little") % FOLDS
