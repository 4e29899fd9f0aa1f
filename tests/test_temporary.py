"""Directories for temporary files, and what a killed process leaves of them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ltr.errors import DiskError
from ltr.temporary import PREFIX, YOUNG, LineWriter, temporary_directory

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="directories cannot be locked there")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A directory for temporary files of this test alone."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def aged(folder):
    """The folder, as if it were written before."""
    then = time.time() - 2 * YOUNG
    os.utime(folder, (then, then))
    return folder


def test_a_directory_goes_with_its_block(tmp_path):
    with temporary_directory() as folder:
        (folder / "file").write_text("x")
        assert folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    code = (
        "import os, signal, tempfile; tempfile.tempdir = os.environ['FOLDER']\n"
        "from ltr.temporary import temporary_directory\n"
        "with temporary_directory() as folder:\n"
        "    (folder / 'file').write_text('x'); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "FOLDER": str(tmp_path)}, check=False)
    (left,) = tmp_path.iterdir()
    with temporary_directory():
        assert left.exists()  # it may be that of a process that has not locked it yet
    aged(left)
    with temporary_directory():
        assert not left.exists()


def test_the_page_of_scale_says_how_long_it_may_lie():
    page = (Path(__file__).parent.parent / "docs" / "scale.md").read_text(encoding="utf-8")
    assert f"once it has lain unchanged for {YOUNG:.0f} seconds" in page


def test_what_a_process_holds_and_what_is_not_ours_stays(tmp_path):
    (tmp_path / "other").mkdir()
    other, link = aged(tmp_path / "other"), tmp_path / f"{PREFIX}link"
    link.symlink_to(other)
    with temporary_directory() as held, temporary_directory() as second:
        assert aged(held).exists()
        with temporary_directory():
            assert held.exists()
        assert second.exists()
    assert other.exists()
    assert link.is_symlink()


def test_lines_that_cannot_be_kept_name_the_folder_that_they_were_meant_for(tmp_path):
    lines = LineWriter(tmp_path / "gone" / "lines")
    lines.write(0, 1, b"{}")
    with pytest.raises(DiskError) as refused:
        lines.flush()
    assert str(refused.value) == f"{tmp_path / 'gone'}: no such file or directory"
