"""Recipes: defaults < recipe < file < --set < named flag."""

import json
from pathlib import Path

import numpy as np
import pytest

from ltr import RunConfig, load_config, read_groups
from ltr.config.recipes import RECIPES, VERSIONS
from ltr.encoders import best_installed
from ltr.errors import ConfigError
from ltr.features import Presets
from tests.builders import features_of
from tests.made import grouped, tool_rows, written

SHIPPED = Path(__file__).parent.parent / "configs"


def config(tmp_path, text, *sets):
    path = tmp_path / "ltr.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path, sets)


def test_without_a_recipe_a_config_stays_the_specification(tmp_path):
    assert config(tmp_path, "seed: 0").train == RunConfig().train
    assert config(tmp_path, "train: {recipe: specification}").train == RunConfig().train
    assert config(tmp_path, "seed: 0").features == ()


def test_a_recipe_lies_over_the_defaults_and_under_the_file(tmp_path):
    made = config(tmp_path, "train: {recipe: recommended, l2: 0.1}\n")
    assert (made.features, made.train.trainer, made.train.standardize) == (("recommended",), "newton", True)
    assert made.train.l2 == 0.1


def test_set_decides_above_the_recipe_and_may_name_it(tmp_path):
    made = config(tmp_path, "train: {l2: 0.1}\n", "train.recipe=recommended", "train.trainer=descent")
    assert (made.train.trainer, made.train.standardize, made.train.l2) == ("descent", True, 0.1)
    assert made.features == ("recommended",)


def test_an_unknown_recipe_lists_the_known_ones(tmp_path):
    with pytest.raises(ConfigError, match="train.recipe: 'recomended' is not specification or recommended"):
        config(tmp_path, "train: {recipe: recomended}")


@pytest.mark.parametrize("kind", ["tool", "graph"])
def test_the_recommended_recipe_is_what_the_shipped_configs_say(kind, tmp_path):
    shipped = load_config(SHIPPED / f"{kind}s-recommended.yaml")
    made = config(tmp_path, "train: {recipe: recommended}")
    assert made.train == shipped.train
    assert made.features == shipped.features


def test_every_recipe_has_a_version():
    assert set(VERSIONS) == set(RECIPES)


def test_recommended_expands_in_its_place_among_other_features():
    columns, warnings = RunConfig(features=("tool.rel", "recommended", "tool.hist")).columns("tool", 1000)
    assert [column.name for column in columns] == ["tool.rel", *Presets.recommended("tool", 1000)[0], "tool.hist"]
    assert warnings == ()


def test_a_feature_that_recommended_brings_cannot_be_named_beside_it(tmp_path):
    with pytest.raises(ConfigError, match=r"features\[1\]: tool.proto stands twice \(recommended brings it\)"):
        config(tmp_path, "features: [recommended, tool.proto]")
    with pytest.raises(ConfigError, match=r"features\[1\]: recommended stands twice"):
        config(tmp_path, "features: [recommended, recommended]")


def test_a_sweep_may_compare_recipes(tmp_path, cli):
    written("s.jsonl", tool_rows(range(6)))
    Path("ltr.yaml").write_text(
        "data: {train: s.jsonl}\nencoder: hash\ntrain: {choose: []}\n"
        "sweep: {train.recipe: [specification, recommended]}\n"
    )
    cli.good("run", "-q")
    one, other = (load_config(f"runs/run-recipe-{name}/config.yaml") for name in ("specification", "recommended"))
    assert (one.train.trainer, other.train.trainer) == ("descent", "newton")
    assert "tool.rel" in one.features
    assert "tool.proto" in other.features


def test_the_flag_recommended_lies_under_the_file_and_under_other_flags(cli):
    written("s.jsonl", tool_rows(range(12)))
    Path("ltr.yaml").write_text("train: {l2: 0.5}\nencoder: hash\n")
    cli.good("train", "s.jsonl", "-c", "ltr.yaml", "--recommended", "--trainer", "descent", "-o", "run", "-q")
    made = load_config("run/config.yaml")
    assert (made.train.recipe, made.train.l2, made.train.trainer) == ("recommended", 0.5, "descent")
    assert made.train.standardize
    assert json.loads(Path("run/run.json").read_bytes())["recipe"] == "recommended/7"
    assert made.features == Presets.recommended("tool", 12)[0]


def test_features_are_named_on_the_command_line(cli):
    written("s.jsonl", tool_rows(range(6)))
    Path("ltr.yaml").write_text("data: {train: s.jsonl}\nencoder: hash\n")
    cli.good("train", "s.jsonl", "--features", "tool.rel, tool.lift", "--encoder", "hash", "-o", "run", "-q")
    assert load_config("run/config.yaml").features == ("tool.rel", "tool.lift")
    cli.good("run", "--features", "tool.struct", "-q")
    assert load_config("runs/run/config.yaml").features == ("tool.struct",)
    cli.good("featurize", "s.jsonl", "--features", "tool.rel", "--encoder", "hash", "-o", "x.npz")
    assert "tool.rel fitted and cross-fitted" in cli.err


def test_ready_numbers_keep_their_columns_under_the_recommended_recipe(cli):
    rows = [row | {"features": [float(place % 3), 1.0]} for place, row in enumerate(tool_rows(range(12)))]
    cli.good("train", written("s.jsonl", rows), "--recommended", "-o", "run", "-q")
    assert load_config("run/config.yaml").train.trainer == "newton"


def right_of(group):
    """The tool that is right."""
    return next(candidate["tool"] for candidate in group["candidates"] if candidate["label"])


@pytest.mark.parametrize("plug", ["--recommended", "--seed=0"])
def test_a_run_prints_at_most_fourteen_lines_for_people_and_all_statistics_under_verbose(plug, cli):
    often = ("get_weather", "get_news", "get_mail")  # else a warning says that tool.lift is 0 for every tool
    rows = [group for group in grouped(tool_rows(range(20))) if right_of(group) in often]
    written("s.jsonl", rows)
    lines = cli.good("train", "s.jsonl", plug, "--test", "0.3", "-o", "run", "--format", "human").splitlines()
    assert len(lines) + cli.err.count("\n") <= 13 + (plug == "--recommended")  # what folds chose
    assert lines[-2].startswith("stored in run/ (")
    assert lines[-1].startswith('next: ltr rank run "your query"')
    assert ("--recommended" in lines[-1]) == (plug == "--seed=0")
    unchosen = ("--set", "train.choose=[]")
    told = cli.good("train", "s.jsonl", plug, *unchosen, "-o", "run", "--overwrite", "--format", "human", "-v")
    assert f"learned from {len(rows)} groups" in told


def test_the_encoder_that_auto_took_is_named_in_one_line(cli):
    written("s.jsonl", tool_rows(range(12)))
    cli.good("train", "s.jsonl", "-o", "run")
    assert cli.err == f"encoder {best_installed()}: the best that is installed (auto); --encoder names another\n"
    cli.good("train", "s.jsonl", "-o", "named", "--encoder", "hash")
    assert cli.err == ""
    Path("ltr.yaml").write_text("data: {train: s.jsonl}\n")
    cli.good("run")
    assert cli.err.endswith(f" s, encoder {best_installed()} (auto))\n")


def test_a_column_that_is_left_out_is_not_warned_about(tmp_path):
    config = RunConfig(features=("recommended",), encoder="hash")
    prepared = features_of(read_groups(written(tmp_path / "s.jsonl", tool_rows(range(12)))), config).training()
    assert any(warning.startswith("tool.lift is 0 for every tool") for warning in prepared.warnings)
    places = np.array([place for place, name in enumerate(prepared.names) if name != "tool.lift"])
    assert prepared.only(places).warnings == ()
