"""Groups for which nothing offered is right: set aside, and counted in warnings."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ltr.data.columns import NO_CODES
from ltr.data.groups import Groups, select
from ltr.data.none_candidates import RIGHT
from ltr.errors import DataError, count


def without_none(groups: Groups) -> Groups:
    """The groups for which something offered may be right, and beside them those for which none is."""
    if groups.none is None or not (is_none := groups.none == RIGHT).any():
        return groups
    number = int(is_none.sum())
    if number == len(is_none):
        names = ", ".join(file.path for file in groups.candidates.files)
        raise DataError(f"{names}: none is right in {count(number, 'group')}, and there is no other to use")
    return replace(select(groups, np.flatnonzero(~is_none)), none_groups=select(groups, np.flatnonzero(is_none)))


def groups_to_learn(groups: Groups) -> Groups:
    """The same of a shard, which may hold no such group."""
    if groups.none is None or not len(groups.none) or not (groups.none == RIGHT).all():
        return without_none(groups)
    return replace(select(groups, NO_CODES), none_groups=groups)


def none_groups(groups: Groups) -> Groups:
    """Return the groups of a shard that were left out because none is right."""
    return select(groups, NO_CODES) if groups.none_groups is None else groups.none_groups


def none_warnings(groups: Groups, of: str = "") -> Iterator[str]:
    """That groups were left out because none is right; `of`: the data they belong to, such as "test data: "."""
    yield from left_out_warnings(groups.num_none, of)


def left_out_warnings(num_none: int, of: str = "") -> Iterator[str]:
    """The same of so many groups."""
    if num_none:
        yield f"{of}none: {count(num_none, 'group')}, not used: nothing offered is right"


def answered(groups: Groups) -> Groups | None:
    """The groups for which something offered may be right; None where there is none."""
    return None if groups.none is not None and (groups.none == RIGHT).all() else without_none(groups)
