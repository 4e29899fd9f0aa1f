"""TREC runs and qrels, by the rules of trec_eval -c, straight into columns.

A run line is TOPIC Q0 DOC RANK SCORE TAG, a line of qrels TOPIC ITERATION DOC GRADE. Iteration, Q0, rank and tag are
not read. A negative grade is no judgement: no gain, not relevant. Scores are float64.
"""

from dataclasses import dataclass
from itertools import count

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.catalogues import ToolText
from ltr.columns import SourceFile, recoded
from ltr.errors import DataError, SampleError
from ltr.files import AnyPath, Fingerprint, shown
from ltr.groups import Candidates, Groups
from ltr.importers.fields import Layout, as_numbers, read_fields

RUN = Layout(6, 5, "TOPIC Q0 DOC RANK SCORE TAG", (0, 2, 4))
QRELS = Layout(4, 4, "TOPIC ITERATION DOC GRADE", (0, 2, 3))


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """The lines of a run or of qrels: topic, document, and the score or grade between them."""

    topics: IntArray  # codes into the tables of the Names they were read with
    docs: IntArray
    values: FloatArray
    lines: IntArray
    source: SourceFile


class Names:
    """The topics and documents of the files that were read with it, in order of first appearance."""

    def __init__(self) -> None:
        self.topics: dict[bytes, int] = {}
        self.docs: dict[bytes, int] = {}
        self._unused = count()

    def codes(self, table: dict[bytes, int], tokens: list[bytes]) -> IntArray:
        """A number for each token, the greater the later it first came: one dictionary call a token, all in C."""
        return np.fromiter(map(table.setdefault, tokens, self._unused), dtype=np.int64, count=len(tokens))

    def dense(self, table: dict[bytes, int], codes: IntArray) -> IntArray:
        """The codes as places in the table."""
        given = np.fromiter(table.values(), dtype=np.int64, count=len(table))
        places = np.empty(int(given[-1]) + 1 if len(given) else 0, dtype=np.int64)
        places[given] = np.arange(len(given))
        return places[codes]


def read_run(path: AnyPath, names: Names | None = None) -> Entries:
    """The lines of a run."""
    return _read(path, RUN, "score", names or Names())


def read_qrels(path: AnyPath, names: Names | None = None) -> Entries:
    """The lines of a file of relevance judgements."""
    return _read(path, QRELS, "grade", names or Names())


def _read(path: AnyPath, layout: Layout, field: str, names: Names) -> Entries:
    fingerprint, blocks = Fingerprint(), []
    for lines, (topics, docs, values) in read_fields(path, layout, fingerprint):
        numbers = as_numbers(path, lines, values, field)
        blocks.append((names.codes(names.topics, topics), names.codes(names.docs, docs), numbers, lines))
    if not sum(len(block[0]) for block in blocks):
        raise DataError(f"{shown(path)}: no line; at least one {layout.form} is needed")
    topic_codes, doc_codes, numbers, lines = (np.concatenate(column) for column in zip(*blocks, strict=True))
    source = SourceFile(shown(path), 0, int(lines[-1]), fingerprint.sha256, fingerprint.byte_count)
    topic_places, doc_places = names.dense(names.topics, topic_codes), names.dense(names.docs, doc_codes)
    entries = Entries(topic_places, doc_places, numbers, lines, source)
    _refuse_duplicates(entries, names)
    return entries


def pairs(entries: Entries, names: Names) -> IntArray:
    """One number for each (topic, document)."""
    return entries.topics * len(names.docs) + entries.docs


def _refuse_duplicates(entries: Entries, names: Names) -> None:
    keys = pairs(entries, names)
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    first = np.unique(keys, return_index=True)[1]
    again = int(np.setdiff1d(np.arange(len(keys)), first)[0])
    earlier = int(np.flatnonzero(keys == keys[again])[0])
    topic, doc = list(names.topics)[entries.topics[again]], list(names.docs)[entries.docs[again]]
    problem = (
        f"document {doc.decode()!r} stands twice in topic {topic.decode()!r}, first in line {entries.lines[earlier]}"
    )
    raise SampleError(entries.source.path, int(entries.lines[again]), "", problem)


@dataclass(frozen=True, slots=True, eq=False)
class RankedGroups:
    """A run against its qrels: each topic of the qrels a group of the documents retrieved and the others judged."""

    groups: Groups
    scores: FloatArray  # (rows,) 0 where not retrieved
    listed: BoolArray  # (rows,): retrieved
    num_missing: int  # topics of the qrels that the run does not have: they count 0
    num_ignored: int  # topics of the run without qrels


def read_ranked(run: AnyPath, qrels: AnyPath) -> RankedGroups:
    """The run and the qrels as groups, in the order of the qrels; rows as in the run, then those not retrieved."""
    names = Names()
    judged = read_qrels(qrels, names)
    topics = len(names.topics)
    retrieved = read_run(run, names)
    kept = retrieved.topics < topics
    keys, run_keys = pairs(judged, names), pairs(retrieved, names)[kept]
    grades, was_retrieved = _joined(keys, judged.values, run_keys)
    rest = np.flatnonzero(~was_retrieved)
    owner = np.concatenate([retrieved.topics[kept], judged.topics[rest]])
    by_topic = np.argsort(owner, kind="stable")
    lines = np.concatenate([retrieved.lines[kept] + judged.source.line_count, judged.lines[rest]])
    files = (judged.source, _after(retrieved.source, judged.source.line_count))
    docs = np.concatenate([retrieved.docs[kept], judged.docs[rest]])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=topics))])
    candidates = _candidates(names, topics, docs[by_topic], offsets, lines[by_topic], files)
    labels = np.maximum(np.concatenate([grades, judged.values[rest]]), 0.0)[by_topic]
    scores = np.concatenate([retrieved.values[kept], np.zeros(len(rest))])[by_topic]
    return RankedGroups(
        Groups(candidates, labels, offsets),
        scores,
        by_topic < len(run_keys),
        num_missing=topics - len(np.unique(retrieved.topics[kept])),
        num_ignored=len(names.topics) - topics,
    )


def _joined(keys: IntArray, values: FloatArray, wanted: IntArray) -> tuple[FloatArray, BoolArray]:
    """The value of each wanted key, 0 without one; and for each key whether it was wanted."""
    order = np.argsort(keys)
    places = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    matches = keys[order[places]] == wanted
    was_wanted = np.zeros(len(keys), dtype=np.bool_)
    was_wanted[order[places[matches]]] = True
    return np.where(matches, values[order[places]], 0.0), was_wanted


def _after(source: SourceFile, lines: int) -> SourceFile:
    return SourceFile(source.path, lines, source.line_count, source.sha256, source.byte_count)


def _candidates(
    names: Names, topics: int, docs: IntArray, offsets: IntArray, lines: IntArray, files: tuple[SourceFile, ...]
) -> Candidates:
    """Documents as tools without a text; the text of a query is its topic, for runs have no other."""
    codes, distinct = recoded(docs)
    texts, topic_texts = list(names.docs), tuple(topic.decode() for topic in list(names.topics)[:topics])
    every, nothing = np.arange(topics), np.empty(0, dtype=np.int64)
    return Candidates(
        kind="tool",
        offsets=offsets,
        traces=every,
        trace_ids=topic_texts,
        node_ids=("",) * topics,
        queries=every,
        query_texts=topic_texts,
        names=codes,
        name_texts=tuple(texts[code].decode() for code in distinct.tolist()),
        texts=np.zeros(len(docs), dtype=np.int64),
        tool_texts=(ToolText(""),),
        types=nothing,
        type_texts=(),
        graphs=nothing,
        distinct_graphs=(),
        features=None,
        feature_names=(),
        lines=lines,
        files=files,
    )
