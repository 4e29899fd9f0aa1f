"""Configs: what wins, where paths lead, what is said about mistakes."""

from contextlib import suppress
from dataclasses import fields, replace
from itertools import combinations
from pathlib import Path

import pytest

from ltr import RunConfig, TrainConfig, load_config
from ltr.cli.options import Call
from ltr.config import Document, run_config, yaml_text
from ltr.errors import ConfigError, FileError, UsageError
from ltr.paths import path_to
from ltr.rerankers import load_bench
from tests.made import DataConfig, EvaluateConfig, graph_rows, save_run, tool_rows, written


def config_file(directory, text, name="ltr.yaml"):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(text, encoding="utf-8")
    return directory / name


def test_without_a_file_every_key_has_its_default():
    assert load_config() == RunConfig(
        name="run",
        seed=0,
        kind=None,
        data=DataConfig(train=(), test=None, tools=None, graphs=None),
        features=(),
        encoder="auto",
        train=TrainConfig(trainer="descent", learning_rate=0.01, epochs=100, l2=0.001),
        evaluate=EvaluateConfig(metrics=(), ties="expected", no_relevant="skip", rel_threshold=1.0, baselines=True),
    )


def test_a_file_beats_the_defaults_set_beats_the_file_and_a_flag_beats_all(tmp_path):
    path = config_file(tmp_path, "seed: 1\ntrain: {epochs: 10, l2: 0.1, learning_rate: 0.1}\n")
    sets = ["train.epochs=20", "train.l2=0.2"]
    config = Call(config=str(path), sets=sets, keys={"train.epochs": 30}).configured()
    assert (config.seed, config.train.learning_rate) == (1, 0.1)
    assert (config.train.l2, config.train.epochs) == (0.2, 30)


def test_a_flag_that_was_not_given_changes_nothing(cli, tmp_path):
    written(tmp_path / "a.jsonl", tool_rows(range(3)))
    path = config_file(tmp_path, "seed: 1\ntrain: {epochs: 10, recipe: recommended}\nevaluate: {catalogue: true}\n")
    train = ("train", tmp_path / "a.jsonl", "-c", path, "--set", "data.texts=true", "-o", tmp_path / "run", "--dry-run")
    config = cli.good(*train)
    for line in ("seed: 1", "epochs: 10", "recipe: recommended", "catalogue: true", "texts: true", "name: run"):
        assert f"{line}\n" in config
    assert "catalogue: false\n" in cli.good(*train, "--no-catalogue", "--epochs", "3")


def test_of_two_sets_of_one_key_the_later_wins():
    assert load_config(None, ["seed=1", "seed=2"]).seed == 2


@pytest.mark.parametrize("text, value", [("1e-3", 0.001), ("0.5", 0.5), ("1", 1.0), ("-0.0", 0.0)])
def test_set_reads_numbers_as_the_file_does(tmp_path, text, value):
    assert load_config(None, [f"train.l2={text}"]).train.l2 == value
    assert load_config(config_file(tmp_path, f"train: {{l2: {text}}}\n")).train.l2 == value


def test_set_takes_lists_and_mappings():
    config = load_config(None, ["features=[tool.rel, {name: tool.hist, strength: 5}]", "evaluate.metrics=[ndcg@10]"])
    assert config.features == ("tool.rel", {"name": "tool.hist", "strength": 5})
    assert config.evaluate.metrics == ("ndcg@10",)


def test_paths_of_a_file_start_at_the_file_and_those_of_flags_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = config_file(tmp_path / "configs", "data: {train: [../a.jsonl, 'b/*.jsonl'], test: t.jsonl, tools: c.json}\n")
    call = Call(config="configs/ltr.yaml", sets=["data.tools=c.json"], keys={"data.test": "t.jsonl"})
    config = call.configured()
    assert config.data.train == (str(Path("configs/../a.jsonl")), str(Path("configs/b/*.jsonl")))
    assert (config.data.test, config.data.tools) == ("t.jsonl", "c.json")
    assert load_config(path).data.test == str(tmp_path / "configs" / "t.jsonl")


@pytest.mark.parametrize("name", ["-", "/data/a.jsonl"])
def test_stdin_and_absolute_paths_stay_as_they_are(tmp_path, name):
    path = config_file(tmp_path / "configs", f"data: {{train: [{name}]}}\n")
    assert load_config(path).data.train == (name,)


def test_a_share_is_no_path(tmp_path):
    assert load_config(config_file(tmp_path, "data: {test: 0.2}\n")).data.test == 0.2


WRONG = """\
name: 3
sed: 1
kind: tools
data: {train: 5, test: 2.0, tols: x}
features: [tool.rell, {strength: 2}, {name: tool.hist, strenght: 2}, tool.rel, tool.rel]
encoder: hsah
train: {trainer: newtn, epochs: 0, l2: -1, learning_rate: 1e-3x}
evaluate: {metrics: [ndgc@10], ties: random, rel_threshold: 0}
"""


def test_every_mistake_is_told_at_once_in_the_order_of_the_file(tmp_path):
    path = config_file(tmp_path, WRONG)
    with pytest.raises(ConfigError) as error:
        load_config(path)
    told = str(error.value).replace(f"{path}:", "").split("\n")
    assert [line.partition("; known")[0] for line in told] == [
        "1:1: name: 3 is not text; put it in quotes",
        "2:1: sed: unknown key; did you mean seed?",
        "3:1: kind: 'tools' is not tool, graph or null; did you mean tool?",
        "4:8: data.train: 5 is not text or a list; put it in quotes",
        "4:18: data.test: 2.0 is not a share between 0 and 1",
        "4:29: data.tols: unknown key; did you mean tools?",
        "5:12: features[0]: unknown feature 'tool.rell'; did you mean tool.rel?",
        "5:23: features[1]: a feature is a name, or a mapping with the key name",
        "5:38: features[2]: feature tool.hist has no option 'strenght'; did you mean strength?",
        "5:80: features[4]: tool.rel stands twice",
        "6:1: encoder: unknown encoder 'hsah'; did you mean hash?",
        "7:9: train.trainer: unknown trainer 'newtn'; did you mean newton?",
        "7:25: train.epochs: is 0; it must be at least 1, a whole number up to 1,000,000,000",
        "7:36: train.l2: is -1.0; it must be 0 or more, at most 1e+300",
        "7:44: train.learning_rate: '1e-3x' is not a number",
        "8:22: evaluate.metrics[0]: unknown metric 'ndgc@10'; did you mean ndcg@5?",
        "8:32: evaluate.ties: 'random' is not expected, file, worst, best or trec",
        "8:46: evaluate.rel_threshold: 0.0 is not above 0",
    ]


@pytest.mark.parametrize(
    "text, told",
    [
        ("data: {test: 2.0}", "data.test: 2.0 is not a share between 0 and 1"),
        ("train: {epochs: 0}", "train.epochs: is 0; it must be at least 1, a whole number up to 1,000,000,000"),
        ("train: {l2: -1}", "train.l2: is -1.0; it must be 0 or more, at most 1e+300"),
        ("train: {learning_rate: 0}", "train.learning_rate: is 0.0; it must be above 0, at most 1e+300"),
        ("train: {l2: .nan}", "train.l2: nan is not a finite number"),
        ("evaluate: {rel_threshold: 0}", "evaluate.rel_threshold: 0.0 is not above 0"),
        ("evaluate: {threshold: 2}", "evaluate.threshold: 2.0 is not a probability above 0"),
        ("evaluate: {max_grade: 0}", "evaluate.max_grade: 0.0 is not above 0"),
        ("evaluate: {probability: odds}", "evaluate.probability: 'odds' is not softmax, given or sigmoid"),
        ("seed: 1.5", "seed: 1.5 is not an integer"),
        ("train: 3", "train: 3 is not a mapping"),
        ("train: null", "train: null is not a mapping; leave the key out to have its default"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_path(tmp_path, text, told):
    with pytest.raises(ConfigError) as error:
        load_config(config_file(tmp_path, text))
    assert str(error.value).partition(": ")[2] == told


MISTAKES = [
    ("name", 3),
    ("seed", -1),
    ("seed", "x"),
    ("kind", "tools"),
    ("data", 3),
    ("data.test", 2.0),
    ("data.tools", " "),
    ("data.split", "day"),
    ("data.tols", "x"),
    ("features", ["tool.rell", {"name": "tool.hist", "strenght": 1, "prior": 7}, 3, {"strength": 1}]),
    ("encoder", "hsah"),
    ("train", []),
    ("train.trainer", "newtn"),
    ("train.epochs", 0),
    ("train.epochs", 99_999_999),
    ("train.l2", [0.1, "x"]),
    ("train.learning_rate", float("inf")),
    ("train.init", None),
    ("evaluate.metrics", ["ndgc@10", 3]),
    ("evaluate.rel_threshold", 0),
    ("evaluate.threshold", 2),
    ("evaluate.ties", "random"),
    ("sweep", 3),
    ("sweep_count", "x"),
]


def refusal(*mistakes):
    """Path and message of everything that is said of a config with these mistakes."""
    document = Document.of({}, "config.yaml")
    for path, value in mistakes:
        document = document.replace(path, value, "flag")
    with pytest.raises(ConfigError) as told:
        run_config(document)
    return {(problem.path, problem.message) for problem in told.value.problems}


def test_no_mistake_hides_another():
    alone = [refusal(mistake) for mistake in MISTAKES]
    for (one, first), (two, second) in combinations(zip(MISTAKES, alone, strict=True), 2):
        if not one[0].startswith(two[0]) and not two[0].startswith(one[0]):
            assert refusal(one, two) == first | second, (one, two)


def test_all_that_is_wrong_with_a_feature_is_told_at_once():
    assert refusal(("features", [{"name": "tool.hist", "strenght": 2, "strength": -1, "prior": "x"}])) == {
        ("features[0]", "feature tool.hist has no option 'strenght'; did you mean strength?"),
        ("features[0]", "feature tool.hist: strength is -1; a number above 0 is needed"),
        ("features[0]", "feature tool.hist: prior is 'x'; a number is needed"),
    }


def test_a_mistake_in_set_names_the_flag():
    with pytest.raises(ConfigError, match=r"^--set train.epochs: 'x' is not an integer$"):
        load_config(None, ["train.epochs=x"])
    with pytest.raises(
        ConfigError, match=r"^--set: write --set PATH=VALUE|^--set train.epochs: write --set PATH=VALUE"
    ):
        load_config(None, ["train.epochs"])


def test_every_set_that_cannot_be_applied_is_told():
    with pytest.raises(ConfigError) as told:
        load_config(None, ["train.epochs", "seed=1", "seed.a=2", "train.l2=["])
    assert [str(problem).partition(":")[0] for problem in told.value.problems] == [
        "--set train.epochs",
        "--set seed.a",
        "--set train.l2",
    ]


def test_a_mistake_in_a_flag_names_the_flag():
    with pytest.raises(ConfigError, match=r"^--kind: kind: 'tools' is not tool, graph or null; did you mean tool\?$"):
        Call(keys={"kind": "tools"}).configured()


@pytest.mark.parametrize("text", ["[1, 2]", "just text", "3"])
def test_a_config_is_a_mapping(tmp_path, text):
    with pytest.raises(ConfigError, match=r"ltr.yaml:1:1: "):
        load_config(config_file(tmp_path, text))


def test_a_config_that_is_not_there_is_named():
    with pytest.raises(FileError, match="no.yaml: no such file or directory"):
        load_config("no.yaml")


def test_a_config_beyond_a_megabyte_is_refused(tmp_path):
    with pytest.raises(FileError, match="larger than 1048576 bytes"):
        load_config(config_file(tmp_path, "# " + "x" * (1 << 20)))


def test_a_rendered_config_reads_back_as_the_same(tmp_path):
    config = replace(
        load_config(None, ["features=[{name: tool.hist, strength: 5}]", "data.test=0.25", "name='on'"]),
        data=DataConfig(train=("a b.jsonl", "é.jsonl", "~x.jsonl"), test=0.25, tools="c: d.json"),
    )
    path = config_file(tmp_path, yaml_text(config))
    assert run_config(replace(Document.read(path), base=Path())) == config


def test_a_relocated_config_names_the_same_files_from_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = RunConfig(data=DataConfig(train=("a.jsonl", "-", str(tmp_path / "b" / "*.jsonl")), test=0.5))
    moved = config.seen_from(tmp_path / "runs" / "x")
    assert moved.data.train == ("../../a.jsonl", "-", "../../b/*.jsonl")
    assert moved.data.test == 0.5


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name not in ("run.json", "log.jsonl")}


SETTINGS = {
    "tool": ["data.train=train.jsonl", "data.test=0.3", "seed=7", "train.trainer=newton"],
    "graph": ["data.train=[train.jsonl]", "data.test=test.jsonl", "evaluate.metrics=[ndcg@3]", "train.epochs=5"],
}


@pytest.mark.parametrize("kind, rows", [("tool", tool_rows), ("graph", graph_rows)])
def test_the_config_of_a_run_gives_the_same_bytes_from_anywhere(tmp_path, monkeypatch, kind, rows):
    written(tmp_path / "train.jsonl", rows(range(25)))
    written(tmp_path / "test.jsonl", rows(range(30, 35)))
    monkeypatch.chdir(tmp_path)
    save_run(load_config(None, SETTINGS[kind]), "first/run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    save_run(load_config("../first/run/config.yaml"), "../second/run")
    assert contents(tmp_path / "first" / "run") == contents(tmp_path / "second" / "run")


def test_two_configs_of_one_name_are_refused_before_anything_runs(tmp_path):
    from ltr.experiments.batch import planned

    with pytest.raises(UsageError, match="two runs would be kept in .*run: give each config a name of its own"):
        planned([RunConfig(), RunConfig()], tmp_path / "runs")
    assert list(tmp_path.iterdir()) == []


def test_a_seed_is_at_least_zero_and_told_beside_what_else_is_wrong(tmp_path):
    path = tmp_path / "ltr.yaml"
    path.write_text("seed: -1\ntrain: {epochs: 99999999}\n")
    with pytest.raises(ConfigError) as told:
        load_config(path)
    assert [(each.place.line, each.path, each.message) for each in told.value.problems] == [
        (1, "seed", "is -1; it must be 0 or more"),
        (2, "train.epochs", "is 99999999; at most 10000000 are possible"),
    ]


@pytest.mark.parametrize(
    "text, path, message",
    [
        ("data: {train: ''}", "data.train", "is blank; a path is needed"),
        ("data: {train: [a, ' ']}", "data.train", "is blank; a path is needed"),
        ("data: {tools: ''}", "data.tools", "is blank; a path is needed"),
        (
            "kind: tool\nfeatures: [graph.rel]",
            "features[0]",
            "graph.rel is a feature of graphs; one of tools is needed",
        ),
        ("features: [tool.rel, {name: graph.rel}]", "features[1]", "graph.rel is a feature of graphs; one of tools"),
        ("features: [{name: tool.hist, strength: -1}]", "features[0]", "strength is -1; a number above 0 is needed"),
        ("features: [{name: graph.hist, prior: 2}]", "features[0]", "prior is 2; a number from 0 to 1 is needed"),
    ],
)
def test_what_could_not_run_is_refused_before_it_does(tmp_path, text, path, message):
    file = tmp_path / "ltr.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as told:
        load_config(file)
    (problem,) = told.value.problems
    assert problem.path == path
    assert message in problem.message


def test_a_path_may_begin_at_home(tmp_path):
    file = tmp_path / "ltr.yaml"
    file.write_text("data: {train: ~/train.jsonl}")
    assert load_config(file).data.train == str(Path.home() / "train.jsonl")


def test_the_home_of_nobody_is_a_plain_name(tmp_path):
    bench = config_file(tmp_path, "rerankers: [random]\ndata: {samples: ~nosuchuser/x}\n", "bench.yaml")
    run = config_file(tmp_path, "data: {train: ~nosuchuser/x}\n")
    assert load_bench(bench).data.samples == (str(tmp_path / "~nosuchuser" / "x"),)
    assert load_config(run).data.train == str(tmp_path / "~nosuchuser" / "x")
    assert path_to(tmp_path, "~no\0user") == tmp_path / "~no\0user"


@pytest.mark.parametrize(
    "entry, name",
    [
        ("hash", "hash"),
        ("{name: hash}", "hash"),
        ("{name: auto}", "auto"),
        ("{name: sentence-transformers, model: models/own}", "sentence-transformers:models/own"),
    ],
)
def test_an_encoder_is_a_name_or_a_mapping_of_a_name_and_options(tmp_path, entry, name):
    assert load_config(config_file(tmp_path, f"encoder: {entry}\n")).encoder == name


@pytest.mark.parametrize(
    "entry, problem",
    [
        ("{name: hsah}", "ltr.yaml:1:1: encoder: unknown encoder 'hsah'; did you mean hash?"),
        ("{name: hash, buckets: 4}", "ltr.yaml:1:1: encoder: hash has no option 'buckets'"),
        ("{name: sentence-transformers}", "ltr.yaml:1:1: encoder: sentence-transformers needs the option model"),
        (
            "{name: sentence-transformers, model: 3}",
            "ltr.yaml:1:1: encoder: sentence-transformers needs the option model",
        ),
        ("{model: x}", "ltr.yaml:1:1: encoder: an encoder is a name, or a mapping with the key name"),
        ("{name: [hash]}", "ltr.yaml:1:1: encoder: an encoder is a name, or a mapping with the key name"),
        ("[hash]", "ltr.yaml:1:1: encoder: a list is not text"),
        ("3", "ltr.yaml:1:1: encoder: 3 is not text"),
    ],
)
def test_an_encoder_that_cannot_be_is_named_with_its_place(tmp_path, entry, problem):
    with pytest.raises(ConfigError) as refused:
        load_config(config_file(tmp_path, f"encoder: {entry}\n"))
    (message,) = refused.value.lines()
    assert problem in message


SECTIONS = {"": RunConfig, "data.": DataConfig, "train.": TrainConfig, "evaluate.": EvaluateConfig}


@pytest.mark.parametrize("value", ["[]", "[tool]", "[[]]", "[{}]", "{}", "{a: 1}", "{name: []}", "3", "true", ".inf"])
def test_a_value_of_a_wrong_type_is_a_mistake_and_no_traceback(value):
    paths = [f"{section}{field.name}" for section, kind in SECTIONS.items() for field in fields(kind)]
    for path in paths:
        with suppress(ConfigError):
            run_config(Document.read(None, ["features=[tool.rel]", f"{path}={value}"]))


@pytest.mark.parametrize(
    "path, changes",
    [
        ("name", {"name": "a\ud800"}),
        ("data.train", {"data": DataConfig(train="a\udc80.jsonl")}),
        ("evaluate.group_by", {"evaluate": EvaluateConfig(group_by="a\udfff")}),
        ("features", {"features": ({"name": "tool.hist", "a\ud800": 1},)}),
    ],
)
def test_a_text_that_no_file_can_hold_is_refused_where_the_config_is_made(path, changes):
    with pytest.raises(ValueError, match=f"^{path} is 'a.ud.*', which is not text: half of a character pair"):
        replace(RunConfig(), **changes)
