"""An ordered map over shards: in this process, in several of this machine, or on a cluster. It knows no ranking.

>>> from ltr.engine import EngineConfig, open_engine
>>> with open_engine(EngineConfig()) as engine:
...     list(engine.map(abs, [-1, 2]))
[1, 2]
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.engine.engine import IN_PROCESS as IN_PROCESS
    from ltr.engine.engine import Engine as Engine
    from ltr.engine.engine import EngineConfig as EngineConfig
    from ltr.engine.engine import Shared as Shared
    from ltr.engine.engine import open_engine as open_engine
    from ltr.engine.engine import warn_without_shards as warn_without_shards
    from ltr.engine.processes import run_each as run_each
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
