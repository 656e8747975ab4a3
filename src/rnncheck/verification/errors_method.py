"""Learning the mistakes themselves (after Mayr, Yovine and Visca): the target is not L(R) but what breaks the property.

The learner asks "is this word a violation?" and so spends its states on the mistakes alone. While its hypothesis E is
empty, a test of E is a test of the property. As soon as E has a word, that word is a suspect. Confirmed, it decides the
verdict, and learning goes on until E describes the violations well: the description is why one asks this way.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import least_word
from rnncheck.errors import InconsistentAnswersError, LearningBoundReached
from rnncheck.learning import Learner, make_learner
from rnncheck.probability.conditioned import conditioned
from rnncheck.probability.statistics import round_shown_epsilon
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.search.shrinking import shrink
from rnncheck.verdict.value import Outcome
from rnncheck.verification.error_language import ErrorDescription, ErrorLanguage, describe, measure
from rnncheck.verification.task import Algorithm, Finding, Task, refine, violated
from rnncheck.words import Codes, WordBatch

# Learning stops at a description of so many states: the verdict stands, and nobody reads a larger one.
LARGEST_DESCRIPTION = 30
_WORDS_AT_ONCE = 256
_MOST_AT_ONCE = 4_096


@dataclass(frozen=True)
class ErrorsFinding(Finding):
    """A violation with a description of all of them."""

    description: ErrorDescription | None = None


_Learning: TypeAlias = Generator[None, None, float | None]


def errors(task: Task) -> Algorithm:
    """Learn E, the language of violations: satisfied when E is empty and passes the test, violated when it is not."""
    language = ErrorLanguage(task.oracle, task.spec, task.relation)
    learner = _learner(task, language)
    try:
        finding = yield from _decide(task, learner)
    except LearningBoundReached as bound:
        return Finding(Outcome.UNDECIDED, str(bound))
    if finding.word is None:
        return finding
    task.state.earned = finding  # it stands, whatever becomes of the description
    return (yield from _described(task, learner, language, finding, finding.word))


def _decide(task: Task, learner: Learner[Any]) -> Algorithm:
    """Until E has a word that is confirmed, or is empty and passes the test."""
    while True:
        hypothesis = _next_round(task, learner)
        yield
        suspect = least_word(hypothesis)
        if suspect is not None:
            word = task.spec.alphabet.encode(suspect)
            if task.violates(word):
                return violated(word, "a word of the learned error language, confirmed")
            refine(learner, word)
            continue
        # E is empty, so a difference between E and the truth is a violation: the words of all rounds are one sample.
        while task.sampler.words < task.words_needed:
            drawn = task.sampler.draw(task.words_needed - task.sampler.words)
            if task.confirmed(drawn.violation):
                return violated(drawn.violation, "a word drawn to test the error language is a violation")
            yield
        return Finding(
            Outcome.SATISFIED,
            f"the learned error language is empty, and none of {task.sampler.words} sampled words is a violation",
        )


def _described(task: Task, learner: Learner[Any], language: ErrorLanguage, finding: Finding, word: Codes) -> Algorithm:
    """The finding with a description of the violations, as good as bounds and budget allow."""
    shown, measured = None, True
    try:
        shown = yield from _learn_violations(task, learner, language, word)
    except LearningBoundReached:
        pass
    except (BudgetExceeded, InconsistentAnswersError):  # the violation is confirmed all the same
        measured = False
    description = describe(learner.hypothesis, task.distribution)
    if measured:
        with contextlib.suppress(BudgetExceeded):
            description = measure(description, language, task.distribution, task.rng("measure"))
    tested = "" if shown is None else f"; it differs from them with probability below {shown:.3g}"
    found = ErrorsFinding(**vars(finding), description=description)
    return replace(found, reason=f"{finding.reason}; {description.sentence()}{tested}", hypothesis_epsilon=shown)


def _learn_violations(task: Task, learner: Learner[Any], language: ErrorLanguage, word: Codes) -> _Learning:
    """Refine E until it passes a test, whose ε is returned, or is too large to describe anything.

    The test is of words as the distribution draws them. Violations may be rare there, so E is first tried on words
    that it names, and on words that can be violations at all; these enter no claim.
    """
    rng = task.rng("describe")
    alphabet = task.spec.alphabet
    # The shortest violation that shrinking comes to is what a reader sees first: E begins with it.
    word = shrink(word, len(alphabet), lambda words: language.mistakes(WordBatch.from_codes(list(words))))
    while not learner.hypothesis.accepts(alphabet.decode(word)):
        refine(learner, word)
    likely = conditioned(task.distribution, language.possible)
    tested = 0
    while True:
        hypothesis = _next_round(task, learner)
        named = conditioned(task.distribution, hypothesis)
        needed_in_all = task.words_needed_in_round(tested)
        tested += 1
        wrong = None
        for source, needed in (
            (named, _WORDS_AT_ONCE),
            (likely, 4 * _WORDS_AT_ONCE),
            (task.distribution, needed_in_all),
        ):
            if source is None:
                continue
            passed = 0
            while passed < needed and wrong is None:
                yield
                # The longer nothing is found, the more words at once: steps of many rows cost little more.
                words = source.sample(rng, min(max(_WORDS_AT_ONCE, passed), _MOST_AT_ONCE, needed - passed))
                wrong = language.difference(words, hypothesis)
                passed += len(words)
            if wrong is not None:
                break
        else:
            return round_shown_epsilon(passed, task.gamma, tested - 1, task.bound)
        if len(hypothesis) >= LARGEST_DESCRIPTION:
            return None
        refine(learner, wrong)


def _next_round(task: Task, learner: Learner[Any]) -> DFA:
    task.state.hypothesis = learner.hypothesis
    task.state.rounds += 1
    return learner.hypothesis


def _learner(task: Task, language: ErrorLanguage) -> Learner[Any]:
    return make_learner(
        task.learner_name,
        task.spec.alphabet,
        language.ask,
        known=tuple(task.known_words),
        max_states=task.max_states,
        max_query_length=task.max_query_length,
        prefixes=task.oracle.stepping,
    )
