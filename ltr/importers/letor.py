"""LETOR and SVMlight files as samples: `GRADE qid:ID 1:0.5 3:0.25 # comment`.

Lines without qid belong to queries whose sizes stand in a side file, one a line, as LightGBM (`.query`) and XGBoost
(`.group`) write them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ltr.errors import DataError, SampleError, UsageError, count
from ltr.files import read_lines
from ltr.importers.frame import Imported, Opening, finite, importer
from ltr.jsonl import excerpt
from ltr.paths import STDIN, shown

FORM = "GRADE qid:ID 1:NUMBER 2:NUMBER ... # comment"
MOST_FEATURES = 100_000
SIDE_FILES = (".query", ".group")


@dataclass(frozen=True, slots=True)
class LetorLine:
    """One line: grade, query ("" without qid), features by number, comment."""

    grade: float
    query: str
    values: dict[int, float]
    comment: str


def looks_like_letor(opening: Opening) -> bool:
    """Whether the first line that is no comment can be read."""
    lines = opening.content.decode(errors="replace").split("\n")[:-1]
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    try:
        return bool(_parsed(first).values)
    except ValueError:
        return False


@importer("letor", title="a LETOR file", looks_like=looks_like_letor)
def import_letor(files: Sequence[str]) -> Imported:
    """A line for each document, its features in order of their numbers, 0 where a line names none.

    A document is named by its comment where the comments of its query all differ and none is empty, else by its place
    in the query: d1, d2. The key `comment` holds the comment itself.

    Lines without qid are dealt to queries by FILE.query or FILE.group beside the file, which holds the size of each.

    The files are read twice, first for the number of features and the names of the documents, so that no file has to
    fit into memory.
    """
    files = [path for path in files if not path.endswith(SIDE_FILES)]
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

    def samples() -> Iterator[dict[str, object]]:
        places = Counter[str]()
        for row in (row for path in files for row in _rows(path)):
            places[row.query] += 1
            name = row.comment if row.query in named else f"d{places[row.query]}"
            features = [row.values.get(number, 0.0) for number in range(1, width + 1)]
            sample = {"trace_id": row.query, "node_id": "", "query": row.query, "tool": name, "label": row.grade}
            yield sample | {"features": features} | ({"comment": row.comment} if row.comment else {})

    return Imported(samples())


def _rows(path: str) -> Iterator[LetorLine]:
    """The lines of a file, each with its query."""
    sizes, side, left, query = None, "", 0, 0
    for number, line in read_lines(path):
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        try:
            row = _parsed(line.decode())
        except ValueError as error:  # UnicodeDecodeError is one
            problem = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            raise SampleError(shown(path), number, "", f"{problem}; {FORM} is needed") from None
        if row.query:
            yield row
            continue
        if sizes is None:
            side = side_file(path)
            if not side:
                problem = f"no qid:ID, and no {shown(path)}{SIDE_FILES[0]} with the sizes of the queries"
                raise SampleError(shown(path), number, "", f"{problem}; {FORM} is needed")
            sizes = _sizes(side)
        while not left:  # a query of size 0 has no line
            query, left = query + 1, next(sizes, -1)
        if left < 0:
            raise SampleError(shown(path), number, "", f"a line more than the sizes in {side} add up to")
        left -= 1
        yield replace(row, query=f"{Path(path).name}:{query}")
    if rest := left + sum(sizes or ()):
        raise DataError(f"{shown(path)}: {count(rest, 'line')} fewer than the sizes in {side} add up to")


def side_file(path: str) -> str:
    """Return the file beside it that holds the sizes of its queries; "" without one."""
    stem = path.removesuffix(".gz") if path.endswith(".gz") else path.removesuffix(".zst")
    names = (f"{name}{end}" for name in dict.fromkeys((path, stem)) for end in SIDE_FILES)
    return next((name for name in names if Path(name).is_file()), "")


def _sizes(side: str) -> Iterator[int]:
    for number, line in read_lines(side):
        if not (text := line.strip()):
            continue
        if not text.isdigit() or len(text) > 12:
            problem = f"found {excerpt(text.decode(errors='replace'))}; the number of lines of a query is needed"
            raise SampleError(shown(side), number, "", problem)
        yield int(text)


def _parsed(line: str) -> LetorLine:
    content, _, comment = line.partition("#")
    grade, *rest = content.split() or [""]
    query = rest.pop(0).removeprefix("qid:") if rest and rest[0].startswith("qid:") else None
    if query == "":
        raise ValueError(f"found {excerpt(content.strip())} without qid:ID")
    values: dict[int, float] = {}
    for token in rest:
        name, _, value = token.partition(":")
        if not (name.isascii() and name.isdecimal()) or not 1 <= int(name[:7]) <= MOST_FEATURES or len(name) > 6:
            raise ValueError(f"found {excerpt(token)}; features are numbered from 1 to {MOST_FEATURES:,}")
        if int(name) in values:
            raise ValueError(f"feature {name} stands twice")
        values[int(name)] = _number(value)
    label = _number(grade)
    if label < 0:
        raise ValueError(f"grade {grade} is below 0")
    return LetorLine(label, query or "", values, comment.strip())


def _number(text: str) -> float:
    if (value := finite(text)) is None:
        raise ValueError(f"found {excerpt(text)}; a finite number")
    return value
