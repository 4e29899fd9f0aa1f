"""A router as a reranker: that of a run, or the one that needs no training."""

import os
from dataclasses import replace
from pathlib import Path

from ltr.arrays import FloatArray
from ltr.encoders import CachedEncoder
from ltr.errors import DataError
from ltr.features import ZeroShotWeights
from ltr.files import put_back
from ltr.rerankers.encoders import ServiceEncoder
from ltr.rerankers.protocol import Documents, Reranker, Setting, reranker
from ltr.runs import model_digest
from ltr.serving import Router, load, zero_shot_router


def missing_run(run: str, setting: Setting) -> str:
    """Return why there is no model."""
    if put_back(run).exists():
        return ""
    return f"{Path(os.path.normpath(run)).as_posix()}: no such run; make it with ltr run or ltr train"


@reranker("model:RUN", absent=missing_run)
def trained_reranker(setting: Setting, run: str) -> Reranker:
    """The score of a trained run: its features are computed for each query, its candidates' texts are encoded once."""
    return TrainedReranker(load(run), model_digest(run), setting.collection)


@reranker("zero-shot:ENCODER")
def zero_shot_reranker(setting: Setting, encoder: str) -> Reranker:
    """The router that needs no training, as `ltr.search` makes it of all candidates of the data."""
    candidates = setting.collection.candidates
    if candidates.kind != "tool":
        raise DataError(f"without training tools are ranked; the candidates are {candidates.kind}s")
    return TrainedReranker(zero_shot_router(candidates, encoder), ZeroShotWeights.digest(), setting.collection)


class TrainedReranker:
    """A router; what its encoder needs of the collection is encoded at the first query."""

    def __init__(self, router: Router, revision: str, collection: Documents) -> None:
        if router.kind != collection.candidates.kind:
            raise DataError(f"the model ranks {router.kind}s; the candidates are {collection.candidates.kind}s")
        if router.features is not None:
            encoder = router.features.encoder
            inner = encoder.encoder() if isinstance(encoder, CachedEncoder) else encoder
            router = replace(router, features=replace(router.features, encoder=ServiceEncoder(inner)))
        self.router, self.revision, self._to_index = router, revision, [collection]

    def __call__(self, query: str, documents: Documents) -> FloatArray:
        """Return the score that the router gives to each document."""
        while self._to_index:
            self.router.phi(self._to_index.pop().candidates)
        return self.router.scores(self.router.phi(documents.candidates))
