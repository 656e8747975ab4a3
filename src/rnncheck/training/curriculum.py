"""The curriculum of training: longer words step by step, a lower rate when stuck, a restart when hopeless.

A network learns an automaton soonest from short words, where an error is near its cause, and carries what it learned
over to long ones. So training begins with a few letters and doubles their number when the stage is learned.
"""

from __future__ import annotations

import enum
import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from rnncheck.training.training_settings import TrainingSettings

_FIRST_LENGTH = 8
_LEARNED = 0.97  # accuracy on the stage from which longer words follow
_HOPELESS = 0.8  # accuracy on the shortest stages below which other starting weights are better than longer words
_IMPROVEMENT = 0.99  # a loss counts as improved when it is below this part of the best so far
_PROGRESS = 0.96  # the same for short stages: if they progress slowly, longer words help more
_DECAY = 0.4
_DECAYS = 4  # lower rates that are tried before a fresh start


class Ending(enum.Enum):
    """Why training stopped; the value is the sentence for reports."""

    TARGET = "the target accuracy was reached"
    EPOCHS = "the number of epochs ended before the target accuracy was reached and held"
    TIME = "the time limit ended before the target accuracy was reached and held"
    INTERRUPTED = "interrupted; this is the best network so far"
    STUCK = "the accuracy stopped improving below the target, restarts included"


@dataclass(frozen=True)
class EpochResult:
    """The result of one epoch: loss and accuracy on the stage, accuracy and loss on the validation words."""

    loss: float
    stage_accuracy: float
    accuracy: float
    validation_loss: float

    def is_better_than(self, other: EpochResult) -> bool:
        """Higher accuracy, or the same with a lower loss; never where a loss is not finite."""
        finite = math.isfinite(self.loss) and math.isfinite(self.validation_loss)
        return finite and (self.accuracy, -self.validation_loss) > (other.accuracy, -other.validation_loss)


@dataclass(frozen=True)
class Curriculum:
    """The state of training between two epochs: everything that decides how it continues, except weights."""

    learning_rate: float
    lengths: tuple[int, ...]  # the longest word of each stage, growing
    epoch: int = 0
    attempt: int = 0
    stage: int = 0
    stale: int = 0  # epochs since the last improvement in this stage
    decays: int = 0
    held: int = 0  # epochs in a row at the target
    best_in_stage: float = math.inf  # the lowest loss
    stuck: bool = False

    @classmethod
    def begin(cls, settings: TrainingSettings, shortest: int, longest: int) -> Curriculum:
        """Stages from the settings' first length, or about ``shortest`` letters, to ``longest``."""
        longest = min(longest, settings.max_length or longest)
        lengths = [settings.first_length or max(shortest, _FIRST_LENGTH)]
        while lengths[-1] < longest:
            lengths.append(2 * lengths[-1])
        return cls(settings.first_rate, (*lengths[:-1], max(1, longest)))

    @property
    def longest(self) -> int:
        """The longest word that the next epoch uses."""
        return self.lengths[self.stage]

    def ending(self, settings: TrainingSettings, seconds: float) -> Ending | None:
        """Why training should stop here, if it should."""
        if self.held >= settings.hold:
            return Ending.TARGET
        if self.stuck:
            return Ending.STUCK
        if self.epoch >= settings.epochs:
            return Ending.EPOCHS
        if settings.timeout is not None and seconds >= settings.timeout:
            return Ending.TIME
        return None

    def after(self, result: EpochResult, settings: TrainingSettings) -> Curriculum:
        """The state of training after one more epoch. A new ``attempt`` needs new weights."""
        full = self._at_full_length
        measured = result.validation_loss if full else result.loss
        # A loss that is not a number is no improvement, so it leads to a lower rate and then to a restart.
        improved = measured < (_IMPROVEMENT if full else _PROGRESS) * self.best_in_stage
        following = replace(
            self,
            epoch=self.epoch + 1,
            held=self.held + 1 if result.accuracy >= settings.target_accuracy else 0,
            stale=0 if improved else self.stale + 1,
            best_in_stage=measured if improved else self.best_in_stage,
        )
        stale = following.stale >= settings.patience
        if full:
            return following._with_lower_rate(settings) if stale else following
        if stale and result.stage_accuracy < _HOPELESS and self.attempt < settings.restarts:
            return following._restarted(settings)
        return following._with_longer_words() if stale or result.stage_accuracy >= _LEARNED else following

    @property
    def _at_full_length(self) -> bool:
        return self.stage == len(self.lengths) - 1

    def _with_longer_words(self) -> Curriculum:
        return replace(self, stage=self.stage + 1, stale=0, best_in_stage=math.inf)

    def _with_lower_rate(self, settings: TrainingSettings) -> Curriculum:
        if self.decays < _DECAYS:
            return replace(self, learning_rate=self.learning_rate * _DECAY, decays=self.decays + 1, stale=0)
        return self._restarted(settings) if self.attempt < settings.restarts else replace(self, stuck=True)

    def _restarted(self, settings: TrainingSettings) -> Curriculum:
        return Curriculum(settings.first_rate, self.lengths, epoch=self.epoch, attempt=self.attempt + 1)

    def to_json(self) -> dict[str, Any]:
        """Plain values, from which ``from_json`` makes an equal curriculum."""
        return asdict(self) | {"best_in_stage": repr(self.best_in_stage)}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Curriculum:
        fields = dict(document)
        return cls(**fields | {"lengths": tuple(fields["lengths"]), "best_in_stage": float(fields["best_in_stage"])})
