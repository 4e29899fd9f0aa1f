"""Samples become the columns of phi: four questions, each asked by one or more registered features."""

from ltr.features import grams, graphs, neighbours, order, popularity, prototypes, talk, teams, tools, wording
from ltr.features.fitting import SPECIFICATION, FittedFeatures, fit_features
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
    "grams",
    "graphs",
    "neighbours",
    "order",
    "popularity",
    "prototypes",
    "recommended",
    "talk",
    "teams",
    "tools",
    "wording",
]
