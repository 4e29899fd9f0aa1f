"""Lines kept in temporary files, to be read again."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ltr.errors import DiskError, reason
from ltr.files.path_arguments import AnyPath
from ltr.files.reading import read_blocks, split_lines

AT_ONCE = 32 << 20  # bytes of lines that wait to be written


@dataclass(frozen=True, slots=True)
class StoredLines:
    """Lines in a temporary file, and their numbers in another."""

    folder: str
    part: int

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Number and content of each line."""
        names = _names(self.folder, self.part)
        if not names[0].exists():
            return iter(())
        numbers = np.fromfile(names[1], dtype=np.int64).tolist()
        return zip(numbers, split_lines(read_blocks(names[0]), names[0]), strict=True)

    def remove(self) -> None:
        """Give the space back."""
        for name in _names(self.folder, self.part):
            name.unlink(missing_ok=True)


class LineWriter:
    """Writes lines into the parts of a folder, some megabytes at a time, so that any number of parts can grow."""

    def __init__(self, folder: AnyPath) -> None:
        self.folder = os.fspath(folder)
        self.byte_count = 0
        self._lines: dict[int, list[bytes]] = {}
        self._numbers: dict[int, list[int]] = {}
        self._waiting = 0

    def write(self, part: int, number: int, line: bytes) -> None:
        """Add a line to a part; a line end inside it, which JSON allows between values, becomes a blank."""
        if part not in self._lines:
            self._lines[part], self._numbers[part] = [], []
        self._lines[part].append(line.replace(b"\n", b" "))
        self._numbers[part].append(number)
        self._waiting += len(line) + 1
        if self._waiting > AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        try:
            Path(self.folder).mkdir(exist_ok=True)
            for part, lines in self._lines.items():
                names = _names(self.folder, part)
                with names[0].open("ab") as file:
                    file.write(b"\n".join([*lines, b""]))
                with names[1].open("ab") as file:
                    file.write(np.array(self._numbers[part], dtype=np.int64).tobytes())
        except OSError as error:
            raise DiskError(os.fspath(Path(self.folder).parent), reason(error)) from error
        self.byte_count += self._waiting
        self._lines, self._numbers, self._waiting = {}, {}, 0


def _names(folder: str, part: int) -> tuple[Path, Path]:
    return Path(folder, f"{part}.lines"), Path(folder, f"{part}.numbers")
