"""Models on disk with one thing in what they learned changed, their checksums made to fit."""

import copy
import hashlib
import json
import math
import random

import msgspec
import numpy as np

from ltr import load
from ltr.errors import LtrError
from ltr.files import read_arrays, write_arrays

ODD_VALUES = [None, True, -1, 0, 1, 0.5, 1 << 53, 1 << 63, 1e308, "", "x", [], [1], [[]], ["x"], {}, {"a": 1}]
ODD_VALUES += [{"$array": 3}, {"$array": "nothing"}, {"$array": []}, [-1, -1], {"get_map": [2, 1]}, {"get_map": -1}]


def read_model(directory):
    """The document and the arrays of a model."""
    document = json.loads((directory / "model.json").read_bytes())
    return document, read_arrays(directory / "model.npz", limit=1 << 30)


def write_model(directory, document, arrays):
    """Write both, with the checksums that fit."""
    directory.mkdir(exist_ok=True)
    write_arrays(directory / "model.npz", arrays)
    digest = hashlib.sha256((directory / "model.npz").read_bytes()).hexdigest()
    document = {key: value for key, value in document.items() if key != "checksum"} | {"arrays": f"sha256:{digest}"}
    document["checksum"] = f"sha256:{hashlib.sha256(msgspec.json.encode(document)).hexdigest()}"
    (directory / "model.json").write_bytes(msgspec.json.encode(document))


def mutated(document, arrays, draw):
    """The same with one thing changed in a state, and what was changed."""
    document, arrays = copy.deepcopy(document), dict(arrays)
    if arrays and draw.random() < 0.5:
        name = draw.choice(sorted(arrays))
        change = draw.choice(ARRAY_CHANGES)
        arrays[name] = np.ascontiguousarray(change(arrays[name], draw))
        return document, arrays, f"array {name}, change {ARRAY_CHANGES.index(change)}"
    owner = draw.choice([feature for feature in document["features"] if feature["state"]] + [document["encoder"]])
    places = [(owner, "state"), *inner_places(owner["state"])]
    if owner is document["encoder"]:
        places += [(owner, "name"), (owner, "revision")]
    parent, key = draw.choice(places[:40])
    change = draw.choice(["odd", "odd", "odd", "delete", "add", "swap"])
    value = draw.choice(ODD_VALUES)
    if change == "swap":
        other, other_key = draw.choice([place for place in places if place[0] is not owner] or places)
        value = copy.deepcopy(other[other_key])
    if change == "delete":
        del parent[key]
    elif change == "add" and isinstance(parent[key], dict):
        parent[key]["added"] = value
    else:
        parent[key] = value
    return document, arrays, f"{owner.get('name')}: {change} {key!r} {value!r}"[:200]


def inner_places(value):
    """Every place inside the value, as its parent and its key."""
    found = []
    if isinstance(value, dict | list):
        _gather(value, found)
    return found


def _gather(value, found):
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        found.append((value, key))
        if isinstance(inner, dict | list):
            _gather(inner, found)


def _cast(array, draw):
    with np.errstate(all="ignore"):
        return array.astype(draw.choice(["f8", "f4", "f2", "i8", "i4", "i2", "u1", "u8", "?", ">i8", ">f8"]))


def _filled(array, draw):
    value = draw.choice([-1, 1 << 20, 0, math.nan, math.inf, 1e300])
    array = array.astype(float) if isinstance(value, float) else array.copy()
    with np.errstate(all="ignore"):
        array.reshape(-1)[draw.randrange(max(array.size, 1)) :] = np.float64(value).astype(array.dtype)
    return array


ARRAY_CHANGES = [
    _cast,
    _filled,
    lambda array, draw: array[None],
    lambda array, draw: array.reshape(-1),
    lambda array, draw: array.reshape(-1)[:1].reshape(()) if array.size else array[None],
    lambda array, draw: array[:-1],
    lambda array, draw: array[1:],
    lambda array, draw: np.concatenate([array, array[:1]]),
    lambda array, draw: array[:0],
    lambda array, draw: array[::-1],
    lambda array, draw: array[..., :-1],
    lambda array, draw: np.concatenate([array, array], axis=-1),
    lambda array, draw: np.array(draw.sample(array.reshape(-1).tolist(), array.size), array.dtype).reshape(array.shape),
]


def tracebacks(model, directory, candidates, *, seed, count):
    """What `count` mutations of a model raise that is no error for a user, and how many of them were refused."""
    draw, (document, arrays) = random.Random(seed), read_model(model)
    raised, refused = [], 0
    for _ in range(count):
        *changed, what = mutated(document, arrays, draw)
        write_model(directory, *changed)
        try:
            [*load(directory).answers(candidates)]
        except LtrError:
            refused += 1
        except Exception as error:
            raised.append(f"{what}: {type(error).__name__}: {error}")
    return raised, refused
