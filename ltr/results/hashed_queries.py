"""Queries as hashes: what a run keeps where the texts of its users must not be kept."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from ltr.data.candidates import Candidates
from ltr.data.groups import Groups
from ltr.results.evaluated_ranking import EvaluatedRanking

LONGEST_SHOWN = 60  # characters of a query in a warning


def digest_of(text: str) -> str:
    """What stands for a text: equal texts have equal hashes, so queries can still be matched.

    >>> digest_of("weather in Paris?")
    'text:35c3c89a21312dc9'
    """
    return f"text:{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"


def without_texts(measured: EvaluatedRanking) -> EvaluatedRanking:
    """The evaluated ranking with a hash for each query, in its groups and in its warnings."""
    candidates = measured.groups.candidates
    warnings = tuple(hash_texts(measured.warnings, candidates.query_texts))
    return replace(measured, groups=_hashed_groups(measured.groups), warnings=warnings)


def hash_texts(warnings: Iterable[str], texts: Iterable[str]) -> list[str]:
    """The warnings with a hash in the place of each of the texts that one of them quotes."""
    changed = list(warnings)
    for text in texts:
        quoted, digest = repr(text[:LONGEST_SHOWN]), repr(digest_of(text))
        changed = [warning.replace(quoted, digest) for warning in changed]
    return changed


def _hashed_groups(groups: Groups) -> Groups:
    candidates: Candidates = groups.candidates
    texts = tuple(map(digest_of, candidates.query_texts))
    return replace(groups, candidates=replace(candidates, query_texts=texts))
