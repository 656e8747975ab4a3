"""A recurrent network whose weights are tensors: it steps states and boxes of states, and turns back into arrays."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from rnncheck.models.cells.cell_type import Layer
from rnncheck.models.network import Floats, RecurrentNetwork
from rnncheck.models.semantics import Numbers, Semantics
from rnncheck.training.certified.tensor_domains import Boxes, OnBoxes, OnPoints, Points

_PARTS = ("input_weight", "recurrent_weight", "input_bias", "recurrent_bias")


class TrainableNetwork:
    """The weights of a network, and a guesser, which reads the state of an automaton off a state of the network.

    The guesser is trained with the rest and then dropped. States are h₁ … hₙ of all layers one after another, then
    c₁ … cₙ for cells with a memory.
    """

    def __init__(self, network: RecurrentNetwork, guesses: int, rng: np.random.Generator) -> None:
        self._network = network
        self._kind = network.cell.kind
        self._sizes = [layer.hidden for layer in network.layers]
        self._hidden = sum(self._sizes)
        self.width = self._hidden * (2 if self._kind.memory else 1)
        self._top = slice(self._hidden - self._sizes[-1], self._hidden)
        ends = np.cumsum(self._sizes).tolist()
        own = [slice(end - size, end) for end, size in zip(ends, self._sizes, strict=True)]
        beyond = self._hidden if self._kind.memory else self.width
        memory = [slice(beyond + each.start, beyond + each.stop) for each in own]  # beyond the last number: empty
        self._places = own + memory
        self._one_hot = np.array_equal(network.inputs, np.eye(*network.inputs.shape))
        named: dict[str, Any] = {"inputs": network.inputs, "head_weight": network.head_weight,
                                 "head_bias": network.head_bias}  # fmt: skip
        for number, layer in enumerate(network.layers):
            for part in _PARTS:
                value = getattr(layer, part)
                named[f"{part}_{number}"] = np.zeros(len(layer.input_weight)) if value is None else value
        named["guess_weight"] = rng.standard_normal((guesses, self._sizes[-1])) / np.sqrt(self._sizes[-1])
        named["guess_bias"] = np.zeros(guesses)
        self._tensors = {name: torch.tensor(np.asarray(value, dtype=np.float32)) for name, value in named.items()}
        for tensor in self.parameters():
            tensor.requires_grad_()
        # A layer of tensors: the equations of cells work on these too.
        self._layers = [
            Layer(*(self._tensors[f"{part}_{number}"] for part in _PARTS)) for number in range(len(network.layers))
        ]

    def parameters(self) -> list[Tensor]:
        """The trained tensors, which are all but one-hot inputs."""
        return [tensor for name, tensor in self._tensors.items() if name != "inputs" or not self._one_hot]

    def readers(self) -> list[Tensor]:
        """The parameters that only read off states: the head and the guesser."""
        return [tensor for name, tensor in self._tensors.items() if name.startswith(("head_", "guess_"))]

    def arrays(self) -> dict[str, Floats]:
        """A copy of all numbers by name, the guesser's included."""
        return {name: tensor.detach().numpy().copy() for name, tensor in self._tensors.items()}

    def load(self, arrays: dict[str, Floats]) -> None:
        with torch.no_grad():
            for name, tensor in self._tensors.items():
                tensor.copy_(torch.from_numpy(arrays[name]))

    def to_network(self, weights: dict[str, Floats] | None = None) -> RecurrentNetwork:
        """The network as plain arrays; with these numbers instead of its own, where they are given."""
        weights = weights or self.arrays()
        layers = tuple(
            Layer(*(weights[f"{part}_{number}"] for part in _PARTS)) for number in range(len(self._network.layers))
        )
        return dataclasses.replace(
            self._network,
            inputs=self._network.inputs if self._one_hot else weights["inputs"],
            layers=layers,
            head_weight=weights["head_weight"],
            head_bias=weights["head_bias"],
        )

    def empty(self) -> Tensor:
        """The state off which the answer to the empty word is read: one row."""
        start = torch.zeros(1, self.width)
        padding = self._network.padding
        if padding is None:
            return start
        return self._fed(start, torch.from_numpy(np.asarray(padding, dtype=np.float32)[None]))[0]

    def step(self, states: Tensor, letters: Tensor) -> tuple[Tensor, Tensor]:
        """States after one letter each, and the penalty for gates that keep too much of the past."""
        return self._fed(states, self._tensors["inputs"][letters])

    def step_boxes(self, boxes: Boxes) -> Boxes:
        """Every box after every letter: boxes × letters × width."""
        x = Boxes.point(self._tensors["inputs"])
        states = [Boxes(boxes.lo[:, None, part], boxes.hi[:, None, part]) for part in self._places]
        after = self._advance(OnBoxes(), x, states)
        return Boxes(torch.cat([part.lo for part in after], dim=-1), torch.cat([part.hi for part in after], dim=-1))

    def outputs(self, states: Tensor) -> Tensor:
        return functional.linear(states[..., self._top], self._tensors["head_weight"], self._tensors["head_bias"])

    def scores(self, outputs: Tensor) -> Tensor:
        """The distances of outputs from the threshold, positive where they accept."""
        label = self._network.label
        if label is None:
            return outputs[..., 0] - self._network.logit_threshold
        others = torch.cat([outputs[..., :label], outputs[..., label + 1 :]], dim=-1)
        return outputs[..., label] - torch.logsumexp(others, dim=-1)

    def guesses(self, states: Tensor) -> Tensor:
        """One number for each state of the automaton, the largest for the one that is guessed."""
        return functional.linear(states[..., self._top], self._tensors["guess_weight"], self._tensors["guess_bias"])

    def margins(self, boxes: Boxes, accept: Tensor) -> Tensor:
        """The distance of each whole box from the threshold, positive on the correct side."""
        weight, bias, label = self._tensors["head_weight"], self._tensors["head_bias"], self._network.label
        if label is not None:
            rest = [number for number in range(len(weight)) if number != label]
            weight, bias = weight[label] - weight[rest], bias[label] - bias[rest]
        else:
            bias = bias - self._network.logit_threshold
        leads = boxes[self._top].linear(weight, bias)
        return torch.where(accept, leads.lo.amin(dim=1), (-leads.hi).amax(dim=1))

    def worst_guesses(self, boxes: Boxes, right: Tensor) -> Tensor:
        """By how much each state of the automaton may exceed the right one, somewhere in each box; the right one: 0."""
        weight, bias = self._tensors["guess_weight"], self._tensors["guess_bias"]
        top = boxes[self._top]
        apart = weight[None] - weight[right][:, None]
        middle = torch.einsum("pqh,ph->pq", apart, (top.lo + top.hi) / 2)
        reach = torch.einsum("pqh,ph->pq", apart.abs(), (top.hi - top.lo) / 2)
        return middle + reach + (bias[None] - bias[right][:, None])

    def _fed(self, states: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        on = OnPoints()
        after = self._advance(on, Points(x), [Points(states[:, part]) for part in self._places])
        return torch.cat([part.at for part in after], dim=-1), on.penalty

    def _advance(self, on: Semantics[Numbers, Any], x: Numbers, states: list[Numbers]) -> list[Numbers]:
        """The parts of a state after one more input: h of every layer, then c of every layer (empty without memory)."""
        hidden, memory = [], []
        for layer, h, c in zip(self._layers, states, states[len(self._layers) :], strict=False):
            x, c = self._kind.step_on(on, layer, x, h, c)
            hidden.append(x)
            memory.append(c)
        return hidden + memory if self._kind.memory else hidden
