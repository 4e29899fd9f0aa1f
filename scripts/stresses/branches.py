"""Branch coverage of the package by its tests and the two nodes of Ray, with what they do in processes of their own.

The modules of `scripts/stress mutants` must reach every branch, the package 95 % of them. The compiled passes are left
out: machine code is not watched. What needs a package that is not installed counts as not taken.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from stresses.cases import Figure
from stresses.mutants import TESTS
from subcommands import ROOT

LEAST = 95  # per cent of the package
SETTINGS = """[run]
branch = true
parallel = true
source = {package}
omit =
    {package}/training/kernels/few_features.py
    {package}/training/kernels/many_features.py
    {package}/training/kernels/tuple_arithmetic.py
data_file = {folder}/data
patch = subprocess, fork, _exit

[report]
exclude_also =
    if TYPE_CHECKING:
    @overload
    ^\\s*\\.\\.\\.$
    : \\.\\.\\.$
    class .*\\bProtocol\\b
    if sys.platform == "win32":
"""


def options(parser):
    """Options of the command line."""
    parser.add_argument("tests", nargs="*", help="files of tests (default: all)")


def main(*, tests):
    """The files with branches that no test takes, and the share of all."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "settings")
        settings.write_text(SETTINGS.format(package=ROOT / "ltr", folder=folder), encoding="utf-8")
        coverage = [sys.executable, "-m", "coverage"]
        chosen = ["-n", "2", "-q", "-p", "no:cacheprovider", *tests]
        for words in (["-m", "pytest", *chosen], *([] if tests else [[str(ROOT / "scripts/stress"), "cluster"]])):
            subprocess.run(
                [*coverage, "run", f"--rcfile={settings}", *words],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                check=False,  # some tests of signals and of what is loaded fail where every line is watched
            )
        report = Path(folder, "report.json")
        for words in (["combine", "--quiet"], ["json", "--quiet", "-o", str(report)]):
            subprocess.run([*coverage, words[0], f"--rcfile={settings}", *words[1:]], cwd=ROOT, check=True)
        return figure(json.loads(report.read_text(encoding="utf-8")))


def figure(report):
    """A line a file with a gap, and the share of all branches that were taken."""
    whole = {f"ltr/{name}.py" for name in TESTS}
    gaps = 0
    for path, entry in sorted(report["files"].items()):
        name, summary = path[path.rindex("ltr/") :], entry["summary"]
        missing = [f"{first}->{last}" for first, last in entry["missing_branches"]]
        if missing or entry["missing_lines"]:
            gaps += name in whole
            must = " (must be whole)" if name in whole else ""
            lines = f"lines {entry['missing_lines']}" if entry["missing_lines"] else ""
            print(f"{summary['percent_covered']:6.1f} % {name}{must}: {lines} branches {', '.join(missing)}")
    total = report["totals"]
    share = 100 * total["covered_branches"] / total["num_branches"]
    text = f"{share:.1f} % of {total['num_branches']} branches of the package are taken; {gaps} of {len(whole)} modules"
    return Figure(f"{text} that must be whole have a gap", share >= LEAST and not gaps)
