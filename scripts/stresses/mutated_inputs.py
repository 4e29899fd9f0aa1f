"""What scripts/stress mutations damages: for each kind of input, what is made before, and how one case is checked."""

import copy
import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import ltr
from ltr import RunConfig, TrainConfig, audit_run, import_samples, read_graphs, read_groups, read_tools, sweep
from ltr.benchmark.config import load_bench
from ltr.data.config import DataConfig
from ltr.data.importers.file_beginning import read_opening
from ltr.data.importers.registry import IMPORTERS
from ltr.data.sample_shards import sample_shards
from ltr.encoders.vector_cache import FILE, VectorCache
from ltr.errors import ConfigError, LtrError
from ltr.experiments.featurize import featurize_and_save
from ltr.experiments.single_run import run_and_save
from ltr.files.content_digests import digest_file
from ltr.files.journal import append_line, read_journal
from ltr.files.npz import read_arrays, write_arrays
from ltr.files.reading import zstd_module
from ltr.measuring import evaluate_router
from ltr.reporting.report import report_of
from ltr.serving.outcomes import read_outcomes
from ltr.storage.columns_file import load_columns
from ltr.storage.sharded_columns import open_columns
from subcommands import ROOT
from tests import test_import_fuzz as chats
from tests import test_import_mutations as exports
from tests.made import ROWS, damaged, tool_rows, written
from tests.mutations import ARRAY_CHANGES, ODD_VALUES, inner_places, mutated, read_model, write_model
from tests.test_catalogues import LINE as GRAPH
from tests.test_hostile_yaml import SNIPPETS
from tests.test_samples_fuzz import MUTATORS, check, flip_bit, sound_lines
from tests.test_tool_lists import LINES, SHAPES


@dataclass(frozen=True)
class Kind:
    """So many cases; what is made before them, and a check of one, which raises where something is wrong."""

    number: int
    check: Callable
    prepare: Callable = lambda: None


def changed(draw, document):
    """A copy of the JSON document with one value odd, deleted, wrapped or as a text."""
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


def samples(draw, _):
    """A samples file by one of the mutators: rows in full, or one error with its line."""
    lines = MUTATORS[draw.choice(list(MUTATORS))](draw, sound_lines(draw))
    path = Path("s.jsonl")
    path.write_bytes(b"\n".join(lines))
    if not check(path, lines):
        raise LtrError("refused")


def compressed(draw, _):
    """A compressed file, cut or with a bit flipped: never read short."""
    content, zstd = b"\n".join(sound_lines(draw)), zstd_module()
    is_gzip = draw.random() < 0.5
    with_sum = {zstd.CompressionParameter.checksum_flag: 1}
    packed = gzip.compress(content) if is_gzip else zstd.compress(content, options=with_sum)
    path = Path("s.jsonl.gz" if is_gzip else "s.jsonl.zst")
    is_cut = draw.random() < 0.5
    path.write_bytes(packed[: draw.randrange(1, len(packed))] if is_cut else flip_bit(draw, packed))
    if not check(path, content.split(b"\n")):
        raise LtrError("refused")
    assert not is_cut, "a file that was cut off was read"
    assert digest_file(path).sha256 == hashlib.sha256(content).hexdigest(), "other content was read"


def shards(draw, _):
    """A samples file by one of the mutators, read in shards: as in memory, refused or read."""
    lines = MUTATORS[draw.choice(list(MUTATORS))](draw, sound_lines(draw))
    path = Path("s.jsonl")
    path.write_bytes(b"\n".join(lines))
    whole = told(lambda: len(read_groups(path).labels))
    rows = draw.choice([1, 5, 1000])
    by_parts = told(lambda: labels_in_shards(path, rows))
    assert by_parts == whole, f"in memory {whole}, in shards {by_parts}"
    if isinstance(whole, str):
        raise LtrError("refused")


def labels_in_shards(path, rows):
    """How many labels all shards have."""
    with sample_shards(path, rows=rows) as cut:
        return sum(len(groups.labels) for groups in cut)


def told(read):
    """What is read, or the error."""
    try:
        return read()
    except LtrError as error:
        return str(error)


def good_configs():
    """The configs that are shipped, and a sweep."""
    texts = [path.read_text("utf-8") for path in sorted((ROOT / "configs").glob("*.yaml"))]
    texts.append((ROOT / "ltr/experiments/starter/ltr.yaml").read_text("utf-8"))
    return [*texts, "name: a\ndata: {train: s.jsonl}\nsweep:\n  train.l2: [0.1, 1]\n  seed: {from: 1, to: 9}\n"]


def configs(draw, texts):
    """A config with snippets put in, read as a run, a sweep and a bench: each problem has its place."""
    text = draw.choice(texts)
    for _ in range(draw.randint(1, 4)):
        first = draw.randrange(len(text) + 1)
        last = min(len(text), first + draw.choice([0, 0, 1, 3, 20]))
        text = text[:first] + draw.choice([*SNIPPETS, text[first:last] * 2, ""]) + text[last:]
    Path("c.yaml").write_bytes(text.encode(errors="surrogatepass"))
    load = draw.choice([ltr.load_config, sweep, load_bench])
    try:
        load("c.yaml")
    except ConfigError as error:
        places = [problem.place for problem in error.problems]
        assert all(place.line >= 1 and place.column >= 1 for place in places if place), "a problem without its place"
        raise


def trained_models():
    """A model of tools and one of graphs, with every column that learns, and the candidates they rank."""
    from ltr.features.registry import FEATURES

    made = []
    for kind, rows in ROWS.items():
        train = written(f"{kind}.jsonl", rows(range(25)))
        names = tuple(name for name in FEATURES.names() if FEATURES[name].kind == kind and FEATURES[name].learner)
        run_and_save(RunConfig(data=DataConfig(train=train), features=names, encoder="hash"), f"model-{kind}")
        candidates, home = read_groups(train).candidates, Path(f"model-{kind}")
        files = {path.name: path.read_bytes() for path in home.iterdir() if path.name in ("model.json", "model.npz")}
        made.append((read_model(home), files, candidates, ranks(home, candidates)))
    return made


def ranks(home, candidates):
    """What the model answers, to compare."""
    return [(choice.candidate, choice.score) for answer in ltr.load(home).answers(candidates) for choice in answer]


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


def featurised():
    """Columns of tools and of graphs, as arrays and as bytes."""
    made = []
    for kind, rows in ROWS.items():
        train = written(f"{kind}.jsonl", rows(range(9)))
        featurize_and_save(RunConfig(data=DataConfig(train=train), encoder="hash"), f"{kind}.npz")
        made.append((read_arrays(f"{kind}.npz", limit=1 << 30), Path(f"{kind}.npz").read_bytes()))
    return made


def columns(draw, made):
    """A file of featurised samples with an array or a byte changed: refused, or groups that can be ranked."""
    arrays, content = draw.choice(made)
    path = Path("damaged.npz")
    if draw.random() < 0.5:
        name = draw.choice(sorted(arrays))
        array = np.ascontiguousarray(draw.choice(ARRAY_CHANGES)(arrays[name], draw))
        write_arrays(path, arrays | {name: array})
    else:
        path.write_bytes(damaged(draw, content))
    groups, _ = load_columns(path)
    phi = groups.candidates.features
    assert np.isfinite(phi).all(), "phi is not finite"
    ltr.evaluate(ltr.rank(phi.sum(axis=1), groups.offsets), groups.labels)


def column_directories():
    """A directory of columns in four parts: its bytes, and the arrays of a part."""
    train = written("parts.jsonl", tool_rows(range(12)))
    featurize_and_save(RunConfig(data=DataConfig(train=train), encoder="hash"), "parts/", rows=30)
    files = {path.name: path.read_bytes() for path in Path("parts").iterdir()}
    run_and_save(of_parts(), "of-parts")  # once in a process it asks the system for the processor's name
    return files, read_arrays("parts/part-00001.npz", limit=1 << 30)


def of_parts():
    """A training on the directory."""
    return RunConfig(data=DataConfig(train="parts"), train=TrainConfig(trainer="newton"))


def parts(draw, made):
    """A directory of columns with a file damaged, its manifest changed, or an array of a part and its checksum.

    Refused, or trained on and measured.
    """
    files, arrays = made
    home, name = Path("parts"), draw.choice(sorted(files))
    for each, content in files.items():
        (home / each).write_bytes(content)
    kind = draw.choice(["damaged", "manifest", "array"])
    if kind == "damaged":
        (home / name).write_bytes(damaged(draw, files[name]))
    manifest = json.loads(files["manifest.json"])
    if kind == "manifest":
        manifest = changed(draw, manifest)
    elif kind == "array":
        name = draw.choice(sorted(arrays))
        array = np.ascontiguousarray(draw.choice(ARRAY_CHANGES)(arrays[name], draw))
        write_arrays(home / "part-00001.npz", arrays | {name: array})
        content = digest_file(home / "part-00001.npz")
        manifest["parts"][1] |= {"sha256": content.sha256, "bytes": content.byte_count}
    if kind != "damaged":
        (home / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    run_and_save(of_parts(), "of-parts", overwrite=True)
    assert kind != "damaged" or (home / name).read_bytes() == files[name], f"{name} was damaged, and was trained on"
    evaluate_router(ltr.load("of-parts"), open_columns("parts"), RunConfig())


def catalogues(draw, _):
    """A list of tools or of graphs, of any shape, with values or bytes changed."""
    if draw.random() < 0.3:
        rows = [GRAPH | {"candidate_id": f"g{number}"} for number in range(3)]
        text, path, read = "\n".join(json.dumps(changed(draw, row)) for row in rows), Path("g.jsonl"), read_graphs
    else:
        path, read = Path("tools.json"), read_tools
        if draw.random() < 0.5:
            text = json.dumps(changed(draw, draw.choice(list(SHAPES.values()))))
        else:
            text = "\n".join(map(json.dumps, changed(draw, draw.choice(list(LINES.values())))))
    content = text.encode()
    path.write_bytes(damaged(draw, content) if content and draw.random() < 0.4 else content)
    read(path)


def served_run():
    """A run that outcomes are written for."""
    shutil.rmtree("served", ignore_errors=True)
    run_and_save(RunConfig(data=DataConfig(train=written("t.jsonl", tool_rows(range(9)))), encoder="hash"), "served")
    router = ltr.load("served")
    for number in range(4):
        offered = ["get_map", "get_mail", "get_news"]
        router.learn({"query": f"what is the map of {number}?", "offered": offered, "right": "get_map"})
    return Path("served/outcomes.journal").read_bytes()


def journals(draw, content):
    """A journal whose bytes are damaged gives whole lines alone; one of odd lines with checksums, no traceback."""
    path = Path("served/outcomes.journal")
    lines = read_journal_of(path, content)
    if draw.random() < 0.5:
        path.write_bytes(damaged(draw, content))
        assert set(read_journal(path).contents) <= set(lines), "a damaged line counts"
    else:
        path.unlink()
        for line in lines[:2]:
            append_line(path, json.dumps(changed(draw, json.loads(line))).encode())
    ltr.load("served")


def read_journal_of(path, content):
    """The lines of the whole journal."""
    path.write_bytes(content)
    return read_journal(path).contents


def outcomes(draw, content):
    """A file of outcomes with values or bytes changed, learned from."""
    names = ["get_map", "get_mail", "get_news"]
    rows = [{"query": f"q{n}", "offered": names, "right": names[n % 3], "previous": names[:n]} for n in range(3)]
    text = "\n".join(json.dumps(changed(draw, row)) for row in rows).encode()
    Path("o.jsonl").write_bytes(damaged(draw, text) if draw.random() < 0.3 else text)
    Path("served/outcomes.journal").write_bytes(content)
    ltr.load("served").learn(read_outcomes("o.jsonl"))


def logs(draw, _):
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
    IMPORTERS[name].looks_like(read_opening("log"))
    summary = import_samples(name, ["log"], "x.jsonl", overwrite=True)
    groups = len(read_groups("x.jsonl").offsets) - 1
    assert groups == summary.groups, f"{name}: {groups} groups lie there, and {summary.groups} were counted"


def run_directories():
    """Two runs, by file."""
    train = written("t.jsonl", tool_rows(range(9)))
    homes = []
    for name, features in ("a", ("tool.rel", "tool.name")), ("b", ("tool.rel",)):
        config = RunConfig(data=DataConfig(train=train), features=features, encoder="hash")
        run_and_save(config, name)
        homes.append(Path(name))
    return {path.name: path.read_bytes() for path in homes[0].iterdir()}


def runs(draw, files):
    """A run with a file damaged, or a value of it changed: opened, audited, compared and reported."""
    home = Path("a")
    for path in home.iterdir():
        if path.read_bytes() != files.get(path.name):
            path.unlink()
    for name, content in files.items():
        if not (home / name).exists():
            (home / name).write_bytes(content)
    name = draw.choice([name for name in files if name != "report.html"])
    content = damaged(draw, files[name])
    if draw.random() < 0.6 and name.endswith((".json", ".jsonl")):
        lines = files[name].splitlines() if name.endswith("l") else [files[name]]
        place = draw.randrange(len(lines))
        lines[place] = json.dumps(changed(draw, json.loads(lines[place]))).encode()
        content = b"\n".join(lines)
    (home / name).write_bytes(content)
    audit_run(home)
    refused = 0
    for use in (lambda: report_of([home]), lambda: ltr.compare(["b", "a"]), lambda: ltr.load(home).rank("weather?")):
        try:
            use()
        except LtrError:
            refused += 1
    if refused:
        raise LtrError("refused")


PAYLOAD = b"cos\nsystem\n(S'touch executed'\ntR."
PLACES = (
    *("model/model.npz", "model/model.json", "model/run.json", "s.npz", "s.jsonl", "s.pkl", "tools.json", "c.yaml"),
    *("cache/vectors.sqlite", "outcomes.jsonl"),
)


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
        place.write_bytes(PAYLOAD)
    uses = {
        "model": lambda: ltr.load("model"),
        "s": lambda: ltr.read_groups(str(place)),
        "tools": lambda: ltr.read_tools(place),
        "c": lambda: ltr.load_config(place),
        "outcomes": lambda: list(read_outcomes(place)),
        "cache": lambda: read_groups(place),
    }
    try:
        uses[place.parts[0].partition(".")[0]]()
    finally:
        assert not Path("executed").exists(), "the pickle was executed"
    raise AssertionError("a pickle was read")


def vector_caches():
    """The bytes of a cache of vectors, and the vectors in it."""
    vectors = {number.to_bytes(16, "little"): np.full(8, number, dtype=np.float32) for number in range(60)}
    VectorCache(Path("cached")).put(vectors)
    return Path("cached", FILE).read_bytes(), vectors


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


KINDS = {
    "samples": Kind(100_000, samples),
    "configs": Kind(10_000, configs, good_configs),
    "compressed": Kind(5_000, compressed),
    "shards": Kind(5_000, shards),
    "models": Kind(2_000, models, trained_models),
    "pickles": Kind(100, pickles),
    "caches": Kind(3_000, caches, vector_caches),
    "columns": Kind(2_000, columns, featurised),
    "parts": Kind(1_000, parts, column_directories),
    "catalogues": Kind(5_000, catalogues),
    "journals": Kind(2_000, journals, served_run),
    "outcomes": Kind(2_000, outcomes, served_run),
    "importers": Kind(10_000, logs),
    "runs": Kind(2_000, runs, run_directories),
}
