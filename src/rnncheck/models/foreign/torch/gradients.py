"""The user's module with gradients: its own forward on words, and the loss of its answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional

from rnncheck.models.foreign.torch.module import ModuleOptions, analyse_module
from rnncheck.models.network import Floats
from rnncheck.words import Alphabet, IntArray

_LEAST = 1e-6  # of a probability, before its logarithm


class TrainableModule:
    """The module as ``wrap`` reads it: how words are passed to it, and what its outputs mean.

    It is trained in evaluation mode, so that nothing is dropped at random and no statistics move.
    """

    def __init__(self, module: torch.nn.Module, alphabet: Alphabet, options: ModuleOptions) -> None:
        self._caller, self._encode, self.decision, self.takes_empty = analyse_module(module, alphabet, options)
        self._normalised: bool | None = None  # whether several outputs are probabilities

    def loss(self, letters: IntArray, answers: IntArray, weights: Floats) -> tuple[torch.Tensor, IntArray, IntArray]:
        """The mean loss over known answers (not -1), and for each label the number of answers and of correct ones.

        ``letters`` (T × words) and ``answers`` (T + 1 × words) are those of a batch. Words of one length are evaluated
        together; the empty word is left out if the module does not take it.
        """
        logits, targets = [], []
        for length in range(0 if self.takes_empty else 1, len(answers)):
            rows = np.flatnonzero(answers[length] >= 0)
            if len(rows):
                logits.append(self._logits(letters[:length, rows].T))
                targets.append(torch.from_numpy(answers[length, rows]))
        if not logits:
            none = np.zeros(len(weights), dtype=np.int64)
            return torch.zeros((), requires_grad=True), none, none
        outputs, right = torch.cat(logits), torch.cat(targets)
        weight = torch.from_numpy(weights).to(outputs.dtype)[right]
        if self.decision.outputs == 1:
            threshold = float(np.log(self.decision.threshold / (1 - self.decision.threshold)))
            scores = outputs[:, 0] - threshold
            losses = functional.binary_cross_entropy_with_logits(scores, right.to(scores.dtype), reduction="none")
            predicted = (scores.detach() > 0).long()
        else:
            losses, predicted = (
                functional.cross_entropy(outputs, right, reduction="none"),
                outputs.detach().argmax(dim=1),
            )
        counts = [np.bincount(some.numpy(), minlength=len(weights)) for some in (right, right[predicted == right])]
        return (losses * weight).mean(), counts[0], counts[1]

    def _logits(self, codes: IntArray) -> Any:
        raw = self._caller.with_gradients(self._encode(np.ascontiguousarray(codes)))
        outputs = raw.reshape(len(codes), -1)
        if self.decision.outputs == 1:
            return torch.logit(outputs, eps=_LEAST) if self.decision.probability else outputs
        if self._normalised is None:
            rows = outputs.detach()
            sums_to_one = torch.allclose(rows.sum(dim=1), torch.ones(len(rows), dtype=rows.dtype), atol=1e-4)
            self._normalised = bool((rows >= 0).all()) and sums_to_one
        return torch.log(outputs.clamp(min=_LEAST)) if self._normalised else outputs
