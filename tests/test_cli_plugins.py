"""Plug-ins of a file: every command that can meet one takes `--code`, and does its work with it."""

import itertools
import json
import re
import shutil
from pathlib import Path

import pytest
from typer.core import TyperCommand

from ltr.cli import main
from ltr.config import recipes
from ltr.encoders import ENCODERS
from ltr.evaluation import MEASURES
from ltr.features import FEATURES
from ltr.importers import EXPORTERS, IMPORTERS
from ltr.rerankers import RERANKERS
from ltr.training import TRAINERS
from tests.made import tool_rows, written
from tests.test_cli_options import COMMANDS

OWN = '''
import json
import re
from pathlib import Path

import numpy as np

from ltr import feature, measure, reranker
from ltr.encoders import Dense
from ltr.encoders import ENCODERS
from ltr.importers import EXPORTERS
from ltr.importers import Imported, importer
from ltr.training import TRAINERS


@feature("tool.own", "struct")
def length(candidates, state, context):
    """Characters of the tool's name."""
    return np.array([float(len(name)) for name in candidates.name_texts])[candidates.names]


class Own:
    """How long a text is."""

    name, revision, state = "own", "1", {}

    @classmethod
    def is_installed(cls):
        return True

    @classmethod
    def fitted(cls, texts):
        return cls()

    @classmethod
    def restored(cls, state):
        return cls()

    def identity(self, role):
        return None

    def encode(self, texts, role):
        return Dense(np.array([[1.0, len(text)] for text in texts]))


ENCODERS.add("own", Own)


@measure("own@k", "share of queries with at most k candidates")
def own(judged, k):
    """1 with at most k candidates, else 0."""
    return (judged.sizes <= k) * 1.0


@TRAINERS.register("own")
def trainer(*arguments):
    """The exact optimum."""
    return TRAINERS["newton"](*arguments)


@reranker("own")
def shortest(setting):
    """The shortest text first."""
    return lambda query, documents: [-len(text) for text in documents.texts]


@importer("own")
def lines(files):
    """Samples as they are."""
    return Imported([json.loads(line) for file in files for line in Path(file).read_text().splitlines()])


@EXPORTERS.register("own")
def names(exported, out):
    """The names of the candidates."""
    Path(out).write_text("\\n".join(exported.groups.candidates.name_texts))
    return [str(out)]
'''
REGISTRIES = {
    "feature": FEATURES,
    "encoder": ENCODERS,
    "metric": MEASURES,
    "trainer": TRAINERS,
    "reranker": RERANKERS,
    "importer": IMPORTERS,
    "exporter": EXPORTERS,
}
NAMES = {"feature": "tool.own", "metric": "own@k"}
TRAINED = {
    "feature": ["--set", "features=[tool.rel, tool.own]", "--encoder", "hash"],
    "encoder": ["--encoder", "own"],
    "metric": ["--metrics", "own@3", "--encoder", "hash"],
    "trainer": ["--trainer", "own", "--encoder", "hash"],
}
CONFIGS = {
    "feature": "features: [tool.rel, tool.own]",
    "encoder": "encoder: own",
    "metric": "evaluate: {metrics: [own@3]}",
    "trainer": "train: {trainer: own}",
}
OF_A_CONFIG = ["run KIND.yaml -o runs", "config check KIND.yaml", "config render KIND.yaml"]
OF_A_RUN = ["validate KIND", "export csv KIND -o out.csv"]
OF_A_MODEL = [
    "evaluate KIND test.jsonl",
    'rank KIND "weather"',
    "featurize test.jsonl -m KIND -o out.npz",
    "bench models.yaml -o out --set rerankers=[model:KIND]",
    "pack KIND -o out",
    "update KIND outcomes.jsonl",
]
MEETS = {
    "feature": [
        "train train.jsonl -o out --set features=[tool.rel,tool.own]",
        "featurize train.jsonl -o out.npz --set features=[tool.rel,tool.own]",
        *OF_A_CONFIG,
        *OF_A_RUN,
        *OF_A_MODEL,
    ],
    "encoder": [
        "train train.jsonl -o out --encoder own",
        "featurize train.jsonl -o out.npz --encoder own",
        "init out --from train.jsonl --encoder own",
        *OF_A_CONFIG,
        *OF_A_RUN,
        *OF_A_MODEL,
    ],
    "metric": [
        "train train.jsonl -o out --metrics own@3",
        "evaluate metric test.jsonl --metrics own@3",
        "evaluate metric test.jsonl --fail-under own@9=0.5",
        "evaluate metric test.jsonl -c metric.yaml",
        "compare metric metric2 --metrics own@3",
        "compare metric metric2 --fail-under own@3=-1",
        "run plain.yaml -o runs --set evaluate.metrics=[own@3] --sort own@3",
        "bench rerankers.yaml -o out --set metrics=[own@3]",
        *OF_A_CONFIG,
        *OF_A_RUN,
    ],
    "trainer": ["train train.jsonl -o out --trainer own", *OF_A_CONFIG, *OF_A_RUN],
    "reranker": ["bench rerankers.yaml -o out --set rerankers=[own]"],
    "importer": ["import own train.jsonl -o out.jsonl"],
    "exporter": ["export own test.jsonl -o out.txt", "export own plain -o out.txt"],
}
CASES = [(kind, command) for kind, every in MEETS.items() for command in every]
LISTED = ["list KINDs --format json", "config schema", "config schema --bench"]  # they show what there is
ELSEWHERE = {
    "report": "pages are made of what runs keep; a file may still be named, as everywhere",
    "mcp": "a server, which its own tests start; it loads its run as `ltr rank` does",
}


def forget():
    """Take the plug-ins of the file out of the registries."""
    for kind, registry in REGISTRIES.items():
        registry._own.pop(NAMES.get(kind, "own"), None)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A directory with the plug-ins, samples, configs, and a run that needs each kind of them."""
    home = tmp_path_factory.mktemp("plugins")
    (home / "own.py").write_text(OWN, encoding="utf-8")
    written(home / "train.jsonl", tool_rows(range(8)))
    written(home / "test.jsonl", tool_rows(range(20, 28), seed=1))
    written(home / "outcomes.jsonl", [{"query": "mail?", "offered": ["get_mail", "get_map"], "right": "get_mail"}])
    for kind, line in (*CONFIGS.items(), ("plain", "seed: 0")):
        (home / f"{kind}.yaml").write_text(f"{line}\nname: {kind}\ndata: {{train: train.jsonl}}\n", encoding="utf-8")
    for name in ("models", "rerankers"):
        text = "data: {samples: test.jsonl}\nrerankers: [random]\n"
        (home / f"{name}.yaml").write_text(text, encoding="utf-8")
    runs = [*TRAINED.items(), ("plain", ["--encoder", "hash"]), ("metric2", [*TRAINED["metric"], "--l2", "1"])]
    for name, options in runs:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(home)
            patch.setattr("sys.argv", ["ltr", "train", "train.jsonl", "-o", name, "--code", "own.py", "-q", *options])
            patch.setattr("signal.signal", lambda *_: None)
            with pytest.raises(SystemExit) as done:
                main()
        assert not done.value.code
        forget()
    return home


@pytest.fixture
def cli_here(cli, trained, monkeypatch):
    """The command line in a copy of that directory, none of the plug-ins being loaded."""
    monkeypatch.setattr(recipes, "_left_to_folds", lambda *_, **__: {"train.choose": []})  # they take long to choose
    shutil.copytree(trained, Path.cwd(), dirs_exist_ok=True)
    forget()
    yield cli
    forget()


def spelled_out(command, kind):
    """The arguments of the command."""
    return [part.replace("KIND", kind).strip('"') for part in command.split()]


@pytest.mark.parametrize("kind, command", CASES, ids=lambda part: part if isinstance(part, str) else None)
def test_a_command_that_meets_a_plug_in_works_with_its_file_and_names_it_without(cli_here, kind, command):
    arguments = spelled_out(command, kind)
    assert cli_here.run(*arguments) != 0, "it meets no plug-in"
    assert "own" in cli_here.out + cli_here.err
    shutil.rmtree("out", ignore_errors=True)  # a bench keeps what it could not measure
    assert cli_here.run(*arguments, "--code", "own.py") == 0, cli_here.err


@pytest.mark.parametrize("kind", REGISTRIES)
def test_plug_ins_of_every_kind_are_listed(cli_here, kind):
    arguments = ("list", f"{kind}s", "--format", "json")
    listed = [json.loads(cli_here.good(*arguments, *code)) for code in ((), ("--code", "own.py"))]
    assert [each["name"] for each in listed[1] if each not in listed[0]] == [NAMES.get(kind, "own")]


def test_every_kind_meets_a_command_and_every_command_with_code_a_kind():
    assert MEETS.keys() == REGISTRIES.keys()
    takes = {name for name, command in COMMANDS.items() if any("--code" in each.opts for each in command.params)}
    met = {name for name, (_, command) in itertools.product(takes, CASES) if command.startswith(f"{name} ")}
    shows = {name for name in takes if any(command.startswith(name) for command in LISTED)}
    assert takes == met | shows | ELSEWHERE.keys()


def test_a_run_whose_plug_ins_are_loaded_is_whole(cli_here):
    findings = json.loads(cli_here.good("validate", "feature", "--code", "own.py", "--format", "json"))["findings"]
    assert [finding for finding in findings if finding["severity"] == "error"] == []


def test_a_shell_that_completes_a_line_runs_no_code(cli_here):
    import typer.main

    from ltr.cli import app

    command = typer.main.get_command(app).commands["report"]
    assert isinstance(command, TyperCommand)
    command.make_context("report", ["run", "-o", "p.html", "--code", "own.py"], resilient_parsing=True)
    assert "tool.own" not in FEATURES


BREAKS = ("exit(0)", "1 / 0")
IN_THE_ENCODER = {  # where nothing of an encoder is expected to fail
    "identity": ("return None", "{}; return None"),
    "state": (
        'name, revision, state = "own", "1", {}\n',
        'name, revision, state = "own", "1", property(lambda _: {})\n',
    ),
    "revision": ('"own", "1", {}\n', '"own", property(lambda _: {}), {}\n'),
}


@pytest.mark.parametrize("code", BREAKS)
@pytest.mark.parametrize("place", IN_THE_ENCODER)
@pytest.mark.parametrize("out", ["out.npz", "out/"])
def test_a_plug_in_that_fails_or_ends_the_process_where_nobody_expects_it_is_one_line(cli, place, code, out):
    written("train.jsonl", tool_rows(range(8)))
    before, after = IN_THE_ENCODER[place]
    Path("broken.py").write_text(OWN.replace(before, after.replace("{}", code, 1), 1))
    try:
        told = cli.refused("featurize", "train.jsonl", "-o", out, "--encoder", "own", "--code", "broken.py", "-q")
    finally:
        forget()
    cause = "SystemExit: 0" if code == "exit(0)" else "ZeroDivisionError: division by zero"
    assert told[0] == 1
    assert re.fullmatch(rf"broken\.py:\d+: the plug-in failed: {cause}", told[1])
    assert not Path(out).exists()
