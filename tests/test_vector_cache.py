"""The cache of vectors: whole or not used, shared by processes, never a reason to fail or to answer otherwise."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from ltr.cli import app
from ltr.encoders import VectorCache
from ltr.encoders.disk import FILE, cache_key
from ltr.errors import LtrWarning
from ltr.paths import cache_directory
from tests.builders import run_app
from tests.made import process, tool_rows, written

ROOT = Path(__file__).parent.parent


def vectors(count=3, seed=0):
    rng = np.random.default_rng(seed)
    return {cache_key(["fake"], f"text {n}"): rng.normal(size=8).astype(np.float32) for n in range(count)}


def same(left, right):
    return left.keys() == right.keys() and all(left[key].tobytes() == right[key].tobytes() for key in left)


def damaged(path):
    """Files that were set aside."""
    return [file.name for file in path.parent.glob("*.damaged-*")]


def test_what_was_put_is_got_bit_for_bit(tmp_path):
    VectorCache(tmp_path).put(vectors())
    assert same(VectorCache(tmp_path).get(list(vectors())), vectors())


def test_unknown_keys_are_left_out(tmp_path):
    cache = VectorCache(tmp_path)
    assert cache.get([]) == cache.get([b"x" * 16]) == {}


def test_thousands_of_keys_are_read_in_groups(tmp_path):
    many = vectors(2500)
    cache = VectorCache(tmp_path)
    cache.put(many)
    assert same(cache.get(list(many)), many)


@pytest.mark.parametrize("place", range(5))
def test_every_part_of_an_identity_and_the_text_make_another_key(place):
    parts = ["minilm", "revision", "sentence-transformers 6", "query", "prompt: "]
    others = [*parts[:place], "other", *parts[place + 1 :]]
    assert len({cache_key(parts, "text"), cache_key(others, "text"), cache_key(parts, "other")}) == 3


def test_parts_do_not_flow_into_each_other():
    assert (
        len({cache_key(["ab", ""], "c"), cache_key(["a", "b"], "c"), cache_key(["ab"], "c"), cache_key(["a"], "bc")})
        == 4
    )


def test_a_damaged_row_is_as_good_as_absent(tmp_path):
    VectorCache(tmp_path).put(vectors(200))
    keys = list(vectors(200))
    with sqlite3.connect(tmp_path / FILE) as held:
        for number, key in enumerate(keys):
            value = bytearray(held.execute("SELECT value FROM vectors WHERE key = ?", [key]).fetchone()[0])
            value[number % len(value)] ^= 1
            held.execute("UPDATE vectors SET value = ? WHERE key = ?", [bytes(value), key])
    held.close()
    assert VectorCache(tmp_path).get(keys) == {}


@pytest.mark.parametrize("value", [b"", b"short", None, 7, "text"])
def test_a_row_of_another_kind_is_as_good_as_absent(tmp_path, value):
    VectorCache(tmp_path).put(vectors(1))
    with sqlite3.connect(tmp_path / FILE) as held:
        held.execute("UPDATE vectors SET value = ?", [value])
    held.close()
    assert VectorCache(tmp_path).get(list(vectors(1))) == {}


@pytest.mark.parametrize("numbers", [b"12345", np.array([1.0, np.nan], dtype="<f4").tobytes()])
def test_a_sealed_row_that_holds_no_finite_numbers_is_as_good_as_absent(tmp_path, numbers):
    VectorCache(tmp_path).put(vectors(1))
    (key,) = vectors(1)
    seal = hashlib.blake2b(key + numbers, digest_size=16).digest()
    with sqlite3.connect(tmp_path / FILE) as held:
        held.execute("UPDATE vectors SET value = ?", [seal + numbers])
    held.close()
    assert VectorCache(tmp_path).get([key]) == {}


def test_a_user_without_a_home_has_no_cache_and_goes_on(monkeypatch):
    for name in ("HOME", "LTR_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pathlib.Path.home", no_home)
    cache = VectorCache(cache_directory())
    assert cache.info().vectors == 0
    with pytest.warns(LtrWarning, match="going on without the cache of vectors"):
        cache.put(vectors(1))


def no_home():
    raise RuntimeError("Could not determine home directory.")


def test_a_vector_under_the_key_of_another_is_not_used(tmp_path):
    VectorCache(tmp_path).put(vectors(2))
    first, second = vectors(2)
    with sqlite3.connect(tmp_path / FILE) as held:
        held.execute("UPDATE vectors SET value = (SELECT value FROM vectors WHERE key = ?)", [first])
    held.close()
    assert list(VectorCache(tmp_path).get([first, second])) == [first]


@pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_set_aside_with_a_warning(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    cache = VectorCache(tmp_path)
    with pytest.warns(LtrWarning, match=r"set aside as vectors-2\.sqlite\.damaged-"):
        cache.put(vectors())
    assert same(cache.get(list(vectors())), vectors())
    assert len(damaged(cache.path)) == 1


def test_a_file_cut_short_is_set_aside_or_still_right(tmp_path):
    VectorCache(tmp_path).put(vectors(2000))
    content = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(content[: len(content) // 2])
    cache = VectorCache(tmp_path)
    with pytest.warns(LtrWarning, match="set aside"):
        cache.get(list(vectors(2000)))
    cache.put(vectors())
    assert same(cache.get(list(vectors())), vectors())


def test_where_nothing_can_be_written_one_warning_and_no_cache(tmp_path):
    (tmp_path / "file").write_text("")
    cache = VectorCache(tmp_path / "file" / "below")
    with pytest.warns(LtrWarning, match="going on without the cache of vectors"):
        cache.put(vectors())
    cache.put(vectors())  # a second warning would be an error
    assert cache.get(list(vectors())) == {}


def test_where_the_lock_is_never_free_one_warning_and_no_cache(tmp_path):
    VectorCache(tmp_path).put(vectors())
    holder = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    cache = VectorCache(tmp_path, patience=0.05)
    with pytest.warns(LtrWarning, match=r"database is locked; going on without"):
        cache.put(vectors(5))
    holder.close()
    assert cache.get(list(vectors())) == {}


def test_a_cache_taken_away_in_the_middle_is_made_again(tmp_path):
    cache = VectorCache(tmp_path / "below")
    cache.put(vectors())
    for file in (tmp_path / "below").iterdir():
        file.unlink()
    (tmp_path / "below").rmdir()
    cache.get(list(vectors()))  # what an open file still holds may be found
    cache.put(vectors(5, seed=1))
    fresh = VectorCache(tmp_path / "below")
    fresh.put(vectors(5, seed=1))
    assert same(fresh.get(list(vectors(5))), vectors(5, seed=1))


def test_threads_share_a_cache(tmp_path):
    cache, failed = VectorCache(tmp_path), []

    def work(seed):
        mine = {cache_key(["t"], f"{seed} {n}"): np.full(4, seed, dtype=np.float32) for n in range(50)}
        cache.put(mine)
        failed.extend([seed] if not same(cache.get(list(mine)), mine) else [])

    threads = [threading.Thread(target=work, args=[seed]) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


RACE = """
import sys
import warnings
from pathlib import Path
import numpy as np
from ltr.encoders import VectorCache
from ltr.encoders.disk import cache_key
warnings.simplefilter("error")
wanted = {cache_key(["race"], str(n)): np.full(64, n, dtype=np.float32) for n in range(300)}
for round in range(int(sys.argv[2])):
    cache = VectorCache(Path(sys.argv[1], str(round)))
    found = cache.get(list(wanted))
    assert all((found[key] == wanted[key]).all() for key in found)
    cache.put({key: wanted[key] for key in wanted if key not in found})
    again = cache.get(list(wanted))
    assert all((again[key] == wanted[key]).all() for key in wanted), len(again)
"""


def race(directory, processes, rounds):
    """The complaints of processes that fill the same cold caches at once."""
    command = [sys.executable, "-c", RACE, str(directory), str(rounds)]
    started = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(processes)]
    return [told for each in started if (told := each.communicate()[1]) or each.returncode]


def test_processes_fill_a_cold_cache_together(tmp_path):
    assert race(tmp_path, processes=4, rounds=3) == []


def test_the_directory_is_that_of_the_user_unless_named(monkeypatch):
    monkeypatch.setenv("LTR_CACHE_DIR", "/somewhere")
    assert cache_directory() == Path("/somewhere")
    monkeypatch.delenv("LTR_CACHE_DIR")
    assert cache_directory().is_absolute()
    assert "ltr" in cache_directory().parts


def test_info_and_clear_say_what_is_held(tmp_path):
    cache = VectorCache(tmp_path)
    assert (cache.info().vectors, cache.info().size) == (0, 0)
    cache.put(vectors(7))
    assert cache.info().vectors == 7
    assert cache.info().size > 7 * 8 * 4
    assert cache.clear() > 7 * 8 * 4
    assert list(tmp_path.iterdir()) == []


def test_the_command_shows_and_clears(own_cache):
    VectorCache(own_cache).put(vectors(2))
    assert "vectors\t2" in run_app(app, "cache", "info")
    assert "beyond it the vectors that were stored first go" in run_app(app, "cache", "info", "--format", "human")
    assert '"bytes": ' in run_app(app, "cache", "clear", "--format", "json")
    assert "vectors\t0" in run_app(app, "cache", "info")


def test_beyond_the_limit_the_vectors_that_were_stored_first_go(tmp_path):
    cache = VectorCache(tmp_path, limit=400_000)
    keys = [number.to_bytes(16, "little") for number in range(1_000)]
    for first in range(0, 1_000, 50):
        cache.put({key: np.full(256, 1.0, dtype=np.float32) for key in keys[first : first + 50]})
        assert cache.path.stat().st_size < 520_000  # a batch more, while it is written
    found = cache.get(keys)
    held = [key in found for key in keys]
    assert 0.6 * 400_000 < sum(held) * (16 + 256 * 4) <= 400_000
    assert held == [False] * (1_000 - sum(held)) + [True] * sum(held)
    assert cache.info().limit == 400_000


def test_a_vector_that_is_stored_again_is_young_again(tmp_path):
    cache = VectorCache(tmp_path, limit=200_000)
    first = {b"a" * 16: np.ones(256, dtype=np.float32)}
    cache.put(first)
    for number in range(400):
        cache.put({number.to_bytes(16, "little"): np.ones(256, dtype=np.float32)})
        if number % 20 == 0:
            cache.put(first)
    assert cache.get(list(first))


def test_the_file_of_an_earlier_schema_goes_with_the_first_new_vector(tmp_path):
    earlier = tmp_path / "vectors-1.sqlite"
    earlier.write_bytes(b"old")
    cache = VectorCache(tmp_path)
    cache.put({b"a" * 16: np.ones(4, dtype=np.float32)})
    assert not earlier.exists()
    assert cache.info().limit == 1 << 30


KEPT = """
import numpy as np

import ltr
from ltr.encoders import Dense


@ltr.encoder("kept")
class Kept:
    \"\"\"How often each letter stands in a text, kept in the cache.\"\"\"

    name, revision, state = "kept", "1", {}

    @classmethod
    def is_installed(cls):
        return True

    @classmethod
    def fitted(cls, texts):
        return cls()

    @classmethod
    def restored(cls, state):
        return cls()

    def identity(self, role):
        return ("kept", "1")

    def encode(self, texts, role):
        rows = [[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
        return Dense(np.array(rows, dtype=float).reshape(-1, 26)).unit()
"""
FOREIGN = 4321  # the number of another user


@pytest.fixture(scope="module")
def featurize(tmp_path_factory):
    """A function that computes columns over a cache, the same whatever is there, and returns what was said."""
    home, columns = tmp_path_factory.mktemp("kept"), set()
    (home / "kept.py").write_text(KEPT)
    written(home / "s.jsonl", tool_rows(range(8)))

    def featurized(cache):
        words = ("featurize", "s.jsonl", "-o", "x.npz", "--encoder", "kept", "--code", "kept.py", "-q", "--overwrite")
        done = process(*words, cwd=home, environment={"LTR_CACHE_DIR": str(cache)})
        assert done.returncode == 0, done.stderr
        columns.add((home / "x.npz").read_bytes())
        assert len(columns) == 1
        return done.stderr.decode()

    return featurized


def in_schema(content, old, new):
    """The bytes of a cache with another text in its table of tables."""
    assert old in content
    return content.replace(old, new)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: in_schema(content, b"CREATE TABLE vectors", b"CREATE TABLE v\xffctors"),
        lambda content: in_schema(content, b"tablevectorsvectors", b"tablevectorsvector\xb1"),
        lambda content: content[: len(content) // 2],
        lambda content: b"no database" * len(content),
    ],
    ids=["a statement that is no text", "a name that is no text", "cut in half", "no database"],
)
@pytest.mark.filterwarnings("always")
def test_a_damaged_cache_is_one_warning_and_clear_removes_what_is_left_of_it(cli, own_cache, featurize, damage):
    featurize(own_cache)
    (path,) = own_cache.glob("*.sqlite")
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    told = featurize(own_cache)
    assert (told.count("\n"), "set aside as" in told) == (1, True)
    path.write_bytes(damage(whole))
    cli.good("cache", "info")
    assert (cli.err.count("\n"), "set aside as" in cli.err) == (1, True)
    path.write_bytes(damage(whole))
    assert json.loads(cli.good("cache", "clear", "--format", "json"))["bytes"] > 2 * len(damage(whole))
    assert (cli.err, list(own_cache.iterdir())) == ("", [])


def shared(cache):
    cache.chmod(0o777)
    return cache, "other users can write to it"


def foreign(cache):
    os.chown(cache, FOREIGN, -1)
    return cache, "another user owns it"


def linked(cache):
    link = cache.with_name(f"link to {cache.name}")
    link.symlink_to(foreign(cache)[0])
    return link, "another user owns it"


def linked_file(cache):
    inner = cache / "foreign"
    inner.mkdir()
    (cache / FILE).symlink_to(foreign(inner)[0] / "any.sqlite")
    return cache, "another user owns it"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a directory away")
@pytest.mark.parametrize("made", [shared, foreign, linked, linked_file])
def test_a_cache_that_is_not_the_users_own_is_refused_in_one_line(cli, own_cache, monkeypatch, featurize, made):
    cache, problem = made(own_cache)
    held = sorted(own_cache.rglob("*"))
    told = featurize(cache)
    assert (told.count("\n"), problem in told, "going on without the cache" in told) == (1, True, True)
    monkeypatch.setenv("LTR_CACHE_DIR", str(cache))
    for command in ("info", "clear"):
        code, message = cli.refused("cache", command)
        assert (code, problem in message, "LTR_CACHE_DIR" in message) == (2, True, True)
    assert sorted(own_cache.rglob("*")) == held


def test_a_link_to_a_directory_of_ones_own_is_a_cache_like_any_other(cli, own_cache, monkeypatch, tmp_path, featurize):
    (tmp_path / "link").symlink_to(own_cache)
    assert featurize(tmp_path / "link") == ""
    monkeypatch.setenv("LTR_CACHE_DIR", str(tmp_path / "link"))
    held = json.loads(cli.good("cache", "info", "--format", "json"))
    assert (held["path"], held["vectors"] > 0) == ((own_cache / FILE).as_posix(), True)
    cli.good("cache", "clear")
    assert list(own_cache.iterdir()) == []


def test_a_cache_that_is_made_is_the_users_alone(tmp_path, featurize):
    before = os.umask(0)
    try:
        assert featurize(tmp_path / "new" / "cache") == ""
    finally:
        os.umask(before)
    assert (tmp_path / "new" / "cache").stat().st_mode & 0o777 == 0o700
    assert featurize(tmp_path / "new" / "cache") == ""
