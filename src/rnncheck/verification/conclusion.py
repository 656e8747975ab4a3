"""From a finding to the verdict: explains and measures a violation, and collects all facts."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from rnncheck.errors import InputError
from rnncheck.proofs.bounded import BoundedProof
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.runtime.files import write_atomically
from rnncheck.search.flows import Flow
from rnncheck.verdict.certificate import Arithmetic
from rnncheck.verdict.facts import AutomatonFacts, HealthNote, Outcome, Scores, Strength
from rnncheck.verdict.guarantee import Guarantee, LengthProof, ProofFacts, Scope, Searched
from rnncheck.verdict.value import AnyVerdict, Satisfied, Undecided, Violated
from rnncheck.verdict.violation import FailureCluster, FaultyFlow, ViolationProbability
from rnncheck.verification.audit import shorter_by_reference
from rnncheck.verification.effort import Effort
from rnncheck.verification.explanation.evidence import Evidence, gather
from rnncheck.verification.explanation.explain import Explanation
from rnncheck.verification.explanation.failure_clusters import failure_clusters
from rnncheck.verification.explanation.health_notes import health_notes, vacuity
from rnncheck.verification.explanation.severity import violation_probability
from rnncheck.verification.question import Question
from rnncheck.verification.run import Run
from rnncheck.verification.verification_task import Finding
from rnncheck.version import __version__
from rnncheck.words import Alphabet, Codes


@dataclass(frozen=True)
class _Violation:
    """A violation as reported: the word, further ones, their failure clusters, and the severity."""

    word: Codes | None = None
    flows: tuple[Flow, ...] = ()
    others: tuple[Codes, ...] = ()
    clusters: tuple[FailureCluster, ...] = ()
    severity: ViolationProbability | None = None


def conclude(run: Run, finding: Finding) -> AnyVerdict:
    """Explain what was found, and collect the facts."""
    question, task = run.question, run.task
    run.history.look(task)
    found = _Violation() if finding.word is None else _explain_violation(run, finding, finding.word)
    word = found.word
    notes = _health_notes(run, violated=word is not None)
    evidence = gather(run.oracle, word, found.flows, run.best_effort)
    learned = None if question.method == "errors" or task.hypothesis is None else task.hypothesis.support
    problem = None if run.checkpoint is None else run.checkpoint.save()
    if problem is not None:
        notes.append(HealthNote("checkpoint", problem))
    proof, problem = _certify(question, finding)
    if problem is not None:
        notes.append(HealthNote("certificate", problem))
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
        "health": (*notes, *run.best_effort.notes),
        "history": run.history.rounds,
        "model_facts": dict(question.model.describe()),
        "spec_facts": run.spec_facts,
        "alphabet": question.model.alphabet,
        "seed": question.seed,
        "required": question.required,
        "settings": {**question.facts(), "timeout": question.timeout},
        "version": __version__,
    }
    if word is None:
        return _not_violated(run, finding, proof, facts)
    return _violated(run, found, word, evidence, facts)


def _violated(run: Run, found: _Violation, word: Codes, evidence: Evidence, facts: Mapping[str, Any]) -> Violated:
    alphabet, none_up_to = run.question.model.alphabet, _none_up_to(run, word)
    flows = zip(found.flows, evidence.flow_scores, strict=True)
    return Violated(
        **facts,
        counterexample=alphabet.decode(word),
        shortest=len(word) == 1 + (-1 if none_up_to is None else none_up_to),
        no_violation_up_to=none_up_to,
        other_counterexamples=tuple(map(alphabet.decode, found.others)),
        failure_clusters=found.clusters,
        faulty_flows=tuple(_faulty_flow(alphabet, flow, scores) for flow, scores in flows),
        severity=found.severity,
        trace=evidence.trace,
    )


def _not_violated(
    run: Run, finding: Finding, proof: ProofFacts | None, facts: Mapping[str, Any]
) -> Satisfied | Undecided:
    guarantee, searched = _guarantee(run, finding, proof), None if finding.proof else _search_facts(run)
    if finding.outcome is Outcome.UNDECIDED or guarantee is None:
        return Undecided(**facts, guarantee=guarantee, searched=searched)
    return Satisfied(**facts, strength=_strength(finding, guarantee), guarantee=guarantee, searched=searched)


def _strength(finding: Finding, guarantee: Guarantee) -> Strength:
    """What the guarantee of a satisfied property rests on."""
    if finding.proof:
        return Strength.PROVED if finding.certificate is not None or finding.vacuous else Strength.EXHAUSTIVE
    by_mass = guarantee.epsilon is None and guarantee.possible is not None
    return Strength.BOUNDED if by_mass or finding.unproved is not None else Strength.STATISTICAL


def _explain_violation(run: Run, finding: Finding, word: Codes) -> _Violation:
    """The violation, shortened, with further ones and flows, clustered and measured as far as time allows."""
    question, task, best_effort = run.question, run.task, run.best_effort
    effort = Effort.of(question.model, task.oracle.cost.work, question.settings)
    run.oracle.budget = run.explaining()
    best_effort.attempt("progress", run.report_progress)  # at once, before it is shortened
    explanation = _explain(run, word, effort)
    word, flows = explanation.word, tuple(explanation.flows)
    clusters: tuple[FailureCluster, ...] | None = None
    if explanation.others:
        words = [word, *explanation.others]
        clusters = best_effort.attempt(
            "which are one mistake", lambda: failure_clusters(task, question.spec.dfa, words, flows)
        )
    severity: ViolationProbability | None = None
    if question.settings.severity_samples != 0 and (effort.severity or question.settings.severity_samples):
        severity = best_effort.attempt(
            "the mass of violations", lambda: violation_probability(task, finding, word, flows, effort.severity)
        )
    return _Violation(word, flows, tuple(explanation.others), clusters or (), severity)


def _explain(run: Run, word: Codes, effort: Effort) -> Explanation:
    """A shorter counterexample where there is one, others beside it, and flows through it."""
    question, best_effort = run.question, run.best_effort
    explanation = Explanation(run.task, word, effort, run.report_progress)
    flows = question.settings.flows
    if question.settings.shrink:
        best_effort.attempt("a shorter counterexample", lambda: explanation.shorten(search=question.method == "auto"))
    if _none_up_to(run, explanation.word) is not None:
        best_effort.attempt("whether the reference knows a shorter one", lambda: _walk_reference(run, explanation))
    others = question.settings.counterexamples - 1
    if others:
        best_effort.attempt("further counterexamples", lambda: explanation.find_others(question.spec.dfa, others))
    if flows is not None:
        best_effort.attempt("faulty flows", lambda: explanation.find_flows(flows))
    return explanation


def _walk_reference(run: Run, explanation: Explanation) -> None:
    """Query the reference too for the short words of which none is a violation by the evaluator."""
    run.evaluation, shorter = shorter_by_reference(run.task)
    if shorter is not None:
        run.task.exact_length = run.evaluation.exact_length
        explanation.word = shorter
        run.notes = (*run.notes, run.differing(shorter, "the counterexample is the reference's"))


def _none_up_to(run: Run, word: Codes) -> int | None:
    """The length up to which all words were queried and none is a violation."""
    exact = run.task.exact_length
    return None if exact is None or not word else min(exact, len(word) - 1)


def _health_notes(run: Run, *, violated: bool) -> list[HealthNote]:
    notes = list(run.notes)
    with contextlib.suppress(BudgetExceeded):
        notes.extend(vacuity(run.task, run.question.assumption))
    if violated:
        run.best_effort.attempt("the health checks", lambda: notes.extend(health_notes(run.task, violated=True)))
    else:  # errors propagate: a claim about all words needs a model that does not fail
        try:
            notes.extend(health_notes(run.task, violated=False))
        except KeyboardInterrupt:
            run.best_effort.interrupt()
        except BudgetExceeded:
            pass
    return notes


def _certify(question: Question, finding: Finding) -> tuple[ProofFacts | None, str | None]:
    """Write the certificate, if there is one and a file for it. Returns its facts, and a problem or None."""
    proof = finding.certificate
    if proof is None:
        return None, None
    assumed = "" if question.assumption is None else f"; {question.assumption.facts.sentence()}"
    proof = msgspec.structs.replace(proof, origin=f"{question.spec.origin}{assumed}").sealed()
    path, problem = question.settings.certificate, None
    if path is not None:
        try:
            write_atomically(path, proof.to_json())
        except InputError as error:  # a full disk must not lose the verdict
            path, problem = None, f"the certificate was not written: {error}"
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
    return facts, problem


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


def _search_facts(run: Run) -> Searched:
    """What the searches beyond random words did."""
    task, method, reasons = run.task, run.question.method, []
    if method != "auto":
        reasons.append(f"the method {method} does not follow promising words; auto does")
    elif not run.oracle.stepping:
        reasons.append(
            "words were mutated instead of followed, since the model does not show its states between letters"
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


def _length_proof(question: Question, layers: BoundedProof) -> LengthProof:
    rounding = question.settings.proof.rounding
    arithmetic = Arithmetic(rounding.unit, rounding.tanh, rounding.sigmoid).sentence()
    return LengthProof(context=layers.context, arithmetic=arithmetic, covers_reference=question.covers_reference)


def _guarantee(run: Run, finding: Finding, proof: ProofFacts | None) -> Guarantee | None:
    task, confidence = run.task, run.question.confidence
    words, may_violate = task.sampler.words, None
    with contextlib.suppress(BudgetExceeded):  # the mass of a large automaton
        may_violate = task.may_violate.guarantee(task.sampler.may_violate)
    # By mass alone it is satisfied without the sample of all words, which then shows less than requested.
    satisfied = finding.outcome is Outcome.SATISFIED and not finding.proof
    by_mass = satisfied and confidence.achieved(words) > confidence.epsilon and may_violate is not None
    queried, lengths = task.exact_length, finding.lengths
    if lengths is not None and lengths.length <= (-1 if queried is None else queried):
        lengths = None
    exact = queried if lengths is None else lengths.length
    nothing = not words and may_violate is None and exact is None and proof is None
    if nothing and finding.outcome is not Outcome.SATISFIED:
        return None
    return Guarantee(
        proof=finding.proof,
        invariant=proof,
        epsilon=confidence.achieved(words) if words and not by_mass else None,
        gamma=confidence.gamma,
        samples=words,
        bound=confidence.bound.value,
        possible=None if finding.proof else may_violate,
        hypothesis_epsilon=finding.hypothesis_epsilon,
        exact_length=exact,
        lengths=None if lengths is None else _length_proof(run.question, lengths),
        distribution=run.question.distribution.describe(),
    )
