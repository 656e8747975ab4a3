"""What a foreign model says of words, by itself: all labels from one call, and words of one length together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rnncheck.models.black_box import Decision, Outputs, calibrated, check_finite, equal_lengths
from rnncheck.models.labelled import labels_by_score
from rnncheck.words import Codes, IntArray, WordBatch


class LabelReference:
    """The label of each of some words of a letter and more, by the original.

    At most ``together`` words are asked in one call. Float arithmetic depends on the shape of a batch, so a word whose
    label is in doubt is asked again, alone, and so is every word of an original whose words influence one another.
    """

    def __init__(
        self, original: Callable[[IntArray], Outputs], decision: Decision, letters: int, together: int = 1
    ) -> None:
        self._original, self._decision = original, decision
        self._together, self._margin = together, 0.0
        if together > 1:
            rng = np.random.default_rng(0)
            self._together, self._margin = calibrated(original, decision, letters, together, rng)

    def __call__(self, words: WordBatch) -> IntArray:
        labels = np.empty(len(words), dtype=np.int64)
        for rows, codes in equal_lengths(words, self._together):
            if self._together == 1:
                labels[rows] = self._alone(words[int(rows[0])])
                continue
            outputs = self._original(codes)
            with np.errstate(invalid="ignore"):  # what is no finite number is asked again, alone, and is an error then
                scores = np.stack([each.scores(outputs) for each in self._decision.each()], axis=1)
            found, unsure = labels_by_score(
                scores if scores.shape[1] > 1 else np.hstack([-scores, scores]), self._margin
            )
            found[unsure] = [self._alone(words[row]) for row in rows[unsure].tolist()]
            labels[rows] = found
        return labels

    def _alone(self, word: Codes) -> int:
        outputs = self._original(np.array([word], dtype=np.int64))
        check_finite(outputs, len(word))
        if self._decision.label is None:
            return int(self._decision.accepts(outputs)[0])
        return int(outputs[0].argmax())
