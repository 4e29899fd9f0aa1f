"""What a caller may ask of a router, checked in one place: queries, names used before, and the options of `rank`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Self, TypedDict

from ltr.data.value_excerpts import excerpt
from ltr.errors import UsageError, suggestion
from ltr.serving import DEFAULT_K


class RankKeywords(TypedDict, total=False):
    """The options of `rank`, `rank_many` and `arank` that are given by name."""

    at_least: float | None  # only choices that are so probable
    previous: Sequence[str] | None  # names used before in the same trace
    exact: bool  # every tool of a large catalogue is scored, not a shortlist


@dataclass(frozen=True, slots=True)
class RankOptions:
    """The first k choices, all where k is None, that are probable enough."""

    k: int | None = DEFAULT_K
    at_least: float | None = None
    previous: tuple[str, ...] | None = None
    exact: bool = False

    @classmethod
    def of(cls, k: int | None, named: RankKeywords) -> Self:
        """The options of a call; an error names one that cannot be."""
        for name in named:
            if name not in RankKeywords.__annotations__:
                close = suggestion(name, RankKeywords.__annotations__)
                raise UsageError(f"rank has no option {name}{close}; {', '.join(RankKeywords.__annotations__)}")
        at_least, previous = named.get("at_least"), named.get("previous")
        _refuse_unusable_limits(k, at_least)
        refuse_unusable_names(previous)
        return cls(k, at_least, None if previous is None else tuple(previous), named.get("exact", False))


def _refuse_unusable_limits(k: object, at_least: object) -> None:
    """Raise unless k is None or a whole number above 0, and at_least None or a probability."""
    if k is not None and (not isinstance(k, Integral) or isinstance(k, bool)):
        raise UsageError(f"k is {excerpt(k)}; a whole number is needed, or None for all")
    if isinstance(k, Integral) and k < 1:
        raise UsageError(f"k is {k}; at least 1 is needed")
    is_probability = isinstance(at_least, Real) and not isinstance(at_least, bool) and 0 <= float(at_least) <= 1
    if at_least is not None and not is_probability:
        raise UsageError(f"at_least is {excerpt(at_least)}; a probability from 0 to 1 is needed")


def checked_queries(queries: Iterable[str]) -> list[str]:
    """The queries; an error unless each is a text that says something."""
    if isinstance(queries, str) or not isinstance(queries, Iterable):
        raise UsageError(f"queries is {excerpt(queries)}; a list of texts is needed (rank takes a single one)")
    texts = list(queries)
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"the query is {excerpt(text)}; a text is needed")
        if not text.strip():
            raise UsageError(f"the query {text!r} says nothing; a text is needed")
    return texts


def refuse_unusable_names(previous: object) -> None:
    """Raise unless these are names, or None."""
    names = previous if isinstance(previous, Sequence) and not isinstance(previous, str | bytes) else [None]
    if previous is not None and not all(isinstance(name, str) for name in names):
        raise UsageError(f"previous is {excerpt(previous)}; a list of names is needed, or None")
