"""TREC runs and qrels, by the rules of trec_eval -c, straight into columns.

A line of a run is TOPIC Q0 DOC RANK SCORE TAG, a line of qrels TOPIC ITERATION DOC GRADE; iteration, Q0, rank and
tag are not read. Scores are float64. A document stands once in a topic. Lines that begin with # are comments, unless
topics may begin with it.
"""

from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.data.importers.packed_tokens import Words, as_tokens, stack_tokens, token_hashes
from ltr.data.importers.whitespace_columns import Layout, as_numbers, read_fields
from ltr.data.source_files import SourceFile
from ltr.data.value_excerpts import excerpt
from ltr.errors import DataError, SampleError
from ltr.files.content_digests import ContentDigest
from ltr.files.path_arguments import AnyPath, shown

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
    likely_data: int  # comments that have the columns of data


def read_trec_run(path: AnyPath, topics: Topics | None = None, *, hash_topics: bool = False) -> Entries:
    """The lines of a run; topics that `topics` lacks are added to it."""
    return _read(path, RUN, "score", {} if topics is None else topics, hash_topics=hash_topics)


def read_qrels(path: AnyPath, topics: Topics | None = None, *, hash_topics: bool = False) -> Entries:
    """The lines of a file of relevance judgements; topics that `topics` lacks are added to it."""
    return _read(path, QRELS, "grade", {} if topics is None else topics, hash_topics=hash_topics)


def _read(path: AnyPath, layout: Layout, field: str, topics: Topics, *, hash_topics: bool) -> Entries:
    digest, codes, docs, values, lines = ContentDigest(), [], [], [], []
    likely_data = 0
    for fields in read_fields(path, replace(layout, comment=b"") if hash_topics else layout, digest):
        likely_data += fields.likely_data
        if len(fields.lines):
            topic_words, doc_words, value_words = fields.columns
            codes.append(topic_codes(topic_words, topics))
            docs.append(doc_words)
            values.append(as_numbers(path, fields.lines, value_words, field))
            lines.append(fields.lines)
    if not lines:
        remedy = " (lines that begin with # are comments without --hash-topics)" if likely_data else ""
        raise DataError(f"{shown(path)}: no line; {layout.form} is needed{remedy}")
    all_codes, all_docs, all_lines = np.concatenate(codes), stack_tokens(docs), np.concatenate(lines)
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
