"""What folds choose by where wrong candidates were drawn from a catalogue: all of its tools."""

import json
from pathlib import Path

import pytest

from ltr import choose
from tests.made import written

THINGS = ("weather", "news", "stock", "map", "mail", "calendar", "music", "photo", "movie", "train", "hotel", "recipe")
TOOLS = [f"{verb}_{thing}" for thing in THINGS for verb in ("get", "find")]
UNLEARNED = ("tool.clause_char alone, l2 1 / traces", "tool.clause alone, l2 1 / traces")


@pytest.fixture
def files(cli):
    """Queries that name their two right tools alone, and the catalogue."""
    texts = {name: {"description": "{} the {} of a place".format(*name.split("_"))} for name in TOOLS}
    Path("tools.json").write_text(json.dumps({"tools": texts}), encoding="utf-8")
    return written("s.jsonl", (row for place in range(40) for row in several_right(place))), "--tools", "tools.json"


def several_right(place):
    """A query of a trace of its own, every third too vague to say so, and its right tools: two of different things."""
    found, got = THINGS[place % 12], THINGS[(place * 5 + place // 12) % 12]
    query = f"find a {found} for day {place}, then get me its {got}" if place % 3 else f"get day {place} done"
    for tool in (f"find_{found}", f"get_{got}"):
        yield {"trace_id": f"t{place}", "node_id": "n", "query": query, "tool": tool, "label": 1}


def choice(cli, files, drawn, out):
    """What the folds of a training with so many drawn tools a query recorded."""
    flags = ["--recommended", "--encoder", "hash", "--negatives", drawn, "-o", out, "-q"]
    cli.good("train", *files, *flags)
    return json.loads(Path(out, "model.json").read_bytes())["training"]["choice"]


def rows(of):
    """The rows of its table by their titles."""
    return {row["title"]: row for row in of["alternatives"]}


def test_where_few_tools_were_drawn_alternatives_are_judged_on_the_whole_catalogue(cli, files):
    drawn, whole = (choice(cli, files, number, number) for number in ("8", "catalogue"))
    for title in UNLEARNED:  # so that it ranks alike whatever lists it learned on
        few, all_of_them = rows(drawn)[title], rows(whole)[title]
        assert (few["top1_accuracy"], few["mrr"]) == pytest.approx((all_of_them["top1_accuracy"], all_of_them["mrr"]))
    assert drawn["reason"].endswith("; judged on all 24 tools, as candidates were drawn, by 40 of 40 queries")
    assert whole["reason"].endswith("; judged on the lists with drawn candidates")  # which are the catalogue
    for row in rows(drawn).values():
        assert row["difference"] == pytest.approx(row["mrr"] - rows(drawn)[drawn["chosen"]]["mrr"], abs=1e-12)


def test_of_many_queries_so_many_judge_as_memory_allows_the_same_in_any_order_of_the_file(cli, files, monkeypatch):
    monkeypatch.setattr(choose, "DRAWN_ROWS", 24 * 5)
    some = choice(cli, files, "8", "some")
    assert some["reason"].endswith("by 25 of 40 queries")  # five of each fold
    lines = Path("s.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("turned.jsonl").write_text("".join(reversed(lines)), encoding="utf-8")
    turned = choice(cli, ("turned.jsonl", *files[1:]), "8", "turned")
    for title in UNLEARNED:
        assert rows(turned)[title]["mrr"] == pytest.approx(rows(some)[title]["mrr"], abs=1e-12)


def test_given_columns_judge_on_the_drawn_lists_and_say_so(cli, files):
    cli.good(
        "featurize", *files, "--negatives", "2", "--features", "recommended", "--encoder", "hash", "-o", "columns.npz"
    )
    cli.good("train", "columns.npz", "--recommended", "-o", "run", "-q")
    given = json.loads(Path("run/model.json").read_bytes())["training"]["choice"]
    assert given["reason"].endswith("; judged on the lists with drawn candidates")


@pytest.mark.parametrize("right, metric", [(2, "map"), (1, "mrr")])
def test_alternatives_are_judged_by_all_right_tools_of_a_query(cli, files, right, metric):
    lines = Path("s.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("right.jsonl").write_text("".join(lines if right == 2 else lines[1::2]), encoding="utf-8")
    given = ("right.jsonl", *files[1:])
    judged = rows(choice(cli, given, "catalogue", "chosen"))["tool.clause alone, l2 1 / traces"]["mrr"]
    alone = ("--features", "tool.clause", "--set", "train.choose=[]", "--metrics", "map", "-o", "alone", "-q")
    cli.good("train", *given, "--negatives", "catalogue", "--recommended", "--encoder", "hash", *alone)
    means = json.loads(Path("alone/metrics.json").read_bytes())["metrics"]
    assert judged == pytest.approx(means[metric], abs=1e-12)
    assert (means["map"] == pytest.approx(means["mrr"])) == (right == 1)
