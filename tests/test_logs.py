"""The log of ltr, and the time of a stage."""

import logging

import pytest

from ltr.cli.output import log_on_stderr
from ltr.logs import LOG, stage


@pytest.fixture
def messages(caplog):
    caplog.set_level(logging.INFO, logger=LOG.name)
    return lambda: [(record.name, record.getMessage()) for record in caplog.records]


def test_a_stage_logs_its_time_when_it_ends(messages):
    with stage("training", clock=iter([1.0, 3.5]).__next__):
        assert messages() == []
    assert messages() == [("ltr", f"training took {3.5 - 1.0:.3f} s")]


def test_each_call_of_a_function_below_a_stage_is_timed(messages):
    @stage("reading", clock=iter([0.0, 1.0, 5.0, 5.25]).__next__)
    def read(path):
        return path.upper()

    assert [read("a"), read("b")] == ["A", "B"]
    assert messages() == [("ltr", "reading took 1.000 s"), ("ltr", "reading took 0.250 s")]


def test_a_stage_that_fails_logs_no_time(messages):
    with pytest.raises(ZeroDivisionError), stage("training"):
        1 / 0  # noqa: B018
    assert messages() == []


def test_v_shows_a_message_on_stderr_with_control_characters_escaped_until_the_command_ends(capsys):
    with log_on_stderr():
        LOG.info("read a\x1b[2J.jsonl")
    LOG.info("nobody hears")
    assert capsys.readouterr() == ("", "read a\\x1b[2J.jsonl\n")
