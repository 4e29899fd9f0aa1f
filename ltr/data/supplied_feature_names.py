"""The names of ready numbers: columns of features that samples bring along."""

from ltr.errors import DataError


def unnamed(count: int) -> tuple[str, ...]:
    """The names of columns that nobody named.

    >>> unnamed(2)
    ('x1', 'x2')
    """
    return tuple(f"x{number}" for number in range(1, count + 1))


def refuse_other_columns(names: tuple[str, ...], columns: tuple[str, ...]) -> None:
    """Raise unless the columns of samples are those of the model; unnamed ones need only be as many."""
    are_unnamed = columns == unnamed(len(columns)) or names == unnamed(len(names))
    if columns != names and not (are_unnamed and len(columns) == len(names)):
        raise DataError(f"the samples bear the features {', '.join(columns)}; the model has {', '.join(names)}")
