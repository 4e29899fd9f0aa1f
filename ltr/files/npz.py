"""Named arrays in one .npz file: plain numbers only, every size checked before memory is allocated."""

import math
import os
import re
import struct
import zipfile
from collections.abc import Collection, Iterator, Mapping
from typing import IO, Any

import numpy as np

from ltr.arrays import Array
from ltr.errors import FileError
from ltr.files.reading import regular_file
from ltr.paths import AnyPath, shown

MAGIC = b"\x93NUMPY\x01\x00"
LONGEST_HEADER = 1 << 12
HEADER = re.compile(  # what numpy writes for plain numbers in C order, and nothing that has to be evaluated
    rb"\{'descr': '([<>|][fiub][0-9]{1,2})', 'fortran_order': False, "
    rb"'shape': \(((?:[0-9]{1,18}, ?)*[0-9]{0,18})\), \} *\n"
)
DAMAGES = (
    zipfile.BadZipFile,
    ValueError,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    KeyError,
    IndexError,
    TypeError,
    OverflowError,
    struct.error,
)


def write_arrays(path: AnyPath, arrays: Mapping[str, Array]) -> None:
    """Write the arrays under their names, uncompressed, complete or not at all; equal arrays give equal bytes."""
    from ltr.files.atomic import atomic_file  # who only reads does not need it

    with atomic_file(path) as sink, zipfile.ZipFile(sink, "w") as package:
        for name, array in arrays.items():
            with package.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)


def read_arrays(path: AnyPath, *, limit: int, names: Collection[str] | None = None) -> dict[str, Array]:
    """Return the arrays of a file, of at most `limit` bytes together; only those of these `names`, if any are given.

    Anything but plain numbers is refused. No array may be larger than the file, so a false size in a header
    allocates no memory.
    """
    with regular_file(path) as file:
        try:
            size = file.seek(0, os.SEEK_END)
            with zipfile.ZipFile(file) as package:
                return dict(_arrays(package, min(limit, size), names))
        except DAMAGES as error:
            raise FileError(shown(path), f"not a readable file of arrays: {error}") from error


def _arrays(package: zipfile.ZipFile, limit: int, wanted: Collection[str] | None) -> Iterator[tuple[str, Array]]:
    left, names = limit, [info.filename for info in package.infolist()]
    if len(set(names)) < len(names):
        raise ValueError("two arrays have one name")
    for info in package.infolist():
        name, suffix = info.filename[:-4], info.filename[-4:]
        if wanted is not None and name not in wanted:
            continue
        if suffix != ".npy" or info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{info.filename!r} is not an array that is stored as it is")
        with package.open(info) as member:
            shape, dtype = _header(member)
            size = dtype.itemsize * math.prod(shape)
            if size > min(left, info.file_size):
                raise ValueError(f"{name!r} takes {size} bytes; at most {min(left, info.file_size)} are allowed")
            left -= size
            content = member.read(size)
            if len(content) != size or member.read(1):  # reading on to the end checks the CRC
                raise ValueError(f"{name!r} is not of the size it claims")
        yield name, np.frombuffer(content, dtype=dtype).reshape(shape)


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], "np.dtype[Any]"]:
    start = member.read(len(MAGIC) + 2)
    length = int.from_bytes(start[-2:], "little")
    if not start.startswith(MAGIC) or length > LONGEST_HEADER:
        raise ValueError("an array does not begin as one")
    header = HEADER.fullmatch(member.read(length))
    if header is None:
        raise ValueError("an array is not of plain numbers in C order")
    return tuple(int(size) for size in header[2].split(b",") if size.strip()), np.dtype(header[1].decode())
