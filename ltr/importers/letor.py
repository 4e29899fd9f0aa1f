"""LETOR and SVMlight files as samples: `GRADE qid:ID 1:0.5 3:0.25 # comment`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ltr.errors import DataError, SampleError
from ltr.files import read_lines, shown
from ltr.importers.registry import Imported, importer
from ltr.jsonlines import excerpt

FORM = "GRADE qid:ID 1:NUMBER 2:NUMBER ... # comment"
MOST_FEATURES = 100_000


@dataclass(frozen=True, slots=True)
class Row:
    """One line."""

    path: str
    line: int
    grade: float
    query: str
    values: dict[int, float]
    comment: str


@importer("letor")
def import_letor(files: Sequence[str]) -> Imported:
    """A line for each document, its features in order of their numbers, 0 where a line names none.

    A document is named by its comment where the comments of its query all differ and none is empty, else by its place
    in the query: d1, d2. The comment itself stays in the key `comment`.
    """
    rows = [row for path in files for row in _rows(path)]
    if not rows:
        raise DataError(f"{', '.join(map(shown, files))}: no line; {FORM} is needed")
    return Imported(_samples(rows))


def _samples(rows: list[Row]) -> Iterator[dict[str, Any]]:
    width = max(max(row.values, default=1) for row in rows)
    by_query: dict[str, list[Row]] = {}
    for row in rows:
        by_query.setdefault(row.query, []).append(row)
    for query, members in by_query.items():
        comments = [row.comment for row in members]
        is_naming = all(comments) and len(set(comments)) == len(comments)
        for place, row in enumerate(members, start=1):
            yield {
                "trace_id": query,
                "node_id": "",
                "query": query,
                "tool": row.comment if is_naming else f"d{place}",
                "label": row.grade,
                "features": [row.values.get(number, 0.0) for number in range(1, width + 1)],
            } | ({"comment": row.comment} if row.comment else {})


def _rows(path: str) -> Iterator[Row]:
    for number, line in read_lines(path):
        if line.strip() and not line.lstrip().startswith(b"#"):
            try:
                yield _row(path, number, line.decode())
            except ValueError as error:  # UnicodeDecodeError is one
                problem = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
                raise SampleError(shown(path), number, "", f"{problem}; {FORM} is needed") from None


def _row(path: str, number: int, line: str) -> Row:
    said, _, comment = line.partition("#")
    grade, *rest = said.split() or [""]
    if not rest or not rest[0].startswith("qid:") or rest[0] == "qid:":
        raise ValueError(f"found {excerpt(said.strip())} without qid:ID")
    values: dict[int, float] = {}
    for token in rest[1:]:
        name, _, value = token.partition(":")
        if not (name.isascii() and name.isdecimal()) or not 1 <= int(name[:7]) <= MOST_FEATURES or len(name) > 6:
            raise ValueError(f"found {excerpt(token)}; features are numbered from 1 to {MOST_FEATURES:,}")
        if int(name) in values:
            raise ValueError(f"feature {name} stands twice")
        values[int(name)] = _number(value)
    label = _number(grade)
    if label < 0:
        raise ValueError(f"grade {grade} is below 0")
    return Row(path, number, label, rest[0].removeprefix("qid:"), values, comment.strip())


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf") or "_" in text:
        raise ValueError(f"found {excerpt(text)}; a finite number")
    return value
