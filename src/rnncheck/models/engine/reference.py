"""The reference of a recurrent network: one word alone, letter by letter, the textbook's formulas and nothing else.

This is the judge of the compiled engine, so it shares no code and no trick with it. It is slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.errors import ModelError, short_repr
from rnncheck.models.engine.threads import single_threaded_blas
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.words import Codes, format_word

Vector: TypeAlias = npt.NDArray[Any]

_MESSAGE_LIMIT = 200


class Judgement(NamedTuple):
    """What a reference says of one word: the distance from the decision, and the decision."""

    score: float
    accepted: bool


def reference_judgement(network: RecurrentNetwork, codes: Codes) -> Judgement:
    """Evaluate one word alone, in the precision of the weights.

    Raises ModelError where the outputs are not finite numbers: such a word has no answer.
    """
    with single_threaded_blas, np.errstate(all="ignore"):
        if codes:
            *_, outputs = _outputs(network, codes)
        else:
            outputs = _empty_outputs(network)
        return _judge(network, outputs, codes)


def reference_score(network: RecurrentNetwork, codes: Codes) -> float:
    """The score of one word alone."""
    return reference_judgement(network, codes).score


def reference_prefix_scores(network: RecurrentNetwork, codes: Codes) -> list[float]:
    """The scores of the prefixes of one word, the first letter's first; each is ``reference_score`` of its prefix."""
    with single_threaded_blas, np.errstate(all="ignore"):
        return [
            _judge(network, outputs, codes[:length]).score
            for length, outputs in enumerate(_outputs(network, codes), start=1)
        ]


def no_finite_score(network: RecurrentNetwork, codes: Codes, outputs: object) -> ModelError:
    """What to raise for a word on which the network overflows."""
    word = short_repr(format_word(network.alphabet.decode(codes)), _MESSAGE_LIMIT)
    return ModelError(
        f"the network puts out {short_repr(outputs)} on the word {word} ({len(codes)} letters), neither yes nor no; "
        "its values overflow: give a network whose values stay finite"
    )


def _outputs(network: RecurrentNetwork, codes: Codes) -> Iterator[Vector]:
    """The outputs of the head after each letter."""
    return _run(network, [network.inputs[code] for code in codes])


def _empty_outputs(network: RecurrentNetwork) -> Vector:
    if network.padding is not None:
        return next(_run(network, [network.padding]))
    top = np.zeros(network.layers[-1].hidden, dtype=network.layers[-1].recurrent_weight.dtype)
    return np.asarray(network.head_weight @ top + network.head_bias)


def _run(network: RecurrentNetwork, inputs: list[Vector]) -> Iterator[Vector]:
    hidden = [np.zeros(layer.hidden, dtype=layer.recurrent_weight.dtype) for layer in network.layers]
    memory = [np.zeros_like(h) for h in hidden]
    step = _STEPS[network.cell]
    for x in inputs:
        for number, layer in enumerate(network.layers):
            hidden[number], memory[number] = step(layer, x, hidden[number], memory[number])
            x = hidden[number]
        yield network.head_weight @ x + network.head_bias


def _judge(network: RecurrentNetwork, outputs: Vector, codes: Codes) -> Judgement:
    if not np.isfinite(outputs).all():
        raise no_finite_score(network, codes, outputs.tolist())
    if network.label is not None:
        others = np.delete(outputs, network.label)
        return Judgement(float(outputs[network.label]) - float(others.max()), bool(outputs.argmax() == network.label))
    score = float(outputs[0]) - network.logit_threshold
    return Judgement(score, bool(_sigmoid(outputs)[0] > network.threshold))


def _sigmoid(x: Vector) -> Vector:
    return np.asarray(1 / (1 + np.exp(-x)))


def _affine(weight: Vector, x: Vector, bias: Vector | None) -> Vector:
    product = weight @ x
    return np.asarray(product if bias is None else product + bias)


def _pair(layer: Layer, x: Vector, h: Vector) -> tuple[Vector, Vector]:
    """What the input and the recurrent weights contribute to all gates."""
    return _affine(layer.input_weight, x, layer.input_bias), _affine(layer.recurrent_weight, h, layer.recurrent_bias)


def _rnn_tanh(layer: Layer, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
    from_input, from_hidden = _pair(layer, x, h)
    return np.tanh(from_input + from_hidden), c


def _rnn_relu(layer: Layer, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
    from_input, from_hidden = _pair(layer, x, h)
    return np.maximum(from_input + from_hidden, 0), c


def _gru(layer: Layer, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
    from_input, from_hidden = _pair(layer, x, h)
    reset_x, update_x, new_x = np.split(from_input, 3)
    reset_h, update_h, new_h = np.split(from_hidden, 3)
    reset = _sigmoid(reset_x + reset_h)
    update = _sigmoid(update_x + update_h)
    new = np.tanh(new_x + reset * new_h)
    return (1 - update) * new + update * h, c


def _lstm(layer: Layer, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
    from_input, from_hidden = _pair(layer, x, h)
    enter, forget, new, output = np.split(from_input + from_hidden, 4)
    c = _sigmoid(forget) * c + _sigmoid(enter) * np.tanh(new)
    return _sigmoid(output) * np.tanh(c), c


_STEPS = {Cell.RNN_TANH: _rnn_tanh, Cell.RNN_RELU: _rnn_relu, Cell.GRU: _gru, Cell.LSTM: _lstm}
