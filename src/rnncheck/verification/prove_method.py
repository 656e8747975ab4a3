"""A proof for words of any length, where the network's states can be enclosed: no sample, no probability."""

from __future__ import annotations

from rnncheck.errors import ModelError
from rnncheck.models.labelled import network_of
from rnncheck.proving.certifying import certificate_of
from rnncheck.proving.closure import Progress
from rnncheck.proving.prove import Invariant, NotProved, Obstacle, ProofSettings, prove_words
from rnncheck.verdict.facts import Outcome
from rnncheck.verification.task import Algorithm, Finding, Task, violated
from rnncheck.words import Codes

# What ``auto`` spends on a proof after it has found no violation: a second or so.
CHEAP = ProofSettings(context=3, classes=300, rounds=200)
CHEAP_NUMBERS = 1 << 22  # of gates, over all boxes and letters of a round


def prove(task: Task) -> Algorithm:
    """Prove it, or show a violation that lay in the way."""
    return (yield from _prove(task, task.settings.proof))


def prove_cheaply(task: Task) -> Algorithm:
    """The same, as far as it costs little."""
    try:
        network = network_of(task.oracle.model)
    except ModelError as error:
        return Finding(Outcome.UNDECIDED, str(error))
    gates = max(layer.recurrent_weight.size for layer in network.layers) * len(network.layers)
    if gates * len(network.alphabet) * CHEAP.classes > CHEAP_NUMBERS * 64:
        return Finding(Outcome.UNDECIDED, "the network is too large for a proof that costs little")
    return (yield from _prove(task, CHEAP))


def _prove(task: Task, settings: ProofSettings) -> Algorithm:
    try:
        network = network_of(task.oracle.model)
    except ModelError:
        kind = task.oracle.model.describe().get("kind", "a model")
        return Finding(
            Outcome.UNDECIDED, f"a proof needs the weights of a network, and this model ({kind}) answers words alone"
        )
    if task.violates(()):
        return violated((), "the empty word is a violation")
    attempts = prove_words(network, task.wanted, settings)
    while True:
        try:
            event = next(attempts)
        except StopIteration as end:
            found: Invariant | NotProved = end.value
            break
        if isinstance(event, Progress):
            task.boxes = (event.growing, event.classes)
        elif (word := _violation_near(task, event)) is not None:
            return violated(word, "a box of the proof reached the decision, and a word that leads there is a violation")
        yield
    if isinstance(found, NotProved):
        return Finding(Outcome.UNDECIDED, f"not proved: {found.sentence(task.spec.alphabet)}")
    accepts_empty = task.oracle.reference_answer(())
    return Finding(
        Outcome.SATISFIED,
        f"every word leads into one of {len(found.partition)} boxes of network states, no letter leads out of them, "
        "and in each the network answers as it should",
        proof=True,
        certificate=certificate_of(found, network, task.wanted, accepts_empty),
    )


def _violation_near(task: Task, obstacle: Obstacle) -> Codes | None:
    """The shortest prefix of the obstacle's word that is a violation, if one is."""
    word = obstacle.stuck.word
    prefixes = [word[:length] for length in range(len(word) + 1)]
    suspects = (prefix for prefix, wrong in zip(prefixes, task.violating(prefixes), strict=True) if wrong)
    return next(filter(task.violates, suspects), None)
