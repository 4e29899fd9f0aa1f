"""Named arrays in one .npz file: plain numbers only, every size checked before memory is taken for it."""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ltr.errors import FileError
from ltr.files.reading import AnyPath, regular_file, shown
from ltr.files.writing import atomic_file

Array = npt.NDArray[Any]

LARGEST_HEADER = 1 << 12
DAMAGES = (
    zipfile.BadZipFile,
    ValueError,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    KeyError,
    OverflowError,
)


def write_arrays(path: AnyPath, arrays: Mapping[str, Array]) -> None:
    """The arrays under their names, uncompressed, whole or not at all; the same arrays give the same bytes."""
    with atomic_file(path) as sink, zipfile.ZipFile(sink, "w") as package:
        for name, array in arrays.items():
            with package.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


def read_arrays(path: AnyPath, *, limit: int) -> dict[str, Array]:
    """The arrays of a file, of at most `limit` bytes together. Anything but plain numbers is refused."""
    with regular_file(path) as file:
        try:
            with zipfile.ZipFile(file) as package:
                return dict(_arrays(package, limit))
        except DAMAGES as error:
            raise FileError(shown(path), f"not a readable file of arrays: {error}") from error


def _arrays(package: zipfile.ZipFile, limit: int) -> Iterator[tuple[str, Array]]:
    left = limit
    for info in package.infolist():
        name, suffix = info.filename[:-4], info.filename[-4:]
        if suffix != ".npy":
            raise ValueError(f"{info.filename!r} is not an array")
        with package.open(info) as member:
            shape, dtype = _header(member)
            size = dtype.itemsize * int(np.prod(shape, dtype=object))
            left -= size
            if left < 0 or size > info.file_size:
                raise ValueError(f"{name!r} takes {size} bytes; at most {min(left + size, info.file_size)} are allowed")
            content = member.read(size)
            if len(content) != size or member.read(1):  # reading on to the end checks the CRC
                raise ValueError(f"{name!r} is not of the size it claims")
        yield name, np.frombuffer(content, dtype=dtype).reshape(shape)


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], "np.dtype[Any]"]:
    version = np.lib.format.read_magic(member)
    if version != (1, 0):
        raise ValueError(f"array format {version} is not (1, 0)")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(member, max_header_size=LARGEST_HEADER)
    if is_fortran or dtype.kind not in "fiub" or dtype.hasobject:
        raise ValueError(f"{dtype} numbers in {'Fortran' if is_fortran else 'C'} order are not plain numbers")
    return shape, dtype


def packed(texts: Sequence[str]) -> tuple[Array, Array]:
    """Texts as UTF-8 bytes one after the other, and where each ends.

    >>> content, ends = packed(["ab", "", "c"])
    >>> content.tobytes(), ends.tolist()
    (b'abc', [2, 2, 3])
    """
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def unpacked(content: Array, ends: Array) -> tuple[str, ...]:
    """The texts that were packed; a ValueError when the two do not fit.

    >>> unpacked(*packed(["ab", "", "c"]))
    ('ab', '', 'c')
    """
    whole, starts = content.tobytes(), [0, *ends.tolist()]
    if starts[-1] != len(whole) or any(first > last for first, last in zip(starts, starts[1:], strict=False)):
        raise ValueError("texts and their ends do not fit")
    return tuple(whole[first:last].decode() for first, last in zip(starts, starts[1:], strict=False))
