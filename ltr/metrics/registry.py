"""The measures by name: the name is the Python argument, the JSON key, the flag and the config value."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray
from ltr.errors import RunError, UsageError, suggestion
from ltr.metrics.judged import Judged
from ltr.registry import Registry

Function = Callable[[Judged, int], FloatArray]
CUTOFF = re.compile(r"([a-z][a-z0-9_]*)@([0-9]+)")
LARGEST_K = 10**9


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure, at one cutoff where it has one."""

    name: str
    rule: str  # what the mean says, in words
    function: Function
    k: int | None

    def __call__(self, judged: Judged) -> FloatArray:
        """One finite value a query, whatever the function of a plug-in returned."""
        values = np.asarray(self.function(judged, self.k or judged.longest))
        if values.shape != judged.sizes.shape or values.dtype.kind not in "fiub" or not np.isfinite(values).all():
            found = f"found shape {values.shape} of {values.dtype}"
            raise RunError(f"metric {self.name!r}: one finite number a query is needed {judged.sizes.shape}, {found}")
        return values.astype(np.float64, copy=False)


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
    if not isinstance(name, str):
        raise UsageError(f"metric {name!r} is not a name; known: {', '.join(MEASURES.names())}")
    if name in MEASURES and not name.endswith("@k"):
        return MEASURES[name]
    cut = CUTOFF.fullmatch(name)
    if not cut or f"{cut[1]}@k" not in MEASURES:
        hint = suggestion(name.lower(), [known.replace("@k", "@5") for known in MEASURES.names()])
        raise UsageError(f"unknown metric {name!r}{hint}; known, with any number for k: {', '.join(MEASURES.names())}")
    digits = cut[2].lstrip("0") or "0"
    if digits == "0" or len(digits) > len(str(LARGEST_K)) or int(digits) > LARGEST_K:
        raise UsageError(f"metric {name[:40]!r}: k must be from 1 to {LARGEST_K:,}")
    pattern = MEASURES[f"{cut[1]}@k"]
    return Measure(f"{cut[1]}@{digits}", pattern.rule, pattern.function, int(digits))


def all_named(names: Iterable[str]) -> list[Measure]:
    """The measures called so, each once, in the order given.

    >>> [each.name for each in all_named(["mrr", "hit@5", "mrr"])]
    ['mrr', 'hit@5']
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise UsageError(f"metrics is {names!r}; a list of names is needed, as in ['ndcg@5']")
    return list({each.name: each for each in map(named, names)}.values())
