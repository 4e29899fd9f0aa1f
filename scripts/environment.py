"""The project's virtual environment, made and kept up to date by the scripts beside this file."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "ltr-installed.json"
SIZES = {
    "": "300 MB (numpy, scipy, typer, rich and small ones)",
    "test": "80 MB (pytest, hypothesis, ruff, mypy)",
    "static": "80 MB (a table of word vectors, tokenizers)",
    "mcp": "40 MB (the official SDK of MCP, with starlette, cryptography and small ones)",
    "ray": "250 MB (ray)",
    "embed": (
        "1.2 GB (torch 2.13.0, transformers, MiniLM of 90 MB); on Linux torch may add 2 GB of CUDA, "
        "which a CPU build of torch 2.13.0, put into .venv before, avoids"
    ),
}


def ready(*extras):
    """Path of a Python that has this checkout and the extras installed; says so before it fetches anything."""
    if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs this may have any Python
        sys.exit(f"ltr needs Python 3.11 or newer; this is {sys.version.split()[0]}. Run this with a newer python3.")
    installed = stamp()
    wanted = {"sources": digest(), "extras": sorted({*extras, *installed["extras"]})}
    if installed == wanted and works([PYTHON, "-c", ""]):
        return PYTHON
    make()
    install(wanted["extras"])
    STAMP.write_text(json.dumps(wanted))
    return PYTHON


def stamp():
    """What the environment was made of; nothing where its note cannot be read."""
    try:
        found = json.loads(STAMP.read_text())
        return {"sources": str(found["sources"]), "extras": [str(extra) for extra in found["extras"]]}
    except (OSError, ValueError, KeyError, TypeError):
        return {"sources": "", "extras": []}


def digest():
    """Another text whenever what must be installed may be another; a copied checkout has another folder."""
    named = os.fsencode(ROOT) + b"".join((ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt"))
    return hashlib.sha256(named + sys.version.encode()).hexdigest()


def make():
    """An empty environment, unless a working one is there."""
    if works([PYTHON, "-m", "pip", "--version"]):
        return
    say(f"making a virtual environment in {VENV.name}/")
    if run([sys.executable, "-m", "venv", "--clear", str(VENV)]) != 0:
        sys.exit("this Python cannot make virtual environments: install its venv and pip (Debian: python3-venv).")


def install(extras):
    """This checkout, editable, with the extras, at the versions of constraints.txt."""
    for name in ("", *extras):
        say(f"fetching what is missing of {name or 'ltr'}: about {SIZES.get(name, 'an unmeasured size')} on disk")
    target = str(ROOT) + (f"[{','.join(extras)}]" if extras else "")
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if run([*pip, "-c", str(ROOT / "constraints.txt"), "-e", target]) != 0:
        sys.exit("installing failed: see pip's message above; run the same command again once it is mended.")
    if not str(ROOT).isascii():
        name_by_relative_path()


def name_by_relative_path():
    """Let the environment find a checkout whose path is not ASCII: with LC_ALL=C Python 3.11 cannot read the path."""
    for link in VENV.glob("lib/python*/site-packages/*.pth"):
        if link.read_bytes().strip() == os.fsencode(ROOT):
            link.write_text(os.path.relpath(ROOT, link.parent), encoding="ascii")


def run(command):
    """Exit code of a command run in the checkout."""
    return subprocess.run([str(part) for part in command], cwd=ROOT, check=False).returncode


def works(command):
    """Whether a program can be started and ends well; nothing is shown."""
    words = [str(part) for part in command]
    try:
        return subprocess.run(words, cwd=ROOT, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def say(line):
    """Progress goes to stderr; results alone go to stdout."""
    print(line, file=sys.stderr, flush=True)
