"""Folders of sentence-transformers models: where they are, whether they bring code, how a state of one is named."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ltr.encoders.protocol import Role
from ltr.errors import DataError, RunError, UsageError
from ltr.files.content_digests import sha256
from ltr.files.reading import read_bytes

OWN_MODULES = "sentence_transformers."
PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}  # the names a model may give them
CODE_KEYS = {"auto_map", "trust_remote_code", "custom_pipelines"}
PICKLED = {".bin", ".pt", ".pth", ".pkl", ".ckpt", ".pickle"}
FETCHED = ["*.json", "*.txt", "*.safetensors", "*.model"]  # neither code nor pickles
COMMIT_LENGTH = 40
LARGEST_CONFIG = 4 << 20
VOCABULARIES = {"tokenizer.json", "vocab.json"}


def located(model: str) -> Path | None:
    """The folder of a model on this machine: the path itself, or its place in the hub's cache; None without one."""
    if Path(model).is_dir():
        return Path(model).resolve()
    if Path(model).is_absolute() or model.startswith("."):
        return None
    import huggingface_hub

    for name in hub_names(model):
        try:
            return Path(huggingface_hub.snapshot_download(name, local_files_only=True))
        except (OSError, ValueError):  # not there, or no name a hub could have
            continue
    return None


def fetched(model: str) -> Path:
    """The folder of a model, downloaded to the hub's cache if it is not on this machine; code is not downloaded."""
    if (folder := located(model)) is not None:
        return folder
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        raise UsageError(f"encoder model {model!r} is not on this machine, and HF_HUB_OFFLINE forbids to download it")
    import huggingface_hub

    try:
        return Path(huggingface_hub.snapshot_download(hub_names(model)[-1], allow_patterns=FETCHED))
    except (OSError, ValueError) as error:
        cause = " ".join(str(error).split())
        raise RunError(f"encoder model {model!r} could not be downloaded: {cause}") from error


def hub_names(model: str) -> tuple[str, ...]:
    """What the hub may call a model.

    >>> hub_names("all-MiniLM-L6-v2")
    ('all-MiniLM-L6-v2', 'sentence-transformers/all-MiniLM-L6-v2')
    """
    return (model,) if "/" in model else (model, f"{OWN_MODULES[:-1].replace('_', '-')}/{model}")


def refuse_code(folder: Path) -> None:
    """Raise when loading the model would run code it brings, or unpack pickled weights."""
    files = _files(folder)
    for path in files:
        if path.suffix != ".json" or path.name in VOCABULARIES:
            continue
        if keys := set(_keys(_config(path))) & CODE_KEYS:
            raise DataError(f"{path}: {', '.join(sorted(keys))} asks to run code of the model's own; it is never run")
    modules = folder / "modules.json"
    for module in _config(modules) if modules.is_file() else ():
        kind = module.get("type") if isinstance(module, dict) else None
        if not (isinstance(kind, str) and kind.startswith(OWN_MODULES)):
            raise DataError(f"{modules}: {kind!r} is code of the model's own; it is never run")
    weights = {path.suffix for path in files}
    if weights & PICKLED and ".safetensors" not in weights:
        raise DataError(f"{folder}: its weights are pickled; weights as .safetensors are needed")


def prompts(folder: Path) -> dict[Role, str]:
    """What the model wants to stand before a text of each role."""
    path = folder / "config_sentence_transformers.json"
    config = _config(path) if path.is_file() else {}
    entry = config.get("prompts") if isinstance(config, dict) else None
    named = entry if isinstance(entry, dict) else {}
    default = named.get(config.get("default_prompt_name") or "", "") if named else ""
    query, document = (
        next((str(named[name]) for name in names if name in named), str(default)) for names in PROMPTS.values()
    )
    return {"query": query, "document": document}


def commit(folder: Path) -> str | None:
    """The hub's name of a state of the model, for a folder that lies in the hub's cache.

    >>> commit(Path("hub/models--a--b/snapshots", "0" * 40)) == "0" * 40, commit(Path("models/own"))
    (True, None)
    """
    is_commit = len(folder.name) == COMMIT_LENGTH and not set(folder.name) - set("0123456789abcdef")
    return folder.name if is_commit and folder.parent.name == "snapshots" else None


def folder_digest(folder: Path) -> str:
    """Another text whenever a file of the model is another: a digest of their names and contents."""
    named = [f"{path.relative_to(folder).as_posix()}\0{sha256(path)}" for path in _files(folder)]
    return hashlib.sha256("\n".join(named).encode()).hexdigest()


def _files(folder: Path) -> list[Path]:
    """The files of a model, hidden ones and documents aside."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix.lower() != ".md"]
    return sorted(path for path in paths if not any(part.startswith(".") for part in path.relative_to(folder).parts))


def _config(path: Path) -> Any:
    """What a JSON file of a model holds."""
    try:
        return msgspec.json.decode(read_bytes(path, limit=LARGEST_CONFIG))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from error


def _keys(config: Any) -> Iterator[str]:
    """Every key, at any depth."""
    left = [config]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield from value
            left += value.values()
        elif isinstance(value, list):
            left += value
