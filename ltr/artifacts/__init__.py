"""What stays on disk: models, featurised columns, runs."""

from ltr.artifacts.columns import load_columns, load_features, save_columns, sidecar, write_featurized
from ltr.artifacts.model import Router, load_router, nameless, save_router

__all__ = [
    "Router",
    "load_columns",
    "load_features",
    "load_router",
    "nameless",
    "save_columns",
    "save_router",
    "sidecar",
    "write_featurized",
]
