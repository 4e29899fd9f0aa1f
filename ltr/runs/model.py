"""A trained model on disk: model.json, and model.npz beside it when something learned is an array."""

import hashlib
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
import numpy as np

from ltr.arrays import LARGEST, Array, FloatArray
from ltr.errors import DataError, FileError, LtrError
from ltr.evaluation import Baseline
from ltr.features import FittedFeatures
from ltr.featurized import feature_records, restored_features
from ltr.files import put_back, read_arrays, read_bytes, write_arrays
from ltr.paths import AnyPath
from ltr.records.abstain import AbstainRule
from ltr.records.model import EncoderRecord, FeatureRecord
from ltr.records.run import LARGEST_ARRAYS, LARGEST_DOCUMENT, refuse_earlier
from ltr.records.training import TrainingRecord
from ltr.runs.directory import Part, RunDirectory
from ltr.samples import Kind
from ltr.training import Knots, NoneLogit, Products, Terms, TrainConfig

FORMAT: Final = "ltr-model/3"
UNBOUNDED = (-math.inf, math.inf)
MOST_PRODUCTS = Products.MOST_FEATURES * (Products.MOST_FEATURES - 1) // 2
Product = tuple[str, str, float]  # two features, and the weight of their product


@dataclass(frozen=True, slots=True)
class StoredModel:
    """What model.json holds: the features, their weights, and how they were learned."""

    kind: Kind
    names: tuple[str, ...]
    w: FloatArray  # a weight a feature, then one a term
    features: FittedFeatures | None  # None: trained on ready numbers alone
    trainer: TrainConfig  # the settings w was learned with
    training: TrainingRecord  # what is known about it
    terms: Terms = field(default_factory=Terms)
    none: NoneLogit | None = None  # how probably nothing offered is right
    abstain: AbstainRule | None = None  # when it does not answer


class ModelRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """model.json."""

    format: Literal["ltr-model/3"]
    kind: Kind
    features: list[FeatureRecord]
    weights: list[float]  # of the features; those of knots stand with their feature
    encoder: EncoderRecord | None
    trainer: TrainConfig
    training: TrainingRecord
    arrays: str | None  # the checksum of model.npz
    products: Annotated[list[Product], msgspec.Meta(max_length=MOST_PRODUCTS)] = []
    none: NoneLogit | None = None
    abstain: AbstainRule | None = None
    checksum: str = ""  # of all the rest


def save_model(directory: AnyPath, model: StoredModel) -> ModelRecord:
    """Write model.json, after the arrays it refers to; what it says comes back."""
    from ltr.files import write_file  # a model that only ranks is never written

    arrays: dict[str, Array] = {}
    features, encoder = [FeatureRecord(name, {}, None) for name in model.names], None
    if model.features:
        features, encoder = feature_records(model.features, arrays)
    products = _put_terms(model, features)
    digest = None
    if arrays:
        write_arrays(Path(directory, Part.ARRAYS), arrays)
        digest = _digest(read_bytes(Path(directory, Part.ARRAYS), limit=LARGEST_ARRAYS))
    weights = model.w[: len(model.names)].tolist()
    learned = (weights, encoder, model.trainer, model.training, digest)
    record = ModelRecord(
        FORMAT, model.kind, features, *learned, products=products, none=model.none, abstain=model.abstain
    )
    record.checksum = _digest(msgspec.json.encode(record))
    document = msgspec.to_builtins(record)
    lines = [f"{msgspec.json.encode(key).decode()}: {msgspec.json.encode(document[key]).decode()}" for key in document]
    write_file(Path(directory, Part.MODEL), ("{\n" + ",\n".join(lines) + "\n}\n").encode())
    return record


def load_model(path: AnyPath) -> StoredModel:
    """The model of a model.json or of a run directory, checked against its checksums."""
    file = RunDirectory(path).file(Part.MODEL) if put_back(path).is_dir() else Path(path)
    content = read_bytes(file, limit=LARGEST_DOCUMENT)
    try:
        document = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise FileError(str(file), f"not JSON: {error}; name a run directory or its {Part.MODEL}") from error
    refuse_earlier(file, document)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileError(str(file), f"not a model of the format {FORMAT}")
    checksum = document.pop("checksum", None)
    if checksum != _digest(msgspec.json.encode(document)):
        raise FileError(str(file), "its checksum does not fit its content: it was changed or damaged")
    try:
        return _restored_model(msgspec.convert(document, ModelRecord), file.with_name(Part.ARRAYS))
    except FileError:
        raise
    except (msgspec.ValidationError, OverflowError, LtrError) as error:
        raise FileError(str(file), f"not a usable model: {error}") from error


def _restored_model(record: ModelRecord, arrays_file: Path) -> StoredModel:
    """The model of the record, whose fields must fit together and to the arrays in the file."""
    names, best = tuple(feature.name for feature in record.features), record.training.best_feature
    if not len(names) == len(set(names)) == len(record.weights) > 0:
        raise DataError(f"{len(record.weights)} weights do not fit the features {', '.join(names)}")
    if record.none and record.none.relevance not in ("", *names):
        raise DataError(f"none reads the column {record.none.relevance}; the features are {', '.join(names)}")
    if abs(best.sign) != 1 or not best.name:  # folds may have left the column itself out
        raise DataError(f"its best feature is {best.name!r} with the sign {best.sign}; a name with 1 or -1 is needed")
    if (compared := record.training.baselines.compared) not in Baseline.COMPARED:
        raise DataError(f"it is compared with {compared!r}; one of {', '.join(Baseline.COMPARED)} is needed")
    arrays: dict[str, Array] = {}
    if record.arrays is not None:
        if _digest(read_bytes(arrays_file, limit=LARGEST_ARRAYS)) != record.arrays:
            raise FileError(str(arrays_file), "its checksum is not the one in model.json: it was changed or damaged")
        arrays = read_arrays(arrays_file, limit=LARGEST_ARRAYS)
    features = None
    if record.encoder is not None:
        features = restored_features(record.kind, record.features, record.encoder, arrays)
    terms, of_terms = _terms(record, names)
    return StoredModel(
        record.kind,
        names,
        np.array([*record.weights, *of_terms], dtype=np.float64),
        features,
        record.trainer,
        record.training,
        terms,
        record.none,
        record.abstain,
    )


def _put_terms(model: StoredModel, features: list[FeatureRecord]) -> list[Product]:
    """The knots and centres put into the records of their features; the products come back."""
    knots, products = model.terms.knots, model.terms.products
    weights = model.w[len(features) :].tolist()
    for column, position, increment in zip(knots.columns, knots.positions.tolist(), weights, strict=False):
        features[column].knots.append((position, increment))
        features[column].ends = tuple(knots.ends[column].tolist())
    for column, (centre, ends) in enumerate(zip(products.centres.tolist(), products.ends.tolist(), strict=True)):
        features[column].centre, features[column].ends = centre, tuple(ends)
    pairs = zip(products.first, products.second, weights[len(knots) :], strict=True)
    return [(model.names[first], model.names[second], weight) for first, second, weight in pairs]


def _terms(record: ModelRecord, names: tuple[str, ...]) -> tuple[Terms, list[float]]:
    """The terms of the record, with their weights."""
    knots = [(column, *knot) for column, feature in enumerate(record.features) for knot in feature.knots]
    columns, positions, increments = zip(*knots, strict=True) if knots else ((), (), ())
    ends = np.array([feature.ends or UNBOUNDED for feature in record.features])
    if (ends[:, 0] > ends[:, 1]).any():
        raise DataError("the ends of a feature are its least and its greatest value, in this order")
    has_knots = np.array([bool(feature.knots) for feature in record.features])
    of_knots = np.where(has_knots[:, np.newaxis], ends, UNBOUNDED)
    curves = Knots(np.array(columns, dtype=np.int64), np.array(positions, dtype=np.float64), of_knots)
    if not record.products:
        return Terms(curves), [*increments]
    first, second, weights = zip(*record.products, strict=True)
    pairs = {frozenset(pair) for pair in zip(first, second, strict=True) if len(set(pair)) == 2}
    multiplied = {feature.name for feature in record.features if feature.ends and feature.centre is not None}
    if len(pairs) < len(first) or not {*first, *second} <= multiplied:
        raise DataError("a product has two different features with a centre and ends, and stands once")
    centres = np.array([feature.centre or 0.0 for feature in record.features])
    is_multiplied = np.array([name in multiplied for name in names])
    is_sound = (ends[:, 0] <= centres) & (centres <= ends[:, 1]) & (np.abs(ends).max(axis=1) <= LARGEST)
    if not is_sound[is_multiplied].all():
        raise DataError(f"the centre of a feature lies between its ends, which are at most {LARGEST:g}")
    left, right = (np.array([names.index(name) for name in side], dtype=np.int64) for side in (first, second))
    return Terms(curves, Products(left, right, centres, ends)), [*increments, *weights]


def model_digest(path: AnyPath) -> str:
    """The checksum of a model.json or of that of a run directory, which speaks for its arrays, too."""
    file = Path(path, Part.MODEL) if put_back(path).is_dir() else Path(path)
    return _digest(read_bytes(file, limit=LARGEST_DOCUMENT))


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
