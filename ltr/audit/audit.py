"""What can be wrong with samples, before they are learned from; and with a run, before it is believed."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from ltr.audit.columns import column_findings
from ltr.audit.degenerate import degenerate, not_in_catalogue, untold_tools
from ltr.audit.findings import Finding, Report, report
from ltr.audit.leaks import label_leaks
from ltr.audit.likeness import likeness_leak
from ltr.audit.lines import read_all, told
from ltr.audit.overlap import near_duplicates, overlaps
from ltr.audit.runs import run_findings
from ltr.data.catalogues.graphs import read_graphs
from ltr.data.catalogues.tools import read_tools
from ltr.data.groups import Groups, select
from ltr.errors import DataError
from ltr.files.reading import AnyPath

ENOUGH = 20_000  # groups, for the leaks that every run looks for


def validate_samples(
    paths: AnyPath | Iterable[AnyPath],
    *,
    against: AnyPath | Iterable[AnyPath] | None = None,
    tools: AnyPath | None = None,
    graphs: AnyPath | None = None,
) -> Report:
    """Everything there is to say about samples; with `against`, about what they share with those training samples.

    Groups with a line that cannot be used are told and then left out; all others are judged.
    """
    try:
        texts = read_tools(tools) if tools else {}
        trees = read_graphs(graphs) if graphs else {}
        groups, findings = read_all(paths, tools=texts, graphs=trees)
        training, refused = read_all(against, tools=texts, graphs=trees) if against else (None, [])
    except DataError as error:  # a file as a whole, such as a catalogue
        return report([told(error)], {})
    if groups is None:
        return report([*findings, *refused], {"groups": 0})
    compared = _compare(groups, training) if training else ()
    unknown = not_in_catalogue(groups.candidates, texts)
    return report([*findings, *refused, *_judge(groups), *unknown, *compared], _sizes(groups))


def _judge(groups: Groups) -> Iterator[Finding]:
    yield from degenerate(groups)
    yield from label_leaks(groups)
    yield from likeness_leak(groups)
    yield from column_findings(groups)


def _compare(groups: Groups, training: Groups) -> Iterator[Finding]:
    yield from overlaps(groups, training)
    yield from near_duplicates(groups, training)


def _sizes(groups: Groups) -> dict[str, int]:
    candidates = groups.candidates
    return {
        "files": len(candidates.files),
        "traces": len(candidates.trace_ids),
        "groups": len(groups.offsets) - 1,
        "candidates": len(groups.labels),
        "positives": int((groups.labels > 0).sum()),
    }


def validate_run(directory: AnyPath) -> Report:
    """Whether the run is complete and every file of it is as it was written."""
    return report(run_findings(Path(directory)), {})


def quick_findings(train: Groups, test: Groups | None, *, is_share: bool = False) -> list[Finding]:
    """The cheap part, for every run: what leaks the label, and what training and test data share.

    A share of the training files lies in them by design, and its rows are not among those that are learned from.
    """
    shared = [] if test is None else list(overlaps(test, train))
    shared = [each for each in shared if not (is_share and each.code == "overlap-file")]
    is_same_file = bool(shared) and shared[0].code == "overlap-file"  # whatever else is shared follows
    groups = len(train.offsets) - 1
    sample = select(train, np.arange(0, groups, -(-groups // ENOUGH)))
    texts = untold_tools(train.candidates)
    return [*texts, *label_leaks(sample), *(shared[:1] if is_same_file else shared)]
