"""The only place that opens files: lines in, whole files out, names that are safe to become paths."""

from ltr.files.naming import inside, safe_name
from ltr.files.reading import (
    BYTE_ORDER_MARK,
    LARGEST_LINE,
    STDIN,
    AnyPath,
    Fingerprint,
    digest,
    expand,
    read_blocks,
    read_bytes,
    read_lines,
    shown,
)
from ltr.files.writing import (
    Sink,
    abandon,
    atomic_file,
    encode_lines,
    make_directory,
    remove,
    write_bytes,
    write_lines,
    write_text,
)

__all__ = [
    "BYTE_ORDER_MARK",
    "LARGEST_LINE",
    "STDIN",
    "AnyPath",
    "Fingerprint",
    "Sink",
    "abandon",
    "atomic_file",
    "digest",
    "encode_lines",
    "expand",
    "inside",
    "make_directory",
    "read_blocks",
    "read_bytes",
    "read_lines",
    "remove",
    "safe_name",
    "shown",
    "write_bytes",
    "write_lines",
    "write_text",
]
