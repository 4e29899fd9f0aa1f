"""The rules by which a config evaluates groups."""

from collections.abc import Collection

import numpy as np

from ltr.arrays import BoolArray
from ltr.config.run import RunConfig
from ltr.data.groups import Groups
from ltr.evaluation.evaluate import NoRelevant, Rules
from ltr.evaluation.metrics.candidate_probabilities import Probability
from ltr.evaluation.metrics.presets import preset_metrics
from ltr.evaluation.ranking import Ties

UNBOUNDED = 10**9  # a cutoff above every rank: a candidate that is not listed has none


def rules(config: RunConfig, groups: Groups, *, listed: BoolArray | None = None, also: Collection[str] = ()) -> Rules:
    """The rules of the config for these groups, with the metrics of its preset and others beside its own."""
    is_whole = listed is None or bool(listed.all())
    return rules_up_to(int(np.diff(groups.offsets).max(initial=0)) if is_whole else UNBOUNDED, config, also=also)


def rules_up_to(longest: int, config: RunConfig, *, also: Collection[str] = ()) -> Rules:
    """The rules of the config for groups of which the longest has so many candidates."""
    evaluate = config.evaluate
    names = (*evaluate.metrics, *preset_metrics(evaluate.preset, longest), *also)
    ties, no_relevant = Ties(evaluate.ties), NoRelevant(evaluate.no_relevant)
    options = (evaluate.rel_threshold, no_relevant, evaluate.threshold, evaluate.max_grade)
    return Rules(names, ties, *options, Probability(evaluate.probability))
