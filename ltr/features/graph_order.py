"""Whether a graph does first what its query asks first."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, code_sums
from ltr.data.columns import Codes
from ltr.data.groups import Candidates
from ltr.features.graph_teams import means
from ltr.features.registry import Context, feature
from ltr.features.tool_texts import row_queries, teams_in
from ltr.features.words import TOKEN, Ragged

SHARPNESS = 12.0


@feature("graph.order", "coop", title="goes in the order of the query")
def order(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """Mean over the edges a -> b of place(b) - place(a): does the graph go the way the query goes? No edges: 0.

    place = mean position of the query's words, from 0 to 1, each weighted by exp(12 cos(e(word), e(node))). The
    words are read one by one by the run's own encoder.
    """
    teams, graphs = teams_in(candidates, context), candidates.graphs
    links = teams.links.take(graphs)
    ends = teams.link_voices[Ragged(teams.links.starts, np.arange(len(teams.link_voices))).take(graphs).codes]
    count = max(len(teams.voices), 1)
    distinct, pair = np.unique(
        np.repeat(row_queries(candidates), links.lengths)[:, None] * count + ends, return_inverse=True
    )
    queries, voices = np.divmod(distinct, count)
    place = _places(Spelled.of(candidates.query_texts), queries, teams.voices, voices, context)
    source, target = place[pair.reshape(-1, 2)].T
    return means(links, target - source)


@dataclass(frozen=True, slots=True)
class Spelled:
    """The words of each query as they are spelled, lower-cased; each distinct one once."""

    texts: tuple[str, ...]
    words: Ragged

    @classmethod
    def of(cls, queries: tuple[str, ...]) -> "Spelled":
        """The words of some queries."""
        codes = Codes()
        each = [[codes[token] for token in TOKEN.findall(query.lower())] for query in queries]
        starts = np.cumsum([0, *map(len, each)])
        return cls(tuple(codes), Ragged(starts, np.array([code for own in each for code in own], dtype=np.int64)))


def _places(
    asked: Spelled, queries: IntArray, voices: tuple[str, ...], codes: IntArray, context: Context
) -> FloatArray:
    """Where in its query each voice is spoken of; 1/2 where the query has no words."""
    words = asked.words.take(queries)
    owner = np.repeat(np.arange(len(queries)), words.lengths)
    pairs, pair = np.unique(words.codes * max(len(voices), 1) + codes[owner], return_inverse=True)
    spoken, said = context.encoder.encode(asked.texts, "query"), context.encoder.encode(voices, "document")
    cosines = spoken.dots(pairs // max(len(voices), 1), said, pairs % max(len(voices), 1))
    sharp = np.exp(SHARPNESS * cosines)[pair]
    position = (np.arange(len(owner)) - words.starts[owner] + 0.5) / np.maximum(words.lengths, 1)[owner]
    totals = code_sums(owner, sharp, len(queries))
    return np.where(totals > 0, code_sums(owner, sharp * position, len(queries)) / np.maximum(totals, 1e-300), 0.5)
