"""What features learn from groups: counted shard by shard, and made into states."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ltr.arrays import State
from ltr.data.groups import Groups
from ltr.encoders.protocol import Encoder
from ltr.errors import UsageError
from ltr.features.feature_context import Context
from ltr.features.fitted_features import call_feature, options_of, reading
from ltr.features.learner_output_checks import refuse_other_part, refuse_other_state
from ltr.features.lexicon import Lexicon
from ltr.features.registry import FEATURES, FeatureConfig
from ltr.features.state_learners import Counted, Optimised
from ltr.files.learned_state_types import declared_type, refuse_other_type
from ltr.files.mergeable_tables import merged, spilled
from ltr.plugins import OURS

OnStep = Callable[[int, int], object]  # how many steps are done, and how many there are


@dataclass(frozen=True, slots=True)
class Shard:
    """Groups of whole traces, and the context in which features read them."""

    groups: Groups
    context: Context


def learned_alike(configs: Sequence[FeatureConfig]) -> dict[object, list[int]]:
    """The places of the features that learn, those that learn the same together."""
    learners: dict[object, list[int]] = {}
    for place, config in enumerate(configs):
        if learner := FEATURES[config.name].learner:
            learners.setdefault((learner, *_learned_options(config)), []).append(place)
    return learners


def fit_states(
    configs: Sequence[FeatureConfig], groups: Groups, encoder: Encoder, lexicon: Lexicon | None = None
) -> tuple[State | None, ...]:
    """What each feature learns from the groups, in one shard; None for one that learns nothing."""
    shard = Shard(groups, reading(configs, groups.candidates, encoder, Lexicon() if lexicon is None else lexicon))
    states: list[State | None] = []
    for config in configs:
        learner = FEATURES[config.name].learner
        if isinstance(learner, Counted):
            states.append(state_of(config, counted(config, learner, shard)))
        elif isinstance(learner, Optimised):
            states.append(state_of(config, [shard], shard.context))
        else:
            states.append(state_of(config, groups, shard.context) if learner else None)
    return tuple(states)


def counted(config: FeatureConfig, learner: Counted, shard: Shard) -> Any:
    """The part of a shard."""
    part = call_feature(config, learner.count, shard.groups, shard.context)
    if learner.merge is merged:
        refuse_other_part(config.name, part)
        return spilled(part)
    return part


def merge_of(config: FeatureConfig, learner: Counted) -> Callable[[Any, Any], Any]:
    """What makes one part of two."""
    return partial(call_feature, config, learner.merge)


def state_of(config: FeatureConfig, *source: Any) -> State:
    """The state that the feature makes of what it learned from: a part, shards or groups; of the type it declares."""
    learner = FEATURES[config.name].learner
    if learner is None:
        raise UsageError(f"the feature {config.name} learns nothing")
    state: State = call_feature(config, learner.state, *source)
    if FEATURES.source(config.name) != OURS:
        refuse_other_state(config.name, state)
        if declared := declared_type(learner.state):
            refuse_other_type(state, declared, f"the feature {config.name}: the state that its fit returned")
    return state


def counting_key(config: FeatureConfig, learner: Counted) -> object:
    """What two features share whose parts are the same."""
    return learner.count, learner.merge, *options_of(config, learner.count).items()


def _learned_options(config: FeatureConfig) -> list[tuple[str, float]]:
    """Those options of the config that its learner takes."""
    learner = FEATURES[config.name].learner
    functions = learner.functions if learner else ()
    return [option for function in functions for option in options_of(config, function).items()]
