"""The originals that differential cases are judged by; they share no code with the package.

A network's is PyTorch's own layers in float64, everything else is a plain walk through a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from rnncheck import Alphabet
from rnncheck.automata.dfa import DFA
from rnncheck.models.network import Cell, RecurrentNetwork
from rnncheck.words import Codes


class Table:
    """The specification, walked letter by letter; shares no code with the library's automata."""

    def __init__(self, rows: list[list[int]], accepting: list[bool]) -> None:
        self.rows = rows
        self.accepting = accepting

    @classmethod
    def drawn(cls, rng: np.random.Generator, states: int, letters: int) -> Table:
        return cls(rng.integers(states, size=(states, letters)).tolist(), (rng.random(states) < 0.5).tolist())

    def accepts(self, word: Codes) -> bool:
        state = 0
        for letter in word:
            state = self.rows[state][letter]
        return self.accepting[state]

    def dfa(self, alphabet: Alphabet) -> DFA:
        return DFA(alphabet, self.rows, self.accepting)

    def changed(self, rng: np.random.Generator, changes: int) -> Table:
        accepting = list(self.accepting)
        for state in rng.integers(len(self.rows), size=changes).tolist():
            accepting[state] = not accepting[state]
        return Table(self.rows, accepting)


class Module(torch.nn.Module):
    """An embedding, recurrent layers and a linear one, with a network's weights: one logit after every letter."""

    def __init__(self, network: RecurrentNetwork) -> None:
        super().__init__()
        kinds: dict[Cell, Any] = {Cell.LSTM: torch.nn.LSTM, Cell.GRU: torch.nn.GRU}
        more = {} if network.cell in kinds else {"nonlinearity": network.cell.value.removeprefix("rnn_")}
        self.embedding = torch.nn.Embedding.from_pretrained(torch.from_numpy(network.inputs))
        self.recurrent = torch.nn.ModuleList()
        for layer in network.layers:
            made = kinds.get(network.cell, torch.nn.RNN)(
                layer.input_weight.shape[1], layer.hidden, batch_first=True, **more
            )
            names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
            arrays = (layer.input_weight, layer.recurrent_weight, layer.input_bias, layer.recurrent_bias)
            made.load_state_dict(dict(zip(names, map(torch.from_numpy, arrays), strict=True)))
            self.recurrent.append(made)
        self.head = torch.nn.Linear(network.head_weight.shape[1], 1)
        self.head.load_state_dict(
            {"weight": torch.from_numpy(network.head_weight), "bias": torch.from_numpy(network.head_bias)}
        )

    def logits(self, words: torch.Tensor) -> torch.Tensor:
        states = self.embedding(words)
        for layer in self.recurrent:
            states, _ = layer(states)
        return self.head(states).squeeze(2)  # type: ignore[no-any-return]

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.logits(words)[:, -1]


class TorchOriginal:
    """What PyTorch says of a network in float64, where that lies far enough from float32 and from the threshold."""

    def __init__(self, network: RecurrentNetwork) -> None:
        self._modules = (Module(network).double().eval(), Module(network).eval())
        self._head_bias = float(network.head_bias[0])
        self._level = math.log(network.threshold / (1 - network.threshold))

    @torch.no_grad()
    def prefixes(self, words: list[Codes]) -> Iterator[dict[Codes, bool | None]]:
        """The answers to all prefixes but the empty one of words of one length; None where there is doubt."""
        double, single = (module.logits(torch.tensor(words)).double().numpy() for module in self._modules)
        with np.errstate(all="ignore"):
            doubtful = ~(np.abs(double - self._level) > 10 * np.abs(double - single) + 1e-4)  # NaN is doubtful too
        for word, logits, doubts in zip(words, double > self._level, doubtful, strict=True):
            ends = zip(logits.tolist(), doubts.tolist(), strict=True)
            yield {word[: end + 1]: None if doubt else accepted for end, (accepted, doubt) in enumerate(ends)}

    def empty(self) -> bool | None:
        return None if abs(self._head_bias - self._level) < 1e-4 else self._head_bias > self._level
