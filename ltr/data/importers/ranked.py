"""A TREC run against its qrels, as groups with scores: what `evaluate --run` measures."""

from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, offsets_of
from ltr.data.catalogues.tools import ToolText
from ltr.data.groups import Candidates, Groups
from ltr.data.importers.fields import Words, as_tokens, same_tokens, stack_tokens, token_hashes
from ltr.data.importers.trec import Entries, Topics, match_qrels, read_qrels, read_trec_run
from ltr.data.source_files import SourceFile
from ltr.files.reading import AnyPath


@dataclass(frozen=True, slots=True, eq=False)
class RankedGroups:
    """Each topic of the qrels a group: the documents retrieved for it, and those judged and not retrieved."""

    groups: Groups
    scores: FloatArray  # (rows,) 0 where not retrieved
    listed: BoolArray  # (rows,): retrieved
    num_missing: int  # topics of the qrels that the run does not have: they count 0
    num_ignored: int  # topics of the run without qrels


def read_ranked(run: AnyPath, qrels: AnyPath) -> RankedGroups:
    """The groups in the order of the qrels; rows in that of the run, then what was not retrieved.

    A negative grade is no judgement: no gain, and not relevant.
    """
    topics: Topics = {}
    judgements = read_qrels(qrels, topics)
    names = list(topics)
    entries = read_trec_run(run, topics)
    retrieved = _select_lines(entries, np.flatnonzero(entries.topics < len(names)))
    matched = match_qrels(retrieved, judgements)
    missed = _select_lines(judgements, np.flatnonzero(~matched.is_retrieved))
    owner = np.concatenate([retrieved.topics, missed.topics])
    rows = np.argsort(owner, kind="stable")
    offsets = offsets_of(np.bincount(owner, minlength=len(names)))
    lines = np.concatenate([retrieved.lines + judgements.source.line_count, missed.lines])[rows]
    files = (judgements.source, replace(entries.source, before=judgements.source.line_count))
    candidates = _candidates(
        names, stack_tokens([retrieved.docs, missed.docs])[rows], offsets, lines=lines, files=files
    )
    labels = np.maximum(np.concatenate([matched.grades, missed.values]), 0.0)[rows]
    return RankedGroups(
        Groups(candidates, labels, offsets),
        np.concatenate([retrieved.values, np.zeros(len(missed.lines))])[rows],
        rows < len(retrieved.lines),
        num_missing=len(names) - len(np.unique(retrieved.topics)),
        num_ignored=len(topics) - len(names),
    )


def _select_lines(entries: Entries, rows: IntArray) -> Entries:
    return replace(
        entries,
        topics=entries.topics[rows],
        docs=entries.docs[rows],
        values=entries.values[rows],
        lines=entries.lines[rows],
        hashes=entries.hashes[rows],
    )


def _candidates(
    topics: list[bytes], docs: Words, offsets: IntArray, *, lines: IntArray, files: tuple[SourceFile, ...]
) -> Candidates:
    """Documents as tools without a text; the text of a query is its topic, because a run holds no other."""
    _, first, names = np.unique(token_hashes(docs), return_index=True, return_inverse=True)
    if not same_tokens(docs, docs[first][names]).all():  # two documents with one hash
        _, first, names = np.unique(np.array(as_tokens(docs)), return_index=True, return_inverse=True)
    topic_texts = tuple(topic.decode() for topic in topics)
    codes, no_codes = np.arange(len(topics)), np.empty(0, dtype=np.int64)
    return Candidates(
        kind="tool",
        offsets=offsets,
        traces=codes,
        trace_ids=topic_texts,
        node_ids=("",) * len(topics),
        queries=codes,
        query_texts=topic_texts,
        names=names,
        name_texts=tuple(token.decode() for token in as_tokens(docs[first])),
        texts=np.zeros(len(docs), dtype=np.int64),
        tool_texts=(ToolText(""),),
        types=no_codes,
        type_texts=(),
        graphs=no_codes,
        distinct_graphs=(),
        features=None,
        feature_names=(),
        lines=lines,
        files=files,
    )
