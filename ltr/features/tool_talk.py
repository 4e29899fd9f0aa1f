"""How people talk about tools: which words of queries go with which words of the texts of the tools that answer."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, Ragged, State
from ltr.data.groups import Candidates, Groups
from ltr.encoders.sparse import Sparse
from ltr.features.matrices import product, transposed
from ltr.features.registry import Context, ToolList, feature
from ltr.features.rows import row_queries
from ltr.features.tables import place_of, table_texts, text_table
from ltr.features.tool_texts import distinct_tools, right_answers
from ltr.features.tool_vectors import Postings, ToolVectors
from ltr.features.words import Lexicon, sparse_rows
from ltr.files.state_types import Floats, Integers, Record, TextTable, learns

LEAST = 2  # answers in which two words must meet: to meet once says nothing
MOST_PAIRS = 1 << 20  # of words in a state
NUMBERS = 1 << 20  # words of tools that queries reach, at once


@learns(
    Record(
        asked=TextTable("query words"),
        said=TextTable("tool words"),
        pairs=Record(
            said=Integers("pairs", below="tool words", rising=True), asked=Integers("pairs", below="query words")
        ),
        gains=Floats("pairs", signed=True),
    )
)
def fit_talk(groups: Groups, context: Context) -> State:
    """How much more often a word of queries meets a word of right tools' texts than chance has it.

    Pairs that meet in fewer than LEAST answers are left out; with more than MOST_PAIRS, the rarer ones.
    """
    candidates, lexicon, answers = groups.candidates, context.lexicon, context.shared(right_answers, groups)
    queries = _distinct_words(lexicon, candidates.query_texts).take(answers.queries)
    texts = _distinct_words(lexicon, context.shared(distinct_tools, candidates).texts)
    query_words, query_codes = np.unique(queries.codes, return_inverse=True)
    tool_words, text_codes = np.unique(texts.codes, return_inverse=True)
    queries, texts = Ragged(queries.starts, query_codes), Ragged(texts.starts, text_codes)
    met = _meetings(queries, texts, answers.texts, len(query_words), len(tool_words))
    rows = np.repeat(np.arange(len(tool_words)), np.diff(met.starts))
    query_times = np.bincount(queries.codes, minlength=len(query_words))
    tool_times = np.bincount(texts.take(answers.texts).codes, minlength=len(tool_words))
    expected = query_times[met.columns] * tool_times[rows] / max(len(answers.queries), 1)
    least = LEAST
    while int((met.numbers >= least).sum()) > MOST_PAIRS:
        least += 1
    stored = np.flatnonzero(met.numbers >= least)
    return {
        "asked": text_table(lexicon.spellings(query_words)),
        "said": text_table(lexicon.spellings(tool_words)),
        "pairs": {"said": rows[stored].astype(np.int32), "asked": met.columns[stored].astype(np.int32)},
        "gains": np.log((met.numbers + 1) / (expected + 1))[stored].astype(np.float32),
    }


def _distinct_words(lexicon: Lexicon, texts: tuple[str, ...]) -> Ragged:
    """The distinct words of each text."""
    owners, codes, _ = lexicon.words(texts).counted(len(lexicon))
    return Ragged(np.searchsorted(owners, np.arange(len(texts) + 1)), codes)


def _meetings(queries: Ragged, texts: Ragged, answering: IntArray, query_words: int, tool_words: int) -> Sparse:
    """In how many answers a word of a tool's text meets a word of the query, (tool words, query words).

    `answering` is the text of the tool that answered each of the queries.
    """
    width, text_of_word = max(query_words, 1), np.repeat(answering, queries.lengths)
    keys, times = np.unique(text_of_word * width + queries.codes, return_counts=True)
    count = len(texts.lengths)
    answered = sparse_rows(keys // width, keys % width, times.astype(float), (count, query_words))
    has_word = Sparse(texts.starts, texts.codes, np.ones(len(texts.codes)), tool_words)
    return product(transposed(has_word), answered)


@dataclass(frozen=True, slots=True)
class Talk:
    """A state of fit_talk, ready to be looked up."""

    asked: dict[str, int]  # the place of each word
    said: dict[str, int]
    gains: Postings  # (words of tools, words of queries)

    @classmethod
    def of(cls, state: State) -> "Talk":
        """That of the state."""
        asked, said = (place_of(table_texts(state[side])) for side in ("asked", "said"))
        pairs, shape = state["pairs"], (max(len(said), 1), len(asked))
        rows = sparse_rows(pairs["said"], pairs["asked"].astype(np.int64), state["gains"].astype(float), shape)
        return cls(asked, said, Postings.of(rows))


@dataclass(frozen=True, slots=True)
class TalkTable:
    """What is known of how people talk, and the words of each tool."""

    talk: Talk
    words: ToolVectors

    def extended(self, more: "TalkTable") -> "TalkTable":
        """These tools, then those that came later."""
        return TalkTable(self.talk, self.words.extended(more.words))


def tool_words(tools: ToolList, state: State, context: Context) -> TalkTable:
    """The words of the text of each tool that stand in the state."""
    talk = context.of_state(Talk.of, state)
    return TalkTable(talk, ToolVectors.of(_weighted(context.lexicon, tools.plain_texts, talk.said)))


@feature("tool.talk", "hist", fit=fit_talk, prepare=tool_words, title="words that go with those of its text")
def talk(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Sum over words w of the query and v of the tool's text of ln((c_wv + 1) / (c_w c_v / N + 1)) / sqrt(|q| |t|).

    Of N answers to training queries c_w have w in the query, c_v have v in the right tool's text, c_wv both; a pair
    with c_wv < 2 counts 0, words are distinct. So a tool that was never right is known by its words.
    """
    table, queries = context.prepared(TalkTable), row_queries(candidates)
    asked = _weighted(context.lexicon, candidates.query_texts, table.talk.asked)
    by_query = np.argsort(queries, kind="stable")
    at_once = max(NUMBERS // table.talk.gains.count, 1)
    bounds = np.searchsorted(queries[by_query], np.arange(0, len(asked) + at_once, at_once))
    values = np.empty(len(queries))
    for part, first in enumerate(range(0, len(asked), at_once)):
        rows = by_query[bounds[part] : bounds[part + 1]]
        gains = table.talk.gains.products(asked.take(np.arange(first, min(first + at_once, len(asked)))))
        reached = Sparse.of(gains)
        values[rows] = table.words.products(reached, queries[rows] - first, context.tools[rows])
    return values


def _weighted(lexicon: Lexicon, texts: tuple[str, ...], vocabulary: dict[str, int]) -> Sparse:
    """Of each text of n distinct words those of the vocabulary, by their places there, each 1 / sqrt(n)."""
    words = _distinct_words(lexicon, texts)
    columns, owners = lexicon.places(words.codes, vocabulary), words.owners
    is_listed = columns >= 0
    keys = np.sort(owners[is_listed] * max(len(vocabulary), 1) + columns[is_listed])
    owners, columns = np.divmod(keys, max(len(vocabulary), 1))
    return sparse_rows(owners, columns, 1 / np.sqrt(words.lengths[owners]), (len(texts), len(vocabulary)))
