"""What processes cost, and commands of this checkout as processes."""

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from subcommands import ROOT, SCRIPTS

LTR = (sys.executable, "-m", "ltr")
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
WATCHED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""  # in a small process: the peak of a new one begins with the memory of the one that starts it


def environment(**changes):
    """Return the variables of a command that imports `ltr` from this checkout."""
    return os.environ | {"PYTHONPATH": str(ROOT)} | changes


def start(*words, **options):
    """Start a command of ltr, which prints nowhere unless the options say where."""
    return subprocess.Popen([*LTR, *map(str, words)], **({"env": environment()} | QUIET | options))


def run(*words, **options):
    """Run a command of ltr and return the finished process with its texts."""
    defaults = {"env": environment(), "capture_output": True, "text": True, "check": False}
    return subprocess.run([*LTR, *map(str, words)], **(defaults | options))  # noqa: PLW1510 - it is among the defaults


def cpu_seconds(call, repeats=1):
    """Return the least CPU time of the calls, and what the last returned."""
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        result = call()
        seconds.append(time.process_time() - begin)
    return min(seconds), result


def cpu_of_children():
    """Return the CPU seconds of all processes that this one has waited for, and of those that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory_mb(key, process="self"):
    """Return the MB of a process: VmRSS for what it holds, VmHWM for the most it ever held."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024


@dataclass(frozen=True, slots=True)
class Spent:
    """What a command used, and how it ended."""

    code: int
    seconds: float
    cpu: float
    peak_mb: float  # of its largest process
    stderr: str


def spent(*command, cwd=None, meanwhile=None, **changes):
    """Run a command and measure it; `meanwhile` is called with its process while it runs."""
    begin, pipes = time.monotonic(), {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    words = [sys.executable, "-c", WATCHED, *map(str, command)]
    process = subprocess.Popen(words, cwd=cwd, env=environment(**changes), **pipes)
    while meanwhile is not None and process.poll() is None:
        meanwhile(process)
    out, err = process.communicate()
    code, cpu, peak = map(float, out.split())
    return Spent(int(code), time.monotonic() - begin, cpu, peak / 1024, err.strip())


def in_own_process(part, *words):
    """Return what a part of scripts/bench prints in a process of its own; where it fails, so does this one."""
    command = [sys.executable, str(SCRIPTS / "bench"), part, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout
