"""Check a verdict again, from its document and the model, sharing as little code as can be with what produced it.

Reading order: ``checks`` (what a replay says), ``tables`` and ``evidence`` (the document taken apart), ``structure``
(what must fit together), ``asking``, ``fresh`` and ``tree`` (the model asked again). Nothing here shows that a document
was written by a verification: it shows whether what the document says of the model is so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rnncheck.errors import InputError, shown
from rnncheck.models.protocol import Model
from rnncheck.verdict.replay.checks import Check, Replay, Status, unchecked
from rnncheck.verdict.replay.claims import Evidence, read_evidence
from rnncheck.verdict.replay.fresh import fresh_words
from rnncheck.verdict.replay.model_checks import counterexample, flows, identity, trace
from rnncheck.verdict.replay.structure import automata, numbers, structure
from rnncheck.verdict.replay.tree import all_words
from rnncheck.verdict.value import VerdictDocument
from rnncheck.verification.labels import as_judged
from rnncheck.words import Word

__all__ = ["Check", "Replay", "ReplaySettings", "Status", "replay"]


@dataclass(frozen=True)
class ReplaySettings:
    """How much to ask the model: fresh words, and network steps for each claim about many words.

    ``words_like`` are the words that an n-gram distribution was fitted to; the document has their digest alone.
    """

    words: int = 500
    seed: int = 0
    steps: int = 2_000_000
    words_like: tuple[Word, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("words", "seed", "steps"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InputError(f"{name} {shown(value)} is not a whole number of at least 0")


def replay(document: VerdictDocument, model: Model | None = None, settings: ReplaySettings | None = None) -> Replay:
    """Check everything that a verdict's document says; without the model, only what can be checked without it.

    The model is judged as it was then: by its labels, where the verdict is about labels.
    """
    if model is not None:
        model = as_judged(model, document.model)
    return Replay(tuple(_checks(read_evidence(document), model, settings or ReplaySettings())))


def _checks(evidence: Evidence, model: Model | None, settings: ReplaySettings) -> Iterator[Check]:
    yield from evidence.problems
    yield from structure(evidence)
    yield from numbers(evidence)
    yield from automata(evidence)
    if model is not None:
        yield from identity(evidence, model)
        if list(model.alphabet) != evidence.document.alphabet:
            return  # words of one alphabet cannot be read in the other
    yield from counterexample(evidence, model)
    yield from trace(evidence, model)
    yield from flows(evidence, model, settings.steps)
    yield from all_words(evidence, model, settings.steps)
    yield from fresh_words(evidence, model, settings.words, settings.seed, settings.words_like)
    yield from _only_told(evidence)


def _only_told(evidence: Evidence) -> Iterator[Check]:
    """What the document tells and nothing in it shows."""
    origin = evidence.document.spec.get("origin")
    if origin is not None:
        yield unchecked("specification text", f"whether the automaton is what {shown(origin)} means")
    tested = evidence.claims is not None and evidence.claims.hypothesis_epsilon is not None
    if evidence.hypothesis is not None and not tested:
        yield unchecked("hypothesis", "nothing is claimed of it")
    yield unchecked("reason, cost, health, rounds, command, seed, version", "told by the document, not shown")
