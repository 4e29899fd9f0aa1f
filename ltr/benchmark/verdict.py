"""What a bench came to: every figure, what is missing, and what to choose."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ltr.benchmark.config import DECIDING, BenchConfig, Entry
from ltr.benchmark.judging import Comparison, Conclusions, Row, comparisons, conclusions, judged, row, with_front
from ltr.benchmark.measuring import Measurement
from ltr.data.groups import Candidates, Groups
from ltr.evaluation.bootstrap import LEVEL, RESAMPLES
from ltr.evaluation.significance import PERMUTATIONS
from ltr.experiments.doubts import learned_from
from ltr.rerankers.registry import spelled
from ltr.results.evaluated_ranking import EvaluatedRanking
from ltr.storage.model_file import load_router
from ltr.storage.records import METRICS_VERSION

FORMAT = "ltr-bench/1"
FEWEST_QUERIES = 100
TRAINED = "model:RUN"


@dataclass(frozen=True, slots=True)
class Missing:
    """A reranker without figures."""

    name: str
    why: str
    is_failure: bool  # else left out: not on this machine, or not allowed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bench:
    """The verdict; rows, measurements and measured in the order of the config."""

    config: BenchConfig
    groups: Groups  # the queries that were drawn
    queries_in_data: int
    rows: list[Row]
    measurements: list[Measurement]
    measured: list[EvaluatedRanking]
    missing: list[Missing]
    comparisons: list[Comparison]
    conclusions: Conclusions
    warnings: list[str]

    @property
    def left_out(self) -> list[Missing]:
        """Those that cannot be used here."""
        return [each for each in self.missing if not each.is_failure]

    @property
    def failed(self) -> list[Missing]:
        """Those that went wrong."""
        return [each for each in self.missing if each.is_failure]

    def document(self) -> dict[str, Any]:
        """All but the queries, as bench.json has it."""
        return {
            "format": FORMAT,
            "name": self.config.name,
            "seed": self.config.seed,
            "queries": len(self.groups.offsets) - 1,
            "documents": int(self.groups.offsets[-1]),
            "queries_in_data": self.queries_in_data,
            "sampled": len(self.groups.offsets) - 1 < self.queries_in_data,
            "rules": self._rules(),
            "rerankers": [asdict(each) for each in self.rows],
            "left_out": [{"name": each.name, "why": each.why} for each in self.left_out],
            "failed": [{"name": each.name, "why": each.why} for each in self.failed],
            "comparisons": [asdict(each) for each in self.comparisons],
            "conclusions": asdict(self.conclusions),
            "warnings": self.warnings,
        }

    def _rules(self) -> dict[str, Any]:
        """What the figures rest on."""
        rules: dict[str, Any] = {"deciding": DECIDING, "metrics_version": METRICS_VERSION}
        for measured in self.measured[:1]:
            result = measured.evaluation
            rules |= {
                "ties": result.rules.ties.value,
                "gain": result.rules.gain,
                "rel_threshold": result.rules.rel_threshold,
                "no_relevant": result.rules.no_relevant.value,
                "num_queries": result.num_queries,
                "num_no_relevant": result.num_no_relevant,
                "interval_unit": measured.unit,
            }
        keys = ("repeats", "warm_up", "cost_weight")
        timed = {"timed": len(self.measurements[0].timed)} if self.measurements else {}
        own = {key: getattr(self.config, key) for key in keys}
        return rules | {"interval_level": LEVEL, "resamples": RESAMPLES, "permutations": PERMUTATIONS, **timed, **own}


def verdict(
    config: BenchConfig,
    groups: Groups,
    outcomes: Sequence[tuple[Entry, Measurement | Missing]],
    *,
    queries_in_data: int,
) -> Bench:
    """The figures of all that were measured."""
    pairs = [(entry, found) for entry, found in outcomes if isinstance(found, Measurement)]
    measured = [judged(groups, found, config) for _, found in pairs]
    rows = [row(*pair, each, config) for pair, each in zip(pairs, measured, strict=True)]
    rows = with_front(rows)
    return Bench(
        config=config,
        groups=groups,
        queries_in_data=queries_in_data,
        rows=rows,
        measurements=[found for _, found in pairs],
        measured=measured,
        missing=[found for _, found in outcomes if isinstance(found, Missing)],
        comparisons=comparisons(rows, measured, config.seed),
        conclusions=conclusions(rows),
        warnings=[
            *_known_by_heart([entry for entry, _ in pairs], groups.candidates),
            *_too_few(config.sample, len(groups.offsets) - 1, rows),
        ],
    )


def _known_by_heart(entries: Sequence[Entry], candidates: Candidates) -> Iterator[str]:
    """Which trained runs are measured on what they learned from."""
    for entry in entries:
        if spelled(entry.name) == TRAINED:
            router = load_router(entry.name.partition(":")[2])
            yield from (f"{entry.called}: {doubt}" for doubt in learned_from(router, candidates))


def _too_few(sample: int | None, queries: int, rows: Sequence[Row]) -> Iterator[str]:
    """Where there are fewer queries, or fewer times, than were asked for or than can tell much."""
    if sample is not None and sample > queries:
        yield f"sample asks for {sample:,} queries; all {queries:,} of the data were asked"
    if queries < FEWEST_QUERIES:
        yield f"{queries} queries are few: intervals are wide; {FEWEST_QUERIES} or more tell rerankers apart"
    if rows and rows[0].latency.too_few:
        few, n = ", ".join(rows[0].latency.too_few), rows[0].latency.n
        yield f"{few} of {n} times are guesses from the slowest"
