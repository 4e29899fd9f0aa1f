"""ltr featurize SAMPLES -o DIR/: the columns of any amount of samples, the same as in memory."""

import json

import numpy as np
import pytest

from ltr import RunConfig
from ltr.errors import DataError, DiskError, UsageError
from ltr.experiments.featurize import fitted_features
from ltr.features import FEATURES
from ltr.featurized import fit_digest, load_columns, open_columns
from tests.builders import graph_lines, tool_lines, write_lines
from tests.faults import in_fork
from tests.made import DataConfig, featurized

TOOLS = ("tool.rel", "tool.hist", "tool.lift", "tool.clause_char", "tool.talk")
GRAPHS = ("graph.rel", "graph.hist", "graph.near_edges", "graph.order")


MINE = """
import numpy as np
import ltr

@ltr.feature("tool.mine", "struct", title="mine")
def mine(candidates, state, context):
    "How long the name is."
    return np.array([float(len(name)) for name in candidates.name_texts])[candidates.names]
"""


def config(path, features=TOOLS, **data):
    return RunConfig(data=DataConfig(train=str(path), **data), features=features, encoder="hash")


def columns(parts):
    """Label and columns of each row by trace, node and name; with what else the group says."""
    rows = {}
    for groups in parts:
        candidates = groups.candidates
        owner = np.repeat(np.arange(len(groups.offsets) - 1), np.diff(groups.offsets))
        for row, group in enumerate(owner.tolist()):
            trace, name = candidates.trace_ids[candidates.traces[group]], candidates.name_texts[candidates.names[row]]
            none = -1 if groups.none is None else groups.none[group]
            rows[trace, candidates.node_ids[group], name] = [*candidates.features[row], groups.labels[row], none]
    return rows


def assert_same(left, right):
    assert left.keys() == right.keys()
    np.testing.assert_allclose([right[key] for key in left], list(left.values()), rtol=1e-12, atol=1e-12)


def both(tmp_path, wanted, **options):
    """The columns in memory and over shards."""
    featurized(wanted, tmp_path / "whole.npz", **options)
    featurized(wanted, f"{tmp_path}/parts/", shard_rows=50, **options)
    parts = open_columns(tmp_path / "parts")
    assert len(parts) > 3
    return columns([load_columns(tmp_path / "whole.npz")[0]]), columns(parts)


def with_none(lines):
    """The lines, and for every third group none, right in every sixth."""
    group = -1
    for place, line in enumerate(lines):
        if place % 4 == 0:
            group += 1
        is_none = group % 6 == 0
        yield {**line, "label": 0} if is_none else line
        if place % 4 == 3 and group % 3 == 0:
            key = {field: line[field] for field in ("trace_id", "node_id", "query")}
            yield {**key, "none": True, "label": int(is_none)}


CASES = {
    "tools": (tool_lines, TOOLS),
    "graphs": (graph_lines, GRAPHS),
    "none": (lambda traces: with_none(tool_lines(traces=traces)), TOOLS),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("order", ["together", "interleaved"])
def test_a_directory_has_the_columns_of_the_samples_in_memory(tmp_path, case, order):
    lines, features = CASES[case]
    rows = list(lines(traces=24))
    if order == "interleaved":
        rows = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]
    path = write_lines(tmp_path / "samples.jsonl", rows)
    assert_same(*both(tmp_path, config(path, features)))


def test_the_features_of_a_directory_are_applied_to_samples(tmp_path):
    path = write_lines(tmp_path / "train.jsonl", tool_lines(traces=24))
    featurized(config(path), f"{tmp_path}/train/", shard_rows=50)
    other = write_lines(tmp_path / "test.jsonl", ({**line, "label": None} for line in tool_lines(seed=1, traces=24)))
    left, right = both(tmp_path, config(other), model=tmp_path / "train")
    assert left.keys() == right.keys()
    np.testing.assert_allclose([right[key] for key in left], list(left.values()), rtol=1e-12)
    assert open_columns(tmp_path / "parts").manifest.is_applied
    assert fit_digest(fitted_features(tmp_path / "train")) == fit_digest(fitted_features(tmp_path / "parts"))


def test_tools_that_are_drawn_are_those_drawn_in_memory(tmp_path):
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=24))
    names = sorted({line["tool"] for line in tool_lines(traces=24)})
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps({"tools": {name: {"description": f"does {name}"} for name in names}}))
    assert_same(*both(tmp_path, config(path, tools=str(tools), negatives=5)))


def test_the_bytes_are_those_of_one_process_however_many_work(tmp_path):
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=24))
    made = []
    for workers in (1, 2, 4):
        featurized(config(path), f"{tmp_path}/{workers}/", shard_rows=50, workers=workers)
        made.append({file.name: file.read_bytes() for file in (tmp_path / str(workers)).iterdir()})
    assert len(made[0]) > 5
    assert made[1] == made[0]
    assert made[2] == made[0]


def test_plugins_of_files_work_in_every_process(cli, tmp_path):
    write_lines(tmp_path / "samples.jsonl", tool_lines(traces=24))
    (tmp_path / "mine.py").write_text(MINE)
    command = ("featurize", "samples.jsonl", "--features", "tool.hist,tool.mine", "--encoder", "hash", "-q")
    for name, workers in {"one": 1, "two": 2}.items():
        rest = ("-o", f"{name}/", "--shard-rows", 50, "--workers", workers, "--code", "mine.py")
        try:
            assert (cli.run(*command, *rest), cli.err) == (0, "")
        finally:
            FEATURES._own.pop("tool.mine", None)
    manifests = {(tmp_path / name / "manifest.json").read_bytes() for name in ("one", "two")}
    assert len(manifests) == 1


@pytest.mark.filterwarnings("default::ltr.errors.LtrWarning")
def test_an_engine_without_shards_is_warned_of(cli, tmp_path):
    write_lines(tmp_path / "samples.jsonl", tool_lines(traces=24))
    cli.good("featurize", "samples.jsonl", "-o", "columns.npz", "--workers", "2")
    assert "warning: the engine works on shards, and has none here" in cli.err


def test_where_none_is_right_in_every_group_nothing_can_be_learned(tmp_path):
    line = {"trace_id": "t", "node_id": 1, "query": "q"}
    lines = [{**line, "tool": "a", "label": 0}, {**line, "none": True, "label": 1}]
    path = write_lines(tmp_path / "samples.jsonl", lines)
    with pytest.raises(DataError, match="none is right in 1 group, and there is no other to use"):
        featurized(config(path), f"{tmp_path}/parts/")
    assert not (tmp_path / "parts").exists()


def test_a_result_is_not_replaced_without_being_asked(tmp_path):
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=3))
    featurized(config(path), f"{tmp_path}/parts/")
    with pytest.raises(UsageError, match="holds a result; add --overwrite"):
        featurized(config(path), f"{tmp_path}/parts/")
    featurized(config(path), f"{tmp_path}/parts/", overwrite=True, shard_rows=5)
    assert len(list((tmp_path / "parts").glob("part-*.npz"))) > 1


def test_shards_of_a_file_are_refused(tmp_path):
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=3))
    with pytest.raises(UsageError, match="--shard-rows cuts a directory"):
        featurized(config(path), tmp_path / "x.npz", shard_rows=5)


def test_ready_columns_are_not_featurised_again(tmp_path):
    path = write_lines(tmp_path / "samples.jsonl", ({**line, "features": [1.0]} for line in tool_lines(traces=3)))
    with pytest.raises(UsageError, match="bear ready features"):
        featurized(config(path), f"{tmp_path}/parts/")


def test_a_full_disk_leaves_nothing_and_is_named(tmp_path):
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=24))
    (tmp_path / "out").mkdir()

    def work():
        import resource
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))
        with pytest.raises(DiskError, match="file too large"):
            featurized(config(path), f"{tmp_path}/out/parts/", shard_rows=50)
        assert list((tmp_path / "out").iterdir()) == []

    assert in_fork(work) == 0


def test_the_command_says_what_it_wrote(cli, tmp_path):
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=24))
    cli.good("featurize", path, "-o", "parts/", "--shard-rows", "50")
    assert "288 candidates of 72 groups" in cli.err
    assert len(list((tmp_path / "parts").glob("part-*.npz"))) > 3
