"""The measures by name: the name is the Python argument, the JSON key, the flag and the config value."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from ltr.arrays import FloatArray
from ltr.errors import UsageError, suggestion
from ltr.metrics.judged import Judged
from ltr.registry import Registry

Function = Callable[[Judged, int], FloatArray]
CUTOFF = re.compile(r"([a-z][a-z0-9_]*)@([0-9]+)")


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure, at one cutoff where it has one."""

    name: str
    rule: str  # what the mean says, in words
    function: Function
    k: int | None

    def __call__(self, judged: Judged) -> FloatArray:
        """One value a query; those without a relevant candidate hold 0."""
        return self.function(judged, self.k or judged.longest)


MEASURES: Registry[Measure] = Registry("metric")


def measure(name: str, rule: str, *, k: int | None = None) -> Callable[[Function], Function]:
    """Register a function of (judged, k) under NAME@k, or under NAME for one k; None stands for the whole list."""

    def keep(function: Function) -> Function:
        MEASURES.add(name, Measure(name, rule, function, k), made_of=function)
        return function

    return keep


def named(name: str) -> Measure:
    """The measure called so: a registered name, or NAME@k with the number k.

    >>> named("hit@5").k
    5
    """
    if name in MEASURES and not name.endswith("@k"):
        return MEASURES[name]
    cut = CUTOFF.fullmatch(name)
    if not cut or f"{cut[1]}@k" not in MEASURES:
        known = [known.replace("@k", "@5") for known in MEASURES.names()]
        hint = suggestion(name, known)
        raise UsageError(f"unknown metric {name!r}{hint}; known, with any number for k: {', '.join(MEASURES.names())}")
    k = int(cut[2])
    if not 1 <= k <= 10**9:
        raise UsageError(f"metric {name!r}: k must be from 1 to 1,000,000,000")
    pattern = MEASURES[f"{cut[1]}@k"]
    return Measure(f"{cut[1]}@{k}", pattern.rule, pattern.function, k)
