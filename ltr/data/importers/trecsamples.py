"""A TREC run, with its qrels or without, as samples: the score is the one ready number of a candidate."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ltr.data.importers.fields import as_tokens
from ltr.data.importers.ranked import RankedGroups, read_ranked
from ltr.data.importers.registry import Imported, importer
from ltr.data.importers.trec import QRELS, Topics, read_run
from ltr.errors import UsageError
from ltr.files.reading import read_lines


@importer("trec")
def import_trec(files: Sequence[str]) -> Imported:
    """A line for each document that the run retrieves; what is right and was not retrieved is counted."""
    qrels = [path for path in files if is_qrels(path)]
    runs = [path for path in files if path not in qrels]
    if len(runs) != 1 or len(qrels) > 1:
        raise UsageError(f"one run, and at most one file of qrels, is needed; found {len(runs)} and {len(qrels)}")
    if not qrels:
        return Imported(_unjudged(runs[0]))
    ranked = read_ranked(runs[0], qrels[0])
    notes = {
        "documents judged and not retrieved": int((~ranked.listed).sum()),
        "topics of the qrels that the run does not have": ranked.num_missing,
        "topics of the run without qrels": ranked.num_ignored,
    }
    return Imported(_judged(ranked), tuple(f"left out: {number:,} {what}" for what, number in notes.items() if number))


def is_qrels(path: str) -> bool:
    """Whether the first line that says anything has the four columns of qrels."""
    for _, line in read_lines(path):
        if line.strip() and not line.lstrip().startswith(b"#"):
            return len(line.split()) <= QRELS.width
    return False


def sample(topic: str, doc: str, score: float) -> dict[str, Any]:
    """One candidate; a topic is a trace of one query, whose text is the topic."""
    return {"trace_id": topic, "node_id": "", "query": topic, "tool": doc, "features": [score]}


def _unjudged(path: str) -> Iterator[dict[str, Any]]:
    topics: Topics = {}
    run = read_run(path, topics)
    names = [topic.decode() for topic in topics]
    for topic, doc, score in zip(run.topics.tolist(), as_tokens(run.docs), run.values.tolist(), strict=True):
        yield sample(names[topic], doc.decode(), score)


def _judged(ranked: RankedGroups) -> Iterator[dict[str, Any]]:
    candidates = ranked.groups.candidates
    topics = np.repeat(candidates.traces, np.diff(candidates.offsets)).tolist()
    for row in np.flatnonzero(ranked.listed).tolist():
        named = sample(
            candidates.trace_ids[topics[row]], candidates.name_texts[candidates.names[row]], float(ranked.scores[row])
        )
        yield named | {"label": float(ranked.groups.labels[row])}
