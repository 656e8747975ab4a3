"""Progress is told now and then, and not where it would be in the way."""

from types import SimpleNamespace

import pytest

from rnncheck.cli.progress import progress_line
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
