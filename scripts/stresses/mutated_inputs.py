"""What scripts/stress mutations damages: for each kind of input, what is made before, and how one case is checked."""

import copy
import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import ltr
from ltr import RunConfig, TrainConfig, read_groups
from ltr.encoders import VectorCache
from ltr.encoders.disk import FILE
from ltr.errors import ConfigError, LtrError
from ltr.features import FEATURES
from ltr.featurized import load_columns, open_columns
from ltr.files import read_arrays, write_arrays
from ltr.files.reading import zstd_module
from ltr.importers import IMPORTERS, recognise
from ltr.journal import JournalFile
from ltr.rerankers import load_bench
from ltr.results import evaluate_router
from ltr.samples import sample_shards
from ltr.serving import read_outcomes
from stresses.attacks import must
from subcommands import ROOT
from tests import test_import_fuzz as chats
from tests import test_import_mutations as exports
from tests.made import ROWS, DataConfig, damaged, save_run, tool_rows, written
from tests.mutations import ARRAY_CHANGES, ODD_VALUES, inner_places, mutated, read_model, write_model
from tests.test_catalogues import LINE as GRAPH
from tests.test_hostile_yaml import SNIPPETS
from tests.test_samples_fuzz import MUTATORS, check, flip_bit, sound_lines
from tests.test_tool_lists import LINES, SHAPES

OFFERED = ["get_map", "get_mail", "get_news"]


@dataclass(frozen=True)
class Kind:
    """So many cases; what is made before them, and a check of one, which raises where something is wrong."""

    number: int
    check: Callable
    prepare: Callable


KINDS: dict[str, Kind] = {}


def kind(number, prepare=lambda: None):
    """Register a check: it takes the generator and what was prepared, and raises an LtrError where it is refused."""

    def register(check):
        KINDS[check.__name__] = Kind(number, check, prepare)
        return check

    return register


def changed(draw, document):
    """Return a copy of the JSON document with one value odd, deleted, wrapped or as a text."""
    document = copy.deepcopy(document)
    places = [*inner_places(document)]
    if not places:
        return draw.choice(ODD_VALUES)
    parent, key = draw.choice(places)
    match draw.choice(["odd", "odd", "delete", "wrap", "text"]):
        case "delete":
            del parent[key]
        case "wrap":
            parent[key] = [parent[key]]
        case "text":
            parent[key] = json.dumps(parent[key])
        case _:
            parent[key] = copy.deepcopy(draw.choice(ODD_VALUES))
    return document


def config_of(train, **settings):
    """Return the config of a small training."""
    return RunConfig(data=replace(DataConfig(), train=str(train)), encoder="hash", **settings)


def with_array(draw, path, arrays):
    """Write the arrays with one of them changed."""
    name = draw.choice(sorted(arrays))
    write_arrays(path, arrays | {name: np.ascontiguousarray(draw.choice(ARRAY_CHANGES)(arrays[name], draw))})


def refuse(is_refused):
    """Say that a case was refused, where it was."""
    if is_refused:
        raise LtrError("refused")


def mutated_lines(draw):
    """Return the lines of samples by one of the mutators, which lie in a file."""
    lines, path = MUTATORS[draw.choice(list(MUTATORS))](draw, sound_lines(draw)), Path("s.jsonl")
    path.write_bytes(b"\n".join(lines))
    return path, lines


@kind(100_000)
def samples(draw, _):
    """A samples file: rows in full, or one error with its line."""
    refuse(not check(*mutated_lines(draw)))


def good_configs():
    """Return the configs that are shipped, and a sweep."""
    paths = [*sorted((ROOT / "configs").glob("*.yaml")), *(ROOT / "ltr").rglob("starter/ltr.yaml")]
    texts = [path.read_text("utf-8") for path in paths]
    return [*texts, "name: a\ndata: {train: s.jsonl}\nsweep:\n  train.l2: [0.1, 1]\n  seed: {from: 1, to: 9}\n"]


@kind(10_000, good_configs)
def configs(draw, texts):
    """A config with snippets put in, read as a run, a sweep and a bench: each problem has its place."""
    text = draw.choice(texts)
    for _ in range(draw.randint(1, 4)):
        first = draw.randrange(len(text) + 1)
        last = min(len(text), first + draw.choice([0, 0, 1, 3, 20]))
        text = text[:first] + draw.choice([*SNIPPETS, text[first:last] * 2, ""]) + text[last:]
    Path("c.yaml").write_bytes(text.encode(errors="surrogatepass"))
    try:
        draw.choice([ltr.load_config, ltr.sweep, load_bench])("c.yaml")
    except ConfigError as error:
        places = [problem.place for problem in error.problems]
        assert all(place.line >= 1 and place.column >= 1 for place in places if place), "a problem without its place"
        raise


@kind(5_000)
def compressed(draw, _):
    """A compressed file, cut or with a bit flipped: never read short."""
    content, zstd = b"\n".join(sound_lines(draw)), zstd_module()
    is_gzip = draw.random() < 0.5
    with_sum = {zstd.CompressionParameter.checksum_flag: 1}
    packed = gzip.compress(content) if is_gzip else zstd.compress(content, options=with_sum)
    path = Path("s.jsonl.gz" if is_gzip else "s.jsonl.zst")
    is_cut = draw.random() < 0.5
    path.write_bytes(packed[: draw.randrange(1, len(packed))] if is_cut else flip_bit(draw, packed))
    refuse(not check(path, content.split(b"\n")))
    assert not is_cut, "a file that was cut off was read"
    read = (gzip.decompress if is_gzip else zstd.decompress)(path.read_bytes())
    assert read == content, "other content was read"


@kind(5_000)
def shards(draw, _):
    """A samples file read in shards: as in memory, refused or read."""

    def told(read):
        try:
            return read()
        except LtrError as error:
            return str(error)

    def by_parts():
        with sample_shards(path, rows=rows) as cut:
            return sum(len(groups.labels) for groups in cut)

    (path, _), rows = mutated_lines(draw), draw.choice([1, 5, 1000])
    whole, parts = told(lambda: len(read_groups(path).labels)), told(by_parts)
    assert parts == whole, f"in memory {whole}, in shards {parts}"
    refuse(isinstance(whole, str))


def trained_models():
    """Make a model of tools and one of graphs, with every column that learns, and the candidates they rank."""
    made = []
    for name, rows in ROWS.items():
        train, home = written(f"{name}.jsonl", rows(range(25))), Path(f"model-{name}")
        learning = tuple(each for each in FEATURES.names() if FEATURES[each].kind == name and FEATURES[each].learner)
        save_run(config_of(train, features=learning), home)
        candidates = read_groups(train).candidates
        files = {each: (home / each).read_bytes() for each in ("model.json", "model.npz")}
        made.append((read_model(home), files, candidates, ranks(home, candidates)))
    return made


def ranks(home, candidates):
    """Return what the model answers, to compare."""
    return [(choice.candidate, choice.score) for answer in ltr.load(home).answers(candidates) for choice in answer]


@kind(2_000, trained_models)
def models(draw, made):
    """A model with a state changed and its checksums mended, or with its bytes damaged: no other ranking by damage."""
    (document, arrays), files, candidates, expected = draw.choice(made)
    home = Path("damaged")
    if draw.random() < 0.5:
        write_model(home, *mutated(document, arrays, draw)[:2])
        ranks(home, candidates)
        return
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    name = draw.choice(list(files))
    for each, content in files.items():
        (home / each).write_bytes(damaged(draw, content) if each == name else content)
    assert ranks(home, candidates) == expected, f"{name} was damaged, and ranks otherwise"


PLACES = (
    *("model/model.npz", "model/model.json", "model/run.json", "s.npz", "s.jsonl", "s.pkl", "tools.json", "c.yaml"),
    *("cache/vectors.sqlite", "outcomes.jsonl"),
)


@kind(100)
def pickles(draw, _):
    """A pickle, plain or as an array of objects, in the place of whatever is read: refused, and not opened."""
    place, is_array = Path(draw.choice(PLACES)), draw.random() < 0.5
    place.parent.mkdir(exist_ok=True)
    if is_array:

        class Payload:
            def __reduce__(self):
                return exec, ("open('executed', 'w')",)

        array = np.empty(1, dtype=object)
        array[0] = Payload()
        with place.open("wb") as file:
            np.savez(file, phi=array, state=array)
    else:
        place.write_bytes(b"cos\nsystem\n(S'touch executed'\ntR.")
    uses = {"model": lambda: ltr.load("model"), "tools": lambda: ltr.read_tools(place)}
    uses |= {"c": lambda: ltr.load_config(place), "outcomes": lambda: list(read_outcomes(place))}
    try:
        uses.get(place.parts[0].partition(".")[0], lambda: read_groups(str(place)))()
    finally:
        assert not Path("executed").exists(), "the pickle was executed"
    raise AssertionError("a pickle was read")


def vector_caches():
    """Make a cache of vectors."""
    vectors = {number.to_bytes(16, "little"): np.full(8, number, dtype=np.float32) for number in range(60)}
    VectorCache(Path("cached")).put(vectors)
    return Path("cached", FILE).read_bytes(), vectors


@kind(3_000, vector_caches)
def caches(draw, made):
    """A cache of vectors whose bytes are damaged, half of the time in its description of itself: no other vector."""
    content, vectors = made
    home, at = Path("damaged-cache"), content.rindex(b"CREATE TABLE") - 30 + draw.randrange(130)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700)
    described = content[:at] + bytes([draw.randrange(256)]) + content[at + 1 :]
    (home / FILE).write_bytes(described if draw.random() < 0.5 else damaged(draw, content))
    cache = VectorCache(home)
    cache.info()
    for _ in range(2):
        found = cache.get(list(vectors))
        assert all((found[key] == vectors[key]).all() for key in found), "another vector was read"
        cache.put(vectors)
    VectorCache(home).clear()
    assert not [*home.iterdir()], "something is left"


def featurised():
    """Make columns of tools and of graphs, as arrays and as bytes."""
    for name, rows in ROWS.items():
        written(f"{name}.jsonl", rows(range(9)))
        must(f"featurize {name}.jsonl -o {name}.npz --encoder hash")
    return [(read_arrays(f"{name}.npz", limit=1 << 30), Path(f"{name}.npz").read_bytes()) for name in ROWS]


@kind(2_000, featurised)
def columns(draw, made):
    """A file of featurised samples with an array or a byte changed: refused, or groups that can be ranked."""
    (arrays, content), path = draw.choice(made), Path("damaged.npz")
    if draw.random() < 0.5:
        with_array(draw, path, arrays)
    else:
        path.write_bytes(damaged(draw, content))
    groups, _ = load_columns(path)
    phi = groups.candidates.features
    assert np.isfinite(phi).all(), "phi is not finite"
    ltr.evaluate(ltr.rank(phi.sum(axis=1), groups.offsets), groups.labels)


def column_directories():
    """Make a directory of columns in four parts: its bytes, and the arrays of a part."""
    written("parts.jsonl", tool_rows(range(12)))
    must("featurize parts.jsonl -o parts/ --encoder hash --shard-rows 30")
    of_parts()  # once in a process it asks the system for the processor's name
    files = {path.name: path.read_bytes() for path in Path("parts").iterdir()}
    return files, read_arrays("parts/part-00001.npz", limit=1 << 30)


def of_parts():
    """Train on the directory."""
    train = TrainConfig(trainer="newton")
    save_run(RunConfig(data=replace(DataConfig(), train="parts"), train=train), "of-parts", overwrite=True)


@kind(1_000, column_directories)
def parts(draw, made):
    """A directory of columns with a file damaged, its manifest changed, or an array of a part and its checksum.

    Refused, or trained on and measured.
    """
    files, arrays = made
    home, name, what = Path("parts"), draw.choice(sorted(files)), draw.choice(["damaged", "manifest", "array"])
    for each, content in files.items():
        (home / each).write_bytes(content)
    manifest = json.loads(files["manifest.json"])
    if what == "damaged":
        (home / name).write_bytes(damaged(draw, files[name]))
    elif what == "manifest":
        manifest = changed(draw, manifest)
    else:
        with_array(draw, home / "part-00001.npz", arrays)
        content = (home / "part-00001.npz").read_bytes()
        manifest["parts"][1] |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    if what != "damaged":
        (home / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    of_parts()
    assert what != "damaged" or (home / name).read_bytes() == files[name], f"{name} was damaged, and was trained on"
    evaluate_router(ltr.load("of-parts"), open_columns("parts"), RunConfig())


@kind(5_000)
def catalogues(draw, _):
    """A list of tools or of graphs, of any shape, with values or bytes changed."""
    path, read = Path("tools.json"), ltr.read_tools
    if draw.random() < 0.3:
        rows, path, read = [GRAPH | {"candidate_id": f"g{n}"} for n in range(3)], Path("g.jsonl"), ltr.read_graphs
        text = "\n".join(json.dumps(changed(draw, row)) for row in rows)
    elif draw.random() < 0.5:
        text = json.dumps(changed(draw, draw.choice(list(SHAPES.values()))))
    else:
        text = "\n".join(map(json.dumps, changed(draw, draw.choice(list(LINES.values())))))
    content = text.encode()
    path.write_bytes(damaged(draw, content) if content and draw.random() < 0.4 else content)
    read(path)


def served_run():
    """Make a run that outcomes are written for."""
    save_run(config_of(written("t.jsonl", tool_rows(range(9)))), "served", overwrite=True)
    router = ltr.load("served")
    for number in range(4):
        router.learn({"query": f"what is the map of {number}?", "offered": OFFERED, "right": "get_map"})
    return Path("served/outcomes.journal").read_bytes()


@kind(2_000, served_run)
def journals(draw, content):
    """A journal whose bytes are damaged gives whole lines alone; one of odd lines with checksums, no traceback."""
    path = Path("served/outcomes.journal")
    path.write_bytes(content)
    lines = JournalFile(path).read().contents
    if draw.random() < 0.5:
        path.write_bytes(damaged(draw, content))
        assert set(JournalFile(path).read().contents) <= set(lines), "a damaged line counts"
    else:
        path.unlink()
        for line in lines[:2]:
            JournalFile(path).append(json.dumps(changed(draw, json.loads(line))).encode())
    ltr.load("served")


@kind(2_000, served_run)
def outcomes(draw, content):
    """A file of outcomes with values or bytes changed, learned from."""
    rows = [{"query": f"q{n}", "offered": OFFERED, "right": OFFERED[n % 3], "previous": OFFERED[:n]} for n in range(3)]
    text = "\n".join(json.dumps(changed(draw, row)) for row in rows).encode()
    Path("o.jsonl").write_bytes(damaged(draw, text) if draw.random() < 0.3 else text)
    Path("served/outcomes.journal").write_bytes(content)
    ltr.load("served").learn(read_outcomes("o.jsonl"))


@kind(10_000)
def importers(draw, _):
    """A log of any importer, with values or bytes changed."""
    name = draw.choice(sorted(IMPORTERS.names()))
    if name in exports.TABLES or name == "trec":
        text = exports.TABLES.get(name, "1 Q0 a 1 2.5 t\n1 Q0 b 2 1.5 t\n").encode()
        content = damaged(draw, text)
    else:
        documents = copy.deepcopy(exports.JSON.get(name) or chats.GOOD[name])
        for _ in range(draw.randint(1, 3)):
            documents = changed(draw, documents)
        documents = documents if isinstance(documents, list) else [documents]
        is_array = draw.random() < 0.3
        content = (json.dumps(documents) if is_array else "\n".join(map(json.dumps, documents))).encode()
        content = damaged(draw, content) if content and draw.random() < 0.3 else content
    Path("log").write_bytes(content or b"\n")
    recognise("log")
    summary = ltr.import_samples(name, ["log"], "x.jsonl", overwrite=True)
    groups = len(read_groups("x.jsonl").offsets) - 1
    assert groups == summary.groups, f"{name}: {groups} groups lie there, and {summary.groups} were counted"


def run_directories():
    """Make two runs."""
    train = written("t.jsonl", tool_rows(range(9)))
    for name, features in {"a": ("tool.rel", "tool.name"), "b": ("tool.rel",)}.items():
        save_run(config_of(train, features=features), name)
    return {path.name: path.read_bytes() for path in Path("a").iterdir()}


@kind(2_000, run_directories)
def runs(draw, files):
    """A run with a file damaged, or a value of it changed: opened, audited, compared and reported."""
    home = Path("a")
    for path in home.iterdir():
        if path.name not in files:
            path.unlink()
    for name, content in files.items():
        (home / name).write_bytes(content)
    name = draw.choice([name for name in files if name != "report.html"])
    content = damaged(draw, files[name])
    if draw.random() < 0.6 and name.endswith((".json", ".jsonl")):
        lines = files[name].splitlines() if name.endswith("l") else [files[name]]
        place = draw.randrange(len(lines))
        lines[place] = json.dumps(changed(draw, json.loads(lines[place]))).encode()
        content = b"\n".join(lines)
    (home / name).write_bytes(content)
    ltr.audit_run(home)
    Path("page.html").unlink(missing_ok=True)
    refused = 0
    for use in (
        lambda: ltr.write_report([home], "page.html"),
        lambda: ltr.compare(["b", "a"]),
        lambda: ltr.load(home).rank("weather?"),
    ):
        try:
            use()
        except LtrError:
            refused += 1
    refuse(refused)
