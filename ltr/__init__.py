"""Learn which tool, or which team of agents, should answer a query; rank, measure and explain."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ltr.batch import Finished, run_all, run_and_save
    from ltr.config import DataConfig, EvaluateConfig, RunConfig, load_config
    from ltr.errors import (
        ArrayError,
        ConfigError,
        DataError,
        DiskError,
        FileError,
        LtrError,
        ResumeError,
        RunError,
        SampleError,
        ThresholdError,
        UnknownNameError,
        UsageError,
    )
    from ltr.estimator import ListwiseRanker
    from ltr.features import Context, FeatureConfig, feature, fit_features
    from ltr.groups import Candidates, Groups, read_groups
    from ltr.metrics import Evaluation, evaluate, measure
    from ltr.model import Model, Training
    from ltr.pipeline import RunResult, run
    from ltr.ranking import Ranking, Ties, order, rank
    from ltr.routing import Answer, Choice, Ranker, load
    from ltr.statistics import Interval, bootstrap_difference, bootstrap_mean
    from ltr.train import Diagnosis, TrainConfig, diagnose, fit

# Where each public name lives: `import ltr` loads none of it, the first use of a name loads its module.
_HOMES = {
    "ltr.batch": (
        "Finished",
        "run_all",
        "run_and_save",
    ),
    "ltr.config": (
        "DataConfig",
        "EvaluateConfig",
        "RunConfig",
        "load_config",
    ),
    "ltr.errors": (
        "ArrayError",
        "ConfigError",
        "DataError",
        "DiskError",
        "FileError",
        "LtrError",
        "ResumeError",
        "RunError",
        "SampleError",
        "ThresholdError",
        "UnknownNameError",
        "UsageError",
    ),
    "ltr.estimator": ("ListwiseRanker",),
    "ltr.features": (
        "Context",
        "FeatureConfig",
        "feature",
        "fit_features",
    ),
    "ltr.groups": (
        "Candidates",
        "Groups",
        "read_groups",
    ),
    "ltr.metrics": (
        "Evaluation",
        "evaluate",
        "measure",
    ),
    "ltr.model": (
        "Model",
        "Training",
    ),
    "ltr.pipeline": (
        "RunResult",
        "run",
    ),
    "ltr.ranking": (
        "Ranking",
        "Ties",
        "order",
        "rank",
    ),
    "ltr.routing": (
        "Answer",
        "Choice",
        "Ranker",
        "load",
    ),
    "ltr.statistics": (
        "Interval",
        "bootstrap_difference",
        "bootstrap_mean",
    ),
    "ltr.train": (
        "Diagnosis",
        "TrainConfig",
        "diagnose",
        "fit",
    ),
}

__all__ = [
    "Answer",
    "ArrayError",
    "Candidates",
    "Choice",
    "ConfigError",
    "Context",
    "DataConfig",
    "DataError",
    "Diagnosis",
    "DiskError",
    "EvaluateConfig",
    "Evaluation",
    "FeatureConfig",
    "FileError",
    "Finished",
    "Groups",
    "Interval",
    "ListwiseRanker",
    "LtrError",
    "Model",
    "Ranker",
    "Ranking",
    "ResumeError",
    "RunConfig",
    "RunError",
    "RunResult",
    "SampleError",
    "ThresholdError",
    "Ties",
    "TrainConfig",
    "Training",
    "UnknownNameError",
    "UsageError",
    "__version__",
    "bootstrap_difference",
    "bootstrap_mean",
    "diagnose",
    "evaluate",
    "feature",
    "fit",
    "fit_features",
    "load",
    "load_config",
    "measure",
    "order",
    "rank",
    "read_groups",
    "run",
    "run_all",
    "run_and_save",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'ltr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
