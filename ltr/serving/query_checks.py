"""Queries and names used before, as a caller hands them over: checked."""

from collections.abc import Iterable, Sequence

from ltr.data.value_excerpts import excerpt
from ltr.errors import UsageError


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
