"""Sweeps: which runs a config with lists of values means, and what is wrong with one."""

import pytest

from ltr import RunConfig, load_config, run, sweep
from ltr.config.sweeps import run_name
from ltr.errors import ConfigError, UsageError
from tests.made import DataConfig


@pytest.fixture
def points(tmp_path):
    """The runs of a config of these lines."""

    def of(text, *overrides):
        path = tmp_path / "ltr.yaml"
        path.write_text(text)
        return sweep(path, overrides)

    return of


@pytest.fixture
def complaints(points, tmp_path):
    """What is said of a config of these lines, without the name of its directory."""

    def of(text, *overrides):
        with pytest.raises(ConfigError) as told:
            points(text, *overrides)
        return [line.replace(f"{tmp_path}/", "") for line in told.value.lines()]

    return of


def test_a_config_without_a_sweep_is_one_run(points):
    (point,) = points("name: a\n")
    assert (point.config.name, point.values) == ("a", {})


def test_a_grid_is_every_combination_the_last_key_fastest(points):
    found = points("sweep:\n  train.l2: [0.1, 1]\n  seed: [0, 1]\n")
    assert [(p.config.train.l2, p.config.seed) for p in found] == [(0.1, 0), (0.1, 1), (1, 0), (1, 1)]
    assert [p.config.name for p in found] == [
        "run-l2-0.1-seed-0",
        "run-l2-0.1-seed-1",
        "run-l2-1-seed-0",
        "run-l2-1-seed-1",
    ]
    assert found[1].values == {"train.l2": 0.1, "seed": 1}
    assert all(p.config.sweep == {} and p.config.sweep_count is None for p in found)


def test_any_key_can_be_swept_also_in_nested_mappings_and_lists(points, tmp_path):
    found = points(
        "features: [tool.rel, {name: tool.hist, strength: 2}]\n"
        "sweep:\n"
        "  features[1].strength: [1, 3]\n"
        "  data: {train: [a.jsonl, [b.jsonl, c.jsonl]]}\n"
        "  encoder: [hash]\n"
    )
    assert [p.config.features[1]["strength"] for p in found] == [1, 1, 3, 3]
    assert found[0].config.data.train == str(tmp_path / "a.jsonl")
    assert found[1].config.data.train == (str(tmp_path / "b.jsonl"), str(tmp_path / "c.jsonl"))
    assert len({p.config.name for p in found}) == 4


def test_features_can_be_swept_as_lists(points):
    found = points("sweep: {features: [[tool.rel], [tool.rel, tool.coop]]}\n")
    assert [p.config.features for p in found] == [("tool.rel",), ("tool.rel", "tool.coop")]


def test_a_name_tells_the_values_and_stays_when_the_sweep_grows(points):
    few = points("sweep: {train.l2: [0.1], train.init: [1]}\n")
    more = points("sweep: {train.l2: [0.01, 0.1], train.init: [0, 1]}\n")
    assert {p.config.name for p in few} <= {p.config.name for p in more}


def test_names_are_safe_and_keys_of_one_last_part_are_told_whole():
    assert run_name("a", {"x.y": "../b", "z": [1]}).startswith("a-y-b-")
    assert "/" not in run_name("a", {"x.y": "../b", "z": {"k": "/"}})
    assert run_name("a", {"x.l2": 1, "y.l2": None}) == "a-x.l2-1-y.l2-null"


def test_a_count_draws_that_many_without_repetition_by_the_seed(points):
    text = "seed: {}\nsweep: {{train.l2: [1, 2, 3, 4, 5], train.init: [1, 2, 3, 4, 5]}}\nsweep_count: 7\n"
    drawn, again, other = ([tuple(p.values.values()) for p in points(text.format(seed))] for seed in (0, 0, 1))
    assert drawn == again != other
    assert len(set(drawn)) == 7
    assert drawn == sorted(drawn)


def test_a_huge_grid_can_be_drawn_from(points):
    axes = "".join(f"  train.{key}: {list(range(1, 101))}\n" for key in ("l2", "init", "epochs", "patience"))
    assert len(points(f"sweep:\n{axes}sweep_count: 20\n")) == 20


def test_a_flag_sweeps_too_and_its_place_is_told(points, complaints):
    assert len(points("name: a\n", "sweep.train.l2=[1, 2]")) == 2
    assert len(points("sweep: {train.l2: [1, 2, 3], seed: [0, 1]}\n", "sweep.train.l2=[5]")) == 2
    assert complaints("name: a\n", "sweep.train.l2=[1, x]") == [
        "--set sweep.train.l2: train.l2: 'x' is not a number or a list"
    ]


def test_every_mistake_is_told_at_its_place(complaints):
    assert complaints("sweep:\n  train.l2: [0.1, 0.1]\n  seed: 3\n  name: [a]\n  train: [{}]\n") == [
        "ltr.yaml:2:19: sweep.train.l2: 0.1 stands twice",
        "ltr.yaml:3:3: sweep.seed: a list of values is needed, such as [0.01, 0.1]",
        "ltr.yaml:4:10: sweep.name: cannot be swept; a path such as train.l2 is needed",
        "ltr.yaml:5:11: sweep.train: train.l2 is swept too, and one holds the other",
    ]


def test_every_value_that_is_wrong_is_told_once_where_it_stands(complaints):
    assert complaints("sweep:\n  train.l2: [0.1, abc]\n  train.l22: [1, 2]\n  seed: [0, 1, x]\n") == [
        "ltr.yaml:2:19: train.l2: 'abc' is not a number or a list",
        "ltr.yaml:3:15: train.l22: unknown key; did you mean l2?",
        "ltr.yaml:4:16: seed: 'x' is not an integer",
    ]


@pytest.mark.parametrize(
    "text, told",
    [
        ("sweep_count: 3\n", "ltr.yaml:1:1: sweep_count: there is no sweep to draw from"),
        (
            "sweep: {seed: [1, 2]}\nsweep_count: 3\n",
            "ltr.yaml:2:1: sweep_count: 3 is not between 1 and the 2 combinations",
        ),
        (
            "sweep: {seed: [1, 2]}\nsweep_count: 0\n",
            "ltr.yaml:2:1: sweep_count: 0 is not between 1 and the 2 combinations",
        ),
        ("sweep: [1]\n", "ltr.yaml:1:1: sweep: a list is not a mapping"),
        ("sweep: {seed: [1]}\nsweep_count: x\n", "ltr.yaml:2:1: sweep_count: 'x' is not an integer or null"),
        (
            f"sweep: {{seed: {list(range(50))}, train.init: {list(range(50))}}}\n",
            "ltr.yaml:1:1: sweep: 2,500 runs; at most 1,000 are possible, sweep_count draws some of them",
        ),
        (
            f"sweep: {{seed: {list(range(1001))}}}\nsweep_count: 2\n",
            "ltr.yaml:1:16: sweep.seed: 1,001 values; at most 1,000 are possible",
        ),
        ("sweep: {seed.x: [1]}\n", "ltr.yaml:1:18: seed: a mapping is not an integer"),
    ],
)
def test_what_is_no_sweep_is_refused(complaints, text, told):
    assert complaints(text) == [told]


def test_a_config_with_a_sweep_is_no_single_run(tmp_path):
    (tmp_path / "ltr.yaml").write_text("data: {train: x}\nsweep: {train.l2: [1, 2]}\n")
    with pytest.raises(UsageError, match="the config sweeps train.l2: it is several runs, which `ltr run` makes"):
        run(load_config(tmp_path / "ltr.yaml"))
    assert RunConfig(data=DataConfig(train="x")).sweep == {}


def test_a_sweep_that_is_none_hides_no_other_mistake(complaints):
    assert complaints("seed: -1\ntrain: {epochs: x, l2: -1}\nsweep: {train.l2: 3}\n") == [
        "ltr.yaml:1:1: seed: is -1; it must be 0 or more",
        "ltr.yaml:2:9: train.epochs: 'x' is not an integer",
        "ltr.yaml:2:20: train.l2: is -1.0; it must be 0 or more, at most 1e+300",
        "ltr.yaml:3:9: sweep.train.l2: a list of values is needed, such as [0.01, 0.1]",
    ]
    assert complaints("seed: -1\nsweep_count: 3\n") == [
        "ltr.yaml:1:1: seed: is -1; it must be 0 or more",
        "ltr.yaml:2:1: sweep_count: there is no sweep to draw from",
    ]
    assert complaints("sweep: {train.l2: 3}\nsweep_count: x\n") == [
        "ltr.yaml:1:9: sweep.train.l2: a list of values is needed, such as [0.01, 0.1]",
        "ltr.yaml:2:1: sweep_count: 'x' is not an integer or null",
    ]
