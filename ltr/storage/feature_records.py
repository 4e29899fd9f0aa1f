"""What features and encoders have learned, as plain JSON with the arrays beside it."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
import numpy as np

from ltr.arrays import Array, State
from ltr.data.schema import Kind
from ltr.encoders.cached_encoder import CachedEncoder
from ltr.encoders.registry import encoder_kind
from ltr.errors import DataError, UsageError
from ltr.features.fitted_features import FittedFeatures
from ltr.features.registry import FEATURES, FeatureConfig
from ltr.files.learned_state_types import declared_type, refuse_other_type
from ltr.plugins import OURS
from ltr.storage.record_reader import Json
from ltr.training.piecewise_linear_curves import MOST as MOST_KNOTS

REFERENCE = "$array"
Knot = tuple[float, float]  # the value from which on the weight changes, and by how much


class FeatureRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A feature with what it has learned; of a model also what its terms need."""

    name: str
    options: dict[str, Json]
    state: dict[str, Json] | None
    source: str | None = None  # the package or file that brings it, where that is not ltr
    knots: Annotated[list[Knot], msgspec.Meta(max_length=MOST_KNOTS)] = []
    centre: float | None = None  # of a feature with products: where the others count as if they stood alone
    ends: tuple[float, float] | None = None  # of a feature with terms: its least and greatest training value


class EncoderRecord(msgspec.Struct, forbid_unknown_fields=True):
    """An encoder with what it has learned."""

    name: str
    revision: str
    state: dict[str, Json] | None


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
        if declared := declared_type(encoder_kind(encoder.name)):
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
