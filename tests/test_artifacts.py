"""Models, featurised columns and run directories: what is read back is what was written, or it is refused."""

import hashlib
import json
import pickle
import random
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ltr.config.run import DataConfig, RunConfig
from ltr.data.groups import read_groups
from ltr.errors import DataError, DiskError, FileError, LtrError, UsageError
from ltr.experiments.featurize import featurize_and_save, fitted_features, refuse_output
from ltr.experiments.pipeline import run
from ltr.experiments.runs import run_and_save
from ltr.serving.router import load
from ltr.storage.feature_file import load_columns, load_features, save_columns, sidecar, write_featurized
from ltr.storage.model_file import load_model, save_model
from ltr.storage.run_directory import EVALUATION, claim, refuse_taken
from tests.made import ROWS, grouped, process, tool_rows, written

MUTATIONS = 1000  # of each of the two files


@pytest.fixture(scope="module", params=["tool", "graph"])
def trained(request, tmp_path_factory):
    """A run of each kind, and the directory it is kept in."""
    home = tmp_path_factory.mktemp(request.param)
    written(home / "train.jsonl", ROWS[request.param](range(25)))
    finished = run_and_save(RunConfig(data=DataConfig(train=str(home / "train.jsonl"))), home / "run")
    return home / "run", finished.result


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


def damaged(generator, content):
    """One of: some bits flipped, cut, bytes doubled, a piece of JSON replaced."""
    match generator.randrange(4):
        case 0:
            changed = bytearray(content)
            for _ in range(generator.randrange(1, 4)):
                changed[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
            return bytes(changed)
        case 1:
            return content[: generator.randrange(len(content))]
        case 2:
            start = generator.randrange(len(content))
            return content[:start] + content[start : start + 9] + content[start:]
    raw = [b"null", b"[]", b"1e999", b"NaN", b'"x"', b"[" * 5000, b"9" * 400, b'"\\ud800"', b'{"a":1}', b"-1"]
    start = generator.randrange(len(content))
    return content[:start] + generator.choice(raw) + content[start + generator.randrange(9) :]


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
    "training  ": {"best_feature": {"name": "other", "sign": 1}},
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


def featurized(tmp_path, kind, name, rows=None):
    """Featurised samples of the kind, with the groups and phi that went in."""
    path = written(tmp_path / "raw.jsonl", ROWS[kind](range(25)) if rows is None else rows)
    config = RunConfig(data=DataConfig(train=str(path)))
    result = run(config)
    save = save_columns if name.endswith(".npz") else write_featurized
    save(tmp_path / name, result.train, result.measured.phi, result.router.features)
    return result


@pytest.mark.parametrize("kind", ["tool", "graph"])
def test_columns_come_back_as_they_were(tmp_path, kind):
    result = featurized(tmp_path, kind, "x.npz")
    groups, features = load_columns(tmp_path / "x.npz")
    assert groups.candidates.features.tobytes() == result.measured.phi.tobytes()
    assert groups.labels.tobytes() == result.train.labels.tobytes()
    assert groups.candidates.feature_names == features.names == result.router.names
    for name in ("trace_ids", "node_ids", "query_texts", "name_texts", "tool_texts"):
        assert getattr(groups.candidates, name) == getattr(result.train.candidates, name)
    for name in ("offsets", "traces", "queries", "names", "texts"):
        assert np.array_equal(getattr(groups.candidates, name), getattr(result.train.candidates, name))
    again = features(result.train.candidates)
    assert again.tobytes() == result.router.features(result.train.candidates).tobytes()


def test_weights_and_times_of_groups_travel_in_columns(tmp_path):
    rows = [row | {"weight": 1.5, "time": 60} for row in tool_rows(range(25))]
    featurized(tmp_path, "tool", "x.npz", rows)
    groups, _ = load_columns(tmp_path / "x.npz")
    assert (set(groups.weights), set(groups.times)) == ({1.5}, {60.0})


@pytest.mark.parametrize("kind", ["tool", "graph"])
def test_damaged_columns_are_refused_or_read_as_they_were(tmp_path, kind):
    result, generator = featurized(tmp_path, kind, "x.npz"), random.Random(5)
    content = (tmp_path / "x.npz").read_bytes()
    for _ in range(100):
        (tmp_path / "y.npz").write_bytes(damaged(generator, content))
        try:
            groups, _ = load_columns(tmp_path / "y.npz")
        except FileError as error:
            assert str(error).startswith(str(tmp_path / "y.npz"))  # noqa: PT017
            continue
        assert groups.candidates.features.tobytes() == result.measured.phi.tobytes()


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.jsonl.zst"])
def test_featurised_lines_are_the_samples_with_their_features(tmp_path, name):
    rows = list(tool_rows(range(25)))
    random.Random(1).shuffle(rows)  # groups stand interleaved
    result = featurized(tmp_path, "tool", name, rows)
    groups = read_groups(tmp_path / name)
    assert groups.candidates.features.tobytes() == result.measured.phi.tobytes()
    assert load_features(sidecar(tmp_path / name)).features.names == result.router.names
    if name == "x.jsonl":
        lines = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        assert [{key: line[key] for key in line if key != "features"} for line in lines] == rows


def test_a_group_a_line_stays_a_group_a_line(tmp_path):
    rows = grouped(tool_rows(range(25)))
    result = featurized(tmp_path, "tool", "x.jsonl", rows)
    lines = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert [len(line["candidates"]) for line in lines] == [5] * 50
    assert [each["features"] for line in lines for each in line["candidates"]] == result.measured.phi.tolist()


@pytest.mark.parametrize("extra", ["1e999", "9" * 400, '{"a": "\\u2028", "a": 1}', "[[[[1.50]]]]"])
def test_what_nobody_asked_for_is_repeated_as_it_stands(tmp_path, extra):
    lines = [json.dumps(row)[:-1] + f', "other": {extra}}}' for row in tool_rows(range(25))]
    (tmp_path / "raw.jsonl").write_text("\n".join(lines))
    config = RunConfig(data=DataConfig(train=str(tmp_path / "raw.jsonl")))
    featurize_and_save(config, tmp_path / "x.jsonl")
    for line in (tmp_path / "x.jsonl").read_text().splitlines():
        assert f'"other":{extra},"features":[' in line


def test_samples_that_change_while_they_are_featurised_leave_nothing_behind(tmp_path):
    result = run(RunConfig(data=DataConfig(train=str(written(tmp_path / "raw.jsonl", tool_rows(range(25)))))))
    written(tmp_path / "raw.jsonl", tool_rows(range(26)))
    with pytest.raises(FileError, match="raw.jsonl: was changed while it was read"):
        write_featurized(tmp_path / "x.jsonl", result.train, result.measured.phi, result.router.features)
    assert [path.name for path in tmp_path.iterdir()] == ["raw.jsonl"]


def test_lines_of_stdin_cannot_be_repeated(tmp_path):
    result = featurized(tmp_path, "tool", "x.npz")
    files = (replace(result.train.candidates.files[0], path="<stdin>"),)
    groups = replace(result.train, candidates=replace(result.train.candidates, files=files))
    with pytest.raises(UsageError, match="lines of stdin cannot be repeated; write an .npz"):
        write_featurized(tmp_path / "x.jsonl", groups, result.measured.phi, result.router.features)


def test_a_damaged_sidecar_is_refused(tmp_path):
    featurized(tmp_path, "tool", "x.jsonl")
    generator, file = random.Random(6), tmp_path / "x.features.json"
    content = file.read_bytes()
    sound = json.loads(content)
    for _ in range(300):
        file.write_bytes(damaged(generator, content))
        try:
            features = load_features(file).features
        except FileError as error:
            assert "x.features" in str(error)  # noqa: PT017
            continue
        assert features.names == tuple(each["name"] for each in sound["features"])


# ---- run directories


def test_the_record_comes_last_and_its_checksums_fit(trained):
    directory, _ = trained
    record = json.loads((directory / "run.json").read_bytes())
    assert record["status"] == "complete"
    assert set(record["artifacts"]) == {path.name for path in directory.iterdir()} - {"run.json"}
    for name, checksum in record["artifacts"].items():
        assert hashlib.sha256((directory / name).read_bytes()).hexdigest() == checksum
    times = {path.name: path.stat().st_mtime_ns for path in directory.iterdir()}
    assert times["run.json"] == max(times.values())


def test_the_record_says_what_was_read(trained):
    directory, _ = trained
    record, content = json.loads((directory / "run.json").read_bytes()), (directory.parent / "train.jsonl").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    assert record["inputs"] == [{"path": "../train.jsonl", "bytes": len(content), "sha256": digest}]


def test_the_record_names_catalogues_too(tmp_path):
    samples = written(tmp_path / "train.jsonl", tool_rows(range(25)))
    tools = written(tmp_path / "tools.jsonl", [{"name": "get_weather", "description": "rain or sun"}])
    run_and_save(RunConfig(data=DataConfig(train=str(samples), tools=str(tools))), tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_bytes())
    assert [each["path"] for each in record["inputs"]] == ["../train.jsonl", "../tools.jsonl"]


def test_the_record_knows_neither_absolute_paths_nor_a_home(tmp_path):
    written(tmp_path / "train.jsonl", tool_rows(range(25)))
    done = process("train", tmp_path / "train.jsonl", "-o", tmp_path / "run", environment={"HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    for path in (tmp_path / "run").iterdir():
        assert str(tmp_path).encode() not in path.read_bytes(), path.name


def test_a_file_at_home_is_named_from_there_in_a_run_elsewhere(tmp_path, monkeypatch):
    for name in ("alice", "runs"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "alice"))
    samples = written(tmp_path / "alice" / "train.jsonl", tool_rows(range(25)))
    for place, told in (("runs", "~/train.jsonl"), ("alice", "../train.jsonl")):
        run_and_save(RunConfig(data=DataConfig(train=str(samples))), tmp_path / place / "a")
        assert json.loads((tmp_path / place / "a" / "run.json").read_bytes())["inputs"][0]["path"] == told


def test_paths_lead_from_where_a_linked_directory_really_is(tmp_path):
    samples = written(tmp_path / "train.jsonl", tool_rows(range(25)))
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")
    run_and_save(RunConfig(data=DataConfig(train=str(samples))), tmp_path / "link" / "run")
    assert "train: ../../../train.jsonl\n" in (tmp_path / "link" / "run" / "config.yaml").read_text()


def contents(directory):
    """The bytes of each file but those that hold times."""
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name not in ("run.json", "log.jsonl")}


def test_the_same_input_gives_the_same_bytes_in_any_environment(tmp_path):
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        for part in range(3) if side == "a" else (2, 1, 0):  # another order in the directory listing
            rows = list(tool_rows(range(10 * part, 10 * part + 10), seed=part))
            written(tmp_path / side / f"part{part}.jsonl", rows)
    here = {"PYTHONHASHSEED": "0", "TZ": "UTC"}
    there = {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "tr_TR.UTF-8"}
    arguments = ("--test", "0.3", "--metrics", "ndcg@3", "-q")
    first = process("train", "part*.jsonl", "-o", "run", *arguments, cwd=tmp_path / "a", environment=here)
    second = process("train", "b/part*.jsonl", "-o", "b/run", *arguments, cwd=tmp_path, environment=there)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert contents(tmp_path / "a" / "run") == contents(tmp_path / "b" / "run")


def test_an_unfinished_run_may_be_overwritten_and_its_remains_go(tmp_path):
    home = tmp_path / "run"
    home.mkdir()
    for name in ("model.json", "config.yaml", ".ltr-0123456789abcdef.tmp"):
        (home / name).write_text("x")
    with pytest.raises(UsageError, match="run: holds a result; add --overwrite"):
        claim(home, overwrite=False)
    claim(home, overwrite=True)
    assert list(home.iterdir()) == []


def test_overwriting_a_run_keeps_what_others_put_there(trained, tmp_path):
    home = tmp_path / "run"
    home.mkdir()
    (home / "run.json").write_bytes((trained[0] / "run.json").read_bytes())
    (home / "notes.txt").write_text("mine")
    claim(home, overwrite=True)
    assert [path.name for path in home.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    "names", [["config.yaml"], ["notes.txt"], ["config.yaml", "metrics.json"], ["metrics.json", "x"], ["run.json"]]
)
def test_a_directory_of_somebody_else_is_never_emptied(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("{}")
    with pytest.raises(UsageError, match="holds other things, such as "):
        claim(tmp_path, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_an_evaluation_never_takes_the_place_of_a_run(trained):
    with pytest.raises(UsageError, match="holds other things"):
        refuse_taken(trained[0], overwrite=True, ours=EVALUATION)


def test_where_nothing_can_be_written_is_known_before_the_work(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="file: not a directory; one of its own is needed"):
        refuse_taken(tmp_path / "file", overwrite=True)
    with pytest.raises(UsageError, match="not a directory; one of its own is needed"):
        refuse_taken(tmp_path / "file" / "run", overwrite=True)
    with pytest.raises(DiskError, match="file is not a directory"):
        refuse_output(tmp_path / "file" / "x.npz", overwrite=True)
    with pytest.raises(DiskError, match="file name too long"):
        refuse_taken(tmp_path / ("x" * 300), overwrite=True)
    with pytest.raises(DiskError, match="null"):
        refuse_taken(tmp_path / "a\0b", overwrite=True)


def test_a_failed_run_leaves_the_old_one(trained, tmp_path):
    home, samples = tmp_path / "run", written(tmp_path / "train.jsonl", tool_rows(range(25)))
    run_and_save(RunConfig(data=DataConfig(train=str(samples))), home)
    before = contents(home)
    samples.write_text("{}")
    with pytest.raises(DataError):
        run_and_save(RunConfig(data=DataConfig(train=str(samples))), home, overwrite=True)
    assert contents(home) == before
