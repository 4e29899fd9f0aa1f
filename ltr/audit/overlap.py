"""What test data share with training data, so that a test would praise what was learned by heart."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, code_sums
from ltr.audit.findings import EXAMPLES, Finding, first_rows, share
from ltr.data.groups import Candidates, Groups
from ltr.encoders.hashing import BUCKETS, counts
from ltr.encoders.sparse import Sparse

NEAR = 0.95  # cosine of hashed character grams from which two queries are nearly the same
SKETCH = 512  # numbers a query is folded into to find its nearest, which alone is compared exactly
MUCH = 0.01  # of the queries: from here on the share is worth a warning
MOST_TEST, MOST_TRAIN = 2000, 50_000  # queries; of more, every k-th
BLOCK = 1 << 22  # products held at once
AT_ONCE = 1000  # texts
MULTIPLIER = 0x9E3779B1


def overlaps(groups: Groups, against: Groups) -> Iterator[Finding]:
    """Files, groups, traces and queries of the data that stand in the training data too."""
    ours, theirs = groups.candidates, against.candidates
    files = sorted({file.path for file in ours.files if file.sha256 in {each.sha256 for each in theirs.files}})
    if files:
        yield _shared("overlap-file", "file", files, len(files), tuple(files[:EXAMPLES]))
    keys = set(_keys(theirs))
    same = np.flatnonzero([key in keys for key in _keys(ours)])
    if same.size:
        yield _shared("overlap-group", "group", [], len(same), first_rows(ours, same))
    known = set(theirs.trace_ids)
    in_trace = np.flatnonzero([ours.trace_ids[trace] in known for trace in ours.traces.tolist()])
    traces = sorted(set(ours.trace_ids) & known)
    if len(in_trace) > len(same):
        yield _shared("overlap-trace", "trace", traces, len(traces), first_rows(ours, in_trace))
    queries = {plain(text) for text in theirs.query_texts}
    repeated = np.array([plain(text) in queries for text in ours.query_texts], dtype=bool)[ours.queries]
    if repeated.any():
        texts = [ours.query_texts[code] for code in ours.queries[repeated][:1].tolist()]
        where = first_rows(ours, np.flatnonzero(repeated))
        yield _shared("overlap-query", "query", texts, int(repeated.sum()), where)


def _shared(code: str, noun: str, names: list[str], count: int, where: tuple[str, ...]) -> Finding:
    plural = "queries" if noun == "query" else f"{noun}s"
    stand = f"1 {noun} stands" if count == 1 else f"{count:,} {plural} stand"
    such = f", such as {names[0][:60]!r}" if names else ""
    message = f"{stand} in the training data, too{such}"
    return Finding(severity="warning", code=code, message=message, where=where, count=count)


def _keys(candidates: Candidates) -> list[tuple[str, str]]:
    traces = (candidates.trace_ids[trace] for trace in candidates.traces.tolist())
    return list(zip(traces, candidates.node_ids, strict=True))


def plain(text: str) -> str:
    """A query as it is compared: case and white space aside.

    >>> plain("  Weather in\\tParis ")
    'weather in paris'
    """
    return " ".join(text.lower().split())


def near_duplicates(groups: Groups, against: Groups) -> Iterator[Finding]:
    """The share of queries that a training query resembles to a cosine of NEAR, as counted on at most MOST_TEST."""
    ours = groups.candidates
    codes = np.unique(ours.queries)
    codes = codes[:: -(-len(codes) // MOST_TEST)]
    texts = [plain(ours.query_texts[code]) for code in codes.tolist()]
    known = list(dict.fromkeys(plain(text) for text in against.candidates.query_texts))
    nearest = closest(texts, known[:: -(-len(known) // MOST_TRAIN)])
    close = np.isin(ours.queries, codes[nearest >= NEAR])
    asked = np.isin(ours.queries, codes)
    if not close.any():
        return
    part = float(close.sum() / asked.sum())
    message = (
        f"{share(close.sum(), asked.sum())} of the queries ({int(close.sum()):,} of {int(asked.sum()):,}) resemble a "
        f"training query to a cosine of {NEAR} or more: what is learned query by query looks better than it is"
    )
    yield Finding(
        severity="warning" if part >= MUCH else "info",
        code="near-duplicates",
        message=message,
        where=first_rows(ours, np.flatnonzero(close)),
        count=int(close.sum()),
    )


def closest(texts: Sequence[str], known: Sequence[str]) -> FloatArray:
    """The cosine of each text with the known one that is nearest to it by their sketches; of hashed character grams."""
    sketches, nearest = sketched(known).T, np.empty(len(texts), dtype=np.int64)
    at_once = max(BLOCK // max(len(known), 1), 1)
    for first in range(0, len(texts), at_once):
        part = slice(first, first + at_once)
        nearest[part] = (sketched(texts[part]) @ sketches).argmax(axis=1)
    return grams(texts).dots(
        np.arange(len(texts)), grams([known[place] for place in nearest.tolist()]), np.arange(len(texts))
    )


def sketched(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Of each text its grams, each added to or taken from one of SKETCH numbers; rows of length 1.

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
    """Of each text a row of 1 + ln(times) of its hashed character grams, of length 1.

    Rare grams weigh as much as others: the one word in which two forms of a question differ must not hide the rest.
    """
    counted = counts(texts)
    numbers = 1 + np.log(counted.times)
    lengths = np.sqrt(code_sums(counted.texts, numbers * numbers, len(texts)))
    starts = np.concatenate(([0], np.cumsum(np.bincount(counted.texts, minlength=len(texts)))))
    return Sparse(starts, counted.buckets, numbers / lengths[counted.texts], BUCKETS)
