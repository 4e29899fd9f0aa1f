"""A finished run as lines: how good it is, what it learned, how far to trust it; and several, the best first."""

from pathlib import Path
from typing import TYPE_CHECKING

from ltr.cli.evaluation_lines import abstaining_lines, breakdown_lines, headline_lines, measured_lines
from ltr.cli.output import table_lines, wrapped
from ltr.errors import count
from ltr.reporting.conclusions import doubt_text, units_text
from ltr.reporting.escaping import visible
from ltr.reporting.metric_sentences import left_out_text
from ltr.reporting.metric_titles import lead_title, title_of
from ltr.reporting.model_selection_table import alternatives_table, choice_headline, choice_text
from ltr.reporting.number_formats import between, fixed, objective
from ltr.reporting.table import Kind
from ltr.reporting.weights_and_curves import (
    FORMS,
    MOST_PRODUCTS,
    curves_table,
    newcomers_text,
    products_table,
    weights_table,
)

if TYPE_CHECKING:
    from ltr.flow import RunResult
    from ltr.results.evaluated import Evaluated
    from ltr.results.leaderboard import Leaderboard
    from ltr.storage.evaluation_records import MetricsRecord
    from ltr.storage.training_record import TrainingRecord


def short_lines(home: Path, result: "RunResult", seconds: float, *, is_plain: bool) -> list[str]:
    """The quality of a run beside its baselines, where the run is stored, and the next command."""
    record = result.measured.record
    place, notes = visible(home.as_posix()), len(result.router.training.warnings)
    with_notes = f" and {count(notes, 'note')}" if notes else ""
    can_rank = result.router.kind == "tool" and result.router.features is not None
    command = f'ltr rank {place} "your query"' if can_rank else f"ltr evaluate {place} SAMPLES"
    return [
        *headline_lines(record),
        *choice_lines(result),
        *(gain_lines(record) or wrapped(doubt_text(record))),
        *fold_lines(result.measured, result.config.data.split),
        *abstaining_lines(record, result.router.abstain),
        *breakdown_lines(record),
        *wrapped(f"stored in {place}/ ({seconds:.1f} s); weights{with_notes}: report.html, or -v"),
        *wrapped(f"next: {command}{'; better: train with --recommended' if is_plain else ''}"),
    ]


def run_lines(home: Path, result: "RunResult", seconds: float) -> list[str]:
    """What a person wants of a run: how good it is, what it weighs, how far to trust it, where it is."""
    record = result.measured.record
    return [
        *measured_lines(result.measured),
        *abstaining_lines(record, result.router.abstain),
        *gain_lines(record, is_long=True),
        "",
        *weight_lines(result),
        "",
        *alternative_lines(result),
        *(line for text in trust_lines(result) for line in wrapped(text)),
        f"kept in {visible(home.as_posix())}/ ({seconds:.1f} s)",
    ]


def gain_lines(record: "MetricsRecord", *, is_long: bool = False) -> list[str]:
    """By how much the model beats the best baseline, and how sure that is; a long form has the best single column."""
    from ltr.results.record import leads

    unit, texts = f"by {units_text(record)}: too few" if doubt_text(record) else "by trace", list[str]()
    for name, lead in leads(record).items():
        if is_long or name == record.best_baseline:
            ends = between(lead.low, lead.high, Kind.DIFFERENCE.on_terminal)
            texts.append(f"{lead_title(name, record)}: {lead.mean:+.3f} {ends} (95 %, {unit})")
    return [line for text in (*texts, left_out_text(record)) if text for line in wrapped(text)]


def choice_lines(result: "RunResult") -> list[str]:
    """What folds chose; why is said with the alternatives."""
    choice = result.router.training.choice
    return [] if choice is None else [*wrapped(choice_headline(choice))]


def alternative_lines(result: "RunResult") -> list[str]:
    """Every alternative that folds chose among, and the choice with its reason."""
    choice = result.router.training.choice
    if choice is None:
        return []
    table = [*table_lines(alternatives_table(choice)), ""] if choice.alternatives else []
    return [*table, *wrapped(choice_text(choice))]


def weight_lines(result: "RunResult") -> list[str]:
    """Each feature with its weight and how sure that is, or with its curve; and the loss without the feature."""
    training = result.router.training
    names = list(training.weights)
    lines = table_lines(curves_table(training, names) if training.curves else weights_table(training))
    if not training.products:
        return lines
    shown = min(MOST_PRODUCTS, len(training.products))
    heading = f"the {shown} of {count(len(training.products), 'product')} that move the score most"
    return [*lines, "", heading, *table_lines(products_table(training))]


def trust_lines(result: "RunResult") -> list[str]:
    """How w came about, and what is wrong with it."""
    training, settings = result.router.training, result.router.trainer
    steps = count(training.epochs, "epoch" if settings.trainer == "descent" else "step")
    terms = result.model.terms
    counts = [(len(terms.knots), "knot"), (len(terms.products), "product")]
    counted = "".join(f"{count(number, noun)}, " for number, noun in counts if number)
    how = f"{settings.trainer}, l2 {settings.penalty:g}, {counted}{steps}"
    where = f"objective {objective(training.objective)}{_gap(training)}"
    lines = [f"learned from {count(training.groups, 'group')} by {how}: {where}", basis_text(training)]
    lines += [TWICE] if training.past == "labels" else []
    lines += [newcomers_text(training.newcomers)] if training.newcomers else []
    lines += [*watched_lines(training), *fold_lines(result.measured, result.config.data.split)]
    skipped = [f"{getattr(training, key):,} {words}" for key, words in _SKIPPED.items() if getattr(training, key)]
    if skipped:
        lines.append(f"groups that cannot train: {', '.join(skipped)}")
    if training.escape:
        lines.append(f"no optimum: the loss falls for ever along {visible(training.escape)}; set an l2 above 0")
    elif training.errors.form is None:
        lines.append(f"no standard errors: {visible(training.errors.reason)}")
    if training.not_identified:
        lines.append(f"not identified, changes no probability: {visible(', '.join(training.not_identified))}")
    return [*lines, *(f"note: {visible(warning)}" for warning in training.warnings)]


def basis_text(training: "TrainingRecord") -> str:
    """What the weights rest on: slope where they are, groups that count, columns, form of the standard errors."""
    from ltr.training.standard_errors import effective_text

    errors = training.errors
    parts = [
        f"gradient norm {training.gradient_norm:.1e}",
        f"effective groups {training.effective_groups:,.0f}",
        f"condition number {training.condition_number:.3g}",
    ]
    if errors.form:
        counted = effective_text(errors.clusters, errors.effective_clusters or errors.clusters)
        many = f" ({errors.clusters:,}{f' that count as {counted}' if counted else ''})"
        parts.append(f"standard errors {FORMS[errors.form]}{many if errors.form == 'by_trace' else ''}")
    return ", ".join(parts)


def watched_lines(training: "TrainingRecord") -> list[str]:
    """Which l2 and which epoch validation data chose."""
    watched, chosen = training.watched, training.validated
    lines = []
    if chosen is not None:
        best = next(choice.value for choice in chosen.path if choice.l2 == chosen.l2)
        lines.append(f"l2 {chosen.l2:g} of {len(chosen.path)}, {_best(chosen.metric, best)}")
    if watched is not None:
        lines.append(f"kept epoch {watched.best_epoch:,}, {_best(watched.metric, watched.best)}")
    return lines


def _best(metric: str, value: float) -> str:
    return f"the best on validation data: {title_of(metric)} {value:.4f}"


def fold_lines(measured: "Evaluated", split: str) -> list[str]:
    """The metrics of cross-validation: pooled, and from the least fold to the greatest."""
    if measured.folds is None:
        return []
    texts = []
    for name, mean in measured.folds.pooled.items():
        values = [value for means in measured.folds.each if (value := means[name]) is not None]
        spread = f" ({min(values):.3f} to {max(values):.3f})" if values else ""
        texts.append(f"{title_of(name)} {fixed(mean)}{spread}")
    chosen = f", l2 {measured.folds.l2:g} chosen of {len(measured.folds.l2s)}" if len(measured.folds.l2s) > 1 else ""
    past = ", right tools as the past (labels)" if measured.folds.past == "labels" else ""
    return [f"{len(measured.folds.each)} folds by {split}{chosen}{past}: {', '.join(texts)}"]


TWICE = "each group counts twice: with right tools before it, and with choices of models that saw nothing of its trace"
_SKIPPED = {
    "groups_one_candidate": "with one candidate",
    "groups_no_positive": "without a right candidate",
    "groups_equally_right": "without a wrong candidate",
}


def _gap(training: "TrainingRecord") -> str:
    if training.optimum == "found":
        return ", the optimum"
    if training.gap is not None:
        return f", {training.gap:.2g} above the optimum"
    bound = training.gap_bound
    return "" if bound is None else f", not proved to be the optimum; at most {bound:.2g} above it"


def standings(board: "Leaderboard") -> list[str]:
    """The leaderboard with its baselines, whether the first run is better than the second, and what failed."""
    from ltr.reporting.leaderboard_table import candidates_text, standings_table, unseen_text, verdict

    texts = [text for text in (candidates_text(board), unseen_text(board)) if text]
    texts += [verdict(board)] if len(board.rows) > 1 else []
    texts += [f"{row.run} failed: {row.error}" for row in board.rows if row.error is not None]
    return [*table_lines(standings_table(board)), *(line for text in texts for line in wrapped(visible(text)))]
