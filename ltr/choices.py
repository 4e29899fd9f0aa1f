"""What is to be said of how a training was set: by validation data, or by folds."""

from collections.abc import Iterator

from ltr.config import RunConfig
from ltr.folds import CrossValidation
from ltr.splits import told_earlier
from ltr.train.path import penalties


def choices(config: RunConfig, folds: CrossValidation | None) -> Iterator[str]:
    """What makes the choice mean less than it seems to."""
    yield from _idle(config)
    if folds is not None:
        yield from told_earlier("folds", folds.earlier, len(folds.pooled.rank))


def _idle(config: RunConfig) -> Iterator[str]:
    """That validation data decide nothing."""
    is_chosen = len(penalties(config.train)) > 1 and config.train.folds is None
    if config.data.valid is None or config.train.trainer != "newton" or is_chosen:
        return
    instead = "folds choose l2" if config.train.folds else "l2 has one value"
    yield f"validation data decide nothing: newton goes to the optimum, and {instead}; leave data.valid out"
