"""Small recurrent networks for tests, and the same weights as PyTorch modules to judge them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rnncheck.models.engine.reference import Judgement
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.words import Alphabet, Codes


def letters(count: int) -> Alphabet:
    return Alphabet([chr(ord("a") + i) for i in range(count)])


def random_network(
    cell: Cell = Cell.LSTM,
    hidden: Sequence[int] = (8,),
    *,
    alphabet: Alphabet | None = None,
    inputs: int = 4,
    bias: bool = True,
    outputs: int = 1,
    label: int | None = None,
    padding: bool = False,
    threshold: float = 0.5,
    scale: float = 1.0,
    dtype: type = np.float32,
    seed: int = 0,
) -> RecurrentNetwork:
    """Weights as PyTorch would draw them, times ``scale``."""
    rng = np.random.default_rng(seed)
    alphabet = alphabet or letters(3)

    def draw(*shape: int, fan: int) -> np.ndarray:
        return (rng.uniform(-1, 1, size=shape) * scale / np.sqrt(fan)).astype(dtype)

    layers, width = [], inputs
    for size in hidden:
        rows = cell.gates * size
        biases = (draw(rows, fan=size), draw(rows, fan=size)) if bias else (None, None)
        layers.append(Layer(draw(rows, width, fan=size), draw(rows, size, fan=size), *biases))
        width = size
    return RecurrentNetwork(
        alphabet,
        cell,
        rng.normal(size=(len(alphabet), inputs)).astype(dtype),
        tuple(layers),
        draw(outputs, width, fan=width),
        draw(outputs, fan=width),
        threshold=threshold,
        label=label if label is not None else (None if outputs == 1 else 1),
        padding=rng.normal(size=inputs).astype(dtype) if padding else None,
    )


class ByTorch:
    """The judge: ``torch.nn.RNN``, ``GRU`` or ``LSTM`` with the network's weights (all layers of one size)."""

    def __init__(self, network: RecurrentNetwork) -> None:
        import torch

        self.torch = torch
        self.network = network
        first = network.layers[0]
        kind = {Cell.LSTM: torch.nn.LSTM, Cell.GRU: torch.nn.GRU}.get(network.cell, torch.nn.RNN)
        more = {"nonlinearity": network.cell.value.removeprefix("rnn_")} if kind is torch.nn.RNN else {}
        self.module = kind(
            network.inputs.shape[1],
            first.hidden,
            len(network.layers),
            bias=first.input_bias is not None,
            batch_first=True,
            dtype=torch.from_numpy(first.recurrent_weight).dtype,
            **more,
        ).eval()
        with torch.no_grad():
            for i, layer in enumerate(network.layers):
                parts = [layer.input_weight, layer.recurrent_weight, layer.input_bias, layer.recurrent_bias]
                for name, part in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), parts, strict=True):
                    if part is not None:
                        getattr(self.module, f"{name}_l{i}").copy_(torch.from_numpy(part))

    def outputs(self, codes: np.ndarray) -> np.ndarray:
        """The outputs after every letter of words of one length: words × letters × outputs."""
        return self._run(self.network.inputs[codes])

    def __call__(self, word: Codes) -> Judgement:
        """The definition: one word alone."""
        network = self.network
        if word:
            outputs = self.outputs(np.array([word]))[0, -1]
        elif network.padding is not None:
            outputs = self._run(network.padding[None, None])[0, -1]
        else:
            outputs = network.head_bias.astype(np.float64)
        return self.judgement(outputs)

    def judgement(self, outputs: np.ndarray) -> Judgement:
        label = self.network.label
        if label is None:
            probability = float(self.torch.sigmoid(self.torch.tensor(outputs[0], dtype=self.torch.float32)))
            return Judgement(float(outputs[0]) - self.network.logit_threshold, probability > self.network.threshold)
        rest = np.delete(outputs, label).max()
        return Judgement(float(outputs[label] - rest), bool(outputs.argmax() == label))

    def _run(self, vectors: np.ndarray) -> np.ndarray:
        with self.torch.inference_mode():
            hidden, _ = self.module(self.torch.from_numpy(np.ascontiguousarray(vectors)))
        head = self.network.head_weight.T.astype(np.float64)
        return hidden.numpy().astype(np.float64) @ head + self.network.head_bias
