"""Times in logs, as nanoseconds."""

from ltr.data.schema import seconds
from ltr.errors import FieldError

NANOSECONDS = 1_000_000_000
LATEST = 1 << 62  # nanoseconds: the year 2116


def nanoseconds(time: object) -> int | None:
    """A time as an exporter writes it, ISO 8601 or seconds since 1970; None where it is none.

    >>> nanoseconds("1970-01-01T00:00:02.5Z"), nanoseconds("soon")
    (2500000000, None)
    """
    if not isinstance(time, str | int | float) or isinstance(time, bool):
        return None
    try:
        moment = round(seconds(time) * NANOSECONDS)
    except (FieldError, OverflowError, ValueError):
        return None
    return moment if 0 <= moment < LATEST else None
