"""What features and encoders have learned, as plain JSON with the arrays beside it."""

from typing import Any

import numpy as np

from ltr.encoders import Remembering
from ltr.errors import DataError
from ltr.features import FEATURES, FeatureConfig, FittedFeatures
from ltr.files.npz import Array
from ltr.schema import Kind

REFERENCE = "$array"


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
            {"name": config.name, "options": config.options, "state": detached(state, config.name, arrays)}
            for config, state in each
        ],
        "encoder": {
            "name": features.encoder.name,
            "revision": features.encoder.revision,
            "state": detached(features.encoder.state, "encoder", arrays),
        },
    }


def features_from(document: dict[str, Any], arrays: dict[str, Array]) -> FittedFeatures:
    """The features of a document; a DataError says what in it cannot be."""
    try:
        configs = tuple(FeatureConfig(entry["name"], entry["options"]) for entry in document["features"])
        states = tuple(attached(entry["state"], arrays) for entry in document["features"])
        wanted = document["encoder"]
        encoder = Remembering.restored(wanted["name"], attached(wanted["state"], arrays), wanted["revision"])
        kind: Kind = "graph" if document["kind"] == "graph" else "tool"
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"the description of the features does not hold together: {error!r}") from error
    if any(FEATURES[config.name].kind != kind for config in configs):
        raise DataError(f"not every feature is of the kind {kind!r}")
    return FittedFeatures(kind, configs, states, encoder)
