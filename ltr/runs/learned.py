"""What a run keeps to learn from outcomes: its training groups, and how rare the words of their queries are."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import msgspec
import numpy as np

from ltr.arrays import Array, as_offsets, pack_texts
from ltr.errors import DataError, FileError
from ltr.features import FittedFeatures, Rarity
from ltr.files import read_arrays, write_arrays
from ltr.records.run import UNUSABLE
from ltr.runs.directory import Part, RunDirectory
from ltr.samples import Groups, Past, SourceFile

LARGEST = 4 << 30
PARTS = ("groups", "none", "outcomes")  # samples, those of them for which none is right, outcomes among them


@dataclass(frozen=True, slots=True)
class Learned:
    """What a model was learned from."""

    rarity: Rarity
    groups: Groups | None = None  # samples; None: a pack, or a run that began without samples
    outcomes: Groups | None = None  # that stood among the samples, each as often as it was told
    has_texts: bool = True  # of queries; otherwise a number stands for each, and what counts names alone can be learned

    @property
    def without_texts(self) -> Self:
        """The same without the texts of queries; outcomes among the samples are samples then."""
        return replace(
            self, groups=None if self.groups is None else _numbered(self.groups), outcomes=None, has_texts=False
        )

    def write(self, home: Path) -> None:
        """Write it into a run directory."""
        rarity, arrays = self.rarity, dict[str, Array]()
        arrays |= {"keys": rarity.keys, "weights": rarity.weights, "queries": np.array(rarity.queries)}
        arrays |= {"has_texts": np.array(int(self.has_texts))}
        if self.groups is not None:
            for name, part in zip(PARTS, (self.groups, self.groups.none_groups, self.outcomes), strict=True):
                if part is not None:
                    plain = replace(part, candidates=replace(part.candidates, contexts=None, context_texts=()))
                    columns = {"phi": np.empty((len(part.labels), 0))} | plain.arrays()
                    columns["past"] = pack_texts([part.candidates.past])[0]
                    arrays |= {f"{name}.{key}": array for key, array in columns.items()}
        write_arrays(home / Part.TRAINING, arrays)

    @classmethod
    def read(cls, home: Path, features: FittedFeatures) -> Self:
        """Return what lies in the directory of a run with these features; what was changed or is another is refused."""
        path = RunDirectory(home).refuse_changed(Part.TRAINING)
        arrays = read_arrays(path, limit=LARGEST)
        try:
            rarity = Rarity(
                arrays["keys"].astype(np.int64), arrays["weights"].astype(np.float64), int(arrays["queries"])
            )
            if rarity.keys.shape != rarity.weights.shape or (rarity.keys[1:] <= rarity.keys[:-1]).any():
                raise ValueError("words and their rarity do not fit")
            groups, none, outcomes = (_groups(path, features, arrays, name) for name in PARTS)
        except UNUSABLE as error:
            raise FileError(str(path), f"not what updates need: {error}") from error
        has_texts = bool(arrays.get("has_texts", True))
        return cls(rarity, None if groups is None else replace(groups, none_groups=none), outcomes, has_texts)


def _numbered(groups: Groups) -> Groups:
    """The groups with a number in the place of each query."""
    candidates = groups.candidates
    queries = tuple(map(str, range(len(candidates.query_texts))))
    candidates = replace(candidates, query_texts=queries, contexts=None, context_texts=())
    none = groups.none_groups
    return replace(groups, candidates=candidates, outcomes=None, none_groups=None if none is None else _numbered(none))


def _groups(path: Path, features: FittedFeatures, arrays: Mapping[str, Array], name: str) -> Groups | None:
    own = {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}
    if not own:
        return None
    past = msgspec.convert(own["past"].tobytes().decode(), Past)
    offsets = as_offsets(own["offsets"], len(own["labels"]))
    groups = Groups.of_arrays(own, offsets, kind=features.kind, files=(SourceFile(str(path), 0, 1),), past=past)
    if features.kind == "graph" and not groups.candidates.graphs.size:
        raise DataError("graphs are needed")
    return groups
