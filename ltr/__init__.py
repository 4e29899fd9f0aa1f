"""Learn which tool, or which team of agents, should answer a query; rank, measure and explain."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ltr.errors import ArrayError, DataError, LtrError, RunError, UnknownNameError, UsageError
    from ltr.metrics import Evaluation, evaluate
    from ltr.model import Model, Training
    from ltr.ranking import Ranking, Ties, order, rank
    from ltr.statistics import Interval, bootstrap_difference, bootstrap_mean
    from ltr.train import TrainConfig, fit

# Where each public name lives: `import ltr` loads none of it, the first use of a name loads its module.
_HOMES = {
    "ltr.errors": ("ArrayError", "DataError", "LtrError", "RunError", "UnknownNameError", "UsageError"),
    "ltr.metrics": ("Evaluation", "evaluate"),
    "ltr.model": ("Model", "Training"),
    "ltr.ranking": ("Ranking", "Ties", "order", "rank"),
    "ltr.statistics": ("Interval", "bootstrap_difference", "bootstrap_mean"),
    "ltr.train": ("TrainConfig", "fit"),
}

__all__ = [
    "ArrayError",
    "DataError",
    "Evaluation",
    "Interval",
    "LtrError",
    "Model",
    "Ranking",
    "RunError",
    "Ties",
    "TrainConfig",
    "Training",
    "UnknownNameError",
    "UsageError",
    "__version__",
    "bootstrap_difference",
    "bootstrap_mean",
    "evaluate",
    "fit",
    "order",
    "rank",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'ltr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
