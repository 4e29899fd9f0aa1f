"""The sections `none` and `abstain` of a config: nothing offered is right, or the router is not sure enough."""

import math
from dataclasses import dataclass

LOG, REMOVED = "log", "removed"
RULES = ("risk", "precision")


@dataclass(frozen=True, kw_only=True)
class NoneConfig:
    """Where P(none) is learned from, and for which share it is."""

    source: str | None = None
    """log: queries that say that none is right; removed:0.2: copies without right answers; null: the log's, if any."""
    share: float | None = None
    """The share of queries for which none is right that P(none) is for; null: that of the log. Removed needs it."""
    l2: float = 0.0001
    """Weight of the penalty on its squared coefficients."""

    def __post_init__(self) -> None:
        wrong = []
        if self.source not in (None, LOG) and self.removed_share is None:
            wrong.append(f"source {self.source!r} is neither log nor removed:SHARE with a share between 0 and 1")
        if self.share is not None and not 0 < self.share < 1:
            wrong.append(f"share {self.share:g} is not between 0 and 1")
        if not self.l2 > 0:
            wrong.append(f"l2 {self.l2:g} is not above 0")
        if wrong:
            raise ValueError(*wrong)

    @property
    def removed_share(self) -> float | None:
        """The share of queries that are copied without their right candidates; None of another source."""
        name, _, number = (self.source or "").partition(":")
        try:
            share = float(number)
        except ValueError:
            share = math.nan
        return share if name == REMOVED and 0 < share < 1 else None


@dataclass(frozen=True, kw_only=True)
class AbstainConfig:
    """When a router does not answer."""

    rule: str | None = None
    """risk=0.05: at most so many of all queries answered wrongly; precision=0.95: so many of the answers right."""

    def __post_init__(self) -> None:
        if self.rule is not None and self.chosen is None:
            raise ValueError(
                f"rule {self.rule!r} is neither risk=SHARE nor precision=SHARE with a share between 0 and 1"
            )

    @property
    def chosen(self) -> tuple[str, float] | None:
        """The rule and its share; None without a rule that can be read."""
        name, _, number = (self.rule or "").partition("=")
        try:
            share = float(number)
        except ValueError:
            share = math.nan
        return (name, share) if name in RULES and 0 < share < 1 else None
