"""Recommended lists, as samples and as a ranking that `evaluate --run` measures: the examples of the documents."""

import json
import math
from pathlib import Path

import pytest

from ltr import import_samples
from ltr.errors import DataError, LtrError
from ltr.importers import Count

ITEMS = ["a", "b", "c", "d", "e"]
FOUR = [  # the right items at places 1, 2 and 5, and one outside
    {"user": user, "recommendations": ITEMS, "truth": right} for user, right in zip("wxyz", "abeq", strict=True)
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def lines(rows, name="lists.jsonl"):
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return name


def measured(cli, *arguments):
    return json.loads(cli.good("evaluate", "--run", *arguments, "--format", "json"))


def test_mrr_of_four_users_is_the_documents_425(cli):
    found = measured(cli, lines(FOUR), "--metrics", "mrr@5,hit@5,ndcg@5,precision@5")
    assert found["mrr@5"] == pytest.approx((1 + 1 / 2 + 1 / 5 + 0) / 4)
    assert found["hit@5"] == 3 / 4
    assert found["precision@5"] == pytest.approx(3 / 4 / 5)
    assert found["ndcg@5"] == pytest.approx((1 + 1 / math.log2(3) + 1 / math.log2(6)) / 4)
    assert found["num_queries"] == 4


SHAPES = {
    "pairs": [row | {"recommendations": [[item, -n] for n, item in enumerate(ITEMS)]} for row in FOUR],
    "objects": [
        row | {"recommendations": [{"item": item, "score": 9 - n} for n, item in enumerate(ITEMS)]} for row in FOUR
    ],
    "mappings": [row | {"recommendations": {item: 9 - n for n, item in enumerate(ITEMS)}} for row in FOUR],
    "other keys": [{"user_id": row["user"], "items": ITEMS, "ground_truth": [row["truth"]]} for row in FOUR],
    "numbers": [
        {"user": n, "recommendations": [*range(5)], "truth": right} for n, right in enumerate((0, [1], {"4": 1}, 7))
    ],
    "one object": [
        {
            "recommendations": {row["user"]: ITEMS for row in FOUR},
            "truth": {row["user"]: row["truth"] for row in FOUR},
        }
    ],
}


@pytest.mark.parametrize("rows", SHAPES.values(), ids=SHAPES)
def test_every_shape_gives_the_same(cli, rows):
    assert measured(cli, lines(rows), "--metrics", "mrr@5")["mrr@5"] == pytest.approx(0.425)


def test_an_array_around_them_and_one_indented_document_are_read(cli):
    for document in (FOUR, SHAPES["one object"][0]):
        Path("lists.json").write_text(json.dumps(document, indent=1))
        assert measured(cli, "lists.json")["mrr"] == pytest.approx(0.425)


@pytest.mark.parametrize(
    "truth",
    ['{"w": "a", "x": ["b"], "y": "e", "z": "q"}', "user_id,click_article_id\nw,a\nx,b\ny,e\nz,q\n"],
    ids=["json", "csv"],
)
def test_the_truth_may_stand_in_a_file_of_its_own(cli, truth):
    Path("lists.json").write_text(json.dumps({row["user"]: ITEMS for row in FOUR}))
    Path("truth").write_text(truth)
    assert measured(cli, "lists.json", "--qrels", "truth")["mrr"] == pytest.approx(0.425)


def test_a_user_of_the_truth_without_a_list_counts_zero(cli):
    Path("lists.json").write_text(json.dumps({"recommendations": {"w": ["a"]}, "truth": {"w": "a", "x": "a"}}))
    assert (found := measured(cli, "lists.json"))["mrr"] == 1 / 2
    assert found["num_queries"] == 2


def test_a_user_without_truth_is_left_out_and_counted(cli):
    found = measured(cli, lines([*FOUR, {"user": "u", "recommendations": ITEMS, "truth": []}]))
    assert (found["num_queries"], found["num_no_relevant"]) == (4, 1)


def test_right_items_outside_the_list_count_among_all_right_ones(cli):
    found = measured(cli, lines([{"user": "u", "items": ["a", "x"], "truth": list("abcd")}]), "--metrics", "recall@5")
    assert found["recall@5"] == 1 / 4


def test_given_click_probabilities_are_measured_as_they_are(cli):
    scored = [
        {"user": "u", "items": {"a": 0.99, "b": 0.01}, "truth": "a"},
        {"user": "v", "items": {"c": 0.4}, "truth": []},
    ]
    found = measured(cli, lines(scored), "--probability", "given", "--no-relevant", "zero", "--metrics", "logloss,auc")
    assert found["logloss"] == pytest.approx(-(2 * math.log(0.99) + math.log(0.6)) / 3)
    assert (found["auc"], found["probability"]) == (1.0, "given")


def test_a_score_that_is_no_probability_is_refused_where_it_is_taken_for_one(cli):
    code, text = cli.refused("evaluate", "--run", lines(FOUR), "--probability", "given", "--metrics", "logloss")
    assert (code, "is no probability from 0 to 1" in text) == (3, True)


def test_samples_with_one_ready_number_are_a_ranking_by_it(cli):
    Path("x.csv").write_text("query,item,click,p\nu,a,1,0.51\nu,b,0,0.49\n")
    cli.good("import", "csv", "x.csv", "-o", "x.jsonl", "--option", "features=p")
    found = measured(cli, "x.jsonl", "--probability", "given", "--metrics", "logloss")
    assert found["logloss"] == pytest.approx(-math.log(0.51))


def test_lists_become_samples_with_the_score_as_the_one_feature():
    lines([*FOUR[1:], {"user": "u", "items": [], "truth": "a"}])
    summary = import_samples("lists", ["lists.jsonl"], "x.jsonl")
    first = json.loads(Path("x.jsonl").read_text().splitlines()[1])
    assert first == {"trace_id": "x", "node_id": "", "query": "x", "tool": "b", "label": 1.0, "features": [-1.0]}
    assert (summary.samples, summary.groups) == (15, 3)
    assert summary.kept == (Count("users with a right item in the list", 2), Count("users without one in the list", 1))
    assert summary.skipped == (Count("users with an empty list", 1, ("lists.jsonl:4",)),)
    missed = "right items that are not in the list: not written (ltr evaluate --run counts them)"
    assert summary.remarks == (Count(missed, 2, ("lists.jsonl:3", "lists.jsonl:4")),)


@pytest.mark.parametrize(
    "row, problem",
    [
        ({"user": "u", "items": ["a"]}, "no truth; "),
        ({"user": "u", "items": "abc", "truth": "a"}, "found 'abc'; a list of items in their order is needed"),
        ({"user": "u", "items": ["a", ["b", 1]], "truth": "a"}, "some items have scores and some have none"),
        ({"user": "u", "items": ["a", "a"], "truth": "a"}, "an item stands twice"),
        ({"user": "u", "items": [["a", "high"]], "truth": "a"}, "found 'high'; a finite number is needed"),
        ({"user": "u", "items": [None], "truth": "a"}, "found null; an item is a text or an integer"),
        ({"user": None, "items": ["a"], "truth": "a"}, "user: found null; an item is a text or an integer"),
        ({"user": "u", "items": ["a"], "truth": {"a": -1}}, "a grade is below 0"),
        ({"user": "w", "items": ["a"], "truth": "a"}, "user 'w' stands twice"),
        (["a"], "is needed"),
        ({"items": ["a"], "truth": "a"}, "no user; "),
    ],
)
def test_a_list_that_cannot_be_read_is_refused_with_its_place(row, problem):
    lines([FOUR[0], row])
    with pytest.raises(DataError) as refused:
        import_samples("lists", ["lists.jsonl"], "x.jsonl")
    assert str(refused.value).startswith("lists.jsonl:2: ")
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (["lists.jsonl", "--complete"], "--complete belongs to a TREC run"),
        (["x.run"], "--run and --qrels belong together for a TREC run"),
        (["-"], "--run and --qrels belong together for a TREC run"),
        (["two.jsonl"], "one ready number a candidate is needed, its score; found 2"),
        (["none.jsonl"], "found none"),
        (["none.jsonl", "--qrels", "x.run"], "samples have their labels: leave out --qrels"),
        (["empty.jsonl"], "no user has a list or a true item"),
    ],
)
def test_a_ranking_that_cannot_be_measured_is_refused(cli, arguments, problem):
    lines(FOUR)
    Path("x.run").write_text("1 Q0 d 1 1 t\n")
    sample = {"trace_id": "t", "node_id": "n", "query": "q", "tool": "a", "label": 1}
    lines([sample], "none.jsonl")
    lines([sample | {"features": [1, 2]}], "two.jsonl")
    lines([{"user": "u", "items": [], "truth": []}], "empty.jsonl")
    assert problem in cli.refused("evaluate", "--run", *arguments)[1]


def test_two_tables_are_no_lists():
    Path("a").write_text("x,y\n1,2\n")
    with pytest.raises(LtrError):
        import_samples("lists", ["a", "a"], "x.jsonl")
