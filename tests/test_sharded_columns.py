"""A directory of columns: its parts are what was written, and a damaged one is refused by name."""

import json
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from ltr import RunConfig, TrainConfig, run
from ltr.errors import FileError, UsageError
from ltr.experiments.single_run import run_and_save
from ltr.featurized import load_columns, new_columns, open_columns
from ltr.files import ContentDigest, read_arrays, write_arrays
from tests.made import DataConfig, tool_rows, written


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of 25 traces."""
    path = written(tmp_path_factory.mktemp("raw") / "raw.jsonl", tool_rows(range(25)))
    return run(RunConfig(data=DataConfig(train=str(path))))


def parts_of(groups, number):
    """Groups of whole traces, in order, in so many parts."""
    traces = groups.candidates.traces
    borders = np.searchsorted(traces, np.linspace(0, traces.max() + 1, number + 1).round())
    return [(first, last) for first, last in pairwise(borders.tolist())]


def make(result, target, *, number=4, **options):
    """The columns of the run in so many parts."""
    groups, phi = result.train, result.measured.phi
    with new_columns(target, result.router.features, **options) as writer:
        for first, last in parts_of(groups, number):
            rows = slice(groups.offsets[first], groups.offsets[last])
            writer.add(groups.select(np.arange(first, last)), phi[rows])
    return target


def test_parts_in_their_order_are_the_groups_that_were_written(trained, tmp_path):
    shards = open_columns(make(trained, tmp_path / "columns"))
    assert len(shards) == 4
    assert np.concatenate([part.labels for part in shards]).tobytes() == trained.train.labels.tobytes()
    phi = np.concatenate([part.candidates.features for part in shards])
    assert phi.tobytes() == trained.measured.phi.tobytes()
    ids = [part.candidates.trace_ids[code] for part in shards for code in part.candidates.traces]
    candidates = trained.train.candidates
    assert ids == [candidates.trace_ids[code] for code in candidates.traces]
    assert shards.features.names == trained.router.names
    assert (shards.manifest.groups, shards.manifest.candidates) == (len(ids), len(phi))
    assert shards[-1].candidates.fit == shards.manifest.fit
    assert [len(shards[number].labels) for number in (1, 2)] == [part.candidates for part in shards.manifest.parts[1:3]]


def test_columns_are_read_without_the_others(trained, tmp_path):
    shards = open_columns(make(trained, tmp_path / "columns"))
    arrays = shards.arrays(1, ("phi", "weights"))
    assert list(arrays) == ["phi"]
    assert arrays["phi"].tobytes() == shards[1].candidates.features.tobytes()


def test_the_same_parts_give_the_same_bytes(trained, tmp_path):
    first, second = make(trained, tmp_path / "a"), make(trained, tmp_path / "b")
    assert sorted(path.name for path in first.iterdir()) == [
        *("features.json", "features.npz", "manifest.json"),
        *(f"part-{number:05}.npz" for number in range(4)),
    ]
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes()


def make_and_interrupt(result, target):
    """One part, and then Ctrl-C."""
    with new_columns(target, result.router.features, overwrite=True) as writer:
        writer.add(result.train, result.measured.phi)
        raise KeyboardInterrupt


def test_a_writer_that_fails_leaves_nothing_and_an_earlier_directory_stays(trained, tmp_path):
    target = tmp_path / "columns"
    for is_there in (False, True):
        if is_there:
            make(trained, target)
        with pytest.raises(KeyboardInterrupt):
            make_and_interrupt(trained, target)
        assert [path.name for path in tmp_path.iterdir()] == (["columns"] if is_there else [])
    assert len(open_columns(target)) == 4


def test_what_is_there_is_replaced_only_when_that_was_asked_for(trained, tmp_path):
    target = make(trained, tmp_path / "columns")
    with pytest.raises(UsageError, match="add --overwrite"):
        make(trained, target)
    assert len(open_columns(make(trained, target, number=2, overwrite=True))) == 2
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "part-1.npz").write_text("not ours")
    with pytest.raises(UsageError, match="holds other things"):
        make(trained, tmp_path / "others", overwrite=True)


@pytest.mark.parametrize("name", ["part-00002.npz", "features.json", "features.npz"])
def test_a_file_that_is_missing_or_differs_in_one_byte_is_refused_by_name(trained, tmp_path, name):
    file = make(trained, tmp_path / "columns") / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(FileError, match=rf"{name}: damaged: .*featurize again"):
        open_columns(tmp_path / "columns")
    file.unlink()
    with pytest.raises(FileError, match=rf"{name}: missing.*featurize again"):
        open_columns(tmp_path / "columns")


WRONG = {
    "a column too few": ("phi", lambda phi: phi[:, 1:]),
    "one dimension": ("phi", lambda phi: phi[:, 0]),
    "labels for half": ("labels", lambda labels: labels[::2]),
    "labels that are bits": ("labels", lambda labels: labels > 0),
    "traces in rows": ("traces", lambda traces: traces[:, None]),
    "a trace that is not there": ("traces", lambda traces: traces + 1_000),
    "offsets that fall": ("offsets", lambda offsets: offsets[::-1]),
}


@pytest.mark.parametrize("name, change", WRONG.values(), ids=WRONG)
def test_arrays_of_a_part_that_do_not_fit_are_refused_by_its_name(trained, tmp_path, name, change):
    home = make(trained, tmp_path / "columns")
    file, manifest = home / "part-00001.npz", json.loads((home / "manifest.json").read_text())
    arrays = read_arrays(file, limit=1 << 30)
    write_arrays(file, arrays | {name: np.ascontiguousarray(change(arrays[name]))})
    content = ContentDigest.of(file)
    manifest["parts"][1] |= {"sha256": content.sha256, "bytes": content.byte_count}
    (home / "manifest.json").write_text(json.dumps(manifest))
    config = RunConfig(data=DataConfig(train=str(home)), train=TrainConfig(trainer="newton"))
    with pytest.raises(FileError, match=r"part-00001\.npz: not a part of featurised samples: "):
        run_and_save(config, tmp_path / "run")


@pytest.mark.parametrize(
    "change, problem",
    [
        ({"format": "ltr-columns/9"}, "of the format 'ltr-columns/9', and this version reads ltr-columns/2"),
        ({"parts": []}, "not what ltr writes"),
        ({"parts": [{"file": "../part-00000.npz"}]}, "not what ltr writes"),
        ({"more": 1}, "not what ltr writes"),
        ({"fit": "0"}, "does not belong to features.json"),
    ],
)
def test_a_manifest_of_another_version_or_shape_is_refused(trained, tmp_path, change, problem):
    file = make(trained, tmp_path / "columns") / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(FileError, match=problem):
        open_columns(tmp_path / "columns")


def test_a_part_that_is_named_twice_is_refused(trained, tmp_path):
    file = make(trained, tmp_path / "columns") / "manifest.json"
    manifest = json.loads(file.read_text())
    file.write_bytes(msgspec.json.encode(manifest | {"parts": manifest["parts"] * 2}))
    with pytest.raises(FileError, match="names a part twice"):
        open_columns(tmp_path / "columns")


def test_a_directory_without_a_manifest_and_a_single_part_say_what_to_name(trained, tmp_path):
    with pytest.raises(
        FileError,
        match=r"a directory; name the files in it.* `ltr featurize SAMPLES -o DIR/` writes",
    ):
        open_columns(tmp_path)
    with pytest.raises(FileError, match="a part of a directory of columns; name the directory"):
        load_columns(make(trained, tmp_path / "columns") / "part-00000.npz")
