"""A leaderboard as lines to read."""

from typing import TYPE_CHECKING

from ltr.cli.output import table_lines, wrapped
from ltr.reporting.escaping import visible

if TYPE_CHECKING:
    from ltr.results.leaderboard import Leaderboard


def standings(board: "Leaderboard") -> list[str]:
    """The leaderboard with its baselines, whether the first run is better than the second, and what failed."""
    from ltr.reporting.leaderboard_table import candidates_text, standings_table, unseen_text, verdict

    texts = [text for text in (candidates_text(board), unseen_text(board)) if text]
    texts += [verdict(board)] if len(board.rows) > 1 else []
    texts += [f"{row.run} failed: {row.error}" for row in board.rows if row.error is not None]
    return [*table_lines(standings_table(board)), *(line for text in texts for line in wrapped(visible(text)))]
