"""Hashed marks of the traces that a model learned from, and which of them data bring again."""

from collections.abc import Iterator

from ltr.data.candidates import Candidates
from ltr.data.text_hashes import text_mark
from ltr.storage.model_file import StoredModel

MOST_MARKS = 1000  # of the traces of a training set; of more, those with the lowest marks


def trace_marks(candidates: Candidates) -> list[str]:
    """A short hash of each trace id, the lowest first, of which a model keeps MOST_MARKS."""
    return sorted(map(text_mark, candidates.trace_ids))


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
    """A warning where traces were seen in training, and what to measure on instead.

    >>> [warning.partition(":")[0] for warning in seen_traces_warnings(1, 2000)]
    ['the model was trained on 1 of 2,000 traces checked']
    """
    if seen:
        share = "" if seen == compared else "partly "
        yield (
            f"the model was trained on {seen:,} of {compared:,} traces checked: these figures are {share}of queries "
            "whose answers it has seen, and say little of new ones; measure on traces that it has not seen, such as "
            "those that `ltr train --test 0.2` keeps apart"
        )
