"""A router before there is a log: columns of the tools' own texts, weighed as other catalogues taught."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from ltr.data.candidates import Candidates, tool_candidates
from ltr.data.catalogues.tools import ToolCatalogue, read_tools
from ltr.data.catalogues.tools_in_memory import offered_tools
from ltr.data.groups import Groups
from ltr.data.value_excerpts import excerpt
from ltr.encoders.cached_encoder import CachedEncoder
from ltr.encoders.registry import AUTO, best_installed
from ltr.errors import UsageError
from ltr.features import zero_shot_weights
from ltr.features.crossfit import encoded_texts
from ltr.features.fitted_features import FittedFeatures
from ltr.features.learned_states import fit_states
from ltr.features.registry import FeatureConfig
from ltr.files.path_arguments import AnyPath
from ltr.serving.router import Router
from ltr.storage.training_record import TrainingRecord
from ltr.training.config import TrainConfig


def search(tools: AnyPath | Iterable[object], encoder: str = AUTO) -> Router:
    """Return a router that needs no training, over the tools of a catalogue file or of a list in memory."""
    if isinstance(tools, str | os.PathLike):
        return zero_shot_router(read_tools(tools), encoder)
    offered = offered_tools(tools)
    catalogue = dict(zip(offered.names, offered.texts, strict=True))
    return zero_shot_router(catalogue, encoder, tool_objects=offered.objects)


def zero_shot_router(
    catalogue: ToolCatalogue,
    encoder: str = AUTO,
    *,
    tool_objects: tuple[object, ...] = (),
    weights: Mapping[str, float] | None = None,
) -> Router:
    """Return the router over a catalogue with the shipped weights, or others."""
    if not catalogue:
        raise UsageError("no tools to choose from; at least one is needed")
    return replace(
        untrained(tool_candidates("", catalogue), encoder, weights), tools=catalogue, tool_objects=tool_objects
    )


def untrained(candidates: Candidates, encoder: str = AUTO, weights: Mapping[str, float] | None = None) -> Router:
    """Return a router with the shipped weights, or others; how rare a word is, the tools of the candidates decide."""
    name, shipped = best_installed() if encoder == AUTO else encoder, zero_shot_weights.shipped_weights().encoders
    if weights is None and name not in shipped:
        problem = f"without training there are no weights for the encoder {excerpt(name)}"
        raise UsageError(f"{problem}; one of {', '.join(shipped)} is needed, or a run")
    used = shipped[name] if weights is None else weights
    configs, cached = tuple(map(FeatureConfig, used)), CachedEncoder.fitted(name, encoded_texts(candidates))
    states = fit_states(configs, Groups(candidates, np.zeros(len(candidates.names)), candidates.offsets), cached)
    features, w = FittedFeatures("tool", configs, states, cached), np.array(list(used.values()))
    return Router("tool", tuple(used), w, features, TrainConfig(trainer="newton"), TrainingRecord())
