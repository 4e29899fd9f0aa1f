"""The numbers of a directory of columns as a training reads them, part by part."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ltr.arrays import Array, IntArray, offsets_of
from ltr.data.columns import checked_codes
from ltr.data.draw_rules_and_probabilities import Draws
from ltr.data.none_candidates import RIGHT
from ltr.experiments.sampling_correction import offset_of_draws
from ltr.files.npz import read_arrays
from ltr.storage.columns_file import LARGEST_COLUMNS, refuse_other_shapes
from ltr.storage.sharded_columns import ColumnShards, usable_part
from ltr.training.trainable_shards import ShardArrays

DRAWS = ("draw_rules", "draw_probabilities")
NUMBERS = ("phi", "labels", "offsets", "weights", "none", *DRAWS)


@dataclass(frozen=True, slots=True)
class TrainingShardReader:
    """Where the parts lie: small, as it travels to whoever reads them."""

    path: Path
    files: tuple[str, ...]
    columns: int  # of phi

    @classmethod
    def of(cls, shards: ColumnShards) -> "TrainingShardReader":
        """That of a directory that was checked when it was opened."""
        manifest = shards.manifest
        return cls(shards.path, tuple(part.file for part in manifest.parts), len(manifest.features))

    def __len__(self) -> int:
        return len(self.files)

    def shard(self, number: int) -> ShardArrays:
        """The arrays of that part, without the groups for which nothing offered is right."""
        path = self.path / self.files[number]
        arrays = read_arrays(path, limit=LARGEST_COLUMNS, names=NUMBERS)
        with usable_part(path):
            refuse_other_shapes(arrays, self.columns)
        offset = None
        if (draws := Draws.of(*map(arrays.get, DRAWS))) is not None:
            offset = offset_of_draws(draws, arrays["labels"], arrays["offsets"], lambda _: (str(path), 1))
        shard = ShardArrays(arrays["phi"], arrays["labels"], arrays["offsets"], arrays.get("weights"), offset)
        return _answered(shard, arrays.get("none"))


def _answered(shard: ShardArrays, none: Array | None) -> ShardArrays:
    """The groups for which something offered may be right."""
    if none is None or not (is_none := none == RIGHT).any():
        return shard
    sizes = np.diff(shard.offsets)
    rows, left = np.repeat(~is_none, sizes), np.flatnonzero(~is_none)
    return ShardArrays(
        shard.phi[rows],
        shard.labels[rows],
        offsets_of(sizes[left]),
        None if shard.weights is None else shard.weights[left],
        None if shard.score_offset is None else shard.score_offset[rows],
    )


def trace_codes(shards: ColumnShards) -> IntArray:
    """The trace of each group that `TrainingShardReader` gives, counted through all parts."""
    codes, first = list[IntArray](), 0
    for number, part in enumerate(shards.manifest.parts):
        arrays = shards.arrays(number, ("traces", "none"))
        none = arrays.get("none")
        with usable_part(shards.path / part.file):
            traces = checked_codes(arrays["traces"], part.groups, range(part.traces))
        codes.append((traces if none is None else traces[none != RIGHT]) + first)
        first += part.traces
    return np.concatenate(codes)
