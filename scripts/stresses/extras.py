"""The tests where extras are installed, in an environment of their own: there `auto` takes another encoder.

The environment stays in .stress/ for the next time. On Linux torch may add 2 GB of CUDA, which a CPU build of the torch
that constraints.txt names, put into .stress/extras-embed-static before, avoids.
"""

import re
import subprocess
import sys

from stresses.attacks import STATE, Figure
from subcommands import ROOT

EXTRAS = ("embed", "static")


def options(parser):
    """Options of the command line."""
    parser.add_argument("extras", nargs="*", metavar="EXTRA", default=EXTRAS, help="(default: embed static)")
    parser.add_argument("--tests", nargs="+", default=[], metavar="FILE", help="(default: all of them)")


def main(*, extras, tests):
    """What pytest counts, as it says it."""
    python = environment(sorted(extras))
    command = [python, "-m", "pytest", "-q", "-n", "2", *tests]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, flush=True)
    counts = re.sub(r" in [\d.]+s.*", "", done.stdout.strip().rpartition("\n")[2])
    return Figure(f"with {' and '.join(sorted(extras))}: {counts}", is_good=done.returncode == 0)


def environment(extras):
    """The Python of an environment with this checkout, its tests and the extras."""
    home = STATE / f"extras-{'-'.join(extras)}"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
    target = f"{ROOT}[test,{','.join(extras)}]"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", ROOT / "constraints.txt", "-e", target], check=True)
    return python
