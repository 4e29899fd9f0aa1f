"""The state of fitted features in a file, with its arrays beside it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec

from ltr.arrays import Array
from ltr.data.schema import Kind
from ltr.errors import FileError, LtrError
from ltr.features.fitted_features import FittedFeatures
from ltr.files.atomic_write import write_bytes
from ltr.files.npz import read_arrays, write_arrays
from ltr.files.path_arguments import AnyPath
from ltr.files.reading import read_bytes
from ltr.storage.feature_records import EncoderRecord, FeatureRecord, feature_records, restored_features
from ltr.storage.model_file import LARGEST_ARRAYS, LARGEST_DOCUMENT

FORMAT: Final = "ltr-features/2"
UNUSABLE = (msgspec.MsgspecError, KeyError, IndexError, ValueError, TypeError, OverflowError, RecursionError, LtrError)


class StateRecord(msgspec.Struct, omit_defaults=True):
    """The state in a file of featurised samples, or beside it."""

    format: Literal["ltr-features/2"]
    is_applied: bool
    kind: Kind
    features: list[FeatureRecord]
    encoder: EncoderRecord
    samples: str = ""  # beside JSONL: the sha256 of its lines


def write_state(
    path: Path, features: FittedFeatures, *, is_applied: bool = False, samples: str = ""
) -> tuple[Path, Path]:
    """The fitted features as a file, and their arrays as one beside it; `samples`: the sha256 of the lines."""
    arrays: dict[str, Array] = {}
    record = StateRecord(FORMAT, is_applied, features.kind, *feature_records(features, arrays), samples)
    write_arrays(path.with_suffix(".npz"), arrays)
    write_bytes(path, msgspec.json.encode(record))
    return path, path.with_suffix(".npz")


@dataclass(frozen=True, slots=True)
class FeatureState:
    """What lies beside featurised JSONL."""

    features: FittedFeatures
    is_applied: bool  # fitted before, on whatever samples, and not cross-fitted on these
    samples: str  # sha256 of the lines it belongs to


def load_features(path: AnyPath) -> FeatureState:
    """The fitted features of a sidecar."""
    file = Path(path)
    try:
        record = msgspec.json.decode(read_bytes(file, limit=LARGEST_DOCUMENT), type=StateRecord)
        arrays = read_arrays(file.with_suffix(".npz"), limit=LARGEST_ARRAYS)
        features = restored_features(record.kind, record.features, record.encoder, arrays)
        return FeatureState(features, record.is_applied, record.samples)
    except FileError:
        raise
    except UNUSABLE as error:
        raise FileError(str(file), f"not a state of features: {error}") from error
