"""replacing: a directory, or files that belong together, are the earlier ones or the new ones, and nothing is left."""

import errno
import os
import re
import signal
from pathlib import Path

import pytest

from ltr import disk
from ltr.disk import make_directory
from ltr.errors import DiskError, FileError, RunError, UsageError
from ltr.files import (
    DirectoryKind,
    directory,
    locked,
    new_directory,
    new_files,
    put_back,
    read_bytes,
    refuse_existing,
    write_file,
)
from ltr.files.directory import refuse_unwritable
from tests.faults import CODES, OPEN_FILES, FaultyDisk, contents, in_fork, lists_open_files, open_files, restore

KIND = DirectoryKind(
    files=("a.json", "b.json"),
    folders={"parts": re.compile(r"\d+\.json")},
    is_one=lambda directory: (directory / "a.json").exists(),
)
EARLIER = {"run": None, "run/a.json": b"earlier", "run/parts": None, "run/parts/1.json": b"earlier"}
LATER = {"run": None, "run/a.json": b"later", "run/b.json": b"later", "run/parts": None, "run/parts/2.json": b"later"}
EARLIER_FILES = {"x.jsonl": b"earlier", "x.npz": b"earlier", "x.json": b"earlier"}
LATER_FILES = {"x.jsonl": b"later", "x.npz": b"later", "x.json": b"later"}
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


def write_directory(home):
    with locked(home), new_directory(home) as new:
        write_file(new / "a.json", b"later")
        write_file(make_directory(new / "parts") / "2.json", b"later")
        write_file(new / "b.json", b"later")


def write_files(main):
    with new_files(main) as new:
        for name in LATER_FILES:
            write_file(new / name, b"later")


def written_files(place):
    """Two files and one in a folder, written together."""
    with new_files(place) as new:
        (new / "inner").mkdir()
        for name in (place.name, "beside", "inner/below"):
            (new / name).write_text("new")


def written_alone(place):
    """A single file."""
    with new_files(place) as new:
        (new / place.name).write_text("new")


def written_directory(place):
    """A directory with a file."""
    with new_directory(place) as new:
        (new / "a").write_text("new")


WRITERS = {  # the writer, what it writes, what may lie there before, what it ends in
    "directory": (write_directory, "run", [{}, {"run": None}, EARLIER], LATER),
    "files": (write_files, "x.jsonl", [{}, EARLIER_FILES, {"x.npz": b"earlier"}], LATER_FILES),
}
cases = pytest.mark.parametrize(
    "write, name, before, after",
    [(write, name, before, after) for write, name, befores, after in WRITERS.values() for before in befores],
)


@cases
def test_what_was_there_is_replaced_as_a_whole(tmp_path, write, name, before, after):
    restore(tmp_path, before)
    write(tmp_path / name)
    assert contents(tmp_path) == after


@cases
def test_whichever_call_fails_what_was_there_stays_and_nothing_else(tmp_path, write, name, before, after):
    for fault_at in range(1, 200):
        restore(tmp_path, before)
        problem = None
        with FaultyDisk(fault_at, CODES[fault_at % len(CODES)]) as disk:
            try:
                write(tmp_path / name)
            except DiskError as error:
                problem = str(error)
        if disk.calls < fault_at:
            break
        assert contents(tmp_path) == (after if problem is None else before), fault_at
        if problem is None:  # it made sure of a directory that was there already
            continue
        assert ".new-" not in problem
        assert problem.startswith(str(tmp_path))
    assert fault_at > 12
    assert contents(tmp_path) == after


@forks
@cases
def test_after_a_kill_at_any_call_the_earlier_or_the_later_is_there_as_soon_as_it_is_opened(
    tmp_path, write, name, before, after
):
    for fault_at in range(1, 200):
        restore(tmp_path, before)

        def killed(fault_at=fault_at):
            with FaultyDisk(fault_at, None):
                write(tmp_path / name)

        if in_fork(killed) != -signal.SIGKILL:
            break
        put_back(tmp_path / name)
        seen = {path: content for path, content in contents(tmp_path).items() if not path.startswith(".")}
        assert seen in (before, after, {"run": None}), fault_at
        write(tmp_path / name)
        assert contents(tmp_path) == after, fault_at
    assert fault_at > 12


@cases
@lists_open_files
def test_no_file_stays_open_and_what_a_killed_process_left_is_gone(tmp_path, write, name, before, after):
    restore(tmp_path, before | {f".{name}.new-1": None, f".{name}.new-1/half": b"written"})
    open_before = open_files()
    write(tmp_path / name)
    assert open_files() == open_before
    assert contents(tmp_path) == after


@lists_open_files
@pytest.mark.parametrize(
    "write, name, expected",
    [
        (written_directory, "run", [".run.new", "run is renamed", "."]),
        (written_files, "x", ["x is renamed", "inner", "."]),
        (written_alone, "x", ["x is renamed", "."]),
    ],
)
def test_names_are_durable_once_they_stand_and_a_directory_before(tmp_path, monkeypatch, write, name, expected):
    events, sync = [], os.fsync

    def synced(descriptor):
        path = (OPEN_FILES / str(descriptor)).readlink()
        events.append(re.sub(r"-\d+$", "", os.path.relpath(path, tmp_path)))
        sync(descriptor)

    def renaming(call):
        def renamed(source, target):
            call(source, target)
            events.extend([f"{name} is renamed"] if Path(target) == tmp_path / name else [])

        return renamed

    for call in ("rename", "replace"):
        monkeypatch.setattr(os, call, renaming(getattr(os, call)))
    monkeypatch.setattr(os, "fsync", synced)
    write(tmp_path / name)
    assert events == expected


@forks
def test_reading_a_file_of_a_directory_puts_it_back_after_a_kill_between_the_two_renames(tmp_path):
    restore(tmp_path, EARLIER)
    (tmp_path / "run").rename(tmp_path / ".run.old")
    assert read_bytes(tmp_path / "run" / "a.json") == b"earlier"
    assert contents(tmp_path) == EARLIER


def test_the_file_put_back_last_is_the_one_that_says_that_the_others_are_there(tmp_path):
    restore(tmp_path, {".x.jsonl.old-files": None, ".x.jsonl.old-files/x.jsonl": b"earlier", "x.npz": b"later"})
    (tmp_path / ".x.jsonl.old-files" / "x.npz").write_bytes(b"earlier")
    assert read_bytes(tmp_path / "x.jsonl") == b"earlier"
    assert contents(tmp_path) == {"x.jsonl": b"earlier", "x.npz": b"earlier"}


def test_what_lies_aside_is_not_put_back_over_what_is_there(tmp_path):
    restore(tmp_path, {".run.old": None, ".run.old/a.json": b"earlier", "run": None, "run/a.json": b"later"})
    put_back(tmp_path / "run")
    assert (tmp_path / "run" / "a.json").read_bytes() == b"later"
    write_directory(tmp_path / "run")
    assert contents(tmp_path) == LATER


def test_a_link_where_the_earlier_directory_would_lie_is_not_followed(tmp_path):
    restore(tmp_path, {"other": None, "other/a.json": b"theirs"})
    (tmp_path / ".run.old").symlink_to(tmp_path / "other")
    with pytest.raises(FileError, match="no such file"):
        read_bytes(tmp_path / "run" / "a.json")


def test_an_interrupt_in_the_block_leaves_what_was_there(tmp_path):
    restore(tmp_path, EARLIER)
    with pytest.raises(KeyboardInterrupt), new_directory(tmp_path / "run") as new:  # noqa: PT012
        write_file(new / "a.json", b"later")
        raise KeyboardInterrupt
    assert contents(tmp_path) == EARLIER


def test_the_directory_keeps_its_permissions(tmp_path):
    restore(tmp_path, EARLIER)
    (tmp_path / "run").chmod(0o750)
    write_directory(tmp_path / "run")
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o750


def test_two_processes_do_not_write_the_same_directory(tmp_path):
    with (
        locked(tmp_path / "run"),
        pytest.raises(RunError, match="run: another process is writing there; wait, or name another directory"),
    ):
        write_directory(tmp_path / "run")
    write_directory(tmp_path / "run")
    assert contents(tmp_path) == LATER


def test_the_lock_is_of_what_bears_the_name_when_it_is_had(tmp_path):
    with locked(tmp_path / "run"):
        (tmp_path / "run").rename(tmp_path / "elsewhere")
        with locked(tmp_path / "run"):
            assert (tmp_path / "run").is_dir()


def test_a_path_that_leads_through_the_directory_itself_loses_nothing(tmp_path, monkeypatch):
    restore(tmp_path, EARLIER)
    monkeypatch.chdir(tmp_path)
    write_directory("run/../run")
    assert contents(tmp_path) == LATER


def test_after_a_kill_a_path_through_the_missing_directory_puts_it_back(tmp_path, monkeypatch):
    restore(tmp_path, EARLIER)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").rename(".run.old")
    assert put_back("run/../run").samefile("run")
    assert contents(tmp_path) == EARLIER


# ---- what is never replaced


def refused(path):
    with pytest.raises(UsageError) as error:
        KIND.refuse_foreign(path)
    return str(error.value)


def test_a_directory_of_the_kind_may_be_replaced_and_so_may_what_is_not_there_or_empty(tmp_path):
    restore(tmp_path, EARLIER | {"empty": None, "run/.ltr-0123456789abcdef.tmp": b"of a killed process"})
    assert KIND.refuse_foreign(tmp_path / "run") == ["a.json", "parts"]
    assert KIND.refuse_foreign(tmp_path / "empty") == KIND.refuse_foreign(tmp_path / "absent" / "run") == []


@pytest.mark.parametrize(
    "name, content, shown",
    [
        ("notes.txt", b"mine", "notes.txt"),
        ("parts/notes.txt", b"mine", "parts/notes.txt"),
        ("parts/3.json", None, None),
        (".hidden", None, ".hidden"),
    ],
)
def test_a_directory_with_anything_else_in_it_is_refused_by_the_name_of_that(tmp_path, name, content, shown):
    restore(tmp_path, EARLIER | {f"run/{name}": content})
    if shown is None:
        assert KIND.refuse_foreign(tmp_path / "run") == ["a.json", "parts"]
        return
    assert refused(tmp_path / "run") == f"{tmp_path}/run: holds other things, such as {shown!r}; name another directory"


def test_a_directory_whose_names_only_look_like_ours_is_refused(tmp_path):
    restore(tmp_path, {"run": None, "run/b.json": b"mine"})
    assert refused(tmp_path / "run") == f"{tmp_path}/run: holds other things, such as 'b.json'; name another directory"


def test_a_directory_that_has_the_name_of_the_earlier_one_and_is_somebodys_own_is_refused(tmp_path):
    restore(tmp_path, EARLIER | {".run.old": None, ".run.old/notes.txt": b"mine"})
    assert refused(tmp_path / "run").startswith(f"{tmp_path}/.run.old: holds other things, such as 'notes.txt'; ")


def test_a_link_that_has_the_name_of_the_earlier_directory_is_refused_and_stays(tmp_path):
    restore(tmp_path, EARLIER | {"mine": None})
    (tmp_path / ".run.old").symlink_to("mine")
    assert refused(tmp_path / "run").startswith(f"{tmp_path}/.run.old: not a directory; ")
    with pytest.raises(DiskError, match="run: not a directory"):
        write_directory(tmp_path / "run")
    assert (tmp_path / ".run.old").is_symlink()
    assert (tmp_path / "run" / "a.json").read_bytes() == b"earlier"


def test_files_that_a_kill_has_put_aside_are_there_for_whoever_may_not_replace_them(tmp_path):
    restore(tmp_path, {".x.jsonl.old-files": None, ".x.jsonl.old-files/x.jsonl": b"earlier"})
    with pytest.raises(UsageError, match="x.jsonl: exists; add --overwrite, or choose another name"):
        refuse_existing(tmp_path / "x.jsonl", overwrite=False)
    assert contents(tmp_path) == {"x.jsonl": b"earlier"}
    refuse_existing(tmp_path / "x.jsonl", overwrite=True)


def test_a_link_is_not_replaced_by_a_file(tmp_path):
    restore(tmp_path, {"x.jsonl": b"earlier"})
    (tmp_path / "link").symlink_to("x.jsonl")
    with pytest.raises(UsageError, match="link: a link to x.jsonl; name the file itself"):
        refuse_existing(tmp_path / "link", overwrite=True)
    with pytest.raises(DiskError, match="link: a link; it cannot be replaced"):
        write_file(tmp_path / "link", b"later")
    assert (tmp_path / "link").read_bytes() == b"earlier"


@pytest.mark.parametrize("before", [EARLIER, {"run": None}, {}])
def test_a_link_is_refused_wherever_it_leads(tmp_path, before):
    restore(tmp_path, before)
    (tmp_path / "link").symlink_to(tmp_path / "run")
    assert refused(tmp_path / "link") == f"{tmp_path}/link: a link to {tmp_path}/run; name a directory itself"


@pytest.mark.parametrize("name", [".", "../run", "parts/..", "../run/."])
def test_the_working_directory_is_refused_however_it_is_named(tmp_path, name, monkeypatch):
    restore(tmp_path, EARLIER)
    monkeypatch.chdir(tmp_path / "run")
    assert refused(name).endswith(": the working directory lies there; name another directory")


def test_a_directory_above_the_working_directory_is_refused(tmp_path, monkeypatch):
    restore(tmp_path, EARLIER)
    monkeypatch.chdir(tmp_path / "run" / "parts")
    assert refused(tmp_path / "run").endswith("/run: the working directory lies there; name another directory")


def test_a_mount_point_is_refused(monkeypatch):
    assert refused("/proc").endswith("/proc: a mount point, which cannot be replaced; name a directory in it")


def test_a_name_that_leaves_no_room_for_the_directory_beside_it_is_refused(tmp_path):
    with pytest.raises(DiskError, match="file name too long; 242 bytes are the most for a directory"):
        KIND.refuse_foreign(tmp_path / ("x" * 250))
    assert KIND.refuse_foreign(tmp_path / ("x" * 242)) == []
    write_directory(tmp_path / ("x" * 242))


def test_a_single_file_replaces_the_earlier_one_and_its_directory_is_made(tmp_path):
    for content in (b"earlier", b"new"):
        written_alone(tmp_path / "made" / "x")
        assert contents(tmp_path) == {"made": None, "made/x": b"new"}
        write_file(tmp_path / "made" / "x", content)


def test_files_in_a_folder_replace_earlier_ones_and_join_them(tmp_path):
    for content, names in ((b"earlier", ("kept", "below")), (b"new", ("below", "first", "second"))):
        with new_files(tmp_path / "x") as new:
            for path in (new / "x", *(make_directory(new / "inner") / name for name in names)):
                write_file(path, content)
    inner = {"inner/kept": b"earlier", "inner/below": b"new", "inner/first": b"new", "inner/second": b"new"}
    assert contents(tmp_path) == {"x": b"new", "inner": None, **inner}


@pytest.mark.parametrize("name", ["x", "beside"])
def test_what_is_no_file_is_not_replaced_by_one_of_several(tmp_path, name):
    (tmp_path / "elsewhere").write_text("theirs")
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DiskError, match=f"{name}: a link; it cannot be replaced"):
        written_files(tmp_path / "x")
    assert (tmp_path / name).is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "elsewhere"])


@pytest.mark.parametrize("locks", [True, False])
def test_what_stands_where_nothing_was_stands_there_alone_with_and_without_locks(tmp_path, monkeypatch, locks):
    if not locks:
        monkeypatch.setattr(disk, "lock_directory", lambda _: None)
        monkeypatch.setattr(directory, "lock_directory", lambda _: None)
    (tmp_path / ".run.new-1").mkdir()  # of a killed process
    for content in ("one", "two"):
        with new_directory(tmp_path / "run") as new:
            (new / "file").write_text(content)
        assert {name: text for name, text in contents(tmp_path).items() if text} == {"run/file": content.encode()}
    written_files(tmp_path / "run" / "main")
    assert sorted(contents(tmp_path / "run")) == ["beside", "file", "inner", "inner/below", "main"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_an_interrupt_behind_the_last_rename_leaves_the_new_files(tmp_path, monkeypatch):
    rename = os.rename

    def interrupted(source, target):
        rename(source, target)
        if str(source).endswith(".old-files"):
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        written_files(tmp_path / "main")
    assert sorted(contents(tmp_path)) == ["beside", "inner", "inner/below", "main"]


def test_a_folder_that_was_made_for_files_goes_with_them(tmp_path, monkeypatch):
    rename = os.rename

    def failing(source, target):
        if Path(target) == tmp_path / "main":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(DiskError):
        written_files(tmp_path / "main")
    assert contents(tmp_path) == {}


def test_a_path_that_ends_in_no_name_is_refused_with_the_name(tmp_path):
    (tmp_path / "run" / "inner").mkdir(parents=True)
    with pytest.raises(UsageError, match=rf"not the name of a directory; write {tmp_path / 'run'}$"):
        KIND.refuse_foreign(f"{tmp_path}/run/inner/..")


def test_where_nothing_can_be_written_is_known_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # the user who runs the tests may write anywhere
    with pytest.raises(DiskError, match=f"run: {tmp_path} cannot be written to"):
        KIND.refuse_foreign(tmp_path / "run")
    with pytest.raises(DiskError, match=f"x: {tmp_path} cannot be written to"):
        refuse_existing(tmp_path / "x", overwrite=True)


def test_a_directory_that_may_be_listed_only_or_written_only_is_known_before_the_work(tmp_path, monkeypatch):
    for lacking in (os.W_OK, os.X_OK):
        monkeypatch.setattr(os, "access", lambda _, mode, lacking=lacking: not mode & lacking)
        with pytest.raises(DiskError, match="cannot be written to"):
            refuse_unwritable(tmp_path / "x")
    monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.R_OK)
    refuse_unwritable(tmp_path / "x")


def test_a_path_through_a_file_or_with_a_nul_in_it_is_refused(tmp_path):
    (tmp_path / "file").write_text("theirs")
    with pytest.raises(UsageError, match=f"{tmp_path / 'file'}: not a directory; one of its own is needed"):
        KIND.refuse_foreign(tmp_path / "file")
    with pytest.raises(DiskError, match="file is not a directory"):
        refuse_unwritable(tmp_path / "file" / "x")
    with pytest.raises(DiskError, match="embedded null"):
        KIND.refuse_foreign(f"{tmp_path}/a\0b")
