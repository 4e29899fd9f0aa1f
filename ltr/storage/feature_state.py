"""What features and encoders have learned, as plain JSON with the arrays beside it."""

import hashlib
from typing import Annotated, Any

import msgspec
import numpy as np

from ltr.data.schema import Kind
from ltr.encoders.cached import CachedEncoder
from ltr.errors import DataError, UsageError
from ltr.features.crossfit import FittedFeatures
from ltr.features.registry import FEATURES, FeatureConfig
from ltr.files.npz import Array
from ltr.plugins import OURS

REFERENCE = "$array"
Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]


class _Successes(msgspec.Struct):
    """What the features of history learn, where a state has it: wins and seen by name."""

    success: dict[str, tuple[Count, Count]] = {}


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


def _refuse_other_state(config: FeatureConfig, state: Any) -> None:
    """Raise unless the feature has learned something where it learns, and counts of successes are counts."""
    if (state is None) != (FEATURES[config.name].fit is None):
        raise ValueError(f"the state of {config.name} is not one")
    msgspec.convert(state, _Successes | None)


def features_from(document: dict[str, Any], arrays: dict[str, Array]) -> FittedFeatures:
    """The features of a document; a DataError says what in it cannot be."""
    try:
        refuse_missing(document["features"])
        configs = tuple(FeatureConfig(entry["name"], entry["options"]) for entry in document["features"])
        states = tuple(attached(entry["state"], arrays) for entry in document["features"])
        wanted = document["encoder"]
        encoder = CachedEncoder.restored(wanted["name"], attached(wanted["state"], arrays), wanted["revision"])
        kind: Kind = "graph" if document["kind"] == "graph" else "tool"
        for config, state in zip(configs, states, strict=True):
            _refuse_other_state(config, state)
    except UsageError as error:  # an encoder or an option that nobody knows here
        raise DataError(str(error)) from error
    except (KeyError, TypeError, ValueError, AttributeError, msgspec.ValidationError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else error
        raise DataError(f"the description of the features does not hold together: {why}") from error
    if any(FEATURES[config.name].kind != kind for config in configs):
        raise DataError(f"not every feature is of the kind {kind!r}")
    return FittedFeatures(kind, configs, states, encoder)


def refuse_missing(entries: list[dict[str, Any]]) -> None:
    """Raise for a feature of a plug-in that is not loaded, saying how to load it."""
    for entry in entries:
        if entry["name"] not in FEATURES:
            known = f" (of {entry['source']})" if "source" in entry else ""
            cure = "install the package that brings it, or name its file with --code"
            raise DataError(f"the feature {entry['name']!r}{known} is not loaded: {cure}")
