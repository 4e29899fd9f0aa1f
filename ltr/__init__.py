"""Learn which tool, or which team of agents, should answer a query; rank, measure and explain."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ltr.audit.audit import audit_samples
    from ltr.audit.findings import AuditReport, Finding
    from ltr.audit.run_integrity import audit_run
    from ltr.benchmark.config import load_bench
    from ltr.benchmark.running import run_bench
    from ltr.config.run import EvaluateConfig, RunConfig, load_config
    from ltr.config.sweeps import Point, load_sweep
    from ltr.data.catalogues.graphs import read_graphs
    from ltr.data.catalogues.tools import read_tools
    from ltr.data.groups import Candidates, Groups, read_groups
    from ltr.data.importers.importing import import_samples
    from ltr.data.sources import DataConfig
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
    from ltr.evaluation.bootstrap import Interval, bootstrap_difference, bootstrap_mean, intervals
    from ltr.evaluation.evaluate import Evaluation, evaluate
    from ltr.evaluation.lists import rank_lists
    from ltr.evaluation.metrics.cascade import stop_probabilities
    from ltr.evaluation.metrics.registry import measure
    from ltr.evaluation.ranking import Ranking, Ties, order, rank
    from ltr.evaluation.significance import holm, paired_t_p, permutation_p
    from ltr.experiments.batch import BatchOptions, Ended, Planned, planned, run_batch
    from ltr.experiments.exchange import export
    from ltr.experiments.featurize import Featurized, featurize_and_save
    from ltr.experiments.pipeline import RunResult, evaluate_router, run
    from ltr.experiments.runs import Finished, run_and_save
    from ltr.experiments.starter import write_starter
    from ltr.features.crossfit import fit_features
    from ltr.features.registry import Context, FeatureConfig, feature
    from ltr.reporting.report import report_of, write_report
    from ltr.rerankers.registry import reranker
    from ltr.results.comparison import Comparison, compare_runs
    from ltr.results.evaluated_ranking import EvaluatedRanking, evaluate_run
    from ltr.results.leaderboard import Leaderboard, Row
    from ltr.serving.router import Answer, Choice, Ranker, answers, load, read_for
    from ltr.storage.model_file import Router, load_router
    from ltr.training.config import TrainConfig
    from ltr.training.diagnosis import Diagnosis, diagnose
    from ltr.training.estimator import ListwiseRanker
    from ltr.training.fit import fit
    from ltr.training.model import Model, Training

# Where each public name lives: `import ltr` loads none of it, the first use of a name loads its module.
_HOMES = {
    "ltr.audit.audit": ("audit_samples",),
    "ltr.audit.findings": (
        "AuditReport",
        "Finding",
    ),
    "ltr.audit.run_integrity": ("audit_run",),
    "ltr.benchmark.config": ("load_bench",),
    "ltr.benchmark.running": ("run_bench",),
    "ltr.config.run": (
        "EvaluateConfig",
        "RunConfig",
        "load_config",
    ),
    "ltr.config.sweeps": (
        "Point",
        "load_sweep",
    ),
    "ltr.data.catalogues.graphs": ("read_graphs",),
    "ltr.data.catalogues.tools": ("read_tools",),
    "ltr.data.groups": (
        "Candidates",
        "Groups",
        "read_groups",
    ),
    "ltr.data.importers.importing": ("import_samples",),
    "ltr.data.sources": ("DataConfig",),
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
    "ltr.evaluation.bootstrap": (
        "Interval",
        "bootstrap_difference",
        "bootstrap_mean",
        "intervals",
    ),
    "ltr.evaluation.evaluate": (
        "Evaluation",
        "evaluate",
    ),
    "ltr.evaluation.lists": ("rank_lists",),
    "ltr.evaluation.metrics.cascade": ("stop_probabilities",),
    "ltr.evaluation.metrics.registry": ("measure",),
    "ltr.evaluation.ranking": (
        "Ranking",
        "Ties",
        "order",
        "rank",
    ),
    "ltr.evaluation.significance": (
        "holm",
        "paired_t_p",
        "permutation_p",
    ),
    "ltr.experiments.batch": (
        "BatchOptions",
        "Ended",
        "Planned",
        "planned",
        "run_batch",
    ),
    "ltr.experiments.exchange": ("export",),
    "ltr.experiments.featurize": (
        "Featurized",
        "featurize_and_save",
    ),
    "ltr.experiments.pipeline": (
        "RunResult",
        "evaluate_router",
        "run",
    ),
    "ltr.experiments.runs": (
        "Finished",
        "run_and_save",
    ),
    "ltr.experiments.starter": ("write_starter",),
    "ltr.features.crossfit": ("fit_features",),
    "ltr.features.registry": (
        "Context",
        "FeatureConfig",
        "feature",
    ),
    "ltr.reporting.report": (
        "report_of",
        "write_report",
    ),
    "ltr.rerankers.registry": ("reranker",),
    "ltr.results.comparison": (
        "Comparison",
        "compare_runs",
    ),
    "ltr.results.evaluated_ranking": (
        "EvaluatedRanking",
        "evaluate_run",
    ),
    "ltr.results.leaderboard": (
        "Leaderboard",
        "Row",
    ),
    "ltr.serving.router": (
        "Answer",
        "Choice",
        "Ranker",
        "answers",
        "load",
        "read_for",
    ),
    "ltr.storage.model_file": (
        "Router",
        "load_router",
    ),
    "ltr.training.config": ("TrainConfig",),
    "ltr.training.diagnosis": ("Diagnosis", "diagnose"),
    "ltr.training.estimator": ("ListwiseRanker",),
    "ltr.training.fit": ("fit",),
    "ltr.training.model": (
        "Model",
        "Training",
    ),
}

__all__ = [
    "Answer",
    "ArrayError",
    "AuditReport",
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
    "EvaluatedRanking",
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
    "Model",
    "Planned",
    "Point",
    "Ranker",
    "Ranking",
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
    "audit_run",
    "audit_samples",
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
