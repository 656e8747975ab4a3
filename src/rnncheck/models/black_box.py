"""Black-box models, which are called on whole words, and what their outputs mean.

Words of equal length are evaluated together, so nothing is ever padded. A :class:`Decision` turns the outputs of a
model (one number or several) into a score, which is positive where the word is accepted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import Mask
from rnncheck.errors import ModelError, short_repr
from rnncheck.models.fingerprint import digest_of
from rnncheck.models.label_names import check_labels, number_names
from rnncheck.models.protocol import LARGEST_NOISE, NOISE_FACTOR, Model, Scores, resolve_near_threshold
from rnncheck.models.thresholds import check_threshold
from rnncheck.words import Alphabet, Codes, IntArray, WordBatch, encode_batch, format_word

Outputs: TypeAlias = npt.NDArray[np.float64]  # words × outputs
Evaluate: TypeAlias = Callable[[IntArray], Outputs]  # words of equal length (words × letters) to outputs

DEFAULT_BATCH = 256
DEFAULT_MARGIN = 1e-5


@dataclass(frozen=True)
class Decision:
    """How outputs become an answer, accept or reject.

    A single output is compared with ``threshold``: directly if it is a probability, else through the sigmoid. Of
    several outputs the largest wins, and ``label`` is the one that accepts.
    """

    outputs: int
    threshold: float = 0.5
    label: int | None = None
    probability: bool = False
    labels: tuple[str, ...] | None = None  # the names of several outputs, where they have names

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        check_labels(self.outputs, self.label, self.labels)
        if self.outputs > 1 and self.threshold != 0.5:
            raise ModelError(
                f"threshold {self.threshold} was given, but of {self.outputs} outputs the largest wins; leave it out"
            )

    def describe(self) -> dict[str, object]:
        """The decision as facts for a report."""
        if self.label is not None:
            if self.labels is None:
                return {"outputs": self.outputs, "label": self.label}
            return {"outputs": self.outputs, "label": self.labels[self.label], "labels": list(self.labels)}
        return {"outputs": 1, "output": "probability" if self.probability else "logit", "threshold": self.threshold}

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """The names of several outputs, or their numbers; None for a single output."""
        return None if self.outputs == 1 else self.labels or number_names(self.outputs)

    def for_label(self, label: int) -> Decision:
        """The same decision with another label that accepts."""
        return dataclasses.replace(self, label=label)

    def by_label(self) -> list[Decision]:
        """One decision for each label that may be the accepting one."""
        return [self] if self.outputs == 1 else [self.for_label(label) for label in range(self.outputs)]

    def scores(self, outputs: Outputs) -> Scores:
        """One score per word; positive scores accept."""
        if self.label is not None:
            others = np.delete(outputs, self.label, axis=1)
            return np.asarray(outputs[:, self.label] - others.max(axis=1))
        return np.asarray(outputs[:, 0] - (self.threshold if self.probability else logit(self.threshold)))

    def accepts(self, outputs: Outputs) -> Mask:
        """One answer per word; among equal largest outputs the first one wins."""
        if self.label is not None:
            return np.asarray(outputs.argmax(axis=1) == self.label)
        return np.asarray(self.scores(outputs) > 0.0)


def check_finite(outputs: npt.NDArray[Any], length: int) -> None:
    """Raise a ModelError if outputs are not finite numbers: such a word has no answer."""
    if not np.isfinite(outputs).all():
        raise ModelError(
            f"the model puts out {short_repr(outputs.ravel().tolist())} for a word of {length} letters, which is "
            "neither yes nor no; give a model whose values stay finite"
        )


def logit(probability: float | npt.NDArray[np.float64]) -> Any:
    """The inverse of the sigmoid."""
    return np.log(probability) - np.log1p(-np.asarray(probability))


class BlackBoxModel(Model):
    """A model that is called on whole words: slower than a stateful one, but nothing of its inside needs to be known.

    ``evaluate`` gets at most ``batch_size`` words of one length. A word whose score is within ``margin`` of the
    threshold is evaluated again, alone, and that answer counts. ``empty`` is the answer to the empty word if the model
    does not take it, and None if it does.
    """

    def __init__(
        self,
        alphabet: Alphabet,
        evaluate: Evaluate,
        decision: Decision,
        *,
        empty: bool | None = None,
        batch_size: int = DEFAULT_BATCH,
        margin: float = DEFAULT_MARGIN,
        facts: Mapping[str, object] | None = None,
    ) -> None:
        self.alphabet = alphabet
        self.margin = margin
        self._evaluate = evaluate
        self._decision = decision
        self._empty = empty
        self._batch_size = batch_size
        self._facts = dict(facts or {})
        self.label_names = decision.label_names

    def for_label(self, label: int) -> BlackBoxModel:
        other = BlackBoxModel(
            self.alphabet, self._evaluate, self._decision.for_label(label),
            empty=self._empty, batch_size=self._batch_size, margin=self.margin, facts=self._facts,
        )  # fmt: skip
        other.max_length = self.max_length
        return other

    def label_scores_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Scores:
        """The lead of each label over all others, words × labels, from one call of the model."""
        batch, decisions = encode_batch(self.alphabet, words), self._decision.by_label()
        scores = np.zeros((len(batch), len(decisions)))
        for rows, codes in self._groups(batch):
            outputs = self._outputs(codes)
            scores[rows] = np.stack([decision.scores(outputs) for decision in decisions], axis=1)
        return scores

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        batch = encode_batch(self.alphabet, words)
        return resolve_near_threshold(self.scores_batch(batch), self.margin, batch.__getitem__, self.reference_answer)

    def scores_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Scores:
        """Distances from the threshold, accurate to about ``margin``; infinite where the answer is ``empty``."""
        batch = encode_batch(self.alphabet, words)
        scores = np.zeros(len(batch))
        for rows, codes in self._groups(batch):
            scores[rows] = self._decision.scores(self._outputs(codes))
        if self._empty is not None:
            scores[batch.lengths == 0] = np.inf if self._empty else -np.inf
        return scores

    def reference_answer(self, codes: Codes) -> bool:
        """The answer to one word, evaluated alone."""
        if not codes and self._empty is not None:
            return self._empty
        return bool(self._decision.accepts(self._outputs(np.array([codes], dtype=np.int64)))[0])

    def describe(self) -> Mapping[str, Any]:
        together = f"up to {self._batch_size} of equal length together" if self._batch_size > 1 else "one at a time"
        return {
            **self._facts,
            **self._decision.describe(),
            "letters": len(self.alphabet),
            "queries": f"black box, {together}",
            "margin": self.margin,
        }

    def fingerprint(self) -> str:
        return digest_of("whole words", list(self.alphabet), self._evaluate, self._decision, self._empty,
                         self._batch_size, self.margin)  # fmt: skip

    def _groups(self, batch: WordBatch) -> Iterator[tuple[IntArray, IntArray]]:
        for rows, codes in equal_lengths(batch, self._batch_size):
            if codes.shape[1] or self._empty is None:
                yield rows, codes

    def _outputs(self, codes: IntArray) -> Outputs:
        outputs = self._evaluate(codes)
        if outputs.shape != (len(codes), self._decision.outputs):
            raise ModelError(
                f"the model gave outputs of shape {outputs.shape} for {len(codes)} words of {codes.shape[1]} letters; "
                f"expected {self._decision.outputs} for each word"
            )
        bad = ~np.isfinite(outputs).all(axis=1)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            word = format_word(self.alphabet.decode(codes[row]))
            raise ModelError(
                f"the model gave {short_repr(outputs[row].tolist())} for the word {short_repr(word)}; not a number"
            )
        return outputs


def equal_lengths(batch: WordBatch, most: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Split a batch into groups of at most ``most`` words of one length: their positions, and their letters."""
    lengths = batch.lengths
    order = np.argsort(lengths, kind="stable")
    cuts = np.flatnonzero(np.diff(lengths[order])) + 1
    for same in np.split(order, cuts):
        for start in range(0, len(same), most):
            rows = same[start : start + most]
            length = int(lengths[rows[0]])
            letters = batch.offsets[rows][:, None] + np.arange(length)
            yield rows, batch.codes[letters].astype(np.int64)


def calibrate(
    evaluate: Evaluate,
    decision: Decision,
    letters: int,
    batch_size: int,
    rng: np.random.Generator,
    longest: int | None = None,
) -> tuple[int, float]:
    """Compare scores of words evaluated together and alone; return the batch size to use and the margin it needs.

    Float arithmetic explains small differences, which the margin covers. Larger ones mean that words influence one
    another; then each word is evaluated alone.
    """
    noise, scale = 0.0, 1.0
    together = min(batch_size, 16)
    for length in (3, 20, 60):
        codes = rng.integers(letters, size=(together, length if longest is None else min(length, longest)))
        outputs, apart = evaluate(codes), np.concatenate([evaluate(codes[i : i + 1]) for i in range(together)])
        for each in decision.by_label():  # the margin must be enough for every label
            alone = each.scores(apart)
            noise = max(noise, float(np.abs(alone - each.scores(outputs)).max()))
            scale = max(scale, float(np.abs(alone).max()))
    if not noise <= LARGEST_NOISE * scale:
        return 1, DEFAULT_MARGIN
    return batch_size, max(DEFAULT_MARGIN, NOISE_FACTOR * noise)
