"""Words that queries share with the names and texts of tools, and with the queries a tool answered before."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, State, code_sums
from ltr.data.groups import Candidates, Groups
from ltr.encoders.sparse import Sparse
from ltr.features.registry import Context, Positive, feature
from ltr.features.tables import places, table, table_texts
from ltr.features.tool_texts import Answers, parts_in, row_queries, tools_in
from ltr.features.words import Lexicon, Ragged, sparse, widened

K1, B = 1.2, 0.75  # of BM25: how soon a repeated word stops counting, how far a long text is discounted
MOST_PAIRS = 1 << 20  # of a tool and a word: what tool.words keeps


def fit_frequencies(groups: Groups, context: Context) -> State:
    """In how many of the distinct tool texts each word occurs, their number N, and their mean length in words.

    The texts are those of the groups it is fitted on. A served text counts nowhere: a column that moved with the
    other candidates of its batch could not be repeated.
    """
    texts = list(dict.fromkeys(tools_in(groups.candidates, context).texts))
    found = context.lexicon.words(texts)
    _, codes, _ = found.counted(len(context.lexicon))
    distinct, frequencies = np.unique(codes, return_counts=True)
    kept = table(context.lexicon.spellings(distinct), frequencies=frequencies)
    return {"documents": len(texts), "length": float(found.lengths.mean()) if texts else 0.0, "words": kept}


def idf(state: State, lexicon: Lexicon) -> FloatArray:
    """ln((N + 1) / (df + 1/2)) of each word of the lexicon; df = 0 where no text of the fit has it."""
    kept = state
    codes = lexicon.codes(table_texts(kept["words"]))
    frequencies = np.zeros(len(lexicon))
    frequencies[codes] = kept["words"]["frequencies"]
    return np.log((kept["documents"] + 1) / (frequencies + 0.5))


def _asked(candidates: Candidates, context: Context) -> Sparse:
    """The distinct words of each query, as ones."""
    found = context.lexicon.words(candidates.query_texts)
    texts, codes, _ = found.counted(len(context.lexicon))
    return sparse(texts, codes, np.ones(len(codes)), (len(candidates.query_texts), len(context.lexicon)))


@feature("tool.name", "coop", fit=fit_frequencies, title="query mentions its name")
def named(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """1 if the query contains the name, in lower case; else the idf of its words found in the query / of all of them.

    No words: 0.
    """
    lexicon, count = context.lexicon, len(candidates.name_texts)
    pieces = lexicon.words(candidates.name_texts)
    asked = _asked(candidates, context)
    names, codes, _ = pieces.counted(len(lexicon))
    worth = idf(state, lexicon)
    totals = code_sums(names, worth[codes], count)
    found = sparse(names, codes, worth[codes] / totals[names], (count, len(worth)))
    shares = found.dots(candidates.names, widened(asked, len(worth)), row_queries(candidates))
    return np.where(_contained(candidates), 1.0, np.minimum(shares, 1.0))


def _contained(candidates: Candidates) -> IntArray:
    """1 where the lower-cased query contains the lower-cased name."""
    queries = [text.lower() for text in candidates.query_texts]
    names = [text.lower() for text in candidates.name_texts]
    each = zip(row_queries(candidates).tolist(), candidates.names.tolist(), strict=True)
    return np.array([names[name] in queries[query] for query, name in each], dtype=np.int64)


@feature("tool.bm25", "coop", fit=fit_frequencies, title="words shared with its text (BM25)")
def bm25(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """BM25 of the query's distinct words against name and description: sum of idf tf 2.2 / (tf + 1.2 (1/4 + 3/4 L)).

    L = words of the text / mean words of the texts it was fitted on.
    """
    tools, lexicon = tools_in(candidates, context), context.lexicon
    asked, found = _asked(candidates, context), lexicon.words(tools.texts)
    owners, codes, times = found.counted(len(lexicon))
    worth = idf(state, lexicon)
    lengths = found.lengths / max(state["length"], 1.0)
    gains = worth[codes] * times * (K1 + 1) / (times + K1 * (1 - B + B * lengths[owners]))
    weighed = sparse(owners, codes, gains, (len(tools.texts), len(worth)))
    return weighed.dots(tools.codes, widened(asked, len(worth)), row_queries(candidates))


def fit_answered_words(groups: Groups, context: Context) -> State:
    """The words of the queries each tool answered, and how common each word is among all queries.

    At most MOST_PAIRS pairs of a tool and a word: those that occur most often.
    """
    candidates, lexicon = groups.candidates, context.lexicon
    asked = lexicon.words(candidates.query_texts)
    answers, vocabulary = Answers.of(groups, context), len(lexicon)
    of_answers = asked.take(answers.queries)
    owners = np.repeat(answers.tools, of_answers.lengths)
    keys, counts = np.unique(owners * max(vocabulary, 1) + of_answers.codes, return_counts=True)
    keys, counts = _most_frequent(keys, counts, MOST_PAIRS)
    names, codes = np.divmod(keys, max(vocabulary, 1))
    right = np.unique(owners)
    distinct, words = np.unique(codes, return_inverse=True)
    shares = np.bincount(asked.codes, minlength=vocabulary)[distinct] / max(len(asked.codes), 1)
    totals = np.bincount(owners, minlength=len(candidates.name_texts))[right]
    return {
        "tools": table([candidates.name_texts[name] for name in right.tolist()], totals=totals),
        "words": table(lexicon.spellings(distinct), shares=shares),
        "pairs": {
            "tools": np.searchsorted(right, names).astype(np.int32),
            "words": words.astype(np.int32),
            "counts": counts,
        },
    }


def _most_frequent(keys: IntArray, counts: IntArray, most: int) -> tuple[IntArray, IntArray]:
    least = 1
    while int((counts >= least).sum()) > most:
        least += 1
    return keys[counts >= least], counts[counts >= least]


@feature("tool.words", "hist", fit=fit_answered_words, title="words of queries it answered")
def answered_words(candidates: Candidates, state: State, context: Context, *, strength: Positive = 20.0) -> FloatArray:
    """1/|q| sum over the query's words of ln((c_tw + 20 p_w) / ((n_t + 20) p_w)); never right, or no words: 0.

    c_tw = times w occurs in queries the tool answered, n_t their sum, p_w = share of w in all queries; 20 is the
    option `strength`. A word the tool never answered gives ln(20 / (n_t + 20)).
    """
    likeness = Likeness.of(state, candidates, context, strength)
    queries, rows = context.lexicon.words(candidates.query_texts), row_queries(candidates)
    return likeness.of_words(queries, rows, candidates.names, power=1.0)


@feature("tool.clause_words", "hist", fit=fit_answered_words, title="words of queries it answered, by part")
def clause_answered_words(
    candidates: Candidates, state: State, context: Context, *, strength: Positive = 20.0
) -> FloatArray:
    """The largest tool.words of the query and of each of its clauses c, the sums over sqrt|c| words instead of |c|."""
    likeness, parts = Likeness.of(state, candidates, context, strength), parts_in(candidates, context)
    asked = context.lexicon.words(parts.texts)
    return parts.best(
        row_queries(candidates),
        lambda part, pair: likeness.of_words(asked, part, candidates.names[pair], power=0.5),
    )[0]


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a word says for each tool: a gain where the tool answered it, and a constant where it did not."""

    tools: IntArray  # (names,) of each name the row of the two below; -1 where it was never right
    gains: Sparse  # (tools, words)
    constants: FloatArray  # (tools,)

    @classmethod
    def of(cls, kept: State, candidates: Candidates, context: Context, strength: float) -> "Likeness":
        """Those of a state."""
        tools, words, pairs = kept["tools"], kept["words"], kept["pairs"]
        codes = context.lexicon.codes(table_texts(words))
        gains = np.log1p(pairs["counts"] / (strength * words["shares"][pairs["words"]]))
        shape = (len(tools["ends"]), len(context.lexicon))
        constants = np.log(strength / (tools["totals"] + strength))
        known = places(table_texts(tools), candidates.name_texts)
        return cls(known, sparse(pairs["tools"], codes[pairs["words"]], gains, shape), constants)

    def of_words(self, texts: Ragged, rows: IntArray, names: IntArray, *, power: float) -> FloatArray:
        """Sum over the words of each row's text over their number to a power; no words, or never right: 0."""
        lengths, vocabulary = (
            texts.lengths.astype(float),
            int(max(texts.codes.max(initial=0) + 1, self.gains.dimensions)),
        )
        owner, codes, times = texts.counted(vocabulary)
        shares = sparse(owner, codes, times / lengths[owner] ** power, (len(lengths), vocabulary))
        known, values = self.tools[names], np.zeros(len(rows))
        speaks = np.flatnonzero((known >= 0) & (lengths[rows] > 0))
        tools, said = known[speaks], rows[speaks]
        values[speaks] = widened(self.gains, vocabulary).dots(tools, shares, said)
        values[speaks] += self.constants[tools] * lengths[said] ** (1 - power)
        return values
