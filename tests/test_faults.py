"""A failing disk under whole commands: the earlier result stays, the exit code is 74, nothing is left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_some_faults_of_a_command_lose_nothing_and_leave_nothing():
    names = ["train", "evaluate", "featurize", "init", "export trec", "update"]
    command = [sys.executable, ROOT / "scripts" / "stress", "faults", *names, "--every", "43", "--seed", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    ends = [line.split("faults, ")[1] for line in done.stdout.splitlines() if "faults, " in line]
    assert ends == ["0 wrong"] * 2 * len(names), done.stdout + done.stderr
    assert done.returncode == 0
