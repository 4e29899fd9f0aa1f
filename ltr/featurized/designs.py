"""Designs in files: the numbers of groups as a training reads them, from parts of columns or what a run writes."""

from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from ltr.arrays import Array, IntArray, checked_codes, offsets_of
from ltr.featurized.columns import LARGEST_COLUMNS, ColumnShards, refuse_other_shapes, usable_part
from ltr.files import read_arrays, write_arrays
from ltr.samples import RIGHT, Draws, Groups
from ltr.training import Design

DRAWS = ("draw_rules", "draw_probabilities")
OWN = tuple(field.name for field in fields(Design))
NUMBERS = (*OWN, "none", *DRAWS)  # the arrays of a part that a training reads


@dataclass(frozen=True, slots=True)
class StoredDesigns:
    """Where designs lie: small, as it travels to whoever reads them. Groups for which none is right are left out."""

    path: Path
    files: tuple[str, ...]
    width: int  # columns in the files
    places: tuple[int, ...] | None = None  # of those that count; None: all

    @classmethod
    def of(cls, shards: ColumnShards) -> "StoredDesigns":
        """Return the designs of a directory of columns that was checked when it was opened."""
        manifest = shards.manifest
        return cls(shards.path, tuple(part.file for part in manifest.parts), len(manifest.features))

    @staticmethod
    def write(path: Path, design: Design) -> None:
        """Write the arrays that a design has into a file of designs."""
        write_arrays(path, {name: column for name in OWN if (column := getattr(design, name)) is not None})

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, number: int) -> Design:
        path = self.path / self.files[number]
        arrays = read_arrays(path, limit=LARGEST_COLUMNS, names=NUMBERS)
        with usable_part(path):
            refuse_other_shapes(arrays, self.width)
            if (traces := arrays.get("traces")) is not None and len(traces):
                checked_codes(traces, len(arrays["offsets"]) - 1, range(int(traces.max()) + 1))
        design = Design(**{name: arrays.get(name) for name in OWN})  # type: ignore[arg-type]
        if (draws := Draws.of(*map(arrays.get, DRAWS))) is not None:
            offset = draws.offset(arrays["labels"], arrays["offsets"], lambda _: (str(path), 1))
            design = replace(design, score_offset=offset)
        if "none" in arrays and (is_none := arrays["none"] == RIGHT).any():
            design = _only(design, ~is_none)
        return design if self.places is None else only_columns(design, self.places)

    def only(self, places: tuple[int, ...]) -> "StoredDesigns":
        """Return the designs with some of the columns."""
        before = range(self.width) if self.places is None else self.places
        return replace(self, places=tuple(before[place] for place in places))


def design_of(groups: Groups, phi: Array) -> Design:
    """Return what a training reads of groups and their columns."""
    candidates, draws = groups.candidates, groups.candidates.draws
    offset = None if draws is None else draws.offset(groups.labels, groups.offsets, candidates.place)
    keys = candidates.key_order()
    return Design(phi, groups.labels, groups.offsets, groups.weights, offset, keys, candidates.traces)


def only_columns(design: Design, places: tuple[int, ...]) -> Design:
    """Return the design with some of the columns."""
    return replace(design, phi=np.ascontiguousarray(np.asarray(design.phi)[:, list(places)]))


def _only(design: Design, stays: Array) -> Design:
    """The design of some of the groups."""
    sizes = np.diff(np.asarray(design.offsets))
    rows, groups = np.repeat(stays, sizes), np.flatnonzero(stays)

    def some(column: object, chosen: Array | IntArray) -> Array | None:
        return None if column is None else np.asarray(column)[chosen]

    return Design(
        np.asarray(design.phi)[rows],
        np.asarray(design.labels)[rows],
        offsets_of(sizes[groups]),
        some(design.weights, groups),
        some(design.score_offset, rows),
        some(design.keys, rows),
        some(design.traces, groups),
    )
