"""Ready numbers in LETOR, or SVMlight, lines: `GRADE qid:ID 1:0.5 2:0.25 # name`."""

import re
from collections.abc import Iterator

import numpy as np

from ltr.arrays import FloatArray
from ltr.data.exporters.registry import Exported, exporter
from ltr.data.exporters.whitespace_safe_texts import number_text, topic_texts
from ltr.data.groups import Groups
from ltr.errors import UsageError
from ltr.files.atomic_write import write_lines
from ltr.files.path_arguments import AnyPath

BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@exporter("letor")
def export_letor(exported: Exported, out: AnyPath) -> list[str]:
    """A line for each candidate, its name the comment."""
    if exported.phi is None:
        raise UsageError("LETOR lines need numbers: name a run directory, or featurised samples (ltr featurize)")
    if np.isnan(exported.groups.labels).any():
        raise UsageError("LETOR lines need labels, and some samples have none")
    write_lines(out, _lines(exported.groups, exported.phi))
    return [str(out)]


def _lines(groups: Groups, phi: FloatArray) -> Iterator[bytes]:
    texts = groups.candidates.name_texts
    for group, topic in enumerate(topic_texts(groups.candidates)):
        for row in range(int(groups.offsets[group]), int(groups.offsets[group + 1])):
            values = " ".join(f"{number}:{value!r}" for number, value in enumerate(phi[row].tolist(), start=1))
            name = BREAKS.sub(" ", texts[groups.candidates.names[row]])
            yield f"{number_text(float(groups.labels[row]))} qid:{topic} {values} # {name}".encode()
