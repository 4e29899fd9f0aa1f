import pytest

from ltr import load_config, run
from ltr.errors import UsageError
from ltr.experiments.starter import FILES, write_starter


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """What the starter ends in."""
    home = tmp_path_factory.mktemp("starter") / "new"
    write_starter(home)
    return run(load_config(home / "ltr.yaml"))


def test_the_starter_is_a_config_and_data_that_run_as_they_are(result):
    means = result.measured.evaluation.means["mrr"], result.measured.baselines["random"].means["mrr"]
    assert means[0] > means[1]
    assert result.config.name == "mine"


def test_the_starter_is_small():
    from importlib.resources import files

    assert sum(len(files("ltr.experiments.starter").joinpath(*name.split("/")).read_bytes()) for name in FILES) < 60_000


def test_nothing_that_is_there_is_replaced_unless_asked(tmp_path):
    (tmp_path / "ltr.yaml").write_text("mine")
    with pytest.raises(UsageError, match="exists; add --overwrite, or choose another name"):
        write_starter(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["ltr.yaml"]
    write_starter(tmp_path, overwrite=True)
    assert (tmp_path / "ltr.yaml").read_text() != "mine"


def test_a_run_of_the_starter_beats_its_own_columns_untrained(result):
    measured = result.measured
    trained, untrained = measured.evaluation, measured.baselines["untrained"]  # of 22 queries: top-1 has few steps
    assert trained.means["mrr"] > untrained.means["mrr"]


def test_init_ends_in_the_next_command_and_what_can_be_done_then(cli):
    told = cli.good("init", "new dir").splitlines()[-2:]
    assert told[0] == "next: cd 'new dir' && ltr run"
    assert told[1].startswith("then: ltr rank runs/mine ")
    assert cli.refused("init", "new dir")[0] == 2


def test_run_without_a_config_takes_the_one_that_is_here(cli):
    cli.good("init")
    assert '"run": "mine"' in cli.good("run", "--set", "train.recipe=specification", "--format", "json", "-q")


def test_run_where_there_is_no_config_says_what_to_do(cli):
    refused = cli.refused("run")
    assert refused[0] == 2
    assert "no ltr.yaml here; name a config, or make one with `ltr init`" in cli.err
