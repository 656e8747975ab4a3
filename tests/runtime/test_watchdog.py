"""A call that takes too long is interrupted, but for imports, which are let finish."""

import importlib
import math
import sys
from pathlib import Path

import pytest

from rnncheck.runtime import watchdog as clock
from rnncheck.runtime.budget import BudgetExceeded

SLOW = """
import time

end = time.monotonic() + {seconds}
while time.monotonic() < end:
    time.sleep(0.005)
whole = True
"""


@pytest.fixture
def slow_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module that takes a fifth of a second to import, while the alarm rings every fiftieth."""
    name = f"slow_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(SLOW.format(seconds=0.2))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(clock, "_GRACE", 0.02)
    return name


def test_an_import_is_let_finish_and_what_comes_after_it_is_not(slow_module: str, monkeypatch) -> None:
    """Should leave a whole module behind, and end the call that goes on."""
    monkeypatch.setattr(clock, "_LONGEST_IMPORT", math.inf)

    def work() -> None:
        importlib.import_module(slow_module)
        while True:
            pass

    with clock.watchdog(lambda: 0.0), pytest.raises(BudgetExceeded, match="while it was at work"):
        clock.guarded(work, lambda: "it was at work")
    assert sys.modules[slow_module].whole


def test_an_import_that_hangs_is_ended(slow_module: str, monkeypatch) -> None:
    monkeypatch.setattr(clock, "_LONGEST_IMPORT", 2)
    with clock.watchdog(lambda: 0.0), pytest.raises(BudgetExceeded):
        clock.guarded(lambda: importlib.import_module(slow_module), lambda: "it was imported")
    assert slow_module not in sys.modules
