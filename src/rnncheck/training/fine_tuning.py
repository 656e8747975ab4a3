"""Training a network further on words with known answers, at some prefixes or all: no curriculum, no restarts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rnncheck.training.batches import UNKNOWN, Batch, Stage
from rnncheck.words import IntArray

if TYPE_CHECKING:
    import torch

    from rnncheck.models.network import Floats


class Trainable(Protocol):
    """Weights that a loss can change."""

    def parameters(self) -> list[torch.Tensor]: ...

    def loss(self, batch: Batch, weights: Floats) -> tuple[torch.Tensor, IntArray, IntArray]:
        """The mean loss over the known answers, and for each label the number of known and of correct answers."""


@dataclass(frozen=True)
class FineTuning:
    """The settings of further training: at most ``epochs`` of at least ``min_batches``, fewer once all is correct."""

    epochs: int = 30
    batch_size: int = 32
    min_batches: int = 60
    learning_rate: float = 2e-3
    clip: float = 1.0
    hold: int = 3  # epochs in a row in which every answer was right


@dataclass(frozen=True)
class FineTuned:
    """The progress or the result: words, epochs begun, and the known and the correct answers of the last epoch."""

    words: int
    epochs: int
    answers: int
    right: int

    @property
    def accuracy(self) -> float:
        """The share of known answers that were right."""
        return self.right / max(1, self.answers)


def fine_tune(
    trainable: Trainable,
    stage: Stage,
    labels: int,
    rng: np.random.Generator,
    settings: FineTuning,
    proceed: Callable[[FineTuned], bool] = lambda now: True,
) -> FineTuned:
    """Train until every known answer is right for some epochs in a row; the rate falls to a tenth on the way.

    ``proceed`` is called before each batch; False ends the training, with the weights so far.
    """
    from rnncheck.training.torch_network import AdamOptimizer

    optimizer = AdamOptimizer(trainable.parameters(), settings.clip)
    weights = stage.label_weights(labels)
    longest = int(stage.words.lengths.max(initial=0))
    held, whole = 0, FineTuned(len(stage.words), 0, 0, 0)  # the last whole epoch
    for epoch in range(1, settings.epochs + 1):
        rate = settings.learning_rate * 0.1 ** ((epoch - 1) / settings.epochs)
        batches, now = 0, FineTuned(len(stage.words), epoch, 0, 0)
        while batches < settings.min_batches:
            for batch in stage.shuffled_batches(rng, settings.batch_size, longest):
                if not proceed(now):
                    return whole if whole.epochs else now
                batches += 1
                if (batch.answers == UNKNOWN).all():
                    continue
                loss, known, right = trainable.loss(batch, weights)
                optimizer.step(loss, rate)
                now = replace(now, answers=now.answers + int(known.sum()), right=now.right + int(right.sum()))
        held, whole = held + 1 if now.right == now.answers else 0, now
        if held == settings.hold:
            break
    return whole
