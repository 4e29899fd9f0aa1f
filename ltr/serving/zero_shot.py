"""A router before there is a log: columns of the tools' own texts, weighed as other catalogues taught."""

import os
from collections.abc import Iterable, Mapping

import numpy as np

from ltr.catalogues import ToolCatalogue, offered_tools, read_tools
from ltr.encoders import AUTO, CachedEncoder, best_installed
from ltr.errors import UsageError
from ltr.features import FeatureConfig, FittedFeatures, ZeroShotWeights, encoded_texts, fit_states
from ltr.jsonl import excerpt
from ltr.paths import AnyPath
from ltr.records.training import TrainingRecord
from ltr.samples import Candidates, Groups
from ltr.serving.router import Router
from ltr.training import TrainConfig


def search(tools: AnyPath | Iterable[object], encoder: str = AUTO) -> Router:
    """Return a router that needs no training, over the tools of a catalogue file or of a list in memory."""
    if isinstance(tools, str | os.PathLike):
        return zero_shot_router(read_tools(tools), encoder)
    offered = offered_tools(tools)
    catalogue = dict(zip(offered.names, offered.texts, strict=True))
    return zero_shot_router(catalogue, encoder, tool_objects=offered.objects)


def zero_shot_router(
    tools: ToolCatalogue | Candidates,
    encoder: str = AUTO,
    *,
    tool_objects: tuple[object, ...] = (),
    weights: Mapping[str, float] | None = None,
) -> Router:
    """Return the router over a catalogue, or for candidates, with the shipped weights, or others.

    How rare a word is, the tools decide.
    """
    if not isinstance(tools, Candidates) and not tools:
        raise UsageError("no tools to choose from; at least one is needed")
    candidates = tools if isinstance(tools, Candidates) else Candidates.of_tools("", tools)
    name, shipped = best_installed() if encoder == AUTO else encoder, ZeroShotWeights.shipped().encoders
    if weights is None and name not in shipped:
        problem = f"without training there are no weights for the encoder {excerpt(name)}"
        raise UsageError(f"{problem}; one of {', '.join(shipped)} is needed, or a run")
    used = shipped[name] if weights is None else weights
    configs, cached = tuple(map(FeatureConfig, used)), CachedEncoder.fitted(name, encoded_texts(candidates))
    states = fit_states(configs, Groups(candidates, np.zeros(len(candidates.names)), candidates.offsets), cached)
    return Router(
        "tool",
        tuple(used),
        np.array(list(used.values())),
        FittedFeatures("tool", configs, states, cached),
        TrainConfig(trainer="newton"),
        TrainingRecord(),
        tools=None if isinstance(tools, Candidates) else tools,
        tool_objects=tool_objects,
    )
