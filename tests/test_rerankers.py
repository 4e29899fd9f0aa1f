"""Whatever can rank keeps one contract; and each reranker ranks by what it says."""

import math
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ltr import Groups, RunConfig, read_groups, reranker
from ltr.errors import DataError, RunError, UnknownNameError, UsageError
from ltr.experiments.single_run import run_and_save
from ltr.features import stemmed_words
from ltr.rerankers.protocol import (
    RERANKERS,
    Documents,
    RerankerChoice,
    Setting,
    checked_scores,
    collection,
    document_texts,
    labels_by_key,
    queries_with_documents,
    registered_spelling,
)
from ltr.results import Bm25, evaluate_router
from tests.builders import graph_lines, tool_lines, write_lines
from tests.made import DataConfig

ANSWERING = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "scores": [len(text) for text in asked["documents"]]}), flush=True)
"""
HEAVY = {"minilm", "sentence-transformers:NAME_OR_PATH", "cross-encoder:NAME_OR_PATH"}


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("rerankers")


@pytest.fixture(scope="module")
def groups(place) -> Groups:
    return read_groups(write_lines(place / "s.jsonl", tool_lines()))


@pytest.fixture(scope="module")
def setting(groups) -> Setting:
    return Setting(collection=collection(groups.candidates), labels=labels_by_key(groups), allow_command=True)


@pytest.fixture(scope="module")
def run(place, groups) -> Path:
    config = RunConfig(encoder="hash", data=DataConfig(train=str(place / "s.jsonl")))
    return run_and_save(config, place / "run").directory


@pytest.fixture(scope="module")
def choose(place, run):
    """The reranker of a spelling, with what it needs made here; skipped where a package is missing."""

    def made(spelling):
        if spelling == "command":
            return RerankerChoice("command", {"arguments": [sys.executable, "-c", ANSWERING]})
        if spelling == "model:RUN":
            return RerankerChoice(f"model:{run}")
        if spelling == "zero-shot:ENCODER":
            return RerankerChoice("zero-shot:hash")
        if spelling.startswith(("cross-encoder", "sentence-transformers")):
            pytest.importorskip("sentence_transformers")
            start = spelling.partition(":")[0]
            return RerankerChoice(f"{start}:{(cross_encoder if start == 'cross-encoder' else bi_encoder)(place)}")
        return RerankerChoice(spelling)

    return made


VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "find", "book", "list", "send", "flights", "hotels", "maps"]


def bi_encoder(place):
    """A small model of token vectors, saved as any model is."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    known = {word: number for number, word in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(WordLevel(known, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    weights = np.random.default_rng(0).normal(size=(len(VOCABULARY), 16)).astype(np.float32)
    folder = place / "bi-encoder"
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=weights)]).save(str(folder))
    return folder


def cross_encoder(place, num_labels=1):
    """A small cross-encoder with random weights, saved as any model is."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder = place / f"cross-encoder-{num_labels}"
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY), encoding="utf-8")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(VOCABULARY), num_labels=num_labels, initializer_range=1.0, **sizes)
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


def shuffled(documents, order):
    """The same candidates in another order."""
    own = documents.candidates
    columns = {name: getattr(own, name)[order] for name in ("names", "texts", "lines")}
    return Documents(replace(own, **columns), tuple(documents.texts[row] for row in order))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "spelling", [pytest.param(each, marks=[pytest.mark.heavy] * (each in HEAVY)) for each in RERANKERS.names()]
)
def test_every_reranker_keeps_the_contract(spelling, choose, setting, groups):
    choice = choose(spelling)
    if choice.absent(setting):
        pytest.skip(choice.absent(setting))
    asked = queries_with_documents(groups)[:6]
    opened = choice.opened(setting)
    try:
        for offer in asked:
            documents, before = offer.documents, offer.documents.candidates.names.copy()
            found = checked_scores(spelling, opened, offer.query, documents)
            assert found.shape == (len(documents),)
            assert np.isfinite(found).all()
            assert (documents.candidates.names == before).all()
            assert documents.texts == document_texts(documents.candidates)
            assert (checked_scores(spelling, opened, offer.query, documents) == found).all()
            order = np.random.default_rng(0).permutation(len(documents))
            assert (checked_scores(spelling, opened, offer.query, shuffled(documents, order)) == found[order]).all()
    finally:
        getattr(opened, "close", lambda: None)()


def test_every_reranker_says_what_it_does():
    assert all(RERANKERS[name].summary for name in RERANKERS.names())


def naive_bm25(query, text, texts, k1, b):
    """BM25 as it is written in books, with Lucene's idf."""
    counted = [Counter(stemmed_words(each)) for each in texts]
    mean = sum(sum(each.values()) for each in counted) / len(counted)
    own, total = Counter(stemmed_words(text)), 0.0
    for word in stemmed_words(query):
        df = sum(word in each for each in counted)
        idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        rest = k1 * (1 - b + b * sum(own.values()) / mean)
        total += idf * own[word] * (k1 + 1) / (own[word] + rest) if own[word] else 0.0
    return total


TEXTS = ("book a flight", "book book a hotel in the city", "the weather of a city", "send mail", "")
QUERIES = ["book a flight", "city city weather", "nothing known", ""]


@pytest.mark.parametrize("k1, b", [(1.2, 0.75), (0.0, 0.0), (2.0, 1.0)])
@pytest.mark.parametrize("query", QUERIES)
def test_bm25_is_the_naive_formula(query, k1, b):
    found = Bm25(TEXTS, k1=k1, b=b).scores(query, TEXTS)
    assert found == pytest.approx([naive_bm25(query, text, TEXTS, k1, b) for text in TEXTS])


@pytest.mark.parametrize("query", QUERIES)
def test_bm25_is_rank_bm25_with_lucenes_idf(query):
    library = pytest.importorskip("rank_bm25")

    class Lucene(library.BM25Okapi):
        def _calc_idf(self, nd):
            self.idf = {word: math.log(1 + (self.corpus_size - df + 0.5) / (df + 0.5)) for word, df in nd.items()}

    theirs = Lucene([stemmed_words(text) for text in TEXTS], k1=1.2, b=0.75).get_scores(stemmed_words(query))
    assert Bm25(TEXTS, k1=1.2, b=0.75).scores(query, TEXTS) == pytest.approx(theirs)


def test_bm25_of_a_text_outside_the_collection_goes_by_its_statistics():
    new = "book the weather"
    found = Bm25(TEXTS, k1=1.2, b=0.75).scores("book weather", (new,))
    assert found == pytest.approx([naive_bm25("book weather", new, TEXTS, 1.2, 0.75)])


def test_a_model_scores_as_evaluate_does(run, choose, setting, groups):
    from ltr import load

    opened = choose("model:RUN").opened(setting)
    ours = np.concatenate([opened(each.query, each.documents) for each in queries_with_documents(groups)])
    theirs = evaluate_router(load(run), groups, RunConfig()).ranking.scores
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_a_model_of_another_kind_is_refused(run, place):
    graphs = read_groups(write_lines(place / "g.jsonl", graph_lines()))
    with pytest.raises(DataError, match="the model ranks tools; the candidates are graphs"):
        RerankerChoice(f"model:{run}").opened(Setting(collection=collection(graphs.candidates)))


@pytest.mark.parametrize("name", ["random", "oracle", "bm25", "hash"])
def test_graphs_are_ranked_too(name, place):
    groups = read_groups(write_lines(place / f"{name}.jsonl", graph_lines()))
    setting = Setting(collection=collection(groups.candidates), labels=labels_by_key(groups))
    opened = RerankerChoice(name).opened(setting)
    assert all(
        len(checked_scores(name, opened, each.query, each.documents)) == 4 for each in queries_with_documents(groups)
    )


def test_the_oracle_gives_the_labels(setting, groups):
    opened = RerankerChoice("oracle").opened(setting)
    found = [opened(each.query, each.documents) for each in queries_with_documents(groups)]
    assert (np.concatenate(found) == groups.labels).all()


def test_random_follows_the_seed_and_nothing_else(setting, groups):
    offer = queries_with_documents(groups)[0]
    first, again, other = (
        RerankerChoice("random").opened(replace(setting, seed=seed))(offer.query, offer.documents) for seed in (1, 1, 2)
    )
    assert (first == again).all()
    assert (first != other).all()


def test_documents_are_encoded_once_with_an_index_and_every_time_without(setting, groups):
    from ltr.rerankers.encoders import BiEncoder
    from tests.builders import LetterEncoder

    offer, encoded = queries_with_documents(groups)[0], {}
    for index in (True, False):
        encoder = LetterEncoder()
        opened = BiEncoder(encoder, setting.collection, index=index)
        twice = [opened(offer.query, offer.documents) for _ in range(2)]
        assert (twice[0] == twice[1]).all()
        encoded[index] = Counter(encoder.encoded)
    assert encoded[True][offer.query] == encoded[False][offer.query] == 2
    assert {encoded[True][text] for text in setting.collection.texts} == {1}
    assert {encoded[False][text] for text in offer.documents.texts} == {2}


def test_the_collection_holds_every_candidate_once(groups):
    found = collection(groups.candidates)
    assert sorted(found.texts) == sorted(
        {text for each in queries_with_documents(groups) for text in each.documents.texts}
    )
    assert document_texts(found.candidates) == found.texts


@pytest.mark.parametrize(
    "name, problem",
    [
        ("bm52", "unknown reranker 'bm52'; did you mean bm25?; known: bm25, command"),
        ("model", "reranker 'model': model:RUN is needed"),
        ("model:", "reranker 'model:': model:RUN is needed"),
        ("bm25:x", "reranker 'bm25:x': bm25 is needed"),
    ],
)
def test_a_name_that_is_none_says_what_is_right(name, problem):
    with pytest.raises((UnknownNameError, UsageError)) as caught:
        registered_spelling(name)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    "name, options, problem",
    [
        ("bm25", {"k": 1}, "reranker bm25 has no option 'k'; did you mean k1?"),
        ("random", {"k": 1}, "reranker random has no option 'k'; known: none"),
        ("bm25", {"b": 1.5}, "reranker bm25: b is 1.5; a number from 0 to 1 is needed"),
        ("bm25", {"b": "x"}, "reranker bm25: b: 'x' is not a number"),
        ("hash", {"index": "no"}, "reranker hash: index: 'no' is not true or false; write false"),
        ("command", {"arguments": "rm -r x"}, "reranker command: arguments: 'rm -r x' is not a list"),
        ("command", {"timeout": 0}, "reranker command: timeout is 0; a number above 0 is needed"),
    ],
)
def test_an_option_that_is_none_says_what_is_right(name, options, problem):
    with pytest.raises(UsageError) as caught:
        RerankerChoice(name, options)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    "said, problem",
    [
        ([1.0], "mine: gave scores of shape (1,) for 4 documents; one each is needed"),
        ([[1.0]] * 4, "mine: gave scores of shape (4, 1) for 4 documents; one each is needed"),
        ([1.0, 2.0, float("nan"), 1.0], "mine: gave the score nan; a finite number is needed"),
        ([1.0, 2.0, float("inf"), 1.0], "mine: gave the score inf; a finite number is needed"),
        ("four", "mine: gave str for 4 documents; numbers are needed"),
        (None, "mine: gave scores of shape () for 4 documents; one each is needed"),
    ],
)
def test_what_is_no_score_for_each_document_is_refused(said, problem, groups):
    offer = queries_with_documents(groups)[0]
    with pytest.raises(RunError) as caught:
        checked_scores("mine", lambda query, documents: said, offer.query, offer.documents)
    assert str(caught.value) == f"{__file__}: {problem}"


@pytest.mark.parametrize(
    "make, problem",
    [
        (lambda setting: 1 / 0, ": reranker own failed: ZeroDivisionError: division by zero"),
        (lambda setting: None, ": own: opened NoneType; a function of (query, documents) is needed"),
        (lambda: print, ": reranker own failed: TypeError: "),
    ],
)
def test_a_plug_in_that_cannot_be_opened_is_named_with_its_file(make, problem, setting, monkeypatch):
    monkeypatch.setattr(RERANKERS, "_own", dict(RERANKERS._own))
    reranker("own")(make)
    with pytest.raises(RunError) as caught:
        RerankerChoice("own").opened(setting)
    assert problem in str(caught.value)
    assert str(caught.value).startswith(__file__)


def test_a_plug_in_is_a_function(groups, setting, monkeypatch):
    monkeypatch.setattr(RERANKERS, "_own", dict(RERANKERS._own))

    @reranker("shortest")
    def shortest(setting):
        """The shortest text first."""
        return lambda query, documents: [-len(text) for text in documents.texts]

    offer = queries_with_documents(groups)[0]
    found = checked_scores("shortest", RerankerChoice("shortest").opened(setting), offer.query, offer.documents)
    assert found.tolist() == [-len(text) for text in offer.documents.texts]


@pytest.mark.parametrize("name", ["static", "minilm", "sentence-transformers:x", "cross-encoder:x"])
def test_what_is_not_on_this_machine_says_so_without_loading_it(name, setting):
    why = RerankerChoice(name).absent(setting)
    assert why == "" or "not installed: pip install" in why or "is not on this machine" in why


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")
def test_a_cross_encoder_gives_the_logits_of_its_model(place, groups, setting):
    library = pytest.importorskip("sentence_transformers")
    import torch

    folder = cross_encoder(place)
    offer = queries_with_documents(groups)[0]
    found = RerankerChoice(f"cross-encoder:{folder}").opened(setting)(offer.query, offer.documents)
    model = library.CrossEncoder(str(folder), local_files_only=True)
    pairs = [(offer.query, text) for text in offer.documents.texts]
    assert found == pytest.approx(model.predict(pairs, activation_fn=torch.nn.Identity()), abs=1e-5)
    assert len(set(found)) > 1


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")
def test_a_cross_encoder_of_several_numbers_a_pair_is_refused(place, groups, setting):
    pytest.importorskip("sentence_transformers")
    offer = queries_with_documents(groups)[0]
    opened = RerankerChoice(f"cross-encoder:{cross_encoder(place, 3)}").opened(setting)
    with pytest.raises(RunError, match="gives 3 numbers a pair; a model with one is needed"):
        opened(offer.query, offer.documents)


def test_listing_rerankers_loads_no_library():
    code = (
        "import sys, ltr.rerankers.protocol as r; r.RERANKERS.names(); "
        "print(sorted({'torch', 'sentence_transformers', 'transformers', 'scipy', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
