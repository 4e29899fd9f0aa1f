"""Processes that go on although the one that started them has ended."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.made import ENVIRONMENT


def is_alive(process: int) -> bool:
    """Whether it has not ended yet; where /proc tells, one that has ended is not, although nobody has asked for it."""
    try:
        os.kill(process, 0)
        stated = Path(f"/proc/{process}/stat").read_text()
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # it ended just now, or the system has no such file
        return not Path("/proc/self").exists()
    return stated.rpartition(")")[2].split()[0] not in ("Z", "X")


def left_behind(code: str, folder: Path) -> list[int]:
    """Of two processes that run the code, one killed and one interrupted, those that they started and that go on.

    The code prints the number of each of its two processes on stderr.
    """
    script = folder / "parent.py"
    script.write_text(code)
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": ENVIRONMENT, "text": True}
    parents = [subprocess.Popen([sys.executable, str(script)], **options) for _ in range(2)]
    started = [int(parent.stderr.readline()) for parent in parents for _ in range(2)]
    for parent, number in zip(parents, (signal.SIGKILL, signal.SIGINT), strict=True):
        parent.send_signal(number)
        parent.communicate(timeout=30)
    deadline = time.monotonic() + 30
    while any(map(is_alive, started)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return [process for process in started if is_alive(process)]
