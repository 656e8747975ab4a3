"""The end of a repair: the best model compared with the original, and the report."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.protocol import Model
from rnncheck.repairs.measuring import Examples, ViolationSample, changed_answers, violations_on
from rnncheck.repairs.repair_checkpoint import Progressed
from rnncheck.repairs.repair_question import Question
from rnncheck.repairs.repair_report import (
    Changes,
    Ending,
    HardeningFacts,
    HeldOut,
    PropertyRepair,
    RepairReport,
    Standing,
)
from rnncheck.repairs.repaired_models import RepairedModule, RepairedNetwork
from rnncheck.training.batches import among_prefixes
from rnncheck.verdict.certificate import Certificate
from rnncheck.verdict.facts import Outcome
from rnncheck.version import __version__
from rnncheck.words import Codes, WordBatch

_OWN = "your labelled words; if they are few, random words too, with the old answer unless a property forbids it"
_DRAWN = "random words of both sides and near misses, with the old answer unless a property forbids it"

_ALSO_TRAINED = "; each of them was also trained on, or begins a word that was, since there are no others"


@dataclass(frozen=True, eq=False)
class Repaired:
    """The repaired model, in the form in which it was given, and the report.

    If ``report.improved`` is false it is the original model. ``certificate`` is the proof, if there is one.
    """

    report: RepairReport
    network: RecurrentNetwork | None
    module: Any | None
    certificate: Certificate | None


@dataclass
class Proof:
    """The proof at the end of the loop: a ``network`` of certified training replaces the repaired one."""

    certificate: Certificate | None = None
    network: RecurrentNetwork | None = None
    hardening: HardeningFacts | None = None
    otherwise: str = ""  # the reason without the proof
    otherwise_ending: Ending = Ending.NOTHING_FOUND
    notes: list[str] = field(default_factory=list)


class Conclusion:
    """Measures both models and writes the report."""

    def __init__(
        self,
        question: Question,
        state: Progressed,
        sample: ViolationSample,
        held_out: Examples,
        trained: Sequence[Codes],
        with_shorter_counterexamples: Callable[[Model, Sequence[Standing]], list[Standing]],
    ) -> None:
        self._question, self._state, self._sample, self._shorten = question, state, sample, with_shorter_counterexamples
        fresh = _never_trained(held_out, trained)
        self._held_out, self._also_trained = (fresh, False) if len(fresh.words) else (held_out, True)

    def repaired(
        self,
        ending: Ending,
        reason: str,
        proof: Proof,
        best: dict[str, Any],
        initial: dict[str, Any],
        seconds: Callable[[], float],
    ) -> Repaired:
        """The better of two models: that with the weights ``best``, or the original with ``initial``."""
        question = self._question
        candidate, kept = question.candidate, self._state.best
        assert kept is not None
        candidate.load(best)
        network = candidate.network() if isinstance(candidate, RepairedNetwork) else None
        if proof.network is not None and self._loses(self._model(proof.network)):
            ending, reason = self._without_proof(proof), proof.otherwise
        if proof.network is not None:
            network, after = proof.network, self._model(proof.network)
            standings = self._proved(after)
        else:
            after = candidate.model() if kept.round else question.before
            standings = self._shorten(after, kept.standings) if kept.round else kept.standings
        self._state.before = self._shorten(question.before, self._state.before)
        held_out = self._measured(after)
        improved = proof.network is not None or kept.round > 0
        if improved and self._loses(after):
            lost = 100 * (held_out.before - held_out.after)
            improved, reason = False, f"it would cost {lost:.2f} points of accuracy on held-out words ({reason})"
            ending = ending if ending is Ending.ENDED_EARLY else Ending.NOT_REPAIRED
        if not improved:
            candidate.load(initial)
            network = candidate.network() if isinstance(candidate, RepairedNetwork) else None
        report = self._report(ending, reason, improved, standings, held_out, after, proof, seconds())
        if network is not None and improved:
            network = dataclasses.replace(network, facts={**network.facts, "repair": _facts(report)})
        module = candidate.module if isinstance(candidate, RepairedModule) else None
        return Repaired(report, network, module, proof.certificate if report.proved else None)

    def _model(self, network: RecurrentNetwork) -> Model:
        return RepairedNetwork(network, self._question.settings.threads).model()

    def _loses(self, model: Model) -> bool:
        """Whether a model answers too many held-out words worse than the original."""
        held_out = self._measured(model)
        return held_out.after < held_out.before - self._question.settings.max_loss

    def _without_proof(self, proof: Proof) -> Ending:
        """Drop the proved network and keep the repaired one."""
        assert proof.hardening is not None
        why = "the proof closes, but too many answers to held-out words would change"
        proof.hardening = msgspec.structs.replace(proof.hardening, taken=False, reason=why)
        proof.network = proof.certificate = None
        return proof.otherwise_ending

    def _proved(self, model: Model) -> list[Standing]:
        question, proved = self._question, Outcome.SATISFIED
        return [
            Standing(outcome=proved, proved=True, mass=mass, on_data=violations_on(question.own, each, model))
            for each, mass in zip(question.requirements, self._sample.masses(model), strict=True)
        ]

    def _measured(self, after: Model) -> HeldOut:
        examples, question = self._held_out, self._question
        return HeldOut(
            source=(_OWN if question.own.labelled else _DRAWN) + (_ALSO_TRAINED if self._also_trained else ""),
            words=len(examples.words),
            before=examples.accuracy(question.before),
            after=examples.accuracy(after),
        )

    def _changes(self, after: Model) -> Changes:
        question = self._question
        alphabet = question.candidate.alphabet
        shown = [alphabet.encode(word) for each in self._state.before for word in each.counterexamples]
        own, labels = question.own, question.candidate.labels
        words = [*self._held_out.words, *shown, *own.words]
        return changed_answers(question.before, after, question.requirements, words, alphabet, labels, own)

    def _report(
        self,
        ending: Ending,
        reason: str,
        improved: bool,
        standings: Sequence[Standing],
        held_out: HeldOut,
        after: Model,
        proof: Proof,
        seconds: float,
    ) -> RepairReport:
        question, facts = self._question, dict(self._question.before.describe())
        properties = tuple(
            PropertyRepair(
                name=each.name,
                origin=each.spec.origin,
                relation=each.formula,
                sha256=each.spec.sha256(),
                before=before,
                after=now if improved else before,
            )
            for each, before, now in zip(question.requirements, self._state.before, standings, strict=True)
        )
        return RepairReport(
            ending=ending,
            reason=reason,
            improved=improved,
            properties=properties,
            rounds=tuple(self._state.rounds),
            held_out=held_out,
            changes=self._changes(after) if improved else Changes(words=0, changed=0, required=0),
            own_words=len(question.own),
            labelled=question.own.labelled,
            hardening=proof.hardening,
            notes=tuple(proof.notes),
            model_before={name: facts[name] for name in ("kind", "cell", "hidden", "name", "sha256") if name in facts},
            sha256_after=str(after.describe().get("sha256")) if improved else None,
            distribution=dict(question.distribution.describe()),
            alphabet=question.candidate.alphabet,
            seed=question.seed,
            settings=question.settings.describe(),
            seconds=seconds,
            version=__version__,
        )


def _never_trained(examples: Examples, trained: Sequence[Codes]) -> Examples:
    """The examples that begin no training word."""
    if not trained:
        return examples
    fresh = np.flatnonzero(~among_prefixes(examples.words, WordBatch.from_codes(trained)))
    return Examples(examples.words.take(fresh), examples.answers[fresh])


def _facts(report: RepairReport) -> dict[str, object]:
    """The facts for the model file."""
    return {
        "ending": report.ending.value,
        "rounds": len(report.rounds),
        "properties": [{"origin": each.origin, "relation": each.relation} for each in report.properties],
        "held_out_accuracy": report.held_out.after,
    }
