"""A trained model on disk: model.json, and model.npz beside it when something learned is an array."""

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec
import numpy as np

from ltr.arrays import FloatArray
from ltr.data.schema import Kind
from ltr.errors import DataError, FileError, LtrError
from ltr.features.crossfit import FittedFeatures
from ltr.files.crash_recovery import put_back
from ltr.files.npz import Array, read_arrays, write_arrays
from ltr.files.reading import AnyPath, read_bytes
from ltr.storage.abstain_rule import AbstainRule
from ltr.storage.feature_state import EncoderRecord, FeatureRecord, feature_records, restored_features
from ltr.storage.record_file import refuse_earlier
from ltr.storage.run_record import run_file
from ltr.storage.training_record import TrainingRecord
from ltr.training.config import TrainConfig
from ltr.training.curves import STRAIGHT, Knots
from ltr.training.none_logit import NoneLogit

FORMAT: Final = "ltr-model/2"
LARGEST_DOCUMENT, LARGEST_ARRAYS = 16 << 20, 512 << 20
MODEL, ARRAYS = "model.json", "model.npz"
UNBOUNDED = (-math.inf, math.inf)


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
    none: NoneLogit | None = None  # how probably nothing offered is right
    abstain: AbstainRule | None = None  # when it does not answer


class ModelRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """model.json."""

    format: Literal["ltr-model/2"]
    kind: Kind
    features: list[FeatureRecord]
    weights: list[float]  # of the features; those of knots stand with their feature
    encoder: EncoderRecord | None
    trainer: TrainConfig
    training: TrainingRecord
    arrays: str | None  # the checksum of model.npz
    none: NoneLogit | None = None
    abstain: AbstainRule | None = None
    checksum: str = ""  # of all the rest


def save_model(directory: AnyPath, model: StoredModel) -> ModelRecord:
    """Write model.json, after the arrays it refers to; what it says comes back."""
    from ltr.files.atomic_write import write_bytes  # a model that only ranks is never written

    arrays: dict[str, Array] = {}
    features, encoder = [FeatureRecord(name, {}, None) for name in model.names], None
    if model.features:
        features, encoder = feature_records(model.features, arrays)
    ends = model.knots.ends.tolist()
    increments = model.w[len(features) :].tolist()
    for column, position, increment in zip(
        model.knots.columns, model.knots.positions.tolist(), increments, strict=True
    ):
        features[column].knots.append((position, increment))
        features[column].ends = tuple(ends[column])
    digest = None
    if arrays:
        write_arrays(Path(directory, ARRAYS), arrays)
        digest = _digest(read_bytes(Path(directory, ARRAYS), limit=LARGEST_ARRAYS))
    weights = model.w[: len(model.names)].tolist()
    learned = (weights, encoder, model.trainer, model.training, digest)
    record = ModelRecord(FORMAT, model.kind, features, *learned, none=model.none, abstain=model.abstain)
    record.checksum = _digest(msgspec.json.encode(record))
    document = msgspec.to_builtins(record)
    lines = [f"{msgspec.json.encode(key).decode()}: {msgspec.json.encode(document[key]).decode()}" for key in document]
    write_bytes(Path(directory, MODEL), ("{\n" + ",\n".join(lines) + "\n}\n").encode())
    return record


def load_model(path: AnyPath) -> StoredModel:
    """The model of a model.json or of a run directory, checked against its checksums."""
    file = run_file(path, MODEL) if put_back(path).is_dir() else Path(path)
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
    try:
        return _restored_model(msgspec.convert(document, ModelRecord), file.with_name(ARRAYS))
    except FileError:
        raise
    except (msgspec.ValidationError, OverflowError, LtrError) as error:
        raise FileError(str(file), f"not a usable model: {error}") from error


def _restored_model(record: ModelRecord, arrays_file: Path) -> StoredModel:
    """The model of the record, whose fields must fit together and to the arrays in the file."""
    names, best = tuple(feature.name for feature in record.features), record.training.best_feature
    if not len(names) == len(set(names)) == len(record.weights) > 0 or best.name not in names:
        raise DataError(f"{len(record.weights)} weights do not fit the features {', '.join(names)}")
    if record.none and record.none.relevance not in ("", *names):
        raise DataError(f"none reads the column {record.none.relevance}; the features are {', '.join(names)}")
    if abs(best.sign) != 1:
        raise DataError(f"the sign of its best feature is {best.sign}; 1 or -1 is needed")
    arrays: dict[str, Array] = {}
    if record.arrays is not None:
        if _digest(read_bytes(arrays_file, limit=LARGEST_ARRAYS)) != record.arrays:
            raise FileError(str(arrays_file), "its checksum is not the one in model.json: it was changed or damaged")
        arrays = read_arrays(arrays_file, limit=LARGEST_ARRAYS)
    features = None
    if record.encoder is not None:
        features = restored_features(record.kind, record.features, record.encoder, arrays)
    knots = [(column, *knot) for column, feature in enumerate(record.features) for knot in feature.knots]
    columns, positions, increments = zip(*knots, strict=True) if knots else ((), (), ())
    ends = np.array([feature.ends or UNBOUNDED for feature in record.features])
    if (ends[:, 0] > ends[:, 1]).any():
        raise DataError("the ends of a feature with knots are its least and its greatest value, in this order")
    return StoredModel(
        record.kind,
        names,
        np.array([*record.weights, *increments], dtype=np.float64),
        features,
        record.trainer,
        record.training,
        Knots(np.array(columns, dtype=np.int64), np.array(positions, dtype=np.float64), ends),
        record.none,
        record.abstain,
    )


def model_digest(path: AnyPath) -> str:
    """The checksum of a model.json or of that of a run directory, which speaks for its arrays, too."""
    file = Path(path, MODEL) if put_back(path).is_dir() else Path(path)
    return _digest(read_bytes(file, limit=LARGEST_DOCUMENT))


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
