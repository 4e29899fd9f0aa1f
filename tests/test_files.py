"""files: what is read is whole or refused, what is written is whole or absent, and names stay inside."""

import ast
import errno
import gzip
import io
import os
import random
import re
import stat
import sys
import zlib
from pathlib import Path

import msgspec
import numpy as np
import pytest

import ltr
from ltr.disk import make_directory, remove
from ltr.errors import DataError, DiskError, FileError, SampleError, UsageError
from ltr.files import ContentDigest, atomic_file, read_bytes, read_lines, write_file, write_lines
from ltr.files.atomic import Sink
from ltr.files.reading import LARGEST_LINE
from ltr.jsonl import encode_lines
from ltr.paths import expand, path_inside, safe_name
from tests.faults import lists_open_files, open_files
from tests.parsed import nodes

LINES = [b'{"a": %d}' % n for n in range(1000)]
FORMATS = ["jsonl", "jsonl.gz", "jsonl.zst"]


def message(error: pytest.ExceptionInfo[Exception], folder: Path) -> str:
    return str(error.value).replace(f"{folder}{os.sep}", "")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def refused(path: Path) -> str:
    with pytest.raises(DataError) as error:
        list(read_lines(path))
    return message(error, path.parent)


@pytest.mark.parametrize("extension", FORMATS)
def test_lines_written_are_the_lines_read(tmp_path, extension):
    path = tmp_path / f"samples.{extension}"
    write_lines(path, LINES)
    assert list(read_lines(path)) == list(enumerate(LINES, start=1))


@pytest.mark.parametrize("extension", FORMATS)
def test_the_same_lines_give_the_same_bytes_whatever_the_name_and_time(tmp_path, extension, monkeypatch):
    write_lines(tmp_path / f"a.{extension}", LINES)
    monkeypatch.setattr("time.time", lambda: 0.0)
    write_lines(tmp_path / f"b.{extension}", LINES)
    assert (tmp_path / f"a.{extension}").read_bytes() == (tmp_path / f"b.{extension}").read_bytes()


@pytest.mark.parametrize("extension", FORMATS)
def test_the_digest_is_of_the_content_and_not_of_its_packing(tmp_path, extension):
    path = tmp_path / f"samples.{extension}"
    write_lines(path, LINES)
    plain = tmp_path / "plain"
    plain.write_bytes(b"".join(line + b"\n" for line in LINES))
    seen = ContentDigest()
    list(read_lines(path, digest=seen))
    assert (seen.byte_count, seen.sha256) == (plain.stat().st_size, ContentDigest.of(plain).sha256)
    assert ContentDigest.of(path).sha256 == ContentDigest.of(plain).sha256


@pytest.mark.parametrize(
    "content, lines",
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"a\r\nb\r", [b"a", b"b"]),
        (b"\xef\xbb\xbfa\n", [b"a"]),
        ("a\u2028b\u2029\x85\x0b\n".encode(), ["a\u2028b\u2029\x85\x0b".encode()]),
    ],
)
def test_a_line_ends_at_lf_or_crlf_and_a_byte_order_mark_is_dropped(tmp_path, content, lines):
    path = tmp_path / "samples.jsonl"
    path.write_bytes(content)
    assert [line for _, line in read_lines(path)] == lines


@pytest.mark.parametrize("cut", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_line_ends_at_the_edge_of_a_block_are_line_ends(tmp_path, cut):
    path = tmp_path / "samples.jsonl"
    path.write_bytes(b"a" * (cut - 1) + b"\r\n" + b"b" * (3 << 20) + b"\nc")
    assert [line for _, line in read_lines(path)] == [b"a" * (cut - 1), b"b" * (3 << 20), b"c"]


def test_stdin_is_read_for_a_dash(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\n")))
    assert list(read_lines("-")) == [(1, b"a"), (2, b"b")]


TOO_LONG = "the line is longer than 64 MiB; set LTR_LARGEST_LINE=128 to read up to 128 MiB"


def test_the_limit_of_a_line_is_raised_by_the_environment(tmp_path, monkeypatch):
    path = tmp_path / "samples.jsonl"
    path.write_bytes(b"x" * (3 << 20))
    monkeypatch.setenv("LTR_LARGEST_LINE", "2")
    assert "longer than 2 MiB; set LTR_LARGEST_LINE=4 " in refused(path)
    monkeypatch.setenv("LTR_LARGEST_LINE", "4")
    assert [len(line) for _, line in read_lines(path)] == [3 << 20]
    for wrong in ("0", "-1", "1e3", "much", "", "9" * 30):
        monkeypatch.setenv("LTR_LARGEST_LINE", wrong)
        with pytest.raises(UsageError, match="a whole number of MiB is needed"):
            list(read_lines(path))


def test_a_line_beyond_the_limit_is_refused_without_being_held(tmp_path):
    import resource

    path = tmp_path / "samples.jsonl.zst"
    path.write_bytes(packed_zeros(b"short\n", 1 << 28))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert refused(path) == f"samples.jsonl.zst:2: {TOO_LONG}"
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 3 * LARGEST_LINE * 1024


def packed_zeros(start: bytes, count: int) -> bytes:
    """A zstd frame that unpacks to the start and that many zeros."""
    from ltr.files.reading import zstd_module

    packer = zstd_module().ZstdCompressor()
    blocks = [start, *([bytes(1 << 20)] * (count >> 20))]
    return b"".join([*map(packer.compress, blocks), packer.flush()])


@pytest.mark.parametrize(
    "name, content, problem",
    [
        ("a.jsonl", "a".encode("utf-16"), "UTF-16 text; UTF-8 is needed"),
        ("a.jsonl", "a".encode("utf-16-be"), "UTF-16, UTF-32 or binary data; UTF-8 text is needed"),
        ("a.jsonl", gzip.compress(b"a", mtime=0), "gzip data; a name that ends in .gz is needed"),
        (
            "a.jsonl",
            b"PK\x03\x04",
            "a zip archive, or a workbook; hand over the files in it, or save the workbook as CSV",
        ),
        ("a.jsonl", b"PAR1\x15", "Parquet data; save it as CSV, or hand over the data frame in Python"),
        ("a.jsonl", b"\x28\xb5\x2f\xfd", "zstd data; a name that ends in .zst is needed"),
        (
            "a.jsonl.gz",
            b"{}",
            "compressed data damaged near the beginning, or not what the name says (Not a gzipped file (b'{}'))",
        ),
    ],
)
def test_content_that_is_not_what_the_name_says_is_refused(tmp_path, name, content, problem):
    path = tmp_path / name
    path.write_bytes(content)
    assert refused(path) == f"{name}: {problem}"


def test_what_is_not_a_readable_regular_file_says_so(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    assert refused(tmp_path / "absent.jsonl") == "absent.jsonl: no such file or directory"
    assert refused(tmp_path / "fifo") == "fifo: not a regular file; name one, or pipe it in and read -"
    assert refused(tmp_path / "a\0b") == "a\0b: embedded null byte"
    (tmp_path / "folder").mkdir()
    assert refused(tmp_path / "folder") == "folder: a directory; a file is needed"
    with pytest.raises(FileError, match=re.escape("/dev/null: not a regular file; name one, or pipe")):
        list(read_lines("/dev/null"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_says_so(tmp_path):
    path = tmp_path / "a.jsonl"
    path.touch(mode=0o000)
    assert refused(path) == "a.jsonl: permission denied"


@pytest.mark.parametrize("extension", ["gz", "zst"])
def test_a_truncated_compressed_file_is_refused_wherever_it_is_cut(tmp_path, extension):
    path = tmp_path / f"a.{extension}"
    write_lines(path, [random.Random(n).randbytes(2000).hex().encode() for n in range(400)])  # more than a block
    whole = path.read_bytes()
    cuts = [1, 2, 5, 10, *range(20, len(whole), len(whole) // 30), len(whole) - 4, len(whole) - 1]
    for cut in cuts:
        path.write_bytes(whole[:cut])
        assert refused(path).startswith(f"a.{extension}: compressed data damaged ")


@pytest.mark.parametrize("extension", ["gz", "zst"])
def test_a_flipped_bit_in_a_compressed_file_never_changes_a_line(tmp_path, extension):
    path = tmp_path / f"a.{extension}"
    write_lines(path, LINES)
    whole, generator = bytearray(path.read_bytes()), random.Random(0)
    for _ in range(200):
        flipped = bytearray(whole)
        flipped[generator.randrange(len(whole))] ^= 1 << generator.randrange(8)
        path.write_bytes(flipped)
        try:
            assert [line for _, line in read_lines(path)] == LINES
        except FileError as error:
            assert "compressed data damaged" in str(error)  # noqa: PT017


def test_read_bytes_is_the_content_up_to_a_limit(tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(b"12345")
    assert read_bytes(path, limit=5) == b"12345"
    with pytest.raises(FileError, match=r"model.json: larger than 4 bytes"):
        read_bytes(path, limit=4)


def test_globs_are_sorted_regular_files_and_names_stay_as_given(tmp_path):
    for name in ("b.jsonl", "a.jsonl", "x[1].jsonl"):
        (tmp_path / name).touch()
    (tmp_path / "c.jsonl").mkdir()
    assert expand([tmp_path / "[abc].jsonl", "-"]) == [f"{tmp_path}/a.jsonl", f"{tmp_path}/b.jsonl", "-"]
    assert expand(tmp_path / "x[1].jsonl") == [f"{tmp_path}/x[1].jsonl"]


def test_a_glob_without_a_match_and_a_second_stdin_are_errors(tmp_path):
    with pytest.raises(FileError, match=r"\*.jsonl: no regular file matches"):
        expand([tmp_path / "*.jsonl"])
    with pytest.raises(UsageError, match=r"- \(stdin\) can be read once only"):
        expand(["-", "-"])


def test_written_content_replaces_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    write_file(path, "old")
    write_file(path, b"neu\n")
    assert path.read_text() == "neu\n"
    assert names_in(tmp_path) == ["a.txt"]


def test_the_content_is_durable_before_the_rename_and_the_name_after_it(tmp_path, monkeypatch):
    calls, sync, rename = [], os.fsync, os.replace

    def synced(descriptor):
        calls.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def renamed(source, target):
        calls.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    write_file(tmp_path / "x", b"content")
    assert calls == ["file", "rename", "directory"]


@lists_open_files
def test_neither_a_write_nor_one_that_fails_leaves_a_file_open(tmp_path):
    before = open_files()
    write_file(tmp_path / "x", b"content")
    with pytest.raises(KeyError), atomic_file(tmp_path / "x"):
        raise KeyError
    assert open_files() == before


@pytest.mark.parametrize("descriptor", [0, 1])
def test_the_first_descriptors_of_a_process_are_closed_once_as_any_other(tmp_path, monkeypatch, descriptor):
    closed = []
    monkeypatch.setattr(os, "open", lambda *_: descriptor)  # as in a process that was started without stdin
    monkeypatch.setattr(os, "close", closed.append)
    sink = Sink(tmp_path / "x", tmp_path / "y")
    sink.discard()
    sink.discard()
    assert closed == [descriptor]


def test_a_file_is_removed_if_it_is_there_and_what_cannot_be_removed_is_named(tmp_path):
    write_file(tmp_path / "x", b"content")
    remove(tmp_path / "x")
    assert names_in(tmp_path) == []
    remove(tmp_path / "x")
    with pytest.raises(DiskError, match=re.escape(str(tmp_path))):
        remove(tmp_path)


def test_a_new_file_may_be_what_the_user_lets_files_be(tmp_path):
    before = os.umask(0)
    try:
        with atomic_file(tmp_path / "x") as sink:
            assert sink.writable()
            sink.write(b"content")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o666


def test_numpy_can_save_into_an_atomic_file(tmp_path):
    with atomic_file(tmp_path / "a.npz") as sink:
        np.savez(sink, w=np.arange(3))
    assert np.load(tmp_path / "a.npz")["w"].tolist() == [0, 1, 2]


def test_a_failure_inside_the_block_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    write_file(path, "old")
    with pytest.raises(KeyboardInterrupt), atomic_file(path) as sink:  # noqa: PT012
        sink.write(b"half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["a.txt"]


CALLS = ["open", "write", "fsync", "close", "replace"]


class FailingDisk:
    """The operating system's calls, of which the n-th fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fail_at: int, code: int) -> None:
        self.calls, self.fail_at, self.code = 0, fail_at, code
        for name in CALLS:
            monkeypatch.setattr(os, name, self.counted(getattr(os, name)))

    def counted(self, call):
        def counting(*args, **kwargs):
            self.calls += 1
            if self.calls == self.fail_at:
                raise OSError(self.code, os.strerror(self.code))
            return call(*args, **kwargs)

        return counting


@pytest.mark.parametrize(
    "extension, code",
    [
        *((extension, code) for extension in FORMATS for code in (errno.ENOSPC, errno.EIO)),
        *(("jsonl", code) for code in (errno.EROFS, errno.EACCES, errno.EDQUOT)),
    ],
)
def test_whichever_call_fails_the_file_is_the_old_or_the_new_one_and_nothing_is_left(tmp_path, extension, code):
    path = tmp_path / f"a.{extension}"
    old, new = LINES[:5], random_lines(1100)
    if extension.endswith("zst"):  # which would write lines that cannot be packed in more pieces
        new = [line.hex().encode() for line in new]
    write_lines(path, new)
    new_bytes = path.read_bytes()
    for fail_at in range(1, 100):
        write_lines(path, old)
        old_bytes = path.read_bytes()
        with pytest.MonkeyPatch.context() as patch:
            disk = FailingDisk(patch, fail_at, code)
            try:
                write_lines(path, new)
            except DiskError as error:
                failure = str(error)
        assert names_in(tmp_path) == [path.name]
        if disk.calls < fail_at:
            break
        assert failure == f"{path}: {os.strerror(code)[0].lower()}{os.strerror(code)[1:]}"
        # the directory's fsync comes after the rename: the new file is whole by then
        assert path.read_bytes() == (new_bytes if fail_at > disk_calls_until_rename(extension) else old_bytes)
    assert path.read_bytes() == new_bytes


def random_lines(count):
    """Lines of a thousand bytes that no packing makes shorter."""
    draw = random.Random(0)
    return [draw.randbytes(1000).replace(b"\n", b" ") for _ in range(count)]


def disk_calls_until_rename(extension: str) -> int:
    writes = {"jsonl": 2, "jsonl.gz": 3, "jsonl.zst": 3}[extension]
    return 1 + writes + 3


def test_a_short_write_is_carried_on(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: real(descriptor, content[:7]))
    write_file(tmp_path / "a", b"0123456789" * 10)
    assert (tmp_path / "a").read_bytes() == b"0123456789" * 10


@pytest.mark.parametrize(
    "path, problem",
    [
        ("/dev/null", "not a regular file; it cannot be replaced"),
        ("{}", "a directory; it cannot be replaced"),
        ("{}/absent/a.txt", "no such file or directory"),
        ("{}/a\0b", "embedded null byte"),
    ],
)
def test_a_place_that_cannot_be_written_is_a_disk_error_that_names_it(tmp_path, path, problem):
    path = path.format(tmp_path)
    with pytest.raises(DiskError) as error:
        write_file(path, "x")
    assert str(error.value) == f"{path}: {problem}"


def test_a_directory_is_made_with_its_parents_or_the_reason_is_given(tmp_path):
    assert make_directory(tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(DiskError, match=r"file: file exists"):
        make_directory(tmp_path / "file")


def test_structs_are_encoded_as_json_lines():
    row = msgspec.defstruct("Row", [("query", str), ("rank", int | None)])
    assert list(encode_lines([row("天气\u2028", 1), row("b", None)])) == [
        '{"query":"天气\u2028","rank":1}'.encode(),
        b'{"query":"b","rank":null}',
    ]


HOSTILE = [
    "", ".", "..", "...", "../x", "/etc/passwd", "a/b", "a\\b", "C:\\x", "\0", "a\0b", "con", "nul.txt",
    "lpt9.tar.gz", ".hidden", "-", "--help", "a" * 81, "a" * 5000, "名前", "e\u0301", "\u202egnp.exe", "a:b",
    "%2e%2e%2f", "~", "$HOME", "`id`", "\n", "a\nb", "trailing.", "trailing ", "\ud800", "a\u200bb", "run#1",
]  # fmt: skip


def test_any_name_becomes_a_safe_one_that_stays_inside_and_apart(tmp_path):
    names = [safe_name(name) for name in HOSTILE]
    for name, path in zip(names, (path_inside(tmp_path, name) for name in HOSTILE), strict=True):
        assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,79}", name)
        assert path.parent == tmp_path
        assert safe_name(name) == name
    assert len({name.lower() for name in names}) == len(HOSTILE)


def test_a_safe_name_and_both_unicode_forms_of_one_stay_what_they_are():
    assert safe_name("run_2-b.v1") == "run_2-b.v1"
    assert safe_name("\u00e9") == safe_name("e\u0301")


def test_a_symbolic_link_that_leads_out_is_refused(tmp_path):
    root = tmp_path / "runs"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="leads out of"):
        path_inside(root, "link")


def test_damaged_gzip_kinds_all_give_one_error(tmp_path):
    packed = gzip.compress(b"a\n" * 1000, mtime=0)
    crc = packed[:-8] + bytes(4) + packed[-4:]
    for content in (packed[:-1], packed + b"junk", crc, packed[:15] + b"\xff" + packed[16:]):
        path = tmp_path / "a.gz"
        path.write_bytes(content)
        assert "compressed data damaged" in refused(path)
    with pytest.raises(zlib.error):
        zlib.decompress(b"junk")


OPENERS = {
    "open",
    "read_text",
    "write_text",
    "write_bytes",
    "fdopen",
    "popen",
    "fromfile",
    "tofile",
    "memmap",
}


def opening_calls(source: Path) -> list[str]:
    """Calls that open a file: open(...) itself and methods of that kind."""
    found = []
    for node in nodes(source):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
            is_ours = isinstance(node.func, ast.Name) and name != "open"
            found += [f"{source.name}:{node.lineno}: {name}"] if name in OPENERS and not is_ours else []
    return found


def test_nothing_else_in_the_package_opens_files():
    package = Path(ltr.__file__).parent
    allowed = {package / name for name in ("disk.py", "journal.py", "lazy.py", "streams.py", "temporary.py")}
    sources = [path for path in package.rglob("*.py") if path.parent.name != "files" and path not in allowed]
    assert sum(map(opening_calls, sources), []) == []  # noqa: RUF017
    assert opening_calls(package / "files" / "reading.py") != []


def test_errors_survive_a_trip_between_processes():
    import pickle

    for error in (SampleError("a", 1, "b", "c"), FileError("a", "b"), DiskError("a", "b")):
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
