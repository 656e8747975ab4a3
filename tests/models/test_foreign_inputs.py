"""Modules with a padding column, modules that raise on some lengths, and weights beyond all measure."""

import contextlib
import dataclasses
import warnings
from typing import Any

import numpy as np
import pytest

from rnncheck import CompiledNetwork, ModelError, wrap
from rnncheck.models.cells import Cell
from support.networks import random_network

LETTERS = ["a", "b", "c", "d", "e"]


def one_hot_module(columns: int, *, longest: int = 10_000) -> Any:
    torch = pytest.importorskip("torch")
    nn: Any = torch.nn

    class OneHot(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru = nn.GRU(columns, 4, batch_first=True)
            self.head = nn.Linear(4, 1)

        def forward(self, vectors):
            if vectors.shape[1] > longest:
                raise RuntimeError("Expected sequence length to be\nlarger than 0 in RNN")
            return self.head(self.gru(vectors)[0][:, -1])

    torch.manual_seed(0)
    return OneHot()


def test_a_one_hot_module_with_a_padding_column_is_taken_and_said_to_be() -> None:
    model = wrap(one_hot_module(6), LETTERS)
    facts = model.describe()
    told = [*facts.get("notes", []), *facts.get("facts", {}).get("notes", [])]
    assert any("row 0 of the one-hot input is padding, letters start at row 1 (first_row=1)" in note for note in told)
    plain = wrap(one_hot_module(6), LETTERS, first_row=0)
    words = [(letter,) for letter in LETTERS]
    assert model.scores_batch(words)[:-1].tolist() == pytest.approx(plain.scores_batch(words)[1:].tolist())


def test_a_module_that_raises_on_some_lengths_is_an_error_of_one_line() -> None:
    model = wrap(one_hot_module(5, longest=200), LETTERS)
    assert "compares the length of the word" in model.describe()["stepping"]
    with pytest.raises(ModelError, match="the module raised RuntimeError for 1 words of 300 letters") as caught:
        model.accepts_batch([("a",) * 300])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("cell", [Cell.RNN_TANH, Cell.RNN_RELU, Cell.GRU, Cell.LSTM])
def test_huge_weights_give_no_warnings_of_numpy(cell) -> None:
    network = random_network(cell, (3,))

    def huge(array):
        return np.where(array > 0, np.float32(3e38), np.float32(-3e38)).astype(np.float32)

    layers = tuple(
        dataclasses.replace(layer, **{part: huge(getattr(layer, part)) for part in layer.__dataclass_fields__})
        for layer in network.layers
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for head in (network.head_weight, huge(network.head_weight)):
            grown = dataclasses.replace(network, layers=layers, head_weight=head, head_bias=huge(network.head_bias))
            with contextlib.suppress(ModelError):  # refused where the values overflow
                CompiledNetwork(grown)


def test_a_module_that_puts_out_nan_is_said_to() -> None:
    torch = pytest.importorskip("torch")
    module = one_hot_module(5)
    with torch.no_grad():
        module.head.bias.fill_(float("nan"))
    with pytest.raises(ModelError, match=r"puts out .nan. for a word of 1 letters"):
        wrap(module, LETTERS)
