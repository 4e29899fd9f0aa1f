"""Candidates that are drawn from a catalogue: by which rule, how probably, and what training makes of it."""

import json

import numpy as np
import pytest

import ltr
from ltr import read_groups
from ltr.catalogues import ToolText
from ltr.errors import SampleError, UsageError
from ltr.steps.negatives import draw_negatives
from tests.builders import score_offset
from tests.made import WORDS, written

NAMES = [f"get_{word}" for word in WORDS] + [f"set_{word}" for word in WORDS]
TOOLS = {name: ToolText(f"{name.split('_')[0]}s the {name.split('_')[1]} of a place") for name in NAMES}


def positives(path, count=12, **more):
    """One group a line, with the right tool alone."""
    lines = [
        {"trace_id": f"t{n}", "node_id": "n", "query": f"what is the {WORDS[n % 7]} in city {n}?"}
        | {"tool": f"get_{WORDS[n % 10]}", "label": 1}
        | more
        for n in range(count)
    ]
    return read_groups([written(path / "positives.jsonl", lines)])


def lists(groups):
    """The tools of each group by name, with rule and probability."""
    candidates = groups.candidates
    rows = zip(
        [candidates.name_texts[code] for code in candidates.names.tolist()],
        candidates.draws.rules.tolist(),
        candidates.draws.probabilities.tolist(),
        strict=True,
    )
    every, bounds = list(rows), groups.offsets.tolist()
    keys = [candidates.trace_ids[code] for code in candidates.traces.tolist()]
    return {key: every[first:last] for key, first, last in zip(keys, bounds[:-1], bounds[1:], strict=True)}


def draw(groups, asked=8, tools=TOOLS, seed=0):
    return draw_negatives(groups, tools, asked, encoder="hash", seed=seed)


def test_up_to_200_tools_the_whole_catalogue_is_added_and_nothing_is_sampled(tmp_path):
    groups = draw(positives(tmp_path), "catalogue")
    for members in lists(groups).values():
        assert sorted(name for name, _, _ in members) == sorted(NAMES)
        assert {probability for _, _, probability in members} == {1.0}
    assert groups.candidates.is_logged.sum() == groups.labels.sum() == 12
    assert not score_offset(groups).any()


def test_of_a_larger_catalogue_30_tools_stand_in_the_list(tmp_path):
    tools = TOOLS | {f"tool_{n}": ToolText(f"does {n}") for n in range(300)}
    assert set(np.diff(draw(positives(tmp_path), "catalogue", tools).offsets)) == {30}


def test_half_are_near_with_probability_1_and_half_random_with_their_share_of_the_rest(tmp_path):
    for members in lists(draw(positives(tmp_path))).values():
        assert len(members) == 8
        rest = len(NAMES) - 4
        assert {probability for _, rule, probability in members if rule == 1} == {4 / rest}
        assert {probability for _, rule, probability in members if rule == 2} == {1.0}
        right = members[0]
        near = sum(rule == 2 for _, rule, _ in members) + (right[2] == 1.0)
        assert (right[1], near) == (0, 4)


def test_a_right_tool_is_as_probable_as_any_other_tool_of_its_query(tmp_path):
    """The rule cannot see which is right: with another right tool near tools stay, and so do their probabilities."""
    lines = [{"trace_id": "t", "node_id": "n", "query": "weather news", "label": 1}]
    seen = {}
    for name in NAMES:
        path = written(tmp_path / f"{name}.jsonl", [lines[0] | {"tool": name}])
        for tool, rule, probability in lists(draw(read_groups([path])))["t"]:
            seen.setdefault(tool, set()).add(probability)
            assert rule == 0 or tool != name
    assert all(len(probabilities) == 1 for probabilities in seen.values())
    assert sum(probabilities == {1.0} for probabilities in seen.values()) == 4


def test_near_tools_follow_from_encoder_and_words_of_the_query(tmp_path):
    path = written(tmp_path / "s.jsonl", [{"trace_id": "t", "node_id": "n", "query": "the stock", "tool": "x"}])
    groups = read_groups([path], labels_required=False)
    near = {name for name, rule, _ in lists(draw(groups))["t"] if rule == 2}
    assert {"get_stock", "set_stock"} <= near


def test_offered_tools_stay_with_probability_1_and_as_many_more_are_drawn(tmp_path):
    rows = [
        {"trace_id": "t", "node_id": "n", "query": "any news?", "tool": name, "label": int(name == "get_map")}
        for name in ("get_map", "get_mail", "set_train")
    ]
    members = lists(draw(read_groups([written(tmp_path / "s.jsonl", rows)])))["t"]
    assert [probability for _, rule, probability in members if rule == 0] == [1.0] * 3
    near = sum(rule == 2 for _, rule, _ in members)
    assert sum(rule == 1 for _, rule, _ in members) == 4
    assert near <= 4
    assert {probability for _, rule, probability in members if rule == 1} == {4 / (len(NAMES) - 3 - near)}


def test_tools_with_the_text_of_a_right_one_are_left_out(tmp_path):
    tools = TOOLS | {"copy_of_news": TOOLS["get_news"]}
    path = written(
        tmp_path / "s.jsonl",
        [
            {"trace_id": "t", "node_id": "n", "query": "?", "tool": "get_news", "label": 1}
            | {"tool_description": TOOLS["get_news"].description}
        ],
    )
    names = {name for name, _, _ in lists(draw(read_groups([path], tools=tools), "catalogue", tools))["t"]}
    assert names == set(NAMES)


def test_no_order_of_groups_or_tools_changes_a_draw_and_another_seed_does(tmp_path):
    groups = positives(tmp_path)
    turned = draw(groups.select(np.arange(12)[::-1]), tools=dict(reversed(TOOLS.items())))
    assert lists(turned) == lists(draw(groups))
    assert lists(draw(groups, seed=1)) != lists(draw(groups))


def test_offsets_are_minus_the_logarithm_of_the_probabilities(tmp_path):
    groups = draw(positives(tmp_path))
    np.testing.assert_allclose(score_offset(groups), -np.log(groups.candidates.draws.probabilities), atol=1e-15)
    assert score_offset(positives(tmp_path)) is None


def test_draws_of_a_file_that_say_no_probability_count_as_uniform(tmp_path):
    row = {"trace_id": "t", "node_id": "n", "query": "?"}
    rows = [row | {"tool": "a", "label": 1}, row | {"tool": "b", "label": 0, "drawn": "random"}]
    assert score_offset(read_groups([written(tmp_path / "s.jsonl", rows)])).tolist() == [0.0, 0.0]


def test_a_random_draw_without_probability_beside_near_ones_is_refused(tmp_path):
    row = {"trace_id": "t", "node_id": "n", "query": "?", "label": 0}
    rows = [
        row | {"tool": "a", "label": 1},
        row | {"tool": "b", "drawn": "near"},
        row | {"tool": "c", "drawn": "random"},
    ]
    groups = read_groups([written(tmp_path / "s.jsonl", rows)])
    with pytest.raises(SampleError, match=r"s.jsonl:3: draw_probability: missing beside candidates"):
        score_offset(groups)


def test_graphs_and_ready_numbers_are_refused(tmp_path):
    row = {"trace_id": "t", "node_id": "n", "query": "?", "label": 1}
    graph = read_groups(
        [written(tmp_path / "g.jsonl", [row | {"candidate_id": "g", "tree": {"nodes": [], "edges": []}}])]
    )
    with pytest.raises(UsageError, match="the candidates are graphs"):
        draw(graph)
    ready = read_groups([written(tmp_path / "r.jsonl", [row | {"tool": "a", "features": [1.0]}])])
    with pytest.raises(UsageError, match="ready features"):
        draw(ready)


@pytest.fixture
def catalogue(tmp_path):
    listed = {"tools": {name: {"description": text.description} for name, text in TOOLS.items()}}
    (tmp_path / "tools.json").write_text(json.dumps(listed), encoding="utf-8")
    positives(tmp_path, 60)
    return tmp_path


def test_positives_alone_train_with_negatives_in_python_and_on_the_command_line(catalogue, cli):
    samples, tools, out = (str(catalogue / name) for name in ("positives.jsonl", "tools.json", "run"))
    code, error = cli.refused("train", samples, "--tools", tools, "-o", out)
    assert (code, "--negatives" in error) == (3, True)
    cli.good("train", samples, "--tools", tools, "-o", out, "--negatives", "6", "--encoder", "hash")
    result = ltr.train(samples, tools=tools, negatives=6, encoder="hash")
    assert set(np.diff(result.train.offsets)) == {6}
    stored = json.loads((catalogue / "run" / "model.json").read_text(encoding="utf-8"))
    assert stored["weights"] == result.router.w.tolist()


def test_negatives_without_a_catalogue_and_less_than_one_are_refused(catalogue, cli):
    samples = str(catalogue / "positives.jsonl")
    assert "name one with --tools" in cli.refused("train", samples, "-o", "x", "--negatives", "6")[1]
    assert "catalogue, or 1 or more" in cli.refused("train", samples, "-o", "x", "--negatives", "0")[1]
    assert "negatives" in cli.refused("train", samples, "-o", "x", "--negatives", "many")[1]


def test_featurised_columns_keep_the_draws_and_train_alike(catalogue, cli, tmp_path):
    samples, tools = str(catalogue / "positives.jsonl"), str(catalogue / "tools.json")
    given = (samples, "--tools", tools, "--negatives", "6", "--encoder", "hash")
    cli.good("featurize", *given, "-o", str(tmp_path / "phi.npz"), "-q")
    ready = ltr.train(str(tmp_path / "phi.npz"))
    assert ready.router.w.tolist() == ltr.train(samples, tools=tools, negatives=6, encoder="hash").router.w.tolist()
    assert "ends in .npz" in cli.refused("featurize", *given, "-o", str(tmp_path / "phi.jsonl"))[1]


def test_history_counts_what_the_log_offered_and_no_drawn_tool(catalogue):
    made = ltr.train(str(catalogue / "positives.jsonl"), tools=str(catalogue / "tools.json"), negatives="catalogue")
    place = made.router.names.index("tool.hist")
    assert made.router.features.states[place] == {"success": {f"get_{word}": [6, 6] for word in sorted(WORDS)}}


def test_an_import_writes_what_training_would_draw(catalogue, cli, tmp_path):
    rows = ["query,tool", *(f"what is the {WORDS[n % 7]} in city {n}?,get_{WORDS[n % 10]}" for n in range(60))]
    (tmp_path / "log.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    tools, plain, drawn = (str(tmp_path / name) for name in ("tools.json", "plain.jsonl", "drawn.jsonl"))
    given = ("import", "csv", str(tmp_path / "log.csv"))
    cli.good(*given, "-o", plain)
    shown = cli.good(*given, "-o", drawn, "--tools", tools, "--negatives", "8", "--encoder", "hash")
    assert "candidates drawn from the catalogue" in shown
    ours, theirs = read_groups([drawn]), draw(read_groups([plain], tools=ltr.read_tools(tools)))
    assert lists(ours) == lists(theirs)
    np.testing.assert_array_equal(score_offset(ours), score_offset(theirs))
    fitted = [
        ltr.train(samples, tools=tools, encoder="hash", **more).router.w.tolist()
        for samples, more in ((drawn, {}), (plain, {"negatives": 8}))
    ]
    assert fitted[0] == fitted[1]
    assert "name one with --tools" in cli.refused(*given, "-o", drawn, "--negatives", "8")[1]
    assert "1 or more" in cli.refused(*given, "-o", drawn, "--negatives", "few", "--tools", tools)[1]


def test_a_query_for_which_none_is_right_gets_nothing(tmp_path):
    row = {"trace_id": "t", "node_id": "n", "query": "any news?"}
    rows = [row | {"tool": "get_news", "label": 0}, row | {"none": True, "label": 1}]
    assert len(draw(read_groups([written(tmp_path / "s.jsonl", rows)])).labels) == 1
