"""Prototypes: the vector of a tool's text, pulled towards the queries that the tool answered."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, State, code_sums
from ltr.data.groups import Candidates, Groups
from ltr.encoders.vectors import Vectors, stacked, vectors_from
from ltr.errors import DataError
from ltr.features.registry import Context, Positive, feature
from ltr.features.tables import places, table, table_texts
from ltr.features.tool_texts import Answers, parts_in, row_queries, teams_in, tools_in

OWN_TEXT = 3.0  # how many answered queries the tool's own text counts for
MOST_NUMBERS = 1 << 26  # of all prototypes together: 128 MB in half precision


def best_cosines(
    candidates: Candidates, queries: IntArray, others: Vectors, rows: IntArray, context: Context
) -> FloatArray:
    """Of each pair of a query and a row of others the largest product over the query and its clauses."""
    parts = parts_in(candidates, context)
    asked = context.encoder.encode(parts.texts, "query")
    return parts.best(queries, lambda part, pair: asked.dots(part, others, rows[pair]))[0]


def fit_prototypes(groups: Groups, context: Context) -> State:
    """Of each tool that was right the sum of the vectors of what it answered: its direction and its length.

    A query is answered by its clause nearest to the tool's text; each trace and query counts once. The sums are kept
    in half precision, at most MOST_NUMBERS numbers: those of the tools that answered most.
    """
    names, voices = _tool_texts(groups.candidates, context)
    answers = Answers.of(groups, context)
    said = context.encoder.encode(voices, "document")
    parts = parts_in(groups.candidates, context)
    asked = context.encoder.encode(parts.texts, "query")
    _, nearest = parts.clauses_only().best(
        answers.queries, lambda part, pair: asked.dots(part, said, answers.voices[pair])
    )
    support = np.bincount(answers.tools, minlength=len(names))
    sums = asked.sums(answers.tools, nearest, np.ones(len(nearest)), len(names))
    kept = _bounded(sums, support)
    rows = np.arange(len(kept))
    taken = sums.take(kept)
    return {
        "revision": context.encoder.revision,
        "tools": table([names[tool] for tool in kept.tolist()], support=support[kept]),
        "lengths": np.sqrt(taken.dots(rows, taken, rows)).astype(np.float32),
        "directions": taken.unit().arrays(),
    }


def _tool_texts(candidates: Candidates, context: Context) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of tools, and what they say of themselves."""
    if candidates.kind == "tool":
        return candidates.name_texts, tools_in(candidates, context).texts
    teams = teams_in(candidates, context)
    return teams.tools, teams.voices


def _bounded(sums: Vectors, support: IntArray) -> IntArray:
    """The tools that were right; with too many numbers, those that were right most often."""
    least = 1
    while True:
        kept = np.flatnonzero(support >= least)
        numbers = sums.take(kept).arrays()["numbers"].size if len(kept) else 0
        if numbers <= MOST_NUMBERS:
            return kept
        least += 1


def prototypes(
    state: State,
    names: tuple[str, ...],
    voices: tuple[str, ...],
    tools: IntArray,
    context: Context,
    own: float,
) -> Vectors:
    """The unit vector of each voice of a tool: own * e(its text) + the sum of what the tool answered."""
    refuse_other_revision(state, context)
    said = context.encoder.encode(voices, "document")
    known = places(table_texts(state["tools"]), names)[tools]
    has = np.flatnonzero(known >= 0)
    owner, rows = np.arange(len(voices)), np.arange(len(voices))
    weights = np.full(len(voices), own)
    if not len(has):
        return said
    both = stacked([said, vectors_from(state["directions"])])
    owner = np.concatenate([owner, has])
    rows = np.concatenate([rows, len(voices) + known[has]])
    weights = np.concatenate([weights, state["lengths"][known[has]].astype(float)])
    return both.sums(owner, rows, weights, len(voices)).unit()


def refuse_other_revision(state: State, context: Context) -> None:
    """Raise unless the state's vectors are of the encoder at hand."""
    if state["revision"] != context.encoder.revision:
        found = f"{context.encoder.name} at revision {context.encoder.revision}"
        raise DataError(f"what was learned belongs to another encoder, revision {state['revision']}, not to {found}")


@feature("tool.proto", "rel", fit=fit_prototypes, title="query is like those it answered")
def tool_prototype(candidates: Candidates, state: State, context: Context, *, own: Positive = OWN_TEXT) -> FloatArray:
    """max over the query and its clauses c of cos(e(c), 3 e(text) + sum of e(clauses the tool answered)).

    3 is the option `own`; a tool that was never right has its text alone.
    """
    tools = tools_in(candidates, context)
    vectors = prototypes(state, candidates.name_texts, tools.texts, tools.names, context, own)
    return best_cosines(candidates, row_queries(candidates), vectors, tools.codes, context)


@feature("tool.clause", "rel", title="a part of the query is like its text")
def clause_relevance(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """max over the query and its clauses c of cos(e(c), e(text))."""
    tools = tools_in(candidates, context)
    said = context.encoder.encode(tools.texts, "document")
    return best_cosines(candidates, row_queries(candidates), said, tools.codes, context)


@feature("graph.proto", "rel", fit=fit_prototypes, title="query is like those its nodes answered")
def team_prototype(candidates: Candidates, state: State, context: Context, *, own: Positive = OWN_TEXT) -> FloatArray:
    """Mean over the nodes of tool.proto, where a tool answered the queries whose right graph has it; no nodes: 0."""
    teams = teams_in(candidates, context)
    vectors = prototypes(state, teams.tools, teams.voices, teams.voice_tools, context, own)
    nodes = teams.nodes.take(candidates.graphs)
    pairs = np.repeat(row_queries(candidates), nodes.lengths) * max(len(teams.voices), 1) + nodes.codes
    distinct, pair = np.unique(pairs, return_inverse=True)
    queries, voices = np.divmod(distinct, max(len(teams.voices), 1))
    values = best_cosines(candidates, queries, vectors, voices, context)
    owner = np.repeat(np.arange(len(candidates.graphs)), nodes.lengths)
    return code_sums(owner, values[pair], len(candidates.graphs)) / np.maximum(nodes.lengths, 1)


@feature("graph.clauses", "struct", fit=fit_prototypes, title="each part of the query has its node")
def served_clauses(candidates: Candidates, state: State, context: Context, *, own: Positive = OWN_TEXT) -> FloatArray:
    """Mean over the query's clauses of the largest tool.proto cosine of a node, at least 0: is each clause served?

    No nodes: 0.
    """
    teams, parts = teams_in(candidates, context), parts_in(candidates, context).clauses_only()
    vectors = prototypes(state, teams.tools, teams.voices, teams.voice_tools, context, own)
    clauses = parts.of_query.take(row_queries(candidates))
    rows = np.repeat(np.arange(len(candidates.graphs)), clauses.lengths)
    nodes = teams.nodes.take(candidates.graphs[rows])  # of each clause those of its row
    owner, count = np.repeat(np.arange(len(rows)), nodes.lengths), max(len(teams.voices), 1)
    pairs, pair = np.unique(clauses.codes[owner] * count + nodes.codes, return_inverse=True)
    asked = context.encoder.encode(parts.texts, "query")
    found = asked.dots(pairs // count, vectors, pairs % count)[pair]
    largest = np.zeros(len(rows))
    np.maximum.at(largest, owner, found)
    return code_sums(rows, largest, len(candidates.graphs)) / np.maximum(clauses.lengths, 1)
