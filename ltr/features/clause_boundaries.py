"""Where a query falls into clauses."""

import re

BREAK = re.compile(r"(?<=[.!?;:])\s+|[。！？；，、]|,\s*|(?<!\s)\s+(?:and|then|also)\s+", re.IGNORECASE)
SHORTEST_CLAUSE, MOST_CLAUSES = 3, 8  # words, clauses


def clauses(query: str) -> list[str]:
    """The clauses of a query, in order; a query that cannot be cut is its only clause.

    It is cut after .!?;:, at commas, and at the words and, then and also. A clause of under 3 words joins the one
    before it, or the one after it if it is the first; the text after the eighth clause belongs to the eighth.

    >>> clauses("Find a flight to Paris, then book a cheap hotel and a car. Send me an email!")
    ['Find a flight to Paris', 'then book a cheap hotel a car.', 'Send me an email!']
    """
    joined: list[list[str]] = []
    last_words = 0  # of the last clause
    for piece in filter(None, (part.strip() for part in BREAK.split(query))):
        piece_words = len(piece.split())
        if joined and (min(piece_words, last_words) < SHORTEST_CLAUSE or len(joined) == MOST_CLAUSES):
            joined[-1].append(piece)
            last_words += piece_words
        else:
            joined.append([piece])
            last_words = piece_words
    return [" ".join(pieces) for pieces in joined] if len(joined) > 1 else [query]
