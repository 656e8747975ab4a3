"""The model under repair, to train and to query: a network of arrays, or your own PyTorch module.

Training and measuring query whole batches without the membership oracle: its cache is of no use once the weights have
changed, and these steps are not part of the cost of a verdict. Verification, and the search for training words, use the
oracle.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rnncheck.automata.moore import NO_YES
from rnncheck.models.engine.compiled import compiled_or_stepped
from rnncheck.models.labelled import WordLabels, label_names, models_by_label
from rnncheck.models.network import Floats, RecurrentNetwork
from rnncheck.models.protocol import Model, Scores, SteppingModel
from rnncheck.models.wrapping import meaning_of_outputs, wrap
from rnncheck.training.batches import Batch, Stage
from rnncheck.words import Alphabet, IntArray, WordBatch

if TYPE_CHECKING:
    import torch


class RepairedModel(Protocol):
    """Weights to train, and the model with these weights. ``labels`` are its answers, and ``yes`` accepts."""

    alphabet: Alphabet
    labels: tuple[str, ...]
    yes: int
    takes_empty: bool  # whether the empty word can be trained on

    def parameters(self) -> list[torch.Tensor]: ...

    def arrays(self) -> dict[str, Floats]: ...

    def load(self, arrays: Mapping[str, Floats]) -> None: ...

    def loss(self, batch: Batch, weights: Floats) -> tuple[torch.Tensor, IntArray, IntArray]: ...

    def stage(self, stage: Stage, rng: np.random.Generator) -> Stage:
        """The part of a stage to train on: all of it, or what is affordable."""

    def model(self) -> Model:
        """The model with the current weights."""


class RepairedNetwork:
    """A network of arrays."""

    def __init__(self, network: RecurrentNetwork, threads: int | None = None) -> None:
        from rnncheck.training.torch_network import TorchNetwork

        self._before = network
        self._threads = threads
        self._trainable = TorchNetwork.of(network)
        self._untrained = self._trainable.arrays()
        self.alphabet = network.alphabet
        self.takes_empty = True
        self.labels = label_names(network)
        self.yes = 1 if network.outputs == 1 else network.label or 0

    def parameters(self) -> list[torch.Tensor]:
        return self._trainable.parameters()

    def arrays(self) -> dict[str, Floats]:
        return self._trainable.arrays()

    def load(self, arrays: Mapping[str, Floats]) -> None:
        self._trainable.load(arrays)

    def loss(self, batch: Batch, weights: Floats) -> tuple[torch.Tensor, IntArray, IntArray]:
        return self._trainable.loss(batch, weights)

    def stage(self, stage: Stage, rng: np.random.Generator) -> Stage:
        return stage

    def network(self) -> RecurrentNetwork:
        """The network with the current weights; everything else is unchanged."""
        before, arrays = self._before, self._trainable.arrays()
        if all(np.array_equal(arrays[name], array) for name, array in self._untrained.items()):
            return before  # in its own precision, which float32 of training may lose
        names = before.labels or tuple(map(str, range(before.outputs)))
        now = self._trainable.to_network(before.alphabet, names, before.label, {})
        kind = before.number_type
        layers = tuple(
            dataclasses.replace(layer, **{
                field.name: getattr(layer, field.name).astype(kind) for field in dataclasses.fields(layer)
            })
            for layer in now.layers
        )  # fmt: skip
        return dataclasses.replace(
            before,
            inputs=now.inputs.astype(kind),
            layers=layers,
            head_weight=now.head_weight.astype(kind),
            head_bias=now.head_bias.astype(kind),
        )

    def model(self) -> Model:
        return compiled_or_stepped(self.network(), threads=self._threads)


class RepairedModule:
    """A copy of your own module, whose forward is trained; your object is not changed."""

    def __init__(self, module: Any, alphabet: Alphabet, options: Mapping[str, Any]) -> None:
        from rnncheck.models.foreign.torch.gradients import TrainableModule
        from rnncheck.models.foreign.torch.module import ModuleOptions
        from rnncheck.models.self_check import OutputMeaning

        self._module = copy.deepcopy(module)
        self._options = dict(options)
        self.alphabet = alphabet
        outputs = {name: value for name, value in options.items() if name in ("threshold", "output")}
        outputs |= meaning_of_outputs(module, options.get("label"), options.get("labels"))
        how = {name: value for name, value in options.items() if name in ("encode", "first_row", "empty")}
        self._learning = TrainableModule(self._module, alphabet, ModuleOptions(OutputMeaning(**outputs), **how))
        self.takes_empty = self._learning.takes_empty
        decision = self._learning.decision
        self.labels = decision.label_names or NO_YES
        self.yes = 1 if decision.outputs == 1 else decision.label or 0

    @property
    def module(self) -> Any:
        """The module with the current weights."""
        return self._module

    def parameters(self) -> list[torch.Tensor]:
        return [each for each in self._module.parameters() if each.requires_grad and each.is_floating_point()]

    def arrays(self) -> dict[str, Floats]:
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in self._module.state_dict().items()}

    def load(self, arrays: Mapping[str, Floats]) -> None:
        import torch

        self._module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})

    def loss(self, batch: Batch, weights: Floats) -> tuple[torch.Tensor, IntArray, IntArray]:
        return self._learning.loss(batch.letters, batch.answers, weights)

    def stage(self, stage: Stage, rng: np.random.Generator) -> Stage:
        """Every prefix is a call of its own, so only a few of each word are used."""
        return stage.thinned(rng, _PREFIXES)

    def model(self) -> Model:
        return wrap(copy.deepcopy(self._module), self.alphabet, **self._options)  # training continues with the original


_PREFIXES = 2  # of each word, beside the word itself, for a module


def scores_along(model: Model, words: WordBatch, labels: int) -> Scores:
    """The lead of each label after every prefix of each word, the empty one first (prefixes × labels).

    For a black-box model the leads at proper prefixes are NaN.
    """
    found = np.full((len(words.codes) + len(words), labels), np.nan)
    starts = words.offsets[:-1] + np.arange(len(words))
    if not isinstance(model, SteppingModel):
        found[starts + words.lengths] = _whole_scores(model, words)
        return found
    inner = np.ones(len(found), dtype=np.bool_)
    inner[starts] = False
    columns = []
    for of_label in models_by_label(model):
        column = np.full(len(found), of_label.empty_score, dtype=np.float64)
        column[inner] = of_label.prefix_scores(words)
        columns.append(column)
    return np.stack([-columns[0], columns[0]] if len(columns) == 1 else columns, axis=1)


def _whole_scores(model: Model, words: WordBatch) -> Scores:
    """The lead of each label at each word (words × labels)."""
    if model.label_names is not None:
        labels, leads = WordLabels(model).labels_and_leads(words)
        return np.asarray(np.where(labels[:, None] == np.arange(len(model.label_names)), 1.0, -1.0) * leads[:, None])
    given = model.scores_batch(words)
    scores = np.where(model.accepts_batch(words), 1.0, -1.0) if given is None else given
    return np.stack([-scores, scores], axis=1)
