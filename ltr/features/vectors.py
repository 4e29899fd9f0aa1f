"""Vectors of tools: how they meet those of queries, their prototypes, and the tools nearest to a query."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ltr.arrays import FloatArray, IntArray, Ragged, State, chunks, offsets_of
from ltr.catalogues import ToolCatalogue, tool_text
from ltr.encoders import CachedEncoder, Dense, Postings, Sparse, StoredVectors, Vectors
from ltr.features.algebra import all_dots
from ltr.features.protocol import Context, Counted, feature
from ltr.features.tables import (
    Answers,
    encoder_revision,
    graph_tables,
    listed_names,
    names_table,
    positions,
    refuse_other_revision,
    right_answers,
    spelled_table,
)
from ltr.features.texts import (
    Clauses,
    Lexicon,
    distinct_tools,
    plain_texts,
    plain_tool_text,
    query_clauses,
    row_queries,
)
from ltr.registry import Positive
from ltr.samples import Candidates, Groups, ToolList
from ltr.states import Floats, Integers, Json, Record, TextTable, learns
from ltr.tables import Part

NUMBERS_AT_ONCE = 1 << 17  # touched in a step
DENSE_SPEED = 8.0  # how many times quicker a dense number is where all tools are met: nothing is gathered
MOST_TOOLS = 1 << 12  # of a block: what is turned around or merged at once


class Block:
    """Some of the tools' vectors. Sparse ones are held as rows until a query first meets many of them, then turned."""

    __slots__ = ("_held", "entries", "numbers")

    def __init__(self, vectors: Vectors) -> None:
        vectors = vectors.in_double() if isinstance(vectors, Dense) else vectors  # as products need them
        self._held: Vectors | Postings = vectors
        self.numbers = vectors.numbers.size if isinstance(vectors, Sparse | Dense) else 0
        self.entries = (
            np.bincount(vectors.columns, minlength=vectors.dimensions) if isinstance(vectors, Sparse) else None
        )

    def __len__(self) -> int:
        held = self._held
        return held.count if isinstance(held, Postings) else len(held)

    @property
    def is_turned(self) -> bool:
        """Return whether it holds postings."""
        return isinstance(self._held, Postings)

    @property
    def vectors(self) -> Vectors:
        """Return the rows."""
        held = self._held
        return held.vectors() if isinstance(held, Postings) else held

    def products(self, vectors: Vectors) -> FloatArray:
        """Return each of the vectors by each tool, (vectors, tools)."""
        held = self._held
        if isinstance(held, Dense) and isinstance(vectors, Dense):
            return vectors.products(held)
        if isinstance(held, Sparse):
            held = self._held = Postings.of(held)  # two threads may do so at once, with one result
        if not (isinstance(held, Postings) and isinstance(vectors, Sparse)):
            raise TypeError("dense vectors meet dense vectors, sparse ones sparse ones")
        return held.products(within(vectors, len(held.starts) - 1))


def within(vectors: Sparse, dimensions: int) -> Sparse:
    """Return the vectors without the columns beyond those dimensions: words that no tool of a block has."""
    if vectors.dimensions == dimensions:
        return vectors
    is_within = vectors.columns < dimensions
    owners = vectors.owners[is_within]
    starts = offsets_of(np.bincount(owners, minlength=len(vectors)))
    return Sparse(starts, vectors.columns[is_within], vectors.numbers[is_within], dimensions)


@dataclass(frozen=True, slots=True)
class ToolVectors:
    """A vector for each tool, in blocks: tools that come later do not touch what is there.

    A block is merged with the one before it once it is half as long, so that few remain.
    """

    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, vectors: Vectors) -> Self:
        """Return those of the rows."""
        return cls((Block(vectors),))

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def extended(self, more: Self) -> Self:
        """Return these, then those of tools that came later."""
        blocks = [*self.blocks, *more.blocks]
        while len(blocks) > 1 and 2 * len(blocks[-1]) >= len(blocks[-2]) and sum(map(len, blocks[-2:])) <= MOST_TOOLS:
            last, before = blocks.pop(), blocks.pop()
            blocks.append(Block(stacked_widened([before.vectors, last.vectors])))
        return type(self)(tuple(blocks))

    def products(self, vectors: Vectors, rows: IntArray, tools: IntArray) -> FloatArray:
        """Return the product of each of the rows of the vectors with the tool beside it."""
        each = np.arange(len(vectors) + 1)
        return self.best(Clauses((), Ragged(each, each[:-1])), vectors, rows, tools)

    def best(self, clauses: Clauses, vectors: Vectors, queries: IntArray, tools: IntArray) -> FloatArray:
        """Return the largest product over the clauses of the query of each row with the tool of the row.

        `vectors` are those of the clauses. Each tool is multiplied alone, or all at once by `Postings`: whichever
        touches fewer numbers. Both add in the same order and give the same bits.
        """
        asked, counts = np.unique(queries, return_counts=True)
        asked_clauses = clauses.of_query.take(asked)
        paired = float((counts * asked_clauses.lengths).sum())
        costs = self._costs(vectors, asked_clauses.codes)
        are_turned = any(block.is_turned for block in self.blocks)
        if not are_turned and paired * self._numbers_a_tool() <= costs.sum():
            return clauses.best(queries, lambda clause, row: self._paired(vectors, clause, tools[row]))[0]
        order = np.argsort(queries, kind="stable") if (queries[1:] < queries[:-1]).any() else np.arange(len(queries))
        bounds, values = offsets_of(counts), np.empty(len(queries))
        of_asked = offsets_of(np.add.reduceat(costs, asked_clauses.starts[:-1])) if len(asked) else offsets_of([])
        for first, last in chunks(of_asked.astype(np.int64), NUMBERS_AT_ONCE):
            starts = asked_clauses.starts[first : last + 1]
            products = self._products(vectors.take(asked_clauses.codes[starts[0] : starts[-1]]))
            if len(products) > last - first:
                products = np.maximum.reduceat(products, starts[:-1] - starts[0], axis=0)
            rows = order[bounds[first] : bounds[last]]
            owner = np.arange(last - first).repeat(counts[first:last])
            values[rows] = products[owner, tools[rows]]
        return values

    def _costs(self, vectors: Vectors, codes: IntArray) -> FloatArray:
        """Return about how many numbers are touched when each of the vectors meets all tools."""
        costs = np.full(len(codes), float(len(self)))
        if not isinstance(vectors, Sparse):
            return costs * self._numbers_a_tool() / DENSE_SPEED
        taken = vectors.take(codes)
        lengths = taken.lengths
        for block in self.blocks:
            if block.entries is not None and lengths.any():
                met = block.entries[np.minimum(taken.columns, len(block.entries) - 1)]
                costs[lengths > 0] += np.add.reduceat(met, taken.starts[:-1][lengths > 0])
        return costs

    def _numbers_a_tool(self) -> float:
        """Return the mean number of numbers of a tool."""
        return sum(block.numbers for block in self.blocks) / max(len(self), 1)

    def _products(self, vectors: Vectors) -> FloatArray:
        """Return each of the vectors by each tool, (vectors, tools)."""
        products = [block.products(vectors) for block in self.blocks]
        return products[0] if len(products) == 1 else np.concatenate(products, axis=1)

    def _paired(self, vectors: Vectors, rows: IntArray, tools: IntArray) -> FloatArray:
        """Return the product of each of the rows of the vectors with the tool beside it."""
        if len(self.blocks) == 1:
            return vectors.dots(rows, self.blocks[0].vectors, tools)
        values, first = np.empty(len(rows)), 0
        for block in self.blocks:
            members = np.flatnonzero((tools >= first) & (tools < first + len(block)))
            values[members] = vectors.dots(rows[members], block.vectors, tools[members] - first)
            first += len(block)
        return values


def stacked_widened(parts: Sequence[Vectors]) -> Vectors:
    """Return the rows of all parts, sparse ones as wide as the widest."""
    sparse = [part for part in parts if isinstance(part, Sparse)]
    width = max((part.dimensions for part in sparse), default=0)
    widened = [replace(part, dimensions=width) if isinstance(part, Sparse) else part for part in parts]
    return Vectors.stacked(widened)


OWN_TEXT = 3.0  # how many answered queries the tool's own text counts for
MOST_NUMBERS = 1 << 26  # of all prototypes together: 128 MB in half precision


def count_answered(groups: Groups, context: Context) -> Part:
    """For each tool that was right how many queries it answered, and the sum of their vectors.

    A query is answered by its clause nearest to the tool's text; each trace and query counts once.
    """
    candidates, answers = groups.candidates, context.shared(right_answers, groups)
    if candidates.kind == "tool":
        names, text_vectors = candidates.name_texts, context.vectors[distinct_tools]
    else:
        names, text_vectors = context.shared(graph_tables, candidates).tools, context.vectors[graph_tables]
    clauses = context.shared(query_clauses, candidates).without_queries()
    clause_vectors = context.vectors[query_clauses]
    listed = clauses.of_query.take(answers.queries)
    nearest = listed.codes[listed.starts[:-1]]
    several = np.flatnonzero(listed.lengths > 1)
    texts = answers.texts[several]
    nearest[several] = clauses.best(
        answers.queries[several], lambda clause, answer: clause_vectors.dots(clause, text_vectors, texts[answer])
    )[1]
    return _answered_sums(answers, names, nearest, context)


def count_answered_whole(groups: Groups, context: Context) -> Part:
    """For each tool that was right how many queries it answered, and the sum of the vectors of whole queries."""
    candidates, answers = groups.candidates, context.shared(right_answers, groups)
    queries = context.shared(query_clauses, candidates).queries_alone().of_query.codes[answers.queries]
    return _answered_sums(answers, candidates.name_texts, queries, context)


def _answered_sums(answers: Answers, names: tuple[str, ...], texts: IntArray, context: Context) -> Part:
    """Return the sums of the vectors of the texts that each tool answered, one text an answer."""
    right, tools, support = np.unique(answers.tools, return_inverse=True, return_counts=True)
    sums = context.vectors[query_clauses].sums(tools, texts, np.ones(len(texts)), len(right))
    answering = names_table([names[tool] for tool in right.tolist()], support=support, vectors=sums)
    return {"tools": answering, "encoder": names_table([context.encoder.revision])}


@learns(
    Record(
        revision=Json(str),
        tools=TextTable("tools", support=Integers("tools")),
        lengths=Floats("tools"),
        directions=StoredVectors("tools"),
    )
)
def prototypes_state(part: Part) -> State:
    """Return the direction and the length of each tool's sum of vectors.

    They are stored in half precision, at most MOST_NUMBERS numbers: those of the tools that answered most.
    """
    tools = part["tools"]
    support, sums = tools.sums["support"], tools.sums["vectors"]
    least = 1 if support.max(initial=0) > 1 else 2  # where none answers twice, what others answered tells its label
    stored = np.flatnonzero(support >= least)
    vectors = sums.take(stored) if least > 1 else sums
    while vectors.numbers.size > MOST_NUMBERS:
        least += 1
        stored = np.flatnonzero(support >= least)
        vectors = sums.take(stored)
    return {
        "revision": encoder_revision(part),
        "tools": spelled_table(tools.facts["name"].take(stored), support=support[stored]),
        "lengths": np.sqrt(vectors.squares()).astype(np.float32),
        "directions": vectors.unit().arrays(),
    }


PROTOTYPES = Counted(count_answered, prototypes_state)
WHOLE_PROTOTYPES = Counted(count_answered_whole, prototypes_state)


def prototypes(
    state: State, names: tuple[str, ...], text_vectors: Vectors, tools: IntArray, context: Context, own: float
) -> Vectors:
    """Return the unit vector of each text of a tool: own * e(text) + the sum of what the tool answered.

    `tools` are the codes of the texts' tools into `names`.
    """
    refuse_other_revision(state, context)
    places, directions = context.of_state(stored_prototypes, state)
    stored = positions(places, names)[tools]
    answered = np.flatnonzero(stored >= 0)
    own_vectors = text_vectors.scaled(own)
    if not len(answered):
        return own_vectors.unit()
    owner = np.tile(np.arange(len(answered)), 2)
    rows = np.concatenate([np.arange(len(answered)), len(answered) + stored[answered]])
    weights = np.concatenate([np.full(len(answered), own), state["lengths"][stored[answered]].astype(float)])
    pulled = Vectors.stacked([text_vectors.take(answered), directions]).sums(owner, rows, weights, len(answered))
    order = np.arange(len(tools))
    order[answered] = len(tools) + np.arange(len(answered))
    return Vectors.stacked([own_vectors, pulled]).take(order).unit()


def stored_prototypes(state: State) -> tuple[dict[str, int], Vectors]:
    """Return the place of each tool in a state of prototypes_state, and the vectors there."""
    return listed_names(state["tools"]), Vectors.restored(state["directions"])


def clause_products(candidates: Candidates, context: Context) -> FloatArray:
    """Return the largest product of the query of each row, and of its clauses, with the vector prepared of its tool."""
    return _products(context.shared(query_clauses, candidates), candidates, context)


def query_products(candidates: Candidates, context: Context) -> FloatArray:
    """Return the product of the whole query of each row with the vector prepared of its tool."""
    return _products(context.shared(query_clauses, candidates).queries_alone(), candidates, context)


def _products(clauses: Clauses, candidates: Candidates, context: Context) -> FloatArray:
    vectors = context.vectors[query_clauses]
    return context.prepared(ToolVectors).best(clauses, vectors, row_queries(candidates), context.tools)


def tool_vectors(tools: ToolList, state: State, context: Context, *, own: Positive = OWN_TEXT) -> ToolVectors:
    """Return the prototype of each tool."""
    text_vectors = context.encoder.encode(plain_texts(tools), "document")
    codes = np.arange(len(tools.names))
    return ToolVectors.of(prototypes(state, tools.names, text_vectors, codes, context, own))


@feature(
    "tool.proto",
    "rel",
    fit=PROTOTYPES,
    prepare=tool_vectors,
    queries=query_clauses,
    documents=distinct_tools,
    title="query is like those it answered",
)
def tool_prototype(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """max over the query and its clauses c of cos(e(c), 3 e(text) + sum of e(clauses the tool answered)).

    3 is the option `own`; a tool that was never right has its text alone.
    """
    return clause_products(candidates, context)


@feature(
    "tool.query_proto",
    "rel",
    fit=WHOLE_PROTOTYPES,
    prepare=tool_vectors,
    queries=query_clauses,
    documents=distinct_tools,
    title="whole query is like those it answered",
)
def whole_query_prototype(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """cos(e(query), 3 e(text) + sum of e(queries the tool answered)): tool.proto without clauses.

    3 is the option `own`; a tool that was never right has its text alone.
    """
    return query_products(candidates, context)


def text_vectors(tools: ToolList, state: None, context: Context) -> ToolVectors:
    """Return the vector of the text of each tool."""
    return ToolVectors.of(context.encoder.encode(plain_texts(tools), "document"))


@feature(
    "tool.clause",
    "rel",
    prepare=text_vectors,
    queries=query_clauses,
    documents=distinct_tools,
    title="a part of the query is like its text",
)
def clause_relevance(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """max over the query and its clauses c of cos(e(c), e(text))."""
    return clause_products(candidates, context)


QUERIES_AT_ONCE = 256
DIGITS = 9  # of a cosine: kernels of other processors differ in the last ones


@dataclass(frozen=True, slots=True)
class NearestTools:
    """What is nearest follows from the query and the catalogue alone: no label, no other query."""

    names: tuple[str, ...]  # of the tools, in order, which breaks ties
    encoder: CachedEncoder
    vectors: Vectors  # of the tools' texts
    lexicon: Lexicon
    words: Sparse  # of the tools, weighted by how few of them have the word
    weights: FloatArray  # of the words

    @classmethod
    def of(cls, tools: ToolCatalogue, encoder: str) -> Self:
        """Return the catalogue as the encoder and the words see it; an encoder that counts does so in their texts."""
        names = tuple(sorted(tools))
        texts = [tool_text(name, *tools[name]) for name in names]
        cached, lexicon = CachedEncoder.fitted(encoder, texts), Lexicon()
        plain = lexicon.words([plain_tool_text(name, tools[name].description) for name in names])
        owners, codes, _ = plain.counted(len(lexicon))
        frequencies = np.bincount(codes, minlength=len(lexicon))
        weights = 1 + np.log((1 + len(names)) / (1 + frequencies))
        return cls(
            names, cached, cached.encode(texts, "document"), lexicon, _rows(owners, codes, weights, plain), weights
        )

    def ordered(self, queries: Sequence[str], count: int) -> Iterator[IntArray]:
        """Yield of each query the codes of the nearest tools: count // 2 by shared words, the others by the encoder.

        By words only tools count that share one; equal ones are taken by name.
        """
        for first in range(0, len(queries), QUERIES_AT_ONCE):
            block = queries[first : first + QUERIES_AT_ONCE]
            by_encoder = all_dots(self.encoder.encode(block, "query"), self.vectors).round(DIGITS)
            by_words = all_dots(self._words_of(block), self.words).round(DIGITS)
            for cosines, shared in zip(by_encoder, by_words, strict=True):
                in_words = np.argsort(-shared, kind="stable")[: count // 2]
                taken = in_words[shared[in_words] > 0]
                left = cosines.copy()
                left[taken] = -np.inf
                yield np.concatenate([taken, np.argsort(-left, kind="stable")[: count - len(taken)]])

    def _words_of(self, queries: Sequence[str]) -> Sparse:
        """Return the words of queries that some tool has."""
        read = self.lexicon.words(queries)
        owners, codes, _ = read.counted(len(self.lexicon))
        is_known = codes < len(self.weights)
        return _rows(owners[is_known], codes[is_known], self.weights, read)


def _rows(owners: IntArray, codes: IntArray, weights: FloatArray, read: Ragged) -> Sparse:
    """Return rows of length 1 from the words that each text has."""
    return Sparse.of(owners, codes, weights[codes], (len(read.lengths), len(weights))).unit()
