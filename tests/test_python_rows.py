"""Samples given in Python: data frames and lists of dicts are read as the same lines in a file are."""

import math
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

import numpy as np
import pytest

import ltr
from ltr import load_config
from ltr.config import recipes
from ltr.errors import DataError, UsageError
from ltr.experiments.export import export
from ltr.experiments.single_run import run_and_save
from ltr.runs import RunDirectory
from tests.made import grouped, tool_rows, written


@dataclass
class PandasLike:
    """The part of a pandas frame that is read; pandas itself is tried where it is installed."""

    columns: list
    values: list = field(default_factory=list)

    def itertuples(self, *, index, name):
        assert (index, name) == (False, None)
        return iter(map(tuple, self.values))


class PolarsLike(PandasLike):
    """The same of polars, which has iter_rows and no itertuples."""

    itertuples = None

    def iter_rows(self):
        return iter(map(tuple, self.values))


@dataclass
class DatasetLike:
    """The part of a Dataset of Hugging Face that is read: names of columns, and rows in which nothing lacks."""

    column_names: list
    rows: list

    def __iter__(self):
        return iter([{name: row.get(name) for name in self.column_names} for row in self.rows])


ROW = {"trace_id": "t1", "node_id": "n1", "query": "q", "tool": "a", "label": 1}


def framed(kind, rows):
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return kind(columns, [[row.get(key, math.nan) for key in columns] for row in rows])


def frames(rows):
    yield rows
    yield framed(PandasLike, rows)
    yield framed(PolarsLike, rows)
    yield DatasetLike(list(dict.fromkeys(key for row in rows for key in row)), rows)


def same(left, right):
    assert left.labels.tolist() == right.labels.tolist()
    for name in ("name_texts", "query_texts", "trace_ids", "node_ids", "tool_texts", "context_texts"):
        assert getattr(left.candidates, name) == getattr(right.candidates, name)


def test_frames_and_lists_are_read_as_the_lines_of_a_file_are(tmp_path):
    rows = list(tool_rows(range(6)))
    rows[0]["context"] = "user: hi"
    expected = ltr.read_groups(written(tmp_path / "s.jsonl", rows))
    for given in frames(rows):
        same(ltr.read_groups(given), expected)
    same(ltr.read_groups(iter(rows)), expected)
    assert ltr.read_groups(grouped(rows)).labels.tolist() == expected.labels.tolist()


def test_pandas_and_polars_themselves():
    rows = [ROW | {"label": True, "weight": 2.0}, ROW | {"tool": "b", "label": False, "weight": None}]
    for package in ("pandas", "polars"):
        library = pytest.importorskip(package)
        groups = ltr.read_groups(library.DataFrame(rows))
        assert (groups.labels.tolist(), groups.weights.tolist()) == ([1.0, 0.0], [2.0])


def test_lists_of_candidates_in_frames_themselves_have_what_a_line_has():
    line = ROW | {"candidates": [{"tool": "a", "label": 1}, {"tool": "b", "label": 0, "tool_description": "text"}]}
    del line["tool"], line["label"]
    expected = ltr.read_groups([line, line | {"node_id": "n2", "previous": ["a"]}])
    for package in ("pandas", "polars"):
        library = pytest.importorskip(package)
        frame = library.DataFrame([line | {"previous": None}, line | {"node_id": "n2", "previous": ["a"]}])
        same(ltr.read_groups(frame), expected)


def test_a_lazy_frame_is_refused_with_what_to_do():
    frame = pytest.importorskip("polars").DataFrame([ROW])
    with pytest.raises(UsageError, match=r"a lazy frame has no rows yet; give what its collect\(\) returns"):
        ltr.read_groups(frame.lazy())


def test_what_frames_hold_is_taken_as_json_has_it():
    rows = [
        ROW | {"trace_id": np.int64(7), "node_id": 3.0, "label": np.bool_(True), "features": np.array([1.0, 2.0])},
        ROW | {"trace_id": 7, "node_id": 3, "tool": "b", "label": False, "features": (np.float32(0.5), 1)},
        ROW | {"trace_id": 8, "label": Decimal("0.5"), "features": [0, 0], "time": datetime(2024, 1, 2)},
    ]
    groups = ltr.read_groups(rows)
    assert groups.labels.tolist() == [1.0, 0.0, 0.5]
    assert groups.candidates.features.tolist() == [[1.0, 2.0], [0.5, 1.0], [0.0, 0.0]]
    assert groups.candidates.trace_ids == ("7", "8")
    assert groups.times.tolist()[1] == 1704153600.0


def test_booleans_in_a_list_of_candidates_are_labels_too():
    line = {"trace_id": 1, "node_id": 1, "query": "q"}
    given = [line | {"candidates": [{"tool": "a", "label": True}, {"none": True, "label": False}]}]
    assert (ltr.read_groups(given).labels.tolist(), ltr.read_groups(given).none.tolist()) == ([1.0], [1])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"label": "yes"}, "<list>:2: label: found 'yes'; 1 (right), 0 (wrong) or a grade up to 1e300 is needed"),
        ({"label": math.nan}, "<list>:2: label: missing; 1 (right), 0 (wrong) or a grade up to 1e300 is needed"),
        ({"weight": math.inf}, "<list>:2: weight: found inf; a finite number is needed"),
        ({"query": {1, 2}}, "<list>:2: query: found a value of type set, which samples do not hold"),
        ({"query": b"q"}, "<list>:2: query: found a value of type bytes, which samples do not hold"),
        ({3: "x"}, "<list>:2: found the name 3; a text is needed"),
        (
            {"tool": "a", "label": 0},
            "<list>:2: tool: found 'a' again; <list>:1 has it for the same group: keep one of them",
        ),
    ],
)
def test_errors_name_the_row_and_the_field(change, message):
    with pytest.raises(DataError) as error:
        ltr.read_groups([ROW, ROW | {"tool": "b"} | change])
    assert str(error.value) == message


READ = "names of files, a list of dicts, a data frame or a Dataset are needed"


@pytest.mark.parametrize("take", [ltr.read_groups, ltr.train], ids=["read_groups", "train"])
@pytest.mark.parametrize(
    "samples, problem",
    [
        ([[*ROW.values()]], "<list>:1: found list; a dict of the fields is needed"),
        ([None], "<list>:1: found NoneType; a dict of the fields is needed"),
        ({"query": ["q"], "tool": ["a"]}, f"found a dict of 'query, tool'; {READ}"),
        ({"train": [ROW]}, f"found a dict of 'train'; {READ}, such as one of those"),
        (DatasetLike(["query"], []), "<dataset>: no samples; at least one line is needed"),
    ],
)
def test_what_holds_no_samples_is_refused_in_one_line_that_says_what_does(take, samples, problem):
    with pytest.raises((DataError, UsageError)) as error:
        take(samples)
    assert str(error.value).startswith(problem)
    assert "\n" not in str(error.value)


def test_names_of_files_that_are_none_are_refused():
    with pytest.raises(UsageError, match="found NoneType where the name of a file is needed"):
        ltr.read_groups(None)
    with pytest.raises(UsageError, match=r"found a list_iterator, which can be read once; give list\(...\) of it"):
        ltr.train(iter([ROW]))


def test_a_frame_with_a_column_twice_or_without_rows_is_refused():
    with pytest.raises(DataError, match="<data frame>: two columns have the same name"):
        ltr.read_groups(PandasLike(["query", "query"], [["a", "b"]]))
    with pytest.raises(DataError, match="<data frame>: no samples"):
        ltr.read_groups(PandasLike(list(ROW)))
    with pytest.raises(DataError, match="<list>:2: found str; a dict of the fields is needed"):
        ltr.read_groups([ROW, "s.jsonl"])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run on rows, with test rows, beside the same run on files."""
    home = tmp_path_factory.mktemp("rows")
    train, test = list(tool_rows(range(8))), list(tool_rows(range(30, 35), seed=1))
    files = (written(home / "train.jsonl", train), written(home / "test.jsonl", test))
    with pytest.MonkeyPatch.context() as patch:  # folds that choose more take long, and see groups alone
        patch.setattr(recipes, "_left_to_folds", lambda *_, **__: {"train.choose": ["l2"]})
        of_rows = ltr.train(train, test=framed(PandasLike, test), out=home / "rows", recommended=True)
        of_files = ltr.train(files[0], test=files[1], out=home / "files", recommended=True)
    return home, of_rows, of_files


def test_training_on_rows_is_training_on_the_same_file(trained):
    home, of_rows, of_files = trained
    assert np.array_equal(of_rows.model.w, of_files.model.w)
    assert of_rows.measured.evaluation.means == of_files.measured.evaluation.means
    assert (home / "rows/metrics.json").read_bytes() == (home / "files/metrics.json").read_bytes()


def test_a_run_on_rows_records_a_digest_and_no_path(trained):
    home, *_ = trained
    inputs = RunDirectory(home / "rows").record.inputs
    assert [(each.path, len(each.sha256)) for each in inputs] == [("<list>", 64), ("<data frame>", 64)]
    assert load_config(home / "rows/config.yaml").data.train == "<list>"


def test_what_needs_the_rows_again_says_that_they_are_not_kept(trained, cli, tmp_path):
    home, *_ = trained
    problem = "<list>: the samples were given in Python, and a run does not keep them; name them as a file"
    with pytest.raises(UsageError) as error:
        export("csv", home / "rows", tmp_path / "x.csv")
    assert str(error.value) == problem
    with pytest.raises(UsageError) as error:
        run_and_save(load_config(home / "rows/config.yaml"), home / "rows", resume=True)
    assert str(error.value) == problem
    assert cli.refused("run", home / "rows/config.yaml", "-o", "again")[0] in (1, 2)


def test_what_does_not_need_them_works(trained, cli):
    home, *_ = trained
    cli.good("compare", home / "rows", home / "files")
    cli.good("report", home / "rows", "-o", "page.html")
    cli.good("evaluate", home / "rows", home / "test.jsonl")
    cli.good("validate", home / "rows")
