"""CSV and TSV tables with a header, and their rows as samples: a candidate each, or a query with a list of them."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, groupby
from typing import Any

import msgspec

from ltr.errors import DataError, FieldError, SampleError, UsageError, count, suggestion
from ltr.files import TextFile, read_lines
from ltr.importers.frame import Imported, Opening, Tally, finite, importer
from ltr.jsonl import FAILURES, excerpt
from ltr.paths import AnyPath, shown

Line = dict[str, Any]
Row = tuple[int, Line]  # the line that it begins in, and its sample

DELIMITERS = ",;\t|"  # of equally frequent ones the first
NAMES: Mapping[str, tuple[str, ...]] = {  # what a header may call each meaning, the likeliest first
    "query": ("query", "question", "user_query", "utterance", "prompt", "user_message", "request", "text"),
    "candidates": ("candidates", "tools", "options", "offered"),
    "tool": ("tool", "tool_name", "candidate", "function", "function_name", "api", "item", "item_id", "name"),
    "label": ("label", "is_correct", "correct", "relevance", "clicked", "click"),
    "trace": ("trace_id", "trace", "session_id", "session", "conversation_id", "conversation", "user_id", "user"),
    "node": ("node_id", "node", "query_id", "qid", "turn_id", "turn"),
    "description": ("tool_description", "description"),
    "time": ("time", "timestamp", "created_at", "date"),
}
RIGHT = ("right", "answer", "chosen", "target", *NAMES["tool"])  # the right ones, beside a list of candidates
ANSWERS = {"1": 1.0, "0": 0.0, "true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
LIST_MARKS = "|;,"

CONTRADICTION = "rows that give a tool another label than a row of the same query: the highest counts"
REPEATED_ROW = "rows that repeat a row of the same query"
SAME_QUERY = "groups whose query is that of the group before"


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file with a header, and its rows, which are read when they are asked for."""

    path: str  # as messages show it
    header: tuple[str, ...]
    rows: Iterator[tuple[int, list[str]]]  # the line that a row begins in, and its cells, as many as the header has


def read_table(path: AnyPath) -> TableFile:
    """Return the table in the file; a name that stands twice in the header, and a row of another width, are refused."""
    lines, above = _decoded(path), list[str]()
    for line_text in lines:
        above.append(line_text)
        if line_text.strip():
            break
    else:
        raise DataError(f"{shown(path)}: no line; a header with the names of the columns is needed")
    rows = _cells(path, chain(above, lines), delimiter_of(above[-1]))
    line, names = next(rows)
    header = tuple(name.strip() for name in names)
    for name in header:
        if name and header.count(name) > 1:
            raise SampleError(shown(path), line, "", f"the header names {excerpt(name)} twice: keep one of them")

    def checked() -> Iterator[tuple[int, list[str]]]:
        for line, row in rows:
            if len(row) != len(header):
                problem = f"{count(len(row), 'cell')} where the header has {count(len(header), 'name')}"
                raise SampleError(shown(path), line, "", f"{problem}; quote a cell that holds the separator")
            yield line, row

    return TableFile(shown(path), header, checked())


def delimiter_of(header: str) -> str:
    """Return what stands most often between the names of a header, outside quotes; a comma where nothing does.

    >>> delimiter_of('a;"b,c,d";e')
    ';'
    """
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


def _decoded(path: AnyPath) -> Iterator[str]:
    end = b""
    for number, line in read_lines(path, with_returns=True):
        if number == 1 and line.endswith(b"\r"):
            end = b"\r"  # lines end in CRLF; in a file whose lines do not, a CR inside quotes is the cell's
        try:
            yield line.removesuffix(end).decode() + "\n"  # a quoted cell may go on in the next line
        except UnicodeDecodeError as error:
            problem = f"byte {error.start + 1} is not UTF-8; save the table as UTF-8"
            raise SampleError(shown(path), number, "", problem) from None


def _cells(path: AnyPath, lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows of cells without their marks, each with the line it begins in; blank lines are skipped."""
    csv.field_size_limit(TextFile.limit())  # for the whole process: 131,072 characters are less than a long message
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        begins = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            problem = "a quote is not closed" if "end of data" in str(error) or "limit" in str(error) else str(error)
            raise SampleError(shown(path), begins, "", f"{problem}; a row of a table is needed") from None
        if row is None:
            return
        if row and (len(row) > 1 or row[0].strip()):
            yield begins, [unmarked(cell) for cell in row]


@dataclass(frozen=True, slots=True)
class Columns:
    """A table, and the column of each meaning; those of the features stand apart."""

    table: TableFile
    of: Mapping[str, int]
    features: tuple[int, ...]


def looks_like_table(opening: Opening) -> bool:
    """Whether the first line names a column of queries and one of tools."""
    first, *rest = opening.content.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)
    if opening.document is not None or not rest:
        return False
    marks = str.maketrans(dict.fromkeys(DELIMITERS, "\n"))
    names = {name.strip(' "\r').lower() for name in first.decode(errors="replace").translate(marks).split("\n")}
    return bool(names & set(NAMES["query"]) and names & {*NAMES["tool"], *NAMES["candidates"]})


@importer("csv", title="a table", looks_like=looks_like_table)
def import_csv(  # noqa: PLR0913  # an option is a parameter
    files: Sequence[str],
    *,
    query: str = "",
    tool: str = "",
    label: str = "",
    trace: str = "",
    node: str = "",
    candidates: str = "",
    description: str = "",
    time: str = "",
    features: str = "",
) -> Imported:
    """A row is a candidate with its label, or a query with a list of candidates and the right ones among them.

    Each option names a column (features: several, with commas between). Columns that are not named are guessed by the
    header, and the notes say how. Without a column of labels the tool of each row is the right one. Without a column
    of nodes, rows that follow each other with one trace and query are a group, and a tool that repeats begins the next;
    a tool alone that contradicts the rows beside it stays with them, and its highest label counts.
    """
    named = {"query": query, "tool": tool, "label": label, "trace": trace, "node": node, "candidates": candidates}
    named |= {"description": description, "time": time}
    named = {meaning: name for meaning, name in named.items() if name}
    own = tuple(name for name in features.split(",") if name)
    tables = [read_table(path) for path in files]  # once: stdin has no second time
    columns, tally = [_columns(table, named, own) for table in tables], Tally()
    notes = dict.fromkeys(note for of_table in columns for note in _notes(of_table, named))
    return Imported(_samples(columns, tally), tuple(notes), tally)


def _columns(table: TableFile, named: Mapping[str, str], own: tuple[str, ...]) -> Columns:
    """The column of each meaning: the named one, else the first of the usual names that no meaning has yet."""
    known = ", ".join(map(excerpt, table.header))
    for name in (*named.values(), *own):
        if name not in table.header:
            near = suggestion(name, table.header)
            raise UsageError(f"{table.path}: no column {excerpt(name)}{near}; known: {known}")
    places = {name.lower(): place for place, name in reversed([*enumerate(table.header)])}
    of = {meaning: table.header.index(name) for meaning, name in named.items()}
    numbers = tuple(table.header.index(name) for name in own)
    for meaning, usual in NAMES.items():
        if meaning in of or (meaning == "tool" and "candidates" in of):
            continue
        free = [places[name] for name in usual if name in places and places[name] not in (*of.values(), *numbers)]
        if free:
            of[meaning] = free[0]
    if "candidates" in of and "label" not in of and "tool" not in of:
        free = [places[name] for name in RIGHT if name in places and places[name] not in of.values()]
        of |= {"label": free[0]} if free else {}
    for meaning, wanted in (("query", "queries"), ("tool", "names of tools")):
        if meaning not in of and not (meaning == "tool" and "candidates" in of):
            problem = f"no column of {wanted} is known; name one of {known}"
            raise DataError(f"{table.path}: {problem}: --option {meaning}=COLUMN")
    return Columns(table, of, numbers)


def _notes(columns: Columns, named: Mapping[str, str]) -> Iterator[str]:
    """What was guessed, and what follows from a column that is not there."""
    guessed = [f"{meaning}={columns.table.header[at]}" for meaning, at in columns.of.items() if meaning not in named]
    if guessed:
        yield f"guessed by the header: {', '.join(guessed)}; --option MEANING=COLUMN names another"
    if "label" not in columns.of:
        yield "no column of labels: the tool of each row is taken to be the right one (label 1)"
    if "trace" not in columns.of:
        yield "no column of traces: queries with equal texts are one trace"


def _samples(tables: Sequence[Columns], tally: Tally) -> Iterator[Line]:
    for columns in tables:
        rows, place = _rows(columns, tally), f"{columns.table.path}:"
        begins = place if len(tables) > 1 else ""  # a key that no column has is the line that the group begins in
        if "candidates" in columns.of:
            for line, sample in rows:
                tally.keep("queries with their candidates")
                yield {"trace_id": sample["trace_id"], "node_id": f"{begins}{line}"} | sample
            continue
        for _, run in groupby(rows, key=lambda row: [row[1].get(key) for key in ("trace_id", "node_id", "query")]):
            groups = _groups(list(run))
            tally.remark(SAME_QUERY, f"{place}{groups[-1][0][0]}", len(groups) - 1)
            for group in groups:
                for sample in _candidates(group, place, tally):
                    tally.keep("rows, each a candidate")
                    yield {"trace_id": sample["trace_id"], "node_id": f"{begins}{group[0][0]}"} | sample


def _rows(columns: Columns, tally: Tally) -> Iterator[Row]:
    """The rows that hold something, each with its line."""
    for line, row in columns.table.rows:
        if not any(map(str.strip, row)):
            tally.skip("an empty row", f"{columns.table.path}:{line}")
            continue
        try:
            yield line, _sample(row, columns)
        except FieldError as cause:
            raise SampleError(columns.table.path, line, *cause.args) from cause


def _groups(run: Sequence[Row]) -> list[list[Row]]:
    """The groups of rows that follow each other with one query: where no column tells, a repeated tool begins the next.

    One tool alone is no list to choose from: where its label contradicts the group beside it, it belongs there.
    """
    if "node_id" in run[0][1]:
        return [list(run)]
    lists: list[list[Row]] = [[]]
    tools: set[str] = set()
    for row in run:
        if row[1]["tool"] in tools:
            lists.append([])
            tools = set()
        lists[-1].append(row)
        tools.add(row[1]["tool"])
    groups: list[list[Row]] = []
    labels: dict[tuple[str, object], float] = {}  # of the last group, by tool and time
    for rows in lists:
        own = {(sample["tool"], sample.get("time")): sample["label"] for _, sample in rows}
        is_one_alone = 1 in (len(own), len(labels))
        if is_one_alone and any(labels.get(key, label) != label for key, label in own.items()):
            groups[-1] += rows
            labels |= own
        else:
            groups.append(rows)
            labels = own
    return groups


def _candidates(group: Sequence[Row], place: str, tally: Tally) -> Iterable[Line]:
    """The samples of a group, a tool once: the row with its highest label; the others are counted."""
    best: dict[object, Row] = {}
    for row in group:
        earlier = best.setdefault(row[1]["tool"], row)
        if earlier is row:
            continue
        ordered = sorted((earlier, row), key=lambda either: -either[1]["label"])  # the earlier one of equals
        best[row[1]["tool"]], (line, left_out) = ordered
        is_same = left_out["label"] == ordered[0][1]["label"]
        tally.skip(REPEATED_ROW if is_same else CONTRADICTION, f"{place}{line}")
    return [sample for _, sample in best.values()]


def _sample(row: list[str], columns: Columns) -> Line:
    """The row as a line of samples, without a node where no column has it; a FieldError says what is wrong with it."""
    cells = {meaning: row[at].strip() for meaning, at in columns.of.items()}
    query = row[columns.of["query"]]
    if not query.strip():
        raise FieldError("", "the query is empty; a text is needed")
    trace = cells.get("trace") or cells.get("node") or f"q-{sha256(query.encode()).hexdigest()[:16]}"
    sample: Line = {"trace_id": trace} | ({"node_id": cells["node"]} if cells.get("node") else {}) | {"query": query}
    if time := cells.get("time"):
        number = finite(time)
        sample["time"] = time if number is None else number
    if "candidates" in cells:
        return sample | {"candidates": _listed(cells)}
    if not cells["tool"]:
        raise FieldError("", "the name of the tool is empty; a name is needed")
    sample |= {"tool": cells["tool"], "label": _label(cells["label"]) if "label" in cells else 1.0}
    if cells.get("description"):
        sample["tool_description"] = cells["description"]
    if columns.features:
        numbers = [finite(row[at]) for at in columns.features]
        if None in numbers:
            text = row[columns.features[numbers.index(None)]]
            raise FieldError("", f"found {excerpt(text)}; a finite number is needed")
        sample["features"] = numbers
    return sample


def _listed(cells: Mapping[str, str]) -> list[Line]:
    """The candidates of a row, and which are right."""
    offered, right = _names(cells["candidates"]), _names(cells.get("label", cells.get("tool", "")))
    strange = [name for name in right if name not in offered]
    if strange:
        raise FieldError("", f"{excerpt(strange[0])} is right and not among the candidates; name it there")
    if not offered:
        raise FieldError("", "the list of candidates is empty; names with | between, or a JSON array, are needed")
    return [{"tool": name, "label": float(name in right)} for name in offered]


def _names(text: str) -> list[str]:
    """The names of a cell: a JSON array, or texts with one of | ; and , between, each once.

    >>> _names("a|b, c|a"), _names('["a", "b"]'), _names("")
    (['a', 'b, c'], ['a', 'b'], [])
    """
    if text.startswith("["):
        try:
            return [*dict.fromkeys(msgspec.json.decode(text, type=list[str]))]
        except FAILURES:
            raise FieldError("", f"found {excerpt(text)}; a JSON array of names is needed") from None
    mark = next((mark for mark in LIST_MARKS if mark in text), LIST_MARKS[0])
    return [*dict.fromkeys(name.strip() for name in text.split(mark) if name.strip())]


def _label(text: str) -> float:
    """0 or more; true and false, yes and no, in any case.

    >>> _label("True"), _label("no"), _label("2.5")
    (1.0, 0.0, 2.5)
    """
    label = ANSWERS.get(text.lower(), finite(text))
    if label is None or label < 0:
        raise FieldError("", f"found label {excerpt(text)}; 0 or 1, true or false, yes or no, or a grade is needed")
    return label


# Wide signs too: spreadsheets take them for the narrow ones. A text that looks marked is marked once more, so that
# every text comes back as it was.
FORMULA = re.compile("'*[=+@＝＋－＠\t\r\n-]")


def marked(text: str) -> str:
    """Return the text as a cell that no spreadsheet runs.

    >>> marked("=1+1"), marked("-1.5"), marked("plain")
    ("'=1+1", "'-1.5", 'plain')
    """
    return f"'{text}" if FORMULA.match(text) else text


def unmarked(cell: str) -> str:
    """Return the text that was marked.

    >>> unmarked("'=1+1"), unmarked("'tis plain")
    ('=1+1', "'tis plain")
    """
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
