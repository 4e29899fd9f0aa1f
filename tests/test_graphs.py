"""graphs: a tree becomes nodes and index pairs, or is refused with the place inside it."""

import json

import pytest

from ltr.catalogues import Graph, decode_graph
from ltr.errors import FieldError


def graph(nodes: object, edges: object) -> Graph:
    return decode_graph(json.dumps({"nodes": nodes, "edges": edges}).encode())


def test_edges_may_be_objects_or_pairs_and_ids_texts_or_integers():
    nodes = [{"id": 1, "name": "a"}, {"id": "b", "name": "b"}, {"id": "3", "name": "c", "other": []}]
    edges = [{"source": "1", "target": "b", "kind": "calls"}, ["b", 3], [3, 3]]
    assert graph(nodes, edges).edges == ((0, 1), (1, 2), (2, 2))


def test_the_text_of_a_node_is_its_name_else_its_task_else_its_description():
    nodes = [
        {"id": 1, "name": "n", "task": "t", "description": "d"},
        {"id": 2, "name": "", "task": "t", "description": "d"},
        {"id": 3, "task": None, "description": "d"},
        {"id": 4},
    ]
    assert graph(nodes, []) == Graph(("n", "", "", ""), ("n", "t", "d", ""), ("d", "d", "d", ""), ())


def test_renamed_ids_give_the_same_graph():
    one = graph([{"id": "a", "name": "x"}, {"id": "b", "name": "y"}], [["a", "b"]])
    other = graph([{"id": 9, "name": "x"}, {"id": "8", "name": "y"}], [{"source": 9, "target": 8}])
    assert one == other


@pytest.mark.parametrize("tree", [b"{}", b'{"nodes": [], "edges": []}', b'{"root": null}'])
def test_a_tree_without_nodes_is_an_empty_graph(tree):
    assert decode_graph(tree) == Graph()


NODES = [{"id": "a"}, {"id": "b"}]


@pytest.mark.parametrize(
    "nodes, edges, problem",
    [
        (NODES, [["a", "b"], ["a", "c"]], "tree.edges[1]: found 'c'; the id of a node is needed"),
        (NODES, [{"source": 7, "target": "a"}], "tree.edges[0]: found 7; the id of a node is needed"),
        (NODES, [{"source": "a"}], "tree.edges[0].target: missing; the id of a node is needed"),
        (NODES, [["a"]], 'tree.edges[0]: found ["a"]; a list of edges is needed'),
        (NODES, [["a", 1.5]], "tree.edges[0][1]: found 1.5; a list of edges is needed"),
        (NODES, "ab", "tree.edges: found 'ab'; a list of edges is needed"),
        (
            [{"id": 1}, {"id": "2"}, {"id": "1"}],
            [],
            "tree.nodes[2].id: found '1'; nodes[0] has it already, and each node needs its own",
        ),
        ([{"name": "a"}], [], "tree.nodes[0].id: missing; a text or an integer is needed"),
        ([{"id": True}], [], "tree.nodes[0].id: found true; a text or an integer is needed"),
        ([{"id": 1, "task": 3}], [], "tree.nodes[0].task: found 3; a text is needed"),
        (["a"], [], "tree.nodes[0]: found 'a'; a list of nodes is needed"),
    ],
)
def test_a_tree_that_does_not_hold_together_says_where(nodes, edges, problem):
    with pytest.raises(FieldError) as error:
        graph(nodes, edges)
    assert str(error.value) == problem


@pytest.mark.parametrize(
    "tree, problem",
    [
        (b"[]", 'tree: found []; an object {"nodes": [...], "edges": [...]} is needed'),
        (b'{"nodes": [{"id": "\xff"}]}', "tree: byte 20 is not UTF-8"),
        (b'{"other": ' + b"[" * 9999 + b"]" * 9999 + b"}",
         'tree: nested too deep; an object {"nodes": [...], "edges": [...]} is needed'),
    ],
)  # fmt: skip
def test_a_tree_that_is_not_one_says_so(tree, problem):
    with pytest.raises(FieldError) as error:
        decode_graph(tree)
    assert str(error.value) == problem


def test_the_text_names_the_first_node_and_the_next_five():
    nodes = [{"id": n, "name": f"t{n}"} for n in range(8)]
    text = graph(nodes, [[0, 1], [1, 2]]).text
    assert text == "Root: t0. Children: t1 -> t2 -> t3 -> t4 -> t5. Structure: 8 nodes, 2 edges"
