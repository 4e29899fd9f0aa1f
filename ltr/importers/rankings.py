"""Rankings of others as groups with scores, which `evaluate --run` measures, and TREC runs as samples."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, offsets_of
from ltr.catalogues import ToolText
from ltr.errors import DataError, UsageError, count, suggestion
from ltr.files import ContentDigest, read_lines
from ltr.importers.frame import Imported, Opening, Tally, importer, read_opening
from ltr.importers.lists import FORM, read_lists
from ltr.importers.trec import QRELS, RUN, Entries, Tokens, Topics, read_entries, token_hashes
from ltr.paths import STDIN, AnyPath, shown
from ltr.samples import Builder, Candidate, Candidates, Groups, Sample, SourceFile, group_samples, read_groups

LIKELY_DATA = "comments with the columns of data (--hash-topics reads lines that begin with # as data)"
ANSWERS = {"": False, "no": False, "yes": True}


@dataclass(frozen=True, slots=True, eq=False)
class RankedGroups:
    """Groups that somebody else has ranked: what was retrieved of each topic, and what was judged and not retrieved."""

    groups: Groups
    scores: FloatArray  # (rows,) 0 where not retrieved
    listed: BoolArray  # (rows,): retrieved
    num_missing: int  # topics of the qrels that the run does not have
    num_ignored: int  # topics of the run without qrels
    likely_data: tuple[tuple[str, int], ...] = ()  # files with comments that have the columns of data, and how many


def is_trec(run: AnyPath) -> bool:
    """Whether the file is a TREC run: it does not begin with a JSON object. So is stdin, which is read once only."""
    return str(run) == STDIN or not isinstance(read_opening(run).document, dict)


def read_scored(
    run: AnyPath, truth: AnyPath | None = None, *, complete: bool = False, hash_topics: bool = False
) -> RankedGroups:
    """Read recommended lists, samples whose one ready number is the score, or a TREC run with its qrels.

    Lists may have their truth in a file of its own. A user of the truth without a list counts 0.
    """
    if is_trec(run):
        if truth is None:
            raise UsageError("--run and --qrels belong together for a TREC run: name both")
        return read_ranked(run, truth, complete=complete, hash_topics=hash_topics)
    if hash_topics:
        raise UsageError("--hash-topics belongs to a TREC run: in lists and samples # is a character like any")
    if complete:
        raise UsageError("--complete belongs to a TREC run: lists and samples are complete")
    if not read_opening(run).has("trace_id"):
        return group_lists(run, truth)
    if truth is not None:
        raise UsageError(f"{run}: samples have their labels: leave out --qrels")
    groups = read_groups(run)
    phi = groups.candidates.features
    if phi is None or phi.shape[1] != 1:
        width = "none" if phi is None else phi.shape[1]
        raise DataError(f"{run}: one ready number a candidate is needed, its score; found {width}")
    return RankedGroups(groups, phi[:, 0], np.ones(len(phi), dtype=np.bool_), num_missing=0, num_ignored=0)


def group_lists(path: AnyPath, truth: AnyPath | None = None) -> RankedGroups:
    """Read lists as groups in the order of the file; the one ready number is the score, 0 of what is not listed."""
    digest, listed, number = ContentDigest(), list[bool](), 0
    files = [SourceFile(shown(path), 0)]
    builder = Builder(files, labels_required=True)
    for entry in read_lists(path, truth, digest):
        missed, number = entry.missed, max(number, entry.line)
        scored = [
            Candidate(tool=item, label=entry.grades.get(item, 0.0), features=[score])
            for item, score in entry.scores.items()
        ]
        scored += [Candidate(tool=item, label=entry.grades[item], features=[0.0]) for item in missed]
        if scored:  # a user without a list and without truth is no query
            builder.add(Sample(trace_id=entry.user, node_id="", query=entry.user, candidates=scored), entry.line)
            listed += [True] * len(entry.scores) + [False] * len(missed)
    if not listed:
        raise DataError(f"{shown(path)}: no user has a list or a true item; {FORM} is needed")
    files[0] = SourceFile(shown(path), 0, number, digest.sha256, digest.byte_count)
    grouped = group_samples(builder.samples(), tools={}, graphs={})
    return RankedGroups(grouped, np.frombuffer(builder.rows.features), np.array(listed), num_missing=0, num_ignored=0)


def read_ranked(run: AnyPath, qrels: AnyPath, *, complete: bool = False, hash_topics: bool = False) -> RankedGroups:
    """Read a TREC run beside its qrels: groups in the order of the qrels, rows in that of the run, then the missed.

    Topics of the qrels that the run lacks are groups only if the evaluation is to be `complete`, with an empty list.
    A negative grade is no judgement: no gain, and not relevant.
    """
    topics: Topics = {}
    judgements = read_entries(qrels, QRELS, topics, hash_topics=hash_topics)
    num_judged = len(topics)
    entries = read_entries(run, RUN, topics, hash_topics=hash_topics)
    retrieved = entries.select(np.flatnonzero(entries.topics < num_judged))
    grades, is_retrieved = match_qrels(retrieved, judgements)
    is_answered = np.bincount(retrieved.topics, minlength=num_judged) > 0
    if not is_answered.any() and not complete:
        raise DataError(f"{shown(run)}: no topic of {shown(qrels)} stands in it; name the qrels that belong to the run")
    is_counted = is_answered | complete
    missed = judgements.select(np.flatnonzero(~is_retrieved & is_counted[judgements.topics]))
    names = [topic for topic, counts in zip(topics, is_counted.tolist(), strict=False) if counts]
    owner = (np.cumsum(is_counted) - 1)[np.concatenate([retrieved.topics, missed.topics])]
    rows = np.argsort(owner, kind="stable")
    offsets = offsets_of(np.bincount(owner, minlength=len(names)))
    lines = np.concatenate([retrieved.lines + judgements.source.line_count, missed.lines])[rows]
    files = (judgements.source, replace(entries.source, before=judgements.source.line_count))
    candidates = _candidates(
        names, np.concatenate([retrieved.docs, missed.docs])[rows], offsets, lines=lines, files=files
    )
    labels = np.maximum(np.concatenate([grades, missed.values]), 0.0)[rows]
    return RankedGroups(
        Groups(candidates, labels, offsets),
        np.concatenate([retrieved.values, np.zeros(len(missed.lines))])[rows],
        rows < len(retrieved.lines),
        num_missing=int(np.count_nonzero(~is_answered)),
        num_ignored=len(topics) - num_judged,
        likely_data=tuple((of.source.path, of.likely_data) for of in (judgements, entries) if of.likely_data),
    )


def _candidates(
    topics: list[bytes], docs: Tokens, offsets: IntArray, *, lines: IntArray, files: tuple[SourceFile, ...]
) -> Candidates:
    """Documents as tools without a text; the text of a query is its topic, because a run holds no other."""
    _, first, names = np.unique(token_hashes(docs), return_index=True, return_inverse=True)
    if not (docs == docs[first][names]).all():  # two documents with one hash
        _, first, names = np.unique(docs, return_index=True, return_inverse=True)
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
        name_texts=tuple(token.decode() for token in docs[first].tolist()),
        texts=np.zeros(len(docs), dtype=np.int64),
        tool_texts=(ToolText(""),),
        lines=lines,
        files=files,
    )


def match_qrels(run: Entries, qrels: Entries) -> tuple[FloatArray, BoolArray]:
    """Return the grade of each line of the run, 0 where not judged, and whether each line of the qrels was retrieved.

    Documents are found by hash and then compared; both files were read with the same topics.
    """
    order = np.argsort(qrels.hashes)
    places = np.minimum(np.searchsorted(qrels.hashes, run.hashes, sorter=order), len(order) - 1)
    lines = order[places]
    is_alike = qrels.hashes[lines] == run.hashes
    alike = np.flatnonzero(is_alike)
    is_same = (run.docs[alike] == qrels.docs[lines[alike]]) & (run.topics[alike] == qrels.topics[lines[alike]])
    if not is_same.all() or len(np.unique(qrels.hashes)) < len(qrels.hashes):  # hashes collide: one by one
        keys = zip(qrels.topics.tolist(), qrels.docs.tolist(), strict=True)
        line_of = {key: line for line, key in enumerate(keys)}
        matches = [line_of.get(key, -1) for key in zip(run.topics.tolist(), run.docs.tolist(), strict=True)]
        lines = np.array(matches, dtype=np.int64)
        is_alike = lines >= 0
    is_retrieved = np.zeros(len(qrels.lines), dtype=np.bool_)
    is_retrieved[lines[is_alike]] = True
    return np.where(is_alike, qrels.values[lines], 0.0), is_retrieved


def looks_like_trec(opening: Opening) -> bool:
    """Whether the first line is one of a run, `TOPIC Q0 DOC RANK SCORE TAG`, or of qrels, `TOPIC 0 DOC GRADE`.

    Comments before it are passed over, where anything else follows.
    """
    lines = opening.content.split(b"\n")
    columns = next((line for line in lines if line.strip() and not line.startswith(b"#")), lines[0]).split()
    is_run = len(columns) == 6 and columns[1].upper() == b"Q0" and columns[3].isdigit()
    return is_run or (len(columns) == 4 and columns[1].isdigit() and columns[3].lstrip(b"-").isdigit())


@importer("trec", title="a TREC run or its qrels", looks_like=looks_like_trec)
def import_trec(files: Sequence[str], *, hash_topics: str = "") -> Imported:
    """A line for each retrieved document; judged documents that were not retrieved are counted in a note.

    `hash_topics`: yes reads lines that begin with # as data, because topics do; without it they are comments.
    """
    if hash_topics not in ANSWERS:
        raise UsageError(f"hash_topics {hash_topics!r}{suggestion(hash_topics, ANSWERS)}; yes or no is needed")
    has_hashes, tally = ANSWERS[hash_topics], Tally()
    qrels = [path for path in files if _is_qrels(path, hash_topics=has_hashes)]
    runs = [path for path in files if path not in qrels]
    if len(runs) != 1 or len(qrels) > 1:
        raise UsageError(f"one run, and at most one file of qrels, is needed; found {len(runs)} and {len(qrels)}")
    if not qrels:
        return Imported(_samples_of_run(runs[0], tally, hash_topics=has_hashes), tally=tally)
    ranked = read_ranked(runs[0], qrels[0], hash_topics=has_hashes)
    for path, number in ranked.likely_data:
        tally.remark(LIKELY_DATA, path, number)
    notes = {
        ("document", "judged and not retrieved"): int((~ranked.listed).sum()),
        ("topic", "of the qrels that the run does not have"): ranked.num_missing,
        ("topic", "of the run without qrels"): ranked.num_ignored,
    }
    left_out = [f"left out: {count(number, noun)} {which}" for (noun, which), number in notes.items() if number]
    return Imported(_samples_with_labels(ranked), tuple(left_out), tally)


def _is_qrels(path: str, *, hash_topics: bool) -> bool:
    """Whether the first line that is neither blank nor a comment has the four columns of qrels."""
    for _, line in read_lines(path):
        if line.strip() and (hash_topics or not line.startswith(b"#")):
            return len(line.split()) <= QRELS.width
    return False


def _samples_of_run(path: str, tally: Tally, *, hash_topics: bool) -> Iterator[dict[str, object]]:
    topics: Topics = {}
    run = read_entries(path, RUN, topics, hash_topics=hash_topics)
    tally.remark(LIKELY_DATA, run.source.path, run.likely_data)
    names = [topic.decode() for topic in topics]
    for topic, doc, score in zip(run.topics.tolist(), run.docs.tolist(), run.values.tolist(), strict=True):
        yield _sample(names[topic], doc.decode(), score)


def _samples_with_labels(ranked: RankedGroups) -> Iterator[dict[str, object]]:
    candidates = ranked.groups.candidates
    topics = np.repeat(candidates.traces, np.diff(candidates.offsets)).tolist()
    for row in np.flatnonzero(ranked.listed).tolist():
        topic, doc = candidates.trace_ids[topics[row]], candidates.name_texts[candidates.names[row]]
        yield _sample(topic, doc, float(ranked.scores[row])) | {"label": float(ranked.groups.labels[row])}


def _sample(topic: str, doc: str, score: float) -> dict[str, object]:
    """One candidate; a topic is a trace of one query, whose text is the topic."""
    return {"trace_id": topic, "node_id": "", "query": topic, "tool": doc, "features": [score]}
