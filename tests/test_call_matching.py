"""Spans of tools find the calls they belong to, however ids repeat and clocks differ."""

import random

import pytest

from ltr.importers.traces import Used, match_calls


def used(at, name="mail", call_id=""):
    return Used((at, at, at), name, call_id)


@pytest.mark.parametrize(
    "calls, runs, matches",
    [
        ([used(1, call_id="a"), used(2, call_id="b")], [used(3, call_id="a"), used(4, call_id="b")], {0: 0, 1: 1}),
        ([used(1, "mail", "a"), used(2, "map", "a")], [used(3, "mail", "a"), used(4, "map", "a")], {0: 0, 1: 1}),
        ([used(1, "mail", "0"), used(5, "mail", "0")], [used(6, "mail", "0")], {0: 1}),  # an id that each answer has
        ([used(1, "mail", "a")], [used(2, "server.mail", "a")], {0: 0}),
        ([used(1), used(2)], [used(3), used(4)], {0: 1, 1: 0}),
        ([used(5)], [used(3)], {0: 0}),  # a clock that is late
        ([used(2), used(5)], [used(3), used(4)], {0: 0, 1: 1}),
        ([used(1)], [used(2, "map")], {}),
        ([used(1)], [used(2), used(3)], {0: 0}),
        ([], [used(1)], {}),
    ],
)
def test_a_run_has_the_latest_call_before_it_by_id_then_by_name(calls, runs, matches):
    assert match_calls(calls, runs) == matches


def test_no_call_has_two_runs_and_no_run_is_left_while_a_call_of_its_name_waits():
    draw = random.Random(0)
    for _ in range(200):
        calls, runs = (
            [used(at, draw.choice("xyz"), draw.choice(["", "a", "b"])) for at in sorted(draw.choices(range(9), k=5))]
            for _ in range(2)
        )
        found = match_calls(calls, runs)
        assert len(set(found.values())) == len(found)
        waiting = {calls[number].name for number in range(5) if number not in found.values()}
        assert not waiting & {runs[number].name for number in range(5) if number not in found}
