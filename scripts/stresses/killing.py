"""Processes of ltr that are killed, and what they leave on disk."""

import os
import signal
import subprocess
import sys
import time

from subcommands import ROOT

WITH_TIMES = ("run.json", "log.jsonl")  # they hold times of day, and differ between equal runs


def start(*words):
    """An ltr command of this checkout, as a process."""
    command = [sys.executable, "-m", "ltr", *map(str, words), "-q"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, **quiet)


def kill_after(seconds, process):
    """Its exit code: -SIGKILL, or another if it had ended before."""
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    return process.wait()


def files_without_times(home):
    """Every other file under the directory, and its bytes."""
    files = (path for path in sorted(home.rglob("*")) if path.is_file() and path.name not in WITH_TIMES)
    return {str(path.relative_to(home)): path.read_bytes() for path in files}
