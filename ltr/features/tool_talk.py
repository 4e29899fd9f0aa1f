"""How people talk about tools: which words of queries go with which words of the texts of the tools that answer."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, Ragged, State
from ltr.data.groups import Candidates, Groups
from ltr.encoders.sparse import Sparse
from ltr.features.matrices import product, transposed
from ltr.features.registry import Context, feature
from ltr.features.rows import row_queries
from ltr.features.tables import table_texts, text_table
from ltr.features.tool_texts import distinct_tools, right_answers
from ltr.features.words import Lexicon, sparse_rows
from ltr.files.state_types import Floats, Integers, Record, TextTable, learns

LEAST = 2  # answers in which two words must meet: to meet once says nothing
MOST_PAIRS = 1 << 20  # of words in a state
TOOLS = 1 << 10  # whose words are added up at once


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


@feature("tool.talk", "hist", fit=fit_talk, title="words that go with those of its text")
def talk(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Sum over words w of the query and v of the tool's text of ln((c_wv + 1) / (c_w c_v / N + 1)) / sqrt(|q| |t|).

    Of N answers to training queries c_w have w in the query, c_v have v in the right tool's text, c_wv both; a pair
    with c_wv < 2 counts 0, words are distinct. So a tool that was never right is known by its words.
    """
    lexicon, tools = context.lexicon, context.shared(distinct_tools, candidates)
    queries, texts = _distinct_words(lexicon, candidates.query_texts), _distinct_words(lexicon, tools.texts)
    query_words, tool_words = (lexicon.codes(table_texts(state[side])) for side in ("asked", "said"))
    pairs, shape = state["pairs"], (max(len(tool_words), 1), len(query_words))
    gains = sparse_rows(pairs["said"], pairs["asked"].astype(np.int64), state["gains"].astype(float), shape)
    query_rows = _weighted(queries, query_words, len(lexicon))
    values, rows = np.zeros(len(candidates.names)), row_queries(candidates)
    for first in range(0, len(tools.texts), TOOLS):
        part = np.flatnonzero((tools.codes >= first) & (tools.codes < first + TOOLS))
        block = texts.take(np.arange(first, min(first + TOOLS, len(tools.texts))))
        profiles = product(_weighted(block, tool_words, len(lexicon)), gains)
        values[part] = profiles.dots(tools.codes[part] - first, query_rows, rows[part])
    return values


def _weighted(texts: Ragged, words: IntArray, vocabulary: int) -> Sparse:
    """Of each text of n distinct words those among `words`, by their places there, each 1 / sqrt(n)."""
    place = np.full(vocabulary, -1)
    place[words] = np.arange(len(words))
    columns, owners = place[texts.codes], texts.owners
    numbers = 1 / np.sqrt(texts.lengths[owners])
    is_listed = columns >= 0
    return sparse_rows(owners[is_listed], columns[is_listed], numbers[is_listed], (len(texts.lengths), len(words)))
