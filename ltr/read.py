"""What a run reads: training, validation, test and calibration groups, of files of their own or shares of traces."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ltr.arrays import vanishing
from ltr.audit import quick_findings
from ltr.catalogues import ToolCatalogue, read_tools
from ltr.columns import Data, fitted_on_all
from ltr.config import RunConfig
from ltr.engine import IN_PROCESS, Engine
from ltr.errors import DataError, SampleError
from ltr.features import FittedFeatures
from ltr.featurized import ColumnShards, columns_directory, open_columns, read
from ltr.preconditions import refuse_no_answers, refuse_unreadable
from ltr.samples import (
    DataConfig,
    Groups,
    Kind,
    Shards,
    SourceFile,
    TableRows,
    Whole,
    beside,
    none_warnings,
    outcomes_apart,
    past_from_labels,
)
from ltr.splits import TIME, count_earlier, earlier_warnings, split_off
from ltr.steps.negatives import count_uncorrected, drawn, uncorrected_warnings

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


def read_data(config: RunConfig, given: Mapping[str, TableRows] | None = None, *, engine: Engine = IN_PROCESS) -> Data:
    """Read training, validation, test and calibration groups: of files of their own, or shares of the training traces.

    `given`: rows that stand for the files of train, valid or test. The columns of a directory are taken as they are
    unless something changes its samples, which are featurised anew then: a share that is split off, drawn candidates,
    the past.
    """
    given, data = given or {}, config.data
    refuse_unreadable(config)
    train, state, kind, files = _samples(given.get("train", data.train), data)
    if config.kind and config.kind != kind:
        of = "columns are of" if isinstance(train, ColumnShards) else "samples are"
        raise DataError(f"the config says kind {config.kind}; the {of} {kind}s")
    columns = train if isinstance(train, ColumnShards) else None
    apart: list[tuple[str, str | tuple[str, ...] | float | None]] = [("test", data.test), ("valid", data.valid)]
    apart += [("calibrate", data.calibrate)] if config.abstain.rule else []
    shares = [name for name, asked in apart if isinstance(asked, float)]
    if state is not None and (columns is None or "test" in shares) and shares:
        raise fitted_on_all(f"{shares[0]} is a share")
    like = None
    if columns is not None and (shares or data.negatives is not None or data.previous is not None):
        if columns.manifest.is_applied:
            raise fitted_on_all(f"{shares[0]} is a share" if shares else "the candidates or their past are to change")
        texts = read_tools(data.tools) if data.tools is not None and kind == "tool" else None
        train, columns, like, state = columns.changed(partial(_bare, tools=texts)), None, state, None
        train = train if data.previous is None else train.changed(past_from_labels)
    samples, outcomes = outcomes_apart(train.groups) if isinstance(train, Whole) else (None, None)
    train = train if samples is None else Whole(samples)
    held, of_parts = dict[str, Shards](), {"train": files}
    options: dict[str, Any] = {"seed": config.seed, "by": data.split, "engine": engine}
    options["of"] = _count_traces(train) if shares else 0
    for name, asked in apart:
        if isinstance(asked, float):
            train, held[name] = split_off(train, asked, name, **options)
            of_parts[name] = files
        elif asked is not None:
            held[name], _, _, of_parts[name] = _samples(given.get(name, asked), data)
    train, held = answered(train), {name: answered(part) for name, part in held.items()}
    refuse_no_answers(config, train, held.get("calibrate"))
    if isinstance(train, Whole) and train.groups.weights is not None:
        group, problem = vanishing(train.groups.weights)  # a weight that is lost beside the largest
        if problem:
            place = train.groups.candidates.place(int(train.groups.offsets[group]))
            raise SampleError(*place, "weight", problem)
    is_applied = columns is not None and columns.manifest.is_applied
    warnings = _warnings(train, held, data)  # of what the files say: drawn rows follow a rule of their own
    warnings += (APPLIED,) * is_applied
    if data.negatives is not None:
        draw = partial(drawn, config=config)
        train, held = train.changed(draw), {name: part.changed(draw) for name, part in held.items()}
    told = None
    if isinstance(train, Whole):
        told = train.groups, outcomes
        train = Whole(beside(*told))
        groups = train.groups
        warnings += tuple(uncorrected_warnings(count_uncorrected(groups), len(groups.offsets) - 1))
    return Data(
        kind=kind,
        train=train,
        state=state,
        like=like,
        columns=columns,
        valid=held.get("valid"),
        test=held.get("test"),
        calibrate=held.get("calibrate"),
        warnings=warnings,
        apart=told,
        files=of_parts,
        is_applied=is_applied or (told is not None and told[0].candidates.are_applied),
    )


def reads_directory(config: RunConfig) -> bool:
    """Return whether any of the samples are a directory of columns."""
    data = config.data
    named = (data.train, data.valid, data.test, data.calibrate)
    return any(not isinstance(of, float | None) and columns_directory(of) is not None for of in named)


def _samples(
    paths: str | tuple[str, ...] | TableRows, data: DataConfig
) -> tuple[Shards, FittedFeatures | None, Kind, tuple[SourceFile, ...]]:
    """Samples in memory, or a directory of columns; with the features that they bear, and the files."""
    directory = None if isinstance(paths, TableRows) else columns_directory(paths)
    if directory is not None:
        shards = open_columns(directory)
        return shards, shards.features, shards.manifest.kind, shards.part_files
    groups, state = read(paths, data)
    candidates = groups.candidates
    return Whole(groups), state, candidates.kind, (*candidates.files, *candidates.catalogues)


def _bare(groups: Groups, tools: ToolCatalogue | None) -> Groups:
    """Return the groups of columns as samples are read: without numbers, a tool without a text with the catalogue's."""
    plain = groups.without_numbers()
    if tools is None:
        return plain
    of_parts = (
        None if part is None else replace(part, candidates=part.candidates.with_texts(tools))
        for part in (plain, plain.none_groups)
    )
    described, none = of_parts
    return replace(described or plain, none_groups=none)


def answered(shards: Shards) -> Shards:
    """Return the groups for which something offered may be right, and beside them those for which none is."""
    return shards.changed(Groups.without_none if isinstance(shards, Whole) else Groups.to_learn)


def _count_traces(shards: Shards) -> int:
    return sum(len(shards[number].candidates.trace_ids) for number in range(len(shards)))


def _warnings(train: Shards, held: Mapping[str, Shards], data: DataConfig) -> tuple[str, ...]:
    """What leaks the label, what training data share with what they are kept from, where their numbers are from."""
    whole = {name: part.groups for name, part in held.items() if isinstance(part, Whole)}
    own = train.groups if isinstance(train, Whole) else None
    parts = whole.values() if own is None else (own, *whole.values())
    warnings = list(dict.fromkeys(text for part in parts if (text := part.candidates.repeated)))
    warnings += none_warnings(whole["valid"].num_none, "validation data: ") if "valid" in whole else ()
    if own is not None and own.none_groups is not None:
        warnings += [DRAWN_FOR_THE_REST] if data.negatives is not None else []
        warnings += [NOT_CROSS_FITTED] if own.candidates.features is not None and own.candidates.fit else []
    if own is not None:
        findings = quick_findings(own, whole.get("test"), is_share=isinstance(data.test, float))
        warnings += [f"{finding.code}: {finding.message}" for finding in findings]
        shared = quick_findings(own, whole.get("valid"), is_share=isinstance(data.valid, float))
        warnings += [f"{of.code}: validation data: {of.message}" for of in shared if of.code.startswith("overlap")]
    for name, share in (("test", data.test), ("valid", data.valid)):
        if data.split == TIME and isinstance(share, float):  # traces that last stay whole, and may begin before
            number = held[name].count_groups()
            warnings += earlier_warnings(f"data.{name}", count_earlier(train, held[name]), number)
    if own is not None and own.candidates.features is not None and not own.candidates.fit:
        warnings.append(STATELESS)
    is_applied = own is not None and own.candidates.are_applied
    return (*warnings, APPLIED) if is_applied else tuple(warnings)
