"""One run of an algorithm up to its finding, whatever ends it, with the self-check of the evaluator."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable

import numpy as np

from rnncheck.errors import InconsistentAnswersError
from rnncheck.learning.learning_task import ENDINGS, Progress
from rnncheck.models.protocol import SteppingModel
from rnncheck.oracle import MembershipOracle
from rnncheck.runtime.budget import INTERRUPTED, Budget, BudgetExceeded
from rnncheck.runtime.cooperative import finish
from rnncheck.verdict.facts import HealthNote, Outcome, SpecFacts, TotalCost
from rnncheck.verdict.guarantee import Evaluation
from rnncheck.verdict.violation import DataFacts, DataViolation
from rnncheck.verification.audit import Audit
from rnncheck.verification.explanation.best_effort import BestEffort
from rnncheck.verification.explanation.evidence import History
from rnncheck.verification.methods import METHODS
from rnncheck.verification.question import Question
from rnncheck.verification.searches import exhaustive
from rnncheck.verification.verification_checkpoint import CheckpointWriter, checkpoint_writer
from rnncheck.verification.verification_task import Finding, Task, violated
from rnncheck.word_files import Sequences
from rnncheck.words import Codes, WordBatch, format_word, shortlex_key

# After a violation is found, shrinking and flows may take this share of the time limit beyond what is left of it.
_GRACE = 0.1
_FIRST_DATA_VIOLATIONS = 5  # of the user's sequences, named in the verdict


class Run:
    """The work on a question up to its finding, and further facts.

    ``difference`` is a word on which the model's evaluator differs from its reference. ``suspect`` is such a word of an
    earlier run, queried first now. ``spent`` is the cost of that run.
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
        self.evaluation: Evaluation | None = None
        self._words_used = 0
        self.data: DataFacts | None = None
        self.spec_facts = SpecFacts()
        self.ended_early: str | None = None  # why, where the algorithm did not end by itself
        self.notes = notes
        self._suspect, self._spent = suspect, spent
        settings = question.settings
        self._budget = budget or Budget.lasting(question.timeout, clock=settings.clock, cancelled=settings.cancelled)
        self.checkpoint: CheckpointWriter | None = checkpoint_writer(question)
        self.oracle = MembershipOracle(
            question.model,
            memory_limit=settings.memory_limit // 2,  # the exhaustive search has a quarter, temporary data another
            budget=self._budget,
            journal=None if self.checkpoint is None else self.checkpoint.checkpoint.journal,
        )
        self.task = Task(
            self.oracle,
            question.prop,
            question.distribution,
            question.confidence,
            question.seed,
            settings,
            question.max_length,
            question.unbounded,
        )
        self.history = History()
        self.best_effort = BestEffort(self._stop)

    def find(self) -> Finding:
        """Run the algorithm. A finding that rests on the evaluator stands only if this agrees with the reference."""
        try:
            finding = self._search()
            self._words_used = self.task.words_used
            rests_on_evaluator = finding.word is None and self.difference is None and not self._is_proved(finding)
            return self._audit(finding) if rests_on_evaluator else finding
        except KeyboardInterrupt:
            self.best_effort.interrupt()
            self.difference = None  # no second run with the reference either
            known = self.task.best_so_far if self.task.violation_stands else None
            return known or Finding(Outcome.UNDECIDED, INTERRUPTED)

    def by_reference(self, word: Codes) -> Run:
        """The same question for the model's reference alone, after a word on which the two differ."""
        question = self.question
        note = self.differing(word, "every answer is the reference's, which is slow")
        settings = dataclasses.replace(question.settings, checkpoint=None, resume=False)
        again = dataclasses.replace(question, model=question.model.by_reference(), settings=settings)
        return Run(again, self._progress, self._budget, (note,), suspect=word, spent=self.cost())

    def differing(self, word: Codes, consequence: str) -> HealthNote:
        model = self.question.model
        return HealthNote(
            "evaluator",
            f"the model's evaluator ({model.describe().get('queries')}) and its reference give different "
            f"answers to the word {format_word(model.alphabet.decode(word))!r}; {consequence}",
        )

    def cost(self) -> TotalCost:
        cost, task = self.oracle.cost, self.task
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

    def grace(self) -> Budget:
        """The rest of the time limit and a little more, the same at every call."""
        if self.best_effort.interrupted:
            return self.oracle.budget
        limit, end = self.question.timeout, self._budget.deadline
        return dataclasses.replace(
            self._budget, deadline=None if limit is None or end is None else end + _GRACE * limit
        )

    def explaining(self) -> Budget:
        """The same, limited to the time for explanations in the settings, from now on."""
        budget, explain = self.grace(), self.question.settings.explain
        if explain is None or self.best_effort.interrupted:
            return budget
        end = budget.clock() + explain
        return dataclasses.replace(budget, deadline=end if budget.deadline is None else min(end, budget.deadline))

    def report_progress(self) -> None:
        if self._progress is not None:
            self._progress(self.task.progress(self.question.method))

    def _search(self) -> Finding:
        """Run the algorithm to its end, or to the end of the budget."""
        task, longest = self.task, self.question.settings.exhaustive

        def between() -> None:
            self.history.look(task)
            if self.checkpoint is not None:
                self.checkpoint.save_now_and_then()
            self.oracle.budget.check()
            self.report_progress()

        try:
            self.spec_facts = self.question.spec_facts()  # for every verdict, whatever ends the search
            if self._suspect is not None and task.violates(self._suspect):
                return violated(self._suspect, "the model's evaluator and its reference differ on it")
            finding = self._query_data()
            if finding is not None:
                return finding
            finding = None if longest is None else finish(exhaustive(task, longest), between)
            if finding is None or finding.outcome is Outcome.UNDECIDED:
                finding = finish(METHODS[self.question.method](task), between)
        except ENDINGS as end:
            self.ended_early = task.why_ended(end)
            if isinstance(end, KeyboardInterrupt):
                self.best_effort.interrupt()
            if isinstance(end, InconsistentAnswersError) and self._evaluator_differs(end.word):
                self.difference = end.word
            finding = task.best_so_far or self._last_look(end) or Finding(Outcome.UNDECIDED, self.ended_early)
        except Exception as error:
            if task.best_so_far is None or not task.violation_stands:
                raise
            self.best_effort.failed("an explanation of the violation", error)
            return task.best_so_far
        return finding

    def _last_look(self, end: BaseException) -> Finding | None:
        """The method's finding from what it has when its budget ends, in the little time that is left then."""
        if self.task.last_look is None or not isinstance(end, BudgetExceeded):
            return None
        self.oracle.budget = self.grace()
        with contextlib.suppress(BudgetExceeded, InconsistentAnswersError, MemoryError):
            return finish(self.task.last_look(self.task.why_ended(end)), self.oracle.budget.check)
        return None

    def _is_proved(self, finding: Finding) -> bool:
        """Whether it is proved for the reference too; not so for a model whose weights were extracted from it."""
        proved = finding.proof or finding.unproved is not None
        return proved and (finding.certificate is None or self.question.reference_has_these_weights)

    def _audit(self, finding: Finding) -> Finding:
        """The finding, if the evaluator that it rests on agrees with the reference.

        A result that was known before the time was over gets a little extra time for this.
        """
        if finding.outcome is Outcome.SATISFIED:
            self.oracle.budget = self.grace()
        audit = Audit(self.task)
        try:
            self.evaluation = audit.run()
        except (InconsistentAnswersError, MemoryError) as end:
            undecided = Finding(Outcome.UNDECIDED, self.task.why_ended(end))
            return finding if finding.outcome is Outcome.UNDECIDED else undecided
        if audit.unfinished is not None and finding.outcome is Outcome.SATISFIED:
            reason = INTERRUPTED if self.best_effort.interrupted else audit.unfinished.reason
            return Finding(Outcome.UNDECIDED, reason)
        if audit.difference is None:
            return finding
        if self._evaluator_differs(audit.difference):
            self.difference = audit.difference
        now = bool(self.oracle.answers([audit.difference])[0])  # the reference's, which is cached
        return Finding(Outcome.UNDECIDED, self.task.why_ended(InconsistentAnswersError(audit.difference, not now)))

    def _evaluator_differs(self, word: Codes) -> bool:
        """Whether the reference can be used instead: it is not the evaluator, and its answers do not change."""
        model = self.question.model
        if not isinstance(model, SteppingModel) or model.by_reference() is model:
            return False
        try:
            return self.oracle.reference_answer(word) == self.oracle.reference_answer(word)
        except BudgetExceeded:  # then there is no time to use it
            return False

    def _query_data(self) -> Finding | None:
        """Query the user's own sequences, if given; returns a violation among them."""
        data = self.question.settings.on_data
        if data is None:
            return None
        self.data, finding = query_data(self.task, data)
        return finding

    def _stop(self) -> None:
        """End all further queries."""
        self.oracle.budget = Budget.lasting(0.0, clock=self.question.settings.clock)


def query_data(task: Task, data: Sequences) -> tuple[DataFacts, Finding | None]:
    """Query the user's own sequences: how many are violations, and the least one as a finding."""
    words = [task.spec.alphabet.encode(word) for word in data.words]
    distinct = list(dict.fromkeys(words))
    wrong = {
        word
        for word, broken in zip(distinct, task.violating(distinct, task.oracle.by_reference()), strict=True)
        if broken
    }
    counts = task.prop.counts
    ends = task.spec.end_states(WordBatch.from_codes(words))
    rows = [row for row, word in enumerate(words) if word in wrong]
    facts = DataFacts(
        source=data.source,
        sha256=data.sha256(),
        words=len(words),
        counted=len(words) if counts is None else int(np.sum(counts[ends])),
        violations=len(rows),
        first=tuple(DataViolation(data.lines[row], data.words[row]) for row in rows[:_FIRST_DATA_VIOLATIONS]),
    )
    least = min(wrong, key=shortlex_key, default=None)
    if not task.confirmed(least):
        return facts, None
    return facts, violated(least, "a sequence of the data is a violation")
