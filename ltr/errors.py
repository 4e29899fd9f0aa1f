"""The errors that a user can mend, and the end by a signal. Any other exception is a bug of ltr."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST_PROBLEMS_SHOWN = 50


class LtrError(Exception):
    """The base of all errors of ltr: catch it to catch every mistake that the package reports."""


class EndedBySignal(SystemExit):
    """A signal that ends the process with its code: whatever runs is left, as if it had failed, and tidied up."""


class LtrWarning(UserWarning):
    """Something that costs time or quality and does not stop the work."""


class UsageError(LtrError, ValueError):
    """A request that contradicts itself or names something that does not exist."""


class RangeError(UsageError):
    """Options outside their range, one argument for each."""

    def __str__(self) -> str:
        return "; ".join(map(str, self.args))


class DataError(LtrError):
    """Input that cannot be used."""


class RunError(LtrError):
    """Work that started on good input and could not be finished."""


class DivergedError(RunError):
    """A training whose weights or objective became infinite."""


class ThresholdError(RunError):
    """A result below the required threshold."""


class ResumeError(RunError):
    """Work that cannot be resumed, because its config, data or code have changed: where it lies, and what differs."""

    def __init__(self, path: str, differences: tuple[str, ...]) -> None:
        super().__init__(path, differences)

    def lines(self) -> list[str]:
        """A line for what is wrong, and one for each difference."""
        path, differences = self.args
        first = f"{path}: cannot resume, the work there was started with other settings; add --overwrite to start again"
        return [first, *_shortened(differences)]

    def __str__(self) -> str:
        return "; ".join(self.lines())


class OutcomeError(UsageError):
    """An outcome that cannot be learned from: the kind of reason, which is counted, and what is wrong."""

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(reason, problem)

    def __str__(self) -> str:
        return str(self.args[1])


class UnknownNameError(UsageError):
    """A name under which no plug-in is registered."""

    def __init__(self, kind: str, name: str, names: tuple[str, ...]) -> None:
        super().__init__(kind, name, names)

    def __str__(self) -> str:
        kind, name, names = self.args
        hint = suggestion(str(name), names)
        return f"unknown {kind} {name!r}{hint}; known: {', '.join(names) or 'none'}"


class UnknownFormatError(UsageError):
    """Files whose format is not clear: what each looks like, and what can be done."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(problems)

    def lines(self) -> list[str]:
        """A line for each file, and for each format that could be named."""
        return list(self.args[0])

    def __str__(self) -> str:
        return "; ".join(self.lines())


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value was written: a line and column of a file counted from 1, or (line 0) a flag.

    >>> str(Place("tools.yaml", 4, 3)), str(Place("--set train.l2"))
    ('tools.yaml:4:3', '--set train.l2')
    """

    source: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: where it was written, which key it is about ("" for the text as a whole), what is wrong.

    >>> str(Problem(Place("tools.yaml", 4, 3), "train.l2", "'abc' is not a number"))
    "tools.yaml:4:3: train.l2: 'abc' is not a number"
    """

    place: Place
    path: str
    message: str

    def __str__(self) -> str:
        is_named = self.place.source.endswith(f" {self.path}")  # --set train.l2 names the key already
        return (
            f"{self.place}: {self.message}"
            if is_named or not self.path
            else f"{self.place}: {self.path}: {self.message}"
        )


class ConfigError(UsageError):
    """A config that cannot be used, with everything that is wrong with it, in the order it was written."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The mistakes, for callers that show them in another way."""
        return tuple(self.args[0])

    def lines(self) -> list[str]:
        """A line for each mistake, for as many as a person reads."""
        return _shortened(self.problems)

    def __str__(self) -> str:
        return "\n".join(self.lines())


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


def _shortened(lines: Sequence[object]) -> list[str]:
    unseen = len(lines) - MOST_PROBLEMS_SHOWN
    return [*map(str, lines[:MOST_PROBLEMS_SHOWN]), *([f"and {unseen} more"] if unseen > 0 else [])]


def suggestion(name: str, names: Iterable[str]) -> str:
    """'; did you mean X?' with the nearest of the names, to append to a message; "" where none is near.

    >>> suggestion("newtn", ["descent", "newton"])
    '; did you mean newton?'
    >>> suggestion("top-1", ["accuracy", "top1_accuracy"])
    '; did you mean top1_accuracy?'
    """
    import difflib

    listed = list(names)
    letters = _letters(name)
    near = difflib.get_close_matches(name, listed, n=1) or sorted(
        (longer for longer in listed if letters and _letters(longer).startswith(letters)), key=len
    )
    return f"; did you mean {near[0]}?" if near else ""


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def count(number: int, noun: str, plural: str = "") -> str:
    """A number of things, for a message.

    >>> count(1, "query", "queries"), count(1135, "query", "queries")
    ('1 query', '1,135 queries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def reason(error: Exception) -> str:
    """The reason that the system gives, without error number and path.

    >>> reason(OSError(28, "No space left on device"))
    'no space left on device'
    """
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return text[:1].lower() + text[1:]
