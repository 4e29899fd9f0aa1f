"""A call that is made in another process: what comes back of it beside its result, and how it is told here."""

import logging
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ltr.errors import LtrError, LtrWarning, RunError
from ltr.logs import LOG
from ltr.plugins import load_code, unforeseen_errors

NO_MEMORY = "a worker had not enough memory; try fewer --workers, or smaller --shard-rows"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a worker must have as the process that started it has it: plug-ins from files, and whether to log."""

    code: tuple[str, ...]
    log_level: int

    @classmethod
    def here(cls, code: tuple[str, ...]) -> "Surroundings":
        """Those of this process, which has run these files."""
        return cls(code, LOG.getEffectiveLevel())

    def enter(self) -> None:
        """Make them those of this process."""
        for path in self.code:
            load_code(path)
        LOG.setLevel(self.log_level)


@dataclass(frozen=True, slots=True)
class CallResult:
    """What became of a call: its result, or why there is none; what was warned of and logged meanwhile."""

    result: Any = None
    error: LtrError | None = None
    bug: str = ""  # the traceback of any other exception
    warnings: tuple[str, ...] = ()
    log: tuple[str, ...] = ()

    def told(self) -> Any:
        """The result, or the error raised, after warnings and log have been repeated in this process."""
        for message in self.log:
            LOG.info(message)
        for message in self.warnings:
            warnings.warn(message, LtrWarning, stacklevel=2)
        if self.bug:
            raise RuntimeError(self.bug)
        if self.error is not None:
            raise self.error
        return self.result


def outcome_of(function: Callable[[Any], Any], item: Any) -> CallResult:
    """What becomes of function(item)."""
    result, error, bug = None, None, ""
    with warnings.catch_warnings(record=True) as caught, _logged() as log:
        warnings.simplefilter("always", LtrWarning)
        try:
            with unforeseen_errors():
                result = function(item)
        except LtrError as problem:
            error = problem
        except MemoryError:
            error = RunError(NO_MEMORY)
        except Exception:  # told where the call was asked for
            bug = traceback.format_exc()
    warned = (str(warning.message) for warning in caught if issubclass(warning.category, LtrWarning))
    return CallResult(result, error, bug, tuple(dict.fromkeys(warned)), tuple(log))


@contextmanager
def _logged() -> Iterator[list[str]]:
    """The messages that are logged inside."""
    messages = list[str]()
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    LOG.addHandler(handler)
    try:
        yield messages
    finally:
        LOG.removeHandler(handler)
