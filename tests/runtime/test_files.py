"""Files are written whole or not at all, and word files say where they are wrong."""

import fcntl
import os
import stat
import sys
import threading

import pytest

from rnncheck.errors import FormatError, InputError
from rnncheck.runtime.files import check_writable, remove_leftovers, write_atomically
from rnncheck.word_files import read_words
from support.killing import STAGES, kill_inside_writes


def test_content_is_replaced_and_nothing_else_left(tmp_path) -> None:
    path = tmp_path / "out.txt"
    write_atomically(path, "old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_stays(tmp_path) -> None:
    """Should tell a leftover from a file in the making by its lock, and leave other programs' files alone."""
    leftover, living, foreign = (tmp_path / name for name in (".rnncheck-a.part", ".rnncheck-b.part", ".film.part"))
    for file in (leftover, living, foreign):
        file.write_text("half")
    with living.open("rb+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        write_atomically(tmp_path / "out.txt", "whole")
        assert sorted(os.listdir(tmp_path)) == [".film.part", ".rnncheck-b.part", "out.txt"]
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".film.part", "out.txt"]


def test_a_process_killed_inside_a_write_leaves_the_old_file_or_the_new(tmp_path) -> None:
    """Should leave nothing half at any stage, and the next write removes what was left."""
    path = tmp_path / "out" / "file"
    path.parent.mkdir()
    code = (
        "import sys\nfrom rnncheck.runtime.files import write_atomically\nwrite_atomically(sys.argv[1], 'new' * 1000)"
    )
    command = [sys.executable, "-c", code, path]
    write_atomically(path, "old")
    for stage, _ in kill_inside_writes(command, tmp_path / "hooks", [(stage, 1) for stage in STAGES]):
        assert path.read_text() == ("new" * 1000 if stage == "after rename" else "old"), stage
        assert len(os.listdir(path.parent)) == (1 if stage == "after rename" else 2), stage
    assert os.listdir(path.parent) == ["file"]


def test_a_sweep_never_takes_a_file_that_is_being_written(tmp_path) -> None:
    """Should write every file whole while others sweep the same folder without a pause."""
    stop = threading.Event()

    def sweep() -> None:
        while not stop.is_set():
            remove_leftovers(tmp_path)

    sweepers = [threading.Thread(target=sweep) for _ in range(2)]
    for sweeper in sweepers:
        sweeper.start()
    try:
        for nth in range(100):
            write_atomically(tmp_path / "out.txt", str(nth))
            assert (tmp_path / "out.txt").read_text() == str(nth)
    finally:
        stop.set()
        for sweeper in sweepers:
            sweeper.join()
    assert os.listdir(tmp_path) == ["out.txt"]


def test_permissions_are_those_of_an_ordinary_file_and_stay(tmp_path) -> None:
    path, ordinary = tmp_path / "out.txt", tmp_path / "ordinary.txt"
    ordinary.write_text("")
    write_atomically(path, "x")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)
    path.chmod(0o600)
    write_atomically(path, "y")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch) -> None:
    path = tmp_path / "out.txt"
    write_atomically(path, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device; nothing was changed"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_missing_folder_is_named(tmp_path) -> None:
    with pytest.raises(InputError, match=r"absent/out.txt: cannot be written: there is no folder"):
        write_atomically(tmp_path / "absent" / "out.txt", "x")


def test_words_are_read_with_comments_and_empty_lines_passed_over(tmp_path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("# three words\na b\n\nε\n'#' '<x y>'\r\n", encoding="utf-8")
    assert read_words(path) == [("a", "b"), (), ("#", "<x y>")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\n'b\n", r":2: quote ' is not closed"),
        (b"a\n\xff\n", r":2: byte 0xff is not UTF-8"),
        (b"a \xce\xb5", r":1: ε is"),
    ],
)
def test_bad_lines_are_named(tmp_path, content: bytes, message: str) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read_words(path)


def test_a_folder_that_takes_no_new_files_and_a_loop_of_links_are_clear_errors(tmp_path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    places = {"/proc/x.html": "its folder accepts no new files", tmp_path / "loop" / "x.html": "symbolic links"}
    for place, message in places.items():
        for attempt in (check_writable, lambda path: write_atomically(path, "x")):
            with pytest.raises(InputError, match=f"x.html: cannot be written: .*{message}"):
                attempt(place)
