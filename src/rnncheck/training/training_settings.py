"""The settings of training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from rnncheck.errors import InputError, renamed_fields, short_repr
from rnncheck.models.network import Cell

CLASS_WEIGHTS = ("balanced", "none")


@renamed_fields(max_seconds="timeout")
@dataclass(frozen=True)
class TrainingSettings:
    """The network's shape and the curriculum of its training, validated once.

    Training stops when the validation accuracy has been at least ``target_accuracy`` for ``hold`` epochs in a row (more
    epochs make a network more confident, and better on long words), after ``epochs``, after ``timeout``, or when
    it is stuck. The network kept is the one of the epoch with the highest validation accuracy, the lowest loss among
    equals.

    ``class_weights`` are the weights of answers of each label: ``"balanced"`` (rare ones more, up to 20 times),
    ``"none"`` (all alike), or a number for each label, 1 where none is given.

    The seed decides everything that is random; ``threads`` may change the last bits. More threads help wide networks
    only.
    """

    cell: Cell = Cell.LSTM
    hidden: int = 32
    layers: int = 1
    embedding: int = 0  # size of a letter's vector, learned with the rest; 0: one-hot, nothing to learn
    epochs: int = 200
    batch_size: int = 64
    min_batches: int = 100  # of an epoch: few words are used several times, so that patience means the same
    learning_rate: float | None = None  # to begin with; None: what suits the cell
    clip: float = 1.0  # the largest norm of a gradient; what is above is scaled down to it
    target_accuracy: float = 0.999
    hold: int = 2
    patience: int = 8  # epochs without improvement until something changes: longer words, a lower rate, a restart
    restarts: int = 3
    class_weights: str | Mapping[str, float] = "balanced"
    first_length: int | None = None  # of the first, shortest words; None: 8, and more where too few are as short
    max_length: int | None = None  # train on no longer words (or prefixes), even where it would help
    timeout: float | None = None
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        trainable = [cell for cell in Cell if cell.trainable]
        if self.cell not in trainable:
            raise InputError(f"cell {self.cell!r} cannot be trained; choose {', '.join(map(str, trainable))}")
        for name in ("hidden", "layers", "epochs", "batch_size", "min_batches", "hold", "patience", "threads"):
            self._expect_integer(name, least=1)
        for name in ("embedding", "restarts", "seed"):
            self._expect_integer(name, least=0)
        for name in ("first_length", "max_length"):
            if getattr(self, name) is not None:
                self._expect_integer(name, least=1)
        for name in ("learning_rate", "timeout", "clip"):
            if getattr(self, name) is not None:
                self._expect_positive(name)
        if not 0.0 < self.target_accuracy <= 1.0:
            raise InputError(f"target_accuracy {self.target_accuracy} is not above 0 and at most 1")
        self._check_class_weights()

    def _check_class_weights(self) -> None:
        if isinstance(self.class_weights, Mapping):
            for label, weight in self.class_weights.items():
                if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
                    raise InputError(f"class weight {weight!r} of label {short_repr(label)} is not a positive number")
        elif self.class_weights not in CLASS_WEIGHTS:
            raise InputError(
                f"class_weights {short_repr(self.class_weights)} is not one of {', '.join(CLASS_WEIGHTS)}; "
                "choose one, or give a number for each label"
            )

    def weights_of(self, labels: Sequence[str]) -> npt.NDArray[np.float32] | None:
        """The weights chosen for these labels; None if they are balanced."""
        if self.class_weights == "balanced":
            return None
        chosen = self.class_weights if isinstance(self.class_weights, Mapping) else {}
        unknown = next((label for label in chosen if label not in labels), None)
        if unknown is not None:
            raise InputError(f"no word is labelled {short_repr(unknown)}; give weights of {', '.join(labels)}")
        return np.array([chosen.get(label, 1.0) for label in labels], dtype=np.float32)

    def _expect_integer(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{name} {value!r} is not a whole number of at least {least}")

    def _expect_positive(self, name: str) -> None:
        value = getattr(self, name)
        if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
            raise InputError(f"{name} {value!r} is not a positive number")

    @property
    def first_rate(self) -> float:
        """The learning rate to begin with. Cells without gates take smaller steps, or they forget what they knew."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 2e-3 if self.cell.gates == 1 else 5e-3

    def to_json(self) -> dict[str, object]:
        """The settings as plain values."""
        return asdict(self) | {"cell": self.cell.value, "learning_rate": self.first_rate}
