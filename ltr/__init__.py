"""Learn which tool, or which team of agents, should answer a query; rank, measure and explain."""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ltr.audit import audit_run as audit_run
    from ltr.audit import audit_samples as audit_samples
    from ltr.catalogues import read_graphs as read_graphs
    from ltr.catalogues import read_tools as read_tools
    from ltr.comparison import compare as compare
    from ltr.config import RunConfig as RunConfig
    from ltr.config import load_config as load_config
    from ltr.config import sweep as sweep
    from ltr.encoders import encoder as encoder
    from ltr.evaluation import evaluate as evaluate
    from ltr.evaluation import measure as measure
    from ltr.evaluation import rank as rank
    from ltr.experiments.batch import run_batch as run_batch
    from ltr.experiments.learning_routers import load as load
    from ltr.experiments.learning_routers import search as search
    from ltr.experiments.refit import update as update
    from ltr.experiments.router_from_log import init_from as init_from
    from ltr.experiments.single_run import train as train
    from ltr.features import feature as feature
    from ltr.flow import run as run
    from ltr.importers import import_samples as import_samples
    from ltr.importers import importer as importer
    from ltr.report import write_report as write_report
    from ltr.rerankers import reranker as reranker
    from ltr.samples import Groups as Groups
    from ltr.samples import read_groups as read_groups
    from ltr.serving import Answer as Answer
    from ltr.serving import Outcome as Outcome
    from ltr.serving import Router as Router
    from ltr.training import ListwiseRanker as ListwiseRanker
    from ltr.training import Model as Model
    from ltr.training import TrainConfig as TrainConfig
    from ltr.training import fit as fit
    from ltr.training import trainer as trainer
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__, "__version__")
