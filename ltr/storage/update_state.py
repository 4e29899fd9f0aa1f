"""Where the outcomes of a run lie: its journal, and beside it the model of the last refit."""

import os
from pathlib import Path
from typing import Final

import msgspec

from ltr.errors import FileError, reason
from ltr.files.crash_recovery import put_back

TRAINING: Final = "training.npz"  # what the run was learned from
JOURNAL: Final = "outcomes.journal"
UPDATED: Final = "updated"  # a directory in that of a run: the model after a refit
COVERED: Final = "outcomes.json"  # in it: the outcomes that the refit knows


class Covered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of the journal a refit knows."""

    bytes: int = 0
    outcomes: int = 0
    chosen_on: int = 0  # queries that its settings were chosen on; 0: those of the training


def has_outcomes(home: Path) -> bool:
    """Whether outcomes were written for the run."""
    return os.path.lexists(home / JOURNAL)


def updated_home(home: Path) -> Path:
    """The directory whose model serves: that of the last refit, else that of the run."""
    updated = put_back(home / UPDATED)
    return updated if (updated / COVERED).is_file() else home


def covered(home: Path) -> Covered:
    """What the last refit knows."""
    file = put_back(home / UPDATED) / COVERED
    try:
        return msgspec.json.decode(file.read_bytes(), type=Covered)
    except FileNotFoundError:
        return Covered()
    except OSError as error:
        raise FileError(str(file), reason(error)) from error
    except msgspec.DecodeError as error:
        raise FileError(str(file), f"{error}; remove {UPDATED}, then update again") from error
