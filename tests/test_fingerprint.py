import pytest

from ltr import read_groups
from tests.made import grouped, tool_rows, written

pytestmark = pytest.mark.contract

ROWS = list(tool_rows(range(6)))


def digest(directory, rows):
    return read_groups(written(directory / "s.jsonl", rows)).fingerprint


def changed(**fields):
    """The rows with other fields in the first."""
    return [ROWS[0] | fields, *ROWS[1:]]


def test_the_order_of_rows_and_groups_does_not_show(tmp_path):
    assert digest(tmp_path, ROWS) == digest(tmp_path, ROWS[::-1]) == digest(tmp_path, grouped(ROWS))


def test_descriptions_and_other_keys_do_not_show(tmp_path):
    assert digest(tmp_path, ROWS) == digest(tmp_path, [row | {"note": 1, "tool_description": ""} for row in ROWS])


@pytest.mark.parametrize(
    "rows",
    [
        changed(label=1 - ROWS[0]["label"]),
        changed(tool="another"),
        [row | {"trace_id": "t9"} if row["trace_id"] == "t0" else row for row in ROWS],
        [row | {"node_id": "n9"} if row["node_id"] == "n0" else row for row in ROWS],
        ROWS[1:],
        ROWS[:-10],
    ],
    ids=["a label", "a name", "a trace", "a node", "a row less", "a trace less"],
)
def test_what_is_asked_and_what_is_right_do(tmp_path, rows):
    assert digest(tmp_path, rows) != digest(tmp_path, ROWS)


def test_labels_that_change_places_show(tmp_path):
    group = ROWS[:5]
    right = next(row for row in group if row["label"])
    other = next(row for row in group if not row["label"])
    swapped = [row | {"label": 0} if row is right else row | {"label": 1} if row is other else row for row in group]
    assert digest(tmp_path, group) != digest(tmp_path, swapped)
