"""A failing disk under whole commands: the earlier result stays, the exit code is 74, nothing is left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("name", ["train", "evaluate", "featurize", "init", "export trec", "update"])
def test_some_faults_of_a_command_lose_nothing_and_leave_nothing(name):
    command = [sys.executable, ROOT / "scripts" / "stress", "faults", name, "--every", "23", "--seed", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    lines = done.stdout.splitlines()
    assert [line.split("faults, ")[1] for line in lines[:2]] == ["0 wrong", "0 wrong"], done.stdout + done.stderr
    assert done.returncode == 0
