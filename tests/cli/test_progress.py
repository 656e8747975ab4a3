"""Progress is shown now and then, and not where it would disturb."""

import io
import os
from types import SimpleNamespace

import pytest
from rich.cells import cell_len

from rnncheck.cli.progress import fitting, progress_line, progress_text
from rnncheck.learning.learning_task import Progress
from support.clocks import Standing


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Standing:
    clock = Standing()
    monkeypatch.setattr("rnncheck.cli.progress.time", SimpleNamespace(monotonic=clock))
    monkeypatch.setattr("rnncheck.cli.progress._ELSEWHERE", 10.0)
    return clock


def test_a_file_gets_a_line_every_ten_seconds(clock: Standing, capsys: pytest.CaptureFixture[str]) -> None:
    with progress_line() as tell:
        for second in range(25):
            tell(f"{second} s")
            clock.advance(1.0)
    assert capsys.readouterr().err == "10 s\n20 s\n"


def test_quiet_is_quiet(clock: Standing, capsys: pytest.CaptureFixture[str]) -> None:
    with progress_line(quiet=True) as tell:
        clock.advance(100.0)
        tell("100 s")
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    """A terminal of some width, which may change."""

    columns = 80

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 2


@pytest.fixture
def terminal(clock: Standing, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    screen = Terminal()
    monkeypatch.setattr("rnncheck.cli.progress.sys", SimpleNamespace(stderr=screen))
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((screen.columns, 24)))
    return screen


@pytest.mark.parametrize("columns", [1, 2, 12, 40, 80])
@pytest.mark.parametrize("letter", ["x", "東", "e\N{COMBINING ACUTE ACCENT}", "👍", "\n"])
def test_a_line_is_narrower_than_the_terminal(clock: Standing, terminal: Terminal, letter: str, columns: int) -> None:
    """Should stay on its line whatever letters it has, and leave nothing behind."""
    terminal.columns = columns
    with progress_line() as tell:
        for length in (3, 39, 40, 41, 200):
            clock.advance(1.0)
            tell(letter * length)
    shown = terminal.getvalue().split("\r\033[K")
    assert len(shown) == 7
    assert all(cell_len(line) < max(2, columns) for line in shown)
    assert "\n" not in terminal.getvalue()
    assert shown[-1] == ""


def test_a_terminal_may_become_narrower(clock: Standing, terminal: Terminal) -> None:
    """Should take away all the lines into which the terminal has broken the one that was shown."""
    with progress_line() as tell:
        for columns in (80, 20, 80, 30):
            terminal.columns = columns
            clock.advance(1.0)
            tell("x" * 100)
        terminal.columns = 10
    cleared = [part.count("\033[A\033[K") for part in terminal.getvalue().split("\r\033[K")[1:]]
    assert cleared == [0, 3, 0, 2, 2]


def test_what_fits_is_not_cut() -> None:
    assert fitting("abc", 3) == ("abc", 3)
    assert fitting("abcd", 3) == ("ab…", 3)
    assert fitting("東京都", 6) == ("東京都", 6)
    assert fitting("東京都", 5) == ("東京…", 5)
    assert fitting("東京都", 4) == ("東…", 3)


def test_no_count_is_above_its_total() -> None:
    """Should say how the words of several rounds can be more than a test needs."""

    def text(words: int) -> str:
        return progress_text(Progress("pdv", 1.0, float("inf"), 2, 5, 10, 100, words, 15199, None))

    assert "15199/15199 words sampled  " in text(15199)
    assert "15296 words sampled (15199 for a test)  " in text(15296)
