"""The end of a repair: a proof, or training until there is one."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.product import intersection, union
from rnncheck.errors import RnncheckError
from rnncheck.models.engine.reference import reference_judgement
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.protocol import Model
from rnncheck.proofs.certifying import certificate_of
from rnncheck.proofs.proof_search import Invariant, find_invariant
from rnncheck.relations import Property, Relation
from rnncheck.repairs.repair_conclusion import Proof
from rnncheck.repairs.repair_question import Question
from rnncheck.repairs.repair_report import HardeningFacts
from rnncheck.repairs.repaired_models import RepairedNetwork
from rnncheck.repairs.requirements import Requirement
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.training.certified.certified_training import HardeningSettings, harden
from rnncheck.verdict.certificate import Certificate
from rnncheck.verification.methods.proof_method import CHEAP
from rnncheck.words import WordBatch

_MOST_UNITS = 200  # of all layers: proofs of 160 to 180 units close in a minute or two
_MOST_EDGES = 60  # states × letters of the specification


def combine_properties(requirements: Sequence[Requirement]) -> Property | None:
    """One property equivalent to all together; None if there is none."""
    kinds = {each.kind for each in requirements}
    if len(kinds) > 1 or None in kinds:
        return None
    relation = requirements[0].kind
    assert relation is not None
    automata = [each.spec.dfa for each in requirements]
    join: Callable[[DFA, DFA], DFA] = union if relation is Relation.SUPERSET else intersection
    return Property(functools.reduce(join, automata), relation)


def certificate_for(network: RecurrentNetwork, required: Property) -> Certificate | None:
    """The certificate of a proof, if one is found at little cost."""
    empty = reference_judgement(network, ()).accepted
    ends = required.spec.end_states(WordBatch.from_codes([()]))
    if required.broken(np.array([empty]), ends)[0]:
        return None
    found = find_invariant(network, required, CHEAP)
    return certificate_of(found, network, required, empty) if isinstance(found, Invariant) else None


def too_large(network: RecurrentNetwork, required: Property | None) -> str | None:
    """Why certified training is not tried; None if it is."""
    if required is None:
        return "the properties cannot be combined into one"
    units = sum(layer.hidden for layer in network.layers)
    if units > _MOST_UNITS:
        return f"a network of {units} units is too large for certified training (at most {_MOST_UNITS})"
    edges = required.spec.transitions.size
    if edges > _MOST_EDGES:
        return f"a specification of {len(required.spec)} states and {len(required.spec.alphabet)} letters is too large"
    return None


def prove_or_harden(
    question: Question, proved: bool, report: Callable[[str], None], keeps_accuracy: Callable[[Model], bool]
) -> Proof:
    """The certificate of a proof, or a network that was trained to have one.

    The end of the budget ends only this training: the repaired network is kept.
    """
    candidate, required, proof = question.candidate, combine_properties(question.requirements), Proof()
    if not isinstance(candidate, RepairedNetwork):
        if proved:
            proof.notes.append(
                "the proof is about the weights as they were read off the module, which may compute something else"
            )
        return proof
    network = candidate.network()
    if proved:
        proof.certificate = None if required is None else certificate_for(network, required)
        return proof
    if not question.settings.harden:
        return proof
    reason = too_large(network, required)
    if reason is not None or required is None:
        proof.notes.append(f"there was no certified training: {reason}")
        return proof
    began = time.perf_counter()
    settings = HardeningSettings(iterations=question.settings.iterations, seed=question.seed)
    try:
        made = harden(
            network,
            required.spec,
            relation=required.relation,
            settings=settings,
            progress=lambda now: report(f"certified training: {now.on_words} on words, {now.on_boxes} on boxes"),
        )
    except (BudgetExceeded, KeyboardInterrupt) as end:
        proof.notes.append(f"certified training was ended: {getattr(end, 'reason', 'interrupted')}")
        return proof
    except RnncheckError as error:
        proof.notes.append(f"there was no certified training: {error}")
        return proof
    taken, reason = made.report.proved, made.report.ending.value
    if taken and not keeps_accuracy(RepairedNetwork(made.network, question.settings.threads).model()):
        taken, reason = False, "the proof closes, but too many other answers would change"
    if taken:
        proof.network, proof.certificate = made.network, made.certificate
    proof.hardening = HardeningFacts(
        proved=made.report.proved,
        taken=taken,
        boxes=made.report.boxes,
        seconds=time.perf_counter() - began,
        reason=reason,
    )
    return proof
