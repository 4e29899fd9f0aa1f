"""Words that queries share with the names and texts of tools."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, Ragged, State, code_sums
from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import ToolList
from ltr.data.groups import Groups
from ltr.encoders.sparse_vectors import Sparse, sparse_rows
from ltr.features.feature_context import Context
from ltr.features.lexicon import Lexicon
from ltr.features.plain_tool_text import distinct_tools, plain_texts
from ltr.features.registry import feature
from ltr.features.row_queries import row_queries
from ltr.features.state_learners import Counted
from ltr.features.text_tables import place_of, spelled_table, table_texts
from ltr.features.tool_vector_products import ToolVectors
from ltr.files.learned_state_types import Amount, Count, Integers, Json, Record, TextTable, learns
from ltr.files.mergeable_tables import Part, table
from ltr.files.table_keys import digests, places

K1, B = 1.2, 0.75  # of BM25: how soon a repeated word stops counting, how far a long text is discounted


def count_texts(groups: Groups, context: Context) -> Part:
    """The words of each distinct tool text.

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
    """In how many of the texts each word occurs, their number N, and their mean length in words."""
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
        """ln((N + 1) / (df + 1/2)) of each word; df = 0 where no text of the fit has it."""
        words, documents = state["words"], state["documents"]
        weights = np.log((documents + 1) / (words["frequencies"] + 0.5))
        unknown = float(np.log((documents + 1) / 0.5))
        return cls(place_of(table_texts(words)), weights.tolist(), unknown, max(state["length"], 1.0))

    def placed(self, words: Ragged, lexicon: Lexicon) -> Ragged:
        """The words by their places here; new ones get the next."""
        for word in lexicon.spellings(np.unique(words.codes)):
            if word not in self.places:
                self.idf.append(self.unknown)
                self.places[word] = len(self.places)
        return Ragged(words.starts, lexicon.places(words.codes, self.places))

    def asked(self, candidates: Candidates, lexicon: Lexicon) -> Sparse:
        """The distinct words of each query that have a place here, as ones."""
        words, count = lexicon.words(candidates.query_texts), len(self.places)
        places, owners = lexicon.places(words.codes, self.places), words.owners
        keys = np.unique((owners * count + places)[(places >= 0) & (places < count)])
        shape = (len(candidates.query_texts), count)
        return sparse_rows(keys // max(count, 1), keys % max(count, 1), np.ones(len(keys)), shape)


@dataclass(frozen=True, slots=True)
class NameTable:
    """The names of tools and the share of each of their words."""

    vocabulary: Vocabulary
    names: tuple[str, ...]  # in lower case
    words: ToolVectors

    def extended(self, more: "NameTable") -> "NameTable":
        """These tools, then those that came later."""
        return NameTable(self.vocabulary, self.names + more.names, self.words.extended(more.words))


def tool_names(tools: ToolList, state: State, context: Context) -> NameTable:
    """The name of each tool, and its words."""
    vocabulary, count = context.of_state(Vocabulary.of, state), len(tools.names)
    words = vocabulary.placed(context.lexicon.words(tools.names), context.lexicon)
    names, codes, _ = words.counted(len(vocabulary.places))
    weights = np.array(vocabulary.idf)
    totals = code_sums(names, weights[codes], count)
    shares = sparse_rows(names, codes, weights[codes] / totals[names], (count, len(weights)))
    return NameTable(vocabulary, tuple(name.lower() for name in tools.names), ToolVectors.of(shares))


@feature("tool.name", "coop", fit=FREQUENCIES, prepare=tool_names, title="query mentions its name")
def name_match(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """1 if the query contains the name, in lower case; else the idf of its words found in the query / of all of them.

    No words: 0.
    """
    table, query_of_row = context.prepared(NameTable), row_queries(candidates)
    asked = table.vocabulary.asked(candidates, context.lexicon)
    shares = table.words.products(asked, query_of_row, context.tools)
    queries = [text.lower() for text in candidates.query_texts]
    rows = zip(query_of_row.tolist(), context.tools.tolist(), strict=True)
    is_contained = np.array([table.names[tool] in queries[query] for query, tool in rows], dtype=bool)
    return np.where(is_contained, 1.0, np.minimum(shares, 1.0))


@dataclass(frozen=True, slots=True)
class Bm25Table:
    """The words of the texts of tools, weighted by BM25."""

    vocabulary: Vocabulary
    words: ToolVectors

    def extended(self, more: "Bm25Table") -> "Bm25Table":
        """These tools, then those that came later."""
        return Bm25Table(self.vocabulary, self.words.extended(more.words))


def tool_bm25_words(tools: ToolList, state: State, context: Context) -> Bm25Table:
    """What each word of the text of each tool adds."""
    return bm25_table(plain_texts(tools), state, context)


def bm25_table(texts: tuple[str, ...], state: State, context: Context) -> Bm25Table:
    """Return what each word of each text adds to a score of BM25."""
    vocabulary = context.of_state(Vocabulary.of, state)
    words = vocabulary.placed(context.lexicon.words(texts), context.lexicon)
    owners, codes, times = words.counted(len(vocabulary.places))
    weights = np.array(vocabulary.idf)
    lengths = words.lengths / vocabulary.length
    gains = weights[codes] * times * (K1 + 1) / (times + K1 * (1 - B + B * lengths[owners]))
    return Bm25Table(vocabulary, ToolVectors.of(sparse_rows(owners, codes, gains, (len(texts), len(weights)))))


@feature("tool.bm25", "coop", fit=FREQUENCIES, prepare=tool_bm25_words, title="words shared with its text (BM25)")
def tool_bm25(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """BM25 of the query's distinct words against name and description: sum of idf tf 2.2 / (tf + 1.2 (1/4 + 3/4 L)).

    L = words of the text / mean words of the texts it was fitted on.
    """
    return bm25_of_rows(candidates, context)


def bm25_of_rows(candidates: Candidates, context: Context) -> FloatArray:
    """Return BM25 of each row's query against the text that was prepared of its tool."""
    table = context.prepared(Bm25Table)
    asked = table.vocabulary.asked(candidates, context.lexicon)
    return table.words.products(asked, row_queries(candidates), context.tools)
