"""The labels that a foreign model itself gives to words: all labels from one call, words of one length together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rnncheck.models.black_box import Decision, Outputs, calibrate, check_finite, equal_lengths
from rnncheck.models.labelled import labels_by_score
from rnncheck.words import Codes, IntArray, WordBatch


class LabelReference:
    """The labels that the original gives to words of at least one letter.

    At most ``together`` words are evaluated in one call. Float arithmetic depends on the shape of a batch, so a word
    with an ambiguous label is evaluated again, alone. So is every word if the words of a batch influence one another.
    """

    def __init__(
        self, original: Callable[[IntArray], Outputs], decision: Decision, letters: int, together: int = 1
    ) -> None:
        self._original, self._decision = original, decision
        self._together, self._margin = together, 0.0
        if together > 1:
            rng = np.random.default_rng(0)
            self._together, self._margin = calibrate(original, decision, letters, together, rng)

    def __call__(self, words: WordBatch) -> IntArray:
        labels = np.empty(len(words), dtype=np.int64)
        for rows, codes in equal_lengths(words, self._together):
            if self._together == 1:
                labels[rows] = self._alone(words[int(rows[0])])
                continue
            outputs = self._original(codes)
            with np.errstate(invalid="ignore"):  # a value that is not finite is evaluated again, alone: an error then
                scores = np.stack([each.scores(outputs) for each in self._decision.by_label()], axis=1)
            found, ambiguous = labels_by_score(
                scores if scores.shape[1] > 1 else np.hstack([-scores, scores]), self._margin
            )
            found[ambiguous] = [self._alone(words[row]) for row in rows[ambiguous].tolist()]
            labels[rows] = found
        return labels

    def _alone(self, word: Codes) -> int:
        outputs = self._original(np.array([word], dtype=np.int64))
        check_finite(outputs, len(word))
        if self._decision.label is None:
            return int(self._decision.accepts(outputs)[0])
        return int(outputs[0].argmax())
