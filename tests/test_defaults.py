"""A default stands in one place: the dataclass that holds the setting."""

import ast
import inspect
from dataclasses import fields

from typer.main import get_command

from ltr import ListwiseRanker, RunConfig, TrainConfig
from ltr.cli import app
from ltr.experiments.batch import BatchOptions
from ltr.rerankers.config import BenchConfig, BenchData
from tests.made import DataConfig, EvaluateConfig

SETTINGS = (RunConfig, DataConfig, TrainConfig, EvaluateConfig, BatchOptions, BenchConfig, BenchData)


def names(*dataclasses):
    """The names of all their fields."""
    return {field.name for config in dataclasses for field in fields(config)}


def test_the_estimator_repeats_no_default_of_a_training():
    own = {"trainer", "metric"}  # newton, which has no steps to tune; a metric of which more is better, as score needs
    (init,) = (
        node
        for node in ast.walk(ast.parse(inspect.getsource(ListwiseRanker)))
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    pairs = zip(init.args.kwonlyargs, init.args.kw_defaults, strict=True)
    written = {argument.arg for argument, default in pairs if isinstance(default, ast.Constant)}
    assert written & names(TrainConfig) == own


def test_the_estimator_trains_by_the_defaults_of_a_training():
    default, training = ListwiseRanker().get_params(), TrainConfig()
    shared = names(TrainConfig) & set(default) - {"trainer", "metric"}
    assert {name: default[name] for name in shared} == {name: getattr(training, name) for name in shared}


def options(command, called="ltr"):
    """Every option of the command and of those below it, with the name of its command."""
    yield from ((called, option) for option in command.params if option.param_type_name == "option")
    for name, below in getattr(command, "commands", {}).items():
        yield from options(below, f"{called} {name}")


def test_an_option_that_is_not_given_leaves_its_setting_to_the_config():
    settings = {f"--{name.replace('_', '-')}" for name in names(*SETTINGS)}
    repeated = [
        f"{called} {option.opts[0]} has the default {option.default!r}"
        for called, option in options(get_command(app))
        if settings & set(option.opts) and option.default not in (None, False)
    ]
    assert repeated == []
