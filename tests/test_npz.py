import io
import random
import struct
import zipfile

import numpy as np
import pytest

from ltr.errors import FileError
from ltr.files import read_arrays, write_arrays

LIMIT = 1 << 20
ARRAYS = {
    "phi": np.arange(12.0).reshape(4, 3),
    "codes": np.array([3, 1, 2]),
    "text": np.frombuffer(b"abc", dtype=np.uint8),
    "empty": np.empty((0, 3)),
    "one": np.array(2.5),
    "is_right": np.array([True, False]),
}


def member(name="a.npy", array=(0.0, 0.0, 0.0), header=None, **how):
    """One entry of a zip file: an array, its header replaced."""
    content = io.BytesIO()
    np.lib.format.write_array(content, np.asarray(array), allow_pickle=True)
    whole = content.getvalue()
    if header is not None:
        whole = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + whole[128:]
    info = zipfile.ZipInfo(name)
    info.compress_type = how.get("compress_type", zipfile.ZIP_STORED)
    return info, whole


def package(path, *members):
    with zipfile.ZipFile(path, "w") as zipped:
        for info, content in members:
            zipped.writestr(info, content)
    return path


def test_arrays_come_back_bit_by_bit(tmp_path):
    write_arrays(tmp_path / "a.npz", ARRAYS)
    found = read_arrays(tmp_path / "a.npz", limit=LIMIT)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert (found[name].dtype, found[name].shape, found[name].tobytes()) == (
            array.dtype,
            array.shape,
            array.tobytes(),
        )


def test_numpy_reads_the_file_too(tmp_path):
    write_arrays(tmp_path / "a.npz", ARRAYS)
    with np.load(tmp_path / "a.npz") as found:
        assert np.array_equal(found["phi"], ARRAYS["phi"])


def test_the_same_arrays_give_the_same_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        write_arrays(tmp_path / name, ARRAYS)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


HUGE = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }\n"
REFUSED = {
    "objects": [member(array=np.array([{"a": 1}], dtype=object))],
    "texts": [member(array=np.array(["a"]))],
    "records": [member(array=np.zeros(2, dtype=[("a", "f8")]))],
    "Fortran order": [member(array=np.asfortranarray(np.zeros((2, 3))))],
    "complex numbers": [member(array=np.zeros(2, dtype=complex))],
    "a size beyond the file": [member(header=HUGE)],
    "a size that overflows": [member(header=HUGE.replace(b"(1000000000000,)", b"(999999999999, 999999999999)"))],
    "a size below none": [member(header=HUGE.replace(b"(1000000000000,)", b"(-3,)"))],
    "less than claimed": [member(header=HUGE.replace(b"1000000000000", b"4"))],
    "more than claimed": [member(header=HUGE.replace(b"1000000000000", b"2"))],
    "code in the header": [
        member(header=b"{'descr': __import__('os').getcwd(), 'fortran_order': False, 'shape': ()}\n")
    ],
    "deep brackets in the header": [member(header=b"(" * 3000)],
    "no header": [(zipfile.ZipInfo("a.npy"), b"")],
    "compressed": [member(array=np.zeros(100_000), compress_type=zipfile.ZIP_DEFLATED)],
    "another member": [(zipfile.ZipInfo("readme.txt"), b"x")],
    "one name twice": [member(), member()],
    "an unknown number": [member(header=HUGE.replace(b"<f8", b"<f3"))],
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("members", REFUSED.values(), ids=REFUSED.keys())
def test_anything_but_plain_numbers_of_their_size_is_refused(tmp_path, members):
    with pytest.raises(FileError, match="a.npz: not a readable file of arrays"):
        read_arrays(package(tmp_path / "a.npz", *members), limit=LIMIT)


def test_arrays_beyond_the_limit_are_refused(tmp_path):
    write_arrays(tmp_path / "a.npz", {"a": np.zeros(100), "b": np.zeros(100)})
    assert len(read_arrays(tmp_path / "a.npz", limit=1600)) == 2
    with pytest.raises(FileError, match="'b' takes 800 bytes; at most 799 are allowed"):
        read_arrays(tmp_path / "a.npz", limit=1599)


def test_many_members_that_share_their_bytes_take_no_more_memory_than_the_file(tmp_path):
    write_arrays(tmp_path / "a.npz", {f"a{n}": np.zeros(1000) for n in range(9)})
    content = (tmp_path / "a.npz").read_bytes()
    directory = content.index(b"PK\x01\x02")
    entries = [b"PK\x01\x02" + part for part in content[directory:].split(b"PK\x01\x02")[1:]]
    at_first = b"".join(entry[:42] + bytes(4) + entry[46:] for entry in entries)
    (tmp_path / "b.npz").write_bytes(content[:9000] + at_first)
    with pytest.raises(FileError):
        read_arrays(tmp_path / "b.npz", limit=LIMIT)


def test_a_damaged_file_is_refused_or_read_as_it_was(tmp_path):
    generator, path = random.Random(1), tmp_path / "a.npz"
    write_arrays(path, ARRAYS)
    whole = path.read_bytes()
    read = 0
    for _ in range(1000):
        damaged = bytearray(whole)
        for _ in range(generator.randrange(1, 4)):
            damaged[generator.randrange(len(whole))] ^= 1 << generator.randrange(8)
        path.write_bytes(damaged if generator.random() < 0.7 else whole[: generator.randrange(len(whole))])
        try:
            found = read_arrays(path, limit=LIMIT)
        except FileError:
            continue
        read += 1  # a bit of a time stamp, or of an attribute nobody reads
        for name, array in found.items():
            assert name not in ARRAYS or array.tobytes() == ARRAYS[name].tobytes()
    assert read < 500


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"\x80\x04cos\nsystem\n(S'x'\ntR.", b"{}", b"\x93NUMPY\x01\x00"]
)
def test_what_is_no_package_of_arrays_is_refused(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FileError, match="not a readable file of arrays"):
        read_arrays(tmp_path / "a.npz", limit=LIMIT)
