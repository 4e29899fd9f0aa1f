"""Arrays that a plug-in of others may read and not write."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


@contextmanager
def write_protected(*values: Any) -> Iterator[None]:
    """Inside the block nobody can write to the arrays of the values, nor of dataclasses, mappings and lists in them.

    >>> column = np.zeros(2)
    >>> with write_protected({"column": column}):
    ...     column += 1
    Traceback (most recent call last):
    ValueError: it writes to an array that it was given; it may write to a copy
    >>> column += 1
    """
    arrays = [array for array in _arrays(*values) if array.flags.writeable]
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


def _arrays(*values: Any) -> Iterator[np.ndarray[Any, Any]]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, dict):
            yield from _arrays(*value.values())
        elif isinstance(value, list):
            yield from _arrays(*value)
        elif is_dataclass(value):
            yield from _arrays(*(getattr(value, field.name) for field in fields(value)))
