"""A ranking as a TREC run, whose scores have no ties in any reader, and its labels as qrels."""

from collections.abc import Iterator

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.data.exporters.registry import Exported, exporter
from ltr.data.exporters.whitespace_safe_texts import column_text, number_text, topic_texts
from ltr.data.groups import Groups
from ltr.errors import UsageError
from ltr.files.atomic_write import write_lines
from ltr.files.path_arguments import AnyPath

TAG = "ltr"
SIGN = np.int64(0x7FFFFFFF)
LARGEST_SINGLE = 3.0e38


@exporter("trec")
def export_trec(exported: Exported, out: AnyPath) -> list[str]:
    """OUT is the run, in our order; OUT.qrels the labels, where every candidate has one."""
    if exported.scores is None or exported.order is None:
        raise UsageError("a TREC run needs scores: name a run directory, or samples with one ready number each")
    write_lines(out, _run_lines(exported.groups, exported.scores, exported.order))
    if np.isnan(exported.groups.labels).any():
        return [str(out)]
    write_lines(f"{out}.qrels", _qrels_lines(exported.groups))
    return [str(out), f"{out}.qrels"]


def _run_lines(groups: Groups, scores: FloatArray, order: IntArray) -> Iterator[bytes]:
    names = [column_text(text) for text in groups.candidates.name_texts]
    for group, topic in enumerate(topic_texts(groups.candidates)):
        ranked = order[groups.offsets[group] : groups.offsets[group + 1]]
        written = falling(scores[ranked])
        codes = groups.candidates.names[ranked].tolist()
        for place, (code, score) in enumerate(zip(codes, written, strict=True), start=1):
            yield f"{topic} Q0 {names[code]} {place} {score!s} {TAG}".encode()


def _qrels_lines(groups: Groups) -> Iterator[bytes]:
    names = [column_text(text) for text in groups.candidates.name_texts]
    for group, topic in enumerate(topic_texts(groups.candidates)):
        rows = slice(groups.offsets[group], groups.offsets[group + 1])
        for code, label in zip(groups.candidates.names[rows].tolist(), groups.labels[rows].tolist(), strict=True):
            yield f"{topic} 0 {names[code]} {number_text(label)}".encode()


def falling(scores: FloatArray) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    """Scores that never rise, made to fall at every step: each at most the number before the one above it.

    The steps are those of single precision, because readers of runs that round to it would see ties again. Floats
    in the order of their bits are integers: there min(x_i, y_(i-1) - 1) is the running minimum of x_i + i, less i.

    >>> falling(np.array([1.0, 1.0, 0.5])).tolist()
    [1.0, 0.9999999403953552, 0.5]
    """
    single = np.clip(scores, -LARGEST_SINGLE, LARGEST_SINGLE).astype(np.float32) + np.float32(0)
    bits = single.view(np.int32).astype(np.int64)
    ordered = np.where(bits < 0, -(bits & SIGN), bits)
    places = np.arange(len(ordered))
    lowered = np.minimum.accumulate(ordered + places) - places
    back = np.where(lowered < 0, -lowered | ~SIGN, lowered)
    return back.astype(np.int32).view(np.float32)
