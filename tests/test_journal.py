"""A journal that several processes append to."""

import os
import signal
import subprocess
import sys
import time

import pytest

from ltr.errors import DiskError, FileError
from ltr.files.journal import append_line, read_journal


def test_lines_come_back_in_order_and_from_any_line_on(tmp_path):
    journal = tmp_path / "journal"
    append_line(journal, b"one")
    first = read_journal(journal)
    append_line(journal, b"two")
    assert first.contents == (b"one",)
    assert read_journal(journal).contents == (b"one", b"two")
    assert read_journal(journal, first.end).contents == (b"two",)
    assert read_journal(journal, read_journal(journal).end).contents == ()


def test_no_journal_has_no_lines(tmp_path):
    assert read_journal(tmp_path / "none").contents == ()


def test_a_tail_that_was_cut_off_is_reported_and_loses_nothing_that_follows(tmp_path):
    journal = tmp_path / "journal"
    append_line(journal, b"one")
    append_line(journal, b"two")
    journal.write_bytes(journal.read_bytes()[:-3])
    cut = read_journal(journal)
    assert (cut.contents, cut.damaged, cut.is_cut) == ((b"one",), 0, True)
    append_line(journal, b"three")
    after = read_journal(journal)
    assert (after.contents, after.damaged, after.is_cut) == ((b"one", b"three"), 1, False)


def test_a_damage_in_the_middle_costs_its_line_alone(tmp_path):
    journal = tmp_path / "journal"
    for line in (b"one", b"two", b"three"):
        append_line(journal, line)
    journal.write_bytes(journal.read_bytes().replace(b"two", b"tvo"))
    lines = read_journal(journal)
    assert (lines.contents, lines.damaged) == ((b"one", b"three"), 1)


def test_a_journal_that_became_shorter_is_refused(tmp_path):
    journal = tmp_path / "journal"
    append_line(journal, b"one")
    end = read_journal(journal).end
    journal.write_bytes(b"")
    with pytest.raises(FileError, match="was cut or removed"):
        read_journal(journal, end)


def test_what_is_no_file_is_not_written_to(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DiskError, match="a link"):
        append_line(tmp_path / "link", b"one")
    with pytest.raises(ValueError, match="no line end"):
        append_line(tmp_path / "journal", b"a\nb")


WRITER = """
import sys
from ltr.files.journal import append_line
for number in range(int(sys.argv[3])):
    append_line(sys.argv[1], f"{sys.argv[2]} {number} {'x' * 5000}".encode())
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
    append_line(journal, b"last")
    lines = read_journal(journal)
    written = [line.split()[:2] for line in lines.contents[:-1]]
    for number, count in enumerate(told):
        own = [int(place) for name, place in written if name == str(number).encode()]
        assert own == list(range(len(own)))
        assert len(own) >= count - (count > 0 and number % 2 == 0)  # the last number it printed may be cut itself
    assert lines.damaged <= 2
