"""Learning the violations (after Mayr, Yovine and Visca): the target is not L(R) but the words that break the property.

The learner queries "is this word a violation?" and so spends its states on the violations alone. While its hypothesis E
is empty, a test of E is a test of the property. As soon as E has a word, that word is a suspect. Confirmed, it decides
the verdict, and learning continues until E describes the violations well: this description is the method's purpose.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import replace
from typing import Any, TypeAlias

from rnncheck.automata.language import least_word
from rnncheck.automata.moore import Hypothesis
from rnncheck.errors import InconsistentAnswersError, LearningBoundReached
from rnncheck.learning.equivalence.oracle import EquivalenceAnswer, EquivalenceOracle, Testing
from rnncheck.learning.learners.learner import Learner
from rnncheck.learning.learning_task import refining
from rnncheck.probability.conditioned import conditioned
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.search.sampler import WordSource
from rnncheck.search.shrinking import shrink
from rnncheck.verdict.facts import Outcome
from rnncheck.verification.error_language import ErrorLanguage, describe, measure
from rnncheck.verification.verification_task import Algorithm, Finding, Task, violated
from rnncheck.words import Codes, WordBatch

# Learning stops at a description of this many states: the verdict stands, and a larger one is of no use.
LARGEST_DESCRIPTION = 30
_WORDS_AT_ONCE = 256
_MOST_AT_ONCE = 4_096

_Learning: TypeAlias = Generator[None, None, float | None]


def errors(task: Task) -> Algorithm:
    """Learn E, the language of violations: satisfied when E is empty and passes the test, violated when it is not."""
    language = ErrorLanguage(task.oracle, task.prop)
    learner = task.learner(language.ask)
    try:
        finding = yield from _decide(task, learner)
    except LearningBoundReached as bound:
        return Finding(Outcome.UNDECIDED, str(bound))
    if finding.word is None:
        return finding
    task.best_so_far = finding  # it stands, however the description ends
    return (yield from _describe(task, learner, language, finding, finding.word))


def _decide(task: Task, learner: Learner[Any]) -> Algorithm:
    """Until E has a word that is confirmed, or is empty and passes the test."""
    sampler, needed = task.sampler, task.confidence.words
    while True:
        task.begin_round(learner)
        yield None
        suspect = least_word(learner.hypothesis)
        if suspect is not None:
            word = task.spec.alphabet.encode(suspect)
            if task.violates(word):
                return violated(word, "a word of the learned error language, confirmed")
            yield from refining(learner, word)
            continue
        # E is empty, so a difference between E and the truth is a violation: the words of all rounds are one sample.
        while sampler.words < needed:
            drawn = sampler.draw(needed - sampler.words)
            if task.confirmed(drawn.violation):
                return violated(drawn.violation, "a word drawn to test the error language is a violation")
            yield None
        return Finding(
            Outcome.SATISFIED,
            f"the learned error language is empty, and none of {sampler.words} sampled words is a violation",
        )


def _describe(task: Task, learner: Learner[Any], language: ErrorLanguage, finding: Finding, word: Codes) -> Algorithm:
    """The finding with a description of the violations, as good as bounds and budget allow."""
    achieved, measured = None, True
    try:
        achieved = yield from _learn_violations(task, learner, language, word)
    except LearningBoundReached:
        pass
    except (BudgetExceeded, InconsistentAnswersError):  # the violation is confirmed already
        measured = False
    automaton = learner.hypothesis
    description = describe(automaton, task.distribution)
    if measured:
        with contextlib.suppress(BudgetExceeded):
            description = measure(description, automaton, language, task.distribution, task.rng("measure"))
    tested = "" if achieved is None else f"; it differs from them with probability below {achieved:.3g}"
    return replace(
        finding,
        reason=f"{finding.reason}; {description.sentence()}{tested}",
        hypothesis_epsilon=achieved,
        description=description,
    )


def _learn_violations(task: Task, learner: Learner[Any], language: ErrorLanguage, word: Codes) -> _Learning:
    """Refine E until it passes a test, whose ε is returned, or is too large to be a description."""
    alphabet = task.spec.alphabet
    # The shrunk violation is what a reader sees first: E starts with it.
    word = shrink(word, len(alphabet), lambda words: language.violations(WordBatch.from_codes(list(words))))
    while not learner.hypothesis.accepts(alphabet.decode(word)):
        yield from refining(learner, word)
    equivalence = _ErrorEquivalence(task, language)
    while True:
        hypothesis = task.begin_round(learner)
        answer = yield from equivalence.find_counterexample(hypothesis)
        if answer.counterexample is None:
            return answer.epsilon
        if len(hypothesis) >= LARGEST_DESCRIPTION:
            return None
        yield from refining(learner, answer.counterexample)


class _ErrorEquivalence(EquivalenceOracle):
    """Tests E on words drawn from the distribution.

    Violations may be rare there, so E is first tested on words that it accepts, and on words that could be violations;
    these do not enter the claim.
    """

    def __init__(self, task: Task, language: ErrorLanguage) -> None:
        self._task = task
        self._language = language
        self._suspects = conditioned(task.distribution, language.may_violate)
        self._rng = task.rng("describe")
        self._tests = 0

    def find_counterexample(self, hypothesis: Hypothesis) -> Testing:
        task, number = self._task, self._tests
        self._tests += 1
        sources: list[tuple[WordSource | None, int]] = [
            (conditioned(task.distribution, hypothesis.support), _WORDS_AT_ONCE),
            (self._suspects, 4 * _WORDS_AT_ONCE),
            (task.distribution, task.confidence.words_of_test(number)),
        ]
        passed = 0
        for source, needed in sources:
            passed = 0
            while source is not None and passed < needed:
                yield
                # Batches grow while nothing is found: steps of many rows cost little more.
                words = source.sample(self._rng, min(max(_WORDS_AT_ONCE, passed), _MOST_AT_ONCE, needed - passed))
                wrong = self._language.difference(words, hypothesis.support)
                if wrong is not None:
                    return EquivalenceAnswer(wrong)
                passed += len(words)
        return EquivalenceAnswer(epsilon=task.confidence.achieved_by_test(passed, number), words=passed)
