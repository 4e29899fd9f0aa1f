"""What every test lives in: no network, a fixed hypothesis profile."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ltr", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("ltr")


class NetworkTouchedError(Exception):
    """A test opened a socket to somewhere."""


os.environ["HF_HUB_OFFLINE"] = "1"  # read by the hub's library when it is imported


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of vectors that no other test sees."""
    directory = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("LTR_CACHE_DIR", str(directory))
    return directory


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise NetworkTouchedError(args)

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
