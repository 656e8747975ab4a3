"""Compile the network read off a foreign model, and check that it answers as that model does.

Everything that the model computes has been read before (see ``graph_flow``). This is the second check: the model is
called on each check word alone, and its outputs before and after its last activation are compared with the compiled
network's score. The words are random, short and long.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from rnncheck.errors import InputError, ModelError, short_repr
from rnncheck.models.black_box import Decision, Outputs, check_finite
from rnncheck.models.engine.compiled import CompiledNetwork, SelfCheck, SelfCheckError
from rnncheck.models.engine.mlp_head import KEEP_MEANING, HeadedNetwork, HeadLayer
from rnncheck.models.engine.reference import Judgement
from rnncheck.models.label_reference import LabelReference
from rnncheck.models.network import Cell, Floats, Layer, RecurrentNetwork
from rnncheck.models.protocol import SteppingModel
from rnncheck.words import Alphabet, Codes, IntArray, WordBatch, format_word

_LENGTHS = (1, 1, 2, 2, 2, 3, 3, *range(1, 41), 50, 60, 75, 99, 150, 300)  # a model may treat one length differently
_CLOSE = 1e-3  # relative to the range of the scores; another network differs by 0.1 or more
_ROUNDING = 4e-6  # relative to the largest score; float32 differs by 1e-7 to 1e-6
_MEANINGS: Mapping[str, bool | None] = {"auto": None, "logit": False, "probability": True}
_SAFE_THRESHOLDS = (1e-2, 1 - 1e-2)


class MismatchError(Exception):
    """Why a model cannot be compiled, or differs from the network read off it."""


class Original(Protocol):
    """A foreign model that also shows its logits."""

    def __call__(self, codes: IntArray, /) -> Outputs:
        """The outputs for words of equal length."""

    def logits_and_outputs(self, word: Codes, /) -> tuple[Outputs, Outputs]:
        """The logits and the outputs for one word alone; a MismatchError if it has no logits."""

    def largest_batch(self, letters: int, /) -> int:
        """How many words of one length may be evaluated in one call."""


@dataclass(frozen=True)
class OutputMeaning:
    """What the user says about a foreign model's outputs, and how to compile it."""

    threshold: float = 0.5
    label: int | None = None
    output: str = "auto"  # a single output is a "logit" or a "probability"; "auto" finds out
    dtype: npt.DTypeLike | None = None  # that of the weights
    threads: int | None = None
    labels: tuple[str, ...] | None = None  # names for several outputs
    own_labels: bool = False  # the labels are the model's own attribute, so they may not belong to its outputs

    def __post_init__(self) -> None:
        if self.output not in _MEANINGS:
            raise InputError(f"output {short_repr(self.output)} is unknown; choose one of {', '.join(_MEANINGS)}")

    @property
    def probability(self) -> bool | None:
        return _MEANINGS[self.output]

    def decision(self, outputs: int, probability: bool) -> Decision:
        """The decision for this number of outputs."""
        labels = None if outputs == 1 and self.own_labels else self.labels
        return Decision(outputs, self.threshold, self.label, probability, labels)


@dataclass(frozen=True)
class NetworkParts:
    """A recurrent classifier as read off a foreign model."""

    cell: Cell
    layers: tuple[Layer, ...]
    head_weight: Floats
    head_bias: Floats
    inputs: Floats  # one row per letter
    rest: tuple[HeadLayer, ...] = ()  # the layers of the head after its first linear layer
    activation: str = ""  # the last function, if it makes probabilities


@dataclass(frozen=True)
class Reference:
    """The original's own answer to one word alone; the score is read before the last activation."""

    original: Original
    decision: Decision
    empty: bool | None  # the answer to the empty word, if the original does not take it
    complete: bool = False  # all that the original computes was read, and no code of its own can do more

    def __call__(self, word: Codes) -> Judgement:
        if not word and self.empty is not None:
            return Judgement(math.inf if self.empty else -math.inf, self.empty)
        try:
            logits, outputs = self.original.logits_and_outputs(word)
        except MismatchError:  # an original that treats some words differently, such as the empty one
            outputs = self.original(np.array([word], dtype=np.int64))[0]
            check_finite(outputs, len(word))
            score = self.decision.scores(outputs[None])
        else:
            check_finite(outputs, len(word))
            score = _on_logits(self.decision).scores(logits[None])
        return Judgement(float(score[0]), bool(self.decision.accepts(outputs[None])[0]))

    def labeller(self, letters: int, *, together: bool) -> LabelReference:
        """A function that labels words of at least one letter."""
        most = self.original.largest_batch(letters) if together else 1
        return LabelReference(self.original, self.decision, letters, most)

    def for_label(self, label: int) -> Reference:
        """The same original with another accepting label."""
        return dataclasses.replace(self, decision=self.decision.for_label(label))


@dataclass(frozen=True)
class _Observations:
    """The original's outputs for some words, each alone: before and after its last activation."""

    words: WordBatch
    logits: Outputs
    outputs: Outputs

    @classmethod
    def of(cls, original: Original, letters: int, rng: np.random.Generator, longest: int | None) -> _Observations:
        lengths = [length if longest is None else min(length, longest) for length in _LENGTHS]
        words = WordBatch.from_codes([rng.integers(letters, size=length).tolist() for length in lengths])
        seen = [original.logits_and_outputs(word) for word in words]
        return cls(words, np.array([logits for logits, _ in seen]), np.array([outputs for _, outputs in seen]))

    def check_activation(self, name: str) -> None:
        """Raise a MismatchError unless this function, as it was read, turns the logits into the outputs."""
        if not np.allclose(_ACTIVATIONS[name](self.logits), self.outputs, rtol=1e-3, atol=1e-5):
            raise MismatchError(f"its output is not the {name or 'result'} of its last linear layer, as it was read")


def compile_and_check(
    parts: NetworkParts,
    original: Original,
    alphabet: Alphabet,
    meaning: OutputMeaning,
    empty: bool | None,
    facts: Mapping[str, object],
    rng: np.random.Generator,
    *,
    complete: bool = False,
    longest: int | None = None,
) -> CompiledNetwork | HeadedNetwork:
    """The compiled network whose reference is the original; a MismatchError says how they differ.

    ``complete`` says that ``parts`` is all that the original computes, whatever the word. No word of more than
    ``longest`` letters is evaluated.
    """
    seen = _Observations.of(original, len(alphabet), rng, longest)
    decision = _decision(seen, meaning, parts.activation)
    how = f"compiled and stepped; compared with the original on {len(seen.words)} words, each alone"
    facts = {**facts, "stepping": how}
    reference = Reference(original, decision, empty, complete)
    try:
        if parts.rest:
            return _headed(parts, alphabet, meaning, reference, facts, seen, longest)
        network = _network(parts, alphabet, facts, decision)
        compiled = CompiledNetwork(
            network, dtype=meaning.dtype, threads=meaning.threads, reference=reference, max_length=longest
        )
    except SelfCheckError as error:
        raise MismatchError(f"rounding makes it differ from itself: {error}") from None
    except ModelError as error:
        raise MismatchError(str(error)) from None
    _compare(compiled, seen, decision)
    return compiled


def _network(
    parts: NetworkParts, alphabet: Alphabet, facts: Mapping[str, object], decision: Decision
) -> RecurrentNetwork:
    arrays = {name: getattr(parts, name) for name in ("cell", "layers", "head_weight", "head_bias", "inputs")}
    options = {name: getattr(decision, name) for name in ("threshold", "label", "labels")}
    return RecurrentNetwork(alphabet=alphabet, facts=facts, **options, **arrays)


def _headed(
    parts: NetworkParts,
    alphabet: Alphabet,
    meaning: OutputMeaning,
    reference: Reference,
    facts: Mapping[str, object],
    seen: _Observations,
    longest: int | None,
) -> HeadedNetwork:
    """The network whose head has more than one layer."""
    width = len(parts.head_weight)
    network = _network(parts, alphabet, {}, Decision(width, label=0 if width > 1 else None))
    trunk = CompiledNetwork(network, dtype=meaning.dtype, threads=meaning.threads, max_length=longest)
    decision = reference.decision
    last = next((layer.name for layer in reversed(parts.rest) if layer.name not in KEEP_MEANING), "linear")
    if decision.outputs == 1 and not decision.probability and last != "linear" and meaning.probability is None:
        raise MismatchError(f"its last function is {last}, which does not say what its output is (output='logit' does)")
    model = HeadedNetwork(trunk, parts.rest, _on_logits(decision), reference, {**facts, **decision.describe()})
    largest = apart = 0.0
    for each in decision.by_label():  # the margin must be enough for every label
        of_label = model if each == decision else model.for_label(each.label or 0)
        expected, difference = _compare(of_label, seen, each)
        largest, apart = max(largest, float(np.abs(expected).max())), max(apart, difference)
    return model.with_self_check(SelfCheck(len(seen.words), apart, largest))


def probability_by_range(original: Callable[[IntArray], Outputs], letters: int, rng: np.random.Generator) -> bool:
    """Whether all outputs for 32 words lie between 0 and 1."""
    words = [rng.integers(letters, size=(1, length)) for length in range(1, 33)]
    values = np.concatenate([original(word) for word in words])
    return bool(((values >= 0) & (values <= 1)).all())


def _decision(seen: _Observations, meaning: OutputMeaning, activation: str) -> Decision:
    """The decision, given the last activation."""
    outputs = seen.outputs.shape[1]
    seen.check_activation(activation)
    probability = activation == "sigmoid"
    decision = meaning.decision(outputs, probability)
    if outputs == 1 and activation not in ("", "sigmoid"):
        raise MismatchError(f"its output is the {activation} of one number, which is the same for every word")
    if outputs > 1 and probability:
        raise MismatchError(
            "its outputs are sigmoids of several numbers, which float32 makes equal where they are large"
        )
    if outputs == 1:
        if meaning.probability not in (None, probability):
            raise MismatchError(f"output={meaning.output!r} was given")
        if probability and not _SAFE_THRESHOLDS[0] <= meaning.threshold <= _SAFE_THRESHOLDS[1]:
            raise MismatchError(f"at the threshold {meaning.threshold} float32 probabilities are coarser than logits")
    return decision


def _compare(model: SteppingModel, seen: _Observations, decision: Decision) -> tuple[Outputs, float]:
    """The original's scores, and the largest difference of the model's; a MismatchError if that is too large."""
    expected = _on_logits(decision).scores(seen.logits)
    scores = model.scores_batch(seen.words)
    tolerance = _CLOSE * np.ptp(expected) + _ROUNDING * max(1.0, float(np.abs(expected).max()))
    apart = ~(np.abs(scores - expected) <= tolerance)
    if apart.any():
        first = int(np.flatnonzero(apart)[0])
        word = format_word(model.alphabet.decode(seen.words[first]))
        raise MismatchError(
            f"on the word {short_repr(word)} it scores {expected[first]:.6g}, "
            f"and its recurrent layers with its linear layers alone would score {scores[first]:.6g}"
        )
    return expected, float(np.abs(scores - expected).max())


def _on_logits(decision: Decision) -> Decision:
    """The same decision, before the last activation."""
    return dataclasses.replace(decision, probability=False)


def _sigmoid(logits: Outputs) -> Outputs:
    return np.asarray(np.exp(-np.logaddexp(0.0, -logits)))


def _log_softmax(logits: Outputs) -> Outputs:
    return np.asarray(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))


def _softmax(logits: Outputs) -> Outputs:
    return np.asarray(np.exp(_log_softmax(logits)))


def _identity(logits: Outputs) -> Outputs:
    return logits


_ACTIVATIONS: Mapping[str, Callable[[Outputs], Outputs]] = {
    "": _identity,
    "sigmoid": _sigmoid,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
}
