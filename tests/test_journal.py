"""A journal that several processes append to."""

import os
import signal
import subprocess
import sys
import time

import pytest

from ltr.errors import DiskError, FileError
from ltr.journal import JournalFile


def test_lines_come_back_in_order_and_from_any_line_on(tmp_path):
    journal = tmp_path / "journal"
    JournalFile(journal).append(b"one")
    first = JournalFile(journal).read()
    JournalFile(journal).append(b"two")
    assert first.contents == (b"one",)
    assert JournalFile(journal).read().contents == (b"one", b"two")
    assert JournalFile(journal).read(first.end).contents == (b"two",)
    assert JournalFile(journal).read(JournalFile(journal).read().end).contents == ()


def test_no_journal_has_no_lines(tmp_path):
    assert JournalFile(tmp_path / "none").read().contents == ()


def test_a_tail_that_was_cut_off_is_reported_and_loses_nothing_that_follows(tmp_path):
    journal = tmp_path / "journal"
    JournalFile(journal).append(b"one")
    JournalFile(journal).append(b"two")
    journal.write_bytes(journal.read_bytes()[:-3])
    cut = JournalFile(journal).read()
    assert (cut.contents, cut.damaged, cut.is_cut) == ((b"one",), 0, True)
    JournalFile(journal).append(b"three")
    after = JournalFile(journal).read()
    assert (after.contents, after.damaged, after.is_cut) == ((b"one", b"three"), 1, False)


def test_a_damage_in_the_middle_costs_its_line_alone(tmp_path):
    journal = tmp_path / "journal"
    for line in (b"one", b"two", b"three"):
        JournalFile(journal).append(line)
    journal.write_bytes(journal.read_bytes().replace(b"two", b"tvo"))
    lines = JournalFile(journal).read()
    assert (lines.contents, lines.damaged) == ((b"one", b"three"), 1)


def test_a_journal_that_became_shorter_is_refused(tmp_path):
    journal = tmp_path / "journal"
    JournalFile(journal).append(b"one")
    end = JournalFile(journal).read().end
    journal.write_bytes(b"")
    with pytest.raises(FileError, match="was cut or removed"):
        JournalFile(journal).read(end)


def test_what_is_no_file_is_not_written_to(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DiskError, match="a link"):
        JournalFile(tmp_path / "link").append(b"one")
    with pytest.raises(ValueError, match="no line end"):
        JournalFile(tmp_path / "journal").append(b"a\nb")


WRITER = """
import sys
from ltr.journal import JournalFile
for number in range(int(sys.argv[3])):
    JournalFile(sys.argv[1]).append(f"{sys.argv[2]} {number} {'x' * 5000}".encode())
    print(number, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="files are not locked there")
def test_processes_that_append_at_once_and_are_killed_lose_no_line_they_were_told_of(tmp_path):
    journal = tmp_path / "journal"
    command = [sys.executable, "-c", WRITER, str(journal)]
    writers = [
        subprocess.Popen([*command, str(number), "40" if number % 2 else "100000"], stdout=subprocess.PIPE)
        for number in range(4)
    ]
    for writer in writers[1::2]:
        writer.wait()
    time.sleep(0.05)
    for writer in writers[::2]:
        writer.send_signal(signal.SIGKILL)
    told = [len([line for line in writer.communicate()[0].split(b"\n") if line]) for writer in writers]
    JournalFile(journal).append(b"last")
    lines = JournalFile(journal).read()
    written = [line.split()[:2] for line in lines.contents[:-1]]
    for number, count in enumerate(told):
        own = [int(place) for name, place in written if name == str(number).encode()]
        assert own == list(range(len(own)))
        assert len(own) >= count - (count > 0 and number % 2 == 0)  # the last number it printed may be cut itself
    assert lines.damaged <= 2
