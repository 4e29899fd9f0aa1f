"""Exit codes: what went wrong, for scripts."""

from ltr.errors import DataError, DiskError, LtrError, ResumeError, ThresholdError, UsageError

EXIT_CODES = {UsageError: 2, DataError: 3, ThresholdError: 4, ResumeError: 5, DiskError: 74}  # any other LtrError: 1


def exit_code(error: LtrError) -> int:
    """The documented code of the nearest class that has one."""
    return next((EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES), 1)
