"""What stays on disk: models, featurised columns, runs."""

from ltr.artifacts.columns import load_columns, load_features, save_columns, sidecar, state_of, write_featurized
from ltr.artifacts.model import Router, load_router, nameless, save_router
from ltr.artifacts.run import (
    CONFIG,
    EVALUATION,
    RUN,
    TOOLS,
    claim,
    inputs,
    machine,
    refuse_changed,
    refuse_taken,
    refuse_unwritable,
    write_history,
    write_log,
    write_metrics,
    write_record,
)
from ltr.artifacts.state import fit_digest

__all__ = [
    "CONFIG",
    "EVALUATION",
    "RUN",
    "TOOLS",
    "Router",
    "claim",
    "fit_digest",
    "inputs",
    "load_columns",
    "load_features",
    "load_router",
    "machine",
    "nameless",
    "refuse_changed",
    "refuse_taken",
    "refuse_unwritable",
    "save_columns",
    "save_router",
    "sidecar",
    "state_of",
    "write_featurized",
    "write_history",
    "write_log",
    "write_metrics",
    "write_record",
]
