"""The reference of a recurrent network: one word alone, letter by letter, the textbook's formulas and nothing else.

The compiled engine is compared with it, so it shares no code and no trick with the engine. It is slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rnncheck.errors import ModelError, short_repr
from rnncheck.models.cells.cell_type import Vector
from rnncheck.models.engine.threads import single_threaded_blas
from rnncheck.models.network import RecurrentNetwork
from rnncheck.words import Codes, format_word

_MESSAGE_LIMIT = 200


class Judgement(NamedTuple):
    """A reference's result for one word: the distance from the threshold, and the answer."""

    score: float
    accepted: bool


def reference_judgement(network: RecurrentNetwork, codes: Codes) -> Judgement:
    """Evaluate one word alone, in the precision of the weights.

    Raises ModelError where the outputs are not finite numbers: such a word has no answer.
    """
    with single_threaded_blas, np.errstate(all="ignore"):
        if codes:
            *_, top = _run(network, [network.inputs[code] for code in codes])
            outputs = _head(network, top)
        else:
            outputs = _empty_outputs(network)
        return judge_outputs(network, outputs, codes)


def reference_score(network: RecurrentNetwork, codes: Codes) -> float:
    """The score of one word alone."""
    return reference_judgement(network, codes).score


def reference_prefix_scores(network: RecurrentNetwork, codes: Codes) -> list[float]:
    """The scores of the prefixes of one word, the first letter's first; each is ``reference_score`` of its prefix."""
    return [judgement.score for judgement in _along(network, codes)]


def reference_answers_along(network: RecurrentNetwork, codes: Codes) -> list[bool]:
    """The answers to the prefixes of one word, the first letter's first."""
    return [judgement.accepted for judgement in _along(network, codes)]


def _along(network: RecurrentNetwork, codes: Codes) -> list[Judgement]:
    with single_threaded_blas, np.errstate(all="ignore"):
        return [
            judge_outputs(network, outputs, codes[:length])
            for length, outputs in enumerate(_outputs(network, codes), start=1)
        ]


def not_finite_error(network: RecurrentNetwork, codes: Codes, outputs: object) -> ModelError:
    """The error for a word on which the network overflows."""
    word = short_repr(format_word(network.alphabet.decode(codes)), _MESSAGE_LIMIT)
    return ModelError(
        f"the network outputs {short_repr(outputs)} on the word {word} ({len(codes)} letters), which is no answer; "
        "its values overflow: give a network whose values stay finite"
    )


def _outputs(network: RecurrentNetwork, codes: Codes) -> Iterator[Vector]:
    """The outputs of the head after each letter."""
    return (_head(network, top) for top in _run(network, [network.inputs[code] for code in codes]))


def _empty_outputs(network: RecurrentNetwork) -> Vector:
    if network.padding is not None:
        return _head(network, next(_run(network, [network.padding])))
    top = np.zeros(network.layers[-1].hidden, dtype=network.layers[-1].recurrent_weight.dtype)
    return _head(network, top)


def _run(network: RecurrentNetwork, inputs: list[Vector]) -> Iterator[Vector]:
    """The top layer's hidden state after each input."""
    hidden = [np.zeros(layer.hidden, dtype=layer.recurrent_weight.dtype) for layer in network.layers]
    memory = [np.zeros_like(h) for h in hidden]
    cell = network.cell.kind
    for x in inputs:
        for number, layer in enumerate(network.layers):
            hidden[number], memory[number] = cell.step(layer, x, hidden[number], memory[number])
            x = hidden[number]
        yield x


def _head(network: RecurrentNetwork, top: Vector) -> Vector:
    return np.asarray(network.head_weight @ top + network.head_bias)


def judge_outputs(network: RecurrentNetwork, outputs: Vector, codes: Codes) -> Judgement:
    """The score and the answer that the head's outputs give for a word."""
    if not np.isfinite(outputs).all():
        raise not_finite_error(network, codes, outputs.tolist())
    score = float(network.scores(outputs[None])[0])
    return Judgement(score, score > 0.0 if network.label is None else bool(outputs.argmax() == network.label))
