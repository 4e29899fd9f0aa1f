"""The types of states: what every feature and encoder declares, and what a model with another state is refused for."""

import warnings

import numpy as np
import pytest

from ltr import RunConfig, TrainConfig, feature, load, read_groups, run
from ltr.encoders import ENCODERS, Dense, Sparse, StoredVectors, Vectors
from ltr.errors import DataError, FileError
from ltr.features import FEATURES
from ltr.features.tables import text_table
from ltr.plugins import OURS
from ltr.states import (
    NOTHING,
    Count,
    Floats,
    Integers,
    Json,
    Offsets,
    Record,
    TextTable,
    declared_type,
    learns,
    refuse_other_type,
)
from tests.builders import LetterEncoder
from tests.made import ROWS, DataConfig, save_run, written
from tests.mutations import read_model, tracebacks, write_model

MUTATIONS = 25  # of each model; 2,500 of them were run once


@pytest.fixture(scope="module", params=["tool hash", "graph hash", "tool letters", "graph letters"])
def trained(request, tmp_path_factory):
    """A run with every feature of its kind that learns, and the candidates it ranks."""
    kind, encoder = request.param.split()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ENCODERS._own, "letters", LetterEncoder)
        patch.setitem(ENCODERS._sources, "letters", "tests")
        directory = tmp_path_factory.mktemp("states")
        train = written(directory / "s.jsonl", ROWS[kind](range(10)))
        features = tuple(name for name in FEATURES.names() if FEATURES[name].kind == kind and FEATURES[name].learner)
        settings = {"encoder": encoder, "train": TrainConfig(trainer="newton")}
        config = RunConfig(data=DataConfig(train=str(train)), features=features, **settings)
        save_run(config, directory / "run")
        yield directory, read_groups(str(train)).candidates


def test_a_model_with_any_other_state_is_refused_and_raises_nothing_else(trained, tmp_path):
    directory, candidates = trained
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        raised, refused = tracebacks(directory / "run", tmp_path / "m", candidates, seed=14, count=MUTATIONS)
    assert raised == []
    assert refused > MUTATIONS / 2


def test_a_model_that_is_written_again_unchanged_is_the_same_model(trained, tmp_path):
    directory, candidates = trained
    write_model(tmp_path / "m", *read_model(directory / "run"))
    again, before = load(tmp_path / "m"), load(directory / "run")
    assert again.phi(candidates).tolist() == before.phi(candidates).tolist()


def test_every_feature_and_every_encoder_of_ours_declares_the_type_of_its_state():
    ours = [FEATURES[name] for name in FEATURES.names() if FEATURES.source(name) == OURS]
    makers = [feature.learner.state for feature in ours if feature.learner]
    encoders = [ENCODERS[name] for name in ENCODERS.names() if ENCODERS.source(name) == OURS]
    assert [learner for learner in (*makers, *encoders) if declared_type(learner) is None] == []


TABLE = text_table(["a", "b"], wins=np.array([1, 0]))
DECLARED = Record(
    names=TextTable("tools", wins=Integers("tools")),
    starts=Offsets("tools", "entries"),
    codes=Integers("entries", below="tools"),
)
GOOD = {"names": TABLE, "starts": np.array([0, 1, 2]), "codes": np.array([1, 0])}


@pytest.mark.parametrize(
    "changes, problem",
    [
        ({"names": None}, "state.names: a mapping of texts, ends, wins is needed, found NoneType"),
        ({"more": 1}, "state: a mapping of names, starts, codes is needed, found 'names', 'starts', 'codes', 'more'"),
        ({"codes": [1, 0]}, "state.codes: 1-dimensional integers are needed, found list"),
        (
            {"codes": np.array([1.0, 0.0])},
            r"state.codes: 1-dimensional integers are needed, found float64 of shape",
        ),
        (
            {"codes": np.array([[1, 0]])},
            r"state.codes: 1-dimensional integers are needed, found int64 of shape",
        ),
        ({"codes": np.array([1])}, "state.codes has 1 entries; 2 are needed, as state.starts has"),
        ({"codes": np.array([1, 2])}, "state.codes holds a place outside the 2 tools"),
        ({"codes": np.array([1, -1])}, "state.codes: integers from 0 are needed, found -1 to 1"),
        ({"starts": np.array([0, 2, 1])}, "state.starts: rising numbers are needed"),
        ({"starts": np.array([1, 1, 2])}, "state.starts: offsets begin with 0"),
        ({"names": {**TABLE, "ends": np.array([1, 3])}}, "state.names: texts and their ends do not fit"),
        ({"names": {**TABLE, "texts": np.array([255, 97], dtype=np.uint8)}}, "state.names: 'utf-8' codec can't decode"),
    ],
)
def test_a_state_of_another_type_is_refused_with_its_path(changes, problem):
    refuse_other_type(GOOD, DECLARED, "state")
    with pytest.raises(DataError, match=f"^{problem}"):
        refuse_other_type(GOOD | changes, DECLARED, "state")


@pytest.mark.parametrize(
    "declared, value, problem",
    [
        (Json(dict[str, Count]), {"a": -1}, r"state: Expected `int` >= 0 - at `\$\[...\]`"),
        (Json(str), 3, "state: Expected `str`, got `int`"),
        (Floats("rows"), np.array([-0.5]), "state: numbers from 0 are needed, found -0.5 to -0.5"),
        (Floats("rows", signed=True), np.array([np.nan]), r"state: finite numbers of at most 1e\+38 are needed"),
        (Floats("rows"), np.array([1e39]), r"state: finite numbers of at most 1e\+38 are needed"),
        (Integers(3), np.zeros(2, dtype=int), "state has 2 entries; 3 are needed$"),
        (NOTHING, {"a": 1}, "state: an empty mapping is needed, found 'a'"),
        (StoredVectors("rows"), {"numbers": np.zeros(3)}, "state: dense vectors are rows of finite numbers"),
        (StoredVectors("rows"), {"numbers": np.array([[1e5]])}, "state: dense vectors are rows of finite numbers"),
    ],
)
def test_each_part_of_a_state_has_its_own_rule(declared, value, problem):
    with pytest.raises(DataError, match=f"^{problem}"):
        refuse_other_type(value, declared, "state")


def test_the_message_names_the_feature_and_what_is_wrong(trained, tmp_path):
    document, arrays = read_model(trained[0] / "run")
    first = document["features"][0]
    first["state"] = {"texts": "none"}
    write_model(tmp_path / "m", document, arrays)
    with pytest.raises(FileError, match=f"not a usable model: the state of {first['name']}: a mapping of"):
        load(tmp_path / "m")


@pytest.mark.parametrize("number", [100, 1 << 26, 1 << 31, 1 << 62])
def test_a_size_that_the_arrays_beside_it_do_not_have_is_refused_before_memory_is_asked_for(cli, tmp_path, number):
    run, tools = tmp_path / "run", written(tmp_path / "tools.jsonl", [{"name": "get_mail"}, {"name": "get_map"}])
    rows = written(tmp_path / "s.jsonl", ROWS["tool"](range(10)))
    cli.good("train", rows, "-o", run, "--features", "tool.ridge,tool.proto", "--encoder", "hash")
    document, arrays = read_model(run)
    sizes = [name for name in arrays if name.endswith(".dimensions")]
    assert sizes == ["tool.ridge.vectors.dimensions", "tool.proto.directions.dimensions"]
    for size in sizes:
        write_model(tmp_path / "m", document, arrays | {size: np.array([number])})
        assert cli.refused("rank", tmp_path / "m", "rain?", "--tools", tools)[0] == 3
        assert f"the state of {size.removesuffix('.dimensions')}" in cli.err
        write_model(tmp_path / "m", document, arrays | {size: np.array([number]), **without_columns(arrays, size)})
        assert cli.refused("rank", tmp_path / "m", "rain?", "--tools", tools)[0] == 3
        assert f"found sparse ones of {min(number, 16384)} numbers and sparse ones of {max(number, 16384)}" in cli.err


def without_columns(arrays, size):
    """Columns that lie within any width."""
    columns = size.replace("dimensions", "columns")
    return {columns: np.zeros_like(arrays[columns])}


def test_a_plug_in_may_declare_the_type_of_its_state(tmp_path, monkeypatch):
    @learns(Record(wins=Integers("tools")))
    def fit(groups, context):
        return {"wins": np.zeros(2)}

    @feature("tool.own_state", "hist", fit=fit)
    def column(candidates, state, context):
        return np.zeros(len(candidates.names))

    try:
        train = written(tmp_path / "s.jsonl", ROWS["tool"](range(10)))
        config = RunConfig(data=DataConfig(train=str(train)), features=("tool.own_state",), encoder="hash")
        with pytest.raises(DataError, match="tool.own_state: the state that its fit returned.wins: 1-dimen"):
            run(config)
    finally:
        del FEATURES._own["tool.own_state"]


@pytest.mark.parametrize(
    "other", [Dense(np.ones((1, 2))), Sparse(np.array([0, 1]), np.array([0]), np.ones(1), 3)], ids=["width", "kind"]
)
def test_vectors_of_another_width_or_kind_do_not_stack(other):
    with pytest.raises(DataError, match="vectors of one kind and width are needed, found dense ones of"):
        Vectors.stacked([Dense(np.ones((1, 3))), other])
