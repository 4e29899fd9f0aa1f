"""Columns as data: what is declared at a field is all that taking, stacking, storing and reading know of it."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from ltr import RunConfig
from ltr.errors import DataError, FileError
from ltr.features import FeatureConfig, fit_features
from ltr.featurized import load_columns, open_columns
from ltr.featurized.columns import save_columns
from ltr.files import read_arrays, write_arrays
from ltr.samples import Groups, read_groups
from ltr.samples.columns import Coded, Column, Texts, at, at_least, columns, packed, read, stacked
from tests.builders import graph_lines, tool_lines, write_lines
from tests.made import DataConfig, featurized, told

LINES = {"tool": tool_lines, "graph": graph_lines}
ON_GROUPS = {
    "time": lambda place: 1e9 + place,
    "weight": lambda place: 1.0 + place % 3,
    "context": lambda place: f"before {place % 2}",
    "previous": lambda place: [f"tool{place % 2}"],
    "outcome": lambda place: f"o{place}" if place % 2 else None,
}
GRAPH_COLUMNS = ("types", "type_texts", "type_texts.ends", "graphs", "distinct_graphs", "distinct_graphs.ends")


@dataclass(frozen=True)
class Offers:
    """Columns of three kinds, each absent or not."""

    cities: np.ndarray = field(metadata={"column": Coded("groups", "city_names")})
    city_names: tuple[str, ...]
    prices: np.ndarray | None = field(metadata={"column": Column("rows", absent=0.0, check=at_least(0.0))})
    notes: tuple[str, ...] | None = field(metadata={"column": Texts("groups", absent="")})


def read_all(tmp_path, kind, *names):
    """Groups with these fields beside those of every sample."""
    groups = {}
    lines = [dict(line) for line in LINES[kind](traces=12)]
    for line in lines:
        place = groups.setdefault((line["trace_id"], line["node_id"]), len(groups))
        line |= {name: ON_GROUPS[name](place) for name in names if ON_GROUPS[name](place) is not None}
    return read_groups(str(write_lines(tmp_path / f"{kind}.jsonl", lines)))


def assert_equal(left, right, *but):
    """Every column with what it points to, and its type."""
    for sides in ((left.candidates, right.candidates), (left, right)):
        for declared in columns(type(sides[0])):
            for name in {declared.name, getattr(declared, "table", declared.name)} - {*but}:
                one, other = (getattr(side, name) for side in sides)
                np.testing.assert_equal(one, other, err_msg=name)
                assert getattr(one, "dtype", None) == getattr(other, "dtype", None), name
    np.testing.assert_array_equal(left.offsets, right.candidates.offsets)
    np.testing.assert_array_equal(left.candidates.offsets, right.offsets)


def test_a_column_is_added_in_one_place():
    both = [
        Offers(np.array([1, 0]), ("Rome", "Oslo"), np.array([1.0, 2.0, 3.0]), ("", "late")),
        Offers(np.array([0]), ("Oslo",), None, None),
    ]
    sizes = {"groups": [2, 1], "rows": [3, 1]}
    together = Offers(**stacked(Offers, both, sizes))
    assert together.city_names == ("Rome", "Oslo")
    assert together.cities.tolist() == [1, 0, 1]
    assert together.prices.tolist() == [1.0, 2.0, 3.0, 0.0]
    assert together.notes == ("", "late", "")
    last = Offers(**at(Offers, together, {"groups": np.array([2]), "rows": np.array([3])}, cut=True))
    assert (last.city_names, last.cities.tolist(), last.notes) == (("Oslo",), [0], ("",))
    arrays = packed((declared, together) for declared in columns(Offers))
    assert [*arrays] == ["cities", "prices", "city_names", "city_names.ends", "notes", "notes.ends"]
    again = Offers(**read(Offers, arrays, np.array([0, 2, 3, 4])))
    assert (again.city_names, again.notes) == (together.city_names, together.notes)
    with pytest.raises(DataError, match="3 notes do not fit 2 groups"):
        read(Offers, arrays | {"cities": arrays["cities"][:2]}, np.array([0, 2, 4]))


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("names", [(), tuple(ON_GROUPS)])
def test_arrays_of_groups_give_them_back(tmp_path, kind, names):
    groups = read_all(tmp_path, kind, *names)
    again = Groups.of_arrays(groups.arrays(), groups.offsets, kind=kind)
    assert_equal(groups, again, "lines")
    assert set(again.candidates.lines.tolist()) == {1}


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("names", [(), tuple(ON_GROUPS)])
def test_parts_that_are_stacked_are_the_groups_they_were_cut_from(tmp_path, kind, names):
    groups = read_all(tmp_path, kind, *names)
    cuts = np.split(np.arange(len(groups.offsets) - 1), [5, 6, 11])
    whole = Groups.stack([groups.select(cut) for cut in cuts])
    assert_equal(whole, groups, "lines")
    assert Groups.stack([groups]) is groups
    first, *rest = (groups.select(cut) for cut in cuts)
    assert_equal(Groups.stack([Groups.stack([first, rest[0]]), *rest[1:]]), whole)


def test_a_part_without_a_column_has_the_entry_that_stands_for_it(tmp_path):
    plain, full = read_all(tmp_path, "tool"), read_all(tmp_path, "tool", *ON_GROUPS)
    last, number = Groups.stack([plain, full]), len(plain.offsets) - 1
    assert last.weights[:number].tolist() == [1.0] * number
    assert np.isnan(last.times[:number]).all()
    assert last.outcomes[:number] == ("",) * number
    assert [last.candidates.context_texts[code] for code in last.candidates.contexts[:number].tolist()] == [""] * number
    assert last.candidates.previous_lists[0] == ()
    assert set(last.candidates.lines[len(plain.labels) :].tolist()) == {plain.candidates.lines[0]}
    silent = replace(full.candidates, contexts=np.zeros(number, dtype=np.int64), context_texts=("",))
    assert Groups.stack([plain, replace(full, candidates=silent)]).candidates.contexts is None  # it says nothing


@pytest.mark.parametrize("is_directory", [False, True])
def test_featurised_graphs_can_be_fitted_again(tmp_path, is_directory):
    path = str(write_lines(tmp_path / "s.jsonl", graph_lines(traces=24)))
    names = ("graph.rel", "graph.hist", "graph.cover")
    config = RunConfig(data=DataConfig(train=path), features=names, encoder="hash")
    if is_directory:
        featurized(config, f"{tmp_path}/columns/", shard_rows=50)
        groups = Groups.stack([*open_columns(tmp_path / "columns")])
    else:
        featurized(config, tmp_path / "columns.npz")
        groups = load_columns(tmp_path / "columns.npz")[0]
    samples, configs = read_groups(path), [FeatureConfig(name) for name in names]
    assert_equal(groups, samples, "features", "lines")
    anew, first = (fit_features(configs, each, "hash")[1] for each in (groups.without_numbers(), samples))
    np.testing.assert_array_equal(anew, first)


def test_featurised_graphs_of_earlier_versions_are_read_and_cannot_be_fitted_again(tmp_path, monkeypatch):
    path = str(write_lines(tmp_path / "s.jsonl", graph_lines(traces=24)))
    config = RunConfig(data=DataConfig(train=path), features=("graph.rel", "graph.hist"), encoder="hash")
    with monkeypatch.context() as patch:
        all_arrays = Groups.arrays
        patch.setattr(Groups, "arrays", lambda groups: earlier(all_arrays(groups)))
        featurized(config, tmp_path / "columns.npz")
        featurized(config, f"{tmp_path}/columns/", shard_rows=50)
    groups = load_columns(tmp_path / "columns.npz")[0]
    assert (groups.candidates.graphs.size, groups.candidates.distinct_graphs) == (0, ())
    for columns_of in (tmp_path / "columns.npz", tmp_path / "columns"):
        told("validate", columns_of)
        told("train", columns_of, "--trainer", "newton", "-o", tmp_path / "run", "--overwrite")
    with pytest.raises(Exception, match="without the graphs themselves, as an earlier version wrote it"):
        told("train", tmp_path / "columns", "--trainer", "newton", "--folds", "3", "-o", tmp_path / "folds")


def earlier(arrays):
    """The arrays without those of graphs."""
    return {name: array for name, array in arrays.items() if name not in GRAPH_COLUMNS}


def test_a_graph_that_cannot_be_is_refused(tmp_path):
    groups = read_groups(str(write_lines(tmp_path / "s.jsonl", graph_lines(traces=24))))
    features, phi = fit_features([FeatureConfig("graph.rel")], groups, "hash")
    graphs = tuple(replace(graph, edges=((0, 99),)) for graph in groups.candidates.distinct_graphs)
    broken = replace(groups, candidates=replace(groups.candidates, distinct_graphs=graphs))
    save_columns(tmp_path / "s.npz", broken, phi, features)
    with pytest.raises(FileError, match="not a file of featurised samples: a Graph in it cannot be"):
        load_columns(tmp_path / "s.npz")


def test_outcomes_are_samples_where_columns_are_read(tmp_path):
    groups = read_all(tmp_path, "tool", "outcome")
    features, phi = fit_features([FeatureConfig("tool.rel")], groups, "hash")
    save_columns(tmp_path / "s.npz", groups, phi, features)
    arrays = read_arrays(tmp_path / "s.npz", limit=1 << 20)
    assert "outcomes" not in arrays
    told_apart = {"outcomes": arrays["node_ids"], "outcomes.ends": arrays["node_ids.ends"]}
    write_arrays(tmp_path / "s.npz", arrays | told_apart)
    assert load_columns(tmp_path / "s.npz")[0].outcomes is None
