"""A proof for words of any length, where the network's states can be enclosed: no sample, no probability."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from rnncheck.errors import ModelError
from rnncheck.models.labelled import network_of
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.traces import TraceModel
from rnncheck.proofs.certifying import certificate_of
from rnncheck.proofs.invariant import Progress, Stuck
from rnncheck.proofs.projection import project_boxes
from rnncheck.proofs.proof_search import Invariant, NotProved, ProofSettings, search_proof
from rnncheck.verdict.facts import Outcome
from rnncheck.verification.partial_proof import prove_partly
from rnncheck.verification.verification_task import Algorithm, Finding, Task, violated
from rnncheck.words import Codes

# What ``auto`` spends on a proof after it has found no violation: a second or so.
CHEAP = ProofSettings(context=3, classes=300, rounds=200, induction_depth=0)
CHEAP_NUMBERS = 1 << 22  # of gates, over all boxes and letters of a round


def prove(task: Task) -> Algorithm:
    """Prove the property, or find a violation on the way, or prove a part."""
    network = _network(task)
    if isinstance(network, Finding):
        return network
    found = yield from _attempts(task, network, task.settings.proof)
    if isinstance(found, NotProved):
        return (yield from prove_partly(task, network, found.sentence(task.spec.alphabet)))
    return found


def prove_cheaply(task: Task) -> Algorithm:
    """The full proof or none, within a small cost."""
    network = _network(task)
    if isinstance(network, Finding):
        return network
    gates = max(layer.recurrent_weight.size for layer in network.layers) * len(network.layers)
    if gates * len(network.alphabet) * CHEAP.classes > CHEAP_NUMBERS * 64:
        return Finding(Outcome.UNDECIDED, "the network is too large for a cheap proof")
    found = yield from _attempts(task, network, CHEAP)
    if isinstance(found, NotProved):
        return Finding(Outcome.UNDECIDED, f"not proved: {found.sentence(task.spec.alphabet)}")
    return found


def _network(task: Task) -> RecurrentNetwork | Finding:
    """The network whose states can be enclosed, or why there is none."""
    model = task.oracle.model
    try:
        return network_of(model)
    except ModelError:
        pass
    if isinstance(model, TraceModel):
        why = (
            "a proof follows the specification by letters alone, but this one also reads the labels of the network "
            "along the word, which no box determines; verify a property of one label (--label), or another method"
        )
    else:
        why = _why_no_network(model.describe())
    return Finding(Outcome.UNDECIDED, why)


def _why_no_network(facts: Mapping[str, Any]) -> str:
    """Why a model has no network for a proof, and what helps."""
    kind = facts.get("kind", "a model")
    if "head" in facts:
        layers = set(facts["head"].split(", "))
        if layers <= {"linear", "pick", "scale"}:
            helps = "they compute nothing that a single linear layer cannot: put that in their place and prove it"
        elif layers <= {"linear", "pick", "scale", "log_odds"}:
            helps = "return the logits instead of the probability of one label, and choose the label with --label"
        else:
            helps = "the method auto can search it for violations, and sample words"
        return f"a proof is for recurrent layers with one linear layer after them; here follow {facts['head']}; {helps}"
    reasons = (str(facts[name]) for name in ("compiling", "stepping") if name in facts)
    reason = next((text for text in reasons if text.startswith("not possible")), None)
    found = "" if reason is None else f"; to read its weights is {reason}"
    return f"a proof needs the weights of a network, and this model ({kind}) is a black box{found}"


def _attempts(
    task: Task, network: RecurrentNetwork, settings: ProofSettings
) -> Generator[None, None, Finding | NotProved]:
    if task.violates(()):
        return violated((), "the empty word is a violation")
    attempts = search_proof(network, task.prop, settings)
    while True:
        try:
            event = next(attempts)
        except StopIteration as end:
            found: Invariant | NotProved = end.value
            break
        if isinstance(event, Progress):
            task.boxes = (event.growing, event.classes)
        elif (word := _violation_near(task, event)) is not None:
            return violated(
                word, "a box of the proof reached the threshold, and a word that leads there is a violation"
            )
        yield
    return found if isinstance(found, NotProved) else finding_of_invariant(task, found)


def finding_of_invariant(task: Task, found: Invariant, how: str = "") -> Finding:
    """The finding from an invariant, with its certificate; the empty word was queried and is not a violation."""
    network, accepts_empty = network_of(task.oracle.model), task.oracle.reference_answer(())
    boxes = len(found.own_boxes)
    if boxes == len(found.partition):
        why = f"every word leads into one of {boxes} boxes of network states, no letter leads out of them, and in each"
    else:
        depth = max(map(len, found.partition.contexts)) + 1
        why = (
            f"from each of {boxes} boxes of network states every word leads into one again within {depth} letters, and"
        )
    return Finding(
        Outcome.SATISFIED,
        f"{how}{why} the network answers as it should",
        proof=True,
        certificate=certificate_of(found, network, task.prop, accepts_empty),
        shown=project_boxes(network, found),
    )


def _violation_near(task: Task, stuck: Stuck) -> Codes | None:
    """The shortest violation among the prefixes of the word that leads to an obstacle, or None."""
    word = stuck.word
    prefixes = [word[:length] for length in range(len(word) + 1)]
    suspects = (prefix for prefix, wrong in zip(prefixes, task.violating(prefixes), strict=True) if wrong)
    return next(filter(task.violates, suspects), None)
