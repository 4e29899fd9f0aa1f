"""Everything that can go wrong for a reason the user can mend. Any other exception is a bug of ours."""

from collections.abc import Iterable


class LtrError(Exception):
    """The family: catch this to catch every mistake the package can name."""


class UsageError(LtrError, ValueError):
    """A request that contradicts itself or names something that does not exist."""


class DataError(LtrError):
    """Input that cannot be used as it stands."""


class RunError(LtrError):
    """Work that started on good input and could not be finished."""


class UnknownNameError(UsageError):
    """A plug-in asked for by a name that nobody registered."""

    def __init__(self, kind: str, name: str, known: tuple[str, ...]) -> None:
        super().__init__(kind, name, known)

    def __str__(self) -> str:
        kind, name, known = self.args
        hint = suggestion(name, known)
        return f"unknown {kind} {name!r}{hint}; known: {', '.join(known) or 'none'}"


class ArrayError(DataError):
    """Arrays that do not fit together, or a number that is not allowed, and where it stands."""

    def __init__(self, argument: str, place: str, problem: str) -> None:
        super().__init__(argument, place, problem)

    def __str__(self) -> str:
        argument, place, problem = self.args
        return f"{argument}{place}: {problem}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """A '; did you mean X?' to append to a message, or nothing when no known name is near.

    >>> suggestion("newtn", ["descent", "newton"])
    '; did you mean newton?'
    """
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
