"""What every test lives in: no network, a fixed hypothesis profile."""

import socket
from pathlib import Path

import pytest
from hypothesis import settings

from tests.made import Commands

settings.register_profile("ltr", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("ltr")


class NetworkTouchedError(Exception):
    """A test opened a socket to somewhere."""


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise NetworkTouchedError(args)

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    """The command line, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return Commands(monkeypatch, capfd)
