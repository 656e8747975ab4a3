"""A person's module with gradients: its own forward on words, and the loss of its answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional

from rnncheck.models.foreign.torch.module import ModuleOptions, understood
from rnncheck.models.network import Floats
from rnncheck.words import Alphabet, IntArray

_LEAST = 1e-6  # of a probability, before its logarithm


class LearningModule:
    """The module as wrapping understands it: how words are put to it, and what its outputs mean.

    It is trained in evaluation mode, so that nothing is dropped at random and no statistics move.
    """

    def __init__(self, module: torch.nn.Module, alphabet: Alphabet, options: ModuleOptions) -> None:
        self._asker, self._encode, self.decision, self.takes_empty = understood(module, alphabet, options)
        self._normalised: bool | None = None  # of several outputs: whether they are probabilities

    def loss(self, letters: IntArray, answers: IntArray, weights: Floats) -> tuple[torch.Tensor, IntArray, IntArray]:
        """The mean loss over known answers (not -1) after some letters, and of each label how many, and how many right.

        ``letters`` (T × words) and ``answers`` (T + 1 × words) are those of a batch. Words of one length are asked
        together; the empty word is left out where the module does not take it.
        """
        logits, wanted = [], []
        for length in range(0 if self.takes_empty else 1, len(answers)):
            rows = np.flatnonzero(answers[length] >= 0)
            if len(rows):
                logits.append(self._logits(letters[:length, rows].T))
                wanted.append(torch.from_numpy(answers[length, rows]))
        if not logits:
            none = np.zeros(len(weights), dtype=np.int64)
            return torch.zeros((), requires_grad=True), none, none
        put_out, right = torch.cat(logits), torch.cat(wanted)
        weight = torch.from_numpy(weights).to(put_out.dtype)[right]
        if self.decision.outputs == 1:
            threshold = float(np.log(self.decision.threshold / (1 - self.decision.threshold)))
            scores = put_out[:, 0] - threshold
            losses = functional.binary_cross_entropy_with_logits(scores, right.to(scores.dtype), reduction="none")
            said = (scores.detach() > 0).long()
        else:
            losses, said = functional.cross_entropy(put_out, right, reduction="none"), put_out.detach().argmax(dim=1)
        counts = [np.bincount(some.numpy(), minlength=len(weights)) for some in (right, right[said == right])]
        return (losses * weight).mean(), counts[0], counts[1]

    def _logits(self, codes: IntArray) -> Any:
        raw = self._asker.with_gradients(self._encode(np.ascontiguousarray(codes)))
        put_out = raw.reshape(len(codes), -1)
        if self.decision.outputs == 1:
            return torch.logit(put_out, eps=_LEAST) if self.decision.probability else put_out
        if self._normalised is None:
            rows = put_out.detach()
            sums_to_one = torch.allclose(rows.sum(dim=1), torch.ones(len(rows), dtype=rows.dtype), atol=1e-4)
            self._normalised = bool((rows >= 0).all()) and sums_to_one
        return torch.log(put_out.clamp(min=_LEAST)) if self._normalised else put_out
