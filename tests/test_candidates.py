from ltr.catalogues import Graph, GraphEntry, ToolText
from ltr.samples import Candidates


def test_a_query_is_offered_every_tool_with_its_text():
    offered = Candidates.of_tools("weather?", {"a": ToolText("first"), "b": ToolText("second", "city")})
    assert offered.kind == "tool"
    assert [offered.name_texts[code] for code in offered.names] == ["a", "b"]
    assert [offered.tool_texts[code] for code in offered.texts] == [("first", ""), ("second", "city")]
    assert offered.offsets.tolist() == [0, 2]


def test_graphs_are_named_by_id_where_that_is_enough():
    entry = GraphEntry(Graph(("n",), ("n",)), "chain")
    assert Candidates.of_graphs("q", {("t", "n", "g0"): entry, ("t", "n", "g1"): entry}).name_texts == ("g0", "g1")
    twice = {("t1", "n", "g0"): entry, ("t2", "n", "g0"): entry}
    assert Candidates.of_graphs("q", twice).name_texts == ("t1/n/g0", "t2/n/g0")


def test_candidate_graphs_have_their_types_and_trees():
    offered = Candidates.of_graphs("q", {("t", "n", "g0"): GraphEntry(Graph(("n",), ("n",)), "chain")})
    assert offered.type_texts == ("chain",)
    assert offered.distinct_graphs[0].texts == ("n",)
