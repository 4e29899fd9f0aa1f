"""Why a model's ranking of samples may mean less than it seems to."""

import hashlib
from collections.abc import Iterator

from ltr.audit.degenerate import tools_without_text
from ltr.data.groups import Candidates
from ltr.results.evaluated_ranking import EvaluatedRanking
from ltr.storage.feature_state import fit_digest
from ltr.storage.model_file import Router

OTHER_FIT = (
    "the features of the samples were fitted on other data than those of the model, perhaps on the very labels they "
    "are measured by; featurize with -m MODEL"
)


MOST_MARKS = 1000  # of the traces of a training set; of more, those with the lowest marks


def doubts(router: Router, candidates: Candidates) -> Iterator[str]:
    """What is to be said of candidates before the model ranks them."""
    yield from (f"{each.code}: {each.message}" for each in tools_without_text(candidates))
    if candidates.fit and router.features and candidates.fit != fit_digest(router.features):
        yield OTHER_FIT


def marks(candidates: Candidates) -> list[str]:
    """A short hash of each trace id, the lowest first, of which a model keeps MOST_MARKS."""
    return sorted(hashlib.blake2b(trace.encode(), digest_size=6).hexdigest() for trace in candidates.trace_ids)


def learned_from(router: Router, candidates: Candidates) -> Iterator[str]:
    """That some traces of the candidates are among those the model was trained on, as far as it keeps marks of them."""
    kept = router.training.traces
    last = kept[-1] if len(kept) == MOST_MARKS else "g"
    compared = [mark for mark in marks(candidates) if mark <= last]
    seen = len(set(compared) & set(kept))
    if seen:
        yield f"{seen:,} of {len(compared):,} traces that were compared are among those the model was trained on"


def outdone(measured: EvaluatedRanking) -> Iterator[str]:
    """That a single feature puts the right candidate first more often than the model, beyond chance."""
    best, gain = measured.best, measured.gain
    if best is not None and gain is not None and gain.high is not None and gain.high < 0:
        name = f"{'' if best.sign > 0 else '-'}{best.name}"
        yield f"a single feature, {name}, is better than this model: top-1 over it is {gain.mean:+.3f}"
