"""Everything that can go wrong for a reason the user can mend. Any other exception is a bug of ours."""

from collections.abc import Iterable


class LtrError(Exception):
    """The family: catch this to catch every mistake the package can name."""


class UsageError(LtrError):
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


class FileError(DataError):
    """A file that cannot be read: which, and why."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)

    def __str__(self) -> str:
        return "{}: {}".format(*self.args)


class FieldError(DataError):
    """A field that cannot be used, for readers that know the place to turn into a SampleError."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(field, problem)

    def __str__(self) -> str:
        field, problem = self.args
        return f"{field}: {problem}" if field else str(problem)


class SampleError(DataError):
    """A line that cannot be used: file, line, field, what was found and what would be right."""

    def __init__(self, path: str, line: int, field: str, problem: str) -> None:
        super().__init__(path, line, field, problem)

    def __str__(self) -> str:
        path, line, field, problem = self.args
        return f"{path}:{line}: {field}: {problem}" if field else f"{path}:{line}: {problem}"


class DiskError(RunError):
    """A file that could not be written: which, and why."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)

    def __str__(self) -> str:
        return "{}: {}".format(*self.args)


def suggestion(name: str, known: Iterable[str]) -> str:
    """A '; did you mean X?' to append to a message, or nothing when no known name is near.

    >>> suggestion("newtn", ["descent", "newton"])
    '; did you mean newton?'
    """
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
