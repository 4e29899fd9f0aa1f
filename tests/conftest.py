"""What every test lives in: no network, a cache of its own, a fixed hypothesis profile."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.offline import sitecustomize

settings.register_profile("ltr", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("ltr")

sitecustomize.block()
offline = str(Path(sitecustomize.__file__).parent)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (offline, os.environ.get("PYTHONPATH"))))  # for children
os.environ["HF_HUB_OFFLINE"] = "1"  # read by the hub's library when it is imported


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of vectors that no other test sees."""
    directory = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("LTR_CACHE_DIR", str(directory))
    return directory
