"""``verify``: one question, one verdict, whatever happens on the way. Prepare, find, conclude."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InconsistentAnswersError, InputError
from rnncheck.learning.task import ENDINGS, Progress
from rnncheck.models.engine.stepped_reference import SteppedReference
from rnncheck.models.protocol import Model, SteppingModel
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Relation, RelationName
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.runtime.files import write_atomically
from rnncheck.runtime.turns import finish
from rnncheck.runtime.watchdog import watchdog
from rnncheck.search.flows import Flow
from rnncheck.spec import Spec
from rnncheck.verdict.facts import AutomatonFacts, HealthNote, MethodName, Outcome, SpecFacts, TotalCost
from rnncheck.verdict.guarantee import Evaluation, Guarantee, ProofFacts, Searched
from rnncheck.verdict.value import Verdict
from rnncheck.verdict.violation import DataFacts, FaultyFlow, Mistake
from rnncheck.verification.audit import Audit, shorter_by_reference
from rnncheck.verification.evidence import History, gather
from rnncheck.verification.extras import Extras
from rnncheck.verification.health import health_notes, vacuity
from rnncheck.verification.how_bad import HowBad, how_bad
from rnncheck.verification.methods import METHODS
from rnncheck.verification.mistakes import mistakes_of
from rnncheck.verification.on_data import ask_data
from rnncheck.verification.polish import Polish
from rnncheck.verification.question import Question, prepare
from rnncheck.verification.resuming import CheckpointWriter, checkpoint_writer
from rnncheck.verification.searches import exhaustive
from rnncheck.verification.settings import VerifySettings
from rnncheck.verification.task import Finding, Task, violated
from rnncheck.version import __version__
from rnncheck.words import Alphabet, Codes, format_word

# After a violation is found, shrinking and flows may take this share of the time limit beyond what is left of it.
_GRACE = 0.1


def verify(
    model: Model,
    spec: Spec | DFA,
    *,
    method: MethodName = "auto",
    relation: RelationName | Relation = "subset",
    epsilon: float = Confidence.epsilon,
    gamma: float = Confidence.gamma,
    distribution: WordDistribution | None = None,
    seed: int = 0,
    timeout: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    settings: VerifySettings | None = None,
    assume: Spec | DFA | None = None,
    max_length: int | None = None,
) -> Verdict:
    """Does the model satisfy the specification?

    ``relation`` is ``subset`` (L(R) ⊆ L(A), no false positives), ``superset`` (no false negatives) or ``equal``.
    ``method`` is ``auto``, ``pdv``, ``smc``, ``aamc``, ``errors`` or ``prove``. A counterexample is always real: it was
    confirmed by the model's reference. "Satisfied" means that the probability of a violation under ``distribution`` is
    below ``epsilon`` with confidence 1 − ``gamma``; where ``guarantee.proof`` is set, that there is none. When
    ``timeout`` seconds are over, or the work is cancelled (Ctrl-C), the verdict is undecided and says what is known.
    The same inputs and seed give the same verdict.

    With ``assume``, a language, only its words count: others are no violations, and probabilities are those given that
    a word is in it. With ``max_length`` only words of at most so many letters count, and the model is never asked for
    longer ones.
    """
    question = prepare(
        model, spec, method, relation, epsilon, gamma, distribution, seed, timeout, settings, assume, max_length
    )
    run = _Run(question, progress)
    with watchdog(lambda: run.oracle.budget.remaining()):
        finding = run.find()
        if run.difference is not None:  # what the evaluator says is worth nothing: ask again, the slow way
            run = run.by_reference(run.difference)
            finding = run.find()
        return run.conclude(finding)


def never_begun(
    reason: str,
    alphabet: Alphabet,
    *,
    method: str = "auto",
    relation: RelationName | Relation = "subset",
    epsilon: float = Confidence.epsilon,
    gamma: float = Confidence.gamma,
    seed: int = 0,
) -> Verdict:
    """The verdict where the time was over before the model could be asked anything: a model that hangs, say."""
    return Verdict(
        schema="rnncheck/verdict/1",
        outcome=Outcome.UNDECIDED,
        reason=reason,
        method=method,
        relation=Relation.named(relation),
        cost=TotalCost(0.0, 0, 0, 0),
        alphabet=alphabet,
        seed=seed,
        settings={"epsilon": epsilon, "gamma": gamma},
        version=__version__,
    )


class _Run:
    """One call of ``verify``.

    ``difference`` is a word to which the model's evaluator gave another answer than its reference. ``suspect`` is one
    that an earlier run ended with: the first to be asked now. ``spent`` is what that run has cost.
    """

    def __init__(
        self,
        question: Question,
        progress: Callable[[Progress], None] | None,
        budget: Budget | None = None,
        notes: tuple[HealthNote, ...] = (),
        suspect: Codes | None = None,
        spent: TotalCost | None = None,
    ) -> None:
        self.question = question
        self._progress = progress
        self.difference: Codes | None = None
        self._evaluation: Evaluation | None = None
        self._words_used = 0
        self._data: DataFacts | None = None
        self._notes = notes
        self._suspect, self._spent = suspect, spent
        settings = question.settings
        self._budget = budget or Budget.lasting(question.timeout, clock=settings.clock, cancelled=settings.cancelled)
        self._checkpoint: CheckpointWriter | None = checkpoint_writer(question)
        self.oracle = MembershipOracle(
            question.model,
            memory_limit=settings.memory_limit // 2,  # the exhaustive search has a quarter, and what passes by another
            budget=self._budget,
            journal=None if self._checkpoint is None else self._checkpoint.checkpoint.journal,
        )
        self._task = Task(
            self.oracle,
            question.wanted,
            question.distribution,
            question.confidence,
            question.seed,
            settings,
            question.max_length,
        )
        self._history = History()
        self._extras = Extras(self._stop)

    def find(self) -> Finding:
        """What the algorithm finds, where it rests on the evaluator only if that says what the reference says."""
        finding = self._search()
        self._words_used = self._task.words_used
        rests_on_evaluator = finding.word is None and self.difference is None and not self._proved_of_model(finding)
        return self._audited(finding) if rests_on_evaluator else finding

    def _search(self) -> Finding:
        """Run the algorithm to its end, or to the end of the budget."""
        task, longest = self._task, self.question.settings.exhaustive

        def between() -> None:
            self._history.look(task)
            if self._checkpoint is not None:
                self._checkpoint.save_now_and_then()
            self.oracle.budget.check()
            self._tell()

        try:
            if self._suspect is not None and task.violates(self._suspect):
                return violated(self._suspect, "the model's evaluator answered it otherwise than its reference")
            finding = self._ask_data()
            if finding is not None:
                return finding
            finding = None if longest is None else finish(exhaustive(task, longest), between)
            if finding is None or finding.outcome is Outcome.UNDECIDED:
                finding = finish(METHODS[self.question.method](task), between)
        except ENDINGS as end:
            if isinstance(end, KeyboardInterrupt):
                self._stop()
            if isinstance(end, InconsistentAnswersError) and self._evaluator_differs(end.word):
                self.difference = end.word
            finding = task.best_so_far or self._last_look(end) or Finding(Outcome.UNDECIDED, task.why_ended(end))
        except Exception as error:
            if task.best_so_far is None or not task.violation_stands:
                raise
            self._extras.failed("more about the violation", error)
            return task.best_so_far
        return finding

    def _last_look(self, end: BaseException) -> Finding | None:
        """What the method has to say of what it has when its budget ends, in the little time that is left then."""
        if self._task.last_look is None or not isinstance(end, BudgetExceeded):
            return None
        self.oracle.budget = self._grace()
        with contextlib.suppress(*ENDINGS):
            return finish(self._task.last_look(self._task.why_ended(end)), self.oracle.budget.check)
        return None

    def _proved_of_model(self, finding: Finding) -> bool:
        """Whether it is proved of the reference too; of a model whose weights were read off it, it is not."""
        own_weights = isinstance(self.question.model.by_reference(), SteppedReference)
        return finding.proof and (finding.certificate is None or own_weights)

    def by_reference(self, word: Codes) -> _Run:
        """The same question, put to the model's reference alone, after a word on which the two differ."""
        question = self.question
        note = self._differing(word, "every answer is the reference's, which is slow")
        settings = dataclasses.replace(question.settings, checkpoint=None, resume=False)
        again = dataclasses.replace(question, model=question.model.by_reference(), settings=settings)
        return _Run(again, self._progress, self._budget, (note,), suspect=word, spent=self._cost())

    def _differing(self, word: Codes, consequence: str) -> HealthNote:
        model = self.question.model
        return HealthNote(
            "evaluator",
            f"the model's evaluator ({model.describe().get('queries')}) and its reference give different "
            f"answers to the word {format_word(model.alphabet.decode(word))!r}; {consequence}",
        )

    def _audited(self, finding: Finding) -> Finding:
        """The finding, if the evaluator whose answers it rests on says what the reference says."""
        audit = Audit(self._task)
        try:
            self._evaluation = audit.run()
        except (InconsistentAnswersError, MemoryError) as end:
            undecided = Finding(Outcome.UNDECIDED, self._task.why_ended(end))
            return finding if finding.outcome is Outcome.UNDECIDED else undecided
        if audit.difference is None:
            return finding
        if self._evaluator_differs(audit.difference):
            self.difference = audit.difference
        now = bool(self.oracle.answers([audit.difference])[0])  # the reference's, which is what is remembered
        return Finding(Outcome.UNDECIDED, self._task.why_ended(InconsistentAnswersError(audit.difference, not now)))

    def _evaluator_differs(self, word: Codes) -> bool:
        """Whether the reference can be asked instead: it is another than the evaluator, and stands by its word."""
        model = self.question.model
        if not isinstance(model, SteppingModel) or model.by_reference() is model:
            return False
        try:
            return self.oracle.reference_answer(word) == self.oracle.reference_answer(word)
        except BudgetExceeded:  # then there is no time to ask it anything else either
            return False

    def _ask_data(self) -> Finding | None:
        """Ask the person's own sequences, where there are any; a violation among them."""
        data = self.question.settings.on_data
        if data is None:
            return None
        self._data, finding = ask_data(self._task, data)
        return finding

    def conclude(self, finding: Finding) -> Verdict:
        """Polish what was found, and put it down."""
        question, task = self.question, self._task
        self._history.look(task)
        word, mass, extras = finding.word, HowBad(None, ()), self._extras
        flows: tuple[Flow, ...] = ()
        others: list[Codes] = []
        mistakes: tuple[Mistake, ...] = ()
        if word is not None:
            self.oracle.budget = self._grace()
            extras.attempt("progress", self._tell)  # at once, as it was found
            polish = self._polished(word)
            word, flows, others = polish.word, tuple(polish.flows), polish.others
            words = [word, *others]
            if others:
                grouped = extras.attempt(
                    "which are one mistake", lambda: mistakes_of(task, question.spec.dfa, words, flows)
                )
                mistakes = grouped or ()
            if question.settings.mass_words != 0:
                measured = extras.attempt("the mass of violations", lambda: how_bad(task, finding, word, flows))
                mass = measured or mass
        health = self._health(violated=word is not None)
        evidence = gather(self.oracle, word, flows, extras)
        learned = None if question.method == "errors" or task.hypothesis is None else task.hypothesis.support
        trouble = None if self._checkpoint is None else self._checkpoint.save()
        if trouble is not None:
            health.append(HealthNote("checkpoint", trouble))
        proof, trouble = self._certify(finding)
        if trouble is not None:
            health.append(HealthNote("certificate", trouble))
        none_up_to = None if word is None else self._none_up_to(word)
        return Verdict(
            schema="rnncheck/verdict/1",
            outcome=finding.outcome,
            reason=finding.reason,
            method=question.method,
            relation=question.relation,
            assumption=None if question.assumption is None else question.assumption.facts,
            counterexample=None if word is None else question.model.alphabet.decode(word),
            confirmed=word is not None,
            shortest=word is not None and len(word) == 1 + (-1 if none_up_to is None else none_up_to),
            no_violation_up_to=none_up_to,
            other_counterexamples=tuple(map(question.model.alphabet.decode, others)),
            mistakes=mistakes,
            guarantee=None if word is not None else self._guarantee(finding, proof),
            evaluation=self._evaluation,
            searched=None if word is not None or finding.proof else self._searched(),
            cost=self._cost(),
            learned=None if learned is None else AutomatonFacts.of(learned),
            faulty_flows=tuple(map(self._faulty_flow, flows, evidence.flow_scores)),
            violation_mass=mass.interval,
            mass_strata=mass.strata,
            data=self._data,
            error_language=finding.description,
            health=(*health, *extras.notes),
            trace=evidence.trace,
            history=self._history.rounds,
            model_facts=dict(question.model.describe()),
            spec_facts=SpecFacts(
                origin=question.spec.origin,
                sha256=question.spec.sha256(),
                states=len(question.spec.dfa),
                automaton=question.spec.dfa,
            ),
            alphabet=question.model.alphabet,
            seed=question.seed,
            settings={**question.asked(), "timeout": question.timeout},
            version=__version__,
        )

    def _cost(self) -> TotalCost:
        cost, task = self.oracle.cost, self._task
        seconds, steps = task.first_violation or (None, None)
        now = TotalCost(
            task.seconds,
            cost.membership_queries,
            cost.network_steps,
            task.rounds,
            seconds,
            steps,
            self._words_used or task.words_used,
        )
        return now if self._spent is None else now.after(self._spent)

    def _health(self, *, violated: bool) -> list[HealthNote]:
        health = [*self._notes, *vacuity(self._task, self.question.assumption)]
        if violated:
            self._extras.attempt("the health checks", lambda: health.extend(health_notes(self._task, violated=True)))
        else:  # a claim about all words, which a model that fails now does not deserve
            health.extend(health_notes(self._task, violated=False))
        return health

    def _polished(self, word: Codes) -> Polish:
        """A shorter counterexample where there is one, others beside it, and flows through it."""
        question, polish = self.question, Polish(self._task, word, self._tell)
        flows = question.settings.flows
        if question.settings.shrink:
            self._extras.attempt("a shorter counterexample", lambda: polish.shorten(search=question.method == "auto"))
        if self._none_up_to(polish.word) is not None:
            self._extras.attempt("whether the reference knows a shorter one", lambda: self._walk(polish))
        others = question.settings.counterexamples - 1
        if others:
            spec = question.spec.dfa
            self._extras.attempt("further counterexamples", lambda: polish.find_others(spec, others))
        if flows is not None:
            self._extras.attempt("faulty flows", lambda: polish.find_flows(flows))
        return polish

    def _walk(self, polish: Polish) -> None:
        """Let the reference be asked for the short words too, of which none is said to be a violation."""
        self._evaluation, shorter = shorter_by_reference(self._task)
        if shorter is not None:
            self._task.exact_length = self._evaluation.exact_length
            polish.word = shorter
            self._notes = (*self._notes, self._differing(shorter, "the counterexample is the reference's"))

    def _none_up_to(self, word: Codes) -> int | None:
        """Up to which length every word was asked, and none is a violation, beside this one."""
        exact = self._task.exact_length
        return None if exact is None or not word else min(exact, len(word) - 1)

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self._task.progress(self.question.method))

    def _stop(self) -> None:
        """Nobody waits for more answers."""
        self.oracle.budget = Budget.lasting(0.0, clock=self.question.settings.clock)

    def _certify(self, finding: Finding) -> tuple[ProofFacts | None, str | None]:
        """Write the certificate, where there is one and a file for it: its facts, and what went wrong if it did."""
        question, proof = self.question, finding.certificate
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
            boxes=len(proof.cells),
            arithmetic=proof.arithmetic.sentence(),
            original=not isinstance(question.model.by_reference(), SteppedReference),
            sha256=proof.sha256,
            certificate=path,
        )
        return facts, trouble

    def _grace(self) -> Budget:
        """What is left of the time limit, and a little more."""
        question, settings = self.question, self.question.settings
        left = None if question.timeout is None else self._budget.remaining() + _GRACE * question.timeout
        return Budget.lasting(left, clock=settings.clock, cancelled=settings.cancelled)

    def _faulty_flow(self, flow: Flow, scores: tuple[float | None, ...] | None) -> FaultyFlow:
        decode: Callable[[Codes], tuple[str, ...]] = self.question.model.alphabet.decode
        return FaultyFlow(
            prefix=decode(flow.prefix),
            loop=decode(flow.loop),
            suffix=decode(flow.suffix),
            hits=len(flow.hits),
            pumps=flow.pumps,
            violating_pumps=flow.hits,
            settles_at=flow.settles_at,
            forever=flow.forever,
            arithmetic=flow.arithmetic,
            scores=scores,
        )

    def _searched(self) -> Searched:
        """How far violations were looked for beyond random words."""
        task, method, reason = self._task, self.question.method, None
        if method != "auto":
            reason = f"the method {method} does not follow promising words; auto does"
        elif not self.oracle.stepping:
            reason = (
                "whole words were changed instead of followed, since the model does not show its states between letters"
            )
        return Searched(
            guided_steps=task.guided_steps,
            changed_words=task.changed_words,
            exact_length=task.exact_length,
            reason=reason,
        )

    def _guarantee(self, finding: Finding, proof: ProofFacts | None) -> Guarantee | None:
        task, confidence = self._task, self.question.confidence
        words, possible = task.sampler.words, task.possible.shown(task.sampler.possible)
        # By mass alone it is satisfied without the sample of all words, which then shows less than was asked for.
        satisfied = finding.outcome is Outcome.SATISFIED and not finding.proof
        by_mass = satisfied and confidence.achieved(words) > confidence.epsilon and possible is not None
        if not words and possible is None and task.exact_length is None and finding.outcome is not Outcome.SATISFIED:
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
            exact_length=task.exact_length,
            distribution=self.question.distribution.describe(),
        )
