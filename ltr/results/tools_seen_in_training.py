"""Queries by whether a tool that is right for them was right in training: the others ask for what was never learned."""

import numpy as np

from ltr.data.groups import Groups
from ltr.data.text_hashes import are_marked, text_mark
from ltr.results.breakdown import Breakdown
from ltr.storage.model_file import StoredModel

KNOWN, UNSEEN = "known", "unseen"


def answer_marks(groups: Groups) -> list[str]:
    """A short hash of each tool that is right in some group, in order; none for graphs, whose ids name nothing."""
    candidates = groups.candidates
    if candidates.kind == "graph":
        return []
    right = np.unique(candidates.names[groups.labels > 0]).tolist()
    return sorted(text_mark(candidates.name_texts[code]) for code in right)


def known_answers(model: StoredModel, groups: Groups, rel_threshold: float) -> Breakdown | None:
    """The queries by whether one of their right tools was right in training; None where that is not known."""
    candidates, answers = groups.candidates, model.training.answers
    if candidates.kind == "graph" or not answers:
        return None
    is_known = are_marked(candidates.name_texts, answers)[candidates.names]
    is_right = groups.labels >= rel_threshold
    codes = np.where(np.logical_or.reduceat(is_known & is_right, groups.offsets[:-1]), 0, 1)
    return Breakdown("answer", (KNOWN, UNSEEN), codes)
