"""CSV and TSV tables as samples: a row is a candidate, or a query with a column of candidates."""

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from ltr.data.importers.delimited_text import DELIMITERS, TableFile, read_table
from ltr.data.importers.file_beginning import Opening
from ltr.data.importers.registry import Imported, importer
from ltr.data.importers.tally import Tally
from ltr.data.json_decode_errors import FAILURES
from ltr.data.value_excerpts import excerpt
from ltr.errors import DataError, FieldError, SampleError, UsageError, suggestion

Cells = Mapping[str, str]  # of a row, by meaning
Line = dict[str, Any]
Row = tuple[int, Line]  # the line that it begins in, and its sample

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


class Columns(NamedTuple):
    """The column of each meaning; those of the features stand apart."""

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
    own = tuple(name for name in features.split(",") if name)
    tables = [read_table(path) for path in files]  # once: stdin has no second time
    named = {meaning: name for meaning, name in named.items() if name}
    columns = [_columns(table, named, own) for table in tables]
    notes = [note for pair in zip(tables, columns, strict=True) for note in _notes(*pair, named)]
    tally = Tally()
    return Imported(_samples(tables, columns, tally), tuple(dict.fromkeys(notes)), tally)


def _columns(table: TableFile, named: Mapping[str, str], own: tuple[str, ...]) -> Columns:
    """The column of each meaning: the named one, else the first of the usual names that no meaning has yet."""
    _refuse_unknown(table, (*named.values(), *own))
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
    _refuse_missing(table, of)
    return Columns(of, numbers)


def _refuse_unknown(table: TableFile, names: Iterable[str]) -> None:
    for name in names:
        if name not in table.header:
            near = suggestion(name, table.header)
            raise UsageError(f"{table.path}: no column {excerpt(name)}{near}; known: {_header_text(table)}")


WANTED = {"query": "queries", "tool": "names of tools"}


def _refuse_missing(table: TableFile, meanings: Container[str]) -> None:
    for meaning in WANTED:
        if meaning not in meanings and not (meaning == "tool" and "candidates" in meanings):
            problem = f"no column of {WANTED[meaning]} is known; name one of {_header_text(table)}"
            raise DataError(f"{table.path}: {problem}: --option {meaning}=COLUMN")


def _header_text(table: TableFile) -> str:
    return ", ".join(map(excerpt, table.header))


def _notes(table: TableFile, columns: Columns, named: Mapping[str, str]) -> Iterator[str]:
    """What was guessed, and what follows from a column that is not there."""
    guessed = [f"{meaning}={table.header[at]}" for meaning, at in columns.of.items() if meaning not in named]
    if guessed:
        yield f"guessed by the header: {', '.join(guessed)}; --option MEANING=COLUMN names another"
    if "label" not in columns.of:
        yield "no column of labels: the tool of each row is taken to be the right one (label 1)"
    if "trace" not in columns.of:
        yield "no column of traces: queries with equal texts are one trace"


def _samples(tables: Sequence[TableFile], columns_of_tables: Sequence[Columns], tally: Tally) -> Iterator[Line]:
    for table, columns in zip(tables, columns_of_tables, strict=True):
        rows = _rows(table, columns, tally)
        if "candidates" in columns.of:
            for line, sample in rows:
                tally.keep("queries with their candidates")
                yield _with_node(sample, table, line, tables)
            continue
        for _, run in groupby(rows, key=lambda row: [row[1].get(key) for key in ("trace_id", "node_id", "query")]):
            groups = _groups(list(run))
            tally.remark(SAME_QUERY, f"{table.path}:{groups[-1][0][0]}", len(groups) - 1)
            for group in groups:
                for sample in _candidates(group, table.path, tally):
                    tally.keep("rows, each a candidate")
                    yield _with_node(sample, table, group[0][0], tables)


def _with_node(sample: Line, table: TableFile, line: int, tables: Sequence[TableFile]) -> Line:
    """The sample with the key of its group: where no column has one, the line that the group begins in."""
    begins = f"{table.path}:{line}" if len(tables) > 1 else str(line)
    return {"trace_id": sample["trace_id"], "node_id": begins} | sample


def _rows(table: TableFile, columns: Columns, tally: Tally) -> Iterator[Row]:
    """The rows that hold something, each with its line."""
    for line, row in table.rows:
        if not any(map(str.strip, row)):
            tally.skip("an empty row", f"{table.path}:{line}")
            continue
        try:
            yield line, _sample(row, columns)
        except FieldError as cause:
            raise SampleError(table.path, line, *cause.args) from cause


def _groups(run: Sequence[Row]) -> list[list[Row]]:
    """The groups of rows that follow each other with one query: where no column tells, a repeated tool begins the next.

    One tool alone is no list to choose from: where its label contradicts the group beside it, it belongs there.
    """
    if "node_id" in run[0][1]:
        return [list(run)]
    groups: list[list[Row]] = []
    labels: dict[tuple[str, object], float] = {}  # of the last group, by tool and time
    for rows in _lists(run):
        own = {(sample["tool"], sample.get("time")): sample["label"] for _, sample in rows}
        is_one_alone = 1 in (len(own), len(labels))
        if is_one_alone and any(labels.get(key, label) != label for key, label in own.items()):
            groups[-1] += rows
            labels |= own
        else:
            groups.append(rows)
            labels = own
    return groups


def _lists(run: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows in lists of which none has a tool twice."""
    rows: list[Row] = []
    tools: set[str] = set()
    for row in run:
        if row[1]["tool"] in tools:
            yield rows
            rows, tools = [], set()
        rows.append(row)
        tools.add(row[1]["tool"])
    yield rows


def _candidates(group: Sequence[Row], path: str, tally: Tally) -> Iterable[Line]:
    """The samples of a group, a tool once: the row with its highest label; the others are counted."""
    best: dict[object, Row] = {}
    for row in group:
        earlier = best.setdefault(row[1]["tool"], row)
        if earlier is row:
            continue
        ordered = sorted((earlier, row), key=lambda either: -either[1]["label"])  # the earlier one of equals
        best[row[1]["tool"]], (line, left_out) = ordered
        is_same = left_out["label"] == ordered[0][1]["label"]
        tally.skip(REPEATED_ROW if is_same else CONTRADICTION, f"{path}:{line}")
    return [sample for _, sample in best.values()]


def _sample(row: list[str], columns: Columns) -> Line:
    """The row as a line of samples, without a node where no column has it; a FieldError says what is wrong with it."""
    cells = {meaning: row[at].strip() for meaning, at in columns.of.items()}
    query = row[columns.of["query"]]
    if not query.strip():
        raise FieldError("", "the query is empty; a text is needed")
    tool = "" if "candidates" in cells else cells["tool"]
    trace = cells.get("trace") or cells.get("node") or f"q-{sha256(query.encode()).hexdigest()[:16]}"
    sample: Line = {"trace_id": trace} | ({"node_id": cells["node"]} if cells.get("node") else {}) | {"query": query}
    if cells.get("time"):
        sample["time"] = _time(cells["time"])
    if "candidates" in cells:
        return sample | {"candidates": _listed(cells)}
    if not tool:
        raise FieldError("", "the name of the tool is empty; a name is needed")
    sample |= {"tool": tool, "label": _label(cells["label"]) if "label" in cells else 1.0}
    if cells.get("description"):
        sample["tool_description"] = cells["description"]
    if columns.features:
        sample["features"] = [_number(row[at]) for at in columns.features]
    return sample


def _listed(cells: Cells) -> list[Line]:
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
    label = ANSWERS.get(text.lower())
    if label is None:
        try:
            label = _number(text)
        except FieldError:
            label = -1.0
    if label < 0:
        raise FieldError("", f"found label {excerpt(text)}; 0 or 1, true or false, yes or no, or a grade is needed")
    return label


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise FieldError("", f"found {excerpt(text)}; a finite number is needed")
    return value


def _time(text: str) -> float | str:
    """Seconds as a number, else the text."""
    try:
        return _number(text)
    except FieldError:
        return text
