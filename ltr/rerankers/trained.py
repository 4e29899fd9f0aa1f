"""A trained router as a reranker."""

from dataclasses import replace
from pathlib import Path

from ltr.arrays import FloatArray
from ltr.encoders.cached import CachedEncoder
from ltr.errors import DataError
from ltr.rerankers.documents import Documents
from ltr.rerankers.encoded import Indexed
from ltr.rerankers.registry import Reranker, Setting, reranker
from ltr.storage.model_file import Router, load_router, router_digest


def absent(run: str, setting: Setting) -> str:
    """Why there is no model."""
    return "" if Path(run).exists() else f"{run}: no such run; make it with ltr run or ltr train"


@reranker("model:RUN", absent=absent)
def model(setting: Setting, run: str) -> Reranker:
    """The score of a trained run: its features are computed for each query, its candidates' texts are encoded once."""
    return Trained(load_router(run), router_digest(run), setting.collection)


class Trained:
    """The router; what its encoder needs of the collection is encoded at the first query."""

    def __init__(self, router: Router, revision: str, collection: Documents) -> None:
        if router.kind != collection.candidates.kind:
            raise DataError(f"the model ranks {router.kind}s; the candidates are {collection.candidates.kind}s")
        self.router, self.revision, self._unread = _indexed(router), revision, [collection]

    def __call__(self, query: str, documents: Documents) -> FloatArray:
        while self._unread:
            self.router.phi(self._unread.pop().candidates)
        return self.router.scores(self.router.phi(documents.candidates))


def _indexed(router: Router) -> Router:
    if router.features is None:
        return router
    encoder = router.features.encoder
    opened = encoder.encoder() if isinstance(encoder, CachedEncoder) else encoder
    return replace(router, features=replace(router.features, encoder=Indexed(opened)))
