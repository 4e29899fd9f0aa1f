"""Wrong candidates that were made from the right one."""

import pytest

from tests.audits import CLEAN, changed, findings_of

pytestmark = pytest.mark.contract


def test_wrong_graphs_made_from_the_right_one_are_found_by_their_likeness(tmp_path):
    chain = [{"id": n, "name": name} for n, name in enumerate("abcdef")]
    edges = [[n, n + 1] for n in range(5)]
    other = [[*edges[:n], *edges[n + 1 :], [n, n]] for n in range(4)]  # each with another edge changed
    lines = changed(
        CLEAN["graph"],
        tree=lambda line: {"nodes": chain, "edges": edges if line["label"] else other[int(line["candidate_id"][1:])]},
    )
    finding = findings_of(tmp_path, lines)["leak-likeness"]
    assert finding.severity == "warning"
    assert "by chance 0.250, without the query" in finding.message
