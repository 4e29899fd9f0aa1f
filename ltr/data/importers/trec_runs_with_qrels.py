"""A TREC run against its qrels, as groups with scores: what `evaluate --run` measures."""

from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, offsets_of
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups
from ltr.data.importers.packed_tokens import Words, as_tokens, same_tokens, stack_tokens, token_hashes
from ltr.data.importers.ranked_groups import RankedGroups
from ltr.data.importers.trec_files import Entries, Topics, read_qrels, read_trec_run
from ltr.data.source_files import SourceFile
from ltr.data.tool_texts import ToolText
from ltr.errors import DataError
from ltr.files.path_arguments import AnyPath, shown


@dataclass(frozen=True, slots=True)
class Judgement:
    """A run beside its qrels."""

    grades: FloatArray  # (lines of the run,) 0 where not judged
    is_retrieved: BoolArray  # (lines of the qrels,)


def read_ranked(run: AnyPath, qrels: AnyPath, *, complete: bool = False, hash_topics: bool = False) -> RankedGroups:
    """The groups in the order of the qrels; rows in that of the run, then what was not retrieved.

    Topics of the qrels that the run lacks are groups only if the evaluation is to be `complete`, with an empty list.
    A negative grade is no judgement: no gain, and not relevant.
    """
    topics: Topics = {}
    judgements = read_qrels(qrels, topics, hash_topics=hash_topics)
    num_judged = len(topics)
    entries = read_trec_run(run, topics, hash_topics=hash_topics)
    retrieved = _select_lines(entries, np.flatnonzero(entries.topics < num_judged))
    matched = match_qrels(retrieved, judgements)
    is_answered = np.bincount(retrieved.topics, minlength=num_judged) > 0
    if not is_answered.any() and not complete:
        raise DataError(f"{shown(run)}: no topic of {shown(qrels)} stands in it; name the qrels that belong to the run")
    is_counted = is_answered | complete
    missed = _select_lines(judgements, np.flatnonzero(~matched.is_retrieved & is_counted[judgements.topics]))
    names = [topic for topic, counts in zip(topics, is_counted.tolist(), strict=False) if counts]
    owner = (np.cumsum(is_counted) - 1)[np.concatenate([retrieved.topics, missed.topics])]
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
        num_missing=int(np.count_nonzero(~is_answered)),
        num_ignored=len(topics) - num_judged,
        likely_data=tuple((of.source.path, of.likely_data) for of in (judgements, entries) if of.likely_data),
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
    codes = np.arange(len(topics))
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
        lines=lines,
        files=files,
    )


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
