"""What test data share with training data: results on it are better than on new data."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, code_sums
from ltr.audit.findings import EXAMPLES, Finding, first_lines, percentage
from ltr.encoders import HashEncoder, Sparse
from ltr.errors import count
from ltr.samples import Candidates, Groups

NEAR = 0.95  # cosine of hashed character grams from which two queries are nearly the same
SKETCH = 512  # numbers a query is folded into to find its nearest, which alone is compared exactly
MUCH = 0.01  # of the queries: from here on the share is worth a warning
MOST_TEST, MOST_TRAIN = 2000, 50_000  # queries; of more, every k-th
BLOCK = 1 << 22  # products held at once
AT_ONCE = 1000  # texts
MULTIPLIER = 0x9E3779B1


def file_overlap(groups: Groups, training: Groups) -> Iterator[Finding]:
    """Yield the files of the data that are files of the training data too."""
    their_files = {file.sha256 for file in training.candidates.files}
    files = sorted({file.path for file in groups.candidates.files if file.sha256 in their_files})
    if files:
        yield _shared("overlap-file", "file", files, len(files), tuple(files[:EXAMPLES]))


def query_overlap(groups: Groups, training: Groups) -> Iterator[Finding]:
    """Yield the groups, traces and queries of the data that stand in the training data too."""
    ours, theirs = groups.candidates, training.candidates
    training_keys = set(group_keys(theirs))
    same = np.flatnonzero([key in training_keys for key in group_keys(ours)])
    if same.size:
        yield _shared("overlap-group", "group", [], len(same), first_lines(ours, same))
    traces = set(ours.trace_ids) & set(theirs.trace_ids)
    in_trace = np.flatnonzero([ours.trace_ids[trace] in traces for trace in ours.traces.tolist()])
    if len(in_trace) > len(same):
        yield _shared("overlap-trace", "trace", sorted(traces), len(traces), first_lines(ours, in_trace))
    queries = {query_key(text) for text in theirs.query_texts}
    repeated = np.array([query_key(text) in queries for text in ours.query_texts], dtype=bool)[ours.queries]
    if repeated.any():
        texts = [ours.query_texts[code] for code in ours.queries[repeated][:1].tolist()]
        where = first_lines(ours, np.flatnonzero(repeated))
        yield _shared("overlap-query", "query", texts, int(repeated.sum()), where)


def _shared(code: str, noun: str, names: list[str], number: int, where: tuple[str, ...]) -> Finding:
    stand = f"{count(number, noun, 'queries' if noun == 'query' else '')} {'stands' if number == 1 else 'stand'}"
    example = f", such as {names[0][:60]!r}" if names else ""
    message = f"{stand} in the training data, too{example}"
    return Finding(severity="warning", code=code, message=message, where=where, count=number)


def group_keys(candidates: Candidates) -> Iterator[tuple[str, str]]:
    """Yield trace_id and node_id of each group."""
    traces = (candidates.trace_ids[trace] for trace in candidates.traces.tolist())
    return zip(traces, candidates.node_ids, strict=True)


def query_key(text: str) -> str:
    r"""Return a query without case and repeated white space, which is how queries are compared.

    >>> query_key("  Weather in\tParis ")
    'weather in paris'
    """
    return " ".join(text.lower().split())


def near_duplicates(groups: Groups, training: Groups) -> Iterator[Finding]:
    """Yield the share of queries with a training query at a cosine of NEAR or more, among at most MOST_TEST of them."""
    ours = groups.candidates
    codes = np.unique(ours.queries)
    codes = codes[:: -(-len(codes) // MOST_TEST)]
    texts = [query_key(ours.query_texts[code]) for code in codes.tolist()]
    others = list(dict.fromkeys(query_key(text) for text in training.candidates.query_texts))
    cosines = nearest_cosines(texts, others[:: -(-len(others) // MOST_TRAIN)])
    is_near = np.isin(ours.queries, codes[cosines >= NEAR])
    near, compared = int(is_near.sum()), int(np.isin(ours.queries, codes).sum())
    if not near:
        return
    message = (
        f"{percentage(near, compared)} of the queries ({near:,} of {compared:,}) resemble a "
        f"training query to a cosine of {NEAR} or more: what is learned query by query looks better than it is"
    )
    yield Finding(
        severity="warning" if near / compared >= MUCH else "info",
        code="near-duplicates",
        message=message,
        where=first_lines(ours, np.flatnonzero(is_near)),
        count=near,
    )


def nearest_cosines(texts: Sequence[str], others: Sequence[str]) -> FloatArray:
    """Return the cosine of the hashed grams of each text with those of the other text nearest to it by sketches."""
    sketches, nearest = sketched(others).T, np.empty(len(texts), dtype=np.int64)
    at_once = max(BLOCK // max(len(others), 1), 1)
    for first in range(0, len(texts), at_once):
        part = slice(first, first + at_once)
        nearest[part] = (sketched(texts[part]) @ sketches).argmax(axis=1)
    rows = np.arange(len(texts))
    return grams(texts).dots(rows, grams([others[place] for place in nearest.tolist()]), rows)


def sketched(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Fold each text into a row of length 1: its grams, each added to or subtracted from one of SKETCH numbers.

    Cosines survive this folding nearly unchanged where they are near 1.
    """
    folded = np.empty((len(texts), SKETCH), dtype=np.float32)
    for first in range(0, len(texts), AT_ONCE):
        vectors = grams(texts[first : first + AT_ONCE])
        rows = len(vectors.starts) - 1
        owner = np.repeat(np.arange(rows), np.diff(vectors.starts))
        mixed = vectors.columns * MULTIPLIER & 0xFFFFFFFF
        signed = np.where(mixed & 0x80000000, vectors.numbers, -vectors.numbers)
        sums = code_sums(owner * SKETCH + (mixed >> 8) % SKETCH, signed, rows * SKETCH).reshape(rows, SKETCH)
        folded[first : first + rows] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    return folded


def grams(texts: Sequence[str]) -> Sparse:
    """Return a row of length 1 for each text: 1 + ln(times) of each of its hashed character grams.

    Rare grams weigh as much as others: the one word in which two forms of a question differ must not hide the rest.
    """
    return HashEncoder.fitted(()).encode(texts, "document")
