"""Cross-encoders: a model reads query and document together."""

import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ltr.arrays import FloatArray
from ltr.encoders.model_folder import commit, fetched, folder_digest, located, refuse_code
from ltr.errors import DataError, RunError, UsageError
from ltr.rerankers.documents import Documents
from ltr.rerankers.missing_models import absent_model
from ltr.rerankers.registry import Reranker, Setting, reranker


@reranker("cross-encoder:NAME_OR_PATH", absent=absent_model)
def cross_encoder_reranker(setting: Setting, model: str) -> Reranker:
    """The logit that a sentence-transformers CrossEncoder gives to query and document read together."""
    folder = fetched(model) if setting.allow_download else located(model)
    if folder is None:
        raise UsageError(f"the model {model!r} is not on this machine")
    return CrossEncoderReranker(folder)


class CrossEncoderReranker:
    """A CrossEncoder in a folder, loaded at the first query."""

    def __init__(self, folder: Path) -> None:
        refuse_code(folder)
        self.folder, self.revision = folder, commit(folder) or folder_digest(folder)

    def __call__(self, query: str, documents: Documents) -> FloatArray:
        """The logit of the query with each document."""
        texts = documents.texts
        # a pair is padded by what stands beside it, which moves its last bits: the same order whatever the list's
        places = sorted(range(len(texts)), key=texts.__getitem__)
        logits = self._logits([(query, texts[place]) for place in places])
        if logits.shape != (len(texts),):
            raise RunError(f"{self.folder}: gives {logits.shape[-1]} numbers a pair; a model with one is needed")
        scores = np.empty(len(texts))
        scores[places] = logits
        return scores

    def _logits(self, pairs: list[tuple[str, str]]) -> FloatArray:
        import torch

        # without the sigmoid, which makes large logits equal
        logits = self._model.predict(pairs, show_progress_bar=False, activation_fn=torch.nn.Identity())
        return np.asarray(logits, dtype=np.float64)

    @cached_property
    def _model(self) -> Any:
        import torch
        import transformers
        from sentence_transformers import CrossEncoder

        torch.set_num_threads(os.cpu_count() or 1)  # imported after numpy, torch uses one thread
        transformers.utils.logging.disable_progress_bar()
        try:
            return CrossEncoder(str(self.folder), local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError, KeyError) as error:
            cause = " ".join(str(error).split())
            raise DataError(f"{self.folder}: not a model that CrossEncoder can load: {cause}") from error
