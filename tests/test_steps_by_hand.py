"""What a user can switch on or off, by the formulas of the documents: none, abstaining, draws, past, catalogue."""

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

import ltr
from tests.made import WORDS, page_of, told, tool_rows, written

pytestmark = pytest.mark.contract
COLUMNS = ("--features", "tool.rel,tool.coop", "--encoder", "hash", "--trainer", "newton")
QUERIES = ("what is the map?", "news of my mail", "anything at all, or a train to town?")


def train(samples, out, *flags, columns=COLUMNS):
    told("train", samples, *columns, *flags, "-o", out, "-q")
    return out


def model(run):
    return json.loads(Path(run, "model.json").read_text(encoding="utf-8"))


def metrics(run):
    return json.loads(Path(run, "metrics.json").read_text(encoding="utf-8"))


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def evaluated(run, samples, *flags):
    """What `ltr evaluate` says as JSON, and the lines of its queries."""
    kept = Path(run).with_name(f"{Path(run).name}-measured")
    said = json.loads(told("evaluate", run, samples, *flags, "-o", kept, "--overwrite", "--format", "json"))
    return said, lines_of(kept / "per_query.jsonl")


def with_none(rows):
    """The rows; of the first query of every fourth trace nothing offered is right."""
    for row in rows:
        is_none = int(row["trace_id"][1:]) % 4 == 0 and row["node_id"] == "n0"
        yield row | {"label": 0} if is_none else row
        if is_none and row["label"]:
            yield {name: row[name] for name in ("trace_id", "node_id", "query")} | {"none": True, "label": 1}


def logit(share):
    return math.log(share / (1 - share))


# None of these


@pytest.fixture(scope="module")
def none(tmp_path_factory):
    """A run that learns none from its log, and the same without the queries for which none is right."""
    home = tmp_path_factory.mktemp("none")
    rows = list(with_none(tool_rows(range(60))))
    marked = {(row["trace_id"], row["node_id"]) for row in rows if "none" in row}
    train(written(home / "log.jsonl", rows), home / "run")
    rest = [row for row in rows if (row["trace_id"], row["node_id"]) not in marked]
    train(written(home / "rest.jsonl", rest), home / "plain")
    return home


def test_p_none_is_the_formula_of_the_page(none):
    learned = model(none / "run")["none"]
    b, router = learned["b"], ltr.load(none / "run")
    assert learned["relevance"] == "tool.rel"
    weight = dict(zip(router.names, router.w.tolist(), strict=True))["tool.rel"]
    for query in QUERIES:
        shown = json.loads(told("rank", none / "run", query, "-k", "99", "--explain", "--format", "json"))
        scores = [choice["score"] for choice in shown["ranking"]]
        relevance = shown["ranking"][0]["contributions"]["tool.rel"] / weight
        total = math.log(sum(map(math.exp, scores)))
        z = [1, scores[0], scores[1], np.mean(scores), total, relevance, math.log(1 + len(query.split()))]
        assert shown["none"] == pytest.approx(1 / (1 + math.exp(total - np.dot(b, z))), rel=1e-9)
        choices = [choice["probability"] for choice in shown["ranking"]]
        assert sum(choices) + shown["none"] == pytest.approx(1)
        assert choices == pytest.approx([math.exp(score - total) * (1 - shown["none"]) for score in scores])


def test_page_and_card_say_what_none_was_learned_from(none):
    card, page = page_of([none / "run"], name="card.md"), page_of([none / "run"])
    assert "does not say that none of them fits" in page_of([none / "plain"], name="card.md")
    assert "does not say that none of them fits" not in card
    for text in (card, page):
        assert "It was learned from the log: 120 queries, 15 of them of none" in text.replace("\xa0", " ")


def test_none_share_moves_the_log_odds_of_every_answer_alike(none):
    trained = model(none / "run")["none"]["trained_share"]
    assert trained == pytest.approx(15 / 120)
    train(none / "log.jsonl", none / "often", "--none-share", "0.4")
    odds = [[logit(ltr.load(none / name).rank(query, k=1).none) for query in QUERIES] for name in ("run", "often")]
    assert np.subtract(*odds[::-1]) == pytest.approx([logit(0.4) - logit(trained)] * 3)


def test_none_moves_neither_weights_nor_order_nor_metrics(none):
    with_it, without = model(none / "run"), model(none / "plain")
    assert with_it["weights"] == without["weights"]
    assert "none" not in without
    assert metrics(none / "run")["metrics"] == metrics(none / "plain")["metrics"]
    assert metrics(none / "run")["counts"]["num_none"] == 15
    for query in QUERIES:
        names = [[choice.candidate for choice in ltr.load(none / name).rank(query)] for name in ("run", "plain")]
        assert names[0] == names[1]


def test_a_query_of_which_nothing_is_known_teaches_no_none(none):
    rows = lines_of(none / "log.jsonl")
    unknown = [row | {"node_id": f"u{row['node_id']}", "label": 0} for row in rows if "none" not in row]
    train(written(none / "more.jsonl", [*rows, *unknown]), none / "unknown", columns=("--features", "tool.coop"))
    train(none / "log.jsonl", none / "known", columns=("--features", "tool.coop"))
    assert model(none / "unknown")["none"]["b"] == model(none / "known")["none"]["b"]


def test_none_learned_from_copies_is_measured_on_copies(none):
    run = train(none / "rest.jsonl", none / "copies", "--none-from", "removed:0.25", "--none-share", "0.1")
    learned = model(run)["none"]
    assert (learned["source"], learned["share"]) == ("removed:0.25", 0.1)
    assert learned["trained_share"] == pytest.approx(26 / (105 + 26), abs=1e-9)
    said, _ = evaluated(run, none / "rest.jsonl")
    assert said["none.none_queries"] == 26
    said, _ = evaluated(run, none / "log.jsonl")
    assert said["none.none_queries"] == 15


def test_the_length_of_a_list_tells_nothing_of_none(tmp_path):
    """Copies lack their right tool, all other queries a wrong one: where scores are alike nothing tells them apart."""
    rows = [row | {"query": f"something {row['trace_id']} {row['node_id']}"} for row in tool_rows(range(40))]
    flags = ("--none-from", "removed:0.25", "--none-share", "0.2")
    run = train(written(tmp_path / "s.jsonl", rows), tmp_path / "run", *flags, columns=("--features", "tool.coop"))
    learned = model(run)["none"]
    assert (learned["groups"], learned["none_groups"]) == (80 + 20, 20)
    assert learned["trained_share"] == pytest.approx(0.2)
    of_four = [row for group in groups_in_order(rows) for row in group[:4]]
    queries = evaluated(run, written(tmp_path / "four.jsonl", of_four))[1]
    assert [query["none"] for query in queries] == pytest.approx([0.2] * 80, abs=0.005)


def chance(traces, seed):
    """Queries of drawn words and tools that are right by chance; of every fourth trace none is right."""
    generator = random.Random(seed)
    for trace in traces:
        for node in range(2):
            query = {"trace_id": f"t{trace}", "node_id": f"n{node}"}
            query["query"] = " ".join(f"w{word}" for word in generator.sample(range(300), 6))
            offered = generator.sample(range(20), 5)
            for number in offered:
                label = int(number == offered[0] and trace % 4 > 0)
                yield query | {"tool": f"tool_{number}", "tool_description": f"thing {number}", "label": label}
            if trace % 4 == 0:
                yield query | {"none": True, "label": 1}


def test_p_none_is_learned_from_scores_that_saw_nothing_of_their_trace(tmp_path):
    """Columns that know a query by heart score it high: who learns from that expects as much of new queries."""
    columns = ("--features", "tool.proto,tool.ridge", "--encoder", "hash", "--trainer", "newton")
    run = train(written(tmp_path / "s.jsonl", chance(range(60), 1)), tmp_path / "run", columns=columns)
    said, _ = evaluated(run, written(tmp_path / "new.jsonl", chance(range(100, 160), 2)))
    assert said["none.mean_probability"] == pytest.approx(said["none.share"], abs=0.05)  # else .62 for .25


# Abstaining


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """A run that abstains, with its calibration samples."""
    home = tmp_path_factory.mktemp("abstain")
    written(home / "train.jsonl", tool_rows(range(60)))
    written(home / "calibrate.jsonl", tool_rows(range(100, 160), seed=3))
    flags = ("--abstain", "risk=0.15", "--calibrate", home / "calibrate.jsonl")
    train(home / "train.jsonl", home / "run", *flags)
    train(home / "train.jsonl", home / "plain")
    return home


def confident(run, samples):
    """Of each query of samples its trace, how probable the first choice is, and whether it is wrong."""
    ranked = [json.loads(line) for line in told("rank", run, "--samples", samples, "--format", "json").splitlines()]
    right = {(row["trace_id"], row["node_id"]): row["tool"] for row in lines_of(samples) if row["label"]}
    for answer in ranked:
        first = answer["ranking"][0]
        is_wrong = first["candidate"] != right[answer["trace_id"], answer["node_id"]]
        threshold = model(run)["abstain"]["threshold"]
        yield answer["trace_id"], first["probability"], is_wrong, not first["probability"] > threshold


def test_the_threshold_is_the_lowest_that_keeps_the_risk_with_one_more_trace_that_is_wrong(calibrated):
    answers, rule = list(confident(calibrated / "run", calibrated / "calibrate.jsonl")), model(calibrated / "run")
    threshold, traces = rule["abstain"]["threshold"], {trace for trace, *_ in answers}

    def bound(t):
        losses = {trace: [] for trace in traces}
        for trace, confidence, is_wrong, _ in answers:
            losses[trace].append(is_wrong and confidence > t)
        return (sum(map(np.mean, losses.values())) + 1) / (len(traces) + 1)

    levels = sorted({0.0, *(confidence for _, confidence, is_wrong, _ in answers if is_wrong)})
    assert threshold == pytest.approx(next(level for level in levels if bound(level) <= 0.15), abs=1e-9)
    assert threshold > 0
    assert (rule["abstain"]["traces"], rule["abstain"]["queries"]) == (60, 120)
    said = evaluated(calibrated / "run", calibrated / "calibrate.jsonl")[1]
    assert [query["abstains"] for query in said] == [abstains for *_, abstains in answers]
    assert 0 < sum(abstains for *_, abstains in answers) < 120


def test_calibration_moves_no_weight_and_no_order(calibrated):
    assert model(calibrated / "run")["weights"] == model(calibrated / "plain")["weights"]
    temperature = model(calibrated / "run")["abstain"]["temperature"]
    assert temperature != 1  # the scores of these columns are too sure, or not sure enough
    for query in QUERIES:
        ours, plain = (ltr.load(calibrated / name).rank(query, k=None) for name in ("run", "plain"))
        assert [choice.candidate for choice in ours] == [choice.candidate for choice in plain]
        scores = np.array([choice.score for choice in plain]) / temperature
        expected = np.exp(scores) / np.exp(scores).sum()
        assert [choice.probability for choice in ours] == pytest.approx(expected.tolist())


def test_an_evaluation_says_how_often_it_was_wrong_of_all_and_of_the_answered(calibrated):
    test = written(calibrated / "test.jsonl", tool_rows(range(200, 230), seed=9))
    answers = list(confident(calibrated / "run", test))
    said, queries = evaluated(calibrated / "run", test)
    answered = [is_wrong for *_, is_wrong, abstains in answers if not abstains]
    assert said["abstention.coverage"] == pytest.approx(len(answered) / len(answers))
    assert said["abstention.risk"] == pytest.approx(sum(answered) / len(answers))  # traces are of two queries each
    assert said["abstention.error"] == pytest.approx(np.mean(answered))
    assert [query["abstains"] for query in queries] == [abstains for *_, abstains in answers]


def test_where_the_promise_does_not_apply_is_said(calibrated):
    rows = list(tool_rows(range(200, 230), seed=9))
    samples = {
        "candidates of 10 are not in the calibration data": [row | {"tool": f"new_{row['tool']}"} for row in rows],
        "none is right in": list(with_none(rows)),
    }
    for number, (doubt, lines) in enumerate(samples.items()):
        shown = told(
            "evaluate", calibrated / "run", written(calibrated / f"{number}.jsonl", lines), "--format", "human"
        )
        assert doubt in " ".join(shown.split())


def test_an_answer_where_none_was_right_counts_as_a_wrong_one(calibrated):
    rows = list(with_none(tool_rows(range(200, 240), seed=9)))
    test = written(calibrated / "with-none.jsonl", rows)
    without = written(calibrated / "without.jsonl", [row for row in rows if row["label"] or "none" not in row])
    said, _ = evaluated(calibrated / "run", test)
    assert said["num_none"] == 10
    marked = {(row["trace_id"], row["node_id"]) for row in rows if "none" in row}
    known = [row for row in lines_of(without) if (row["trace_id"], row["node_id"]) not in marked]
    answers = list(confident(calibrated / "run", written(calibrated / "known.jsonl", known)))
    unknown = [row | {"label": int(row["tool"] == "nothing")} for row in rows if "none" not in row]
    unknown = [row for row in unknown if (row["trace_id"], row["node_id"]) in marked]
    ranked = told("rank", calibrated / "run", "--samples", written(calibrated / "u.jsonl", unknown), "--format", "json")
    threshold = model(calibrated / "run")["abstain"]["threshold"]
    also = sum(json.loads(line)["ranking"][0]["probability"] > threshold for line in ranked.splitlines())
    wrong = sum(is_wrong and not abstains for *_, is_wrong, abstains in answers)
    assert also > 0
    assert said["abstention.risk"] == pytest.approx((wrong + also) / 80)


# Tools that are drawn


@pytest.fixture(scope="module")
def catalogues(tmp_path_factory):
    """A log that names the right tool alone, one that offers five, and catalogues of 40, 200 and 201 tools."""
    home = tmp_path_factory.mktemp("draws")
    rows = list(tool_rows(range(30)))
    written(home / "offered.jsonl", rows)
    written(home / "right.jsonl", [row for row in rows if row["label"]])
    (home / "log.csv").write_text(
        "query,tool\n" + "".join(f"{row['query']} {row['node_id']},{row['tool']}\n" for row in rows if row["label"]),
        encoding="utf-8",
    )
    names = [f"get_{word}" for word in WORDS] + [f"do_{number}" for number in range(191)]
    for size in (40, 200, 201):
        tools = [{"name": name, "description": f"gives {name.split('_')[1]} of a place"} for name in names[:size]]
        tools[-1]["description"] = "gives map of a place"  # the text of get_map
        written(home / f"{size}.jsonl", tools)
    return home


def imported(home, tools, negatives, *flags):
    """The candidates of each query that an import writes with tools of the catalogue."""
    out = home / f"drawn-{tools}-{negatives}.jsonl"
    drawn = ("--tools", home / f"{tools}.jsonl", "--negatives", negatives, "--encoder", "hash")
    told("import", "csv", home / "log.csv", "-o", out, *drawn, *flags, "--overwrite")
    groups = {}
    for row in lines_of(out):
        group = groups.setdefault((row["trace_id"], row["node_id"]), [])
        group += [candidate | {"query": row["query"]} for candidate in row.get("candidates", [row])]
    return list(groups.values())


@pytest.mark.parametrize("tools, drawn", [(40, 40), (200, 200), (201, 30)])
def test_catalogue_means_all_tools_up_to_200_and_30_of_more(catalogues, tools, drawn):
    lists = imported(catalogues, tools, "catalogue")
    assert len(lists) == 60
    for rows in lists:
        names = {row["tool"] for row in rows}
        if is_alike(rows):  # the tool with the text of the right one is left out, and none takes its place
            assert f"do_{tools - 11}" not in names
        else:
            assert len(names) == len(rows) == drawn


def is_alike(rows):
    """Whether the last tool of a catalogue has the text of the right one."""
    return any(row["label"] and row["tool"] == "get_map" for row in rows)


def test_half_of_the_drawn_are_near_and_the_others_random_with_their_probability(catalogues):
    lists = [rows for rows in imported(catalogues, 40, "12") if not is_alike(rows)]
    are_near = []
    for rows in lists:
        near, drawn = ([row for row in rows if row.get("drawn") == rule] for rule in ("near", "random"))
        (right,) = [row for row in rows if row["label"]]
        share = 6 / (40 - 6)  # random places over the tools that are not near
        are_near.append(right.get("draw_probability", 1) == 1)
        assert (len(near), len(drawn)) == ((5, 6) if are_near[-1] else (6, 5))  # the right tool has one of the places
        assert right.get("draw_probability", 1) == pytest.approx(1 if are_near[-1] else share)
        assert {row.get("draw_probability", 1) for row in near} == {1}
        assert [row["draw_probability"] for row in drawn] == pytest.approx([share] * len(drawn))
    assert set(are_near) == {True, False}


def test_offsets_count_where_the_log_names_the_right_tool_alone_and_nowhere_else(catalogues):
    for name, is_moved in (("right.jsonl", True), ("offered.jsonl", False)):
        rows = lines_of(catalogues / name)
        drawn = [
            row | {"tool": f"do_{number}", "tool_description": "x", "label": 0, "drawn": "random"}
            for row in rows
            if row["label"]
            for number in range(4)
        ]
        weights = []
        for chance in (0.1, 0.9):
            uneven = [row | {"draw_probability": chance if row["tool"] < "do_2" else 0.5} for row in drawn]
            samples = written(catalogues / f"{name}-{chance}.jsonl", [*rows, *uneven])
            weights.append(model(train(samples, catalogues / f"{name}-{chance}", "--l2", "0.01"))["weights"])
        assert (weights[0] != weights[1]) == is_moved


def test_an_offset_is_minus_the_logarithm_of_the_probability(catalogues):
    """Of one column that tells the right tool and nothing else the optimum is known: w + l2 of a plain descent."""
    line = {"trace_id": "t", "node_id": "n", "query": "q"}
    rows = [
        line | {"tool": "a", "label": 1, "features": [1.0]},
        line | {"tool": "b", "label": 0, "features": [0.0], "drawn": "random", "draw_probability": 0.25},
    ]
    run = train(
        written(catalogues / "one.jsonl", rows), catalogues / "one", "--l2", "0.1", columns=("--trainer", "newton")
    )
    (w,) = model(run)["weights"]
    wrong = math.exp(-math.log(0.25)) / (math.exp(w) + math.exp(-math.log(0.25)))  # score 0, offset -ln q
    assert -wrong + 2 * 0.1 * w == pytest.approx(0, abs=1e-9)


def test_queries_whose_drawn_tools_get_no_offset_are_counted_aloud(catalogues, cli):
    flags = ("--tools", catalogues / "40.jsonl", "--negatives", "12")
    cli.good("train", catalogues / "offered.jsonl", *COLUMNS, *flags, "-o", "run")
    assert "the log offers several candidates in 60 of 60 queries" in cli.err
    cli.good("train", catalogues / "right.jsonl", *COLUMNS, *flags, "-o", "other")
    assert "the log offers several" not in cli.err


def test_a_query_for_which_none_is_right_gets_no_drawn_tool(catalogues):
    rows = list(with_none(tool_rows(range(30))))
    flags = ("--tools", catalogues / "40.jsonl", "--negatives", "12")
    run = train(written(catalogues / "n.jsonl", rows), catalogues / "none", *flags)
    found = metrics(run)["counts"]
    assert (found["num_none"], found["num_queries"]) == (8, 52)
    assert found["num_drawn"] == found["num_candidates"] - 52 * 5


# What was done before


def steps(traces, seed, *, times=False):
    """Traces of four queries; the right tool is mostly the one after the last; of the second query two are."""
    generator = np.random.default_rng(seed)
    for trace in traces:
        place = int(generator.integers(10))
        for step in range(4):
            place = (place + 1) % 10 if generator.random() < 0.8 else int(generator.integers(10))
            right = {place, (place + 3) % 10} if step == 1 else {place}
            offered = sorted(right.union(generator.choice(10, 4, replace=False).tolist()))
            node = f"step {step if not times else 9 - step}"
            for word in offered:
                row = {"trace_id": f"t{trace}", "node_id": node, "query": f"go on with {trace}"}
                row |= {"tool": f"get_{WORDS[word]}", "tool_description": WORDS[word], "label": int(word in right)}
                yield row | ({"time": 1000.0 * trace + step} if times else {})


def groups_in_order(rows):
    """The rows of each query, as the walk through its trace meets them."""
    groups = {}
    for row in rows:
        groups.setdefault((row["trace_id"], row["node_id"]), []).append(row)
    return list(groups.values())


PAST = ("--features", "tool.rel,tool.follows,tool.repeat", "--encoder", "hash", "--trainer", "newton")
FROM_LABELS = ("--set", "data.previous=from_labels")


@pytest.fixture(scope="module", params=[False, True], ids=["by number", "by time"])
def walked(request, tmp_path_factory):
    """A run with a past of labels, its test rows in order, and those with the past written out both ways."""
    home, times = tmp_path_factory.mktemp("past"), request.param
    written(home / "train.jsonl", steps(range(40), 1, times=times))
    test = list(steps(range(50, 70), 2, times=times))
    written(home / "test.jsonl", test)
    train(home / "train.jsonl", home / "run", *FROM_LABELS, "--test", home / "test.jsonl", columns=PAST)
    router, pasts = ltr.load(home / "run"), {"labels": [], "own": []}
    for kind, out in pasts.items():
        done = {}
        for rows in groups_in_order(test):
            before = done.setdefault(rows[0]["trace_id"], [])
            out += [row | {"previous": list(before)} for row in rows]
            if kind == "labels":
                before += sorted(row["tool"] for row in rows if row["label"])
            else:
                tools = [{"name": row["tool"], "description": row["tool_description"]} for row in rows]
                before.append(router.rank(rows[0]["query"], tools, k=1, previous=list(before))[0].candidate)
        written(home / f"{kind}.jsonl", out)
    return home


def test_the_headline_is_a_walk_by_own_choices_and_stands_beside_right_tools(walked):
    found = metrics(walked / "run")
    own, labels = (evaluated(walked / "run", walked / f"{kind}.jsonl")[0] for kind in ("own", "labels"))
    for name in ("top1_accuracy", "mrr"):
        assert found["metrics"][name] == pytest.approx(own[name])
        assert found["with_labels"][name] == pytest.approx(labels[name])
    assert found["metrics"]["mrr"] < found["with_labels"]["mrr"]
    assert (found["rules"]["past"], own["past"]) == ("own", "logged")


def test_a_training_counts_each_query_after_right_tools_and_after_own_choices(walked):
    done, rows = {}, []
    for group in groups_in_order(lines_of(walked / "train.jsonl")):
        before = done.setdefault(group[0]["trace_id"], [])
        rows += [row | {"previous": list(before)} for row in group]
        before += sorted(row["tool"] for row in group if row["label"])
    logged = train(written(walked / "logged.jsonl", rows), walked / "of-logged", columns=PAST)
    again = ("--folds", "2", "-o", walked / "again", "--overwrite", "-v", "--format", "human")
    shown = " ".join(told("train", walked / "train.jsonl", *PAST, *FROM_LABELS, *again).split())
    assert "each group counts twice: with right tools before it, and with choices of models" in shown
    assert "2 folds by trace, right tools as the past (labels): top-1" in shown
    names = [feature["name"] for feature in model(logged)["features"]]
    follows = [dict(zip(names, model(run)["weights"], strict=True))["tool.follows"] for run in (walked / "run", logged)]
    assert 0 < follows[0] < follows[1]  # who learns from right tools alone trusts the past too much


def test_abstaining_is_calibrated_after_own_choices_as_it_is_measured(walked):
    samples = written(
        walked / "calibrate.jsonl", steps(range(100, 140), 7, times="time" in lines_of(walked / "test.jsonl")[0])
    )
    flags = ("--abstain", "risk=0.3", "--calibrate", samples)
    run = train(walked / "train.jsonl", walked / "abstains", *FROM_LABELS, *flags, columns=PAST)
    said, _ = evaluated(run, samples, *FROM_LABELS)
    rule = model(run)["abstain"]
    assert said["past"] == "own"
    assert (said["abstention.coverage"], said["abstention.risk"]) == (rule["coverage"], pytest.approx(rule["risk"]))
    assert 0 < rule["coverage"] < 1


def test_the_order_of_the_lines_changes_no_past(walked):
    rows = lines_of(walked / "train.jsonl")
    turned = train(written(walked / "turned.jsonl", rows[::-1]), walked / "of-turned", *FROM_LABELS, columns=PAST)
    assert model(turned)["weights"] == pytest.approx(model(walked / "run")["weights"], abs=1e-9)


# The whole catalogue


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A run with test data, whose catalogue has twelve tools and lacks one of the ten."""
    home = tmp_path_factory.mktemp("catalogue")
    written(home / "train.jsonl", tool_rows(range(40)))
    written(home / "test.jsonl", tool_rows(range(50, 70), seed=1))
    names = [f"get_{word}" for word in WORDS if word != "movie"] + ["do_this", "do_that", "do_more"]
    tools = [{"name": name, "description": f"gives the {name.split('_')[1]} of a place"} for name in names]
    written(home / "tools.jsonl", tools)
    train(home / "train.jsonl", home / "run", "--test", home / "test.jsonl", "--tools", home / "tools.jsonl")
    return home


def test_metrics_of_the_catalogue_are_those_of_every_tool_ranked_for_each_query(served):
    router, found = ltr.load(served / "run", tools=lines_of(served / "tools.jsonl")), metrics(served / "run")
    values, lacking = [], 0
    for rows in groups_in_order(lines_of(served / "test.jsonl")):
        right = next(row["tool"] for row in rows if row["label"])
        scores = {choice.candidate: choice.score for choice in router.rank(rows[0]["query"], k=None)}
        lacking += right not in scores
        own = scores.pop(right, -math.inf)
        above, level = sum(score > own for score in scores.values()), sum(score == own for score in scores.values())
        expected = np.mean([1 / (above + place) for place in range(1, level + 2)])
        values.append(expected if own > -math.inf else 0.0)
    assert found["metrics"]["mrr@catalogue"] == pytest.approx(np.mean(values))
    assert (found["counts"]["catalogue_tools"], found["counts"]["catalogue_lacking"]) == (12, lacking)
    assert lacking > 0
    queries = lines_of(served / "run" / "per_query.jsonl")
    assert [query["metrics"]["mrr@catalogue"] for query in queries] == pytest.approx(values)
    assert {"low", "high"} <= found["intervals"]["mrr@catalogue"].keys()


def test_the_prompt_holds_the_first_tools_of_the_catalogue(served):
    curve = json.loads((served / "run" / "curves.json").read_text(encoding="utf-8"))["prompt_tokens"]
    router = ltr.load(served / "run", tools=lines_of(served / "tools.jsonl"))
    sizes = {}
    for tool in lines_of(served / "tools.jsonl"):
        document = json.dumps(tool, ensure_ascii=False, separators=(",", ":"))
        sizes[tool["name"]] = -(-len(document.encode()) // 4)
    assert curve["k"] == [1, 2, 3, 5, 10, 12]
    groups = groups_in_order(lines_of(served / "test.jsonl"))
    for k, tokens, right_there in zip(curve["k"], curve["tokens"], curve["right_there"], strict=True):
        firsts = [[choice.candidate for choice in router.rank(rows[0]["query"], k=int(k))] for rows in groups]
        assert tokens == pytest.approx(np.mean([sum(sizes[name] for name in names) for names in firsts]))
        right = [
            any(row["label"] and row["tool"] in names for row in rows)
            for rows, names in zip(groups, firsts, strict=True)
        ]
        assert right_there == pytest.approx(np.mean(right))


@pytest.mark.parametrize("tools, is_ranked", [(10, False), (11, True)])
def test_lists_are_short_where_they_hold_less_than_half_of_the_catalogue(served, tools, is_ranked):
    names = [f"get_{word}" for word in WORDS] + ["do_this"]
    catalogue = written(served / f"{tools}.jsonl", [{"name": name, "description": name} for name in names[:tools]])
    said, _ = evaluated(served / "run", served / "test.jsonl", "--tools", catalogue)  # lists of five
    assert ("mrr@catalogue" in said) == is_ranked
    said, _ = evaluated(served / "run", served / "test.jsonl", "--tools", catalogue, "--catalogue")
    assert "mrr@catalogue" in said


def test_a_query_without_a_right_candidate_counts_neither_here_nor_there(served):
    rows = lines_of(served / "test.jsonl")
    unknown = [row | {"label": 0} if row["trace_id"] == "t50" else row for row in rows]
    left = [row for row in rows if row["trace_id"] != "t50"]
    said = [
        evaluated(served / "run", written(served / f"{name}.jsonl", each), "--catalogue")[0]
        for name, each in (("unknown", unknown), ("left", left))
    ]
    assert said[0]["mrr@catalogue"] == pytest.approx(said[1]["mrr@catalogue"])
    assert (said[0]["num_no_relevant"], said[0]["num_queries"]) == (2, 38)
