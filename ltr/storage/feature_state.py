"""What features and encoders have learned, as plain JSON with the arrays beside it."""

import hashlib
from typing import Any

import msgspec
import numpy as np

from ltr.arrays import State
from ltr.data.schema import Kind
from ltr.encoders.cached import CachedEncoder
from ltr.encoders.naming import encoder_kind
from ltr.errors import DataError, UsageError
from ltr.features.crossfit import FittedFeatures
from ltr.features.registry import FEATURES, FeatureConfig
from ltr.files.npz import Array
from ltr.files.state_types import declared_type, refuse_other_type
from ltr.plugins import OURS

REFERENCE = "$array"


class _Feature(msgspec.Struct):
    """A feature of a document, whatever else the document says of it."""

    name: str
    options: dict[str, Any]
    state: dict[str, Any] | None
    source: str = ""  # the package or file that brings it, where that is not ltr


class _Encoder(msgspec.Struct):
    name: str
    revision: str
    state: dict[str, Any]


class _Document(msgspec.Struct):
    """What a document says of features and encoder; their states are checked against their declared types."""

    kind: Kind
    features: list[_Feature]
    encoder: _Encoder


def detached(value: Any, path: str, arrays: dict[str, Array]) -> Any:
    """The value with every array replaced by a reference to `arrays`, where it is put under its path.

    >>> kept = {}
    >>> detached({"n": 2, "counts": np.array([1, 2])}, "encoder", kept), kept
    ({'n': 2, 'counts': {'$array': 'encoder.counts'}}, {'encoder.counts': array([1, 2])})
    """
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return {REFERENCE: path}
    if isinstance(value, dict):
        return {key: detached(inner, f"{path}.{key}", arrays) for key, inner in value.items()}
    return value


def attached(value: Any, arrays: dict[str, Array]) -> Any:
    """The value with its arrays back in place.

    >>> attached({"counts": {"$array": "a"}}, {"a": np.array([1, 2])})
    {'counts': array([1, 2])}
    """
    if not isinstance(value, dict):
        return value
    if set(value) == {REFERENCE}:
        if value[REFERENCE] not in arrays:
            raise DataError(f"the array {value[REFERENCE]!r} is missing")
        return arrays[value[REFERENCE]]
    return {key: attached(inner, arrays) for key, inner in value.items()}


def features_document(features: FittedFeatures, arrays: dict[str, Array]) -> dict[str, Any]:
    """Features and encoder as JSON; their arrays go into `arrays`."""
    each = zip(features.configs, features.states, strict=True)
    return {
        "kind": features.kind,
        "features": [
            {
                "name": config.name,
                "options": config.options,
                "state": detached(state, config.name, arrays),
                **_foreign(config.name),
            }
            for config, state in each
        ],
        "encoder": {
            "name": features.encoder.name,
            "revision": features.encoder.revision,
            "state": detached(features.encoder.state, "encoder", arrays),
        },
    }


def fit_digest(features: FittedFeatures) -> str:
    """The same for two features only if they are fitted on the same: of their description and arrays."""
    arrays: dict[str, Array] = {}
    seen = hashlib.sha256(msgspec.json.encode(features_document(features, arrays)))
    for array in arrays.values():
        seen.update(array.tobytes())
    return seen.hexdigest()


def _foreign(name: str) -> dict[str, str]:
    """Where a feature comes from that is not ours, for the message when it is missing."""
    source = FEATURES.source(name)
    return {} if source == OURS else {"source": str(source)}


def features_from(document: object, arrays: dict[str, Array]) -> FittedFeatures:
    """The features of a document; a DataError says what in it cannot be."""
    try:
        described = msgspec.convert(document, _Document)
        for feature in described.features:
            refuse_missing(feature)
        configs = tuple(FeatureConfig(feature.name, feature.options) for feature in described.features)
        states = tuple(_state(feature, arrays) for feature in described.features)
        name, learned = described.encoder.name, attached(described.encoder.state, arrays)
        if declared := declared_type(encoder_kind(name)):
            refuse_other_type(learned, declared, f"the state of the encoder {name}")
        encoder = CachedEncoder.restored(name, learned, described.encoder.revision)
    except UsageError as error:  # an encoder or an option that nobody knows here
        raise DataError(str(error)) from error
    except (TypeError, RecursionError, msgspec.ValidationError) as error:  # a reference that is none, lists without end
        raise DataError(f"the description of the features does not hold together: {error}") from error
    if any(FEATURES[config.name].kind != described.kind for config in configs):
        raise DataError(f"not every feature is of the kind {described.kind!r}")
    return FittedFeatures(described.kind, configs, states, encoder)


def _state(feature: _Feature, arrays: dict[str, Array]) -> State | None:
    """What the feature has learned, with its arrays, of the type that it declares."""
    fit = FEATURES[feature.name].fit
    if (feature.state is None) != (fit is None):
        needed = "no state is needed" if fit is None else "a state is needed"
        raise DataError(f"the state of {feature.name}: {needed}, found {'none' if feature.state is None else 'one'}")
    state: State | None = attached(feature.state, arrays)
    if declared := declared_type(fit):
        refuse_other_type(state, declared, f"the state of {feature.name}")
    return state


def refuse_missing(feature: _Feature) -> None:
    """Raise for a feature of a plug-in that is not loaded, saying how to load it."""
    if feature.name not in FEATURES:
        known = f" (of {feature.source})" if feature.source else ""
        cure = "install the package that brings it, or name its file with --code"
        raise DataError(f"the feature {feature.name!r}{known} is not loaded: {cure}")
