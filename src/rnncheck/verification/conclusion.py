"""From a finding to the verdict: a violation is polished and measured, and all that is known is put down."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from rnncheck.errors import InputError
from rnncheck.proofs.bounded import Layers
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.runtime.files import write_atomically
from rnncheck.search.flows import Flow
from rnncheck.verdict.certificate import Arithmetic
from rnncheck.verdict.facts import AutomatonFacts, HealthNote, Outcome, Scores, Strength
from rnncheck.verdict.guarantee import Guarantee, LengthProof, ProofFacts, Scope, Searched
from rnncheck.verdict.value import AnyVerdict, Satisfied, Undecided, Violated
from rnncheck.verdict.violation import FaultyFlow, Mistake, Severity
from rnncheck.verification.audit import shorter_by_reference
from rnncheck.verification.effort import Effort
from rnncheck.verification.explanation.evidence import Evidence, gather
from rnncheck.verification.explanation.explain import Polish
from rnncheck.verification.explanation.failure_clusters import mistakes_of
from rnncheck.verification.explanation.health_notes import health_notes, vacuity
from rnncheck.verification.explanation.severity import HowBad, how_bad
from rnncheck.verification.question import Question
from rnncheck.verification.run import Run
from rnncheck.verification.verification_task import Finding
from rnncheck.version import __version__
from rnncheck.words import Alphabet, Codes


@dataclass(frozen=True)
class _Violation:
    """A violation as it is told: the word, others beside it, what they have in common, and how bad it is."""

    word: Codes | None = None
    flows: tuple[Flow, ...] = ()
    others: tuple[Codes, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    mass: HowBad = HowBad(None, ())  # noqa: RUF009 - frozen


def conclude(run: Run, finding: Finding) -> AnyVerdict:
    """Polish what was found, and put it down."""
    question, task = run.question, run.task
    run.history.look(task)
    found = _Violation() if finding.word is None else _polished(run, finding, finding.word)
    word = found.word
    health = _health(run, violated=word is not None)
    evidence = gather(run.oracle, word, found.flows, run.extras)
    learned = None if question.method == "errors" or task.hypothesis is None else task.hypothesis.support
    trouble = None if run.checkpoint is None else run.checkpoint.save()
    if trouble is not None:
        health.append(HealthNote("checkpoint", trouble))
    proof, trouble = _certify(question, finding)
    if trouble is not None:
        health.append(HealthNote("certificate", trouble))
    facts: dict[str, Any] = {
        "reason": finding.reason,
        "method": question.method,
        "relation": question.relation,
        "scope": Scope(
            assumption=None if question.assumption is None else question.assumption.facts,
            covers_reference=(finding.certificate is None and finding.lengths is None) or question.covers_reference,
        ),
        "evaluation": run.evaluation,
        "cost": run.cost(),
        "learned": None if learned is None else AutomatonFacts.of(learned),
        "data": run.data,
        "error_language": finding.description,
        "health": (*health, *run.extras.notes),
        "history": run.history.rounds,
        "model_facts": dict(question.model.describe()),
        "spec_facts": run.spec_facts,
        "alphabet": question.model.alphabet,
        "seed": question.seed,
        "required": question.required,
        "settings": {**question.asked(), "timeout": question.timeout},
        "version": __version__,
    }
    if word is None:
        return _not_violated(run, finding, proof, facts)
    return _violated(run, found, word, evidence, facts)


def _violated(run: Run, found: _Violation, word: Codes, evidence: Evidence, facts: Mapping[str, Any]) -> Violated:
    alphabet, none_up_to = run.question.model.alphabet, _none_up_to(run, word)
    flows = zip(found.flows, evidence.flow_scores, strict=True)
    interval = found.mass.interval
    return Violated(
        **facts,
        counterexample=alphabet.decode(word),
        shortest=len(word) == 1 + (-1 if none_up_to is None else none_up_to),
        no_violation_up_to=none_up_to,
        other_counterexamples=tuple(map(alphabet.decode, found.others)),
        failure_clusters=found.mistakes,
        faulty_flows=tuple(_faulty_flow(alphabet, flow, scores) for flow, scores in flows),
        severity=None if interval is None else Severity(interval=interval, strata=found.mass.strata),
        trace=evidence.trace,
    )


def _not_violated(
    run: Run, finding: Finding, proof: ProofFacts | None, facts: Mapping[str, Any]
) -> Satisfied | Undecided:
    guarantee, searched = _guarantee(run, finding, proof), None if finding.proof else _searched(run)
    if finding.outcome is Outcome.UNDECIDED or guarantee is None:
        return Undecided(**facts, guarantee=guarantee, searched=searched)
    return Satisfied(**facts, strength=_strength(finding, guarantee), guarantee=guarantee, searched=searched)


def _strength(finding: Finding, guarantee: Guarantee) -> Strength:
    """What the guarantee of a satisfied property rests on."""
    if finding.proof:
        return Strength.PROVED if finding.certificate is not None or finding.vacuous else Strength.EXHAUSTIVE
    by_mass = guarantee.epsilon is None and guarantee.possible is not None
    return Strength.BOUNDED if by_mass or finding.unproved is not None else Strength.STATISTICAL


def _polished(run: Run, finding: Finding, word: Codes) -> _Violation:
    """The violation made shorter, with others and flows, grouped and measured as far as the time allows."""
    question, task, extras = run.question, run.task, run.extras
    effort = Effort.of(question.model, task.oracle.cost.work, question.settings)
    run.oracle.budget = run.explaining()
    extras.attempt("progress", run.tell)  # at once, as it was found
    polish = _polish(run, word, effort)
    word, flows = polish.word, tuple(polish.flows)
    mistakes: tuple[Mistake, ...] | None = None
    if polish.others:
        words = [word, *polish.others]
        mistakes = extras.attempt("which are one mistake", lambda: mistakes_of(task, question.spec.dfa, words, flows))
    mass: HowBad | None = None
    if question.settings.severity_samples != 0 and (effort.severity or question.settings.severity_samples):
        mass = extras.attempt("the mass of violations", lambda: how_bad(task, finding, word, flows, effort.severity))
    return _Violation(word, flows, tuple(polish.others), mistakes or (), mass or HowBad(None, ()))


def _polish(run: Run, word: Codes, effort: Effort) -> Polish:
    """A shorter counterexample where there is one, others beside it, and flows through it."""
    question, extras, polish = run.question, run.extras, Polish(run.task, word, effort, run.tell)
    flows = question.settings.flows
    if question.settings.shrink:
        extras.attempt("a shorter counterexample", lambda: polish.shorten(search=question.method == "auto"))
    if _none_up_to(run, polish.word) is not None:
        extras.attempt("whether the reference knows a shorter one", lambda: _walk(run, polish))
    others = question.settings.counterexamples - 1
    if others:
        extras.attempt("further counterexamples", lambda: polish.find_others(question.spec.dfa, others))
    if flows is not None:
        extras.attempt("faulty flows", lambda: polish.find_flows(flows))
    return polish


def _walk(run: Run, polish: Polish) -> None:
    """Let the reference be asked for the short words too, of which none is said to be a violation."""
    run.evaluation, shorter = shorter_by_reference(run.task)
    if shorter is not None:
        run.task.exact_length = run.evaluation.exact_length
        polish.word = shorter
        run.notes = (*run.notes, run.differing(shorter, "the counterexample is the reference's"))


def _none_up_to(run: Run, word: Codes) -> int | None:
    """Up to which length every word was asked, and none is a violation, beside this one."""
    exact = run.task.exact_length
    return None if exact is None or not word else min(exact, len(word) - 1)


def _health(run: Run, *, violated: bool) -> list[HealthNote]:
    health = list(run.notes)
    with contextlib.suppress(BudgetExceeded):
        health.extend(vacuity(run.task, run.question.assumption))
    if violated:
        run.extras.attempt("the health checks", lambda: health.extend(health_notes(run.task, violated=True)))
    else:  # a claim about all words, which a model that fails now does not deserve
        try:
            health.extend(health_notes(run.task, violated=False))
        except KeyboardInterrupt:
            run.extras.interrupt()
        except BudgetExceeded:
            pass
    return health


def _certify(question: Question, finding: Finding) -> tuple[ProofFacts | None, str | None]:
    """Write the certificate, where there is one and a file for it: its facts, and what went wrong if it did."""
    proof = finding.certificate
    if proof is None:
        return None, None
    assumed = "" if question.assumption is None else f"; {question.assumption.facts.sentence()}"
    proof = msgspec.structs.replace(proof, origin=f"{question.spec.origin}{assumed}").sealed()
    path, trouble = question.settings.certificate, None
    if path is not None:
        try:
            write_atomically(path, proof.to_json())
        except InputError as error:  # a disk that is full by now takes no verdict away
            path, trouble = None, f"the certificate was not written: {error}"
    facts = ProofFacts(
        boxes=proof.boxes,
        arithmetic=proof.arithmetic.sentence(),
        covers_reference=question.covers_reference,
        sha256=proof.sha256,
        certificate=path,
        unproved=finding.unproved,
        open=len(proof.left or ()) + len(proof.undecided or ()),
        shown=finding.shown,
    )
    return facts, trouble


def _faulty_flow(alphabet: Alphabet, flow: Flow, scores: Scores) -> FaultyFlow:
    return FaultyFlow(
        prefix=alphabet.decode(flow.prefix),
        loop=alphabet.decode(flow.loop),
        suffix=alphabet.decode(flow.suffix),
        hits=len(flow.hits),
        pumps=flow.pumps,
        violating_pumps=flow.hits,
        settles_at=flow.settles_at,
        forever=flow.forever,
        arithmetic=flow.arithmetic,
        scores=scores,
    )


def _searched(run: Run) -> Searched:
    """How far violations were looked for beyond random words."""
    task, method, reasons = run.task, run.question.method, []
    if method != "auto":
        reasons.append(f"the method {method} does not follow promising words; auto does")
    elif not run.oracle.stepping:
        reasons.append(
            "whole words were changed instead of followed, since the model does not show its states between letters"
        )
    if task.loop_failure is not None:
        reasons.append(f"loops were not repeated further, since the model failed: {task.loop_failure}")
    if run.ended_early is not None and method == "auto":
        reasons.append(f"the search ended early: {run.ended_early}")
    return Searched(
        guided_steps=task.guided_steps,
        changed_words=task.changed_words,
        loop_steps=task.loop_steps,
        loop_length=task.loop_length,
        exact_length=task.exact_length,
        reason="; ".join(reasons) or None,
    )


def _length_proof(question: Question, layers: Layers) -> LengthProof:
    rounding = question.settings.proof.rounding
    arithmetic = Arithmetic(rounding.unit, rounding.tanh, rounding.sigmoid).sentence()
    return LengthProof(context=layers.context, arithmetic=arithmetic, covers_reference=question.covers_reference)


def _guarantee(run: Run, finding: Finding, proof: ProofFacts | None) -> Guarantee | None:
    task, confidence = run.task, run.question.confidence
    words, possible = task.sampler.words, None
    with contextlib.suppress(BudgetExceeded):  # the mass of a large automaton
        possible = task.possible.shown(task.sampler.possible)
    # By mass alone it is satisfied without the sample of all words, which then shows less than was asked for.
    satisfied = finding.outcome is Outcome.SATISFIED and not finding.proof
    by_mass = satisfied and confidence.achieved(words) > confidence.epsilon and possible is not None
    asked, lengths = task.exact_length, finding.lengths
    if lengths is not None and lengths.length <= (-1 if asked is None else asked):
        lengths = None
    exact = asked if lengths is None else lengths.length
    nothing = not words and possible is None and exact is None and proof is None
    if nothing and finding.outcome is not Outcome.SATISFIED:
        return None
    return Guarantee(
        proof=finding.proof,
        invariant=proof,
        epsilon=confidence.achieved(words) if words and not by_mass else None,
        gamma=confidence.gamma,
        samples=words,
        bound=confidence.bound.value,
        possible=None if finding.proof else possible,
        hypothesis_epsilon=finding.hypothesis_epsilon,
        exact_length=exact,
        lengths=None if lengths is None else _length_proof(run.question, lengths),
        distribution=run.question.distribution.describe(),
    )
