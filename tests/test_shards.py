"""Shards of samples: whole traces, bounded, and together what the files are in memory."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from ltr import read_groups
from ltr.catalogues import ToolText
from ltr.errors import DataError, DiskError, FileError, LtrError
from ltr.samples import sample_shards
from tests.builders import graph_lines, tool_lines, write_lines

TRACES = 23


def interleaved(lines, seed=0):
    """The lines in any order."""
    lines = list(lines)
    return [lines[place] for place in np.random.default_rng(seed).permutation(len(lines))]


def rows_of(groups):
    """What each row says, with its group and its place in the files."""
    candidates = groups.candidates
    owner = np.repeat(np.arange(len(groups.offsets) - 1), np.diff(groups.offsets))
    for row, group in enumerate(owner.tolist()):
        text = candidates.tool_texts[candidates.texts[row]] if candidates.texts.size else None
        graph = candidates.distinct_graphs[candidates.graphs[row]] if candidates.graphs.size else None
        yield (
            candidates.place(row),
            candidates.trace_ids[candidates.traces[group]],
            candidates.node_ids[group],
            candidates.query_texts[candidates.queries[group]],
            candidates.name_texts[candidates.names[row]],
            text,
            graph,
            float(groups.labels[row]),
            None if groups.weights is None else float(groups.weights[group]),
            None if groups.none is None else int(groups.none[group]),
        )


def in_shards(paths, rows, **options):
    """The rows of each shard, and the traces."""
    with sample_shards(paths, rows=rows, **options) as shards:
        read = list(shards)
        counts = shards.candidates, shards.groups, shards.traces
    assert counts[0] == sum(len(groups.labels) for groups in read)
    assert counts[1] == sum(len(groups.offsets) - 1 for groups in read)
    traces = [trace for groups in read for trace in groups.candidates.trace_ids]
    assert len(set(traces)) == len(traces) == counts[2]
    return [list(rows_of(groups)) for groups in read]


@pytest.mark.parametrize("rows", [1, 13, 60, 10_000])
@pytest.mark.parametrize("lines", [tool_lines, graph_lines])
def test_a_file_whose_traces_lie_together_gives_its_groups_in_order(tmp_path, lines, rows):
    path = write_lines(tmp_path / "samples.jsonl", lines(traces=TRACES))
    shards = in_shards(path, rows)
    assert [row for shard in shards for row in shard] == list(rows_of(read_groups(path)))
    assert (len(shards) > 1) == (rows < 100)


@pytest.mark.parametrize("rows", [1, 13, 60])
@pytest.mark.parametrize("lines", [tool_lines, graph_lines])
def test_an_interleaved_file_gives_each_trace_in_the_order_of_its_first_line(tmp_path, lines, rows):
    path = write_lines(tmp_path / "samples.jsonl", interleaved(lines(traces=TRACES)))
    whole = read_groups(path)
    shards = in_shards(path, rows)
    assert sorted(row for shard in shards for row in map(repr, shard)) == sorted(map(repr, rows_of(whole)))
    firsts = list(dict.fromkeys(row[1] for shard in shards for row in shard))
    of_shard = {trace: number for number, shard in enumerate(shards) for trace in {row[1] for row in shard}}
    numbers = [of_shard[trace] for trace in whole.candidates.trace_ids]
    assert numbers == sorted(numbers)
    assert len(firsts) == TRACES


def test_the_temporary_files_are_gone_after_the_block(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    path = write_lines(tmp_path / "samples.jsonl", interleaved(tool_lines(traces=TRACES)))
    with sample_shards(path, rows=30) as shards:
        (note,) = shards.notes
        assert any(folder.iterdir())
        assert len(shards) > 3
    assert list(folder.iterdir()) == []
    assert note == f"{path}: traces are interleaved: their lines were regrouped in temporary files of 1 MB in {folder}"


@pytest.mark.parametrize("name", ["samples.jsonl.gz", "array.json", "one_line.json"])
@pytest.mark.parametrize("order", [list, interleaved])
def test_files_that_cannot_be_read_from_the_middle_give_the_same(tmp_path, name, order):
    lines = order(tool_lines(traces=TRACES))
    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    else:
        path.write_text(json.dumps(lines, indent=2 if name == "array.json" else None))
    shards = in_shards(path, 30)
    assert len(shards) > 3
    assert sorted(row for shard in shards for row in map(repr, shard)) == sorted(map(repr, rows_of(read_groups(path))))


def test_several_files_are_one(tmp_path):
    lines = list(tool_lines(traces=TRACES))
    paths = [write_lines(tmp_path / f"{n}.jsonl", lines[n * 20 : n * 20 + 20]) for n in range(-(-len(lines) // 20))]
    (tmp_path / "0.jsonl").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "0.jsonl").read_bytes().replace(b"\n", b"\r\n"))
    paths.insert(2, write_lines(tmp_path / "empty.jsonl", []))
    shards = in_shards(paths, 60)
    assert [row for shard in shards for row in shard] == list(rows_of(read_groups(paths)))


def test_samples_of_whole_groups_none_and_weights_come_through(tmp_path):
    def lines():
        for trace in range(12):
            for node in range(2):
                candidates = [{"tool": f"t{n}", "label": 0} for n in range(3)]
                candidates.append({"none": True, "label": int(node == 1)})
                yield {"trace_id": trace, "node_id": node, "query": "q", "weight": 2.0, "candidates": candidates}

    for order in (list, interleaved):
        path = write_lines(tmp_path / "samples.jsonl", order(lines()))
        shards = in_shards(path, 7)
        whole = sorted(map(repr, rows_of(read_groups(path))))
        assert sorted(row for shard in shards for row in map(repr, shard)) == whole


def broken(change):
    """Lines, one or two of them changed or added."""
    lines = list(tool_lines(traces=TRACES))
    change(lines)
    return lines


def set_at(place, **fields):
    return lambda lines: lines[place].update(fields)


def both(*changes):
    return lambda lines: [change(lines) for change in changes]


BROKEN = {
    "a wrong label": set_at(100, label="1"),
    "a missing label": set_at(100, label=None),
    "another kind": lambda lines: lines.insert(150, {**lines[150], "tool": None, "candidate_id": "g"}),
    "features in the middle": set_at(100, features=[1.0]),
    "another query": set_at(101, query="other"),
    "another weight": both(set_at(100, weight=1.0), set_at(101, weight=2.0)),
    "a time that is none": set_at(99, time="yesterday"),
    "a name twice": lambda lines: lines.append(lines[90] | {"label": 0.5}),
    "a name twice, twice": lambda lines: lines.extend([lines[90] | {"label": 0.5}, lines[10] | {"label": 0.5}]),
    "a name twice, and a wrong line later": lambda lines: lines.extend([dict(lines[90]), {"tool": 3}]),
    "another query far away, and a wrong line later": lambda lines: lines.extend(
        [{**lines[5], "query": "x", "tool": "more"}, {"tool": 3}]
    ),
    "another query far away, and a wrong line before": lambda lines: lines.extend(
        [{"tool": 3}, {**lines[5], "query": "x", "tool": "more"}]
    ),
    "none alone": lambda lines: lines.append({"trace_id": "new", "node_id": 1, "query": "q", "none": True, "label": 1}),
    "none beside a right one": lambda lines: lines.append(
        {**{key: lines[0][key] for key in ("trace_id", "node_id", "query")}, "none": True, "label": 1}
    ),
    "nothing": lambda lines: lines.clear(),
    "only none": lambda lines: lines.__setitem__(
        slice(None), [{"trace_id": 1, "node_id": 1, "query": "q", "none": True, "label": 1}]
    ),
}


@pytest.mark.parametrize("rows", [10, 50, 10_000])
@pytest.mark.parametrize("name", BROKEN)
def test_what_is_refused_in_memory_is_refused_in_shards_with_the_same_message(tmp_path, name, rows):
    for order in (list, interleaved):
        path = write_lines(tmp_path / "samples.jsonl", order(broken(BROKEN[name])))
        with pytest.raises(DataError) as in_memory:
            read_groups(path)
        with pytest.raises(DataError) as sharded, sample_shards(path, rows=rows):
            pass
        assert str(sharded.value) == str(in_memory.value)
        assert type(sharded.value) is type(in_memory.value)


def test_a_catalogue_of_other_tools_is_refused(tmp_path):
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=TRACES))
    tools = {"other": ToolText("does other things")}
    messages = []
    for read in (lambda: read_groups(path, tools=tools), lambda: sample_shards(path, rows=20, tools=tools).__enter__()):
        with pytest.raises(DataError) as refused:
            read()
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


def test_a_file_that_changes_between_two_readings_is_refused(tmp_path):
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=TRACES))
    with sample_shards(path, rows=20) as shards:
        write_lines(path, tool_lines(traces=TRACES, seed=1))
        with pytest.raises(FileError, match="was changed while it was read"):
            shards[1]


def test_a_full_disk_while_regrouping_leaves_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    path = write_lines(tmp_path / "samples.jsonl", interleaved(tool_lines(traces=TRACES)))

    opened = Path.open

    def full(path, *arguments, **options):
        if path.name.endswith(".numbers"):
            raise OSError(28, "No space left on device")
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(LtrError) as refused, sample_shards(path, rows=20):
        pass
    monkeypatch.undo()
    assert isinstance(refused.value, DiskError)
    assert str(refused.value).endswith("no space left on device")
    assert list(folder.iterdir()) == []
