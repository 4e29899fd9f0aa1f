"""Why a ranking of candidates by a model may mean less than it seems to."""

import hashlib
from collections.abc import Iterator

import numpy as np

from ltr.arrays import IntArray
from ltr.data.groups import Candidates
from ltr.data.value_excerpts import excerpt
from ltr.errors import count
from ltr.storage.feature_state import fit_digest
from ltr.storage.model_file import StoredModel

OTHER_FIT = (
    "the features of the samples were fitted on other data than those of the model, perhaps on the very labels they "
    "are measured by; featurize with -m MODEL"
)
NO_PAST = {
    "logged": "the model learned what came before a query (previous), and the samples do not say it",
    "labels": (
        "the model learned what came before a query from right tools, and the samples do not say it; "
        "measure with --set data.previous=from_labels"
    ),
}
MOST_MARKS = 1000  # of the traces of a training set; of more, those with the lowest marks


def candidate_warnings(model: StoredModel, candidates: Candidates) -> Iterator[str]:
    """Warnings about candidates before the model ranks them: tools without a text, features of another fit."""
    codes, problem = tools_without_text(candidates)
    if codes.size:
        yield f"no-text: {problem}"
    if candidates.fit and model.features and candidates.fit != fit_digest(model.features):
        yield OTHER_FIT
    if model.training.past and candidates.previous is None:
        yield NO_PAST[model.training.past]


def tools_without_text(candidates: Candidates) -> tuple[IntArray, str]:
    """Name codes of the tools that have a text neither in their lines nor in a catalogue, and the problem in words."""
    if candidates.kind == "graph" or candidates.features is not None:
        return np.empty(0, dtype=np.int64), ""
    has_text = np.array([any(text) for text in candidates.tool_texts])[candidates.texts]
    codes: IntArray = np.setdiff1d(candidates.names, candidates.names[has_text])
    if not codes.size:
        return codes, ""
    example = excerpt(candidates.name_texts[codes[0]])
    return codes, (
        f"{len(codes):,} of {count(len(candidates.name_texts), 'tool')} have no text, such as {example}: "
        "neither tool_description nor a catalogue (--tools) gives one"
    )


def trace_marks(candidates: Candidates) -> list[str]:
    """A short hash of each trace id, the lowest first, of which a model keeps MOST_MARKS."""
    return sorted(map(text_mark, candidates.trace_ids))


def text_mark(text: str) -> str:
    """A short hash, which says of a text whether it is the same and nothing else."""
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def training_trace_warnings(model: StoredModel, candidates: Candidates) -> Iterator[str]:
    """That some traces of the candidates are among those the model was trained on, as far as it keeps their marks."""
    yield from seen_traces_warnings(*seen_traces(model, candidates))


def seen_traces(model: StoredModel, candidates: Candidates) -> tuple[int, int]:
    """How many traces of the candidates are among those the model was trained on, of how many that were compared."""
    marks = model.training.traces
    last = marks[-1] if len(marks) == MOST_MARKS else "g"
    compared = [mark for mark in trace_marks(candidates) if mark <= last]
    return len(set(compared) & set(marks)), len(compared)


def seen_traces_warnings(seen: int, compared: int) -> Iterator[str]:
    """A warning where traces were seen in training.

    >>> list(seen_traces_warnings(1, 2000))
    ['the model was trained on 1 of 2,000 traces checked: there it looks better than it is']
    """
    if seen:
        yield f"the model was trained on {seen:,} of {compared:,} traces checked: there it looks better than it is"
