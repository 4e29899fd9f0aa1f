"""The metrics by name: the name is the Python argument, the JSON key, the flag and the config value."""

import math
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal

import numpy as np

from ltr.arrays import FloatArray
from ltr.errors import RunError, UsageError, suggestion
from ltr.evaluation.probabilities import AnyCandidates, CandidateProbabilities
from ltr.evaluation.ranking import Ties, rank
from ltr.evaluation.ties import TieBlocks, tie_blocks
from ltr.plugins import bad_result, plugin_errors, source_of, summary_of
from ltr.registry import Registry

Curve = dict[str, list[float]]
TOP1: Final = "top1_accuracy"
TOP3: Final = "top3_accuracy"
MRR: Final = "mrr"
MAP: Final = "map"
CATALOGUE = "@catalogue"  # ends the name of a metric of the ranking of a whole catalogue
CUTOFF = re.compile(r"(.+)@([0-9]+)")
BETA = re.compile(r"f([0-9]{1,4}(?:\.[0-9]{1,4})?)((?:@k)?)")
TOP_ACCURACY = re.compile(r"top([0-9]+)_accuracy")
LARGEST_K = 10**9
NUMBERS = "fiub"  # kinds of arrays
SHARE = "0 to 1"


ALIASES = {  # the names of ir_measures and of the specification's documents, in lower case
    "rr": "mrr",
    "rr@k": "mrr@k",
    "ap": "map",
    "ap@k": "map@k",
    "p@k": "precision@k",
    "r@k": "recall@k",
    "success@k": "hit@k",
    "hr@k": "hit@k",
}
PresetName = Literal["ltr", "recall", "ranking", "end-to-end", "ctr"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure: of a ranking, one value a query; at one cutoff where it has one."""

    name: str
    rule: str  # what the mean says, in words
    function: Callable[..., Any]
    k: int | None = None
    range: str = SHARE
    is_number: bool = True  # one number, not a curve or several counts
    less_is_better: bool = False
    options: tuple[tuple[str, float], ...] = ()  # of the function: the beta of fB
    by_query: ClassVar[bool] = True  # whether each query has a value

    def __call__(self, blocks: TieBlocks) -> FloatArray:
        """One finite value a query, whatever the function of a plug-in returned."""
        with self._blamed():
            values = np.asarray(self.function(blocks, self.k or blocks.longest, **dict(self.options)))
        if values.shape != blocks.sizes.shape or values.dtype.kind not in NUMBERS or not np.isfinite(values).all():
            raise self._unfit(f"one finite number a query is needed {blocks.sizes.shape}", values)
        return values.astype(np.float64, copy=False)

    def _blamed(self) -> AbstractContextManager[None]:
        return plugin_errors(f"metric {self.name!r}", self.function, source_of(self.function))

    def _unfit(self, needed: str, result: object) -> RunError:
        shown = f"shape {result.shape} of {result.dtype}" if isinstance(result, np.ndarray) else f"{result!r:.40}"
        return bad_result(self.function, f"metric {self.name!r}: {needed}, found {shown}")

    @property
    def formula(self) -> str:
        """How one value is made: the first line of the function's docstring."""
        return summary_of(self.function)


class ByQuery(Measure):
    """A measure of probabilities with one value a query; NaN where it is not defined, which leaves the query out."""

    def of(self, candidates: CandidateProbabilities) -> FloatArray:
        """One value a query."""
        with self._blamed():
            values = np.asarray(self.function(candidates, **dict(self.options)))
        if values.shape != (candidates.queries,) or values.dtype.kind not in NUMBERS or np.isinf(values).any():
            raise self._unfit(f"a number, or NaN, of each query that counts is needed {(candidates.queries,)}", values)
        return values.astype(np.float64, copy=False)


class Pooled(Measure):
    """A measure of probabilities over all candidates at once: named numbers, None where one is not defined."""

    by_query = False

    def of(self, candidates: AnyCandidates) -> dict[str, float | None]:
        """NAME and its number, or NAME.PART and each of its numbers."""
        with self._blamed():
            result = self.function(candidates, **dict(self.options))
            numbers = result.items() if isinstance(result, dict) else [("", result)]
            return {f"{self.name}.{part}" if part else self.name: self._number(value) for part, value in numbers}

    def _number(self, value: Any) -> float | None:
        plain: float | None = value.item() if isinstance(value, np.generic) else value
        if plain is None or (type(plain) in (int, float) and math.isfinite(plain)):
            return plain
        raise self._unfit("a finite number, None, or a dict of them is needed", plain)


class Drawn(Measure):
    """A curve over all candidates: named columns of equal length."""

    by_query = False

    def of(self, candidates: AnyCandidates) -> Curve:
        """The columns."""
        with self._blamed():
            result = self.function(candidates, **dict(self.options))
            columns = [np.asarray(column) for column in result.values()] if isinstance(result, dict) else []
        lengths = {len(column) if column.ndim == 1 and column.dtype.kind in NUMBERS else -1 for column in columns}
        if len(lengths) != 1 or -1 in lengths or not all(np.isfinite(column).all() for column in columns):
            raise self._unfit("a dict of columns of finite numbers, all of one length, is needed", result)
        return {name: column.tolist() for name, column in zip(result, columns, strict=True)}


MEASURES: Registry[Measure] = Registry(
    "metric",
    modules=(
        "ltr.evaluation.measures",
        "ltr.evaluation.classification",
        "ltr.evaluation.cascade",
    ),
)


def measure(
    name: str,
    rule: str,
    *,
    k: int | None = None,
    kind: type[Measure] = Measure,
    range: str = SHARE,
    is_number: bool = True,
    less_is_better: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function of (blocks, k) under NAME@k, or under NAME for one k; None stands for the whole list.

    `fB` in a name stands for any number B, which the function takes as beta. Functions of probabilities say their kind.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        MEASURES.add(name, kind(name, rule, function, k, range, is_number, less_is_better), made_of=function)
        return function

    return register


def named(name: str) -> Measure:
    """Return the measure called so: a name or an alias in any case, NAME@k with the number k, fB with a number B.

    >>> named("hit@5").k, named("RR@10").name, named("nDCG@10").name, named("F0.5@3").name
    (5, 'mrr@10', 'ndcg@10', 'f0.5@3')
    >>> named("RR@catalogue").name  # of the ranking of a whole catalogue
    'mrr@catalogue'
    """
    if not isinstance(name, str):
        raise UsageError(f"metric {name!r} is not a name; known: {', '.join(MEASURES.names())}")
    if name.lower().endswith(CATALOGUE):
        offered = named(name[: -len(CATALOGUE)])
        if not offered.by_query:
            raise UsageError(f"metric {name!r}: {offered.name} has no value for each query, and none on the catalogue")
        return replace(offered, name=offered.name + CATALOGUE)
    plain = name if name in MEASURES and not name.startswith("fB") else name.lower()
    top = TOP_ACCURACY.fullmatch(plain)
    if top and plain not in MEASURES:
        plain = f"hit@{top[1]}"
    cut = CUTOFF.fullmatch(plain)
    pattern = f"{cut[1]}@k" if cut else plain
    f_beta, registered = BETA.fullmatch(pattern), ALIASES.get(pattern, pattern)
    is_open = plain.endswith("@k")  # a pattern, not a metric
    if f_beta and float(f_beta[1]) > 0 and not is_open:
        beta, suffix = float(f_beta[1]), f_beta[2]
        measure = replace(MEASURES[f"fB{suffix}"], name=f"f{beta:g}{suffix}", options=(("beta", beta),))
    elif registered in MEASURES and not is_open:
        measure = MEASURES[registered]
    else:
        hint = suggestion(plain, example_names())
        raise UsageError(f"unknown metric {name!r}{hint}; known, with any number for k: {', '.join(MEASURES.names())}")
    if not cut:
        return measure
    digits = cut[2].lstrip("0") or "0"
    if digits == "0" or len(digits) > len(str(LARGEST_K)) or int(digits) > LARGEST_K:
        raise UsageError(f"metric {name[:40]!r}: k must be from 1 to {LARGEST_K:,}")
    return replace(measure, name=measure.name.replace("@k", f"@{digits}"), k=int(digits))


def example_names() -> list[str]:
    """Each metric as it can be asked for, with 5 for k and 2 for B.

    >>> [name for name in example_names() if name.startswith("f")]
    ['f2', 'f2@5']
    """
    return [name.replace("@k", "@5").replace("fB", "f2") for name in MEASURES.names()]


def all_named(names: Iterable[str]) -> list[Measure]:
    """The measures called so, each once, in their order.

    >>> [measure.name for measure in all_named(["mrr", "hit@5", "RR"])]
    ['mrr', 'hit@5']
    """
    measures = {measure.name: measure for measure in map(named, as_names(names))}
    for name in measures:
        if name.endswith(CATALOGUE):
            offered = name.removesuffix(CATALOGUE)
            raise UsageError(f"metric {name!r}: name {offered}, and set evaluate.catalogue (--catalogue)")
    return list(measures.values())


def as_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names of metrics, not resolved; a single text would be taken apart into letters, and is refused."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise UsageError(f"metrics is {names!r}; a list of names is needed, as in ['ndcg@5']")
    return tuple(names)


def example(name: str, scores: list[float], labels: list[float], max_grade: float = 1.0) -> float:
    """The measure of one query, for the examples in the docstrings."""
    ranking, truth = rank(scores, [0, len(scores)]), np.array(labels, dtype=float)
    blocks = tie_blocks(ranking, truth, Ties.EXPECTED, 1.0, max_grade=max_grade)
    return round(float(named(name)(blocks)[0]), 4)


@dataclass(frozen=True, slots=True)
class Preset:
    """The metrics of a task beside top1_accuracy, top3_accuracy and mrr."""

    metrics: tuple[str, ...]
    recall_cutoffs: tuple[int, ...] = ()  # recall@k is measured for each k below the length of the longest list
    beside_recall: tuple[str, ...] = ()  # measured where at least one recall@k is


PRESETS: dict[PresetName, Preset] = {
    "ltr": Preset(()),
    "recall": Preset(
        ("hit@10", "hit@20", "hit@50", "ndcg@10", "ndcg@20"), recall_cutoffs=(100, 200, 1000), beside_recall=("mrr@10",)
    ),
    "ranking": Preset(("ndcg@5", "ndcg@10", "hit@5", "precision@5")),
    "end-to-end": Preset(("hit@5", "ndcg@5", "hit@10", "ndcg@10")),
    "ctr": Preset(("auc", "logloss", "gauc", "ece")),
}


def preset_metrics(name: PresetName, longest: int) -> tuple[str, ...]:
    """The metrics of a preset; without recall@k where no list is longer than k, for it is 1 in any order.

    >>> preset_metrics("recall", longest=150)[-2:]
    ('recall@100', 'mrr@10')
    """
    preset = PRESETS[name]
    recall = tuple(f"recall@{k}" for k in preset.recall_cutoffs if k < longest)
    return (*preset.metrics, *recall, *(preset.beside_recall if recall else ()))
