"""What every test lives in: no network, a fixed hypothesis profile, the command line at hand."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.made import Commands
from tests.offline import sitecustomize

settings.register_profile("ltr", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("ltr")

sitecustomize.block()
offline = str(Path(sitecustomize.__file__).parent)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (offline, os.environ.get("PYTHONPATH"))))  # for children


os.environ["HF_HUB_OFFLINE"] = "1"  # read by the hub's library when it is imported


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    """The command line, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return Commands(monkeypatch, capfd)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of vectors that no other test sees."""
    directory = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("LTR_CACHE_DIR", str(directory))
    return directory
