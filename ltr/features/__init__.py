"""Samples become the columns of phi: four questions, each asked by one or more registered features."""

from ltr.features import (
    graph_neighbours,
    graph_order,
    graph_specification,
    graph_teams,
    tool_grams,
    tool_popularity,
    tool_prototypes,
    tool_specification,
    tool_talk,
    tool_wording,
)
from ltr.features.crossfit import SPECIFICATION, FittedFeatures, fit_features
from ltr.features.recommended import RECOMMENDED, recommended
from ltr.features.registry import FEATURES, Context, Feature, FeatureConfig, feature

__all__ = [
    "FEATURES",
    "RECOMMENDED",
    "SPECIFICATION",
    "Context",
    "Feature",
    "FeatureConfig",
    "FittedFeatures",
    "feature",
    "fit_features",
    "graph_neighbours",
    "graph_order",
    "graph_specification",
    "graph_teams",
    "recommended",
    "tool_grams",
    "tool_popularity",
    "tool_prototypes",
    "tool_specification",
    "tool_talk",
    "tool_wording",
]
