"""Learn which tool, or which team of agents, should answer a query; rank, measure and explain."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ltr.artifacts import Router, load_router
    from ltr.batch import BatchOptions, Ended, Planned, planned, run_batch
    from ltr.bench import load_bench, run_bench
    from ltr.catalogues import read_graphs, read_tools
    from ltr.compare import Comparison, compare_runs
    from ltr.config import EvaluateConfig, RunConfig, load_config
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
    from ltr.featurizing import Featurized, featurize_and_save
    from ltr.groups import Candidates, Groups, read_groups
    from ltr.importers import import_samples
    from ltr.leaderboard import Leaderboard, Row
    from ltr.lists import rank_lists
    from ltr.mean_intervals import intervals
    from ltr.measured import Measured, evaluate_run
    from ltr.metrics import Evaluation, evaluate, measure, stop_probabilities
    from ltr.model import Model, Training
    from ltr.pipeline import RunResult, evaluate_router, run
    from ltr.ranking import Ranking, Ties, order, rank
    from ltr.report import report_of, write_report
    from ltr.rerankers import reranker
    from ltr.routing import Answer, Choice, Ranker, answers, load, read_for
    from ltr.runs import Finished, run_and_save
    from ltr.significance import holm, paired_t_p, permutation_p
    from ltr.sources import DataConfig
    from ltr.starter import write_starter
    from ltr.statistics import Interval, bootstrap_difference, bootstrap_mean
    from ltr.sweeps import Point, load_sweep
    from ltr.train import Diagnosis, TrainConfig, diagnose, fit
    from ltr.validate import Finding, Report, validate_run, validate_samples

# Where each public name lives: `import ltr` loads none of it, the first use of a name loads its module.
_HOMES = {
    "ltr.artifacts": (
        "Router",
        "load_router",
    ),
    "ltr.batch": (
        "BatchOptions",
        "Ended",
        "Planned",
        "planned",
        "run_batch",
    ),
    "ltr.bench": (
        "load_bench",
        "run_bench",
    ),
    "ltr.catalogues": (
        "read_graphs",
        "read_tools",
    ),
    "ltr.compare": (
        "Comparison",
        "compare_runs",
    ),
    "ltr.config": (
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
    "ltr.lists": ("rank_lists",),
    "ltr.mean_intervals": ("intervals",),
    "ltr.measured": (
        "Measured",
        "evaluate_run",
    ),
    "ltr.metrics": (
        "Evaluation",
        "evaluate",
        "measure",
        "stop_probabilities",
    ),
    "ltr.model": (
        "Model",
        "Training",
    ),
    "ltr.featurizing": (
        "Featurized",
        "featurize_and_save",
    ),
    "ltr.leaderboard": (
        "Leaderboard",
        "Row",
    ),
    "ltr.runs": (
        "Finished",
        "run_and_save",
    ),
    "ltr.sources": ("DataConfig",),
    "ltr.sweeps": (
        "Point",
        "load_sweep",
    ),
    "ltr.pipeline": (
        "RunResult",
        "evaluate_router",
        "run",
    ),
    "ltr.ranking": (
        "Ranking",
        "Ties",
        "order",
        "rank",
    ),
    "ltr.report": (
        "report_of",
        "write_report",
    ),
    "ltr.rerankers": ("reranker",),
    "ltr.routing": (
        "Answer",
        "Choice",
        "Ranker",
        "answers",
        "load",
        "read_for",
    ),
    "ltr.significance": (
        "holm",
        "paired_t_p",
        "permutation_p",
    ),
    "ltr.starter": ("write_starter",),
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
    "BatchOptions",
    "Candidates",
    "Choice",
    "Comparison",
    "ConfigError",
    "Context",
    "DataConfig",
    "DataError",
    "Diagnosis",
    "DiskError",
    "Ended",
    "EvaluateConfig",
    "Evaluation",
    "FeatureConfig",
    "Featurized",
    "FileError",
    "Finding",
    "Finished",
    "Groups",
    "Interval",
    "Leaderboard",
    "ListwiseRanker",
    "LtrError",
    "Measured",
    "Model",
    "Planned",
    "Point",
    "Ranker",
    "Ranking",
    "Report",
    "ResumeError",
    "Router",
    "Row",
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
    "answers",
    "bootstrap_difference",
    "bootstrap_mean",
    "compare_runs",
    "diagnose",
    "evaluate",
    "evaluate_router",
    "evaluate_run",
    "export",
    "feature",
    "featurize_and_save",
    "fit",
    "fit_features",
    "holm",
    "import_samples",
    "intervals",
    "load",
    "load_bench",
    "load_config",
    "load_router",
    "load_sweep",
    "measure",
    "order",
    "paired_t_p",
    "permutation_p",
    "planned",
    "rank",
    "rank_lists",
    "read_for",
    "read_graphs",
    "read_groups",
    "read_tools",
    "report_of",
    "reranker",
    "run",
    "run_and_save",
    "run_batch",
    "run_bench",
    "stop_probabilities",
    "validate_run",
    "validate_samples",
    "write_report",
    "write_starter",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'ltr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
