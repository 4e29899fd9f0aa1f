"""Tools that no training query had as a right answer."""

from collections.abc import Collection, Sequence
from functools import lru_cache

import numpy as np

from ltr.arrays import BoolArray
from ltr.data.text_hashes import text_mark
from ltr.errors import count


def were_right(answers: Collection[str], names: Sequence[str]) -> BoolArray:
    """Whether each name is among the tools that were right, which are known by short hashes.

    >>> were_right([text_mark("mail")], ["mail", "maps"]).tolist()
    [True, False]
    """
    marks = set(answers)
    return np.array([text_mark(name) in marks for name in names], dtype=bool)


@lru_cache(maxsize=16)
def unseen_warning(answers: tuple[str, ...], names: tuple[str, ...]) -> str:
    """What to say where most of the tools were never right in training; "" where there is nothing to say.

    >>> unseen_warning((text_mark("mail"),), ("mail", "maps", "news"))
    '2 of 3 tools were never right in training: little but their texts is known of them'
    """
    unseen = len(names) - int(were_right(answers, names).sum()) if answers else 0
    if unseen * 2 <= len(names):
        return ""
    of = count(len(names), "tool")
    return f"{unseen:,} of {of} were never right in training: little but their texts is known of them"
