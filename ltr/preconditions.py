"""What a run cannot do, said before anything is made."""

from ltr.config import RunConfig
from ltr.errors import DataError, UsageError, count
from ltr.evaluation import fewest_traces
from ltr.samples import Shards


def refuse_unreadable(config: RunConfig) -> None:
    """Raise for a config that is not one run, or lacks what a run needs."""
    if config.sweep:
        raise UsageError(f"the config sweeps {', '.join(config.sweep)}: it is several runs, which `ltr run` makes")
    refuse_given_probabilities(config)
    refuse_half_sections(config)
    if not config.data.train:
        raise UsageError("no training samples: name files, or set data.train in the config")


def refuse_half_sections(config: RunConfig) -> None:
    """Raise for a key of none, or of abstaining, that lacks another."""
    if config.none.removed_share is not None and config.none.share is None:
        raise UsageError(
            "none.share is missing: removed answers do not say how often none is right; name it with --none-share"
        )
    if not config.abstain.rule and not isinstance(config.data.calibrate, float):
        raise UsageError("data.calibrate names samples, and nothing is calibrated: name a rule with --abstain")


def refuse_no_answers(config: RunConfig, train: Shards, calibrate: Shards | None) -> None:
    """Raise where none is to be learned and no query has it, or where calibration data keep no risk."""
    if config.none.removed_share is None and (config.none.source or config.none.share) and not knows_none(train):
        raise DataError(
            'none: no training query says that none is right ({"none": true} with label 1); '
            "--none-from removed:0.2 learns from copies without their right candidates"
        )
    rule, level = config.abstain.chosen or ("", 0.0)
    if rule == config.abstain.RISK and calibrate is not None:
        refuse_few_traces(calibrate, level)


def knows_none(shards: Shards) -> bool:
    """Return whether some query says that nothing offered is right."""
    return any(shards[number].none_groups is not None for number in range(len(shards)))


def refuse_few_traces(shards: Shards, level: float) -> None:
    """Raise for calibration data with which no threshold keeps the risk."""
    traces = sum(len(shards[number].candidates.trace_ids) for number in range(len(shards)))
    least = fewest_traces(level)
    if traces < least:
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
