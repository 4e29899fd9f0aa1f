"""None of these in words and as a table: how well it is found, and the logit that says it."""

from collections.abc import Iterator

from ltr.errors import count
from ltr.evaluation.none_of_these_measures import NoneMeasures
from ltr.reporting.number_formats import share
from ltr.reporting.page import Block, Section, Text
from ltr.reporting.table import Column, Kind, Table
from ltr.storage.evaluation_records import MetricsRecord
from ltr.storage.model_file import ModelRecord
from ltr.training.none_logit import INPUTS, RELEVANCE, NoneLogit

PROOFS = {"found": "the optimum is proved", "not_reached": "the optimum was not reached"}


def none_measured(none: NoneMeasures) -> Iterator[str]:
    """What was measured, a sentence each."""
    what = "queries for which none is right" if none.learned_from == "log" else "copies without their right candidates"
    found = "" if none.found is None else f", found {share(none.found)}"
    wrongly = "" if none.said_wrongly is None else f", said wrongly of {share(none.said_wrongly)} of the others"
    yield f"none: {none.none_queries:,} {what}{found}{wrongly}"
    error = f"calibration error {share(none.calibration_error)}"
    yield (
        f"P(none) is for a share of {share(none.for_share)}; here it is {share(none.share)}, "
        f"mean P(none) {share(none.mean_probability)}, {error}"
    )


def none_learned(none: NoneLogit) -> str:
    """How b was learned, and for which share P(none) is."""
    of = "the log" if none.source == "log" else f"{none.source}, copies without their right candidates"
    queries = f"{count(none.groups, 'query', 'queries')}, {none.none_groups:,} of them of none"
    return (
        f"P(none) is for a share of {share(none.share)} of queries for which none is right (in training "
        f"{share(none.trained_share)}). It was learned from {of}: {queries}, l2 {none.l2:g}; "
        f"{PROOFS.get(none.optimum, none.optimum)}, gap at most {none.gap_bound:.1e}."
    )


def none_section(model: ModelRecord | None, metrics: MetricsRecord) -> list[Section]:
    """None of these on a page, where the model says it."""
    if model is None or model.none is None:
        return []
    none, names = model.none, [*INPUTS]
    of = f"{RELEVANCE} ({none.relevance})" if none.relevance else f"{RELEVANCE}: no such column"
    names[INPUTS.index(RELEVANCE)] = of
    errors = none.standard_errors or (None,) * len(names)
    columns = (
        Column("input", "input"),
        Column("b", "b", Kind.WEIGHT),
        Column("error", "standard error", Kind.WEIGHT),
    )
    table = Table(columns, tuple(zip(names, none.b, errors, strict=True)), "The logit of none")
    why = f"No standard errors: {none.no_errors}." if none.no_errors else "Standard errors are by trace, given w."
    measured = () if metrics.none is None else tuple(Text(f"{text}.") for text in none_measured(metrics.none))
    blocks: tuple[Block, ...] = (*measured, table, Text(none_learned(none)), Text(why))
    return [Section("None of these", blocks)]
