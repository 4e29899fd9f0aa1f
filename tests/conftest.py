"""What every test lives in: no network, a fixed hypothesis profile, the command line at hand."""

import gc
import itertools
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = False  # rewriting the asserts of all tests takes longer than importing what was rewritten
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the command line does; read when numpy is imported, here and in children

import pytest
from hypothesis import settings

import ltr
from ltr.engine import processes
from tests import contract
from tests.made import ROWS, Commands, written
from tests.offline import sitecustomize

settings.register_profile("ltr", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("ltr")

sitecustomize.block()
offline = str(Path(sitecustomize.__file__).parent)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (offline, os.environ.get("PYTHONPATH"))))  # for children


os.environ["HF_HUB_OFFLINE"] = "1"  # read by the hub's library when it is imported

CACHES = itertools.count()
MEMORY = "/dev/shm"  # files in memory: every artefact is synced, and a disk takes milliseconds for that
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK):
    os.environ["TMPDIR"], tempfile.tempdir = MEMORY, None  # for children and for this process


def is_for_contract(config):
    """Whether the contract suite is asked for: then tests/contract.py reads what belongs to it."""
    return "contract" in config.option.markexpr


def pytest_ignore_collect(collection_path, config):
    """Of the contract suite modules without a test in it are not even imported: what they look at may be gone."""
    if config.option.markexpr.startswith("contract") and collection_path.suffix == ".py":
        own = collection_path.parent == contract.FOLDER
        return not (own and contract.contract_tests(collection_path.stem)) or None
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark the tests of the contract suite."""
    if not is_for_contract(config):
        return
    for item in items:
        if isinstance(item, pytest.Function):
            name = item.cls.__name__ if item.cls else item.originalname
            if not contract.inner(item.path.stem, name):
                item.add_marker("contract")


def pytest_collection_finish():
    """What was collected stays: the collector of garbage need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)  # tests make much that lives shortly


@pytest.fixture(scope="session", autouse=True)
def warm_workers():
    """Workers start quickly; some of test_processes.py and those of commands of their own start as for users."""
    from tests.warm import Warm

    context = Warm()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "get_context", lambda _: context)
        yield


@pytest.fixture(scope="module", params=["tool", "graph"])
def trained(request, tmp_path_factory):
    """A run of each kind, and its directory."""
    home = tmp_path_factory.mktemp(request.param)
    written(home / "train.jsonl", ROWS[request.param](range(25)))
    return home / "run", ltr.train(home / "train.jsonl", out=home / "run", encoder="hash", trainer="newton")


@pytest.fixture(scope="module")
def two():
    """Two processes that work."""
    from ltr.engine.processes import Local

    with Local(2) as opened:
        yield opened


@pytest.fixture(scope="module")
def four():
    """Four processes that work."""
    from ltr.engine.processes import Local

    with Local(4) as opened:
        yield opened


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A function that fills a directory: `make` does for the first test of a module, the others get copies of it."""
    store = tmp_path_factory.mktemp("filled")

    def fill(directory, make):
        if (store / make.__name__).exists():
            shutil.copytree(store / make.__name__, directory, dirs_exist_ok=True)
        else:
            make()
            shutil.copytree(directory, store / make.__name__)

    return fill


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    """The command line, in an empty directory."""
    from tests.warm import build_once

    monkeypatch.chdir(tmp_path)
    build_once(monkeypatch)
    return Commands(monkeypatch, capfd)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of vectors that no other test sees."""
    directory = tmp_path_factory.getbasetemp() / "caches" / str(next(CACHES))  # mktemp looks at all there are
    directory.mkdir(mode=0o700, parents=True)
    monkeypatch.setenv("LTR_CACHE_DIR", str(directory))
    return directory
