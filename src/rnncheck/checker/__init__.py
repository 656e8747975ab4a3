"""Check a verdict again, from its document and the model, sharing as little code as can be with what produced it.

Reading order: ``checks`` (what a replay says), ``tables`` and ``claims`` (the document taken apart), ``structure``
(what must fit together), ``drawing`` (which words count, and how they are drawn), ``model_checks``, ``fresh`` and
``tree`` (the model asked again); ``proof`` for certificates and ``lengths`` for proofs up to a length,
with ``checked_network``, ``read_equations`` and ``outward``, their arithmetic. Nothing here shows that a
document was written by a verification: it shows whether what the document says of the model is so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rnncheck.checker.checks import Check, Replay, Status, unchecked
from rnncheck.checker.claimed_document import Claims, read_claims
from rnncheck.checker.deadline import Watch
from rnncheck.checker.drawn_words import assumption
from rnncheck.checker.lengths import proved_lengths
from rnncheck.checker.model_checks import (
    check_same_model,
    comparison,
    counterexample,
    flows,
    identity,
    other_counterexamples,
    trace,
)
from rnncheck.checker.own_data import data
from rnncheck.checker.proof_checks import check_same_network, named_proof, proof_checks
from rnncheck.checker.resampling import fresh_words
from rnncheck.checker.structure import automata, numbers, structure
from rnncheck.checker.word_tree import all_words
from rnncheck.errors import InputError, short_repr
from rnncheck.models.protocol import Model
from rnncheck.models.traces import as_judged
from rnncheck.models.word_difference import difference
from rnncheck.verdict.certificate import Certificate, is_certificate
from rnncheck.verdict.value import Verdict
from rnncheck.word_files import Sequences
from rnncheck.words import Word

__all__ = ["Check", "Replay", "ReplaySettings", "Status", "replay"]


@dataclass(frozen=True)
class ReplaySettings:
    """How much to ask the model: fresh words, and network steps for each claim about many words.

    ``words_like`` are the words that an n-gram distribution was fitted to, ``on_data`` the sequences that were asked,
    ``certificate`` that of a proof: the document has their digests alone.
    """

    words: int = 500
    seed: int = 0
    steps: int = 2_000_000
    words_like: tuple[Word, ...] | None = None
    on_data: Sequences | None = None
    certificate: Certificate | None = None

    def __post_init__(self) -> None:
        for name in ("words", "seed", "steps"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InputError(f"{name} {short_repr(value)} is not a whole number of at least 0")


def replay(
    verdict: Verdict | Claims | Certificate | str | bytes,
    model: Model | None = None,
    settings: ReplaySettings | None = None,
    *,
    against: Model | None = None,
    timeout: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> Replay:
    """Check everything that a verdict or certificate (or the JSON text of one) says; without the model, what can be.

    The model is judged as it was then: by its labels, where the verdict is about labels. Of a verdict about two models
    it is the new one, and ``against`` the old one. An InputError names both digests where the document is about another
    model. When ``timeout`` seconds are over, what was not checked is open.
    """
    watch = Watch(timeout, progress)
    if isinstance(verdict, str | bytes) and is_certificate(verdict):
        verdict = Certificate.from_json(verdict)
    if isinstance(verdict, Certificate):
        if model is not None:
            check_same_network(verdict, model)
        return Replay(tuple(watch.within_time(proof_checks(verdict, model))), "proof")
    if isinstance(verdict, Verdict):
        verdict = verdict.to_json()
    claims = verdict if isinstance(verdict, Claims) else read_claims(verdict)
    if model is not None and claims.verdict.label_question is not None:
        question = claims.verdict.label_question
        model = as_judged(model, question.automaton, question.text)
    model = _compared(claims, model, against)
    if model is not None:
        check_same_model(claims, model)
    return Replay(tuple(watch.within_time(_checks(claims, model, settings or ReplaySettings(), watch))))


def _compared(claims: Claims, model: Model | None, against: Model | None) -> Model | None:
    """The model that a verdict about two is about, where both are given."""
    comparison = claims.verdict.comparison
    if comparison is None:
        if against is not None:
            raise InputError("the verdict is about one model; leave the other one out (--against)")
        return model
    if model is None:
        return None
    if against is None:
        raise InputError("the verdict is about two models; give the old one too: against=… (--against)")
    return difference(against, model, comparison.relation, labels=comparison.by_label)


def _checks(claims: Claims, model: Model | None, settings: ReplaySettings, watch: Watch) -> Iterator[Check]:
    yield from claims.problems
    yield from structure(claims)
    yield from numbers(claims)
    yield from automata(claims)
    yield from assumption(claims, settings.words_like)
    if model is not None:
        yield from identity(claims, model)
        if model.alphabet != claims.verdict.alphabet:
            return  # words of one alphabet cannot be read in the other
    stages = {
        "the counterexample": counterexample(claims, model),
        "what the two models say": comparison(claims, model),
        "other counterexamples": other_counterexamples(claims, model),
        "the answers along the counterexample": trace(claims, model, watch),
        "faulty flows": flows(claims, model, settings.steps, watch),
        "every word up to a length": all_words(claims, model, settings.steps, watch),
        "your data": data(claims, model, settings.on_data, watch),
        "the proof": named_proof(claims, model, settings.certificate, settings.words_like),
        "the proof up to a length": proved_lengths(claims, model, settings.steps),
        "fresh words": fresh_words(claims, model, settings.words, settings.seed, settings.words_like, watch),
        "what is only told": _only_told(claims),
    }
    for doing, checks in stages.items():  # each begins to work when it is asked for its first check
        watch(doing)
        yield from checks


def _only_told(claims: Claims) -> Iterator[Check]:
    """What the document tells and nothing in it shows."""
    origin, question = claims.verdict.spec_facts.origin, claims.verdict.label_question
    text = origin if question is None else question.text
    if text:
        yield unchecked("specification text", f"whether the automaton in the document is what {short_repr(text)} means")
    tested = claims.guarantee is not None and claims.guarantee.hypothesis_epsilon is not None
    if claims.hypothesis is not None and not tested:
        yield unchecked("hypothesis", "nothing is claimed of it")
    if claims.verdict.mistakes:
        yield unchecked("mistakes", "which counterexamples are one is a hint of the document's")
    yield unchecked("reason, cost, health, rounds, command, seed, version", "told by the document, not shown")
