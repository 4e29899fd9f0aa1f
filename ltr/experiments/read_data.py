"""What a run reads: training, validation and test groups, of files of their own or shares of the training traces."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ltr.arrays import vanishing
from ltr.audit.checks_before_training import quick_findings
from ltr.config.run import RunConfig
from ltr.data.config import DataConfig
from ltr.data.data_frame_rows import TableRows
from ltr.data.groups import Groups
from ltr.data.none_of_these_groups import none_warnings, without_none
from ltr.data.outcome_groups import beside, outcomes_apart
from ltr.data.splits import TIME, count_earlier, earlier_warnings, split_off
from ltr.errors import DataError, SampleError, UsageError
from ltr.experiments.negative_sampling import drawn
from ltr.experiments.run_preconditions import (
    refuse_fitted,
    refuse_given_probabilities,
    refuse_half_sections,
    refuse_no_answers,
)
from ltr.experiments.sampling_correction import count_uncorrected, uncorrected_warnings
from ltr.features.fitted_features import FittedFeatures
from ltr.storage.plain_or_featurized_samples import read

APPLIED = (
    "the features of the training samples were applied (featurize -m), not cross-fitted: if they learned from these "
    "samples, the weights trust them too much"
)
DRAWN_FOR_THE_REST = (
    "none: queries for which none is right keep the candidates of the log, and the others have tools of the catalogue "
    "beside them: P(none) may go by the length of a list; --none-from removed:0.2 does not"
)
NOT_CROSS_FITTED = (
    "none: the samples bear features, and those of queries for which none is right know the answers of their own "
    "traces; train on the samples themselves"
)
STATELESS = "the samples bear ready numbers without the state that made them: the model ranks featurised samples only"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a run reads."""

    train: tuple[Groups, FittedFeatures | None]  # with the state they bear
    valid: Groups | None
    test: Groups | None
    calibrate: Groups | None  # where the router is to abstain
    warnings: tuple[str, ...]  # what is odd about them
    apart: tuple[Groups, Groups | None] | None = (
        None  # of the training groups: samples, outcomes; None: all are samples
    )

    @property
    def told(self) -> tuple[Groups, Groups | None]:
        """The training groups that are samples, and the outcomes among the samples, each as often as it was told."""
        return self.apart or (self.train[0], None)


def read_data(config: RunConfig, given: Mapping[str, TableRows] | None = None) -> Loaded:
    """Training groups, validation and test groups: files of their own, or shares of the training traces.

    `given`: rows that stand for the files of train, valid or test.
    """
    given = given or {}
    data = config.data
    if config.sweep:
        raise UsageError(f"the config sweeps {', '.join(config.sweep)}: it is several runs, which `ltr run` makes")
    refuse_given_probabilities(config)
    refuse_half_sections(config)
    if not data.train:
        raise UsageError("no training samples: name files, or set data.train in the config")
    train, state = read(given.get("train", data.train), data)
    if config.kind and config.kind != train.candidates.kind:
        raise DataError(f"the config says kind {config.kind}; the samples are {train.candidates.kind}s")
    train, outcomes = outcomes_apart(train)
    held: dict[str, Groups] = {}
    options: dict[str, Any] = {"seed": config.seed, "by": data.split, "of": len(train.candidates.trace_ids)}
    apart: list[tuple[str, str | tuple[str, ...] | float | None]] = [("test", data.test), ("valid", data.valid)]
    apart += [("calibrate", data.calibrate)] if config.abstain.rule else []
    for name, asked in apart:
        if isinstance(asked, float):
            refuse_fitted(state, f"{name} is a share")
            train, held[name] = split_off(train, asked, name, **options)
        elif asked is not None:
            held[name] = read(given.get(name, asked), data)[0]
    train, held = without_none(train), {name: without_none(groups) for name, groups in held.items()}
    refuse_no_answers(config, train, held.get("calibrate"))
    if train.weights is not None:
        group, problem = vanishing(train.weights)  # a weight that is lost beside the largest
        if problem:
            raise SampleError(*train.candidates.place(int(train.offsets[group])), "weight", problem)
    warnings = _warnings(train, held, data)  # of what the files say: drawn rows follow a rule of their own
    samples, held = drawn(train, config), {name: drawn(groups, config) for name, groups in held.items()}
    train = beside(samples, outcomes)
    warnings += tuple(uncorrected_warnings(count_uncorrected(train), len(train.offsets) - 1))
    others = held.get("valid"), held.get("test"), held.get("calibrate")
    return Loaded((train, state), *others, warnings, (samples, outcomes))


def _warnings(train: Groups, held: Mapping[str, Groups], data: DataConfig) -> tuple[str, ...]:
    """What leaks the label, what training data share with what they are kept from, where their numbers are from."""
    warnings = list(dict.fromkeys(text for part in (train, *held.values()) if (text := part.candidates.repeated)))
    warnings += [] if "valid" not in held else none_warnings(held["valid"], "validation data: ")
    if train.none_groups is not None:
        warnings += [DRAWN_FOR_THE_REST] if data.negatives is not None else []
        warnings += [NOT_CROSS_FITTED] if train.candidates.features is not None and train.candidates.fit else []
    warnings += [
        f"{finding.code}: {finding.message}"
        for finding in quick_findings(train, held.get("test"), is_share=isinstance(data.test, float))
    ]
    shared = quick_findings(train, held.get("valid"), is_share=isinstance(data.valid, float))
    warnings += [
        f"{finding.code}: validation data: {finding.message}"
        for finding in shared
        if finding.code.startswith("overlap")
    ]
    for name, share in (("test", data.test), ("valid", data.valid)):
        if data.split == TIME and isinstance(share, float):  # traces that last stay whole, and may begin before
            count, of = count_earlier(train, held[name]), len(held[name].offsets) - 1
            warnings += earlier_warnings(f"data.{name}", count, of)
    if train.candidates.features is not None and not train.candidates.fit:
        warnings.append(STATELESS)
    return (*warnings, APPLIED) if train.candidates.are_applied else tuple(warnings)
