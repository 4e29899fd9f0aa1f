"""What a run cannot do, said before anything is made."""

from ltr.config.none_and_abstain import RULES
from ltr.config.run import RunConfig
from ltr.data.groups import Groups
from ltr.errors import DataError, UsageError, count
from ltr.evaluation.abstention_threshold import fewest_traces
from ltr.features.fitted_features import FittedFeatures


def refuse_half_sections(config: RunConfig) -> None:
    """Raise for a key of none, or of abstaining, that lacks another."""
    if config.none.removed_share is not None and config.none.share is None:
        raise UsageError(
            "none.share is missing: removed answers do not say how often none is right; name it with --none-share"
        )
    if not config.abstain.rule and not isinstance(config.data.calibrate, float):
        raise UsageError("data.calibrate names samples, and nothing is calibrated: name a rule with --abstain")


def refuse_no_answers(config: RunConfig, train: Groups, calibrate: Groups | None) -> None:
    """Raise where none is to be learned and no query has it, or where calibration data keep no risk."""
    if train.none_groups is None and config.none.removed_share is None and (config.none.source or config.none.share):
        raise DataError(
            'none: no training query says that none is right ({"none": true} with label 1); '
            "--none-from removed:0.2 learns from copies without their right candidates"
        )
    if config.abstain.chosen and calibrate is not None:
        refuse_few_traces(calibrate, *config.abstain.chosen)


def refuse_few_traces(groups: Groups, rule: str, level: float) -> None:
    """Raise for calibration data with which no threshold keeps the risk."""
    traces, least = len(groups.candidates.trace_ids), fewest_traces(level)
    if rule == RULES[0] and traces < least:
        raise UsageError(
            f"abstain risk={level:g} needs at least {count(least, 'calibration trace')} (1 / risk - 1); there "
            f"{'is' if traces == 1 else 'are'} {traces:,}: add traces, raise --calibrate, or the risk"
        )


def refuse_given_probabilities(config: RunConfig) -> None:
    """Raise where the scores of a model would be taken for probabilities."""
    if config.evaluate.probability == "given":
        raise UsageError(
            "probability given takes scores as they are, and a model's are no probabilities: "
            "name softmax or sigmoid, or measure a ranking of others with evaluate --run"
        )


def refuse_fitted(state: FittedFeatures | None, why: str) -> None:
    """Raise for ready features that, or whose encoder, learned from the groups they would be kept from."""
    if state is not None:
        raise fitted_on_all(why)


def fitted_on_all(why: str) -> UsageError:
    """The error about samples that bear features fitted on all of them."""
    return UsageError(
        f"{why}, and the samples bear features, or vectors of texts, fitted on all of them; "
        "name a file of samples instead"
    )
