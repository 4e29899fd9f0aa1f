"""What follows from the numbers of a run, in sentences."""

from ltr.evaluation.metrics.ranked import TOP1
from ltr.reporting.calibration import calibration_error
from ltr.reporting.figures import count, listed, percent, share, short, signed, span
from ltr.reporting.reading import RunFiles
from ltr.results.metrics_record import OVER_BEST

FEW = 20  # traces or queries, fewer of which make an interval that promises too much
OFF = 0.05  # a calibration error from which probabilities are not to be taken at their word


def conclusions(run: RunFiles) -> tuple[str, ...]:
    """How good, better than what, from where, and what to doubt."""
    number = run.number("interval_num_units")
    is_enough = number is None or number >= FEW
    lead, trust = (_lead(run), _probabilities(run)) if is_enough else (_few(run), "")
    told = (_quality(run), lead, _training(run), _weights(run), trust, _doubts(run))
    return tuple(sentence for sentence in told if sentence)


def units(run: RunFiles) -> str:
    """What the intervals resample, and how many of them."""
    number = int(run.number("interval_num_units") or 0)
    return count(number, "trace") if run.metrics.get("interval_unit") == "trace" else count(number, "query", "queries")


def _few(run: RunFiles) -> str:
    if not run.number("num_queries"):
        return ""
    return f"Too little was measured to be sure of anything: {units(run)}. The intervals promise too much."


def _quality(run: RunFiles) -> str:
    if not run.number("num_queries"):
        return "No query has a right candidate: there is nothing to measure."
    low, high = run.number(f"{TOP1}.low"), run.number(f"{TOP1}.high")
    sure = f" (95 % interval: {percent(low)} to {percent(high)})" if low is not None else ""
    on = count(int(run.number("num_queries") or 0), "query", "queries")
    seen = " These are the training queries: new ones may fare worse." if run.metrics.get("split") == "train" else ""
    return f"The first candidate is right for {percent(run.number(TOP1))} of {on}{sure}.{seen}"


def _lead(run: RunFiles) -> str:
    """Whether the model beats its best single feature."""
    lead, low, high = (run.number(f"{OVER_BEST}{end}") for end in ("", ".low", ".high"))
    if lead is None or low is None or high is None:
        return ""
    what = f"the best single feature, {run.metrics.get('best_feature')}: {signed(lead)} Top-1, 95 % {span(low, high)}"
    if low > 0:
        return f"It is better than {what}."
    return f"It is worse than {what}." if high < 0 else f"It is not shown to be better than {what}."


def _training(run: RunFiles) -> str:
    """How far the weights are from the best there are."""
    if run.model is None or not run.model.training.optimum:
        return ""
    known = run.model.training
    if known.escape:
        return "The loss has no optimum: it falls for ever in one direction; set an l2 above 0."
    if known.optimum == "found":
        return f"The weights are the exact optimum of the objective, {short(known.objective)}."
    bound = "" if known.gap_bound is None else f", at most {short(known.gap_bound)} above it"
    gap = f", not proved to be the optimum{bound}" if known.gap is None else f", {short(known.gap)} above the optimum"
    return f"Training stopped at an objective of {short(known.objective)}{gap}."


def _weights(run: RunFiles) -> str:
    """What the decisions rest on, and which weights may as well be 0."""
    known = run.model.training.weights if run.model else {}
    worth = {name: each.loss_without for name, each in known.items() if each.loss_without is not None}
    if not worth:
        return ""
    most = max(worth, key=lambda name: worth[name])
    unsure = [
        name
        for name, each in known.items()
        if each.low is not None and each.high is not None and each.low <= 0 <= each.high
    ]
    doubt = f" Might as well weigh 0: {listed(unsure)}." if unsure else ""
    return f"Most depends on {most}: without it the objective rises by {short(worth[most])}.{doubt}"


def _probabilities(run: RunFiles) -> str:
    error = calibration_error(run)
    if error is None:
        return ""
    if error < OFF:
        return f"Its probabilities can be taken at their word: they are off by {share(error)} on average."
    return f"Its probabilities are off by {share(error)} on average: order by them, do not bet on them."


def _doubts(run: RunFiles) -> str:
    found = len(run.record.warnings) + (len(run.model.training.warnings) if run.model else 0)
    return f"Validation and diagnosis found {count(found, 'thing')} to look at, told below." if found else ""
