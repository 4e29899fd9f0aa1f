"""The engine that a config asks for, started."""

import warnings
from collections.abc import Sequence

from ltr.engines.config import EngineConfig
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.errors import LtrWarning, UsageError

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
