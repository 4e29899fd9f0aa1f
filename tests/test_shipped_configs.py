"""The configs that ship: they can be read, and they explain every key there is."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest

from ltr import RunConfig, load_config
from ltr.features import FEATURES, RECOMMENDED, Presets
from ltr.rerankers.config import BenchConfig, BenchEntry, load_bench

FOLDER = Path(__file__).parent.parent / "configs"
BENCH = FOLDER / "bench.yaml"
CONFIGS = sorted(set(FOLDER.glob("*.yaml")) - {BENCH})


def keys(kind, above=()):
    """Every key of a config type, as its path."""
    hints = get_type_hints(kind)
    for each in fields(kind):
        inner = hints[each.name]
        yield from keys(inner, (*above, each.name)) if is_dataclass(inner) else [(*above, each.name)]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_shipped_config_can_be_read_and_names_its_own_data(path):
    config = load_config(path)
    assert config.name == path.stem
    assert str(config.data.train).startswith(str(path.parent.parent / "configs" / ".." / "data"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_shipped_config_has_every_key_with_its_reason(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    for *_, key in keys(RunConfig):
        line = next(line for line in lines if re.match(rf"\s*{key}:", line))
        assert "#" in line, f"{key} is not explained"


def test_the_shipped_bench_can_be_read_and_explains_every_key():
    config = load_bench(BENCH)
    assert config.name == BENCH.stem
    assert len(config.entries) >= 7
    lines = BENCH.read_text(encoding="utf-8").splitlines()
    for *_, key in (*keys(BenchConfig), *keys(BenchEntry)):
        line = next(line for line in lines if re.match(rf"[\s-]*{key}:", line))
        assert "#" in line, f"{key} is not explained"


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_shipped_config_names_features_of_its_kind(path):
    config = load_config(path)
    names = [entry if isinstance(entry, str) else entry["name"] for entry in config.features]
    assert names == [RECOMMENDED] or {FEATURES[name].kind for name in names} == {config.kind}


@pytest.mark.parametrize("kind", ["tool", "graph"])
def test_the_recommended_configs_explain_the_recommended_features(kind):
    path = CONFIGS[0].parent / f"{kind}s-recommended.yaml"
    config, lines = load_config(path), path.read_text(encoding="utf-8").splitlines()
    explained = [line.split()[1] for line in lines if line.startswith(f"  # {kind}.")]
    assert explained == list(Presets.ALL[kind])
    assert config.features == (RECOMMENDED,)
    assert config.train.standardize


def test_there_is_a_config_for_each_kind():
    assert {load_config(path).kind for path in CONFIGS} == {"tool", "graph"}
