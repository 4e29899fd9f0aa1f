"""Learn which tool, or which team of agents, should answer a query; rank, measure and explain."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ltr.batch import Finished, run_all, run_and_save
    from ltr.compare import Comparison, compare_runs
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
    from ltr.exchange import export
    from ltr.features import Context, FeatureConfig, feature, fit_features
    from ltr.groups import Candidates, Groups, read_groups
    from ltr.importers import import_samples
    from ltr.intervals import intervals
    from ltr.lists import rank_lists
    from ltr.measured import Measured, evaluate_run
    from ltr.metrics import Evaluation, evaluate, measure
    from ltr.model import Model, Training
    from ltr.pipeline import RunResult, run
    from ltr.ranking import Ranking, Ties, order, rank
    from ltr.routing import Answer, Choice, Ranker, load
    from ltr.significance import holm, paired_t_p, permutation_p
    from ltr.statistics import Interval, bootstrap_difference, bootstrap_mean
    from ltr.train import Diagnosis, TrainConfig, diagnose, fit
    from ltr.validate import Finding, Report, validate_run, validate_samples

# Where each public name lives: `import ltr` loads none of it, the first use of a name loads its module.
_HOMES = {
    "ltr.batch": (
        "Finished",
        "run_all",
        "run_and_save",
    ),
    "ltr.compare": (
        "Comparison",
        "compare_runs",
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
    "ltr.exchange": ("export",),
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
    "ltr.importers": ("import_samples",),
    "ltr.intervals": ("intervals",),
    "ltr.lists": ("rank_lists",),
    "ltr.measured": (
        "Measured",
        "evaluate_run",
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
    "ltr.significance": (
        "holm",
        "paired_t_p",
        "permutation_p",
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
    "ltr.validate": (
        "Finding",
        "Report",
        "validate_run",
        "validate_samples",
    ),
}

__all__ = [
    "Answer",
    "ArrayError",
    "Candidates",
    "Choice",
    "Comparison",
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
    "Finding",
    "Finished",
    "Groups",
    "Interval",
    "ListwiseRanker",
    "LtrError",
    "Measured",
    "Model",
    "Ranker",
    "Ranking",
    "Report",
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
    "compare_runs",
    "diagnose",
    "evaluate",
    "evaluate_run",
    "export",
    "feature",
    "fit",
    "fit_features",
    "holm",
    "import_samples",
    "intervals",
    "load",
    "load_config",
    "measure",
    "order",
    "paired_t_p",
    "permutation_p",
    "rank",
    "rank_lists",
    "read_groups",
    "run",
    "run_all",
    "run_and_save",
    "validate_run",
    "validate_samples",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'ltr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
