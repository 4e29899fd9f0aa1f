"""A finished run as lines to read: how good it is, what it learned, how far to trust it."""

from pathlib import Path
from typing import TYPE_CHECKING

from ltr.cli.result import SHORT, between, measured_lines, signed
from ltr.cli.terminal import count, number, table, visible, wrapped

if TYPE_CHECKING:
    from ltr.experiments.pipeline import RunResult
    from ltr.results.evaluated_ranking import EvaluatedRanking
    from ltr.storage.records import TrainingRecord

FORMS = {"hessian": "plain", "by_trace": "by trace", "by_group": "by query"}


def run_lines(home: Path, result: "RunResult", seconds: float) -> list[str]:
    """What a person wants of a run: how good it is, what it weighs, how far to trust it, where it is."""
    return [
        *measured_lines(result.measured, result.router.training.best_feature),
        *gain_lines(result),
        "",
        *weight_lines(result),
        "",
        *(line for text in trust_lines(result) for line in wrapped(text)),
        f"kept in {visible(home.as_posix())}/ ({seconds:.1f} s)",
    ]


def gain_lines(result: "RunResult") -> list[str]:
    """By how much the model beats the best single feature, and how sure that is."""
    gain = result.measured.gain
    if gain is None:
        return []
    return [f"top-1 over best feature: {signed(gain.mean)} {between(gain.low, gain.high, signed)} (95 %, by trace)"]


def weight_lines(result: "RunResult") -> list[str]:
    """Each feature with its weight; where they can be told, the weight without a penalty with its interval, and z.

    Worth is how far the optimum rises without the feature.
    """
    if result.model.knots:
        return curve_lines(result)
    said, errors = result.router.training.weights, result.router.training.errors
    heads = {"weight": "weight"}
    if errors.form:
        heads |= {"unpenalised": "at l2 0", "low": "95 % from", "high": "to", "z": "z"}
    if any(weight.loss_without is not None for weight in said.values()):
        heads["loss_without"] = "loss without"
    rows = [[name, *(_cell(key, getattr(each, key)) for key in heads)] for name, each in said.items()]
    return table(["feature", *heads.values()], rows, flexible=0, indent="")


def curve_lines(result: "RunResult") -> list[str]:
    """Of each feature with a curve: at which value it adds least, at which most, and how much more."""
    said, curves = result.router.training.weights, result.router.training.curves
    heads = {"lowest_at": "adds least at", "highest_at": "most at", "range": "so much more"}
    if any(weight.loss_without is not None for weight in said.values()):
        heads["loss_without"] = "loss without"
    rows = [
        [name, str(len(curves[name]) - 2), *(_cell(key, getattr(each, key)) for key in heads)]
        for name, each in said.items()
    ]
    return table(["feature", "knots", *heads.values()], rows, flexible=0, indent="")


def _cell(key: str, value: float | None) -> str:
    if value is None:
        return "-"
    weight = f"{value:+.3f}" if value == 0 or 5e-4 <= abs(value) < 1e6 else f"{value:+.3g}"
    told = {"z": ".1f", "loss_without": ".4f", "lowest_at": ".4g", "highest_at": ".4g", "range": ".3f"}
    return f"{value:{told[key]}}" if key in told else weight


def trust_lines(result: "RunResult") -> list[str]:
    """How w came about, and what is wrong with it."""
    known, settings = result.router.training, result.router.trainer
    steps = count(known.epochs, "epoch" if settings.trainer == "descent" else "step")
    knots = f"{count(len(result.model.knots), 'knot')}, " if result.model.knots else ""
    how = f"{settings.trainer}, l2 {settings.penalty:g}, {knots}{steps}"
    where = f"objective {objective_text(known.objective)}{_gap(known)}"
    lines = [f"learned from {count(known.groups, 'group')} by {how}: {where}", basis_text(known)]
    lines += [*watched_lines(known), *fold_lines(result.measured, result.config.data.split)]
    skipped = [f"{getattr(known, key):,} {words}" for key, words in _SKIPPED.items() if getattr(known, key)]
    if skipped:
        lines.append(f"groups that cannot train: {', '.join(skipped)}")
    if known.escape:
        lines.append(f"no optimum: the loss falls for ever along {visible(known.escape)}; set an l2 above 0")
    elif known.errors.form is None:
        lines.append(f"no standard errors: {visible(known.errors.reason)}")
    if known.not_identified:
        lines.append(f"not identified, changes no probability: {visible(', '.join(known.not_identified))}")
    return [*lines, *(f"note: {visible(warning)}" for warning in known.warnings)]


def objective_text(value: float | None) -> str:
    """An objective to read, however large or small.

    >>> objective_text(0.763021), objective_text(5.458e21), objective_text(1.2e-7)
    ('0.76302', '5.458e+21', '1.2e-07')
    """
    if value is None:
        return "-"
    return f"{value:.5f}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.6g}"


def basis_text(known: "TrainingRecord") -> str:
    """What the weights rest on: slope where they are, groups that count, columns, form of the standard errors."""
    from ltr.training.standard_errors import effective_text

    errors = known.errors
    told = [
        f"gradient norm {known.gradient_norm:.1e}",
        f"effective groups {known.effective_groups:,.0f}",
        f"condition number {known.condition_number:.3g}",
    ]
    if errors.form:
        counted = effective_text(errors.clusters, errors.effective_clusters or errors.clusters)
        many = f" ({errors.clusters:,}{f' that count as {counted}' if counted else ''})"
        told.append(f"standard errors {FORMS[errors.form]}{many if errors.form == 'by_trace' else ''}")
    return ", ".join(told)


def watched_lines(known: "TrainingRecord") -> list[str]:
    """Which l2 and which epoch validation data chose."""
    watched, chosen = known.watched, known.validated
    lines = []
    if chosen is not None:
        best = next(each.value for each in chosen.path if each.l2 == chosen.l2)
        lines.append(f"l2 {chosen.l2:g} of {len(chosen.path)}, {_best(chosen.metric, best)}")
    if watched is not None:
        lines.append(f"kept epoch {watched.best_epoch:,}, {_best(watched.metric, watched.best)}")
    return lines


def _best(metric: str, value: float) -> str:
    return f"the best on validation data: {SHORT.get(metric, metric)} {value:.4f}"


def fold_lines(measured: "EvaluatedRanking", split: str) -> list[str]:
    """The metrics of cross-validation: pooled, and from the least fold to the greatest."""
    if measured.folds is None:
        return []
    said = []
    for name, mean in measured.folds.pooled.means.items():
        values = [value for fold in measured.folds.folds if (value := fold.means[name]) is not None]
        spread = f" ({min(values):.3f} to {max(values):.3f})" if values else ""
        said.append(f"{SHORT.get(name, name)} {number(mean)}{spread}")
    chosen = f", l2 {measured.folds.l2:g} chosen of {len(measured.folds.l2s)}" if len(measured.folds.l2s) > 1 else ""
    return [f"{len(measured.folds.folds)} folds by {split}{chosen}: {', '.join(said)}"]


_SKIPPED = {"groups_one_candidate": "with one candidate", "groups_no_positive": "without a right candidate"}


def _gap(known: "TrainingRecord") -> str:
    if known.optimum == "found":
        return ", the optimum"
    if known.gap is not None:
        return f", {known.gap:.2g} above the optimum"
    bound = known.gap_bound
    return "" if bound is None else f", not proved to be the optimum; at most {bound:.2g} above it"
