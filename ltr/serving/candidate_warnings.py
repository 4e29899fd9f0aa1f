"""Why a ranking of candidates by a model may mean less than it seems to."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np

from ltr.data.candidates import Candidates
from ltr.data.text_hashes import are_marked
from ltr.data.value_excerpts import excerpt
from ltr.errors import count
from ltr.storage.feature_records import fit_digest
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


def candidate_warnings(model: StoredModel, candidates: Candidates) -> Iterator[str]:
    """Warnings about candidates before the model ranks them: merged ones, another fit, no past.

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

    >>> from ltr.data.text_hashes import text_mark
    >>> unseen_warning((text_mark("mail"),), ("mail", "maps", "news"))
    '2 of 3 tools were never right in training: little but their texts is known of them'
    """
    unseen = len(names) - int(are_marked(names, answers).sum()) if answers else 0
    if unseen * 2 <= len(names):
        return ""
    of = count(len(names), "tool")
    return f"{unseen:,} of {of} were never right in training: little but their texts is known of them"
