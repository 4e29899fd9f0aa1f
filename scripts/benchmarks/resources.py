"""CPU time, memory, and measuring in a process of its own."""

import resource
import subprocess
import sys
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent / "bench"


def cpu_seconds(call, repeats=1):
    """Least CPU time of the calls, and what the last returned."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        result = call()
        seconds.append(time.process_time() - start)
    return min(seconds), result


def peak_mb():
    """Peak memory of this process so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_own_process(part, *arguments):
    """The finished process of a part of scripts/bench, with what it wrote as text."""
    command = [sys.executable, str(BENCH), part, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
