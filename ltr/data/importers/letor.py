"""LETOR and SVMlight files as samples: `GRADE qid:ID 1:0.5 3:0.25 # comment`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ltr.data.importers.importing import Imported, importer
from ltr.data.jsonlines import excerpt
from ltr.errors import DataError, SampleError, UsageError
from ltr.files.reading import STDIN, read_lines, shown

FORM = "GRADE qid:ID 1:NUMBER 2:NUMBER ... # comment"
MOST_FEATURES = 100_000


@dataclass(frozen=True, slots=True)
class LetorLine:
    """One line: grade, query, features by number, comment."""

    grade: float
    query: str
    values: dict[int, float]
    comment: str


@importer("letor")
def import_letor(files: Sequence[str]) -> Imported:
    """A line for each document, its features in order of their numbers, 0 where a line names none.

    A document is named by its comment where the comments of its query all differ and none is empty, else by its place
    in the query: d1, d2. The key `comment` holds the comment itself.

    The files are read twice, first for the number of features and the names of the documents, so that no file has to
    fit into memory.
    """
    if STDIN in files:
        raise UsageError("LETOR lines are read twice, and - (stdin) can be read once only: name a file")
    width, comments = 1, dict[str, list[str]]()
    for path in files:
        for row in _rows(path):
            width = max([width, *row.values])
            comments.setdefault(row.query, []).append(row.comment)
    if not comments:
        raise DataError(f"{', '.join(files)}: no line; {FORM} is needed")
    named = {query for query, names in comments.items() if all(names) and len(set(names)) == len(names)}
    return Imported(_samples(files, width, named))


def _samples(files: Sequence[str], width: int, named: set[str]) -> Iterator[dict[str, object]]:
    places = Counter[str]()
    for path in files:
        for row in _rows(path):
            places[row.query] += 1
            yield {
                "trace_id": row.query,
                "node_id": "",
                "query": row.query,
                "tool": row.comment if row.query in named else f"d{places[row.query]}",
                "label": row.grade,
                "features": [row.values.get(number, 0.0) for number in range(1, width + 1)],
            } | ({"comment": row.comment} if row.comment else {})


def _rows(path: str) -> Iterator[LetorLine]:
    for number, line in read_lines(path):
        if line.strip() and not line.lstrip().startswith(b"#"):
            try:
                yield _parsed(line.decode())
            except ValueError as error:  # UnicodeDecodeError is one
                problem = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
                raise SampleError(shown(path), number, "", f"{problem}; {FORM} is needed") from None


def _parsed(line: str) -> LetorLine:
    content, _, comment = line.partition("#")
    grade, *rest = content.split() or [""]
    if not rest or not rest[0].startswith("qid:") or rest[0] == "qid:":
        raise ValueError(f"found {excerpt(content.strip())} without qid:ID")
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
    return LetorLine(label, rest[0].removeprefix("qid:"), values, comment.strip())


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf") or "_" in text:
        raise ValueError(f"found {excerpt(text)}; a finite number")
    return value
