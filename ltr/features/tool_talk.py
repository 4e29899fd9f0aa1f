"""How people talk about tools: which words of queries go with which words of the texts of the tools that answer."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, State
from ltr.data.groups import Candidates, Groups
from ltr.encoders.sparse import Sparse
from ltr.features.matrices import product, transposed
from ltr.features.registry import Context, feature
from ltr.features.tables import table, table_texts
from ltr.features.tool_texts import Answers, row_queries, tools_in
from ltr.features.words import Lexicon, Ragged, sparse

LEAST = 2  # answers in which two words must meet: to meet once says nothing
MOST_PAIRS = 1 << 20  # of words: what is kept
TOOLS = 1 << 10  # whose words are added up at once


def fit_talk(groups: Groups, context: Context) -> State:
    """How much more often a word of queries meets a word of right tools' texts than chance has it.

    Pairs that meet in fewer than LEAST answers are left out; with more than MOST_PAIRS, the rarer ones.
    """
    candidates, lexicon, answers = groups.candidates, context.lexicon, Answers.of(groups, context)
    asked, of_queries = _compact(_distinct(lexicon, candidates.query_texts).take(answers.queries))
    said, of_voices = _compact(_distinct(lexicon, tools_in(candidates, context).texts))
    met = _meetings(of_queries, of_voices, answers.voices, len(asked), len(said))
    words, tool_words = met.columns, np.repeat(np.arange(len(said)), np.diff(met.starts))
    asked_times = np.bincount(of_queries.codes, minlength=len(asked))
    said_times = np.bincount(of_voices.take(answers.voices).codes, minlength=len(said))
    expected = asked_times[words] * said_times[tool_words] / max(len(answers.queries), 1)
    least = LEAST
    while int((met.numbers >= least).sum()) > MOST_PAIRS:
        least += 1
    kept = np.flatnonzero(met.numbers >= least)
    return {
        "asked": table(lexicon.spellings(asked)),
        "said": table(lexicon.spellings(said)),
        "pairs": {"said": tool_words[kept].astype(np.int32), "asked": words[kept].astype(np.int32)},
        "gains": np.log((met.numbers + 1) / (expected + 1))[kept].astype(np.float32),
    }


def _distinct(lexicon: Lexicon, texts: tuple[str, ...]) -> Ragged:
    """The distinct words of each text."""
    owner, codes, _ = lexicon.words(texts).counted(len(lexicon))
    return Ragged(np.searchsorted(owner, np.arange(len(texts) + 1)), codes)


def _compact(texts: Ragged) -> tuple[IntArray, Ragged]:
    """The codes that occur, and the texts by their places among them."""
    codes, found = np.unique(texts.codes, return_inverse=True)
    return codes, Ragged(texts.starts, found)


def _meetings(queries: Ragged, voices: Ragged, answered: IntArray, asked: int, said: int) -> Sparse:
    """Of each word of voices the words of the queries they answered, and in how many answers: (said, asked)."""
    owner = np.repeat(answered, queries.lengths)
    keys, times = np.unique(owner * max(asked, 1) + queries.codes, return_counts=True)
    count = len(voices.lengths)
    heard = sparse(keys // max(asked, 1), keys % max(asked, 1), times.astype(float), (count, asked))
    speaks = Sparse(voices.starts, voices.codes, np.ones(len(voices.codes)), said)
    return product(transposed(speaks), heard)


@feature("tool.talk", "hist", fit=fit_talk, title="words that go with those of its text")
def talk(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Sum over words w of the query and v of the tool's text of ln((c_wv + 1) / (c_w c_v / N + 1)) / sqrt(|q| |t|).

    Of N answers to training queries c_w have w in the query, c_v have v in the right tool's text, c_wv both; a pair
    with c_wv < 2 counts 0, words are distinct. So a tool that was never right is known by its words.
    """
    kept, lexicon, tools = state, context.lexicon, tools_in(candidates, context)
    queries, voices = _distinct(lexicon, candidates.query_texts), _distinct(lexicon, tools.texts)
    asked, said = (lexicon.codes(table_texts(kept[side])) for side in ("asked", "said"))
    pairs, gains = kept["pairs"], kept["gains"].astype(float)
    meetings = sparse(pairs["said"], pairs["asked"].astype(np.int64), gains, (max(len(said), 1), len(asked)))
    of_queries = _shared(queries, asked, len(lexicon))
    values, rows = np.zeros(len(candidates.names)), row_queries(candidates)
    for first in range(0, len(tools.texts), TOOLS):
        part = np.flatnonzero((tools.codes >= first) & (tools.codes < first + TOOLS))
        own = _shared(voices.take(np.arange(first, min(first + TOOLS, len(tools.texts)))), said, len(lexicon))
        profiles = product(own, meetings)
        values[part] = profiles.dots(tools.codes[part] - first, of_queries, rows[part])
    return values


def _shared(texts: Ragged, known: IntArray, vocabulary: int) -> Sparse:
    """Of each text of n distinct words those that are known, by their places, each 1 / sqrt(n)."""
    place = np.full(vocabulary, -1)
    place[known] = np.arange(len(known))
    found, owner = place[texts.codes], np.repeat(np.arange(len(texts.lengths)), texts.lengths)
    numbers = 1 / np.sqrt(texts.lengths[owner])
    return sparse(owner[found >= 0], found[found >= 0], numbers[found >= 0], (len(texts.lengths), len(known)))
