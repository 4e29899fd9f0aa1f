"""Learn which tool, or which team of agents, should answer a query; rank, measure and explain."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ltr.audit.run_integrity import audit_run as audit_run
    from ltr.audit.sample_audit import audit_samples as audit_samples
    from ltr.config.run import RunConfig as RunConfig
    from ltr.config.run import load_config as load_config
    from ltr.config.sweeps import sweep as sweep
    from ltr.data.catalogues.graphs import read_graphs as read_graphs
    from ltr.data.catalogues.tools import read_tools as read_tools
    from ltr.data.groups import Groups as Groups
    from ltr.data.groups import read_groups as read_groups
    from ltr.data.importers.import_samples import import_samples as import_samples
    from ltr.data.importers.registry import importer as importer
    from ltr.encoders.registry import encoder as encoder
    from ltr.evaluation.evaluate import evaluate as evaluate
    from ltr.evaluation.metrics.registry import measure as measure
    from ltr.evaluation.ranking import rank as rank
    from ltr.experiments.batch import run_batch as run_batch
    from ltr.experiments.learning_routers import load as load
    from ltr.experiments.learning_routers import search as search
    from ltr.experiments.refit import update as update
    from ltr.experiments.router_from_log import init_from as init_from
    from ltr.experiments.single_run import train as train
    from ltr.features.registry import feature as feature
    from ltr.flow import run as run
    from ltr.reporting.report import write_report as write_report
    from ltr.rerankers.registry import reranker as reranker
    from ltr.results.comparison import compare as compare
    from ltr.serving.answers import Answer as Answer
    from ltr.serving.outcomes import Outcome as Outcome
    from ltr.serving.router import Router as Router
    from ltr.training.config import TrainConfig as TrainConfig
    from ltr.training.estimator import ListwiseRanker as ListwiseRanker
    from ltr.training.fit import fit as fit
    from ltr.training.model import Model as Model
    from ltr.training.registry import trainer as trainer

# The module of each public name: `import ltr` loads none of them, the first use of a name loads its module.
HOMES = {
    "load": "ltr.experiments.learning_routers",
    "Router": "ltr.serving.router",
    "search": "ltr.experiments.learning_routers",
    "Answer": "ltr.serving.answers",
    "Outcome": "ltr.serving.outcomes",
    "update": "ltr.experiments.refit",
    "train": "ltr.experiments.single_run",
    "run": "ltr.flow",
    "RunConfig": "ltr.config.run",
    "load_config": "ltr.config.run",
    "sweep": "ltr.config.sweeps",
    "run_batch": "ltr.experiments.batch",
    "read_groups": "ltr.data.groups",
    "Groups": "ltr.data.groups",
    "read_tools": "ltr.data.catalogues.tools",
    "read_graphs": "ltr.data.catalogues.graphs",
    "fit": "ltr.training.fit",
    "TrainConfig": "ltr.training.config",
    "Model": "ltr.training.model",
    "ListwiseRanker": "ltr.training.estimator",
    "rank": "ltr.evaluation.ranking",
    "evaluate": "ltr.evaluation.evaluate",
    "compare": "ltr.results.comparison",
    "feature": "ltr.features.registry",
    "measure": "ltr.evaluation.metrics.registry",
    "encoder": "ltr.encoders.registry",
    "trainer": "ltr.training.registry",
    "reranker": "ltr.rerankers.registry",
    "importer": "ltr.data.importers.registry",
    "import_samples": "ltr.data.importers.import_samples",
    "init_from": "ltr.experiments.router_from_log",
    "audit_samples": "ltr.audit.sample_audit",
    "audit_run": "ltr.audit.run_integrity",
    "write_report": "ltr.reporting.report",
}
__all__ = sorted([*HOMES, "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in HOMES:
        raise AttributeError(f"module 'ltr' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
