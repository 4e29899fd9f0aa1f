"""Whether abstaining keeps its promise: a simulation, and each FOLDER split again and again by trace.

First simulated traces: of 1 to 8 queries, some traces harder than others, confidences that are too high. The mean risk
over new traces, each draw with a calibration of its own, beside the level and two standard errors. `precision` on 2,000
simulated traces a draw: how often the error among the answered is what was asked for.

Then real data: a model learns from half of the training traces, the other half is split 200 times into traces that
calibrate and traces that are measured on. Which share of the splits is below the level is printed, not judged: the
promise is about the mean.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ltr import RunConfig, TrainConfig
from ltr.data.shards import Whole
from ltr.data.splits import split_off
from ltr.evaluation.abstention_threshold import ConfidentAnswers, fixed_thresholds, precision_threshold, risk_threshold
from ltr.evaluation.metrics.classification_counts import calibration_error
from ltr.steps.abstain import confident_answers
from ltr.steps.heldout import held_out
from ltr.storage.abstain_rule import AbstainRule
from ltr.training.temperature import fit_temperature, helpful_temperature
from studies.sets import learned, read

LEVELS, PRECISIONS, SPLITS = (0.05, 0.1), (0.9, 0.95), 200
TRAIN = TrainConfig(trainer="newton", standardize=True)


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--draws", type=int, default=2000, help="of the simulation (default: %(default)s)")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")


def main(*, folders, draws, encoder):
    """The simulations, then a block a folder."""
    simulated_risk(draws)
    simulated_precision(max(draws // 5, 20))
    for folder in folders:
        real(folder, encoder)
    return 0


def simulated(traces, rng):
    """So many traces."""
    sizes = rng.integers(1, 9, traces)
    codes = np.repeat(np.arange(traces), sizes)
    hard = np.repeat(rng.normal(0, 1, traces), sizes)
    sure = rng.normal(2, 1.5, len(codes)) - hard
    is_right = rng.random(len(codes)) < 1 / (1 + np.exp(-0.8 * sure))
    return ConfidentAnswers(1 / (1 + np.exp(-sure)), ~is_right, codes)


def simulated_risk(draws):
    """The mean over draws of calibration and new traces."""
    print(f"risk, {draws:,} draws of calibration traces, 50 new traces each")
    for level in LEVELS:
        for traces in (40, 200):
            risks, rng = np.empty(draws), np.random.default_rng(0)
            for draw in range(draws):
                threshold = risk_threshold(simulated(traces, rng), level)
                risks[draw] = simulated(50, rng).trace_losses(threshold).mean()
            error = risks.std(ddof=1) / np.sqrt(draws)
            is_kept = risks.mean() <= level + 2 * error
            print(
                f"  level {level:.2f}, {traces:4} traces: mean risk {risks.mean():.4f} (standard error {error:.4f}), "
                f"{'kept' if is_kept else 'NOT kept'}; below the level in {np.mean(risks <= level):.0%} of the draws"
            )


def simulated_precision(draws):
    """How often the error among the answered, of one query a trace, is what was asked for."""
    rng = np.random.default_rng(1)
    many, sure = simulated(400_000, rng), simulated(1000, rng).confidence
    print(f"precision, {draws:,} draws of 2,000 traces")
    for precision in PRECISIONS:
        errors, shares, thresholds = {None: 0.0}, {None: 0.0}, fixed_thresholds(sure, precision, 2000)
        for threshold in thresholds:
            answered = many.answered(threshold)
            errors[threshold] = np.average(many.is_wrong[answered], weights=many.weights[answered])
            shares[threshold] = np.average(answered, weights=many.weights)
        chosen = [precision_threshold(simulated(2000, rng), precision, thresholds, rng) for _ in range(draws)]
        held = np.mean([errors[threshold] <= 1 - precision for threshold in chosen])
        none = np.mean([threshold is None for threshold in chosen])
        print(
            f"  {precision:g}: held in {held:.1%}; answers nothing (too few traces) in {none:.1%} of the draws; "
            f"coverage {np.mean([shares[threshold] for threshold in chosen]):.3f}"
        )
        listed = ", ".join(f"{threshold:.3f}: {errors[threshold]:.3f}" for threshold in thresholds)
        print(f"    true error of the answered at {listed}")


def real(folder, encoder):
    """Splits of traces that nothing was learned from."""
    groups, _ = read(folder)
    train, pool = split_off(Whole(groups), 0.5, "test", seed=0, by="trace", of=len(groups.candidates.trace_ids))
    config = RunConfig(features=("recommended",), encoder=encoder, train=TRAIN)
    router, models, (known,) = learned(config, train[0]), held_out(config, TRAIN, train), train
    of_scores = models.scored(known).scores, known.labels, known.offsets
    fitted = fit_temperature(*of_scores)
    temperature = helpful_temperature(*of_scores, models.folds.of_groups(known.candidates))
    ways = router, _at(router, fitted), _at(router, temperature)
    of_ways = [confident_answers(way, pool[0]) for way in ways]
    errors = [calibration_error(some.confidence, ~some.is_wrong, np.ones(len(some.is_wrong))) for some in of_ways]
    answers = of_ways[-1]
    print(f"\n{folder.name}: {answers.num_traces:,} traces, {len(answers.is_wrong):,} queries nothing was learned from")
    print(
        f"  first choice: calibration error {errors[0]:.3f}, at the temperature {fitted:.3f} of training scores "
        f"{errors[1]:.3f}, at the one folds keep, {temperature:.3f}, {errors[2]:.3f}; "
        f"wrong {answers.is_wrong.mean():.3f}"
    )
    for level in LEVELS:
        rng, rows = np.random.default_rng(0), []
        for _ in range(SPLITS):
            is_calibration = (rng.permutation(answers.num_traces) < answers.num_traces // 2)[answers.traces]
            threshold = risk_threshold(_part(answers, is_calibration), level)
            new = _part(answers, ~is_calibration)
            answered = new.answered(threshold)
            wrong = new.is_wrong[answered].mean() if answered.any() else np.nan
            rows.append((new.trace_losses(threshold).mean(), answered.mean(), wrong))
        risk, coverage, wrong = np.array(rows).T
        print(
            f"  level {level:.2f}: mean risk {risk.mean():.4f}, below the level in {np.mean(risk <= level):.0%} of "
            f"{SPLITS} splits, coverage {coverage.mean():.3f}, error among the answered {np.nanmean(wrong):.3f}"
        )


def _part(answers, rows):
    return ConfidentAnswers(answers.confidence[rows], answers.is_wrong[rows], answers.traces[rows])


def _at(router, temperature):
    """The router at the temperature; it answers all."""
    zero = {"traces": 0, "queries": 0, "none_queries": 0, "coverage": 1.0, "risk": 0.0, "error": None}
    rest = {"error_limit": 1.0, "newest": None, "candidates": ()}
    rule = AbstainRule(rule="risk", level=0.5, threshold=0.0, temperature=temperature, **zero, **rest)
    return replace(router, abstain=rule)
