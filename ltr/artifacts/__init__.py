"""What stays on disk: models, featurised columns, runs."""

from ltr.artifacts.checkpoints import (
    drop_checkpoints,
    read_progress,
    read_task,
    refuse_other_task,
    write_checkpoint,
)
from ltr.artifacts.columns import load_columns, load_features, save_columns, sidecar, state_of, write_featurized
from ltr.artifacts.model import Router, load_router, nameless, refuse_other_columns, router_digest, save_router
from ltr.artifacts.run import (
    CONFIG,
    EVALUATION,
    RUN,
    TOOLS,
    claim,
    inputs,
    machine,
    recorded_task,
    refuse_changed,
    refuse_taken,
    refuse_unwritable,
    write_history,
    write_log,
    write_metrics,
    write_record,
)
from ltr.artifacts.state import fit_digest
from ltr.artifacts.training import training_document

__all__ = [
    "CONFIG",
    "EVALUATION",
    "RUN",
    "TOOLS",
    "Router",
    "claim",
    "drop_checkpoints",
    "fit_digest",
    "inputs",
    "load_columns",
    "load_features",
    "load_router",
    "machine",
    "nameless",
    "read_progress",
    "read_task",
    "recorded_task",
    "refuse_changed",
    "refuse_other_columns",
    "refuse_other_task",
    "refuse_taken",
    "refuse_unwritable",
    "router_digest",
    "save_columns",
    "save_router",
    "sidecar",
    "state_of",
    "training_document",
    "write_checkpoint",
    "write_featurized",
    "write_history",
    "write_log",
    "write_metrics",
    "write_record",
]
