"""Options that several commands share: which command has which, and why the others lack it."""

import json
from dataclasses import is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest
import typer.main

from ltr import RunConfig
from ltr.cli import COMMANDS as BY_NAME
from ltr.cli import app
from ltr.config import declared_keys
from tests.made import tool_rows, written

SHARED = ("--code", "--config", "--set", "--seed", "--quiet", "--verbose")
NO_NAME = "looks up no plug-in"
IS_CONFIG = "its argument is a config"
NO_KEY = "no key of a config changes what it does, but for what it has flags for"
NO_CHANCE = "makes no random choice"
SILENT = "writes no notes and shows no progress"
QUICK = "neither reads samples nor encodes texts, so there are no stages to tell of"
OWN_CONFIG = "it writes the config"
IS_KEY = "a key of the config: --set seed=N"
ONE_LINE = "its result is its one line"
NO_NUMBER = {"--config": NO_KEY, "--set": NO_KEY, "--seed": NO_CHANCE}
NO_WORK = NO_NUMBER | {"--quiet": SILENT, "--verbose": QUICK}
WHY_NOT = {
    "init": {"--config": OWN_CONFIG, "--set": OWN_CONFIG},
    "validate": NO_NUMBER | {"--quiet": SILENT},
    "train": {},
    "evaluate": {},
    "rank": NO_NUMBER | {"--quiet": SILENT},
    "run": {"--config": IS_CONFIG},
    "compare": {"--config": NO_KEY, "--set": NO_KEY, "--quiet": SILENT, "--verbose": QUICK},
    "bench": {"--config": IS_CONFIG},
    "report": {"--config": NO_KEY, "--set": NO_KEY, "--verbose": QUICK},
    "featurize": {"--seed": NO_CHANCE},
    "import": NO_NUMBER | {"--quiet": ONE_LINE, "--verbose": QUICK},
    "export": NO_NUMBER | {"--quiet": ONE_LINE},
    "pack": {"--config": NO_KEY, "--set": NO_KEY, "--seed": NO_CHANCE, "--quiet": ONE_LINE},
    "update": NO_NUMBER | {"--quiet": SILENT},
    "mcp": NO_NUMBER | {"--quiet": SILENT},
    "list": NO_WORK,
    "env": NO_WORK | {"--code": NO_NAME},
    "config check": {"--config": IS_CONFIG, "--seed": IS_KEY, "--verbose": QUICK},
    "config render": {"--config": IS_CONFIG, "--seed": IS_KEY, "--quiet": SILENT, "--verbose": QUICK},
    "config schema": NO_WORK,
    "cache info": NO_WORK | {"--code": NO_NAME},
    "cache clear": NO_WORK | {"--code": NO_NAME},
}


def commands(group, above=()):
    """Each command, with what stands before its options."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*above, name))
        else:
            yield " ".join((*above, name)), command


COMMANDS = dict(commands(typer.main.get_command(app)))


def test_the_list_of_commands_has_the_first_line_of_each_help():
    group = typer.main.get_command(app)
    assert {name: line for name, (_, _, line) in BY_NAME.items()} == {
        name: command.help.splitlines()[0] for name, command in group.commands.items()
    }


def test_every_command_has_each_shared_option_or_a_reason_to_lack_it():
    lacking = {
        name: {option for option in SHARED if not any(option in parameter.opts for parameter in command.params)}
        for name, command in COMMANDS.items()
    }
    assert lacking == {name: set(reasons) for name, reasons in WHY_NOT.items()}


def test_a_shared_option_is_the_same_wherever_it_stands():
    told = {
        option: {
            (tuple(parameter.opts), parameter.help, parameter.multiple)
            for command in COMMANDS.values()
            for parameter in command.params
            if option in parameter.opts
        }
        for option in SHARED
    }
    assert [option for option, ways in told.items() if len(ways) != 1] == []


@pytest.fixture
def trained(cli, filled):
    """A run, and samples it has not seen."""

    def run_and_samples():
        written("train.jsonl", tool_rows(range(25)))
        written("test.jsonl", tool_rows(range(30, 50), seed=1))
        cli.good("train", "train.jsonl", "-o", "run", "--encoder", "hash", "-q")

    filled(Path.cwd(), run_and_samples)
    return cli


def test_the_seed_of_an_evaluation_draws_its_intervals(trained):
    command = ("evaluate", "run", "test.jsonl", "--format", "json")
    unseeded, zero, seven = (json.loads(trained.good(*command, *seed)) for seed in ((), ("--seed", 0), ("--seed", 7)))
    assert zero == unseeded
    assert seven["mrr"] == zero["mrr"]
    assert seven["mrr.low"] != zero["mrr.low"]


def test_an_evaluation_takes_its_rules_from_a_config_then_set_then_flags(trained):
    Path("rules.yaml").write_text("evaluate: {ties: worst, metrics: [hit@2], rel_threshold: 1}\n", encoding="utf-8")
    command = ("evaluate", "run", "test.jsonl", "--format", "json", "-c", "rules.yaml")
    measured = json.loads(trained.good(*command))
    assert (measured["ties"], "hit@2" in measured) == ("worst", True)
    assert json.loads(trained.good(*command, "--set", "evaluate.ties=best"))["ties"] == "best"
    assert json.loads(trained.good(*command, "--set", "evaluate.ties=best", "--ties", "file"))["ties"] == "file"


@pytest.mark.parametrize(
    "wanted, are_shown",
    [
        ((), False),
        (("--baselines",), True),
        (("-c", "silent.yaml"), False),
        (("-c", "asks.yaml"), True),
        (("--set", "evaluate.baselines=true"), True),
        (("-c", "asks.yaml", "--set", "evaluate.baselines=false"), False),
        (("-c", "asks.yaml", "--set", "evaluate.baselines=false", "--baselines"), True),
    ],
)
def test_baselines_stand_beside_an_evaluation_where_somebody_asks_for_them(trained, wanted, are_shown):
    Path("silent.yaml").write_text("evaluate: {ties: worst}\n", encoding="utf-8")
    Path("asks.yaml").write_text("evaluate: {baselines: true}\n", encoding="utf-8")
    measured = json.loads(trained.good("evaluate", "run", "test.jsonl", "--format", "json", *wanted))
    assert ("random.mrr" in measured) == are_shown


def test_a_trec_run_falls_by_its_own_rule_of_ties_unless_a_config_names_another(cli):
    Path("run.txt").write_text("q1 Q0 d1 1 0.5 me\nq1 Q0 d2 2 0.5 me\n", encoding="utf-8")
    Path("qrels.txt").write_text("q1 0 d1 1\n", encoding="utf-8")
    Path("silent.yaml").write_text("evaluate: {metrics: [map]}\n", encoding="utf-8")
    Path("worst.yaml").write_text("evaluate: {ties: worst}\n", encoding="utf-8")
    command = ("evaluate", "--run", "run.txt", "--qrels", "qrels.txt", "--format", "json")
    ties = [json.loads(cli.good(*command, *more))["ties"] for more in ((), ("-c", "silent.yaml"), ("-c", "worst.yaml"))]
    assert ties == ["trec", "trec", "worst"]


def test_the_seed_of_a_report_draws_the_tests_of_its_runs(trained):
    trained.good("train", "train.jsonl", "--test", "test.jsonl", "-o", "a", "-q", "--encoder", "hash")
    trained.good("train", "train.jsonl", "--test", "test.jsonl", "-o", "b", "-q", "--encoder", "hash", "--l2", "1")
    bodies = []
    for place, seed in enumerate(((), ("--seed", "0"), ("--seed", "7"))):
        trained.good("report", "a", "b", "-o", f"{place}.html", "-q", *seed)
        assert trained.err == ""
        bodies.append(Path(f"{place}.html").read_text(encoding="utf-8").partition("<footer>")[0])
    assert bodies[0] == bodies[1] != bodies[2]


def test_quiet_leaves_the_exit_code_alone(cli):
    Path("good.yaml").write_text("seed: 1\n", encoding="utf-8")
    assert (cli.run("config", "check", "good.yaml", "-q"), cli.out, cli.err) == (0, "", "")
    Path("bad.yaml").write_text("seed: x\n", encoding="utf-8")
    assert cli.refused("config", "check", "bad.yaml", "-q")[0] == 2


@pytest.mark.parametrize(
    "command", ["validate test.jsonl", "bench bench.yaml -o b", "export csv run -o x.csv", "evaluate run test.jsonl"]
)
def test_verbose_tells_what_was_read_and_how_long_it_took(trained, command):
    Path("bench.yaml").write_text("data: {samples: test.jsonl}\nrerankers: [random]\n", encoding="utf-8")
    trained.good(*command.split(), "-v")
    assert "reading took " in trained.err
    assert "read " in trained.err


@pytest.mark.parametrize(
    "command, said",
    [
        ("rank run query --json", "No such option: --json; here it is --format json; see ltr rank -h"),
        ("rank run query --top-k 3", "No such option: --top-k; here it is -k; see ltr rank -h"),
        ("train s.jsonl --force", "No such option: --force; here it is --overwrite; see ltr train -h"),
        ("evaluate run s.jsonl --top-k 3", "No such option: --top-k; see ltr evaluate -h"),
    ],
)
def test_an_option_as_other_programs_call_it_is_answered_with_ours(cli, command, said):
    assert cli.refused(*command.split()) == (2, said)


def test_the_help_of_train_shows_twenty_flags_and_names_all_keys(cli):
    shown = cli.good("train", "--help")
    flags = [line for line in shown.splitlines() if line.startswith("  -") and "--help" not in line]
    assert len(flags) == 20
    keys = shown.partition("Keys of --set:")[2].replace(",", " ").split()
    assert {path.rpartition(".")[2] for path in declared_keys()} <= set(keys)


def test_a_flag_that_help_does_not_show_works(cli):
    written("train.jsonl", tool_rows(range(9)))
    unseen = {"--l2": "0.5", "--trainer": "newton", "--none-share": "0.2", "--calibrate": "0.3", "--ties": "worst"}
    flags = [word for pair in unseen.items() for word in pair]
    config = cli.good("train", "train.jsonl", "-o", "run", "--dry-run", "--none-from", "removed:.2", *flags)
    for line in ("l2: 0.5", "trainer: newton", "share: 0.2", "calibrate: 0.3", "ties: worst"):
        assert f"  {line}\n" in config
    assert not any(flag in cli.good("train", "--help") for flag in unseen)


def test_every_key_that_a_config_declares_is_known_with_its_meaning():
    assert list(declared_keys()) == [path for path, _ in keys_of(RunConfig)]
    assert [path for path, key in declared_keys().items() if not key.meaning] == []


def keys_of(config, above=""):
    """The keys of a config in their order, with their types."""
    for name, kind in get_type_hints(config).items():
        if name.islower():
            yield from keys_of(kind, f"{above}{name}.") if is_dataclass(kind) else [(above + name, kind)]


@pytest.mark.parametrize(
    "words, said",
    [
        ("--lr 0.1", "No such option: --lr; did you mean --learning-rate?; see ltr train -h"),
        ("--epoch 3", "No such option: --epoch; did you mean --epochs?; see ltr train -h"),
        ("--knots 3", "No such option: --knots; did you mean --set train.knots=VALUE?; see ltr train -h"),
        ("--colour x", "No such option: --colour; see ltr train -h"),
        ("--set l2=1", "--set l2: unknown key; did you mean train.l2?"),
        ("--set lr=1", "--set lr: unknown key; did you mean train.learning_rate?"),
        ("--set train.ties=worst", "--set train.ties: unknown key; did you mean evaluate.ties?"),
    ],
)
def test_what_is_no_flag_and_no_key_is_answered_with_the_one_that_may_be_meant(cli, words, said):
    written("train.jsonl", tool_rows(range(9)))
    assert cli.refused("train", "train.jsonl", "-o", "run", *words.split()) == (2, said)
