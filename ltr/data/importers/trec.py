"""A TREC run, with its qrels or without, as samples: the score is the one ready number of a candidate."""

from collections.abc import Iterator, Sequence

import numpy as np

from ltr.data.importers.file_beginning import Opening
from ltr.data.importers.packed_tokens import as_tokens
from ltr.data.importers.ranked_groups import RankedGroups
from ltr.data.importers.registry import Imported, importer
from ltr.data.importers.tally import Tally
from ltr.data.importers.trec_files import QRELS, Topics, read_trec_run
from ltr.data.importers.trec_runs_with_qrels import read_ranked
from ltr.errors import UsageError, count, suggestion
from ltr.files.reading import read_lines

LIKELY_DATA = "comments with the columns of data (--hash-topics reads lines that begin with # as data)"
ANSWERS = {"": False, "no": False, "yes": True}


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
    qrels = [path for path in files if is_qrels(path, hash_topics=has_hashes)]
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


def is_qrels(path: str, *, hash_topics: bool) -> bool:
    """Whether the first line that is neither blank nor a comment has the four columns of qrels."""
    for _, line in read_lines(path):
        if line.strip() and (hash_topics or not line.startswith(b"#")):
            return len(line.split()) <= QRELS.width
    return False


def _sample(topic: str, doc: str, score: float) -> dict[str, object]:
    """One candidate; a topic is a trace of one query, whose text is the topic."""
    return {"trace_id": topic, "node_id": "", "query": topic, "tool": doc, "features": [score]}


def _samples_of_run(path: str, tally: Tally, *, hash_topics: bool) -> Iterator[dict[str, object]]:
    topics: Topics = {}
    run = read_trec_run(path, topics, hash_topics=hash_topics)
    tally.remark(LIKELY_DATA, run.source.path, run.likely_data)
    names = [topic.decode() for topic in topics]
    for topic, doc, score in zip(run.topics.tolist(), as_tokens(run.docs), run.values.tolist(), strict=True):
        yield _sample(names[topic], doc.decode(), score)


def _samples_with_labels(ranked: RankedGroups) -> Iterator[dict[str, object]]:
    candidates = ranked.groups.candidates
    topics = np.repeat(candidates.traces, np.diff(candidates.offsets)).tolist()
    for row in np.flatnonzero(ranked.listed).tolist():
        topic, doc = candidates.trace_ids[topics[row]], candidates.name_texts[candidates.names[row]]
        yield _sample(topic, doc, float(ranked.scores[row])) | {"label": float(ranked.groups.labels[row])}
