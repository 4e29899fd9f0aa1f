"""The recipes of docs/report.md for other people's trackers, run where those are installed."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ltr import RunConfig
from tests.made import DataConfig, save_run, tool_rows, written

pytestmark = pytest.mark.contract

DOCUMENT = (Path(__file__).parent.parent / "docs" / "report.md").read_text(encoding="utf-8")
OF_MLFLOW = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_TRACKING_URI": "mlruns"}  # a store without a database
DVC = Path(sys.executable).with_name("dvc")


def block(tracker):
    """The block below the heading of the tracker."""
    return re.search(r"```\w+\n(.*?)```", DOCUMENT.partition(f"## {tracker}")[2], re.DOTALL)[1]


@pytest.fixture
def place(tmp_path):
    """A directory with the run that the recipes name."""
    samples = str(written(tmp_path / "samples.jsonl", tool_rows(range(6))))
    save_run(RunConfig(name="tools", data=DataConfig(train=(samples,)), encoder="hash"), tmp_path / "runs" / "tools")
    return tmp_path


def ran(command, place, **environment):
    done = subprocess.run(
        command, cwd=place, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_recipe_has_three_lines():
    assert len([line for line in block("MLflow").splitlines() if line]) == 3


@pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="mlflow is not installed")
def test_mlflow_logs_the_numbers(place):
    count = "print(len(mlflow.get_run(mlflow.last_active_run().info.run_id).data.metrics), len(metrics))"
    code = block("MLflow") + count
    logged, saved = map(int, ran([sys.executable, "-c", code], place, **OF_MLFLOW).split())
    assert logged == saved >= 3


@pytest.mark.skipif(not DVC.exists() or not shutil.which("git"), reason="dvc is not installed")
def test_dvc_reads_the_metrics_untouched(place):
    (place / "dvc.yaml").write_text(block("DVC"))
    ran(["git", "init", "-q"], place)
    ran([DVC, "init", "-q"], place, DVC_NO_ANALYTICS="1")
    shown = ran([DVC, "metrics", "show", "--json"], place, DVC_NO_ANALYTICS="1")
    assert '"top1_accuracy"' in shown
