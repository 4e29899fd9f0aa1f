"""A trained model on disk: model.json, and model.npz beside it when something learned is an array."""

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from ltr.arrays import FloatArray
from ltr.data.groups import Candidates
from ltr.data.schema import Kind
from ltr.errors import DataError, FileError, LtrError
from ltr.features.crossfit import FittedFeatures
from ltr.files.npz import Array, read_arrays, write_arrays
from ltr.files.reading import AnyPath, read_bytes
from ltr.files.writing import write_bytes
from ltr.storage.feature_state import features_document, features_from
from ltr.storage.records import refuse_earlier
from ltr.storage.training_record import TrainingRecord
from ltr.training.config import TrainConfig
from ltr.training.curves import MOST as MOST_KNOTS
from ltr.training.curves import STRAIGHT, Knots

FORMAT = "ltr-model/2"
LARGEST_DOCUMENT, LARGEST_ARRAYS = 16 << 20, 512 << 20
MODEL, ARRAYS = "model.json", "model.npz"


@dataclass(frozen=True, slots=True)
class StoredModel:
    """What model.json holds: the features, their weights, and how they were learned."""

    kind: Kind
    names: tuple[str, ...]
    w: FloatArray  # a weight a feature, then what each knot adds to it
    features: FittedFeatures | None  # None: trained on ready numbers alone
    trainer: TrainConfig  # the settings w was learned with
    training: TrainingRecord  # what is known about it
    knots: Knots = STRAIGHT


def refuse_other_columns(names: tuple[str, ...], candidates: Candidates) -> None:
    """Raise unless ready numbers are the columns the model knows; nameless ones need only be as many."""
    found = candidates.feature_names
    is_nameless = found == nameless(len(found)) or names == nameless(len(names))
    if found != names and not (is_nameless and len(found) == len(names)):
        raise DataError(f"the samples bear the features {', '.join(found)}; the model has {', '.join(names)}")


def nameless(count: int) -> tuple[str, ...]:
    """The names of ready numbers nobody named.

    >>> nameless(2)
    ('x1', 'x2')
    """
    return tuple(f"x{number}" for number in range(1, count + 1))


def save_model(directory: AnyPath, model: StoredModel) -> None:
    """Write model.json, after the arrays it refers to."""
    arrays: dict[str, Array] = {}
    described: dict[str, Any] = {
        "features": [{"name": name, "options": {}, "state": None} for name in model.names],
        "encoder": None,
    }
    if model.features:
        described = features_document(model.features, arrays)
    document = {
        "format": FORMAT,
        "kind": model.kind,
        "features": with_bends(described["features"], model),
        "weights": model.w[: len(model.names)].tolist(),
        "encoder": described["encoder"],
        "trainer": msgspec.to_builtins(model.trainer),
        "training": msgspec.to_builtins(model.training),
        "arrays": None,
    }
    if arrays:
        write_arrays(Path(directory, ARRAYS), arrays)
        document["arrays"] = _digest(read_bytes(Path(directory, ARRAYS), limit=LARGEST_ARRAYS))
    document["checksum"] = _digest(msgspec.json.encode(document))
    lines = [f"{msgspec.json.encode(key).decode()}: {msgspec.json.encode(document[key]).decode()}" for key in document]
    write_bytes(Path(directory, MODEL), ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def with_bends(features: list[dict[str, Any]], model: StoredModel) -> list[dict[str, Any]]:
    """What is said of the features; of one whose weight changes, from which value on and by how much, too."""
    turns = model.w[len(features) :].tolist()
    found: list[list[list[float]]] = [[] for _ in features]
    for column, place, turn in zip(model.knots.columns, model.knots.positions.tolist(), turns, strict=True):
        found[column].append([place, turn])
    each = zip(features, found, model.knots.ends.tolist() or [()] * len(features), strict=True)
    return [{**said, "knots": knots, "ends": ends} if knots else said for said, knots, ends in each]


class _Feature(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    options: dict[str, Any]
    state: dict[str, Any] | None
    source: str | None = None  # the package or file that brings it, where that is not ltr
    knots: Annotated[list[tuple[float, float]], msgspec.Meta(max_length=MOST_KNOTS)] = []  # (place, turn)
    ends: tuple[float, float] = (-math.inf, math.inf)


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    """What model.json says, checksum aside; what it says of features and encoder is read by `state`."""

    format: str
    kind: Kind
    features: list[_Feature]
    weights: list[float]
    encoder: dict[str, Any] | None
    trainer: TrainConfig
    training: TrainingRecord
    arrays: str | None


def load_model(path: AnyPath) -> StoredModel:
    """The model of a model.json or of a run directory, checked against its checksums."""
    given = Path(path)
    file = held(given, MODEL) if given.is_dir() else given
    document = _read(file)
    try:
        model = msgspec.convert(document, _Document)
        arrays = _arrays(file.with_name(ARRAYS), model.arrays)
        names = tuple(feature.name for feature in model.features)
        if not len(names) == len(set(names)) == len(model.weights) > 0 or model.training.best_feature.name not in names:
            raise DataError(f"{len(model.weights)} weights do not fit the features {', '.join(names)}")
        if abs(model.training.best_feature.sign) != 1:
            raise DataError(f"the sign of its best feature is {model.training.best_feature.sign}; 1 or -1 is needed")
        features = None if model.encoder is None else features_from(document, arrays)
        w, knots = weighing(model)
        return StoredModel(model.kind, names, w, features, model.trainer, model.training, knots)
    except FileError:
        raise
    except (msgspec.ValidationError, OverflowError, LtrError) as error:
        raise FileError(str(file), f"not a usable model: {error}") from error


def weighing(model: _Document) -> tuple[FloatArray, Knots]:
    """A weight a column, and where the columns of knots begin."""
    each = [(column, *knot) for column, feature in enumerate(model.features) for knot in feature.knots]
    columns, places, turns = zip(*each, strict=True) if each else ((), (), ())
    ends = np.array([feature.ends for feature in model.features])
    if (ends[:, 0] > ends[:, 1]).any():
        raise DataError("the ends of a feature that knots are its least and its greatest value, in this order")
    knots = Knots(np.array(columns, dtype=np.int64), np.array(places, dtype=np.float64), ends)
    return np.array([*model.weights, *turns], dtype=np.float64), knots


def model_digest(path: AnyPath) -> str:
    """The checksum of a model.json or of that of a run directory, which speaks for its arrays, too."""
    given = Path(path)
    return _digest(read_bytes(given / MODEL if given.is_dir() else given, limit=LARGEST_DOCUMENT))


def held(directory: Path, name: str) -> Path:
    """The file of that name in a run directory; where the directory holds runs instead, an error that names one."""
    runs = sorted(each.parent.as_posix() for each in directory.glob(f"*/{name}"))
    if runs and not (directory / name).exists():
        raise FileError(str(directory), f"holds no {name}; name a run directory, such as {runs[0]}")
    return directory / name


def _read(file: Path) -> dict[str, Any]:
    content = read_bytes(file, limit=LARGEST_DOCUMENT)
    try:
        document = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise FileError(str(file), f"not JSON: {error}; name a run directory or its {MODEL}") from error
    refuse_earlier(file, document)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileError(str(file), f"not a model of the format {FORMAT}")
    checksum = document.pop("checksum", None)
    if checksum != _digest(msgspec.json.encode(document)):
        raise FileError(str(file), "its checksum does not fit its content: it was changed or damaged")
    return document


def _arrays(file: Path, digest: str | None) -> dict[str, Array]:
    if digest is None:
        return {}
    if _digest(read_bytes(file, limit=LARGEST_ARRAYS)) != digest:
        raise FileError(str(file), "its checksum is not the one in model.json: it was changed or damaged")
    return read_arrays(file, limit=LARGEST_ARRAYS)


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
