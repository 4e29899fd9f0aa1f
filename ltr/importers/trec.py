"""TREC runs and qrels, by the rules of trec_eval -c, straight into columns, a block of lines at a time.

A line of a run is TOPIC Q0 DOC RANK SCORE TAG, a line of qrels TOPIC ITERATION DOC GRADE; iteration, Q0, rank and
tag are not read. Scores are float64. A document stands once in a topic. Lines that begin with # are comments, unless
topics may begin with it.

Tokens are arrays of bytes, as wide as the longest and a multiple of eight: numpy cuts them out, compares and hashes
them as words of eight bytes, without a Python object for each.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ltr.arrays import LARGEST, FloatArray, IntArray
from ltr.errors import DataError, SampleError
from ltr.files import ContentDigest, TextFile
from ltr.jsonl import excerpt
from ltr.paths import AnyPath, shown
from ltr.samples import SourceFile

Tokens = npt.NDArray[np.bytes_]
Hashes = npt.NDArray[np.uint64]
Topics = dict[bytes, int]  # codes in order of first appearance

WORD = np.dtype("<u8")
FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype=np.uint64)  # the first 0 .. 8 of a word
TAB, NEWLINE, RETURN, SPACE = np.frombuffer(b"\t\n\r ", dtype=np.uint8)  # the white characters: tab to return, space
LONGEST_TOKEN = 256


@dataclass(frozen=True, slots=True)
class Layout:
    """A format: how many columns a line has, the fewest it may have, what they are called, which are wanted.

    The last wanted column is a number, and `number` what it is. Lines that begin with `comment` are none of the data.
    """

    width: int
    least: int
    form: str
    wanted: tuple[int, ...]
    number: str
    comment: bytes = b"#"  # b"": there are no comments


RUN = Layout(6, 5, "TOPIC Q0 DOC RANK SCORE TAG", (0, 2, 4), "score")
QRELS = Layout(4, 4, "TOPIC ITERATION DOC GRADE", (0, 2, 3), "grade")


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """The wanted columns of some lines."""

    lines: IntArray  # numbers
    columns: list[Tokens]
    likely_data: int = 0  # comments that have the columns of data


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Entries:
    """The lines of a run or of qrels: topic, document, and the score or grade between them."""

    topics: IntArray
    docs: Tokens
    values: FloatArray
    lines: IntArray
    hashes: Hashes  # of topic and document; what has equal hashes is compared before it is taken for equal
    source: SourceFile
    likely_data: int  # comments that have the columns of data

    def select(self, rows: IntArray) -> "Entries":
        """Return some of the lines."""
        columns = {name: getattr(self, name)[rows] for name in ("topics", "docs", "values", "lines", "hashes")}
        return replace(self, **columns)


def read_entries(path: AnyPath, layout: Layout, topics: Topics | None = None, *, hash_topics: bool = False) -> Entries:
    """Read the lines of a run or of qrels; topics that `topics` lacks are added to it."""
    topics, digest = {} if topics is None else topics, ContentDigest()
    codes, docs, values, lines = [], [], [], []
    likely_data = 0
    for fields in _read_fields(path, replace(layout, comment=b"") if hash_topics else layout, digest):
        likely_data += fields.likely_data
        if len(fields.lines):
            topic_tokens, doc_tokens, number_tokens = fields.columns
            codes.append(_topic_codes(topic_tokens, topics))
            docs.append(doc_tokens)
            values.append(_as_numbers(path, fields.lines, number_tokens, layout.number))
            lines.append(fields.lines)
    if not lines:
        remedy = " (lines that begin with # are comments without --hash-topics)" if likely_data else ""
        raise DataError(f"{shown(path)}: no line; {layout.form} is needed{remedy}")
    all_codes, all_docs, all_lines = np.concatenate(codes), np.concatenate(docs), np.concatenate(lines)
    entries = Entries(
        topics=all_codes,
        docs=all_docs,
        values=np.concatenate(values),
        lines=all_lines,
        hashes=token_hashes(all_docs, all_codes),
        source=SourceFile(shown(path), 0, int(all_lines[-1]), digest.sha256, digest.byte_count),
        likely_data=likely_data,
    )
    _refuse_duplicates(entries)
    return entries


def _topic_codes(tokens: Tokens, topics: Topics) -> IntArray:
    """The code of each line's topic; a topic is looked up once for all lines that follow each other."""
    starts = np.flatnonzero(np.concatenate([[True], tokens[1:] != tokens[:-1]]))
    codes = [topics.setdefault(token, len(topics)) for token in tokens[starts].tolist()]
    return np.repeat(np.array(codes, dtype=np.int64), np.diff(starts, append=len(tokens)))


def _refuse_duplicates(entries: Entries) -> None:
    """Raise for the first document that stands twice in its topic."""
    ordered = np.sort(entries.hashes)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return
    seen: dict[tuple[int, bytes], int] = {}
    for row in np.flatnonzero(np.isin(entries.hashes, twice)).tolist():
        doc = bytes(entries.docs[row])
        earlier = seen.setdefault((int(entries.topics[row]), doc), row)
        if earlier != row:
            problem = f"document {excerpt(doc.decode())} stands in line {entries.lines[earlier]} for the same topic"
            raise SampleError(entries.source.path, int(entries.lines[row]), "", f"{problem}: keep one of them")


def _read_fields(path: AnyPath, layout: Layout, digest: ContentDigest) -> Iterator[Fields]:
    """The wanted columns. Blank lines and comments are skipped, and so are columns beyond the last."""
    for first, block in TextFile(path, digest).line_blocks():
        has_comment = layout.comment and (block.startswith(layout.comment) or b"\n" + layout.comment in block)
        edges = None if has_comment else regular_edges(block, layout.width)
        yield _line_by_line(path, first, block, layout) if edges is None else _at_edges(first, block, edges, layout)


def regular_edges(block: bytes, width: int) -> IntArray | None:
    r"""Start and end of each token, a row for each line; None unless every line is plain and has `width` columns.

    >>> regular_edges(b"a b\nc  d\r\n", 2).tolist()
    [[0, 1, 2, 3], [4, 5, 7, 8]]
    >>> regular_edges(b"a\nb c d\n", 2) is None
    True
    """
    if not block.isascii():
        return None
    characters = np.frombuffer(block, dtype=np.uint8)
    is_white = characters <= SPACE
    edges = np.flatnonzero(is_white[1:] != is_white[:-1]) + 1
    if not is_white[0]:
        edges = np.concatenate([[0], edges])
    ends = np.flatnonzero(characters == NEWLINE)
    is_odd = is_white & (characters != SPACE) & (characters - TAB > RETURN - TAB)  # wraps round below the tab
    if len(edges) != 2 * width * len(ends) or is_odd.any():
        return None
    rows = edges.reshape(-1, 2 * width)
    fits = (rows[:, -1] <= ends).all() and (rows[1:, 0] > ends[:-1]).all()
    longest = (rows[:, 1::2] - rows[:, ::2]).max(initial=0)
    return rows if fits and longest <= LONGEST_TOKEN else None


def _at_edges(first: int, block: bytes, edges: IntArray, layout: Layout) -> Fields:
    padded = block + bytes(LONGEST_TOKEN)
    windows: Hashes = np.ndarray(len(padded) - 7, dtype=WORD, buffer=padded, strides=(1,))  # a word from every byte on
    columns = []
    for column in layout.wanted:
        starts, ends = edges[:, 2 * column], edges[:, 2 * column + 1]
        lengths = ends - starts
        places = range(0, int(lengths.max()), 8)
        words = [windows[starts + at] & FIRST_BYTES[np.clip(lengths - at, 0, 8)] for at in places]
        columns.append(np.column_stack(words).view(f"S{8 * len(words)}").ravel())
    return Fields(np.arange(first, first + len(edges)), columns)


def _line_by_line(path: AnyPath, first: int, block: bytes, layout: Layout) -> Fields:
    lines: list[int] = []
    columns: list[list[bytes]] = [[] for _ in layout.wanted]
    likely_data = 0
    for number, line in enumerate(block.split(b"\n"), start=first):
        tokens = line.split()
        if not tokens:
            continue
        if layout.comment and line.startswith(layout.comment):
            likely_data += len(tokens) >= layout.least and _is_number(tokens[layout.wanted[-1]])
            continue
        if problem := _problem(line, tokens, layout):
            raise SampleError(shown(path), number, "", problem)
        lines.append(number)
        for column, place in zip(columns, layout.wanted, strict=True):
            column.append(tokens[place])
    return Fields(
        np.array(lines, dtype=np.int64), [np.array(column, dtype=np.bytes_) for column in columns], likely_data
    )


def _problem(line: bytes, tokens: list[bytes], layout: Layout) -> str:
    if len(tokens) < layout.least:
        return f"found {len(tokens)} columns; {layout.form} is needed"
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} is not UTF-8"
    if b"\0" in line:
        return "found a zero byte; text is needed"
    longest = max(len(tokens[place]) for place in layout.wanted)
    return f"found {longest} bytes in one column; at most {LONGEST_TOKEN} are read" if longest > LONGEST_TOKEN else ""


def _as_numbers(path: AnyPath, lines: IntArray, column: Tokens, field: str) -> FloatArray:
    """The tokens as finite numbers with finite differences; an error names the first other token."""
    tokens = column.tolist()
    try:
        values = np.array(list(map(float, tokens)), dtype=np.float64)
        if (np.abs(values) <= LARGEST).all() and b"_" not in b" ".join(tokens):  # float takes 1_000 for a number
            return values
    except ValueError:
        pass
    bad = next(place for place, token in enumerate(tokens) if not _is_number(token))
    problem = f"found {excerpt(tokens[bad].decode())}; a finite number is needed, from {-LARGEST:g} to {LARGEST:g}"
    raise SampleError(shown(path), int(lines[bad]), field, problem)


def _is_number(token: bytes) -> bool:
    try:
        return abs(float(token)) <= LARGEST and b"_" not in token
    except ValueError:
        return False


def token_hashes(tokens: Tokens, seed: IntArray | int = 0) -> Hashes:
    """Return a 64-bit hash of each token and its seed; equal tokens have equal hashes in arrays of any width.

    >>> token_hashes(np.array([b"abc"])) == token_hashes(np.array([b"abc", b"a longer name"]))[:1]
    array([ True])
    """
    width = -(-tokens.dtype.itemsize // 8)
    words = tokens.astype(f"S{8 * width}", copy=False).view(WORD).reshape(-1, width)
    mixed = np.full(len(words), seed, dtype=np.int64).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for column in words.T:
        spread = (mixed ^ column) * np.uint64(0xD6E8FEB86659FD93)
        mixed = np.where(column, spread ^ (spread >> np.uint64(32)), mixed)  # a word of padding changes nothing
    return mixed
