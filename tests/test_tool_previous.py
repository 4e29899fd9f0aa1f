"""tool.follows and tool.repeat against loops written from their formulas."""

import math

import numpy as np
import pytest

from ltr import read_groups
from ltr.features import FeatureConfig, history
from ltr.features.tables import table_texts
from tests.builders import column_of, state_of, tool_lines, write_lines

NAMES = ["find_flights", "book_hotels", "list_files"]
TRAIN = 20  # traces that states are fitted on


def with_previous(lines):
    """The lines, most of them with what came before."""
    rng = np.random.default_rng(0)
    for place, line in enumerate(lines):
        if place % 4 == 0:  # a group
            before = rng.choice(NAMES, size=int(rng.integers(0, 3))).tolist()
            offered = [*rng.permutation(NAMES).tolist(), "draw_maps"]
        yield {**line, "tool": offered[place % 4], **({"previous": before} if before else {})}


LINES = list(with_previous(tool_lines(seed=6, traces=30)))


@pytest.fixture
def groups(tmp_path):
    return read_groups(write_lines(tmp_path / "samples.jsonl", LINES))


def seen(groups):
    numbers = [int(groups.candidates.trace_ids[trace][1:]) for trace in groups.candidates.traces.tolist()]
    return groups.select(np.flatnonzero(np.array(numbers) < TRAIN))


def values(name, groups, **options):
    config = FeatureConfig(name, options)
    return column_of(config, groups.candidates, state_of(config, seen(groups)))


def by_hand(strength):
    column = []
    for line in LINES:
        last = line.get("previous", [None])[-1]
        same = [
            other
            for other in LINES
            if int(other["trace_id"][1:]) < TRAIN
            and other.get("previous", [None])[-1] == last
            and other["tool"] == line["tool"]
        ]
        wins, chance = sum(other["label"] for other in same), len(same) / 4  # one right among four
        column.append(math.log((wins + strength) / (chance + strength)) if last is not None else 0.0)
    return column


@pytest.mark.parametrize("strength", [2.0, 7.0])
def test_tool_follows_compares_wins_after_a_tool_with_blind_choice(groups, strength):
    np.testing.assert_allclose(values("tool.follows", groups, strength=strength), by_hand(strength), atol=1e-12)
    assert {np.sign(value) for value in by_hand(strength)} == {-1, 0, 1}


def test_tool_repeat_marks_the_tool_that_was_used_last(groups):
    by_hand = [float(line.get("previous", [None])[-1] == line["tool"]) for line in LINES]
    assert values("tool.repeat", groups).tolist() == by_hand
    assert set(by_hand) == {0.0, 1.0}


@pytest.mark.parametrize("name", ["tool.follows", "tool.repeat"])
def test_where_nothing_is_known_of_what_came_before_both_are_0(groups, tmp_path, name):
    bare = [{key: value for key, value in line.items() if key != "previous"} for line in LINES]
    unknown = read_groups(write_lines(tmp_path / "bare.jsonl", bare))
    state = state_of(FeatureConfig(name), groups)
    assert set(column_of(FeatureConfig(name), unknown.candidates, state).tolist()) == {0.0}
    assert set(values(name, unknown).tolist()) == {0.0}


def test_a_tool_that_nothing_was_counted_of_is_0(groups, tmp_path):
    new = [{**line, "previous": ["never_seen"]} for line in LINES[:4]]
    unknown = read_groups(write_lines(tmp_path / "new.jsonl", new))
    state = state_of(FeatureConfig("tool.follows"), groups)
    assert set(column_of(FeatureConfig("tool.follows"), unknown.candidates, state).tolist()) == {0.0}


def test_with_too_many_pairs_those_that_were_offered_most_stay(groups, monkeypatch):
    monkeypatch.setattr(history, "MOST_PAIRS", 4)  # tools, all of them offered whatever came before
    state = state_of(FeatureConfig("tool.follows"), groups)
    lasts = [line["previous"][-1] for line in LINES if "previous" in line]
    (most,) = {table_texts(state["names"])[name] for name in state["pairs"]["before"].tolist()}
    assert lasts.count(most) == max(map(lasts.count, NAMES))
