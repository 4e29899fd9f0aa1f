"""A router as a reranker: that of a run, or the one that needs no training."""

import os
from dataclasses import replace
from pathlib import Path

from ltr.arrays import FloatArray
from ltr.encoders.cached_encoder import CachedEncoder
from ltr.errors import DataError
from ltr.features.zero_shot_weights import weights_digest
from ltr.files.crash_recovery import put_back
from ltr.rerankers.documents import Documents
from ltr.rerankers.indexed_encoder import IndexedEncoder
from ltr.rerankers.registry import Reranker, Setting, reranker
from ltr.serving.router import Router, load
from ltr.serving.zero_shot import untrained
from ltr.storage.model_file import model_digest


def missing_run(run: str, setting: Setting) -> str:
    """Why there is no model."""
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
    return TrainedReranker(untrained(candidates, encoder), weights_digest(), setting.collection)


class TrainedReranker:
    """A router; what its encoder needs of the collection is encoded at the first query."""

    def __init__(self, router: Router, revision: str, collection: Documents) -> None:
        if router.kind != collection.candidates.kind:
            raise DataError(f"the model ranks {router.kind}s; the candidates are {collection.candidates.kind}s")
        if router.features is not None:
            encoder = router.features.encoder
            inner = encoder.encoder() if isinstance(encoder, CachedEncoder) else encoder
            router = replace(router, features=replace(router.features, encoder=IndexedEncoder(inner)))
        self.router, self.revision, self._to_index = router, revision, [collection]

    def __call__(self, query: str, documents: Documents) -> FloatArray:
        """The score that the router gives to each document."""
        while self._to_index:
            self.router.phi(self._to_index.pop().candidates)
        return self.router.scores(self.router.phi(documents.candidates))
