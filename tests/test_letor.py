import gzip
import json

import numpy as np
import pytest

from ltr import import_samples, read_groups
from ltr.errors import DataError, UsageError
from ltr.experiments.export import export


def imported(directory, text):
    """The samples that a LETOR file becomes."""
    (directory / "x.letor").write_text(text, encoding="utf-8")
    import_samples("letor", [directory / "x.letor"], directory / "x.jsonl", overwrite=True)
    return [json.loads(line) for line in (directory / "x.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_line_is_grade_query_features_and_comment(tmp_path):
    assert imported(tmp_path, "2 qid:q-7 1:0.5 2:-1e-3 # docid = GX000\n") == [
        {
            "trace_id": "q-7",
            "node_id": "",
            "query": "q-7",
            "tool": "docid = GX000",
            "label": 2.0,
            "features": [0.5, -0.001],
            "comment": "docid = GX000",
        }
    ]


def test_features_that_a_line_does_not_name_are_zero(tmp_path):
    samples = imported(tmp_path, "0 qid:1 3:7 1:2\n1 qid:1 5:1\n0 qid:1\n")
    assert [sample["features"] for sample in samples] == [[2, 0, 7, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]]


def test_documents_without_comments_are_named_by_their_place(tmp_path):
    assert [sample["tool"] for sample in imported(tmp_path, "0 qid:1 1:1\n1 qid:1 1:2\n0 qid:2 1:1\n")] == [
        "d1",
        "d2",
        "d1",
    ]


def test_comments_that_repeat_are_kept_but_do_not_name(tmp_path):
    samples = imported(tmp_path, "0 qid:1 1:1 # same\n1 qid:1 1:2 # same\n")
    assert [(sample["tool"], sample["comment"]) for sample in samples] == [("d1", "same"), ("d2", "same")]


def test_lines_stay_in_the_order_of_the_file_and_are_counted_in_their_query(tmp_path):
    samples = imported(tmp_path, "0 qid:b 1:1\n1 qid:a 1:2\n1 qid:b 1:3\n")
    assert [(sample["trace_id"], sample["tool"]) for sample in samples] == [("b", "d1"), ("a", "d1"), ("b", "d2")]


def test_stdin_cannot_be_read_twice_and_says_so(tmp_path):
    with pytest.raises(UsageError, match="read twice"):
        import_samples("letor", ["-"], tmp_path / "x.jsonl")


def test_comments_and_blank_lines_between_are_skipped(tmp_path):
    assert len(imported(tmp_path, "# head\n\n1 qid:1 1:1 # a # b\n")) == 1


@pytest.mark.parametrize(
    "line, problem",
    [
        ("1 1:0.5", "no qid:ID, and no .*x.letor.query with the sizes of the queries"),
        ("1 qid: 1:0.5", "without qid:ID"),
        ("x qid:1 1:0.5", "found 'x'; a finite number"),
        ("-1 qid:1 1:0.5", "grade -1 is below 0"),
        ("1 qid:1 1:", "found ''; a finite number"),
        ("1 qid:1 1:nan", "found 'nan'; a finite number"),
        ("1 qid:1 0:1", "found '0:1'; features are numbered from 1"),
        ("1 qid:1 100001:1", "features are numbered from 1 to 100,000"),
        ("1 qid:1 99999999999999999999:1", "features are numbered"),
        ("1 qid:1 ²:1", "features are numbered"),
        ("1 qid:1 1:1 1:2", "feature 1 stands twice"),
    ],
)
def test_a_line_that_cannot_be_read_is_refused_with_its_place(tmp_path, line, problem):
    with pytest.raises(DataError, match=problem) as refused:
        imported(tmp_path, f"0 qid:1 1:1\n{line}\n")
    assert "x.letor:2: " in str(refused.value)
    assert not (tmp_path / "x.jsonl").exists()


def test_bytes_that_are_not_text_are_refused_with_their_place(tmp_path):
    (tmp_path / "x.letor").write_bytes(b"0 qid:1 1:1\n0 qid:\xff 1:1\n")
    with pytest.raises(DataError, match=r"x.letor:2: not UTF-8"):
        import_samples("letor", [tmp_path / "x.letor"], tmp_path / "x.jsonl")


def test_a_file_without_a_line_is_refused(tmp_path):
    with pytest.raises(DataError, match="no line"):
        imported(tmp_path, "# nothing\n")


def test_out_and_in_again_is_the_same(tmp_path):
    draw = np.random.default_rng(0)
    rows = [
        {"trace_id": f"t{group}", "node_id": "", "query": "q", "tool": f"tool # {row}", "label": row % 3}
        | {"features": [float(draw.normal()), float(draw.normal() * 1e-300), 1 / 3]}
        for group in range(3)
        for row in range(4)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    export("letor", tmp_path / "a.jsonl", tmp_path / "a.letor")
    import_samples("letor", [tmp_path / "a.letor"], tmp_path / "b.jsonl")
    before, after = read_groups(tmp_path / "a.jsonl"), read_groups(tmp_path / "b.jsonl")
    assert after.candidates.features.tolist() == before.candidates.features.tolist()
    assert after.candidates.name_texts == before.candidates.name_texts
    assert (after.labels.tolist(), after.candidates.trace_ids) == (before.labels.tolist(), before.candidates.trace_ids)


LIGHTGBM = "1 1:0.5\n0 1:0.1\n0 1:0.2\n1 1:0.3\n0 1:0.4\n"


@pytest.mark.parametrize("side", ["x.letor.query", "x.letor.group"])
def test_lines_without_qid_belong_to_the_queries_of_the_side_file(tmp_path, side):
    (tmp_path / side).write_text("2\n\n0\n3\n")
    samples = imported(tmp_path, LIGHTGBM)
    assert [sample["trace_id"] for sample in samples] == ["x.letor:1"] * 2 + ["x.letor:3"] * 3
    assert [sample["tool"] for sample in samples] == ["d1", "d2", "d1", "d2", "d3"]


def test_a_packed_file_has_the_side_file_of_its_plain_name(tmp_path):
    (tmp_path / "x.letor.query").write_text("5\n")
    (tmp_path / "x.letor.gz").write_bytes(gzip.compress(LIGHTGBM.encode()))
    assert import_samples("letor", [tmp_path / "x.letor.gz"], tmp_path / "x.jsonl").groups == 1


def test_a_glob_that_matches_the_side_file_too_reads_it_once(tmp_path):
    (tmp_path / "x.letor").write_text(LIGHTGBM)
    (tmp_path / "x.letor.query").write_text("5\n")
    assert import_samples("letor", [tmp_path / "x.letor*"], tmp_path / "x.jsonl").samples == 5


@pytest.mark.parametrize(
    "sizes, problem",
    [
        ("2\n2\n", r"x.letor:5: a line more than the sizes in .*x.letor.query add up to"),
        ("2\n5\n", r"x.letor: 2 lines fewer than the sizes in .*x.letor.query add up to"),
        ("2\nthree\n", r"x.letor.query:2: found 'three'; the number of lines of a query is needed"),
        ("-2\n", r"x.letor.query:1: found '-2'"),
    ],
)
def test_sizes_that_do_not_fit_the_lines_are_refused(tmp_path, sizes, problem):
    (tmp_path / "x.letor.query").write_text(sizes)
    with pytest.raises(DataError, match=problem):
        imported(tmp_path, LIGHTGBM)
