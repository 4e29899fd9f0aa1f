"""Write the data sets of this project from their hand-written source, data/source: the same bytes on every run."""

from pathlib import Path

from data.source import make
from subcommands import ROOT, at_least


def options(parser):
    """Options of the command line."""
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT, help="to write under (default: this checkout)")
    parser.add_argument("--queries", type=at_least(20), help="of each side, at least; fewer begin with the same")


def main(*, folder, queries):
    """Write them."""
    make.write_data(folder, queries)
