"""What features and encoders have learned: plain JSON with the arrays beside it, in a model, or in files of its own."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec
import numpy as np

from ltr.arrays import Array, State
from ltr.encoders import ENCODERS, CachedEncoder
from ltr.errors import DataError, FileError, UsageError
from ltr.features import FEATURES, FeatureConfig, FittedFeatures
from ltr.files import read_arrays, read_bytes, write_arrays, write_file
from ltr.paths import AnyPath
from ltr.plugins import OURS
from ltr.records.model import EncoderRecord, FeatureRecord
from ltr.records.run import LARGEST_ARRAYS, LARGEST_DOCUMENT, UNUSABLE, Json
from ltr.samples import Kind
from ltr.states import declared_type, refuse_other_type

REFERENCE = "$array"
FORMAT: Final = "ltr-features/2"


def without_arrays(value: Json, path: str, arrays: dict[str, Array]) -> Json:
    """The value with every array replaced by a reference to `arrays`, where the array is put under its path.

    >>> arrays = {}
    >>> without_arrays({"n": 2, "counts": np.array([1, 2])}, "encoder", arrays), arrays
    ({'n': 2, 'counts': {'$array': 'encoder.counts'}}, {'encoder.counts': array([1, 2])})
    """
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return {REFERENCE: path}
    if isinstance(value, dict):
        return {key: without_arrays(inner, f"{path}.{key}", arrays) for key, inner in value.items()}
    return value


def with_arrays(value: Json, arrays: Mapping[str, Array]) -> Json:
    """The value with every reference replaced by the array it names.

    >>> with_arrays({"counts": {"$array": "a"}}, {"a": np.array([1, 2])})
    {'counts': array([1, 2])}
    """
    if not isinstance(value, dict):
        return value
    if set(value) == {REFERENCE}:
        if value[REFERENCE] not in arrays:
            raise DataError(f"the array {value[REFERENCE]!r} is missing")
        return arrays[value[REFERENCE]]
    return {key: with_arrays(inner, arrays) for key, inner in value.items()}


def feature_records(features: FittedFeatures, arrays: dict[str, Array]) -> tuple[list[FeatureRecord], EncoderRecord]:
    """The records of features and encoder; their arrays go into `arrays`."""
    records = []
    for config, state in zip(features.configs, features.states, strict=True):
        source = FEATURES.source(config.name)
        learned = without_arrays(state, config.name, arrays)
        records.append(FeatureRecord(config.name, config.options, learned, None if source == OURS else str(source)))
    encoder = features.encoder
    learned = without_arrays(encoder.state, "encoder", arrays)
    return records, EncoderRecord(encoder.name, encoder.revision, learned)


def fit_digest(features: FittedFeatures) -> str:
    """The same for two features only if they are fitted on the same: of their records and arrays."""
    arrays: dict[str, Array] = {}
    digest = hashlib.sha256(msgspec.json.encode((features.kind, *feature_records(features, arrays))))
    for array in arrays.values():
        digest.update(array.tobytes())
    return digest.hexdigest()


def restored_features(
    kind: Kind, records: Sequence[FeatureRecord], encoder: EncoderRecord, arrays: Mapping[str, Array]
) -> FittedFeatures:
    """The features of these records; a DataError says which of them cannot be, and what to do."""
    for record in records:
        if record.name not in FEATURES:
            source = f" (of {record.source})" if record.source else ""
            cure = "install the package that brings it, or name its file with --code"
            raise DataError(f"the feature {record.name!r}{source} is not loaded: {cure}")
        if FEATURES[record.name].kind != kind:
            raise DataError(f"not every feature is of the kind {kind!r}")
    try:
        configs = tuple(FeatureConfig(record.name, record.options) for record in records)
        learned = with_arrays(encoder.state, arrays)
        if declared := declared_type(ENCODERS[encoder.name]):
            refuse_other_type(learned, declared, f"the state of the encoder {encoder.name}")
        cached = CachedEncoder.restored(encoder.name, learned, encoder.revision)
        states = tuple(_state(record, arrays, cached) for record in records)
    except UsageError as error:  # an encoder or an option that is unknown here
        raise DataError(str(error)) from error
    except (TypeError, RecursionError) as error:  # a reference to an array that is no text, mappings without end
        raise DataError(f"the description of the features does not hold together: {error}") from error
    return FittedFeatures(kind, configs, states, cached)


def _state(record: FeatureRecord, arrays: Mapping[str, Array], encoder: CachedEncoder) -> State | None:
    """What the feature has learned, with its arrays, of the type that it declares."""
    learner = FEATURES[record.name].learner
    if (record.state is None) != (learner is None):
        raise DataError(f"the feature {record.name} has {'no' if record.state is None else 'a'} state")
    state: State | None = with_arrays(record.state, arrays)
    if learner and (declared := declared_type(learner.state)):
        refuse_other_type(state, declared, f"the state of {record.name}", lambda: encoder.encode_once([], "query"))
    return state


class StateRecord(msgspec.Struct, omit_defaults=True):
    """The state in a file of featurised samples, or beside it."""

    format: Literal["ltr-features/2"]
    is_applied: bool
    kind: Kind
    features: list[FeatureRecord]
    encoder: EncoderRecord
    samples: str = ""  # beside JSONL: the sha256 of its lines


def write_state(
    path: Path, features: FittedFeatures, *, is_applied: bool = False, samples: str = ""
) -> tuple[Path, Path]:
    """The fitted features as a file, and their arrays as one beside it; `samples`: the sha256 of the lines."""
    arrays: dict[str, Array] = {}
    record = StateRecord(FORMAT, is_applied, features.kind, *feature_records(features, arrays), samples)
    write_arrays(path.with_suffix(".npz"), arrays)
    write_file(path, msgspec.json.encode(record))
    return path, path.with_suffix(".npz")


@dataclass(frozen=True, slots=True)
class FeatureState:
    """What lies beside featurised JSONL."""

    features: FittedFeatures
    is_applied: bool  # fitted before, on whatever samples, and not cross-fitted on these
    samples: str  # sha256 of the lines it belongs to


def load_features(path: AnyPath) -> FeatureState:
    """The fitted features of a sidecar."""
    file = Path(path)
    try:
        record = msgspec.json.decode(read_bytes(file, limit=LARGEST_DOCUMENT), type=StateRecord)
        arrays = read_arrays(file.with_suffix(".npz"), limit=LARGEST_ARRAYS)
        features = restored_features(record.kind, record.features, record.encoder, arrays)
        return FeatureState(features, record.is_applied, record.samples)
    except FileError:
        raise
    except UNUSABLE as error:
        raise FileError(str(file), f"not a state of features: {error}") from error
