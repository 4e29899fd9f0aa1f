"""Cross-fitting: states that travel with the model, and training columns from states that saw no label of the row."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, State
from ltr.data.groups import Candidates, Groups, select
from ltr.data.schema import Kind
from ltr.encoders.cached import CachedEncoder
from ltr.encoders.protocol import Encoder
from ltr.errors import DataError, UsageError
from ltr.features.graph_specification import graph_texts
from ltr.features.read_only import write_protected
from ltr.features.registry import FEATURES, Context, FeatureConfig, text_sources
from ltr.features.states import refuse_other_state
from ltr.features.tool_specification import tool_texts
from ltr.features.words import Lexicon
from ltr.files.state_types import declared_type, refuse_other_type
from ltr.logs import LOG, stage
from ltr.plugins import OURS, origin_prefix, plugin_errors

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

    def __call__(self, candidates: Candidates, lexicon: Lexicon | None = None) -> FloatArray:
        """Phi of candidates that were not trained on, (rows, features).

        A lexicon that has split their words before saves the time to do it again.
        """
        refuse_other_kind(self.kind, candidates)
        features = [FEATURES[config.name] for config in self.configs]
        context, rows = Context(self.encoder, Lexicon() if lexicon is None else lexicon), int(candidates.offsets[-1])
        for source, role, name in text_sources(self.configs):
            with plugin_errors(f"the feature {name}", source, FEATURES.source(name)):
                texts = source(candidates, context)
            context.memo[source] = (candidates, texts)
            context.vectors[source] = self.encoder.encode(texts.texts, role)
        for shared in dict.fromkeys(function for feature in features for function in feature.shares):
            context.memo[shared] = (candidates, shared(candidates, context))
        phi = np.empty((rows, len(features)))
        for place, (feature, config, state) in enumerate(zip(features, self.configs, self.states, strict=True)):
            function, source_of_feature = feature.column, FEATURES.source(feature.name)
            options = {name: value for name, value in config.options.items() if name in feature.column_options}
            protection = nullcontext() if source_of_feature == OURS else write_protected(candidates, state)
            with plugin_errors(f"the feature {feature.name}", function, source_of_feature), protection:
                values = function(candidates, state, context, **options)
            is_plain = isinstance(values, np.ndarray) and values.shape == (rows,) and values.dtype.kind in "biuf"
            if not (is_plain and np.isfinite(values).all()):
                problem = f"the feature {feature.name} did not give one finite number for each of {rows} candidates"
                raise DataError(f"{origin_prefix(function)}{problem}")
            phi[:, place] = values
        return phi


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
    candidates, lexicon = groups.candidates, Lexicon()
    for config in configs:
        refuse_other_kind(FEATURES[config.name].kind, candidates)
    texts_of = graph_texts if candidates.kind == "graph" else tool_texts
    training_texts = [*candidates.query_texts, *texts_of(candidates, None).texts]
    cached = CachedEncoder.fitted(encoder, training_texts)
    LOG.info(f"encoder {cached.name}, revision {cached.revision}")
    for source, role, name in text_sources(configs):
        with plugin_errors(f"the feature {name}", source, FEATURES.source(name)):
            texts = source(candidates, Context(cached, lexicon)).texts
        cached.encode(texts, role)  # every text once: what follows looks its vector up
    states = fit_states(configs, groups, cached, lexicon)
    phi = np.empty((len(groups.labels), len(configs)))
    learning = [place for place, config in enumerate(configs) if FEATURES[config.name].fit]
    plain = [place for place in range(len(configs)) if place not in learning]
    plain_configs = tuple(configs[place] for place in plain)
    phi[:, plain] = FittedFeatures(candidates.kind, plain_configs, (None,) * len(plain), cached)(candidates, lexicon)
    trace_ids = candidates.trace_ids
    is_few = len(trace_ids) < FEWEST_TRACES
    trace_folds = np.array([place if is_few else trace_fold(trace) for place, trace in enumerate(trace_ids)], dtype=int)
    group_folds = trace_folds[candidates.traces]
    row_folds = np.repeat(group_folds, np.diff(groups.offsets))
    learning_configs = tuple(configs[place] for place in learning)
    folds = np.unique(group_folds) if learning else np.empty(0, dtype=int)
    for number, fold in enumerate(folds, start=1):
        others = select(groups, np.flatnonzero(group_folds != fold))
        fold_states = fit_states(learning_configs, others, cached, lexicon)
        fold_features = FittedFeatures(candidates.kind, learning_configs, fold_states, cached)
        fold_groups = select(groups, np.flatnonzero(group_folds == fold))
        phi[np.ix_(row_folds == fold, learning)] = fold_features(fold_groups.candidates, lexicon)
        on_fold(number, len(folds))
    return FittedFeatures(candidates.kind, tuple(configs), states, cached), phi


def fit_states(
    configs: Sequence[FeatureConfig], groups: Groups, encoder: Encoder, lexicon: Lexicon | None = None
) -> tuple[State | None, ...]:
    """What each feature learns from the groups; None for one that learns nothing."""
    context, candidates = Context(encoder, Lexicon() if lexicon is None else lexicon), groups.candidates
    for source, role, name in text_sources(config for config in configs if FEATURES[config.name].fit):
        with plugin_errors(f"the feature {name}", source, FEATURES.source(name)):
            texts = source(candidates, context)
        context.memo[source] = (candidates, texts)
        context.vectors[source] = encoder.encode(texts.texts, role)
    states: list[State | None] = []
    for config in configs:
        feature, source_of_feature = FEATURES[config.name], FEATURES.source(config.name)
        if feature.fit is None:
            states.append(None)
            continue
        options = {name: value for name, value in config.options.items() if name in feature.fit_options}
        protection = nullcontext() if source_of_feature == OURS else write_protected(groups)
        with plugin_errors(f"the feature {config.name}", feature.fit, source_of_feature), protection:
            states.append(feature.fit(groups, context, **options))
        if source_of_feature != OURS:
            refuse_other_state(config.name, states[-1])
            if declared := declared_type(feature.fit):
                refuse_other_type(states[-1], declared, f"the feature {config.name}: the state that its fit returned")
    return tuple(states)


def refuse_other_kind(kind: str, candidates: Candidates) -> None:
    """Raise unless the candidates are of the kind and have texts to be featurised."""
    if kind != candidates.kind:
        raise DataError(f"the features are of {kind}s; the candidates are {candidates.kind}s")
    if candidates.features is not None:
        raise UsageError("the samples bear ready features; they cannot be featurised again")


def trace_fold(trace_id: str) -> int:
    """The fold of a trace: a hash of its id, so that neither order nor other traces move it.

    >>> [trace_fold(trace) for trace in ("t1", "t2", "t3")]
    [7, 0, 0]
    """
    return int.from_bytes(hashlib.blake2b(trace_id.encode(), digest_size=8).digest(), "little") % FOLDS
