"""What a result says of itself, counted by hand from the scores of `ltr rank`; and the leaderboard of several."""

import json
import math
import random
import statistics

import pytest

from tests.made import document, page_of, told, tool_rows, written

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A run of two columns with many ties, on tests with a tool that training never saw and two right tools."""
    home = tmp_path_factory.mktemp("results")
    written(home / "train.jsonl", (row for row in tool_rows(range(40)) if row["tool"] != "get_movie"))
    test = [
        row | {"place": "north" if int(row["trace_id"][1:]) % 3 else "south"}
        for row in tool_rows(range(60, 90), seed=2)
    ]
    test = [
        row | {"label": 1} if row["trace_id"] in ("t61", "t64") and row["tool"] == "get_mail" else row for row in test
    ]
    test = [row | {"label": 0} if row["trace_id"] == "t70" else row for row in test]
    written(home / "test.jsonl", test)
    flags = ("--features", "tool.coop,tool.hist", "--trainer", "newton", "--test", home / "test.jsonl")
    told("train", home / "train.jsonl", *flags, "-o", home / "run", "-q")
    told(
        "train",
        home / "train.jsonl",
        "--features",
        "tool.coop",
        "--test",
        home / "test.jsonl",
        "-o",
        home / "tied",
        "-q",
    )
    return home


def groups_of(samples):
    """The rows of each query, in the order of their first lines."""
    groups = {}
    for line in samples.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        groups.setdefault((row["trace_id"], row["node_id"]), []).append(row)
    return groups


def ranked(run, samples):
    """Of each query the score of each of its candidates."""
    lines = told("rank", run, "--samples", samples, "-k", "99", "--format", "json").splitlines()
    answers = map(json.loads, lines)
    return {
        (answer["trace_id"], answer["node_id"]): {each["candidate"]: each["score"] for each in answer["ranking"]}
        for answer in answers
    }


def first_right(scores, right, *, ties):
    """At which rank the first right candidate stands: above it what scores more, and what is level as the ties fall."""
    best = max(scores[name] for name in right)
    above = sum(score > best for score in scores.values())
    level = [name in right for name, score in scores.items() if score == best]
    wrong = level.count(False)
    return above + 1 + {"best": 0, "worst": wrong}[ties]


def expected_reciprocal(scores, right):
    """The mean of 1 / rank of the first right candidate over all orders of equal scores."""
    best = max(scores[name] for name in right)
    above = sum(score > best for score in scores.values())
    level, own = sum(score == best for score in scores.values()), sum(scores[name] == best for name in right)
    chances = [math.comb(level - place, own - 1) / math.comb(level, own) for place in range(1, level - own + 2)]
    return sum(chance / (above + place) for place, chance in enumerate(chances, start=1))


@pytest.mark.parametrize("name", ["run", "tied"])
def test_ranks_and_ties_are_those_of_the_scores(home, name):
    groups, scores = groups_of(home / "test.jsonl"), ranked(home / name, home / "test.jsonl")
    right = {key: {row["tool"] for row in rows if row["label"]} for key, rows in groups.items()}
    counted = [key for key in groups if right[key]]
    found = document(home / name, "metrics.json")
    assert found["counts"]["num_queries"] == len(counted) == 58
    assert found["counts"]["num_no_relevant"] == 2
    means = {
        "mrr": statistics.fmean(expected_reciprocal(scores[key], right[key]) for key in counted),
        **{
            bound: statistics.fmean(1 / first_right(scores[key], right[key], ties=bound) for key in counted)
            for bound in ("worst", "best")
        },
    }
    assert found["metrics"]["mrr"] == pytest.approx(means["mrr"], abs=1e-12)
    if name == "tied":
        assert found["ranges"]["mrr"]["worst"] == pytest.approx(means["worst"], abs=1e-12)
        assert found["ranges"]["mrr"]["best"] == pytest.approx(means["best"], abs=1e-12)
        assert means["worst"] < means["mrr"] < means["best"]
    tied = [
        key
        for key in counted
        if first_right(scores[key], right[key], ties="worst") > first_right(scores[key], right[key], ties="best")
    ]
    assert found["counts"]["num_tied"] == len(tied)
    lines = {(line["trace_id"], line["node_id"]): line for line in document(home / name, "per_query.jsonl")}
    assert list(lines) == list(groups)
    for key in counted:
        line = lines[key]
        assert line["rank"] == first_right(scores[key], right[key], ties="worst")
        assert line["is_top1_correct"] == (line["rank"] == 1)
        assert line["reciprocal_rank"] == pytest.approx(expected_reciprocal(scores[key], right[key]))
        assert (line["num_candidates"], line["num_positives"]) == (len(scores[key]), len(right[key]))
        first = min(scores[key], key=lambda tool, of=scores[key]: (-of[tool], tool))
        assert line["predicted_candidate"] == first
        best = max(scores[key][tool] for tool in right[key])
        total = sum(math.exp(score - best) for score in scores[key].values())
        assert line["probability"] == pytest.approx(1 / total)
    assert lines["t70", "n0"]["rank"] is None


def test_the_shape_of_the_data_is_counted(home):
    found, sizes = (
        document(home / "run", "metrics.json"),
        [len(rows) for rows in groups_of(home / "test.jsonl").values()],
    )
    counts = found["counts"]
    assert (counts["num_groups"], counts["num_candidates"]) == (60, sum(sizes))
    assert (counts["candidates_median"], counts["candidates_least"], counts["candidates_most"]) == (5, 5, 5)
    assert (found["rules"]["interval_unit"], counts["interval_num_units"]) == ("trace", 29)
    assert (counts.get("num_drawn", 0), counts.get("num_none", 0), counts["num_one_candidate"]) == (0, 0, 0)


def test_the_queries_of_one_trace_have_no_interval_neither_of_a_mean_nor_of_a_lead(home, tmp_path):
    rows = [row for of in groups_of(home / "test.jsonl").values() for row in of]
    together = [row | {"trace_id": "one", "node_id": f"{row['trace_id']} {row['node_id']}"} for row in rows]
    of_queries = [row | {"trace_id": f"{row['trace_id']} {row['node_id']}", "node_id": "n"} for row in rows]
    samples = [written(tmp_path / f"{number}.jsonl", each) for number, each in enumerate((together, of_queries))]
    flags = ("--baselines", "--format", "json")
    said = [json.loads(told("evaluate", home / "run", path, *flags)) for path in samples]
    for name in ("mrr", "over_best_baseline"):
        assert said[0][f"{name}.low"] is None
        assert said[1][f"{name}.low"] < said[1][f"{name}.high"]
        assert said[0][name] == pytest.approx(said[1][name])
    assert [of["interval_num_units"] for of in said] == [1, 58]


def test_the_median_is_no_mean(home, tmp_path):
    groups = list(groups_of(home / "test.jsonl").values())
    lists = [rows[: 2 if place else 5] for place, rows in enumerate(groups)]
    samples = written(
        tmp_path / "short.jsonl", [row | {"label": int(row is rows[0])} for rows in lists for row in rows]
    )
    said = json.loads(told("evaluate", home / "run", samples, "--format", "json"))
    assert [said[f"candidates_{name}"] for name in ("median", "least", "most")] == [2, 2, 5]


def test_queries_with_known_and_with_unseen_right_tools_stand_apart(home):
    found, groups = document(home / "run", "metrics.json"), groups_of(home / "test.jsonl")
    scores = ranked(home / "run", home / "test.jsonl")
    right = {key: {row["tool"] for row in rows if row["label"]} for key, rows in groups.items()}
    parts = {"known": [], "unseen": []}
    for key, names in right.items():
        if names:
            parts["known" if names - {"get_movie"} else "unseen"].append(expected_reciprocal(scores[key], names))
    said = {part["name"]: (part["num_queries"], part["metrics"]["mrr"]) for part in found["answers"]["parts"]}
    assert said == {name: (len(values), pytest.approx(statistics.fmean(values))) for name, values in parts.items()}
    assert len(parts["unseen"]) > 2


def test_each_value_of_a_field_is_measured_apart(home):
    said = json.loads(told("evaluate", home / "run", home / "test.jsonl", "--group-by", "place", "--format", "json"))
    groups, scores = groups_of(home / "test.jsonl"), ranked(home / "run", home / "test.jsonl")
    for place in ("north", "south"):
        values = [
            expected_reciprocal(scores[key], {row["tool"] for row in rows if row["label"]})
            for key, rows in groups.items()
            if rows[0]["place"] == place and any(row["label"] for row in rows)
        ]
        assert said[f"place={place}.num_queries"] == len(values)
        assert said[f"place={place}.mrr"] == pytest.approx(statistics.fmean(values))


def test_tool_by_tool_counts_what_was_right_found_and_mistaken(home):
    groups, scores = groups_of(home / "test.jsonl"), ranked(home / "tied", home / "test.jsonl")
    right, found, first, mistaken = {}, {}, {}, {}
    for key, rows in groups.items():
        names = sorted(row["tool"] for row in rows if row["label"])
        if not names:
            continue
        top = max(scores[key].values())
        chosen = min(name for name, score in scores[key].items() if score == top)
        is_alone = all(name in names for name, score in scores[key].items() if score == top)
        first[chosen] = first.get(chosen, 0) + 1
        for name in names:
            right[name] = right.get(name, 0) + 1
            found[name] = found.get(name, 0) + (name == chosen and is_alone)
            if chosen not in names:
                mistaken.setdefault(name, {}).setdefault(chosen, []).append(rows[0]["query"])
    table = document(home / "tied", "by_tool.jsonl")
    assert {line["tool"]: line["right"] for line in table if line["right"]} == right
    assert {line["tool"]: line["found"] for line in table if line["right"]} == found
    assert {line["tool"]: line["first"] for line in table if line["first"]} == first
    assert table == sorted(table, key=lambda line: (-line["right"], -line["first"], line["tool"]))
    for line in table:
        others = mistaken.get(line["tool"], {})
        expected = sorted(((-len(queries), name) for name, queries in others.items()))[:5]
        assert [(-other["count"], other["tool"]) for other in line["mistaken_for"]] == expected
        assert all(other["query"] in others[other["tool"]] for other in line["mistaken_for"])


def test_baselines_are_chance_the_order_of_the_samples_and_uses_in_training(home):
    found, groups = document(home / "run", "metrics.json"), groups_of(home / "test.jsonl")
    uses = {}
    for rows in groups_of(home / "train.jsonl").values():
        for row in rows:
            uses[row["tool"]] = uses.get(row["tool"], 0) + row["label"]
    values = {"random": [], "offered": [], "most_used": [], "oracle": []}
    for rows in groups.values():
        names = {row["tool"] for row in rows if row["label"]}
        if not names:
            continue
        for name, scores in {
            "random": {row["tool"]: 0 for row in rows},
            "offered": {row["tool"]: -place for place, row in enumerate(rows)},
            "most_used": {row["tool"]: uses.get(row["tool"], 0) for row in rows},
            "oracle": {row["tool"]: row["label"] for row in rows},
        }.items():
            values[name].append(expected_reciprocal(scores, names))
    for name, each in values.items():
        assert found["baselines"][name]["mrr"] == pytest.approx(statistics.fmean(each), abs=1e-12), name


def test_the_page_shows_the_parts_that_the_metrics_have(home, tmp_path):
    kept = tmp_path / "kept"
    told("evaluate", home / "run", home / "test.jsonl", "--group-by", "place", "--baselines", "-o", kept)
    found, page = document(kept, "metrics.json"), page_of([kept])
    for part in found["answers"]["parts"]:
        said = f"Right tool {part['name']}: {part['num_queries']} queries, top-1 {part['metrics']['top1_accuracy']:.3f}"
        assert said.casefold() in page.casefold(), said
    for part in found["breakdown"]["parts"]:
        assert f">{part['name']}</th>" in page
    assert page.count("<li>Compared with ") == 2  # the best ranking without training, and the best single column
    assert "Intervals resample" in page
    assert found["rules"]["fingerprint"] in page


def test_what_each_column_adds_to_the_first_and_to_the_right_candidate_sums_to_their_scores(home, tmp_path):
    told("evaluate", home / "run", home / "test.jsonl", "--explain", "-o", tmp_path / "kept")
    scores, are_apart = ranked(home / "run", home / "test.jsonl"), 0
    for line in document(tmp_path / "kept", "per_query.jsonl"):
        of, added = scores[line["trace_id"], line["node_id"]], line["contributions"]
        assert set(added["predicted"]) == {"tool.coop", "tool.hist"}
        assert sum(added["predicted"].values()) == pytest.approx(of[line["predicted_candidate"]])
        if line["true_candidate"] is not None:
            assert sum(added["true"].values()) == pytest.approx(of[line["true_candidate"]])
            are_apart += of[line["true_candidate"]] != of[line["predicted_candidate"]]
    assert are_apart > 5


def test_examples_are_the_surest_mistakes_and_what_the_best_baseline_gets_wrong(tmp_path):
    generator, rows = random.Random(1), []
    for trace in range(60):
        pairs = [(generator.random(), generator.random()) for _ in range(5)]
        best = max(range(5), key=lambda place: sum(pairs[place]) + generator.gauss(0, 0.2))
        for place, pair in enumerate(pairs):
            row = {"trace_id": f"t{trace}", "node_id": "n", "query": f"q{trace}", "tool": f"tool {generator.random()}"}
            rows.append(row | {"features": pair, "label": int(place == best)})
    run = tmp_path / "run"
    told("train", written(tmp_path / "s.jsonl", rows), "--trainer", "newton", "-o", run, "-q")
    table, queries = document(run, "examples.jsonl"), document(run, "per_query.jsonl")
    ranks = {(line["trace_id"], line["node_id"]): line["rank"] for line in queries}
    kinds = {kind: [row for row in table if row["kind"] == kind] for kind in ("wrong", "rescued")}
    assert [row["kind"] for row in table] == sorted((row["kind"] for row in table), reverse=True)
    for kind, rows in kinds.items():
        firsts = [next(each for each in row["candidates"] if each["place"] == 1) for row in rows]
        assert len(rows) > 2
        assert [first["probability"] for first in firsts] == sorted(
            (first["probability"] for first in firsts), reverse=True
        )
        assert {first["is_right"] for first in firsts} == {kind == "rescued"}
        for row in rows:
            assert row["rank"] == ranks[row["trace_id"], row["node_id"]]
            of_baseline = [each for each in row["candidates"] if each.get("is_chosen_by_baseline")]
            assert kind == "wrong" or not any(each["is_right"] for each in of_baseline)


def test_metrics_that_some_queries_lack_say_of_how_many_they_are(home, tmp_path):
    """gauc has no value where all candidates of a query are right."""
    groups = groups_of(home / "test.jsonl")
    rows = [row | {"label": 1} if row["trace_id"] == "t62" else row for of in groups.values() for row in of]
    samples = written(tmp_path / "all.jsonl", rows)
    said = json.loads(told("evaluate", home / "run", samples, "--metrics", "gauc", "--format", "json"))
    assert (said["num_queries"], said["gauc.num_queries"]) == (58, 56)


def test_what_ranks_better_without_training_is_said(tmp_path, cli):
    groups = {}
    for row in tool_rows(range(40)):
        groups.setdefault((row["trace_id"], row["node_id"]), []).append(row)
    labels = [[row["label"] for row in rows] for rows in groups.values()]
    turned = [[of[-1], *of[:-1]] for of in labels]  # the tool beside the right one was right
    pairs = zip(groups.values(), turned, strict=True)
    written("train.jsonl", [row | {"label": label} for of in pairs for row, label in zip(*of, strict=True)])
    written("test.jsonl", tool_rows(range(60, 200), seed=2))
    columns = ("--features", "tool.coop", "--trainer", "newton")
    cli.good("train", "train.jsonl", *columns, "--test", "test.jsonl", "-o", "run")
    assert "alone is better than this model: top-1 over it is -" in cli.err
    assert any("alone is better than this model" in text for text in document("run", "metrics.json")["warnings"])
    recorded = [text for text in document("run", "run.json")["warnings"] if "alone is better" in text]
    assert len(recorded) == 1
    assert "alone is better than this model" in page_of(["run"])
    assert "alone is better than this model" in page_of(["run"], name="card.md")


def test_the_data_of_two_results_are_told_apart_by_their_fingerprint_and_not_by_the_order_of_lines(home, tmp_path):
    rows = [row for of in groups_of(home / "test.jsonl").values() for row in of]
    other = [row | {"label": 1 - row["label"]} if row["trace_id"] == "t66" else row for row in rows]
    samples = [written(tmp_path / f"{number}.jsonl", each) for number, each in enumerate((rows, rows[::-1], other))]
    prints = [json.loads(told("evaluate", home / "run", path, "--format", "json"))["fingerprint"] for path in samples]
    assert prints[0] == prints[1] != prints[2]


def test_a_query_without_a_right_candidate_is_named_with_its_line_where_that_is_an_error(home, cli):
    code, said = cli.refused("evaluate", home / "run", home / "test.jsonl", "--no-relevant", "error")
    line = next(
        number
        for number, text in enumerate((home / "test.jsonl").read_text().splitlines(), start=1)
        if json.loads(text)["trace_id"] == "t70"
    )
    assert code == 3, cli.err
    assert f"test.jsonl:{line}: the query of trace 't70'" in said


# Several runs


def test_the_leaderboard_has_the_runs_by_their_metric_with_what_each_of_them_says(home, cli, tmp_path):
    config = {
        "name": "board",
        "encoder": "hash",
        "data": {"train": str(home / "train.jsonl"), "test": str(home / "test.jsonl")},
        "train": {"trainer": "newton"},
        "sweep": {"features": [["tool.hist"], ["tool.coop", "tool.hist"]], "seed": [0]},
    }
    (tmp_path / "board.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "broken.json").write_text(
        json.dumps(config | {"name": "broken", "data": {"train": "bad.jsonl"}, "sweep": {}})
    )
    (tmp_path / "bad.jsonl").write_text('{"trace_id": 1}\n')
    code = cli.run("run", "board.json", "broken.json", "-o", "runs")
    assert code == 3, cli.err
    board = document("runs", "leaderboard.json")
    complete, failed = board["rows"][:-1], board["rows"][-1]
    assert (failed["run"], failed["status"], failed["place"]) == ("broken", "failed", None)
    assert "bad.jsonl:1" in failed["error"]
    assert [row["place"] for row in complete] == [1, 2]
    values = [row["metrics"]["mrr"] for row in complete]
    assert values == sorted(values, reverse=True)
    for row in complete:
        of_run = document(tmp_path / "runs" / row["directory"], "metrics.json")
        assert row["metrics"] == {name: of_run["metrics"][name] for name in row["metrics"]}
        interval = of_run["intervals"]["mrr"]
        assert (row["low"], row["high"]) == (interval["low"], interval["high"])
        assert (row["split"], row["num_queries"]) == ("test", 58)
        assert row["best_baseline"] == of_run["best_baseline"]
        unseen = {part["name"]: part["num_queries"] for part in of_run["answers"]["parts"]}["unseen"]
        assert row["num_unseen"] == unseen
    directories = [str(tmp_path / "runs" / row["directory"]) for row in complete]
    compared = json.loads(cli.good("compare", *directories[::-1], "--metrics", "mrr", "--format", "json"))
    (difference,) = compared["runs"][0]["differences"]
    assert (board["test"]["difference"], board["test"]["p"]) == (difference["difference"], difference["permutation_p"])
    lines = (tmp_path / "runs" / "leaderboard.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[1] for line in lines[1:]] == [row["run"] for row in board["rows"]]
    assert len({line.count("\t") for line in lines}) == 1
    assert complete[0]["run"] in (tmp_path / "runs" / "leaderboard.md").read_text(encoding="utf-8")


def test_another_metric_sorts_the_leaderboard(home, cli, tmp_path):
    config = {
        "encoder": "hash",
        "data": {"train": str(home / "train.jsonl"), "test": str(home / "test.jsonl")},
        "train": {"trainer": "newton"},
        "evaluate": {"metrics": ["logloss"]},
        "sweep": {"features": [["tool.hist"], ["tool.coop"]]},
    }
    (tmp_path / "ltr.yaml").write_text(json.dumps(config), encoding="utf-8")
    cli.good("run", "-o", "runs", "--sort", "logloss")
    board = document("runs", "leaderboard.json")
    values = [row["metrics"]["logloss"] for row in board["rows"]]
    assert values == sorted(values)  # less is better
    assert (board["metric"], board["test"]) == ("logloss", None)
    assert "no value of single queries" in board["untested"]
