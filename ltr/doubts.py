"""Why figures of a ranking may mean less than they seem to: what a model and the candidates that it ranks say of it."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np

from ltr.errors import count
from ltr.featurized import fit_digest
from ltr.hashes import are_marked, text_mark
from ltr.jsonl import excerpt
from ltr.runs import StoredModel
from ltr.samples import Candidates

MOST_MARKS = 1000  # of the traces of a training set; of more, those with the lowest marks
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


def candidate_warnings(model: StoredModel, candidates: Candidates) -> Iterator[str]:
    """Warn of candidates before the model ranks them: merged ones, another fit, no past.

    Those of tools without a text are said of all shards: `without_text`.
    """
    if candidates.repeated:
        yield candidates.repeated
    if candidates.fit and model.features and candidates.fit != fit_digest(model.features):
        yield OTHER_FIT
    if model.training.past and candidates.previous is None:
        yield NO_PAST[model.training.past]


def rows_with_text(candidates: Candidates) -> dict[str, int]:
    """Count the rows of each tool that have a text; those of shards add up. Columns and graphs need none."""
    if candidates.kind == "graph" or candidates.features is not None:
        return {}
    has_text = np.array([any(text) for text in candidates.tool_texts], dtype=bool)[candidates.texts]
    counts = np.bincount(candidates.names[has_text], minlength=len(candidates.name_texts)).tolist()
    return {candidates.name_texts[code]: counts[code] for code in np.unique(candidates.names).tolist()}


def without_text(rows: Mapping[str, int]) -> Iterator[str]:
    """Say how many tools have a text neither in their lines nor in a catalogue.

    >>> next(without_text({"mail": 2, "maps": 0}))
    "no-text: 1 of 2 tools have no text, such as 'maps': neither tool_description nor a catalogue (--tools) gives one"
    """
    silent = [name for name, number in rows.items() if not number]
    if silent:
        yield (
            f"no-text: {len(silent):,} of {count(len(rows), 'tool')} have no text, such as {excerpt(silent[0])}: "
            "neither tool_description nor a catalogue (--tools) gives one"
        )


@lru_cache(maxsize=16)
def unseen_warning(answers: tuple[str, ...], names: tuple[str, ...]) -> str:
    """Return what to say where most tools were never right in training, of which short hashes are known; else "".

    >>> unseen_warning((text_mark("mail"),), ("mail", "maps", "news"))
    '2 of 3 tools were never right in training: little but their texts is known of them'
    """
    unseen = len(names) - int(are_marked(names, answers).sum()) if answers else 0
    if unseen * 2 <= len(names):
        return ""
    of = count(len(names), "tool")
    return f"{unseen:,} of {of} were never right in training: little but their texts is known of them"


def trace_marks(candidates: Candidates) -> list[str]:
    """Return a short hash of each trace id, the lowest first, of which a model keeps MOST_MARKS."""
    return sorted(map(text_mark, candidates.trace_ids))


def seen_traces(model: StoredModel, candidates: Candidates) -> tuple[int, int]:
    """Count the traces of the candidates that the model was trained on, and those that could be compared."""
    marks = model.training.traces
    last = marks[-1] if len(marks) == MOST_MARKS else "g"
    compared = [mark for mark in trace_marks(candidates) if mark <= last]
    return len(set(compared) & set(marks)), len(compared)


def seen_traces_warnings(seen: int, compared: int) -> Iterator[str]:
    """Warn where traces were seen in training, and say what to measure on instead.

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
