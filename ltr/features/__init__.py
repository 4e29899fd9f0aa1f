"""Columns of numbers for each query and candidate: what a feature is, and how it learns without a leak.

>>> from ltr.features import FEATURES
>>> FEATURES["tool.bm25"].family
'coop'
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.features.corrections import Corrections as Corrections
    from ltr.features.crossfit import CrossFit as CrossFit
    from ltr.features.crossfit import CrossFitting as CrossFitting
    from ltr.features.crossfit import encoded_texts as encoded_texts
    from ltr.features.crossfit import fit_features as fit_features
    from ltr.features.fitted import FittedFeatures as FittedFeatures
    from ltr.features.fitted import Tables as Tables
    from ltr.features.history import named_candidates as named_candidates
    from ltr.features.history import strength_by_moments as strength_by_moments
    from ltr.features.learning import fit_states as fit_states
    from ltr.features.likeness import Rarity as Rarity
    from ltr.features.presets import CORRECTIONS as CORRECTIONS
    from ltr.features.presets import NEWCOMERS as NEWCOMERS
    from ltr.features.presets import RECOMMENDED as RECOMMENDED
    from ltr.features.presets import Presets as Presets
    from ltr.features.presets import ZeroShotWeights as ZeroShotWeights
    from ltr.features.presets import prior_of as prior_of
    from ltr.features.protocol import FEATURES as FEATURES
    from ltr.features.protocol import Counted as Counted
    from ltr.features.protocol import FeatureConfig as FeatureConfig
    from ltr.features.protocol import Optimised as Optimised
    from ltr.features.protocol import Tool as Tool
    from ltr.features.protocol import feature as feature
    from ltr.features.specified import documents as documents
    from ltr.features.tables import names_table as names_table
    from ltr.features.texts import TOKEN as TOKEN
    from ltr.features.texts import RowTexts as RowTexts
    from ltr.features.texts import clauses as clauses
    from ltr.features.texts import plain_texts as plain_texts
    from ltr.features.texts import query_texts as query_texts
    from ltr.features.texts import stemmed_words as stemmed_words
    from ltr.features.vectors import NearestTools as NearestTools
    from ltr.features.words import BM25_CONSTANTS as BM25_CONSTANTS
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
