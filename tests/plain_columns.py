"""The columns of tools computed pair by pair from the texts of the candidates: the oracle of what is prepared."""

from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np

from ltr.arrays import Ragged, code_sums
from ltr.encoders import HashEncoder, Sparse, Vectors
from ltr.features import plain_texts
from ltr.features.algebra import product
from ltr.features.protocol import Context
from ltr.features.ridge import query_grams
from ltr.features.tables import looked_up, positions, table_texts
from ltr.features.texts import Lexicon, distinct_tools, query_clauses, row_queries
from ltr.features.words import K1, B
from ltr.samples import tools_of_rows


def plain_column(name, candidates, state, encoder):
    """The column of that name."""
    return COLUMNS[name](candidates, state, Context(encoder, Lexicon()))


def lift(candidates, state, context):
    names = table_texts(state)
    wins, chance = (looked_up(names, state[column], candidates.name_texts) for column in ("wins", "chance"))
    v = (((state["wins"] - state["chance"]) ** 2).sum() - state["chance"].sum()) / (state["chance"] ** 2).sum()
    return np.log((wins + 1 / v) / (chance + 1 / v))[candidates.names]


def known(candidates, state, context):
    names = table_texts(state)
    return looked_up(names, np.ones(len(names)), candidates.name_texts)[candidates.names]


def best_cosines(candidates, encoder, vectors, context, *, is_whole=False):
    clauses, tools = context.shared(query_clauses, candidates), context.shared(distinct_tools, candidates)
    clauses = clauses.queries_alone() if is_whole else clauses
    rows = encoder.encode(clauses.texts, "query")
    queries = row_queries(candidates)
    return clauses.best(queries, lambda clause, row: rows.dots(clause, vectors, tools.codes[row]))[0]


def proto(candidates, state, context, *, is_whole=False):
    tools, _ = tools_of_rows(candidates)
    text_vectors = context.encoder.encode(plain_texts(tools), "document")
    stored = positions(table_texts(state["tools"]), tools.names)
    answered, own_rows = np.flatnonzero(stored >= 0), np.arange(len(tools.names))
    owner = np.concatenate([own_rows, answered])
    rows = np.concatenate([own_rows, len(own_rows) + stored[answered]])
    weights = np.concatenate([np.full(len(own_rows), 3.0), state["lengths"][stored[answered]].astype(float)])
    vectors = Vectors.stacked([text_vectors, Vectors.restored(state["directions"])])
    prototypes = vectors.sums(owner, rows, weights, len(own_rows)).unit()
    return best_cosines(candidates, context.encoder, prototypes, context, is_whole=is_whole)


def clause(candidates, state, context):
    texts = context.shared(distinct_tools, candidates).texts
    return best_cosines(candidates, context.encoder, context.encoder.encode(texts, "document"), context)


def clause_char(candidates, state, context):
    encoder, texts = HashEncoder.restored(state), context.shared(distinct_tools, candidates).texts
    return best_cosines(candidates, encoder, encoder.encode(texts, "document"), context)


def char(candidates, state, context):
    encoder, tools = HashEncoder.restored(state), context.shared(distinct_tools, candidates)
    texts = encoder.encode(tools.texts, "document")
    return encoder.encode(candidates.query_texts, "query").dots(row_queries(candidates), texts, tools.codes)


def idf(state, lexicon):
    codes = lexicon.codes(table_texts(state["words"]))
    frequencies = np.zeros(len(lexicon))
    frequencies[codes] = state["words"]["frequencies"]
    return np.log((state["documents"] + 1) / (frequencies + 0.5))


def asked_words(candidates, lexicon, width):
    words = lexicon.words(candidates.query_texts)
    queries, codes, _ = words.counted(len(lexicon))
    return Sparse.of(queries, codes, np.ones(len(codes)), (len(candidates.query_texts), width))


def name(candidates, state, context):
    lexicon, count = context.lexicon, len(candidates.name_texts)
    names, asked = lexicon.words(candidates.name_texts), lexicon.words(candidates.query_texts)
    weights = idf(state, lexicon)
    owners, codes, _ = names.counted(len(lexicon))
    totals = code_sums(owners, weights[codes], count)
    shares_of_name = Sparse.of(owners, codes, weights[codes] / totals[owners], (count, len(weights)))
    assert asked.codes.max(initial=0) < len(weights)
    query_of_row = row_queries(candidates)
    shares = shares_of_name.dots(candidates.names, asked_words(candidates, lexicon, len(weights)), query_of_row)
    queries, lower = ([text.lower() for text in texts] for texts in (candidates.query_texts, candidates.name_texts))
    rows = zip(query_of_row.tolist(), candidates.names.tolist(), strict=True)
    is_contained = np.array([lower[name] in queries[query] for query, name in rows], dtype=bool)
    return np.where(is_contained, 1.0, np.minimum(shares, 1.0))


def bm25(candidates, state, context, *, has_inputs=False):
    tools, lexicon = context.shared(distinct_tools, candidates), context.lexicon
    texts = tools.texts
    if has_inputs:
        inputs = dict(zip(tools.codes.tolist(), candidates.texts.tolist(), strict=True))
        texts = [f"{text} {candidates.tool_texts[inputs[tool]].inputs}" for tool, text in enumerate(texts)]
    words, _ = lexicon.words(texts), lexicon.words(candidates.query_texts)
    owners, codes, times = words.counted(len(lexicon))
    weights = idf(state, lexicon)
    lengths = words.lengths / max(state["length"], 1.0)
    gains = weights[codes] * times * (K1 + 1) / (times + K1 * (1 - B + B * lengths[owners]))
    tool_rows = Sparse.of(owners, codes, gains, (len(tools.texts), len(weights)))
    return tool_rows.dots(tools.codes, asked_words(candidates, lexicon, len(weights)), row_queries(candidates))


def answered(candidates, state, context, texts, text_of_pair, names, power):
    tools, words, pairs, lexicon = state["tools"], state["words"], state["pairs"], context.lexicon
    codes, texts = lexicon.codes(table_texts(words)), lexicon.words(texts)
    vocabulary = len(lexicon)
    gains = np.log1p(pairs["counts"] / (20 * words["shares"][pairs["words"]]))
    tool_gains = Sparse.of(pairs["tools"], codes[pairs["words"]], gains, (len(tools["ends"]), vocabulary))
    constants = np.log(20 / (tools["totals"] + 20))
    lengths = texts.lengths.astype(float)
    owners, codes, times = texts.counted(vocabulary)
    shares = Sparse.of(owners, codes, times / lengths[owners] ** power, (len(lengths), vocabulary))
    tool_rows, values = positions(table_texts(tools), candidates.name_texts)[names], np.zeros(len(names))
    scored = np.flatnonzero((tool_rows >= 0) & (lengths[text_of_pair] > 0))
    rows, words_of = tool_rows[scored], text_of_pair[scored]
    values[scored] = tool_gains.dots(rows, shares, words_of) + constants[rows] * lengths[words_of] ** (1 - power)
    return values


def words(candidates, state, context):
    rows = row_queries(candidates)
    return answered(candidates, state, context, candidates.query_texts, rows, candidates.names, 1.0)


def clause_words(candidates, state, context):
    clauses = context.shared(query_clauses, candidates)
    return clauses.best(
        row_queries(candidates),
        lambda clause, row: answered(candidates, state, context, clauses.texts, clause, candidates.names[row], 0.5),
    )[0]


def distinct_words(lexicon, texts):
    owners, codes, _ = lexicon.words(texts).counted(len(lexicon))
    return Ragged(np.searchsorted(owners, np.arange(len(texts) + 1)), codes)


def weighted(texts, listed, vocabulary):
    place = np.full(vocabulary, -1)
    place[listed] = np.arange(len(listed))
    columns, owners = place[texts.codes], texts.owners
    numbers, is_listed = 1 / np.sqrt(texts.lengths[owners]), columns >= 0
    shape = (len(texts.lengths), len(listed))
    return Sparse.of(owners[is_listed], columns[is_listed], numbers[is_listed], shape)


def talk(candidates, state, context):
    lexicon, tools = context.lexicon, context.shared(distinct_tools, candidates)
    lexicon.words([*candidates.query_texts, *tools.texts])
    queries, texts = distinct_words(lexicon, candidates.query_texts), distinct_words(lexicon, tools.texts)
    asked, said = (lexicon.codes(table_texts(state[side])) for side in ("asked", "said"))
    pairs, shape = state["pairs"], (max(len(said), 1), len(asked))
    gains = Sparse.of(pairs["said"], pairs["asked"].astype(np.int64), state["gains"].astype(float), shape)
    profiles = product(replace(weighted(texts, said, len(lexicon)), dimensions=shape[0]), gains)
    return profiles.dots(tools.codes, weighted(queries, asked, len(lexicon)), row_queries(candidates))


def ridge(candidates, state, context):
    queries, keys, listed = state["queries"], state["grams"]["keys"], query_grams(candidates, context)
    trained, vectors = np.zeros((len(queries["starts"]) - 1, len(keys))), Vectors.restored(state["vectors"])
    for query, (first, last) in enumerate(zip(queries["starts"][:-1], queries["starts"][1:], strict=True)):
        trained[query, queries["grams"][first:last]] = queries["numbers"][first:last]
    rarity = dict(zip(keys.tolist(), state["grams"]["rarity"].tolist(), strict=True))
    asked = np.zeros((len(candidates.query_texts), len(keys)))
    for query, (first, last) in enumerate(zip(listed.starts[:-1], listed.starts[1:], strict=True)):
        for side in (0, 1):
            times = Counter(gram for gram in listed.codes[first:last].tolist() if gram % 2 == side)
            unseen = 1 + np.log(1 + len(trained))
            weights = {gram: (1 + np.log(count)) * rarity.get(gram, unseen) for gram, count in times.items()}
            length = np.sqrt(2 * sum(weight**2 for weight in weights.values()))
            for gram in weights.keys() & rarity.keys():
                asked[query, np.searchsorted(keys, gram)] = weights[gram] / length
    encoded = context.encoder.encode(candidates.query_texts, "query")
    pairs = np.indices((len(asked), len(trained))).reshape(2, -1)
    cosines = encoded.dots(pairs[0], vectors, pairs[1]).reshape(len(asked), len(trained))
    scores = (2 * asked @ trained.T + cosines) / 3 @ state["coefficients"].T.astype(float)
    places = positions(table_texts(state["tools"]), candidates.name_texts)[candidates.names]
    return np.where(places >= 0, scores[row_queries(candidates), places], 0)


def beside_best(column, least=0.0):
    """The column with each list's values divided by the largest of the list, or by the least that counts."""

    def near(candidates, state, context):
        lists = np.split(column(candidates, state, context), candidates.offsets[1:-1])
        best = [max(*of, least) for of in lists]
        return np.concatenate(
            [[value / by if by > 0 else 0.0 for value in of] for of, by in zip(lists, best, strict=True)]
        )

    return near


def text(candidates, state, context):
    vectors = context.encoder.encode(context.shared(distinct_tools, candidates).texts, "document")
    return best_cosines(candidates, context.encoder, vectors, context, is_whole=True)


def zero_shot(candidates, state, context):
    parts = {
        "tool.near_words": (beside_best(partial(bm25, has_inputs=True)), state["words"]),
        "tool.near_letters": (beside_best(char, 0.1), state["letters"]),
        "tool.name": (name, state["names"]),
        "tool.near_text": (beside_best(text, 0.1), None),
        "tool.near_clause": (beside_best(clause, 0.1), None),
    }
    weighted = {part: (weight, *parts[part]) for part, weight in state["weights"].items()}
    return sum(
        weight * column(candidates, of_part, replace(context, lexicon=Lexicon()))
        for weight, column, of_part in weighted.values()
    )


def newcomer(candidates, state, context):
    return 1 - known(candidates, state, context)


COLUMNS = {
    "tool.zero_shot": zero_shot,
    "tool.newcomer": newcomer,
    "tool.proto": proto,
    "tool.query_proto": partial(proto, is_whole=True),
    "tool.lift": lift,
    "tool.clause_char": clause_char,
    "tool.name": name,
    "tool.clause_words": clause_words,
    "tool.known": known,
    "tool.talk": talk,
    "tool.char": char,
    "tool.clause": clause,
    "tool.words": words,
    "tool.bm25": bm25,
    "tool.ridge": ridge,
    "tool.near_words": beside_best(partial(bm25, has_inputs=True)),
    "tool.near_letters": beside_best(char, 0.1),
    "tool.near_text": beside_best(text, 0.1),
    "tool.near_clause": beside_best(clause, 0.1),
}
