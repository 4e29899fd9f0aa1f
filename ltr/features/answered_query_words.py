"""The words of the queries that a tool answered."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, Ragged, State, code_sums, most_frequent, used
from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import ToolList
from ltr.data.groups import Groups
from ltr.encoders.sparse_vectors import Sparse, sparse_rows
from ltr.features.clauses import Clauses, query_clauses
from ltr.features.feature_context import Context
from ltr.features.lexicon import Lexicon
from ltr.features.option_ranges import Positive
from ltr.features.registry import feature
from ltr.features.right_answers import right_answers
from ltr.features.row_queries import row_queries
from ltr.features.state_learners import Counted
from ltr.features.text_tables import names_table, place_of, spelled_table, table_texts
from ltr.features.tool_vector_products import ToolVectors
from ltr.files.learned_state_types import Floats, Integers, Record, TextTable, learns
from ltr.files.mergeable_tables import Part, table
from ltr.files.table_keys import digests, halves, pairs, place_counts, places

MOST_PAIRS = 1 << 20  # of a tool and a word: the size of the state of tool.words


def count_answered_words(groups: Groups, context: Context) -> Part:
    """How often each word occurs in the queries each tool answered; and the words of each distinct query."""
    candidates, lexicon = groups.candidates, context.lexicon
    query_words = lexicon.words(candidates.query_texts)
    answers, vocabulary = context.shared(right_answers, groups), max(len(lexicon), 1)
    answer_words = query_words.take(answers.queries)
    keys, times = np.unique(
        np.repeat(answers.tools, answer_words.lengths) * vocabulary + answer_words.codes, return_counts=True
    )
    tools, codes = np.divmod(keys, vocabulary)
    worded = np.unique(tools)
    right, support = [candidates.name_texts[name] for name in worded.tolist()], np.bincount(answers.tools)
    names = digests(candidates.name_texts)
    spelled_queries = Ragged(query_words.starts, lexicon.keys(query_words.codes))
    return {
        "tools": names_table(right, answers=support[worded]),
        "words": lexicon.table(query_words.codes),
        "queries": table(digests(candidates.query_texts), facts={"words": spelled_queries}),
        "pairs": table(pairs(names[tools], lexicon.keys(codes)), {"times": times}),
    }


@learns(
    Record(
        tools=TextTable("tools", totals=Integers("tools")),
        words=TextTable("words", shares=Floats("words")),
        pairs=Record(
            tools=Integers("pairs", below="tools", rising=True),
            words=Integers("pairs", below="words"),
            counts=Integers("pairs"),
        ),
    )
)
def answered_words_state(part: Part) -> State:
    """The words of the queries each tool answered, and how common each word is among all queries.

    At most MOST_PAIRS pairs of a tool and a word: those that occur most often. Where no tool answered twice nothing is
    stored: to have answered would tell that it is not right again.
    """
    tools, words, times = part["tools"], part["words"], part["pairs"].sums["times"]
    pair_names, pair_words = halves(part["pairs"].keys)
    pair_tools = places(tools.keys, pair_names)
    recurs = tools.sums["answers"].max(initial=0) > 1
    known, stored = np.arange(len(tools) if recurs else 0), most_frequent(times, MOST_PAIRS if recurs else 0)
    distinct, stored_words = used(places(words.keys, pair_words[stored]), len(words))
    asked = part["queries"].facts["words"].codes
    shares = place_counts(words.keys, asked)[distinct] / max(len(asked), 1)
    totals = code_sums(pair_tools, times, len(tools)).astype(np.int64)
    return {
        "tools": spelled_table(tools.facts["name"].take(known), totals=totals[known]),
        "words": spelled_table(words.facts["word"].take(distinct), shares=shares),
        "pairs": {
            "tools": pair_tools[stored].astype(np.int32),
            "words": stored_words.astype(np.int32),
            "counts": times[stored],
        },
    }


ANSWERED_WORDS = Counted(count_answered_words, answered_words_state)


@dataclass(frozen=True, slots=True)
class AnsweredTools:
    """ln((c_tw + s p_w) / ((n_t + s) p_w)) of the tools and words of a state of answered_words_state.

    A tool has a number for each of its words, its gain, and one for the length of a text, its constant.
    """

    tools: dict[str, int]  # the place of each
    words: dict[str, int]
    gains: ToolVectors

    @classmethod
    def of(cls, state: State, strength: float) -> "AnsweredTools":
        """Those of the state."""
        tools, words, pairs = state["tools"], state["words"], state["pairs"]
        count, width = len(tools["ends"]), len(words["ends"]) + 1
        gains = np.log1p(pairs["counts"] / (strength * words["shares"][pairs["words"]]))
        owners = np.concatenate([pairs["tools"], np.arange(count)])
        columns = np.concatenate([pairs["words"], np.full(count, width - 1)])
        numbers = np.concatenate([gains, np.log(strength / (tools["totals"] + strength))])
        order = np.argsort(owners * width + columns, kind="stable")
        rows = sparse_rows(owners[order], columns[order], numbers[order], (count, width))
        return cls(place_of(table_texts(tools)), place_of(table_texts(words)), ToolVectors.of(rows))

    def asked(self, texts: tuple[str, ...], lexicon: Lexicon, power: float) -> Sparse:
        """Of each text of n words how often each of them occurs / n ** power, and n ** (1 - power) as its length."""
        words, width = lexicon.words(texts), len(self.words) + 1
        places, lengths = lexicon.places(words.codes, self.words), words.lengths.astype(float)
        is_listed, owners = places >= 0, words.owners
        keys, times = np.unique(owners[is_listed] * width + places[is_listed], return_counts=True)
        filled = np.flatnonzero(lengths)
        all_keys = np.concatenate([keys, filled * width + width - 1])
        numbers = np.concatenate([times / lengths[keys // width] ** power, lengths[filled] ** (1 - power)])
        order = np.argsort(all_keys, kind="stable")
        columns = all_keys[order] % width
        return sparse_rows(all_keys[order] // width, columns, numbers[order], (len(texts), width))


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """The tools that answered queries, and which of them each tool is; -1: it was never right."""

    answered: AnsweredTools
    places: IntArray

    def extended(self, more: "AnswerTable") -> "AnswerTable":
        """These tools, then those that came later."""
        return AnswerTable(self.answered, np.concatenate([self.places, more.places]))


def answering_tools(tools: ToolList, state: State, context: Context, *, strength: Positive = 20.0) -> AnswerTable:
    """Where each tool stands in the state."""
    answered = context.of_state(AnsweredTools.of, state, strength=strength)
    places = [answered.tools.get(name, -1) for name in tools.names]
    return AnswerTable(answered, np.array(places, dtype=np.int64))


@feature("tool.words", "hist", fit=ANSWERED_WORDS, prepare=answering_tools, title="words of queries it answered")
def answered_words(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """1/|q| sum over the query's words of ln((c_tw + 20 p_w) / ((n_t + 20) p_w)); never right, or no words: 0.

    c_tw = times w occurs in queries the tool answered, n_t their sum, p_w = share of w in all queries; 20 is the
    option `strength`. A word the tool never answered gives ln(20 / (n_t + 20)).
    """
    clauses = context.shared(query_clauses, candidates).queries_alone()
    return _answered(candidates, clauses, context, power=1.0)


@feature(
    "tool.clause_words",
    "hist",
    fit=ANSWERED_WORDS,
    prepare=answering_tools,
    title="words of queries it answered, by part",
)
def clause_answered_words(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """The largest tool.words of the query and of each of its clauses c, the sums over sqrt|c| words instead of |c|."""
    return _answered(candidates, context.shared(query_clauses, candidates), context, power=0.5)


def _answered(candidates: Candidates, clauses: Clauses, context: Context, *, power: float) -> FloatArray:
    """The largest sum over the clauses."""
    table, values = context.prepared(AnswerTable), np.zeros(len(candidates.names))
    asked = table.answered.asked(clauses.texts, context.lexicon, power)
    places = table.places[context.tools]
    known = np.flatnonzero(places >= 0)
    values[known] = table.answered.gains.best(clauses, asked, row_queries(candidates)[known], places[known])
    return values
