"""Arrays that a stranger may read and not write."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


@contextmanager
def lent(*given: Any) -> Iterator[None]:
    """No array of what is given, dataclasses and mappings of them included, can be written to within.

    >>> column = np.zeros(2)
    >>> with lent({"column": column}):
    ...     column += 1
    Traceback (most recent call last):
    ValueError: it writes to an array that it was given; it may write to a copy
    >>> column += 1
    """
    arrays = [array for array in _arrays(*given) if array.flags.writeable]
    for array in arrays:
        array.flags.writeable = False
    try:
        yield
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        problem = "it writes to an array that it was given; it may write to a copy"
        raise ValueError(problem).with_traceback(error.__traceback__) from None
    finally:
        for array in sorted(arrays, key=lambda array: array.base is not None):  # a view opens after what it looks at
            array.flags.writeable = True


def _arrays(*given: Any) -> Iterator[np.ndarray[Any, Any]]:
    for each in given:
        if isinstance(each, np.ndarray):
            yield each
        elif isinstance(each, dict):
            yield from _arrays(*each.values())
        elif is_dataclass(each):
            yield from _arrays(*(getattr(each, field.name) for field in fields(each)))
