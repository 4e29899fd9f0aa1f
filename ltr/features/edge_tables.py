"""Pairs of tools as they are stored: the edges of graphs."""

from collections.abc import Sequence

import numpy as np

from ltr.arrays import Array, State
from ltr.features.text_tables import table_texts, text_table
from ltr.files.learned_state_types import Integers, TextTable
from ltr.files.mergeable_tables import Table, texts_of
from ltr.files.table_keys import digests, halves, pairs, places

EDGES = TextTable("ends of edges", pairs=Integers("edges", 2, below="ends of edges"))  # the type of an edge_table


def edge_table(edges: tuple[tuple[str, str], ...]) -> State:
    """Pairs of tools as a state holds them."""
    ends = [end for edge in edges for end in edge]
    tools = list(dict.fromkeys(ends))
    code = {tool: place for place, tool in enumerate(tools)}
    return text_table(tools, pairs=np.array([code[end] for end in ends], dtype=np.int32).reshape(-1, 2))


def table_edges(table: State) -> list[tuple[str, str]]:
    """The pairs of a table.

    >>> table_edges(edge_table((("a", "b"), ("b", "a"))))
    [('a', 'b'), ('b', 'a')]
    """
    tools = table_texts(table)
    return [(tools[source], tools[target]) for source, target in table["pairs"].tolist()]


def edge_keys(edges: Sequence[tuple[str, str]]) -> Array:
    """The keys of pairs of tools."""
    return pairs(digests([source for source, _ in edges]), digests([target for _, target in edges]))


def spelled_edges(keys: Array, tools: Table) -> tuple[tuple[str, str], ...]:
    """The pairs of tools of the keys, by a table that has the names of the tools."""
    names = texts_of(tools.facts["name"])
    ends = np.column_stack([places(tools.keys, half) for half in halves(keys)])
    return tuple((names[source], names[target]) for source, target in ends.tolist())
