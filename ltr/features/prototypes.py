"""Prototypes: the vector of a tool's text, pulled towards the queries that the tool answered."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr.arrays import FloatArray, IntArray, code_sums
from ltr.columns import Codes
from ltr.encoders import Vectors, stacked, vectors_from
from ltr.errors import DataError
from ltr.features.registry import Context, State, feature
from ltr.features.spoken import Answers, places, row_queries, table, table_texts, teams_in, tools_in
from ltr.features.words import Ragged
from ltr.groups import Candidates, Groups

OWN_TEXT = 3.0  # how many answered queries the tool's own text counts for
MOST_NUMBERS = 1 << 26  # of all prototypes together: 128 MB in half precision


@dataclass(frozen=True, slots=True)
class Asked:
    """What each query asks: itself, and its clauses where it has several."""

    parts: Ragged  # of each query the rows of `vectors`; the query itself comes first
    vectors: Vectors

    @classmethod
    def of(cls, candidates: Candidates, context: Context) -> "Asked":
        """The parts of the candidates' queries, each distinct text encoded once."""
        texts = Codes()
        codes: list[int] = []
        lengths = []
        for query in candidates.query_texts:
            clauses = context.lexicon.clauses(query)
            parts = [query, *clauses] if len(clauses) > 1 else [query]
            codes += [texts[part] for part in parts]
            lengths.append(len(parts))
        starts = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        return cls(Ragged(starts, np.array(codes, dtype=np.int64)), context.encoder.encode(list(texts), "query"))

    def best(self, queries: IntArray, others: Vectors, other_rows: IntArray) -> tuple[FloatArray, IntArray]:
        """Of each pair of a query and a row of others the largest product over the query's parts, and its part."""
        parts = self.parts.take(queries)
        if not len(queries):
            return np.empty(0), parts.codes
        found = self.vectors.dots(parts.codes, others, np.repeat(other_rows, parts.lengths))
        starts = parts.starts[:-1]
        largest = np.maximum.reduceat(found, starts)
        is_largest = found == np.repeat(largest, parts.lengths)
        first = np.minimum.reduceat(np.where(is_largest, np.arange(len(found)), len(found)), starts)
        return largest, parts.codes[first]

    def clauses_only(self) -> "Asked":
        """The same without the query itself, where it has clauses."""
        lengths = self.parts.lengths
        keep = np.ones(len(self.parts.codes), dtype=bool)
        keep[self.parts.starts[:-1][lengths > 1]] = False
        starts = np.concatenate(([0], np.cumsum(np.where(lengths > 1, lengths - 1, lengths))))
        return Asked(Ragged(starts, self.parts.codes[keep]), self.vectors)


def asked_in(candidates: Candidates, context: Context) -> Asked:
    """The parts of the candidates' queries, found once for all features."""
    return context.shared("asked", candidates, lambda: Asked.of(candidates, context))


def fit_prototypes(groups: Groups, context: Context) -> dict[str, Any]:
    """Of each tool that was right the sum of the vectors of what it answered: its direction and its length.

    A query is answered by its clause nearest to the tool's text; each trace and query counts once. The sums are kept
    in half precision, at most MOST_NUMBERS numbers: those of the tools that answered most.
    """
    names, voices = _tool_texts(groups.candidates, context)
    answers = Answers.of(groups, context)
    said = context.encoder.encode(voices, "document")
    asked = asked_in(groups.candidates, context)
    _, nearest = asked.clauses_only().best(answers.queries, said, answers.voices)
    support = np.bincount(answers.tools, minlength=len(names))
    sums = asked.vectors.sums(answers.tools, nearest, np.ones(len(nearest)), len(names))
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
    state: dict[str, Any],
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


def refuse_other_revision(state: dict[str, Any], context: Context) -> None:
    """Raise unless the state's vectors are of the encoder at hand."""
    if state["revision"] != context.encoder.revision:
        found = f"{context.encoder.name} at revision {context.encoder.revision}"
        raise DataError(f"what was learned belongs to another encoder, revision {state['revision']}, not to {found}")


@feature("tool.proto", "rel", fit=fit_prototypes)
def tool_prototype(candidates: Candidates, state: State, context: Context, *, own: float = OWN_TEXT) -> FloatArray:
    """max over the query and its clauses c of cos(e(c), 3 e(text) + sum of e(clauses the tool answered)).

    3 is the option `own`; a tool that was never right has its text alone.
    """
    tools = tools_in(candidates, context)
    vectors = prototypes(state or {}, candidates.name_texts, tools.texts, tools.names, context, own)
    return asked_in(candidates, context).best(row_queries(candidates), vectors, tools.codes)[0]


@feature("tool.clause", "rel")
def clause_relevance(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """max over the query and its clauses c of cos(e(c), e(text))."""
    tools = tools_in(candidates, context)
    said = context.encoder.encode(tools.texts, "document")
    return asked_in(candidates, context).best(row_queries(candidates), said, tools.codes)[0]


@feature("graph.proto", "rel", fit=fit_prototypes)
def team_prototype(candidates: Candidates, state: State, context: Context, *, own: float = OWN_TEXT) -> FloatArray:
    """Mean over the nodes of tool.proto, where a tool answered the queries whose right graph has it; no nodes: 0."""
    teams = teams_in(candidates, context)
    vectors = prototypes(state or {}, teams.tools, teams.voices, teams.voice_tools, context, own)
    nodes = teams.nodes.take(candidates.graphs)
    pairs = np.repeat(row_queries(candidates), nodes.lengths) * max(len(teams.voices), 1) + nodes.codes
    distinct, pair = np.unique(pairs, return_inverse=True)
    queries, voices = np.divmod(distinct, max(len(teams.voices), 1))
    values = asked_in(candidates, context).best(queries, vectors, voices)[0]
    owner = np.repeat(np.arange(len(candidates.graphs)), nodes.lengths)
    return code_sums(owner, values[pair], len(candidates.graphs)) / np.maximum(nodes.lengths, 1)
