"""Featurised samples on disk: what is read back is what was written, or it is refused."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from ltr import RunConfig, read_groups, run
from ltr.errors import FileError, UsageError
from ltr.experiments.featurize import featurize_and_save
from ltr.featurized import load_columns, sidecar
from ltr.featurized.columns import save_columns
from ltr.featurized.samples import write_featurized
from ltr.featurized.states import load_features
from tests.made import ROWS, DataConfig, damaged, grouped, tool_rows, written


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


@pytest.mark.parametrize("name", ["x.npz", "x.jsonl"])
def test_which_rows_were_drawn_travels_with_their_columns(tmp_path, name):
    drawn = {"drawn": "random", "draw_probability": 0.5}
    rows = [row | ({} if row["label"] else drawn) for row in tool_rows(range(25))]
    result = featurized(tmp_path, "tool", name, rows)
    draws = run(RunConfig(data=DataConfig(train=str(tmp_path / name)))).train.candidates.draws
    assert draws.rules.tolist() == [0 if label else 1 for label in result.train.labels]
    assert draws.probabilities.tolist() == [1.0 if label else 0.5 for label in result.train.labels]


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
