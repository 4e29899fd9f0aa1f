"""Words that queries share with the names and texts of tools, and with the queries a tool answered before."""

from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray, IntArray, Ragged, State, code_sums
from ltr.data.groups import Candidates, Groups
from ltr.encoders.sparse import Sparse
from ltr.features.clauses import query_clauses
from ltr.features.registry import Context, Positive, feature
from ltr.features.rows import row_queries
from ltr.features.tables import positions, table_texts, text_table
from ltr.features.tool_texts import distinct_tools, right_answers
from ltr.features.words import Lexicon, sparse_rows
from ltr.files.state_types import Amount, Count, Floats, Integers, Json, Record, TextTable, learns

K1, B = 1.2, 0.75  # of BM25: how soon a repeated word stops counting, how far a long text is discounted
MOST_PAIRS = 1 << 20  # of a tool and a word: the size of the state of tool.words


@learns(Record(documents=Json(Count), length=Json(Amount), words=TextTable("words", frequencies=Integers("words"))))
def fit_frequencies(groups: Groups, context: Context) -> State:
    """In how many of the distinct tool texts each word occurs, their number N, and their mean length in words.

    The texts are those of the groups it is fitted on. A served text counts nowhere: a column that moved with the
    other candidates of its batch could not be repeated.
    """
    texts = list(dict.fromkeys(context.shared(distinct_tools, groups.candidates).texts))
    words = context.lexicon.words(texts)
    _, codes, _ = words.counted(len(context.lexicon))
    distinct, frequencies = np.unique(codes, return_counts=True)
    table = text_table(context.lexicon.spellings(distinct), frequencies=frequencies)
    return {"documents": len(texts), "length": float(words.lengths.mean()) if texts else 0.0, "words": table}


def idf(state: State, lexicon: Lexicon) -> FloatArray:
    """ln((N + 1) / (df + 1/2)) of each word of the lexicon; df = 0 where no text of the fit has it."""
    codes = lexicon.codes(table_texts(state["words"]))
    frequencies = np.zeros(len(lexicon))
    frequencies[codes] = state["words"]["frequencies"]
    return np.log((state["documents"] + 1) / (frequencies + 0.5))


def query_words(candidates: Candidates, context: Context) -> Sparse:
    """The distinct words of each query, as ones; for `Context.shared`."""
    words = context.lexicon.words(candidates.query_texts)
    queries, codes, _ = words.counted(len(context.lexicon))
    return sparse_rows(queries, codes, np.ones(len(codes)), (len(candidates.query_texts), len(context.lexicon)))


@feature("tool.name", "coop", fit=fit_frequencies, title="query mentions its name")
def name_match(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """1 if the query contains the name, in lower case; else the idf of its words found in the query / of all of them.

    No words: 0.
    """
    lexicon, count = context.lexicon, len(candidates.name_texts)
    name_words = lexicon.words(candidates.name_texts)
    queries = context.shared(query_words, candidates)
    names, codes, _ = name_words.counted(len(lexicon))
    weights = idf(state, lexicon)
    totals = code_sums(names, weights[codes], count)
    shares_of_name = sparse_rows(names, codes, weights[codes] / totals[names], (count, len(weights)))
    query_of_row = row_queries(candidates)
    shares = shares_of_name.dots(candidates.names, replace(queries, dimensions=len(weights)), query_of_row)
    lower_queries = [text.lower() for text in candidates.query_texts]
    lower_names = [text.lower() for text in candidates.name_texts]
    rows = zip(query_of_row.tolist(), candidates.names.tolist(), strict=True)
    is_contained = np.array([lower_names[name] in lower_queries[query] for query, name in rows], dtype=bool)
    return np.where(is_contained, 1.0, np.minimum(shares, 1.0))


@feature("tool.bm25", "coop", fit=fit_frequencies, title="words shared with its text (BM25)")
def tool_bm25(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """BM25 of the query's distinct words against name and description: sum of idf tf 2.2 / (tf + 1.2 (1/4 + 3/4 L)).

    L = words of the text / mean words of the texts it was fitted on.
    """
    tools, lexicon = context.shared(distinct_tools, candidates), context.lexicon
    queries, words = context.shared(query_words, candidates), lexicon.words(tools.texts)
    owners, codes, times = words.counted(len(lexicon))
    weights = idf(state, lexicon)
    lengths = words.lengths / max(state["length"], 1.0)
    gains = weights[codes] * times * (K1 + 1) / (times + K1 * (1 - B + B * lengths[owners]))
    tool_rows = sparse_rows(owners, codes, gains, (len(tools.texts), len(weights)))
    return tool_rows.dots(tools.codes, replace(queries, dimensions=len(weights)), row_queries(candidates))


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
def fit_answered_words(groups: Groups, context: Context) -> State:
    """The words of the queries each tool answered, and how common each word is among all queries.

    At most MOST_PAIRS pairs of a tool and a word: those that occur most often.
    """
    candidates, lexicon = groups.candidates, context.lexicon
    query_words = lexicon.words(candidates.query_texts)
    answers, vocabulary = context.shared(right_answers, groups), len(lexicon)
    answer_words = query_words.take(answers.queries)
    word_tools = np.repeat(answers.tools, answer_words.lengths)
    keys, counts = np.unique(word_tools * max(vocabulary, 1) + answer_words.codes, return_counts=True)
    least = 1
    while int((counts >= least).sum()) > MOST_PAIRS:
        least += 1
    tools, codes = np.divmod(keys[counts >= least], max(vocabulary, 1))
    right = np.unique(word_tools)
    distinct, words = np.unique(codes, return_inverse=True)
    shares = np.bincount(query_words.codes, minlength=vocabulary)[distinct] / max(len(query_words.codes), 1)
    totals = np.bincount(word_tools, minlength=len(candidates.name_texts))[right]
    return {
        "tools": text_table([candidates.name_texts[name] for name in right.tolist()], totals=totals),
        "words": text_table(lexicon.spellings(distinct), shares=shares),
        "pairs": {
            "tools": np.searchsorted(right, tools).astype(np.int32),
            "words": words.astype(np.int32),
            "counts": counts[counts >= least],
        },
    }


@feature("tool.words", "hist", fit=fit_answered_words, title="words of queries it answered")
def answered_words(candidates: Candidates, state: State, context: Context, *, strength: Positive = 20.0) -> FloatArray:
    """1/|q| sum over the query's words of ln((c_tw + 20 p_w) / ((n_t + 20) p_w)); never right, or no words: 0.

    c_tw = times w occurs in queries the tool answered, n_t their sum, p_w = share of w in all queries; 20 is the
    option `strength`. A word the tool never answered gives ln(20 / (n_t + 20)).
    """
    ratios = LogRatios.of(state, candidates, context, strength)
    queries, rows = context.lexicon.words(candidates.query_texts), row_queries(candidates)
    return ratios.sums(queries, rows, candidates.names, power=1.0)


@feature("tool.clause_words", "hist", fit=fit_answered_words, title="words of queries it answered, by part")
def clause_answered_words(
    candidates: Candidates, state: State, context: Context, *, strength: Positive = 20.0
) -> FloatArray:
    """The largest tool.words of the query and of each of its clauses c, the sums over sqrt|c| words instead of |c|."""
    ratios = LogRatios.of(state, candidates, context, strength)
    clauses = context.shared(query_clauses, candidates)
    words = context.lexicon.words(clauses.texts)
    return clauses.best(
        row_queries(candidates),
        lambda clause, row: ratios.sums(words, clause, candidates.names[row], power=0.5),
    )[0]


@dataclass(frozen=True, slots=True)
class LogRatios:
    """ln((c_tw + s p_w) / ((n_t + s) p_w)) of tools and words: a constant of the tool, and a gain where c_tw > 0."""

    rows: IntArray  # (names,) the row of each name in the two below; -1 where it was never right
    gains: Sparse  # (tools, words)
    constants: FloatArray  # (tools,)

    @classmethod
    def of(cls, state: State, candidates: Candidates, context: Context, strength: float) -> "LogRatios":
        """Those of a state of fit_answered_words."""
        tools, words, pairs = state["tools"], state["words"], state["pairs"]
        codes = context.lexicon.codes(table_texts(words))
        gains = np.log1p(pairs["counts"] / (strength * words["shares"][pairs["words"]]))
        shape = (len(tools["ends"]), len(context.lexicon))
        constants = np.log(strength / (tools["totals"] + strength))
        rows = positions(table_texts(tools), candidates.name_texts)
        return cls(rows, sparse_rows(pairs["tools"], codes[pairs["words"]], gains, shape), constants)

    def sums(self, texts: Ragged, text_of_pair: IntArray, names: IntArray, *, power: float) -> FloatArray:
        """Sum over the words of a text / their number ** power, for pairs of a text and a name.

        No words, or never right: 0.
        """
        lengths = texts.lengths.astype(float)
        vocabulary = int(max(texts.codes.max(initial=0) + 1, self.gains.dimensions))
        owners, codes, times = texts.counted(vocabulary)
        shares = sparse_rows(owners, codes, times / lengths[owners] ** power, (len(lengths), vocabulary))
        tool_rows, values = self.rows[names], np.zeros(len(names))
        scored = np.flatnonzero((tool_rows >= 0) & (lengths[text_of_pair] > 0))
        tools, words = tool_rows[scored], text_of_pair[scored]
        values[scored] = replace(self.gains, dimensions=vocabulary).dots(tools, shares, words)
        values[scored] += self.constants[tools] * lengths[words] ** (1 - power)
        return values
