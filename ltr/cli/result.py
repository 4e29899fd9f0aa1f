"""A finished run, and a measured ranking, as lines to read."""

from typing import TYPE_CHECKING, Any

from ltr.cli.terminal import columns_of_terminal, count, emphasis, number, table, visible, width_of, wrapped

if TYPE_CHECKING:
    from ltr.measured import Measured
    from ltr.metrics import Evaluation
    from ltr.pipeline import RunResult
    from ltr.runs import Finished
    from ltr.statistics import Interval

MOST_PARTS = 20
BASELINES = {
    "random": "random order",
    "best_feature": "best feature",
    "untrained": "untrained, w = 1",
    "oracle": "oracle",
}
SHORT = {"top1_accuracy": "top-1", "top3_accuracy": "top-3", "mrr": "MRR"}


def run_lines(finished: "Finished") -> list[str]:
    """What a person wants of a run: how good it is, what it weighs, how far to trust it, where it is."""
    result = finished.result
    return [
        *measured_lines(result.measured, result.router.training["best_feature"]),
        *gain_lines(result),
        "",
        *weight_lines(result),
        "",
        *(line for text in trust_lines(result) for line in wrapped(text)),
        f"kept in {visible(finished.directory.as_posix())}/ ({finished.seconds:.1f} s)",
    ]


def measured_lines(measured: "Measured", best: dict[str, Any], trained: str = "trained") -> list[str]:
    """The metrics beside the baselines, and the rules and counts that made them."""
    means = measured.evaluation.means
    rows = [
        ["", *(SHORT.get(name, name) for name in means)],
        [trained, *map(number, means.values())],
        ["95 % interval", *(interval_text(measured.intervals.get(name)) for name in means)],
        *([label, *map(number, each.means.values())] for label, each in _named_baselines(measured, best).items()),
    ]
    if sum(max(map(width_of, column)) + 2 for column in zip(*rows, strict=True)) - 2 > columns_of_terminal():
        rows = [list(row) for row in zip(*rows, strict=True)]  # too many metrics to stand beside each other
        rows[0] = [label.partition(":")[0].partition(",")[0] for label in rows[0]]
    lines = table(rows[0], rows[1:], flexible=0, indent="")
    rules = [line for text in rule_lines(measured) for line in wrapped(text)]
    return [emphasis(_title(measured)), *lines, *rules, *reading_lines(measured), *part_lines(measured)]


def interval_text(interval: "Interval | None") -> str:
    """An interval to read: the digits of what lies between 0 and 1."""
    return "-" if interval is None else f"[{short(interval.low)}, {short(interval.high)}]"


def short(value: float) -> str:
    """A share to read, without its 0.

    >>> short(0.6904), short(1.0), short(-0.25)
    ('.690', '1.000', '-.250')
    """
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 and abs(round(value, 3)) < 1 else f"{value:.3f}"


def part_lines(measured: "Measured") -> list[str]:
    """The metrics of each value of the field that was asked for, those with the most queries first."""
    from ltr.records import parts

    found = sorted(parts(measured), key=lambda part: -part.num_queries)
    if not measured.parts:
        return []
    names = list(SHORT)
    rows = [
        [part.name or "-", f"{part.num_queries:,}", *(number(part.means[name]) for name in names)] for part in found
    ]
    lines = table([measured.parts.field, "queries", *SHORT.values()], rows[:MOST_PARTS], flexible=0, indent="")
    more = [f"and {len(rows) - MOST_PARTS:,} more: --format json shows all"] if len(rows) > MOST_PARTS else []
    return ["", *lines, *more]


def _title(measured: "Measured") -> str:
    queries = count(measured.evaluation.num_queries, "query", "queries")
    where = "training" if measured.split == "train" else measured.split
    return f"{queries}, {count(int(measured.evaluation.num_candidates.sum()), 'candidate')} ({where} data)"


def _named_baselines(measured: "Measured", best: dict[str, Any]) -> dict[str, "Evaluation"]:
    if not measured.baselines:
        return {}
    sign = "" if best["sign"] > 0 else "-"
    labels = BASELINES | {"best_feature": f"{BASELINES['best_feature']}: {sign}{best['name']}"}
    return {labels[name]: each for name, each in measured.baselines.items()}


def rule_lines(measured: "Measured") -> list[str]:
    """How ties fell, which queries the numbers leave out, and what the intervals resample."""
    result, counts = measured.evaluation, measured.counts
    lines = [f"ties: {result.ties}; {count(result.num_tied, 'query', 'queries')} with a right candidate in a tie"]
    if result.num_no_relevant:
        what = {"skip": "left out", "zero": "counted 0"}[result.no_relevant]
        lines.append(f"{count(result.num_no_relevant, 'query', 'queries')} without a right candidate: {what}")
    if result.num_one_candidate:
        lines.append(f"{count(result.num_one_candidate, 'query', 'queries')} with a single candidate: counted")
    if counts.get("num_missing"):
        lines.append(f"{count(counts['num_missing'], 'topic', 'topics')} of the qrels not in the run: counted 0")
    if counts.get("num_ignored"):
        lines.append(f"{count(counts['num_ignored'], 'topic', 'topics')} of the run without qrels: ignored")
    if measured.unit == "trace":
        lines.append("intervals resample whole traces: the queries of one depend on each other")
    return lines


def reading_lines(measured: "Measured") -> list[str]:
    """How far ties could move the metrics, and how to read them."""
    from ltr.metrics.reading import notes
    from ltr.records import ranges

    spans = [f"{SHORT.get(name, name)} {number(low)}-{number(high)}" for name, (low, high) in ranges(measured).items()]
    texts = [f"ties, worst-best: {', '.join(spans)}"] if spans else []
    return [line for text in (*texts, *notes(measured.evaluation, measured.preset)) for line in wrapped(text)]


def gain_lines(result: "RunResult") -> list[str]:
    """By how much the model beats the best single feature, and how sure that is."""
    interval = result.measured.gain
    return [] if interval is None else [f"top-1 over best feature: {gain_text(interval)} (95 %, by trace)"]


def gain_text(interval: "Interval") -> str:
    """A difference with its interval."""
    return f"{interval.mean:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"


def weight_lines(result: "RunResult") -> list[str]:
    """Each feature with its weight; where they can be told, the weight without a penalty with its interval, and z.

    Worth is how far the optimum rises without the feature.
    """
    if result.model.bends:
        return curve_lines(result)
    said, errors = result.router.training["weights"], result.router.training["errors"]
    heads = {"weight": "weight"}
    if errors["form"]:
        heads |= {"unpenalised": "at l2 0", "low": "95 % from", "high": "to", "z": "z"}
    heads |= {"worth": "worth"} if all("worth" in each for each in said.values()) else {}
    rows = [[name, *(_cell(key, each[key]) for key in heads)] for name, each in said.items()]
    return table(["feature", *heads.values()], rows, flexible=0, indent="")


def curve_lines(result: "RunResult") -> list[str]:
    """What each feature adds from its least value to its middle and greatest, where its weight changes on the way."""
    import numpy as np

    rows = []
    for name, points in result.router.training["curves"].items():
        values, added = np.array(points).T
        middle = float(np.interp((values[0] + values[-1]) / 2, values, added - added[0]))
        worth = result.router.training["weights"][name].get("worth")
        ends = _cell("weight", middle), _cell("weight", float(added[-1] - added[0]))
        rows.append([name, str(len(values) - 2), *ends, _cell("worth", worth)])
    heads = ["feature", "bends", "least to middle", "to greatest", "worth"]
    return table(heads, rows, flexible=0, indent="")


def _cell(key: str, value: float | None) -> str:
    if value is None:
        return "-"
    weight = f"{value:+.3f}" if value == 0 or 5e-4 <= abs(value) < 1e6 else f"{value:+.3g}"
    return {"z": f"{value:.1f}", "worth": f"{value:.4f}"}.get(key, weight)


def trust_lines(result: "RunResult") -> list[str]:
    """How w came about, and what is wrong with it."""
    known, settings = result.router.training, result.router.trainer
    steps = count(known["epochs"], "epoch" if settings["trainer"] == "descent" else "step")
    bends = f"{count(len(result.model.bends), 'bend')}, " if result.model.bends else ""
    how = f"{settings['trainer']}, l2 {settings['l2']:g}, {bends}{steps}"
    lines = [
        f"learned from {count(known['groups'], 'group')} by {how}: objective {known['objective']:.5f}{_gap(known)}"
    ]
    lines += [*watched_lines(known), *fold_lines(result.measured, result.config.data.split)]
    skipped = [f"{known[key]:,} {words}" for key, words in _SKIPPED.items() if known[key]]
    if skipped:
        lines.append(f"groups that cannot train: {', '.join(skipped)}")
    if known["escape"]:
        lines.append(f"no optimum: the loss falls for ever along {visible(known['escape'])}; set an l2 above 0")
    elif known["errors"]["form"] is None:
        lines.append(f"no standard errors: {visible(known['errors']['reason'])}")
    if known["not_identified"]:
        lines.append(f"not identified, changes no probability: {visible(', '.join(known['not_identified']))}")
    return [*lines, *(f"note: {visible(warning)}" for warning in known["warnings"])]


def watched_lines(known: dict[str, Any]) -> list[str]:
    """Which l2 and which epoch validation data chose."""
    watched, chosen = known["watched"], known.get("validated")
    lines = []
    if chosen is not None:
        best = next(each["value"] for each in chosen["path"] if each["l2"] == chosen["l2"])
        lines.append(f"l2 {chosen['l2']:g} of {len(chosen['path'])}, {_best(chosen['metric'], best)}")
    if watched is not None:
        lines.append(f"kept epoch {watched['best_epoch']:,}, {_best(watched['metric'], watched['best'])}")
    return lines


def _best(metric: str, value: float) -> str:
    return f"the best on validation data: {SHORT.get(metric, metric)} {value:.4f}"


def fold_lines(measured: "Measured", split: str) -> list[str]:
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


def _gap(known: dict[str, Any]) -> str:
    if known["optimum"] == "found":
        return ", the optimum"
    return "" if known["gap"] is None else f", {known['gap']:.2g} above the optimum"
