"""Replacement of a directory, or of files that belong together, by new ones: all at once or not at all.

What is written lies beside its place, in .NAME.new-PID, until it is complete and synced. What it replaces lies in
.NAME.old while the two change places, and `put_back` restores it should the process be killed at that moment. `atomic`
writes a single file.
"""

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ltr.disk import TEMPORARY, disk_errors, held, lock_directory, make_directory, refuse_special, sync_directory
from ltr.errors import DiskError, UsageError, reason
from ltr.files.lock import earlier_directory, earlier_files, newly_named, put_back
from ltr.paths import AnyPath

LONGEST_NAME = 255 - len(".") - len(".new-4194304")  # bytes: the name of the new directory is a name as well


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryKind:
    """What a command writes as a directory: the names in it, and how to tell that a directory is one."""

    files: tuple[str, ...]
    folders: Mapping[str, re.Pattern[str]] = field(default_factory=dict)  # by name: what the files in it are called
    numbered: re.Pattern[str] | None = None  # the names of files of which there may be any number
    is_one: Callable[[Path], bool]  # asked of directories with such names only
    begun: tuple[str, str] = ("", "")  # the folder that lies there alone before the work is done, and what is said then

    def refuse_foreign(self, directory: AnyPath) -> list[str]:
        """Return the names in the directory; raise unless it is free, or of this kind and can be replaced as a whole.

        Refused by name: a link, a mount point, the working directory, a file, what is of another kind, and a directory
        that holds anything else. Where nothing can be written is known before the work, too.
        """
        path = put_back(directory)
        place = path.resolve() if path.name in ("", "..") else path
        if len(os.fsencode(place.name)) > LONGEST_NAME:
            raise DiskError(str(path), f"file name too long; {LONGEST_NAME} bytes are the most for a directory")
        if os.path.islink(place):  # noqa: PTH114  # False for a name that no file can have
            raise UsageError(f"{path}: a link to {place.readlink()}; name a directory itself")
        try:
            entries = sorted(entry.name for entry in place.iterdir())
        except FileNotFoundError:
            entries = None
        except NotADirectoryError as error:
            raise UsageError(f"{path}: not a directory; one of its own is needed") from error
        except (OSError, ValueError) as error:
            raise DiskError(str(path), reason(error)) from error
        if entries is not None:
            if os.path.ismount(place):  # Path.is_mount is not there on every system
                raise UsageError(f"{path}: a mount point, which cannot be replaced; name a directory in it")
            if Path.cwd().is_relative_to(place.resolve()):
                raise UsageError(f"{path}: the working directory lies there; name another directory")
        if place is not path:
            raise UsageError(f"{path}: not the name of a directory; write {place}")
        refuse_unwritable(path)
        old = earlier_directory(path)  # removed with what is replaced; a directory of that name may be somebody's own
        if os.path.islink(old) or (os.path.lexists(old) and not old.is_dir()):  # noqa: PTH114
            raise UsageError(f"{old}: not a directory; the earlier {path.name} lies there for a moment: move it away")
        if old.is_dir():
            self._own_names(old, sorted(entry.name for entry in old.iterdir()))
        return self._own_names(path, entries or [])

    def refuse_taken(self, directory: AnyPath, *, overwrite: bool) -> None:
        """Raise unless the directory is free, or holds an earlier result of this kind, which may be overwritten."""
        names = self.refuse_foreign(directory)
        if names and not overwrite:
            folder, problem = self.begun
            way_out = problem if names == [folder] else "holds a result; add --overwrite, or name another directory"
            raise UsageError(f"{directory}: {way_out}")

    def _own_names(self, directory: Path, entries: list[str]) -> list[str]:
        """Return the entries that are not temporary; raise unless all of them belong to a directory of this self."""
        names = [name for name in entries if not TEMPORARY.fullmatch(name)]
        listed = {*self.files, *self.folders}
        foreign = [
            name for name in names if name not in listed and not (self.numbered and self.numbered.fullmatch(name))
        ]
        for folder in self.folders.keys() & names:
            inside = [entry.name for entry in (directory / folder).iterdir()] if (directory / folder).is_dir() else [""]
            pattern = self.folders[folder]
            others = [name for name in sorted(inside) if not (pattern.fullmatch(name) or TEMPORARY.fullmatch(name))]
            foreign += [f"{folder}/{name}".rstrip("/") for name in others]
        if foreign or (names and not self.is_one(directory)):
            raise UsageError(
                f"{directory}: holds other things, such as {(foreign or names)[0]!r}; name another directory"
            )
        return names


def refuse_existing(main: AnyPath, *others: AnyPath, overwrite: bool) -> None:
    """Raise before the work where a file is that may not be replaced, or where none can be written.

    `others` are written beside `main`. Files that a killed process has put aside count: they are put back.
    """
    put_back(main)
    taken = next((path for path in (main, *others) if os.path.lexists(path)), None)
    if taken is not None and not overwrite:
        raise UsageError(f"{taken}: exists; add --overwrite, or choose another name")
    if os.path.islink(main):  # noqa: PTH114
        raise UsageError(f"{main}: a link to {os.readlink(main)}; name the file itself")  # noqa: PTH115
    refuse_unwritable(Path(main))


def refuse_unwritable(path: Path) -> None:
    """Raise before the work where nothing can be written under the path: its directory must be writable."""
    nearest = next(folder for folder in path.absolute().parents if os.path.lexists(folder))
    if not nearest.is_dir():
        raise DiskError(str(path), f"{nearest.name} is not a directory")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise DiskError(str(path), f"{nearest} cannot be written to")


@contextmanager
def new_directory(target: AnyPath) -> Iterator[Path]:
    """Yield an empty directory to write in; after the block it stands under the target's name, alone.

    If anything fails, also the block itself, what stood there stays and nothing else is left. The caller holds the
    lock of the target, and has refused what may not be replaced.
    """
    shown, place = _places(target)
    with _new(place, shown, home=shown) as new:
        yield new
        with disk_errors(shown):
            if place.is_dir():
                new.chmod(stat.S_IMODE(place.stat().st_mode))
            sync_directory(new)
            _exchange_directories(new, place)


def _exchange_directories(new: Path, place: Path) -> None:
    """Give the new directory the name of the place, and the earlier one, if there was one, that of the new."""
    old = earlier_directory(place)
    try:
        if os.path.lexists(place):
            place.rename(old)
        new.rename(place)  # until here nothing is under the name: `put_back` restores the old one after a kill
        sync_directory(place.parent)
        if os.path.lexists(old):
            old.rename(new)
    except BaseException:  # an interrupt, too
        with suppress(OSError):  # the next command puts the earlier one back
            if not os.path.lexists(new):
                place.rename(new)
            if os.path.lexists(old):
                old.rename(place)
        raise


@contextmanager
def new_files(main: AnyPath) -> Iterator[Path]:
    """Yield an empty directory for files that belong together; after the block they lie beside `main`, one of them.

    All of them replace what had their names, or, if anything fails, none does. Directories in it are merged.
    """
    shown, place = _places(main)
    refuse_special(shown)
    with _new(place, shown, home=shown.parent) as new:
        yield new
        written = [path.relative_to(new) for path in sorted(new.rglob("*"))]
        files = [name for name in written if not (new / name).is_dir() and name != Path(place.name)]
        for name in files:
            refuse_special(shown.parent / name)
        with disk_errors(shown):
            if files:
                _exchange_files(new, place, files, [name for name in written if (new / name).is_dir()])
            else:  # a single file has no moment without it
                (new / place.name).replace(place)
                sync_directory(place.parent)


def _exchange_files(new: Path, place: Path, others: list[Path], folders: list[Path]) -> None:
    """Move the new files beside each other, `place` the last, and the earlier ones into the directory of the new."""
    folder, old, names = place.parent, earlier_files(place), [*others, Path(place.name)]
    made = [inner for inner in folders if not os.path.lexists(folder / inner)]
    old.mkdir()
    with held(old):
        try:
            for inner in folders:
                (old / inner).mkdir()
                make_directory(folder / inner)
            for name in names:
                if not os.path.lexists(folder / name):
                    mark = newly_named(old) / name
                    mark.parent.mkdir(parents=True, exist_ok=True)
                    mark.touch()
            for name in reversed(names):  # `place` the first: while it is missing, `put_back` restores the others
                if os.path.lexists(folder / name):
                    (folder / name).rename(old / name)
            for name in names:
                (new / name).rename(folder / name)
            for inner in (*folders, Path()):
                sync_directory(folder / inner)
            old.rename(new / old.name)
        except BaseException:  # an interrupt, too
            if os.path.lexists(old):
                with suppress(OSError):  # the next command puts the earlier ones back
                    for name in reversed(names):
                        if not os.path.lexists(new / name):
                            (folder / name).rename(new / name)
                    for name in names:
                        if os.path.lexists(old / name):
                            (old / name).rename(folder / name)
                    shutil.rmtree(old)
                    for inner in reversed(made):
                        (folder / inner).rmdir()
            raise


def _places(target: AnyPath) -> tuple[Path, Path]:
    """Return the target, put back where it was missing, and where it really lies, in a directory that is there.

    A path such as q/../q leads nowhere while q changes places with another.
    """
    shown = put_back(target)
    make_directory(shown.parent)
    with disk_errors(shown):
        return shown, Path(os.path.realpath(shown.parent), shown.name)


@contextmanager
def _new(place: Path, shown: Path, *, home: Path) -> Iterator[Path]:
    """Yield the directory .NAME.new-PID beside the place, locked, and removed in the end with all that is in it.

    A disk error names the place as it is `shown`, and a file in the directory as it was to be called, in `home`.
    """
    new = place.with_name(f".{place.name}.new-{os.getpid()}")
    with disk_errors(shown):
        _sweep(place, new)
        new.mkdir()
        descriptor = lock_directory(new)
    try:
        yield new
    except DiskError as error:
        path, problem = error.args
        if Path(path).is_relative_to(new):
            raise DiskError(str(home / Path(path).relative_to(new)), problem) from error
        raise
    finally:
        if descriptor is not None:
            os.close(descriptor)
        shutil.rmtree(new, ignore_errors=True)


def _sweep(place: Path, new: Path) -> None:
    """Remove what killed processes left beside the place: unfinished directories, and earlier ones long replaced."""
    unfinished = re.compile(rf"\.{re.escape(place.name)}\.new-\d+")
    leftovers = [path for path in place.parent.iterdir() if unfinished.fullmatch(path.name)]
    if os.path.lexists(place):
        leftovers += [earlier_directory(place), earlier_files(place)]
    for path in leftovers:
        if path.is_symlink() or not path.is_dir():
            continue
        with suppress(OSError), held(path):  # another process writes there, or has just removed it
            path.rename(new)  # under its own name a half of it could be put back, were the process killed here
            shutil.rmtree(new, ignore_errors=True)
