"""Tables in a state: texts with numbers beside them, how to look texts up in them, and pairs of tools (edges)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ltr.arrays import Array, FloatArray, IntArray, Ragged, State
from ltr.files.learned_state_types import Integers, TextTable
from ltr.files.mergeable_tables import Table, spelled, table, texts_of
from ltr.files.packed_texts import pack_texts, unpack_texts
from ltr.files.table_keys import digests, halves, pairs, places

EDGES = TextTable("ends of edges", pairs=Integers("edges", 2, below="ends of edges"))  # the type of an edge_table


def text_table(texts: Sequence[str], **columns: Array) -> State:
    """Texts and the columns beside them, as a state holds them."""
    content, ends = pack_texts(texts)
    return {"texts": content, "ends": ends, **columns}


def spelled_table(texts: Ragged, **columns: Array) -> State:
    """The same of texts in a column of a part.

    >>> table_texts(spelled_table(spelled(["a", "b"])))
    ('a', 'b')
    """
    return {"texts": texts.codes, "ends": texts.starts[1:], **columns}


def names_table(names: Sequence[str], **sums: Any) -> Table:
    """Names, and what is counted of each, in a part.

    >>> len(names_table(["a", "b", "a"]))
    2
    """
    return table(digests(names), sums, facts={"name": spelled(names)})


def table_texts(table: State) -> tuple[str, ...]:
    """The texts of a table.

    >>> table_texts(text_table(["a", "b"], wins=np.array([1, 0])))
    ('a', 'b')
    """
    return unpack_texts(table["texts"], table["ends"])


def place_of(listed: Sequence[str]) -> dict[str, int]:
    """Where each text stands in the list.

    >>> place_of(["a", "b"])
    {'a': 0, 'b': 1}
    """
    return {text: place for place, text in enumerate(listed)}


def positions(listed: Sequence[Any], wanted: Sequence[Any]) -> IntArray:
    """Where each wanted item stands in the list; -1 where it does not.

    >>> positions(["a", "b"], ["b", "c"])
    array([ 1, -1])
    """
    position = {item: place for place, item in enumerate(listed)}
    return np.array([position.get(item, -1) for item in wanted], dtype=np.int64)


def looked_up(listed: Sequence[Any], numbers: IntArray | FloatArray, wanted: Sequence[Any]) -> FloatArray:
    """The number beside each wanted item; 0 where the list does not have it.

    >>> looked_up(["a", "b"], np.array([5, 7]), ["b", "c"])
    array([7., 0.])
    """
    return np.append(numbers, 0).astype(np.float64)[positions(listed, wanted)]


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
