"""Samples become the columns of phi: four questions, each asked by one or more registered features."""

from ltr.features import grams, graphs, neighbours, popularity, prototypes, teams, tools, wording
from ltr.features.fitting import SPECIFICATION, FittedFeatures, fit_features
from ltr.features.registry import FEATURES, Context, Feature, FeatureConfig, feature

__all__ = [
    "FEATURES",
    "SPECIFICATION",
    "Context",
    "Feature",
    "FeatureConfig",
    "FittedFeatures",
    "feature",
    "fit_features",
    "grams",
    "graphs",
    "neighbours",
    "popularity",
    "prototypes",
    "teams",
    "tools",
    "wording",
]
