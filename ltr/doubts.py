"""Why a model's ranking of samples may mean less than it seems to."""

from collections.abc import Iterator

from ltr.artifacts import Router, are_same
from ltr.features import FittedFeatures
from ltr.groups import Candidates
from ltr.validate import untold_tools


def doubts(router: Router, candidates: Candidates, state: FittedFeatures | None) -> Iterator[str]:
    """What is to be said of candidates, and of the state that ready numbers bear, before the model ranks them."""
    yield from (f"{each.code}: {each.message}" for each in untold_tools(candidates))
    if state and router.features and state.names == router.names and not are_same(state, router.features):
        yield ("the features of the samples were fitted on other data than those of the model; featurize with -m MODEL")
