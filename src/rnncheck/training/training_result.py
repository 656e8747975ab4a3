"""The progress and the report of training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rnncheck.models.network import RecurrentNetwork
from rnncheck.training.curriculum import Ending


@dataclass(frozen=True)
class EpochProgress:
    """Passed to the progress callback after each epoch."""

    epoch: int  # counts from 1
    epochs: int  # the most there will be
    attempt: int  # counts from 1; more than 1 after a restart
    longest: int  # letters of the longest word, or prefix, that was learned from
    learning_rate: float
    loss: float  # on the training words, while they were learned
    accuracy: float  # on the validation words
    best_accuracy: float
    seconds: float  # since the beginning, earlier runs of a resumed training included


Progress: TypeAlias = Callable[[EpochProgress], None]


@dataclass(frozen=True)
class TrainingReport:
    """The report of training. Accuracies are shares of whole words; ``loss`` is the mean on the validation words."""

    ending: Ending
    epochs: int
    best_epoch: int
    attempts: int
    seconds: float
    loss: float
    validation_accuracy: float
    test_accuracy: float
    label_accuracy: Mapping[str, float | None]  # on the test words of each label; None where there are none
    sizes: Mapping[str, int]
    longest_word: int  # letters of the longest word, or prefix, that the network was trained on
    notes: tuple[str, ...]
    settings: Mapping[str, Any]
    data: Mapping[str, object]

    @property
    def reached_target(self) -> bool:
        return self.ending is Ending.TARGET

    def sentences(self) -> list[str]:
        """The results on validation and test words, as sentences."""
        kept = (
            f"kept is the network of epoch {self.best_epoch}: it answers {self.validation_accuracy:.2%} of "
            f"{self.sizes['validation']} validation words right"
        )
        labels = [f"{label} {share:.2%}" for label, share in self.label_accuracy.items() if share is not None]
        lines = [kept, f"right by label, on the test words: {', '.join(labels)}"]
        target, hold = self.settings["target_accuracy"], self.settings["hold"]
        if not self.reached_target and self.validation_accuracy >= target:
            lines.append(f"it reached the target accuracy {target:.2%} without holding it for {hold} epochs (--hold)")
        return lines

    def facts(self) -> dict[str, object]:
        """The report as plain values, for the model file."""
        return {
            "ending": self.ending.value,
            "reached_target": self.reached_target,
            "epochs": self.epochs,
            "best_epoch": self.best_epoch,
            "attempts": self.attempts,
            "seconds": round(self.seconds, 3),
            "loss": self.loss,
            "validation_accuracy": self.validation_accuracy,
            "test_accuracy": self.test_accuracy,
            "label_accuracy": dict(self.label_accuracy),
            "words": dict(self.sizes),
            "longest_word": self.longest_word,
            "notes": list(self.notes),
            "settings": dict(self.settings),
            "data": dict(self.data),
        }


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """The network and the report, which is also in ``network.facts["training"]``."""

    network: RecurrentNetwork
    report: TrainingReport
