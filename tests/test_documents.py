"""The documents are kept true: every Python block runs, and prints what the block after it shows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\s*```text\n(.*?)```)?", re.DOTALL)
BLOCKS = [
    pytest.param(code, shown, id=f"{name}-{number}")
    for name in ("README.md", "CONTRIBUTING.md")
    for number, (code, shown) in enumerate(BLOCK.findall((ROOT / name).read_text(encoding="utf-8")))
]


@pytest.mark.parametrize("code, shown", BLOCKS)
def test_a_python_block_runs_and_prints_what_is_shown(code, shown, tmp_path):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown


def test_there_are_blocks_to_run():
    assert len(BLOCKS) >= 2
