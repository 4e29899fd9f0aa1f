"""Files and directories: read with every fault named, written completely or not at all, locked, put back after a kill.

>>> from tempfile import TemporaryDirectory
>>> from ltr.files import read_lines, write_lines
>>> with TemporaryDirectory() as folder:
...     write_lines(f"{folder}/a.jsonl.gz", [b"{}"])
...     list(read_lines(f"{folder}/a.jsonl.gz"))
[(1, b'{}')]
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.files.atomic import atomic_file as atomic_file
    from ltr.files.atomic import write_file as write_file
    from ltr.files.atomic import write_lines as write_lines
    from ltr.files.directory import DirectoryKind as DirectoryKind
    from ltr.files.directory import new_directory as new_directory
    from ltr.files.directory import new_files as new_files
    from ltr.files.directory import refuse_existing as refuse_existing
    from ltr.files.lock import locked as locked
    from ltr.files.lock import put_back as put_back
    from ltr.files.npz import read_arrays as read_arrays
    from ltr.files.npz import write_arrays as write_arrays
    from ltr.files.reading import ContentDigest as ContentDigest
    from ltr.files.reading import TextFile as TextFile
    from ltr.files.reading import read_bytes as read_bytes
    from ltr.files.reading import read_lines as read_lines
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
