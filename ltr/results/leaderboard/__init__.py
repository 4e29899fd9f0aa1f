"""The runs of a batch beside each other: the best first, how sure its lead is, and what failed."""

from ltr.results.leaderboard.rows import Entry, Leaderboard, Row, kept_metrics, leaderboard
from ltr.results.leaderboard.text import BOARDS, cells, document, markdown, refuse_foreign, verdict, write_leaderboard

__all__ = [
    "BOARDS",
    "Entry",
    "Leaderboard",
    "Row",
    "cells",
    "document",
    "kept_metrics",
    "leaderboard",
    "markdown",
    "refuse_foreign",
    "verdict",
    "write_leaderboard",
]
