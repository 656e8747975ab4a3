"""What is being repaired, as something to train and to ask: a network of arrays, or a person's own PyTorch module.

Teaching and measuring ask a model for whole batches, beside the membership oracle: what it would remember is of no use
once the weights have changed, and these steps are no part of a verdict, whose cost it counts. Whatever is said of a
property, and the search for words to teach, goes through the oracle.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rnncheck.automata.moore import NO_YES
from rnncheck.models.engine.compiled import stepped
from rnncheck.models.labelled import WordLabels, label_names, sayers
from rnncheck.models.network import Floats, RecurrentNetwork
from rnncheck.models.protocol import Model, Scores, SteppingModel
from rnncheck.models.wrapping import meaning_of_outputs, wrap
from rnncheck.training.batches import Batch, Stage
from rnncheck.words import Alphabet, IntArray, WordBatch

if TYPE_CHECKING:
    import torch


class Pupil(Protocol):
    """Weights to train, and the model that they make. ``labels`` are what the model may say; ``yes`` means yes."""

    alphabet: Alphabet
    labels: tuple[str, ...]
    yes: int
    takes_empty: bool  # whether the empty word can be taught

    def parameters(self) -> list[torch.Tensor]: ...

    def arrays(self) -> dict[str, Floats]: ...

    def load(self, arrays: Mapping[str, Floats]) -> None: ...

    def loss(self, batch: Batch, weights: Floats) -> tuple[torch.Tensor, IntArray, IntArray]: ...

    def stage(self, stage: Stage, rng: np.random.Generator) -> Stage:
        """What of a stage is learned from: all of it, or what can be afforded."""

    def model(self) -> Model:
        """The model as it is now."""


class NetworkPupil:
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
        """The network as it is now; everything but the weights is as it was."""
        before, arrays = self._before, self._trainable.arrays()
        if all(np.array_equal(arrays[name], array) for name, array in self._untrained.items()):
            return before  # in numbers that training, in float32, may not have
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
        return stepped(self.network(), threads=self._threads)


class ModulePupil:
    """A person's own module: its forward is what is trained. It is a copy; the person's own object stays as it is."""

    def __init__(self, module: Any, alphabet: Alphabet, options: Mapping[str, Any]) -> None:
        from rnncheck.models.foreign.torch.gradients import LearningModule
        from rnncheck.models.foreign.torch.module import ModuleOptions
        from rnncheck.models.self_check import Reading

        self._module = copy.deepcopy(module)
        self._options = dict(options)
        self.alphabet = alphabet
        said = {name: value for name, value in options.items() if name in ("threshold", "output")}
        said |= meaning_of_outputs(module, options.get("label"), options.get("labels"))
        how = {name: value for name, value in options.items() if name in ("encode", "first_row", "empty")}
        self._learning = LearningModule(self._module, alphabet, ModuleOptions(Reading(**said), **how))
        self.takes_empty = self._learning.takes_empty
        decision = self._learning.decision
        self.labels = decision.label_names or NO_YES
        self.yes = 1 if decision.outputs == 1 else decision.label or 0

    @property
    def module(self) -> Any:
        """The module with its present weights."""
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
        """Every prefix is a call of its own, so a few of each word must do."""
        return stage.thinned(rng, _PREFIXES)

    def model(self) -> Model:
        return wrap(copy.deepcopy(self._module), self.alphabet, **self._options)  # training goes on with the original


_PREFIXES = 2  # of a word, beside itself, that a module is asked for


def scores_along(model: Model, words: WordBatch, labels: int) -> Scores:
    """How far each label is ahead after every prefix of each word, the empty one first (prefixes × labels).

    A model that only knows whole words says nothing of proper prefixes: there it is not a number.
    """
    found = np.full((len(words.codes) + len(words), labels), np.nan)
    starts = words.offsets[:-1] + np.arange(len(words))
    if not isinstance(model, SteppingModel):
        found[starts + words.lengths] = _whole_scores(model, words)
        return found
    inner = np.ones(len(found), dtype=np.bool_)
    inner[starts] = False
    columns = []
    for sayer in sayers(model):
        column = np.full(len(found), sayer.empty_score, dtype=np.float64)
        column[inner] = sayer.prefix_scores(words)
        columns.append(column)
    return np.stack([-columns[0], columns[0]] if len(columns) == 1 else columns, axis=1)


def _whole_scores(model: Model, words: WordBatch) -> Scores:
    """How far each label is ahead at each word (words × labels)."""
    if model.label_names is not None:
        labels, leads = WordLabels(model).said(words)
        return np.asarray(np.where(labels[:, None] == np.arange(len(model.label_names)), 1.0, -1.0) * leads[:, None])
    given = model.scores_batch(words)
    scores = np.where(model.accepts_batch(words), 1.0, -1.0) if given is None else given
    return np.stack([-scores, scores], axis=1)
