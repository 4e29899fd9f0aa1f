"""Learning w: the objective, curves and products, trainers, and what can be proved and said of a fitted w.

>>> from ltr.training import TrainConfig, fit
>>> model = fit([[1.0], [0.0], [0.0], [1.0], [1.0], [0.0]], [1, 0] * 3, [0, 2, 4, 6], TrainConfig(trainer="newton"))
>>> model.training.optimum.value, model.w.round(3)
('found', array([0.687]))
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.training.choice import FoldResults as FoldResults
    from ltr.training.choice import Level as Level
    from ltr.training.choice import MeanDifference as MeanDifference
    from ltr.training.choice import climbed as climbed
    from ltr.training.config import CHOICES as CHOICES
    from ltr.training.config import COLUMNS as COLUMNS
    from ltr.training.config import KNOTS as KNOTS
    from ltr.training.config import L2 as L2
    from ltr.training.config import LOSS as LOSS
    from ltr.training.config import PRODUCTS as PRODUCTS
    from ltr.training.config import TrainConfig as TrainConfig
    from ltr.training.corrections import influence as influence
    from ltr.training.corrections import solve_corrections as solve_corrections
    from ltr.training.curves import Knots as Knots
    from ltr.training.designs import Design as Design
    from ltr.training.designs import Designs as Designs
    from ltr.training.designs import extent_of as extent_of
    from ltr.training.diagnosis import Diagnosis as Diagnosis
    from ltr.training.diagnosis import diagnose as diagnose
    from ltr.training.epochs import Epoch as Epoch
    from ltr.training.epochs import OnEpoch as OnEpoch
    from ltr.training.epochs import Progress as Progress
    from ltr.training.epochs import Validation as Validation
    from ltr.training.epochs import sign as sign
    from ltr.training.epochs import watchable as watchable
    from ltr.training.estimator import ListwiseRanker as ListwiseRanker
    from ltr.training.geometry import direction_text as direction_text
    from ltr.training.groups import is_loaded as is_loaded
    from ltr.training.model import Fitted as Fitted
    from ltr.training.model import Model as Model
    from ltr.training.model import Training as Training
    from ltr.training.model import Watched as Watched
    from ltr.training.newton import optima_along as optima_along
    from ltr.training.none import NoneLogit as NoneLogit
    from ltr.training.none import NoneRows as NoneRows
    from ltr.training.none import fit_none as fit_none
    from ltr.training.none import none_inputs as none_inputs
    from ltr.training.objective import group_losses as group_losses
    from ltr.training.standard_errors import NORMAL_95 as NORMAL_95
    from ltr.training.standard_errors import effective_text as effective_text
    from ltr.training.targets import APART as APART
    from ltr.training.temperature import helpful_temperature as helpful_temperature
    from ltr.training.temperature import softmax as softmax
    from ltr.training.terms import Products as Products
    from ltr.training.terms import Terms as Terms
    from ltr.training.terms import terms_of as terms_of
    from ltr.training.trainers import TRAINERS as TRAINERS
    from ltr.training.trainers import fit as fit
    from ltr.training.trainers import fit_designs as fit_designs
    from ltr.training.trainers import trainer as trainer
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
