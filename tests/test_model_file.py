"""A model on disk: what is read back is what was written, or it is refused."""

import hashlib
import json
import pickle
import random
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ltr import load, read_groups
from ltr.errors import FileError, LtrError
from ltr.experiments.featurize import fitted_features
from ltr.featurized import load_columns
from ltr.featurized.states import load_features
from ltr.runs import load_model, save_model
from tests.made import damaged

MUTATIONS = 1000  # of each of the two files


def test_a_model_comes_back_with_the_same_weights_and_scores(trained):
    directory, result = trained
    for path in (directory, directory / "model.json"):
        router = load(path)
        assert router.w.tobytes() == result.router.w.tobytes()
        assert (router.kind, router.names, router.training) == (
            result.router.kind,
            result.router.names,
            result.router.training,
        )
        groups = read_groups(directory.parent / "train.jsonl")
        assert router.phi(groups.candidates).tobytes() == result.router.phi(groups.candidates).tobytes()


@pytest.mark.parametrize("weight", [0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, 123456789.123456789])
def test_every_weight_is_kept_to_the_last_bit(trained, tmp_path, weight):
    router = replace(trained[1].router, w=np.array([weight, 1.0, 2.0, 3.0]))
    save_model(tmp_path, router)
    assert load_model(tmp_path).w.tobytes() == router.w.tobytes()


def test_a_model_saved_again_has_the_same_bytes(trained, tmp_path):
    save_model(tmp_path, load_model(trained[0]))
    for name in ("model.json", "model.npz"):
        assert (tmp_path / name).read_bytes() == (trained[0] / name).read_bytes()


@pytest.mark.parametrize("name", ["model.json", "model.npz"])
def test_a_damaged_model_is_refused_or_has_the_same_weights(trained, tmp_path, name):
    directory, result = trained
    generator, refused = random.Random(3), 0
    for other in ("model.json", "model.npz"):
        (tmp_path / other).write_bytes((directory / other).read_bytes())
    content = (directory / name).read_bytes()
    for _ in range(MUTATIONS if result.router.kind == "tool" else MUTATIONS // 10):
        (tmp_path / name).write_bytes(damaged(generator, content))
        try:
            router = load(tmp_path)
        except LtrError as error:
            refused += 1
            assert str(tmp_path) in str(error)  # noqa: PT017
            continue
        assert router.w.tobytes() == result.router.w.tobytes()  # a blank more, or cut at the last line end
        assert router.names == result.router.names
    assert refused > 0.9 * (MUTATIONS if result.router.kind == "tool" else MUTATIONS // 10)


def signed(document):
    """A model.json somebody wrote by hand, its checksum right."""
    document = {key: value for key, value in document.items() if key != "checksum"}
    document["checksum"] = f"sha256:{hashlib.sha256(msgspec.json.encode(document)).hexdigest()}"
    return msgspec.json.encode(document)


FORGED = {
    "kind": "robot",
    "weights": ["1.0", "2.0", "3.0", "4.0"],
    "weights ": [1.0],
    "weights  ": [],
    "weights   ": [10**400, 1, 1, 1],
    "weights    ": {"a": 1},
    "features": [],
    "features ": [{"name": "tool.rel", "options": {}, "state": None}] * 4,
    "features  ": [{"name": ["x"], "options": {}, "state": None}] * 4,
    "encoder": [],
    "encoder ": {"name": "hash", "revision": "x", "state": {"documents": 1, "frequencies": [1]}},
    "encoder  ": {"name": "nobody", "revision": "x", "state": None},
    "trainer": None,
    "training": {},
    "training ": {"best_feature": {"name": "tool.rel", "sign": 0}},
    "training  ": {"best_feature": {"name": "", "sign": 1}},
    "training   ": {"best_feature": {"name": "other", "sign": 1}, "baselines": {"compared": "nobody"}},
    "training    ": {"best_feature": {"name": "other", "sign": 1}, "baselines": {"uses": {"a": -1}}},
    "arrays": 3,
    "arrays ": "sha256:0",
    "arrays  ": None,
    "extra": 1,
}


@pytest.mark.parametrize("key, value", FORGED.items(), ids=map(repr, FORGED))
def test_a_model_that_does_not_hold_together_is_refused_whatever_its_checksum(trained, tmp_path, key, value):
    document = json.loads((trained[0] / "model.json").read_bytes())
    (tmp_path / "model.npz").write_bytes((trained[0] / "model.npz").read_bytes())
    try:
        (tmp_path / "model.json").write_bytes(signed(document | {key.strip(): value}))
    except OverflowError:
        (tmp_path / "model.json").write_text(json.dumps(document | {key.strip(): value}))
    with pytest.raises(FileError, match=r"model\.(json|npz): "):
        load_model(tmp_path)


@pytest.mark.parametrize(
    "state",
    [None, {"success": {"a": [1]}}, {"success": {"a": ["x", "y"]}}, {"success": []}, {"success": {"a": [-1, 2]}}],
)
def test_a_history_that_is_no_count_is_refused(trained, tmp_path, state):
    document = json.loads((trained[0] / "model.json").read_bytes())
    (tmp_path / "model.npz").write_bytes((trained[0] / "model.npz").read_bytes())
    document["features"][1]["state"] = state
    (tmp_path / "model.json").write_bytes(signed(document))
    with pytest.raises(FileError, match=r"model\.json: not a usable model"):
        load_model(tmp_path)


def test_a_model_beyond_sixteen_megabytes_is_refused_before_it_is_decoded(trained, tmp_path):
    (tmp_path / "model.json").write_bytes(b" " * (16 << 20) + (trained[0] / "model.json").read_bytes())
    with pytest.raises(FileError, match="model.json: larger than 16777216 bytes"):
        load_model(tmp_path)


class Canary:
    """An object that makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["model.json", "m.pkl", "m.pt", "m.joblib", "m.npy", "m.npz", "x.npz", "x.jsonl"])
def test_no_pickle_is_ever_executed(trained, tmp_path, name):
    canary, file = tmp_path / "canary", tmp_path / name
    if name.startswith("m.np"):
        array = np.array([Canary(canary)], dtype=object)
        save = np.save if name == "m.npy" else lambda path, array: np.savez(path, state=array, phi=array)
        save(file, array)
    else:
        file.write_bytes(pickle.dumps(Canary(canary)))
    for read in (load_model, fitted_features, load_columns, load_features, read_groups):
        with pytest.raises(LtrError, match=name.partition(".")[0]):
            read(file)
    assert not canary.exists()
