"""Words that queries share with the names and texts of tools, and with the queries that tools answered."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, Ragged, State, code_sums, most_frequent, used
from ltr.encoders import Postings, Sparse
from ltr.features.algebra import product
from ltr.features.protocol import Context, Counted, feature
from ltr.features.tables import (
    listed_names,
    names_table,
    positions,
    right_answers,
    spelled_table,
)
from ltr.features.texts import Clauses, Lexicon, distinct_tools, plain_texts, query_clauses, row_queries
from ltr.features.vectors import ToolVectors
from ltr.registry import Positive
from ltr.samples import Candidates, Groups, ToolList
from ltr.states import Amount, Count, Floats, Integers, Json, Record, TextTable, learns
from ltr.tables import Part, digests, halves, pairs, place_counts, places, table

# how soon a repeated word stops counting, and how far a long text is discounted
BM25_CONSTANTS: tuple[float, float] = (1.2, 0.75)
K1, B = BM25_CONSTANTS


def count_texts(groups: Groups, context: Context) -> Part:
    """Return the words of each distinct tool text.

    The texts are those of the groups. A served text counts nowhere: a column that moved with the other candidates of
    its batch could not be repeated.
    """
    return count_words(context.shared(distinct_tools, groups.candidates).texts, context)


def count_words(texts: tuple[str, ...], context: Context) -> Part:
    """Return the words of each distinct text, and how often each stands in all of them."""
    lexicon = context.lexicon
    words = lexicon.words(texts)
    facts = {"length": words.lengths, "words": lexicon.distinct_keys(texts)}
    return {"texts": table(digests(texts), facts=facts), "words": lexicon.table(words.codes)}


def frequencies_type(axis: str) -> Record:
    """Return the type of a state of `frequencies_state`, its words on that axis."""
    words = TextTable(axis, frequencies=Integers(axis))
    return Record(documents=Json(Count), length=Json(Amount), words=words)


@learns(frequencies_type("words"))
def frequencies_state(part: Part) -> State:
    """Return in how many of the texts each word occurs, their number N, and their mean length in words."""
    texts, words = part["texts"], part["words"]
    frequencies = np.bincount(places(words.keys, texts.facts["words"].codes), minlength=len(words))
    length = float(texts.facts["length"].mean()) if len(texts) else 0.0
    counted = spelled_table(words.facts["word"], frequencies=frequencies)
    return {"documents": len(texts), "length": length, "words": counted}


FREQUENCIES = Counted(count_texts, frequencies_state)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a state of frequencies_state, then others as tools bring them; and how much each says."""

    places: dict[str, int]
    idf: list[float]
    unknown: float  # of a word that no text of the fit has
    length: float  # mean words of the texts of the fit

    @classmethod
    def of(cls, state: State) -> "Vocabulary":
        """Return ln((N + 1) / (df + 1/2)) of each word; df = 0 where no text of the fit has it."""
        words, documents = state["words"], state["documents"]
        weights = np.log((documents + 1) / (words["frequencies"] + 0.5))
        unknown = float(np.log((documents + 1) / 0.5))
        return cls(listed_names(words), weights.tolist(), unknown, max(state["length"], 1.0))

    def placed(self, words: Ragged, lexicon: Lexicon) -> Ragged:
        """Return the words by their places here; new ones get the next."""
        for word in lexicon.spellings(np.unique(words.codes)):
            if word not in self.places:
                self.idf.append(self.unknown)
                self.places[word] = len(self.places)
        return Ragged(words.starts, lexicon.places(words.codes, self.places))

    def asked(self, candidates: Candidates, lexicon: Lexicon) -> Sparse:
        """Return the distinct words of each query that have a place here, as ones."""
        words, count = lexicon.words(candidates.query_texts), len(self.places)
        places, owners = lexicon.places(words.codes, self.places), words.owners
        keys = np.unique((owners * count + places)[(places >= 0) & (places < count)])
        shape = (len(candidates.query_texts), count)
        return Sparse.of(keys // max(count, 1), keys % max(count, 1), np.ones(len(keys)), shape)


@dataclass(frozen=True, slots=True)
class WordTable:
    """The words of the names or the texts of tools, each with what it adds to a score."""

    vocabulary: Vocabulary  # which grows with the tools, and goes with them
    names: tuple[str, ...]  # in lower case
    words: ToolVectors

    def extended(self, more: "WordTable") -> "WordTable":
        """Return these tools, then those that came later."""
        return WordTable(self.vocabulary, self.names + more.names, self.words.extended(more.words))


def tool_names(tools: ToolList, state: State, context: Context) -> WordTable:
    """Return the name of each tool, and the share of each of its words."""
    vocabulary, count = context.of_state(Vocabulary.of, state), len(tools.names)
    words = vocabulary.placed(context.lexicon.words(tools.names), context.lexicon)
    names, codes, _ = words.counted(len(vocabulary.places))
    weights = np.array(vocabulary.idf)
    totals = code_sums(names, weights[codes], count)
    shares = Sparse.of(names, codes, weights[codes] / totals[names], (count, len(weights)))
    return WordTable(vocabulary, tuple(name.lower() for name in tools.names), ToolVectors.of(shares))


@feature("tool.name", "coop", fit=FREQUENCIES, prepare=tool_names, title="query mentions its name")
def name_match(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """1 if the query contains the name, in lower case; else the idf of its words found in the query / of all of them.

    No words: 0.
    """
    table, query_of_row = context.prepared(WordTable), row_queries(candidates)
    asked = table.vocabulary.asked(candidates, context.lexicon)
    shares = table.words.products(asked, query_of_row, context.tools)
    queries = [text.lower() for text in candidates.query_texts]
    rows = zip(query_of_row.tolist(), context.tools.tolist(), strict=True)
    is_contained = np.array([table.names[tool] in queries[query] for query, tool in rows], dtype=bool)
    return np.where(is_contained, 1.0, np.minimum(shares, 1.0))


def tool_bm25_words(tools: ToolList, state: State, context: Context) -> WordTable:
    """Return what each word of the text of each tool adds."""
    return bm25_table(plain_texts(tools), state, context)


def bm25_table(texts: tuple[str, ...], state: State, context: Context) -> WordTable:
    """Return what each word of each text adds to a score of BM25."""
    vocabulary = context.of_state(Vocabulary.of, state)
    words = vocabulary.placed(context.lexicon.words(texts), context.lexicon)
    owners, codes, times = words.counted(len(vocabulary.places))
    weights = np.array(vocabulary.idf)
    lengths = words.lengths / vocabulary.length
    gains = weights[codes] * times * (K1 + 1) / (times + K1 * (1 - B + B * lengths[owners]))
    return WordTable(vocabulary, (), ToolVectors.of(Sparse.of(owners, codes, gains, (len(texts), len(weights)))))


@feature("tool.bm25", "coop", fit=FREQUENCIES, prepare=tool_bm25_words, title="words shared with its text (BM25)")
def tool_bm25(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """BM25 of the query's distinct words against name and description: sum of idf tf 2.2 / (tf + 1.2 (1/4 + 3/4 L)).

    L = words of the text / mean words of the texts it was fitted on.
    """
    return bm25_of_rows(candidates, context)


def bm25_of_rows(candidates: Candidates, context: Context) -> FloatArray:
    """Return BM25 of each row's query against the text that was prepared of its tool."""
    table = context.prepared(WordTable)
    asked = table.vocabulary.asked(candidates, context.lexicon)
    return table.words.products(asked, row_queries(candidates), context.tools)


MOST_PAIRS = 1 << 20  # of a tool and a word, or of two words: the size of a state
STRENGTH = 20.0  # words of all queries that a tool is given before its own


def count_answered_words(groups: Groups, context: Context) -> Part:
    """Return how often each word occurs in the queries each tool answered; and the words of each distinct query."""
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
    """Return the words of the queries each tool answered, and how common each word is among all queries.

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

    words: dict[str, int]  # the place of each
    gains: ToolVectors

    @classmethod
    def of(cls, state: State, strength: float) -> "AnsweredTools":
        """Return those of the state."""
        tools, words, pairs = state["tools"], state["words"], state["pairs"]
        count, width = len(tools["ends"]), len(words["ends"]) + 1
        gains = np.log1p(pairs["counts"] / (strength * words["shares"][pairs["words"]]))
        owners = np.concatenate([pairs["tools"], np.arange(count)])
        columns = np.concatenate([pairs["words"], np.full(count, width - 1)])
        numbers = np.concatenate([gains, np.log(strength / (tools["totals"] + strength))])
        order = np.argsort(owners * width + columns, kind="stable")
        rows = Sparse.of(owners[order], columns[order], numbers[order], (count, width))
        return cls(listed_names(words), ToolVectors.of(rows))

    def values(self, candidates: Candidates, clauses: Clauses, context: Context, *, power: float) -> FloatArray:
        """Return the largest sum over the clauses for each row; 0 for a tool that was never right."""
        places, values = context.prepared(np.ndarray)[context.tools], np.zeros(len(candidates.names))
        known = np.flatnonzero(places >= 0)
        asked = self.asked(clauses.texts, context.lexicon, power)
        values[known] = self.gains.best(clauses, asked, row_queries(candidates)[known], places[known])
        return values

    def asked(self, texts: tuple[str, ...], lexicon: Lexicon, power: float) -> Sparse:
        """Return of each text of n words how often each occurs / n ** power, and n ** (1 - power) as its length."""
        words, width = lexicon.words(texts), len(self.words) + 1
        places, lengths = lexicon.places(words.codes, self.words), words.lengths.astype(float)
        is_listed, owners = places >= 0, words.owners
        keys, times = np.unique(owners[is_listed] * width + places[is_listed], return_counts=True)
        filled = np.flatnonzero(lengths)
        all_keys = np.concatenate([keys, filled * width + width - 1])
        numbers = np.concatenate([times / lengths[keys // width] ** power, lengths[filled] ** (1 - power)])
        order = np.argsort(all_keys, kind="stable")
        columns = all_keys[order] % width
        return Sparse.of(all_keys[order] // width, columns, numbers[order], (len(texts), width))


def answering_tools(tools: ToolList, state: State, context: Context) -> IntArray:
    """Return where each tool stands in the state; -1 where it was never right."""
    return positions(context.of_state(listed_names, state["tools"]), tools.names)


@feature("tool.words", "hist", fit=ANSWERED_WORDS, prepare=answering_tools, title="words of queries it answered")
def answered_words(
    candidates: Candidates, state: State, context: Context, *, strength: Positive = STRENGTH
) -> FloatArray:
    """1/|q| sum over the query's words of ln((c_tw + 20 p_w) / ((n_t + 20) p_w)); never right, or no words: 0.

    c_tw = times w occurs in queries the tool answered, n_t their sum, p_w = share of w in all queries; 20 is the
    option `strength`. A word the tool never answered gives ln(20 / (n_t + 20)).
    """
    known = context.of_state(AnsweredTools.of, state, strength=strength)
    return known.values(candidates, context.shared(query_clauses, candidates).queries_alone(), context, power=1.0)


@feature(
    "tool.clause_words",
    "hist",
    fit=ANSWERED_WORDS,
    prepare=answering_tools,
    title="words of queries it answered, by part",
)
def clause_answered_words(
    candidates: Candidates, state: State, context: Context, *, strength: Positive = STRENGTH
) -> FloatArray:
    """The largest tool.words of the query and of each of its clauses c, the sums over sqrt|c| words instead of |c|."""
    known = context.of_state(AnsweredTools.of, state, strength=strength)
    return known.values(candidates, context.shared(query_clauses, candidates), context, power=0.5)


LEAST = 2  # answers in which two words must meet: to meet once says nothing
NUMBERS = 1 << 20  # words of tools that queries reach, at once


def count_talk(groups: Groups, context: Context) -> Part:
    """Return how often each word stands in the queries that the tool of a text answered."""
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
    """Return how much more often a word of queries meets a word of right tools' texts than chance has it.

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
    texts_of_words = Sparse.of(said.codes[by_word], said.owners[by_word], ones, (len(words), len(texts)))
    met = product(texts_of_words, Sparse.of(text_of, asked, times, shape), least=LEAST)  # (of texts, queries)
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
        """Return that of the state."""
        asked, said = (listed_names(state[side]) for side in ("asked", "said"))
        pairs, shape = state["pairs"], (max(len(said), 1), len(asked))
        rows = Sparse.of(pairs["said"], pairs["asked"].astype(np.int64), state["gains"].astype(float), shape)
        return cls(asked, said, Postings.of(rows))


def tool_words(tools: ToolList, state: State, context: Context) -> ToolVectors:
    """Return the words of the text of each tool that stand in the state."""
    talk = context.of_state(Talk.of, state)
    return ToolVectors.of(_weighted(context.lexicon, plain_texts(tools), talk.said))


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
    known, queries = context.of_state(Talk.of, state), row_queries(candidates)
    asked = _weighted(context.lexicon, candidates.query_texts, known.asked)
    by_query = np.argsort(queries, kind="stable")
    at_once = max(NUMBERS // known.gains.count, 1)
    bounds = np.searchsorted(queries[by_query], np.arange(0, len(asked) + at_once, at_once))
    values = np.empty(len(queries))
    for part, first in enumerate(range(0, len(asked), at_once)):
        rows = by_query[bounds[part] : bounds[part + 1]]
        gains = known.gains.products(asked.take(np.arange(first, min(first + at_once, len(asked)))))
        owners, columns = np.nonzero(gains)
        reached = Sparse.of(owners, columns, gains[owners, columns], (len(gains), gains.shape[1]))
        values[rows] = context.prepared(ToolVectors).products(reached, queries[rows] - first, context.tools[rows])
    return values


def _weighted(lexicon: Lexicon, texts: tuple[str, ...], vocabulary: dict[str, int]) -> Sparse:
    """Return of each text of n distinct words those of the vocabulary, by their places there, each 1 / sqrt(n)."""
    words = lexicon.distinct_words(texts)
    columns, owners = lexicon.places(words.codes, vocabulary), words.owners
    is_listed = columns >= 0
    keys = np.sort(owners[is_listed] * max(len(vocabulary), 1) + columns[is_listed])
    owners, columns = np.divmod(keys, max(len(vocabulary), 1))
    return Sparse.of(owners, columns, 1 / np.sqrt(words.lengths[owners]), (len(texts), len(vocabulary)))
