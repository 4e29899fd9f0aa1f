"""The page of one run: how good it is, why, how far to trust it, and what it was made of."""

from typing import Any

from ltr.evaluation.metrics.ranked import MRR, TOP1, TOP3
from ltr.reporting.blocks import Block, Code, Page, Points, Row, Section, Table, Text
from ltr.reporting.calibration import placing_section
from ltr.reporting.charts import Estimate, Words, estimates
from ltr.reporting.conclusions import conclusions, units
from ltr.reporting.examples import example_section
from ltr.reporting.figures import NONE, count, share, short, signed, span
from ltr.reporting.learning import learning_section, weight_section
from ltr.reporting.reading import RunFiles
from ltr.results.metrics_record import OVER_BEST

HEADLINE = {TOP1: "Top-1", TOP3: "Top-3", MRR: "MRR"}
BASELINES = {
    "random": "random order",
    "best_feature": "best single feature",
    "untrained": "untrained, w = 1",
    "oracle": "oracle",
}
MOST_PARTS = 30
MOST_CODE = 20_000


def run_view(run: RunFiles, made: str = "") -> Page:
    """The page of a run, or of an evaluation."""
    sections = [
        Section("Conclusions", (Points(conclusions(run)),)),
        _metrics(run),
        learning_section(run),
        weight_section(run),
        placing_section(run),
        example_section(run),
        _findings(run),
        _config(run),
        _provenance(run),
    ]
    kept = [section for section in sections if section.blocks]
    return Page(run.name, _subtitle(run), kept, made, facts(run))


def _subtitle(run: RunFiles) -> str:
    what = f"Ranks {run.model.kind}s" if run.model else "Ranked queries"
    return f"{what}; measured on {queries(run)}, {where(run)}."


def queries(run: RunFiles) -> str:
    """How many queries the numbers are of."""
    return count(int(run.number("num_queries") or 0), "query", "queries")


def where(run: RunFiles) -> str:
    """What the queries are."""
    split = run.metrics.get("split")
    return {"test": "test data", "train": "training data", "given": "samples given"}.get(str(split), f"{split} data")


def facts(run: RunFiles) -> tuple[Row, ...]:
    """The headline, each with its interval."""
    told = [(label, share(run.number(name)), interval(run, name)) for name, label in HEADLINE.items()]
    if run.number(OVER_BEST) is None:
        return tuple(told)
    return (*told, ("Top-1 over best feature", signed(run.number(OVER_BEST)), interval(run, OVER_BEST)))


def interval(run: RunFiles, name: str) -> str:
    """The 95 % interval of a metric."""
    low, high = run.number(f"{name}.low"), run.number(f"{name}.high")
    return "" if low is None or high is None else f"95 % {span(low, high)}"


def _metrics(run: RunFiles) -> Section:
    beside = [name for name in BASELINES if any(run.number(f"{name}.{each}") is not None for each in run.measured)]
    names = ("the model" if run.model else "the ranking", *(BASELINES[name] for name in beside))
    rows = [
        (
            HEADLINE.get(name, name),
            share(run.number(name)),
            span(run.number(f"{name}.low"), run.number(f"{name}.high")),
            *(share(run.number(f"{each}.{name}")) for each in beside),
        )
        for name in run.measured
    ]
    table = Table("Each metric with its 95 % interval", ("metric", names[0], "95 %", *names[1:]), tuple(rows))
    words = Words(
        "Metrics beside what they must beat" if beside else "Metrics",
        f"Each metric with its 95 % bootstrap interval{', and the same of the baselines' if beside else ''}.",
        table,
    )
    drawn = [_estimate(run, name, beside) for name in run.measured]
    figure = estimates(words, [each for each in drawn if each], names)
    blocks: list[Block] = [figure] if figure else []
    return Section("Metrics", (*blocks, Points(tuple(_rules(run))), table, *_parts(run)))


def _estimate(run: RunFiles, name: str, beside: list[str]) -> Estimate | None:
    """A metric to draw, if it is a share."""
    values = [run.number(key) for key in (name, f"{name}.low", f"{name}.high")]
    others = tuple((BASELINES[each], run.number(f"{each}.{name}")) for each in beside)
    drawn = [value for value in (*values, *(other for _, other in others)) if value is not None]
    if not drawn or not all(0 <= value <= 1 for value in drawn):
        return None
    tip = f"{HEADLINE.get(name, name)} {share(values[0])} {span(values[1], values[2])}"
    value, low, high = values
    return Estimate(HEADLINE.get(name, name), value, low, high, others, tip)


def _rules(run: RunFiles) -> list[str]:
    """What made the numbers."""
    told = run.metrics
    said = (
        [f"Equal scores: rule {told['ties']}; {_of(run, 'num_tied')} with a right candidate in a tie."]
        if "ties" in told
        else []
    )
    if run.number("num_no_relevant"):
        said.append(f"Without a right candidate: {_of(run, 'num_no_relevant')}; rule {told.get('no_relevant')}.")
    if run.number("num_one_candidate"):
        said.append(f"With a single candidate: {_of(run, 'num_one_candidate')}; counted.")
    if run.number("interval_num_units"):
        said.append(f"Intervals resample {units(run)}.")
    if told.get("best_feature"):
        said.append(f"Best single feature: {told['best_feature']}, chosen on the training groups.")
    return said


def _of(run: RunFiles, key: str) -> str:
    return count(int(run.number(key) or 0), "query", "queries")


def _parts(run: RunFiles) -> list[Block]:
    """The headline for each value of the field that the queries were sorted by."""
    field = run.metrics.get("group_by")
    if not isinstance(field, str):
        return []
    ending = f".{TOP1}"
    names = [
        key[len(field) + 1 : -len(ending)]
        for key in run.metrics
        if key.startswith(f"{field}=") and key.endswith(ending)
    ]
    counts = {name: int(run.number(f"{field}={name}.num_queries") or 0) for name in names}
    most = sorted(names, key=lambda name: -counts[name])[:MOST_PARTS]
    rows = tuple(
        (name or NONE, f"{counts[name]:,}", *(share(run.number(f"{field}={name}.{each}")) for each in HEADLINE))
        for name in most
    )
    more = [Text(f"and {len(names) - MOST_PARTS:,} more in metrics.json")] if len(names) > MOST_PARTS else []
    return [Table(f"For each {field}", (field, "queries", *HEADLINE.values()), rows), *more]


def _findings(run: RunFiles) -> Section:
    """What validation, and the diagnosis of the training, had to say."""
    found = (*run.record.warnings, *(run.model.training.warnings if run.model else ()))
    if not found and not run.is_recorded:
        return Section("What validation found", ())
    nothing = "Nothing: no leak, no overlap, no weight that cannot be read was found."
    return Section("What validation found", (Points(tuple(found)) if found else Text(nothing),))


def _config(run: RunFiles) -> Section:
    if not run.config:
        return Section("Config", ())
    cut = run.config[:MOST_CODE]
    more = [Text("The rest is in config.yaml.")] if len(run.config) > MOST_CODE else []
    return Section("Config", (Code("config.yaml: everything that was decided", cut), *more))


def _provenance(run: RunFiles) -> Section:
    """What went in, and what it was done with."""
    files = tuple((each.path, f"{each.bytes:,}", each.sha256) for each in run.record.inputs)
    known: dict[str, Any] = {"seed": run.record.seed if run.is_recorded else None}
    if run.model:
        known |= {"encoder": _encoder(run.model.encoder), "model": run.model.checksum}
    known |= {"truth": run.metrics.get("truth"), "version of the metrics": run.metrics.get("metrics_version")}
    versions = run.record.task.get("versions")
    known |= {f"version of {name}": value for name, value in versions.items()} if isinstance(versions, dict) else {}
    known |= {f"machine: {name}": value for name, value in run.record.machine.items()}
    known |= {f"time: {name}": f"{short(value)} s" for name, value in run.record.timings.items()}
    rows = tuple((name, str(value)) for name, value in known.items() if value not in (None, ""))
    blocks: list[Block] = [Table("What decided the result", ("what", "value"), rows, words=frozenset({0, 1}))]
    if files:
        blocks.insert(0, Table("Files that were read", ("file", "bytes", "sha256"), files, words=frozenset({0, 2})))
    return Section("Provenance", tuple(blocks))


def _encoder(described: dict[str, Any] | None) -> str:
    return f"{described.get('name')}, revision {described.get('revision')}" if described else ""
