"""The past made of labels, or of a model's own first choices: order, contract, and a walk one query at a time."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ltr
from ltr import RunConfig, TrainConfig, read_groups, run
from ltr.errors import SampleError, UsageError
from ltr.experiments.featurize import featurize_and_save
from ltr.features import FeatureConfig, fit_features
from ltr.featurized import read
from ltr.samples import past_from_labels
from ltr.samples.past import right_names
from ltr.steps.past import designs_to_learn, with_own_past
from tests.builders import features_of, graph_lines, write_lines
from tests.made import DataConfig

TOOLS = ["book", "find", "pay", "send"]
COLUMNS = ("tool.name", "tool.lift", "tool.follows", "tool.repeat")
NEWTON = TrainConfig(trainer="newton")
NEXT = {"find": "book", "book": "pay", "pay": "send", "send": "find"}


def lines_of(traces=12, groups=5, seed=0, **more):
    """Traces in which a tool mostly follows the one before it; nodes are written from last to first."""
    rng = np.random.default_rng(seed)
    for trace in range(traces):
        right = [str(rng.choice(TOOLS))]
        for _ in range(groups - 1):
            right.append(NEXT[right[-1]] if rng.random() < 0.8 else str(rng.choice(TOOLS)))
        for group in reversed(range(groups)):
            query = f"please {right[group]} it" if rng.random() < 0.5 else "go on"
            for tool in rng.permutation(TOOLS).tolist():
                yield {
                    "trace_id": f"t{trace}",
                    "node_id": f"step {group + 8}",  # 8, 9, 10: an order of texts would be another
                    "query": query,
                    "tool": tool,
                    "label": int(tool == right[group]),
                    **more,
                }


def written(tmp_path, lines, name="samples.jsonl"):
    return write_lines(tmp_path / name, lines)


def groups_of(tmp_path, lines):
    return past_from_labels(read_groups(written(tmp_path, lines)))


def by_hand(groups):
    """What was right before each group of its trace, from the lines' own numbers."""
    candidates, right = groups.candidates, right_names(groups)
    keys = [
        (candidates.trace_ids[trace], int(node.split()[-1]))
        for trace, node in zip(candidates.traces.tolist(), candidates.node_ids, strict=True)
    ]
    return [
        tuple(
            name
            for other in sorted(range(len(keys)), key=keys.__getitem__)
            if keys[other][0] == trace and keys[other][1] < number
            for name in right[other]
        )
        for trace, number in keys
    ]


def test_what_was_right_before_is_the_past_in_the_order_of_the_numbers(tmp_path):
    groups = groups_of(tmp_path, lines_of())
    assert groups.candidates.past_lists() == by_hand(groups)
    assert groups.candidates.known_past == "labels"
    assert {len(listed) for listed in groups.candidates.past_lists()} == set(range(5))


def test_where_every_group_has_a_time_it_orders_a_trace(tmp_path):
    lines = list(lines_of(traces=2))
    for line in lines:
        line["time"] = -int(line["node_id"].split()[-1])  # against the numbers
    groups = groups_of(tmp_path, lines)
    lengths = [len(listed) for listed in groups.candidates.past_lists()]
    assert lengths == [4 - (int(node.split()[-1]) - 8) for node in groups.candidates.node_ids]


def test_several_right_tools_come_in_the_order_of_their_names_and_none_adds_none(tmp_path):
    def line(node, tool, label):
        return {"trace_id": "t", "node_id": node, "query": "q", "tool": tool, "label": label}

    lines = [line(1, "b", 1), line(1, "a", 1), line(1, "c", 0), line(2, "a", 0), line(2, "b", 0), line(3, "a", 1)]
    assert groups_of(tmp_path, lines).candidates.past_lists() == [(), ("a", "b"), ("a", "b")]


def changed(lines, **changes):
    return [{**line, **changes} if place == 8 else line for place, line in enumerate(lines)]


@pytest.mark.parametrize(
    "lines, message",
    [
        ([{**line, "node_id": "first"} for line in lines_of(1, 1)], "samples.jsonl:1: node_id: found 'first'"),
        ([{**line, "node_id": "2 of 3"} for line in lines_of(1, 1)], "samples.jsonl:1: node_id: found '2 of 3'"),
        (
            [*lines_of(1, 1), *({**line, "node_id": "a 8"} for line in lines_of(1, 1))],
            "samples.jsonl:5: node_id: another query of trace 't0' has the same number",
        ),
        (list(lines_of(1, 2, time=3)), "samples.jsonl:5: time: another query of trace 't0' has the same time"),
        (changed(list(lines_of(1, 3)), previous=["pay"]), "samples.jsonl:9: previous: the samples say what"),
    ],
    ids=["no number", "two numbers", "one number twice", "one time twice", "logged"],
)
def test_a_past_that_cannot_be_made_is_refused_with_its_place(tmp_path, lines, message):
    with pytest.raises(SampleError) as refused:
        groups_of(tmp_path, lines)
    assert message in str(refused.value)


def test_columns_of_a_past_made_of_labels_are_not_written(tmp_path):
    config = RunConfig(data=DataConfig(train=str(written(tmp_path, lines_of())), previous="from_labels"))
    with pytest.raises(UsageError, match="columns are made once"):
        featurize_and_save(config, tmp_path / "columns.npz")


def test_unlabelled_lines_graphs_and_ready_features_have_no_past_of_labels(tmp_path):
    bare = [{key: value for key, value in line.items() if key != "label"} for line in lines_of(1)]
    data = DataConfig(previous="from_labels")
    with pytest.raises(SampleError, match=r"label: missing; data.previous: from_labels needs it"):
        read(str(written(tmp_path, bare)), data, labels_required=False)
    with pytest.raises(UsageError, match="the candidates are graphs"):
        read(str(written(tmp_path, graph_lines())), data)
    with pytest.raises(UsageError, match="ready features"):
        read(str(written(tmp_path, [{**line, "features": [1.0]} for line in lines_of(1)])), data)


@settings(max_examples=15)
@given(st.data())
def test_a_label_changes_no_training_value_of_its_group_nor_of_an_earlier_one_of_its_trace(tmp_path_factory, data):
    lines = list(lines_of(traces=6, groups=3, seed=data.draw(st.integers(0, 50))))
    path = written(tmp_path_factory.mktemp("past"), lines)
    read_ones = read_groups(path)
    group = data.draw(st.integers(0, len(read_ones.offsets) - 2))
    labels = read_ones.labels.copy()
    rows = slice(*read_ones.offsets[group : group + 2].tolist())
    labels[rows] = np.roll(labels[rows], data.draw(st.integers(1, 3))) if data.draw(st.booleans()) else 0.0
    configs = [FeatureConfig(name) for name in (*COLUMNS, "tool.ridge", "tool.proto", "tool.known")]
    before, after = (
        fit_features(configs, past_from_labels(replace(read_ones, labels=some)), "hash")[1]
        for some in (read_ones.labels, labels)
    )
    candidates = read_ones.candidates
    numbers = np.array([int(node.split()[-1]) for node in candidates.node_ids])
    is_safe = (candidates.traces == candidates.traces[group]) & (numbers <= numbers[group])
    unmoved = np.repeat(is_safe, np.diff(read_ones.offsets))
    np.testing.assert_array_equal(before[unmoved], after[unmoved])


def test_a_label_does_reach_the_next_group_of_its_trace(tmp_path):
    groups = read_groups(written(tmp_path, lines_of()))
    labels = groups.labels.copy()
    first = int(np.argmin([int(node.split()[-1]) for node in groups.candidates.node_ids]))
    rows = slice(*groups.offsets[first : first + 2].tolist())
    labels[rows] = np.roll(labels[rows], 1)
    repeat = [FeatureConfig("tool.repeat")]
    before, after = (
        fit_features(repeat, past_from_labels(replace(groups, labels=some)), "hash")[1]
        for some in (groups.labels, labels)
    )
    assert (before != after).any()


def own_rows(groups):
    config = RunConfig(features=COLUMNS, encoder="hash")
    (design,) = designs_to_learn(config, config.train, features_of(groups, config).training(), "labels")
    return design.phi, design


def test_half_of_a_training_has_own_choices_as_the_past_and_knows_no_label_of_its_trace(tmp_path):
    groups = read_groups(written(tmp_path, lines_of(groups=4)))
    labels = groups.labels.copy()
    labels[12:16] = np.roll(labels[12:16], 1)  # of the first step of the first trace
    phi, learned = own_rows(past_from_labels(groups))
    changed_phi, _ = own_rows(past_from_labels(replace(groups, labels=labels)))
    rows = len(groups.labels)
    of_trace = np.repeat(groups.candidates.traces == groups.candidates.traces[0], np.diff(groups.offsets))
    np.testing.assert_array_equal(phi[rows:][of_trace], changed_phi[rows:][of_trace])
    assert (phi[:rows][of_trace] != changed_phi[:rows][of_trace]).any()
    assert (phi[rows:] != phi[:rows]).any()
    np.testing.assert_array_equal(learned.labels, np.tile(groups.labels, 2))
    assert learned.weights is None


@pytest.fixture
def trained(tmp_path):
    train, test = (str(written(tmp_path, lines_of(30, seed=seed), f"{seed}.jsonl")) for seed in (1, 2))
    data = DataConfig(train=train, test=test, previous="from_labels")
    return run(RunConfig(data=data, features=COLUMNS, encoder="hash", train=NEWTON)), read(test, data)[0]


def test_own_choices_are_those_of_a_walk_through_each_trace_one_query_at_a_time(trained):
    result, groups = trained
    walked, phi = with_own_past(result.router, groups)
    candidates, chosen = groups.candidates, {}
    numbers = [int(node.split()[-1]) for node in candidates.node_ids]
    for group in np.argsort(numbers, kind="stable").tolist():
        trace = int(candidates.traces[group])
        done = chosen.setdefault(trace, [])
        assert walked.candidates.past_lists()[group] == tuple(done)
        alone = groups.select(np.array([group])).candidates
        offered = [{"name": alone.name_texts[code]} for code in alone.names.tolist()]
        answer = result.router.rank(alone.query_texts[0], offered, previous=list(done))
        done.append(answer[0].candidate)
    assert walked.candidates.known_past == "own"
    np.testing.assert_array_equal(phi, result.router.phi(walked.candidates))
    assert walked.candidates.past_lists() != groups.candidates.past_lists()


def test_the_headline_has_own_choices_as_the_past_and_stands_beside_that_of_labels(trained):
    result, groups = trained
    _, phi = with_own_past(result.router, groups)
    own = ltr.evaluate(ltr.rank(result.router.scores(phi), groups.offsets), groups.labels)
    labels = ltr.evaluate(
        ltr.rank(result.router.scores(result.router.phi(groups.candidates)), groups.offsets), groups.labels
    )
    assert result.measured.evaluation.means["top1_accuracy"] == pytest.approx(own.means["top1_accuracy"])
    assert result.measured.with_labels.means["top1_accuracy"] == pytest.approx(labels.means["top1_accuracy"])
    assert own.means["top1_accuracy"] < labels.means["top1_accuracy"]


def test_every_result_says_which_past_it_was_given(cli, tmp_path):
    train, test = (str(written(tmp_path, lines_of(30, seed=seed), f"{seed}.jsonl")) for seed in (1, 2))
    options = ["--set", "data.previous=from_labels", "--set", "train.folds=3"]
    home = tmp_path / "run"
    cli.good(
        "train", train, "--trainer", "newton", "--test", test, "--features", ",".join(COLUMNS), "-o", home, *options
    )
    metrics = json.loads((home / "metrics.json").read_text())
    assert (metrics["rules"]["past"], metrics["folds"]["past"]) == ("own", "labels")
    assert metrics["with_labels"].keys() == metrics["metrics"].keys()
    assert json.loads((home / "model.json").read_text())["training"]["past"] == "labels"
    shown = cli.good("evaluate", home, test, *options[:2], "--format", "human")
    assert "past: the first choices of the model itself (own); with right tools as the past (labels): top-1" in shown
    assert "Past: the first choices of the model itself (own); with right tools" in (home / "report.html").read_text()
    asked = json.loads(cli.good("evaluate", home, test, *options[:2], "--format", "json"))
    assert asked["past"] == "own"
    assert asked["with_labels.mrr"] == pytest.approx(metrics["with_labels"]["mrr"])
    cli.good("evaluate", home, test)
    assert "measure with --set data.previous=from_labels" in " ".join(cli.err.split())


def test_a_typed_query_has_the_past_that_the_command_names(cli, tmp_path):
    train = str(written(tmp_path, lines_of(30)))
    tools = {name: {} for name in ltr.read_groups(train).candidates.name_texts}
    (tmp_path / "tools.json").write_text(json.dumps({"tools": tools}))
    features, home = ("--features", ",".join(COLUMNS)), tmp_path / "run"
    cli.good(
        "train", train, "--tools", tmp_path / "tools.json", *features, "--set=data.previous=from_labels", "-o", home
    )
    router, (first, second) = ltr.load(home), list(tools)[:2]
    shown = {}
    for before in ([], [first], [second, first], [first, second]):
        words = ["--previous", ", ".join(before)] if before else []
        listed = json.loads(cli.good("rank", home, "and now?", *words, "--format", "json").splitlines()[0])["ranking"]
        shown[tuple(before)] = [choice["score"] for choice in listed]
        assert shown[tuple(before)] == pytest.approx(
            [choice.score for choice in router.rank("and now?", previous=before)]
        )
    assert shown[first,] != shown[first, second] != shown[()]
    assert cli.refused("rank", home, "--samples", train, "--previous", first)[0] == 2


def test_training_queries_keep_right_tools_as_their_past_and_say_so(tmp_path):
    train = str(written(tmp_path, lines_of(20)))
    result = run(RunConfig(data=DataConfig(train=train, previous="from_labels"), features=COLUMNS, encoder="hash"))
    assert result.measured.groups.candidates.known_past == "labels"
    assert result.measured.with_labels is None


def test_groups_for_which_none_is_right_have_a_past_and_add_nothing_to_it(tmp_path):
    lines = list(lines_of(20))
    none = [
        {
            "trace_id": f"t{trace}",
            "node_id": "step 20",
            "query": "thanks",
            "candidates": [{"tool": "pay", "label": 0}, {"none": True, "label": 1}],
        }
        for trace in range(20)
    ]
    rest = [{**line, "node_id": "step 21"} for line in lines if line["node_id"] == "step 8"]
    path = str(written(tmp_path, [*lines, *none, *rest]))
    data = DataConfig(train=path, test=path, previous="from_labels")
    result = run(RunConfig(data=data, features=COLUMNS, encoder="hash", train=NEWTON))
    walked = result.measured.groups
    lengths = dict(zip(walked.candidates.node_ids, map(len, walked.candidates.past_lists()), strict=True))
    assert lengths["step 21"] == 5
    assert set(map(len, walked.none_groups.candidates.past_lists())) == {5}
    assert walked.none_groups.candidates.known_past == "own"
    assert result.measured.none is not None
