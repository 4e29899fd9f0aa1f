"""What the command line says about encoders: what is missing, what is downloaded, what is wrong with the cache."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from ltr.encoders import ENCODERS
from ltr.encoders.disk import FILE
from tests import warm
from tests.builders import tool_lines, write_lines

ROOT = Path(__file__).parent.parent
SAMPLES = list(tool_lines(traces=2))


def run(tmp_path, *arguments, encoder):
    samples = write_lines(tmp_path / "samples.jsonl", SAMPLES)
    command = ["featurize", str(samples), "-o", str(tmp_path / "out.npz"), "--encoder", encoder, *arguments]
    done = warm.command(*command, cwd=ROOT, environment=dict(os.environ))
    return SimpleNamespace(returncode=done.returncode, stdout=done.stdout.decode(), stderr=done.stderr.decode())


def test_a_missing_model_is_a_usage_error_of_one_line(tmp_path):
    done = run(tmp_path, encoder="sentence-transformers:nobody/nothing-like-this")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: encoder ")
    assert "Fix one: " in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_download_is_refused_where_the_hub_is_offline(tmp_path):
    done = run(tmp_path, "--allow-download", encoder="sentence-transformers:nobody/nothing-like-this")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_a_download_is_no_key_of_the_config(tmp_path):
    done = run(tmp_path, "--set", "allow_download=true", encoder="hash")
    assert done.returncode == 2
    assert "allow_download: unknown key" in done.stderr


def test_encoders_without_a_model_have_nothing_to_download(tmp_path):
    assert run(tmp_path, "--allow-download", "--quiet", encoder="hash").returncode == 0


@pytest.mark.skipif(not ENCODERS["static"].is_installed(), reason="not installed")
def test_a_damaged_cache_is_one_warning_and_the_same_numbers(tmp_path, own_cache):
    assert run(tmp_path, "--quiet", encoder="static").stderr == ""
    content = (tmp_path / "out.npz").read_bytes()
    (own_cache / FILE).write_bytes(b"not a database" * 1000)
    done = run(tmp_path, "--quiet", "--overwrite", encoder="static")
    assert done.returncode == 0
    assert done.stderr.startswith("warning: ")
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "out.npz").read_bytes() == content


@pytest.mark.heavy
def test_a_fetched_model_has_neither_code_nor_pickles(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")

    asked = []

    def download(name, **options):
        asked.append((name, options))
        if options.get("local_files_only"):
            raise hub.errors.LocalEntryNotFoundError("not here")
        return str(tmp_path)

    monkeypatch.setattr(hub, "snapshot_download", download)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    from ltr.encoders import ModelFolder

    assert ModelFolder.found("someone/model", download=True).path == tmp_path
    name, options = asked[-1]
    assert name == "someone/model"
    assert not any(pattern.endswith((".py", ".bin", "*")) for pattern in options["allow_patterns"])
