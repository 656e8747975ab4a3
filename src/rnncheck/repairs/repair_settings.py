"""The settings of a repair."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from rnncheck.errors import InputError
from rnncheck.learning.learning_settings import check_least
from rnncheck.training.fine_tuning import FineTuning
from rnncheck.verification.verify_settings import VerifySettings


@dataclass(frozen=True)
class RepairSettings:
    """The limits of a repair.

    There are at most ``rounds`` of training. A repair is complete when a search of ``effort`` times the usual steps
    finds no violation of any property, and the accuracy on held-out words has fallen by at most ``max_loss``. With
    ``harden`` a network that is small enough is then trained further until it is proved, for at most ``iterations``.
    """

    rounds: int = 10
    effort: float = 10.0
    max_loss: float = 0.001
    harden: bool = True
    iterations: int = 2_000
    letters: int = 20_000  # of random words in each round, so that nothing is forgotten
    held_out: int = 10_000  # words to measure with
    fine_tuning: FineTuning = field(default_factory=FineTuning)
    threads: int | None = None

    def __post_init__(self) -> None:
        for name in ("rounds", "iterations", "letters", "held_out"):
            check_least(name, getattr(self, name), 1)
        if not 0.0 < self.effort < float("inf"):
            raise InputError(f"effort {self.effort!r} is not a positive multiple of the usual search; 10 is usual")
        if not 0.0 <= self.max_loss <= 1.0:
            raise InputError(f"max_loss {self.max_loss!r} is not a share of words; give a number from 0 to 1")

    @property
    def search_steps(self) -> int:
        """Network steps of the last search for each property."""
        return max(1, round(self.effort * VerifySettings.search_steps))

    def describe(self) -> dict[str, object]:
        """Everything that the result depends on."""
        values = asdict(self)
        del values["threads"]
        return values
