"""``repair``: train a network or module until it satisfies its specifications."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rnncheck.errors import ModelError, short_repr
from rnncheck.models.files.torch_file import import_torch
from rnncheck.models.labelled import network_of
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.protocol import Model
from rnncheck.models.wrapping import letters_of
from rnncheck.probability.distributions import WordDistribution, distribution_over
from rnncheck.relations import Relation, RelationName
from rnncheck.repairs.own_words import OwnWords, check_labels, collect_words
from rnncheck.repairs.repair_conclusion import Repaired
from rnncheck.repairs.repair_question import Question
from rnncheck.repairs.repair_report import Progress
from rnncheck.repairs.repair_settings import RepairSettings
from rnncheck.repairs.repaired_models import RepairedModel, RepairedModule, RepairedNetwork
from rnncheck.repairs.requirements import AllowedOutputs, Specs, requirements_of
from rnncheck.repairs.rounds import Run
from rnncheck.runtime.budget import Budget
from rnncheck.words import Alphabet

_CONCLUDING = 4.0  # times what it takes to make a model of the weights: measuring before and after

ONNX_NOT_TRAINABLE = (
    "an ONNX graph cannot be trained; repair the original it was exported from (a PyTorch "
    "module by --module and --state, or its weights), and export it again"
)


def repair(
    model: object,
    specs: Specs,
    *,
    relation: RelationName | Relation = "subset",
    words: OwnWords | None = None,
    alphabet: Alphabet | Sequence[str] | None = None,
    distribution: WordDistribution | None = None,
    budget: Budget | float | None = None,
    seed: int = 0,
    settings: RepairSettings | None = None,
    progress: Progress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Repaired:
    """Train a network further until no violation of the specifications is found in it, or until they are proved.

    ``model`` is a network (a ``RecurrentNetwork``, or the result of ``load_model``) or a PyTorch module, which is
    copied. A module needs the ``alphabet``, or has it as its attribute; ``options`` are those of ``wrap``. ``specs``
    are one specification or several, all with ``relation``, or ``Requirement`` values with their own. Answers that no
    specification determines are kept: the labels of ``words`` if they have labels, else those of the original model.

    The ``budget`` (seconds, or a ``Budget``) ends the work with the best model so far. With ``checkpoint`` the state is
    written to that file after every round, and ``resume`` continues from it. The same inputs and seed give the same
    model.
    """
    import_torch("repairing")
    from rnncheck.training.torch_network import torch_threads

    settings = settings or RepairSettings()
    limit = budget if isinstance(budget, Budget) else Budget.lasting(budget)
    with torch_threads(settings.threads or 1):
        candidate = _candidate(model, alphabet, settings, options or {})
        requirements = tuple(each.over(candidate.alphabet) for each in requirements_of(specs, relation))
        allowed_outputs = AllowedOutputs(requirements, candidate.alphabet, candidate.labels, candidate.yes)
        own = collect_words(words, candidate.alphabet, candidate.labels)
        check_labels(own, requirements, candidate.alphabet, candidate.labels, candidate.yes)
        drawn = distribution_over(candidate.alphabet, distribution)
        began = limit.clock()
        before = candidate.model()
        made_in = limit.clock() - began
        question = Question(candidate, before, requirements, allowed_outputs, own, drawn, seed, settings)
        return Run(question, _reserve(limit, _CONCLUDING * made_in), progress).go(checkpoint, resume)


def _reserve(limit: Budget, seconds: float) -> Budget:
    """The budget without the time for measuring before and after, but at least nine tenths of it."""
    if limit.deadline is None:
        return limit
    return dataclasses.replace(limit, deadline=limit.deadline - min(seconds, limit.remaining() / 10))


def _candidate(
    model: object, alphabet: Alphabet | Sequence[str] | None, settings: RepairSettings, options: Mapping[str, Any]
) -> RepairedModel:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        return RepairedModule(model, letters_of(model, alphabet), options)
    if isinstance(model, RecurrentNetwork):
        return RepairedNetwork(model, settings.threads)
    if not isinstance(model, Model):
        raise ModelError(f"{short_repr(model)} is neither a network nor a PyTorch module; load it with load_model")
    kind = str(model.describe().get("kind", type(model).__name__))
    network = getattr(model, "network", None)
    read_off = kind if network is None else str(network.facts.get("kind", ""))
    if "ONNX" in read_off:
        raise ModelError(ONNX_NOT_TRAINABLE)
    if read_off == "PyTorch module":
        raise ModelError("give the module itself, not the result of wrap: the module's weights are trained")
    return RepairedNetwork(network_of(model), settings.threads)
