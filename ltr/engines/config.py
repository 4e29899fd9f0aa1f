"""The section `engine` of a config, and the engine that it asks for."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ltr.engines.engine import IN_PROCESS, Engine
from ltr.errors import LtrWarning, UsageError


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """Who works on the shards; nothing of it changes a byte of a result."""

    name: Literal["local", "ray"] = "local"
    """local: processes of this machine; ray: a Ray cluster."""
    workers: int | None = None
    """How many shards at the same time; without it, one here, and on a cluster one for each processor."""
    address: str | None = None
    """The Ray cluster, as HOST:PORT or auto; without it, Ray starts on this machine for the time of the command."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers is {self.workers}; it must be at least 1")


NO_SHARDS = (
    "the engine works on shards, and has none here: the samples are in memory; a directory of columns has shards"
)


def warn_without_shards(config: EngineConfig) -> None:
    """Warn where an engine was asked for, and everything is done in memory."""
    if config != EngineConfig():
        warnings.warn(NO_SHARDS, LtrWarning, stacklevel=3)


def open_engine(config: EngineConfig, code: Sequence[str] = ()) -> Engine:
    """The engine, to be used as a block; `code`: the files of plug-ins that its workers are to run first."""
    if config.name == "ray":
        from ltr.engines.ray_cluster import OnRay

        return OnRay(config.workers, config.address, code=code)
    if config.address is not None:
        raise UsageError(f"address {config.address!r} is that of a Ray cluster: it needs --engine ray")
    if config.workers is None or config.workers == 1:
        return IN_PROCESS
    from ltr.engines.local_processes import Local

    return Local(config.workers, code=code)
