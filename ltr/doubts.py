"""Why a model's ranking of samples may mean less than it seems to."""

from collections.abc import Iterator

from ltr.artifacts import Router, fit_digest
from ltr.groups import Candidates
from ltr.validate import untold_tools

OTHER_FIT = (
    "the features of the samples were fitted on other data than those of the model, perhaps on the very labels they "
    "are measured by; featurize with -m MODEL"
)


def doubts(router: Router, candidates: Candidates) -> Iterator[str]:
    """What is to be said of candidates before the model ranks them."""
    yield from (f"{each.code}: {each.message}" for each in untold_tools(candidates))
    if candidates.fit and router.features and candidates.fit != fit_digest(router.features):
        yield OTHER_FIT
