"""How good a ranking is: its order, its metrics with every rule behind them, how sure they are, and what to beat.

>>> from ltr.evaluation import evaluate, rank
>>> evaluate(rank([0.9, 0.5, 0.1], [0, 3]), [0, 1, 0]).means["mrr"]
0.5
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.evaluation.abstaining import AbstentionMeasures as AbstentionMeasures
    from ltr.evaluation.abstaining import ConfidentAnswers as ConfidentAnswers
    from ltr.evaluation.abstaining import NoneMeasures as NoneMeasures
    from ltr.evaluation.abstaining import NoneQueries as NoneQueries
    from ltr.evaluation.abstaining import fewest_traces as fewest_traces
    from ltr.evaluation.abstaining import fixed_thresholds as fixed_thresholds
    from ltr.evaluation.abstaining import precision_threshold as precision_threshold
    from ltr.evaluation.abstaining import risk_threshold as risk_threshold
    from ltr.evaluation.baselines import Baseline as Baseline
    from ltr.evaluation.baselines import BestFeature as BestFeature
    from ltr.evaluation.baselines import alone as alone
    from ltr.evaluation.baselines import alone_in_training as alone_in_training
    from ltr.evaluation.baselines import baseline_rankings as baseline_rankings
    from ltr.evaluation.baselines import best_baseline as best_baseline
    from ltr.evaluation.baselines import best_of as best_of
    from ltr.evaluation.bootstrap import Interval as Interval
    from ltr.evaluation.bootstrap import bootstrap_difference as bootstrap_difference
    from ltr.evaluation.bootstrap import intervals as intervals
    from ltr.evaluation.bootstrap import resampled_units as resampled_units
    from ltr.evaluation.classification import first_choice_curve as first_choice_curve
    from ltr.evaluation.evaluation import Evaluation as Evaluation
    from ltr.evaluation.evaluation import NoRelevant as NoRelevant
    from ltr.evaluation.evaluation import Rules as Rules
    from ltr.evaluation.evaluation import evaluate as evaluate
    from ltr.evaluation.evaluation import evaluate_by as evaluate_by
    from ltr.evaluation.interpretation import notes as notes
    from ltr.evaluation.metrics import CATALOGUE as CATALOGUE
    from ltr.evaluation.metrics import MAP as MAP
    from ltr.evaluation.metrics import MEASURES as MEASURES
    from ltr.evaluation.metrics import MRR as MRR
    from ltr.evaluation.metrics import TOP1 as TOP1
    from ltr.evaluation.metrics import TOP3 as TOP3
    from ltr.evaluation.metrics import ByQuery as ByQuery
    from ltr.evaluation.metrics import Curve as Curve
    from ltr.evaluation.metrics import Drawn as Drawn
    from ltr.evaluation.metrics import Measure as Measure
    from ltr.evaluation.metrics import Pooled as Pooled
    from ltr.evaluation.metrics import PresetName as PresetName
    from ltr.evaluation.metrics import all_named as all_named
    from ltr.evaluation.metrics import example_names as example_names
    from ltr.evaluation.metrics import measure as measure
    from ltr.evaluation.metrics import named as named
    from ltr.evaluation.metrics import preset_metrics as preset_metrics
    from ltr.evaluation.probabilities import FINE_BINS as FINE_BINS
    from ltr.evaluation.probabilities import Probability as Probability
    from ltr.evaluation.probabilities import calibration_error_of_bins as calibration_error_of_bins
    from ltr.evaluation.probabilities import candidate_probabilities as candidate_probabilities
    from ltr.evaluation.ranking import Ranking as Ranking
    from ltr.evaluation.ranking import Ties as Ties
    from ltr.evaluation.ranking import order as order
    from ltr.evaluation.ranking import rank as rank
    from ltr.evaluation.significance import Paired as Paired
    from ltr.evaluation.significance import differences as differences
    from ltr.evaluation.significance import holm as holm
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
