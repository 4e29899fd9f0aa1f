"""Rankings of others as groups with scores, whatever their format: what `evaluate --run` measures."""

import numpy as np

from ltr.data.groups import read_groups
from ltr.data.importers.file_beginning import read_opening
from ltr.data.importers.ranked_groups import RankedGroups
from ltr.data.importers.recommended_lists import group_lists
from ltr.data.importers.trec_runs_with_qrels import read_ranked
from ltr.errors import DataError, UsageError
from ltr.files.path_arguments import STDIN, AnyPath


def read_scored(
    run: AnyPath, truth: AnyPath | None = None, *, complete: bool = False, hash_topics: bool = False
) -> RankedGroups:
    """Recommended lists, or samples whose one ready number is the score, with their labels; else a TREC run with qrels.

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


def is_trec(run: AnyPath) -> bool:
    """Whether the file is a TREC run: it does not begin with a JSON object. So is stdin, which is read once only."""
    return str(run) == STDIN or not isinstance(read_opening(run).document, dict)
