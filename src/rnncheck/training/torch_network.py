"""The trainable form of a recurrent network, in PyTorch. Import it only where training happens: torch is an extra."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from rnncheck.errors import ModelError
from rnncheck.models.network import Floats, Layer, RecurrentNetwork
from rnncheck.training.batches import UNKNOWN, Batch, Stage
from rnncheck.training.training_settings import TrainingSettings
from rnncheck.words import Alphabet, IntArray

_EVALUATION_BATCH = 256


class TorchNetwork:
    """Weights that PyTorch can train, and their conversion to and from plain arrays.

    ``outputs`` is 1 for a yes/no network, otherwise the number of labels. The head reads the state after every prefix,
    the empty one (all zeros) included.
    """

    def __init__(self, letters: int, outputs: int, settings: TrainingSettings, rng: np.random.Generator) -> None:
        self.outputs = outputs
        self._settings = settings
        width = settings.embedding or letters
        # Built without values, so that the global random state of torch is neither used nor changed.
        modules = {"recurrent": _recurrent(settings, width), "head": nn.Linear(settings.hidden, outputs, device="meta")}
        if settings.embedding:
            modules["inputs"] = nn.Embedding(letters, width, device="meta")
        self._module = nn.ModuleDict(modules).to_empty(device="cpu")
        self._one_hot = torch.eye(letters)
        self._threshold = 0.0  # outputs above it accept
        self._padding: torch.Tensor | None = None  # fed for the empty word; None: nothing
        self.load(_initial_weights({name: tuple(p.shape) for name, p in self._named()}, settings, rng))

    @classmethod
    def of(cls, network: RecurrentNetwork) -> TorchNetwork:
        """An existing network, to be trained further."""
        sizes = {layer.hidden for layer in network.layers}
        if not network.cell.trainable or len(sizes) > 1:
            kind = network.cell.value if not network.cell.trainable else "with layers of different sizes"
            raise ModelError(f"a network {kind} cannot be trained further here; give it as a PyTorch module (--module)")
        one_hot = np.array_equal(network.inputs, np.eye(len(network.alphabet)))
        settings = TrainingSettings(
            cell=network.cell,
            hidden=sizes.pop(),
            layers=len(network.layers),
            embedding=0 if one_hot else network.inputs.shape[1],
        )
        made = cls(len(network.alphabet), network.outputs, settings, np.random.default_rng(0))
        made._threshold = network.logit_threshold if network.outputs == 1 else 0.0
        if network.padding is not None:
            made._padding = torch.from_numpy(network.padding.astype(np.float32))
        weights = {"head.weight": network.head_weight, "head.bias": network.head_bias, "inputs.weight": network.inputs}
        for number, layer in enumerate(network.layers):
            none = np.zeros(len(layer.input_weight), dtype=np.float32)
            weights[f"recurrent.weight_ih_l{number}"] = layer.input_weight
            weights[f"recurrent.weight_hh_l{number}"] = layer.recurrent_weight
            weights[f"recurrent.bias_ih_l{number}"] = none if layer.input_bias is None else layer.input_bias
            weights[f"recurrent.bias_hh_l{number}"] = none if layer.recurrent_bias is None else layer.recurrent_bias
        made.load({name: array.astype(np.float32) for name, array in weights.items()})
        return made

    def parameters(self) -> list[torch.Tensor]:
        return [parameter for _, parameter in self._named()]

    def arrays(self) -> dict[str, Floats]:
        """A copy of the weights by name."""
        return {name: parameter.detach().numpy().copy() for name, parameter in self._named()}

    def load(self, arrays: Mapping[str, Floats]) -> None:
        """Set all weights."""
        with torch.no_grad():
            for name, parameter in self._named():
                parameter.copy_(torch.from_numpy(arrays[name]))

    def loss(self, batch: Batch, weights: Floats) -> tuple[torch.Tensor, IntArray, IntArray]:
        """The mean loss over the known answers of a batch, each weighted by its label and its word.

        Also, for each label, the number of known answers and of correct ones.
        """
        answers = torch.from_numpy(batch.answers)
        known = answers != UNKNOWN
        logits, answers = self._logits(batch.letters)[known], answers[known]
        right = answers[self._decisions(logits.detach()) == answers]
        counts = [np.bincount(found.numpy(), minlength=len(weights)) for found in (answers, right)]
        losses = self._losses(logits, answers) * torch.from_numpy(weights)[answers]
        if batch.weights is not None:
            losses = losses * torch.from_numpy(batch.weights).expand(known.shape)[known]
        return losses.mean(), counts[0], counts[1]

    def answers(self, stage: Stage) -> tuple[IntArray, float]:
        """The network's answer to every whole word, and the mean loss on them."""
        found = np.empty(len(stage.words), dtype=np.int64)
        total = 0.0
        with torch.inference_mode():
            for rows, batch in stage.sorted_batches(_EVALUATION_BATCH):
                ends = torch.from_numpy(stage.words.lengths[rows])
                columns = torch.arange(len(rows))
                logits = self._logits(batch.letters)[ends, columns]
                total += float(self._losses(logits, torch.from_numpy(batch.answers)[ends, columns]).sum())
                found[rows] = self._decisions(logits).numpy()
        return found, total / len(found)

    def logits(self, letters: IntArray) -> Floats:
        """The network's outputs after every prefix of words: T × words letters to T + 1 × words × outputs."""
        with torch.inference_mode():
            outputs: Floats = self._logits(letters).numpy()
        return outputs

    def to_network(
        self, alphabet: Alphabet, labels: tuple[str, ...], label: int | None, facts: Mapping[str, object]
    ) -> RecurrentNetwork:
        """The same network as plain arrays."""
        weights = self.arrays()
        layers = [
            Layer(*(weights[f"recurrent.{part}_l{k}"] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")))
            for k in range(self._settings.layers)
        ]
        return RecurrentNetwork(
            alphabet,
            self._settings.cell,
            weights["inputs.weight"] if self._settings.embedding else np.eye(len(alphabet), dtype=np.float32),
            tuple(layers),
            weights["head.weight"],
            weights["head.bias"],
            label=label,
            labels=labels if self.outputs > 1 else None,
            facts=facts,
        )

    def _named(self) -> Iterator[tuple[str, torch.Tensor]]:
        yield from self._module.named_parameters()

    def _logits(self, letters: IntArray) -> torch.Tensor:
        """T × words letters to T + 1 × words × outputs."""
        table = self._module["inputs"].weight if self._settings.embedding else self._one_hot
        start = self._start().expand(1, letters.shape[1], -1)
        if not len(letters):
            return self._module["head"](start)
        states, _ = self._module["recurrent"](nn.functional.embedding(torch.from_numpy(letters), table))
        return self._module["head"](torch.cat([start, states]))

    def _start(self) -> torch.Tensor:
        """The top layer's state off which the answer to the empty word is read."""
        if self._padding is None:
            return torch.zeros(1, 1, self._settings.hidden)
        states: torch.Tensor = self._module["recurrent"](self._padding[None, None])[0]
        return states

    def _losses(self, logits: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
        if self.outputs > 1:
            return nn.functional.cross_entropy(logits, answers, reduction="none")
        targets = answers.to(logits.dtype)
        return nn.functional.binary_cross_entropy_with_logits(logits[:, 0] - self._threshold, targets, reduction="none")

    def _decisions(self, logits: torch.Tensor) -> torch.Tensor:
        return (logits[:, 0] > self._threshold).long() if self.outputs == 1 else logits.argmax(dim=1)


class AdamOptimizer:
    """Adam (Kingma and Ba, 2015) with gradient clipping; its state can be saved and loaded as plain arrays.

    PyTorch's own gives the same numbers bit by bit, but it imports PyTorch's compiler, which takes longer than many
    trainings.
    """

    _MOMENTA = (0.9, 0.999)
    _LEAST_DENOMINATOR = 1e-8

    def __init__(self, parameters: Sequence[torch.Tensor], clip: float) -> None:
        self._parameters = list(parameters)
        self._clip = clip
        self._steps = 0
        self._means = [torch.zeros_like(parameter) for parameter in self._parameters]
        self._squares = [torch.zeros_like(parameter) for parameter in self._parameters]

    def step(self, loss: torch.Tensor, learning_rate: float) -> None:
        """Change the weights a little, against the gradient."""
        # A batch of empty words has no gradient for the recurrent weights.
        gradients = torch.autograd.grad(loss, self._parameters, allow_unused=True, materialize_grads=True)
        with torch.no_grad():
            self._follow(self._clipped(gradients), learning_rate)

    def arrays(self) -> dict[str, Floats]:
        """The state of Adam, by position of the parameter and name; empty before the first step."""
        if not self._steps:
            return {}
        found = {}
        for number, (mean, square) in enumerate(zip(self._means, self._squares, strict=True)):
            found[f"{number}.step"] = np.array(self._steps, dtype=np.float32)
            found[f"{number}.exp_avg"], found[f"{number}.exp_avg_sq"] = mean.numpy().copy(), square.numpy().copy()
        return found

    def load(self, arrays: Mapping[str, Floats]) -> None:
        self._steps = int(arrays["0.step"]) if arrays else 0
        for number, (mean, square) in enumerate(zip(self._means, self._squares, strict=True)):
            for memory, name in ((mean, "exp_avg"), (square, "exp_avg_sq")):
                memory.copy_(torch.from_numpy(arrays[f"{number}.{name}"]) if arrays else torch.zeros(()))

    def _clipped(self, gradients: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The gradients, together no longer than ``clip``."""
        length = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(each) for each in gradients]))
        share = torch.clamp(self._clip / (length + 1e-6), max=1.0)
        return [each * share for each in gradients]

    def _follow(self, gradients: Sequence[torch.Tensor], learning_rate: float) -> None:
        self._steps += 1
        keep_mean, keep_square = self._MOMENTA
        rate = learning_rate / (1 - keep_mean**self._steps)
        root = (1 - keep_square**self._steps) ** 0.5
        for parameter, gradient, mean, square in zip(
            self._parameters, gradients, self._means, self._squares, strict=True
        ):
            mean.lerp_(gradient, 1 - keep_mean)
            square.mul_(keep_square).addcmul_(gradient, gradient, value=1 - keep_square)
            parameter.addcdiv_(mean, (square.sqrt() / root).add_(self._LEAST_DENOMINATOR), value=-rate)


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Run with this many threads, in full precision and with gradients, whatever the process has set.

    These settings are one for the whole process and change results, so they are put back afterwards.
    """
    before, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_num_threads(before)
        torch.set_float32_matmul_precision(precision)


def _recurrent(settings: TrainingSettings, width: int) -> nn.Module:
    shape = {"input_size": width, "hidden_size": settings.hidden, "num_layers": settings.layers, "device": "meta"}
    form = settings.cell.kind.torch
    assert form is not None  # the settings take trainable cells only
    layer: nn.Module = getattr(nn, form.layer)(**shape, **form.options)
    return layer


def _initial_weights(
    shapes: Mapping[str, tuple[int, ...]], settings: TrainingSettings, rng: np.random.Generator
) -> dict[str, Floats]:
    """Orthogonal recurrent weights keep information over many letters; so does a forget gate that is open at first."""
    weights = {}
    hidden = settings.hidden
    for name, shape in shapes.items():
        if name.startswith("inputs"):
            value = rng.standard_normal(shape)
        elif "weight_hh" in name:
            value = np.concatenate([_orthogonal(hidden, rng) for _ in range(settings.cell.gates)])
        else:
            value = rng.uniform(-1.0, 1.0, shape) / np.sqrt(hidden)
        if "bias_ih" in name:
            settings.cell.kind.open_gates(value, hidden)
        weights[name] = value.astype(np.float32)
    return weights


def _orthogonal(size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """A random rotation: the signs make every one equally likely."""
    q, r = np.linalg.qr(rng.standard_normal((size, size)))
    rotation: npt.NDArray[np.float64] = q * np.sign(np.diagonal(r))
    return rotation
