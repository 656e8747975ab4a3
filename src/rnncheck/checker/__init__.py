"""Check a verdict again, from its document and the model, sharing as little code as can be with what produced it.

Reading order: ``checks`` (the results of a replay), ``product_table`` and ``claimed_document`` (the document taken
apart), ``structure`` (what must fit together), ``drawn_words`` (which words count, and how they are drawn),
``model_checks``, ``resampling`` and ``word_tree`` (the model queried again); ``proof_checks`` for certificates and
``lengths`` for proofs up to a length, with ``checked_network``, ``read_equations``, ``outward`` and
``checked_zonotope`` for their arithmetic. A replay does not show that a document was written by a verification: it
shows whether the document's claims about the model are true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rnncheck.checker.bounded_proof_checks import check_lengths
from rnncheck.checker.checks import Check, Replay, Status, unchecked
from rnncheck.checker.claimed_document import Claims, read_claims
from rnncheck.checker.deadline import Deadline
from rnncheck.checker.drawn_words import check_assumption
from rnncheck.checker.model_checks import (
    check_comparison,
    check_counterexample,
    check_flows,
    check_model,
    check_other_counterexamples,
    check_same_model,
    check_trace,
)
from rnncheck.checker.own_data import check_data
from rnncheck.checker.proof_checks import check_named_proof, check_proof, check_same_network
from rnncheck.checker.resampling import check_fresh_words
from rnncheck.checker.structure import check_automata, check_numbers, check_structure
from rnncheck.checker.word_tree import check_all_words
from rnncheck.errors import InputError, short_repr
from rnncheck.models.protocol import Model
from rnncheck.models.traces import trace_model
from rnncheck.models.word_difference import difference
from rnncheck.verdict.certificate import Certificate, is_certificate
from rnncheck.verdict.value import Verdict
from rnncheck.word_files import Sequences
from rnncheck.words import Word

__all__ = ["Check", "Replay", "ReplaySettings", "Status", "replay"]


@dataclass(frozen=True)
class ReplaySettings:
    """How much work to do: fresh words, and network steps for each claim about many words.

    ``words_like`` are the words that an n-gram distribution was fitted to, ``on_data`` the user's sequences that were
    queried, ``certificate`` that of a proof: the document has only their digests.
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
    """Check every claim of a verdict or certificate (or of the JSON text of one); without the model, what can be.

    Where the verdict is about labels, the model is queried for its labels. For a verdict about two models, ``model`` is
    the new one and ``against`` the old one. Where the document is about another model, an InputError names both
    digests. After ``timeout`` seconds the remaining claims stay open.
    """
    deadline = Deadline(timeout, progress)
    if isinstance(verdict, str | bytes) and is_certificate(verdict):
        verdict = Certificate.from_json(verdict)
    if isinstance(verdict, Certificate):
        if model is not None:
            check_same_network(verdict, model)
        return Replay(tuple(deadline.within_time(check_proof(verdict, model))), "proof")
    if isinstance(verdict, Verdict):
        verdict = verdict.to_json()
    claims = verdict if isinstance(verdict, Claims) else read_claims(verdict)
    if model is not None and claims.verdict.label_question is not None:
        question = claims.verdict.label_question
        model = trace_model(model, question.automaton, question.text)
    model = _compared(claims, model, against)
    if model is not None:
        check_same_model(claims, model)
    return Replay(tuple(deadline.within_time(_checks(claims, model, settings or ReplaySettings(), deadline))))


def _compared(claims: Claims, model: Model | None, against: Model | None) -> Model | None:
    """The comparison of both models, for a verdict about two."""
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


def _checks(claims: Claims, model: Model | None, settings: ReplaySettings, deadline: Deadline) -> Iterator[Check]:
    yield from claims.problems
    yield from check_structure(claims)
    yield from check_numbers(claims)
    yield from check_automata(claims)
    yield from check_assumption(claims, settings.words_like)
    if model is not None:
        yield from check_model(claims, model)
        if model.alphabet != claims.verdict.alphabet:
            return  # words cannot be translated between the alphabets
    stages = {
        "the counterexample": check_counterexample(claims, model),
        "what the two models say": check_comparison(claims, model),
        "other counterexamples": check_other_counterexamples(claims, model),
        "the answers along the counterexample": check_trace(claims, model, deadline),
        "faulty flows": check_flows(claims, model, settings.steps, deadline),
        "every word up to a length": check_all_words(claims, model, settings.steps, deadline),
        "your data": check_data(claims, model, settings.on_data, deadline),
        "the proof": check_named_proof(claims, model, settings.certificate, settings.words_like),
        "the proof up to a length": check_lengths(claims, model, settings.steps),
        "fresh words": check_fresh_words(claims, model, settings.words, settings.seed, settings.words_like, deadline),
        "what cannot be checked": _uncheckable(claims),
    }
    for doing, checks in stages.items():  # each starts when its first check is requested
        deadline.check(doing)
        yield from checks


def _uncheckable(claims: Claims) -> Iterator[Check]:
    """Claims of the document that nothing in it supports."""
    origin, question = claims.verdict.spec_facts.origin, claims.verdict.label_question
    text = origin if question is None else question.text
    if text:
        yield unchecked("specification text", f"whether the automaton in the document is what {short_repr(text)} means")
    tested = claims.guarantee is not None and claims.guarantee.hypothesis_epsilon is not None
    if claims.hypothesis is not None and not tested:
        yield unchecked("hypothesis", "nothing is claimed of it")
    if claims.verdict.failure_clusters:
        yield unchecked("failure clusters", "the document only suggests which counterexamples have the same cause")
    if claims.verdict.evaluation is not None:
        yield unchecked("evaluation", "how far evaluator and reference were compared is stated without evidence")
    yield unchecked(
        "reason, searched, cost, health, rounds, command, seed, version", "stated by the document, without evidence"
    )
