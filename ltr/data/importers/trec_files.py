"""TREC runs and qrels, by the rules of trec_eval -c, straight into columns.

A line of a run is TOPIC Q0 DOC RANK SCORE TAG, a line of qrels TOPIC ITERATION DOC GRADE; iteration, Q0, rank and
tag are not read. Scores are float64. A document stands once in a topic.
"""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.data.importers.whitespace_columns import (
    Layout,
    Words,
    as_numbers,
    as_tokens,
    read_fields,
    same_tokens,
    stack_tokens,
    token_hashes,
)
from ltr.data.jsonlines import excerpt
from ltr.data.source_files import SourceFile
from ltr.errors import DataError, SampleError
from ltr.files.reading import AnyPath, ContentDigest, shown

RUN = Layout(6, 5, "TOPIC Q0 DOC RANK SCORE TAG", (0, 2, 4))
QRELS = Layout(4, 4, "TOPIC ITERATION DOC GRADE", (0, 2, 3))

Topics = dict[bytes, int]  # codes in order of first appearance


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Entries:
    """The lines of a run or of qrels: topic, document, and the score or grade between them."""

    topics: IntArray
    docs: Words
    values: FloatArray
    lines: IntArray
    hashes: Words  # of topic and document; what has equal hashes is compared before it is taken for equal
    source: SourceFile


def read_trec_run(path: AnyPath, topics: Topics | None = None) -> Entries:
    """The lines of a run; topics that `topics` lacks are added to it."""
    return _read(path, RUN, "score", {} if topics is None else topics)


def read_qrels(path: AnyPath, topics: Topics | None = None) -> Entries:
    """The lines of a file of relevance judgements; topics that `topics` lacks are added to it."""
    return _read(path, QRELS, "grade", {} if topics is None else topics)


def _read(path: AnyPath, layout: Layout, field: str, topics: Topics) -> Entries:
    digest, codes, docs, values, lines = ContentDigest(), [], [], [], []
    for fields in read_fields(path, layout, digest):
        if len(fields.lines):
            topic_words, doc_words, value_words = fields.columns
            codes.append(topic_codes(topic_words, topics))
            docs.append(doc_words)
            values.append(as_numbers(path, fields.lines, value_words, field))
            lines.append(fields.lines)
    if not lines:
        raise DataError(f"{shown(path)}: no line; {layout.form} is needed")
    all_codes, all_docs, all_lines = np.concatenate(codes), stack_tokens(docs), np.concatenate(lines)
    entries = Entries(
        topics=all_codes,
        docs=all_docs,
        values=np.concatenate(values),
        lines=all_lines,
        hashes=token_hashes(all_docs, all_codes),
        source=SourceFile(shown(path), 0, int(all_lines[-1]), digest.sha256, digest.byte_count),
    )
    _refuse_duplicates(entries)
    return entries


def topic_codes(words: Words, topics: Topics) -> IntArray:
    """The code of each line's topic; a topic is looked up once for all lines that follow each other."""
    starts = np.flatnonzero(np.concatenate([[True], (words[1:] != words[:-1]).any(axis=1)]))
    codes = [topics.setdefault(token, len(topics)) for token in as_tokens(words[starts])]
    return np.repeat(np.array(codes, dtype=np.int64), np.diff(starts, append=len(words)))


def _refuse_duplicates(entries: Entries) -> None:
    """Raise for the first document that stands twice in its topic."""
    ordered = np.sort(entries.hashes)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    suspects = np.flatnonzero(np.isin(entries.hashes, ordered[1:][ordered[1:] == ordered[:-1]]))
    seen: dict[tuple[int, bytes], int] = {}
    for row, topic, doc in zip(
        suspects.tolist(), entries.topics[suspects].tolist(), as_tokens(entries.docs[suspects]), strict=True
    ):
        earlier = seen.setdefault((topic, doc), row)
        if earlier != row:
            problem = f"document {excerpt(doc.decode())} stands in line {entries.lines[earlier]} for the same topic"
            raise SampleError(entries.source.path, int(entries.lines[row]), "", f"{problem}: keep one of them")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A run beside its qrels."""

    grades: FloatArray  # (lines of the run,) 0 where not judged
    is_retrieved: BoolArray  # (lines of the qrels,)


def match_qrels(run: Entries, qrels: Entries) -> Judgement:
    """The grade of each document of the run, found by hash and then compared; both were read with the same topics."""
    order = np.argsort(qrels.hashes)
    places = np.minimum(np.searchsorted(qrels.hashes, run.hashes, sorter=order), len(order) - 1)
    lines = order[places]
    is_alike = qrels.hashes[lines] == run.hashes
    alike = np.flatnonzero(is_alike)
    is_same = same_tokens(run.docs[alike], qrels.docs[lines[alike]]) & (run.topics[alike] == qrels.topics[lines[alike]])
    if not is_same.all() or len(np.unique(qrels.hashes)) < len(qrels.hashes):
        lines, is_alike = _matched_one_by_one(run, qrels)
    is_retrieved = np.zeros(len(qrels.lines), dtype=np.bool_)
    is_retrieved[lines[is_alike]] = True
    return Judgement(np.where(is_alike, qrels.values[lines], 0.0), is_retrieved)


def _matched_one_by_one(run: Entries, qrels: Entries) -> tuple[IntArray, BoolArray]:
    """For each line of the run that of the qrels, and whether there is one: the slow way, when hashes collide."""
    line_of = {key: line for line, key in enumerate(zip(qrels.topics.tolist(), as_tokens(qrels.docs), strict=True))}
    matches = [line_of.get(key, -1) for key in zip(run.topics.tolist(), as_tokens(run.docs), strict=True)]
    lines = np.array(matches, dtype=np.int64)
    return lines, lines >= 0
