"""Files of samples cut into chunks of about equal size, in one pass over their lines."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from ltr.data.json_stream import sample_lines
from ltr.data.sample_column_builders import GroupColumns, RowColumns
from ltr.data.sample_reader import Most, Samples, add_lines, as_samples
from ltr.data.source_files import SourceFile
from ltr.errors import count
from ltr.files.content_digests import ContentDigest
from ltr.files.line_ranges import LineRange, can_be_sought, line_ranges
from ltr.files.path_arguments import shown
from ltr.files.temporary_lines import LineWriter, StoredLines
from ltr.logs import LOG

Pieces = tuple[LineRange | StoredLines, ...]  # where the lines of a chunk, or of a shard, lie


class Cutter:
    """Reads files chunk by chunk. A chunk ends before a trace that is new to it, if one comes in time."""

    def __init__(self, folder: Path, most: Most, *, labels_required: bool) -> None:
        self.files: list[SourceFile] = []
        self.plain: dict[int, str] = {}  # by place in `files`: those that can be read from the middle
        self.copies = LineWriter(folder)  # the lines of the others
        self._most, self._labels_required = most, labels_required
        self._firsts: list[list[int]] = []  # of each file: the first lines of its pieces
        self._pieces: list[list[tuple[int, int] | int]] = [[]]  # of each chunk: file and piece, or part of the copies
        self._groups, self.rows = GroupColumns(self.files), RowColumns(labels_required)

    def chunks(self, paths: Iterable[str]) -> Iterator[Samples]:
        """The samples of each chunk; what is wrong with a line is raised."""
        for path in paths:
            for _ in self._cuts(path):
                yield from self.unfinished()
                earlier, self.rows = self.rows, RowColumns(self._labels_required)
                self._groups = GroupColumns(self.files)
                self.rows.kind, self.rows.width = earlier.kind, earlier.width
        self.copies.flush()
        yield from self.unfinished()

    def unfinished(self) -> Iterator[Samples]:
        """The samples of the last chunk so far, if there are any."""
        if self.rows.kind and len(self._groups.traces):
            yield as_samples(self.rows.kind, self.files, self._groups, self.rows)

    def _cuts(self, path: str) -> Iterator[int]:
        """Add the lines of a file; the number of each line before which the chunk is full."""
        before, digest = sum(file.line_count for file in self.files), ContentDigest()
        place, is_plain = len(self.files), can_be_sought(path)
        self.files.append(SourceFile(shown(path), before))
        self._firsts.append([])
        lines = iter(sample_lines(path, digest=digest))
        if is_plain:
            self.plain[place] = path
        else:
            lines = self._copied(lines, before)
        self._begin_piece(place, 1)
        number, rest = add_lines(lines, before, self._groups, self.rows, file=path, most=self._most)
        while rest is not None:
            yield number
            self._pieces.append([])
            self._begin_piece(place, number)
            lines = chain([(number, rest)], lines)
            number, rest = add_lines(lines, before, self._groups, self.rows, most=self._most)
        self.files[place] = SourceFile(shown(path), before, number, digest.sha256, digest.byte_count)
        LOG.info(f"read {shown(path)}: {count(number, 'line')}, {count(digest.byte_count, 'byte')}")

    def _begin_piece(self, place: int, line: int) -> None:
        if place in self.plain:
            self._pieces[-1].append((place, len(self._firsts[place])))
            self._firsts[place].append(line)
        else:
            self._pieces[-1].append(len(self._pieces) - 1)

    def _copied(self, lines: Iterable[tuple[int, bytes]], before: int) -> Iterator[tuple[int, bytes]]:
        """The lines; each is written once the next one is asked for: then it is known which chunk it belongs to."""
        for number, line in lines:
            yield number, line
            self.copies.write(len(self._pieces) - 1, before + number, line)

    def pieces(self) -> tuple[Pieces, ...]:
        """Where the lines of each chunk lie."""
        self.copies.flush()
        ranges = {
            place: line_ranges(path, self.files[place].before, self._firsts[place])
            for place, path in self.plain.items()
        }
        return tuple(
            tuple(
                StoredLines(self.copies.folder, piece) if isinstance(piece, int) else ranges[piece[0]][piece[1]]
                for piece in dict.fromkeys(pieces)
            )
            for pieces in self._pieces
        )
