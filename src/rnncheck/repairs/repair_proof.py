"""The end of a repair: is it proved, and can the network be trained so that it is?"""

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
from rnncheck.repairs.repaired_models import NetworkPupil
from rnncheck.repairs.requirements import Requirement
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.training.certified.certified_training import HardeningSettings, harden
from rnncheck.verdict.certificate import Certificate
from rnncheck.verification.methods.proof_method import CHEAP
from rnncheck.words import WordBatch

_MOST_UNITS = 200  # of all layers: those of 160 to 180 close in a minute or two
_MOST_EDGES = 60  # states × letters of the specification


def combined(requirements: Sequence[Requirement]) -> Property | None:
    """One property that says what all say together; None where no single one does."""
    kinds = {each.kind for each in requirements}
    if len(kinds) > 1 or None in kinds:
        return None
    relation = requirements[0].kind
    assert relation is not None
    automata = [each.spec.dfa for each in requirements]
    join: Callable[[DFA, DFA], DFA] = union if relation is Relation.SUPERSET else intersection
    return Property(functools.reduce(join, automata), relation)


def certificate_for(network: RecurrentNetwork, wanted: Property) -> Certificate | None:
    """The certificate of a proof, where one is found at little cost."""
    empty = reference_judgement(network, ()).accepted
    ends = wanted.spec.end_states(WordBatch.from_codes([()]))
    if wanted.broken(np.array([empty]), ends)[0]:
        return None
    found = find_invariant(network, wanted, CHEAP)
    return certificate_of(found, network, wanted, empty) if isinstance(found, Invariant) else None


def too_large(network: RecurrentNetwork, wanted: Property | None) -> str | None:
    """Why training for a proof is not tried; None where it is."""
    if wanted is None:
        return "the properties do not make one that can be trained for"
    units = sum(layer.hidden for layer in network.layers)
    if units > _MOST_UNITS:
        return f"a network of {units} units is too large to train for a proof (at most {_MOST_UNITS})"
    edges = wanted.spec.transitions.size
    if edges > _MOST_EDGES:
        return f"a specification of {len(wanted.spec)} states and {len(wanted.spec.alphabet)} letters is too large"
    return None


def prove_or_harden(
    question: Question, proved: bool, tell: Callable[[str], None], keeps_accuracy: Callable[[Model], bool]
) -> Proof:
    """What is known of a proof: the certificate of one that is there, or a network that was trained to have one.

    The end of the budget is the end of such training, and of nothing else: what was repaired stays.
    """
    pupil, wanted, proof = question.pupil, combined(question.requirements), Proof()
    if not isinstance(pupil, NetworkPupil):
        if proved:
            proof.notes.append(
                "the proof is of the weights as they were read off the module, which may compute otherwise"
            )
        return proof
    network = pupil.network()
    if proved:
        proof.certificate = None if wanted is None else certificate_for(network, wanted)
        return proof
    if not question.settings.harden:
        return proof
    reason = too_large(network, wanted)
    if reason is not None or wanted is None:
        proof.notes.append(f"it was not trained for a proof: {reason}")
        return proof
    began = time.perf_counter()
    settings = HardeningSettings(iterations=question.settings.iterations, seed=question.seed)
    try:
        made = harden(
            network,
            wanted.spec,
            relation=wanted.relation,
            settings=settings,
            progress=lambda now: tell(f"training for a proof: {now.on_words} on words, {now.on_boxes} on boxes"),
        )
    except (BudgetExceeded, KeyboardInterrupt) as end:
        proof.notes.append(f"training for a proof was ended: {getattr(end, 'reason', 'interrupted')}")
        return proof
    except RnncheckError as error:
        proof.notes.append(f"it was not trained for a proof: {error}")
        return proof
    taken, reason = made.report.proved, made.report.ending.value
    if taken and not keeps_accuracy(NetworkPupil(made.network, question.settings.threads).model()):
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
