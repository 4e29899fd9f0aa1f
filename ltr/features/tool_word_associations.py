"""How people talk about tools: which words of queries go with which words of the texts of the tools that answer."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, Ragged, State, code_sums, most_frequent, used
from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import ToolList
from ltr.data.groups import Groups
from ltr.encoders.inverted_index import Postings
from ltr.encoders.sparse_vectors import Sparse, sparse_rows
from ltr.features.feature_context import Context
from ltr.features.lexicon import Lexicon
from ltr.features.linear_algebra import product
from ltr.features.plain_tool_text import distinct_tools, plain_texts
from ltr.features.registry import feature
from ltr.features.right_answers import right_answers
from ltr.features.row_queries import row_queries
from ltr.features.state_learners import Counted
from ltr.features.text_tables import place_of, spelled_table, table_texts
from ltr.features.tool_vector_products import ToolVectors
from ltr.files.learned_state_types import Floats, Integers, Record, TextTable, learns
from ltr.files.mergeable_tables import Part, table
from ltr.files.table_keys import digests, halves, pairs, places

LEAST = 2  # answers in which two words must meet: to meet once says nothing
MOST_PAIRS = 1 << 20  # of words in a state
NUMBERS = 1 << 20  # words of tools that queries reach, at once


def count_talk(groups: Groups, context: Context) -> Part:
    """How often each word stands in the queries that the tool of a text answered; and the words of these texts."""
    candidates, lexicon, answers = groups.candidates, context.lexicon, context.shared(right_answers, groups)
    answering, text_of, answered = np.unique(answers.texts, return_inverse=True, return_counts=True)
    tool_texts = context.shared(distinct_tools, candidates).texts
    texts = [tool_texts[text] for text in answering.tolist()]
    asked = lexicon.distinct_words(candidates.query_texts).take(answers.queries)
    said_words = np.unique(lexicon.words(texts).codes)
    vocabulary = max(len(lexicon), 1)
    met, times = np.unique(np.repeat(text_of, asked.lengths) * vocabulary + asked.codes, return_counts=True)
    keys, (met_texts, met_words) = digests(texts), np.divmod(met, vocabulary)
    return {
        "texts": table(keys, {"answers": answered}, facts={"words": lexicon.distinct_keys(texts)}),
        "words": lexicon.table(np.concatenate([said_words, met_words])),
        "pairs": table(pairs(keys[met_texts], lexicon.keys(met_words)), {"times": times}),
    }


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
def talk_state(part: Part) -> State:
    """How much more often a word of queries meets a word of right tools' texts than chance has it.

    Pairs that meet in fewer than LEAST answers are left out; with more than MOST_PAIRS, the rarer ones.
    """
    texts, words, times = part["texts"], part["words"], part["pairs"].sums["times"].astype(float)
    pair_texts, pair_words = halves(part["pairs"].keys)
    text_of, text_words = places(texts.keys, pair_texts), texts.facts["words"]
    asked, said_codes = np.split(places(words.keys, np.concatenate([pair_words, text_words.codes])), [len(pair_words)])
    said = Ragged(text_words.starts, said_codes)
    shape, answers = (len(texts), len(words)), texts.sums["answers"]
    by_word = np.argsort(said.codes, kind="stable")
    ones = np.ones(len(by_word))
    texts_of_words = sparse_rows(said.codes[by_word], said.owners[by_word], ones, (len(words), len(texts)))
    met = product(texts_of_words, sparse_rows(text_of, asked, times, shape), least=LEAST)  # (of texts, queries)
    rows = met.owners
    asked_times = code_sums(asked, times, len(met))
    said_times = code_sums(said.codes, answers[said.owners].astype(float), len(met))
    stored = most_frequent(met.numbers.astype(np.int64), MOST_PAIRS)
    expected = asked_times[met.columns[stored]] * said_times[rows[stored]] / max(int(answers.sum()), 1)
    said_words, said_places = used(rows[stored], len(words))
    asked_words, asked_places = used(met.columns[stored], len(words))
    return {
        "asked": spelled_table(words.facts["word"].take(asked_words)),
        "said": spelled_table(words.facts["word"].take(said_words)),
        "pairs": {"said": said_places.astype(np.int32), "asked": asked_places.astype(np.int32)},
        "gains": np.log((met.numbers[stored] + 1) / (expected + 1)).astype(np.float32),
    }


@dataclass(frozen=True, slots=True)
class Talk:
    """A state of talk_state, ready to be looked up."""

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
    return TalkTable(talk, ToolVectors.of(_weighted(context.lexicon, plain_texts(tools), talk.said)))


@feature(
    "tool.talk",
    "hist",
    fit=Counted(count_talk, talk_state),
    prepare=tool_words,
    title="words that go with those of its text",
)
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
    words = lexicon.distinct_words(texts)
    columns, owners = lexicon.places(words.codes, vocabulary), words.owners
    is_listed = columns >= 0
    keys = np.sort(owners[is_listed] * max(len(vocabulary), 1) + columns[is_listed])
    owners, columns = np.divmod(keys, max(len(vocabulary), 1))
    return sparse_rows(owners, columns, 1 / np.sqrt(words.lengths[owners]), (len(texts), len(vocabulary)))
