"""The wheel, without the checkout, under each Python from 3.11 on that is here: the same metrics, the same weights.

Pythons are those on the PATH and of pyenv. Each gets an environment of its own with the wheel and what it needs, and
runs init, run, report and rank. Ends with 1 when metrics differ, or weights by more than 1e-9.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from stresses.attacks import Figure, scratch
from stresses.determinism import weights
from subcommands import ROOT

VERSION = re.compile(r"Python (3)\.(1[1-9])\.")


def main():
    """A line a Python."""
    results = {}
    with scratch(is_loaded=False) as home:
        subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", home, ROOT], check=True)
        (wheel,) = home.glob("*.whl")
        for version, python in pythons().items():
            results[version] = result_of(home / version, python, wheel)
            print(f"{version}: MRR {results[version][0]['metrics']['mrr']:.12f}", flush=True)
    (first, w), *others = results.values()
    same = sum(metrics == first for metrics, _ in others)
    farthest = max((abs(a - b) for _, v in others for a, b in zip(w, v, strict=True)), default=0.0)
    text = f"Python {', '.join(results)}: metrics equal in {1 + same} of {len(results)}, weights within {farthest:.0e}"
    return Figure(text, is_good=same == len(others) and farthest <= 1e-9 and len(results) > 1)


def pythons():
    """Return the program of each version from 3.11 on."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    folders += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    found = {}
    for program in (path for folder in folders for path in sorted(folder.glob("python3.1[0-9]"))):
        told = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False).stdout
        if match := VERSION.match(told):
            found.setdefault(f"{match[1]}.{match[2]}", program)
    return dict(sorted(found.items(), key=lambda item: int(item[0].partition(".")[2])))


def result_of(home, python, wheel):
    """Return metrics and weights of the starter under the Python."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))}
    home.mkdir()

    def ran(*words):
        pipes = {"cwd": home, "env": kept, "capture_output": True, "text": True}
        done = subprocess.run([str(word) for word in words], check=False, **pipes)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stderr[-500:]}")
        return done.stdout

    ran(python, "-m", "venv", home / "venv")
    ran(home / "venv/bin/pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel)
    for words in ("init mine", "run mine/ltr.yaml -o runs -q", "report runs/mine -o page.html"):
        ran(home / "venv/bin/ltr", *words.split())
    if not json.loads(ran(home / "venv/bin/ltr", "rank", "runs/mine", "send an email to Ann", "--format", "json")):
        raise RuntimeError("ltr rank gives no answer")
    metrics, model = (json.loads((home / "runs/mine" / name).read_text()) for name in ("metrics.json", "model.json"))
    shutil.rmtree(home / "venv")
    return metrics, weights(model)
