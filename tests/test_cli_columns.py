"""Commands on a directory of columns say what they say of the same columns in a file, and refuse a damaged one."""

import json

import pytest

from ltr import RunConfig, TrainConfig
from tests.builders import tool_lines
from tests.made import DataConfig, featurized, save_run, written

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Samples as parts and as a file, and a run of the parts."""
    folder = tmp_path_factory.mktemp("columns")
    samples = str(written(folder / "samples.jsonl", tool_lines(seed=1, traces=20)))
    config = RunConfig(data=DataConfig(train=samples), features=("tool.rel", "tool.coop"), encoder="hash")
    featurized(config, f"{folder}/parts/", shard_rows=60)
    featurized(config, f"{folder}/whole.npz")
    newton = RunConfig(data=DataConfig(train=f"{folder}/parts"), train=TrainConfig(trainer="newton"))
    save_run(newton, folder / "run")
    return folder


def test_evaluate_shows_the_same_numbers_and_how_far_auc_can_be_off(folder, cli):
    run, asked = f"{folder}/run", ("--metrics", "auc,ndcg@3", "--by-tool", "--format", "json")
    parts, whole = (
        json.loads(cli.good("evaluate", run, f"{folder}/{name}", *asked)) for name in ("parts", "whole.npz")
    )
    bounds = {name: parts.pop(name) for name in list(parts) if name.endswith(".error_bound")}
    assert list(bounds) == ["auc.error_bound"]
    assert abs(parts.pop("auc") - whole.pop("auc")) <= bounds["auc.error_bound"]
    assert set(parts) == set(whole)
    for name, value in whole.items():
        assert parts[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value), name
    text = cli.good("evaluate", run, f"{folder}/parts", "--metrics", "auc", "--format", "human")
    assert "counted in 65,536 bins of the log odds: auc within" in text


def test_rank_answers_the_queries_of_all_parts(folder, cli):
    lines = [
        cli.good("rank", f"{folder}/run", "--samples", f"{folder}/{name}", "-k", "2", "--format", "json")
        for name in ("parts", "whole.npz")
    ]
    assert lines[0] == lines[1]
    assert lines[0].count("\n") == 60


def test_a_part_that_is_damaged_ends_every_command_before_its_work(folder, tmp_path, cli):
    part = next(iter(sorted((folder / "parts").glob("part-*.npz"))))
    whole = part.read_bytes()
    part.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    try:
        for command in (
            ["train", f"{folder}/parts", "-o", f"{tmp_path}/run", "--trainer", "newton"],
            ["evaluate", f"{folder}/run", f"{folder}/parts", "-o", f"{tmp_path}/evaluation"],
            ["rank", f"{folder}/run", "--samples", f"{folder}/parts"],
        ):
            code, message = cli.refused(*command)
            assert code == 3, command
            assert "part-00000.npz: damaged" in message
    finally:
        part.write_bytes(whole)
    assert list(tmp_path.iterdir()) == []


def test_descent_says_that_its_steps_go_part_by_part(folder, tmp_path, cli):
    cli.good("train", f"{folder}/parts", "--epochs", "2", "-o", f"{tmp_path}/run")
    assert "descent goes through a directory of columns part by part" in cli.err
