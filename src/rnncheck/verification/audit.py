"""The self-check of a verification: compares the answers of the fast evaluator with the model's reference.

Models are mostly queried through something quicker than their definition: a compiled engine, batches. That the two
agree was checked on random words when the model was made. Here it is checked on words of this verification: words of
its distribution, which give a bound of their own, and words that its searches visited, which are unlike drawn ones:
outliers, and words near the threshold.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from rnncheck.models.protocol import BY_REFERENCE
from rnncheck.oracle import MembershipOracle
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.search.exhaustive import ExhaustiveSearch
from rnncheck.search.prefix_tree import PrefixTree
from rnncheck.search.sampler import LARGEST_BATCH
from rnncheck.verdict.guarantee import Evaluation
from rnncheck.verification.verification_task import Task
from rnncheck.words import Codes, WordBatch

_WORDS = 300  # drawn and queried of both, at least
_POSSIBLE = 64  # of those that could be violations, where these were sampled separately
_SHARE = 32  # and at least one for each this many that were sampled
_AT_ONCE, _STEPPED_AT_ONCE = 64, 256  # words per batch; a stepping reference reads many as fast as few
_MEASURED = 64  # the scores of one word in this many are compared
_WALKED = 20_000  # steps of the reference at most, for every short word
# Where a counterexample is known: one step of the reference for each this many made before, or a few.
_WALKED_SHARE, _WALKED_LEAST = 128, 1_000


@dataclass
class Audit:
    """The comparison for one verification. ``difference`` is a word on which the two differ."""

    task: Task
    difference: Codes | None = None
    drawn: int = 0
    visited: set[Codes] = field(default_factory=set)
    largest: float | None = None
    exact_length: int | None = None
    unfinished: BudgetExceeded | None = None  # what ended it before any word of the distribution was compared

    def __post_init__(self) -> None:
        self._reference = self.task.oracle.by_reference()

    def run(self) -> Evaluation:
        """Compare as far as the budget allows."""
        task, model = self.task, self.task.oracle.model
        evaluator = str(model.describe().get("queries", "as the model answers"))
        if model.by_reference() is model:
            return Evaluation(evaluator=evaluator)
        count = max(_WORDS, task.sampler.words // _SHARE)
        sample = list(task.distribution.sample(task.rng("audit"), max(count, LARGEST_BATCH)))
        try:
            for _ in self._compare(sample, count):  # first, since every claim rests on it
                self.drawn += 1
            for word in self._compare([*task.search_samples.words, *self._suspects()]):
                self.visited.add(word)
            if self.difference is None:
                self._walk()
        except BudgetExceeded as end:
            self.unfinished = None if self.drawn else end
        return Evaluation(
            evaluator=evaluator,
            reference=str(model.describe().get("reference", BY_REFERENCE)),
            words=self.drawn,
            searched_words=len(self.visited),
            exact_length=self.exact_length,
            epsilon=task.confidence.achieved(self.drawn) if self.drawn else None,
            gamma=task.confidence.gamma if self.drawn else None,
            largest_difference=self.largest,
        )

    def _suspects(self) -> list[Codes]:
        """Some words that could be violations, where these were sampled separately and a claim rests on them."""
        words, rng = (
            self.task.may_violate.words if self.task.may_violate.drawn else None,
            self.task.rng("audit possible"),
        )
        return [] if words is None else list(words.sample(rng, _POSSIBLE))

    def _walk(self) -> None:
        """Query the reference for every short word, where the evaluator was queried for all of them."""
        walk = ReferenceWalk(self.task)
        try:
            walk.go(_WALKED)
        finally:  # the budget may end it
            self.exact_length, self.difference = walk.length, walk.violation

    def _compare(self, words: list[Codes], count: int | None = None) -> Iterator[Codes]:
        """Compare ``count`` of the words, or all, and yield those that agree, until one shows a difference.

        All are queried together, like samples: an evaluator may answer a large batch differently from a small one.
        """
        if self.difference is not None:
            return
        answers = _answers(self.task.oracle, words)
        compared = words[:count]
        at_once = _STEPPED_AT_ONCE if self._reference.stepping else _AT_ONCE
        for start in range(0, len(compared), at_once):
            some = compared[start : start + at_once]
            for word, answer, judgement in zip(some, answers[start:], _answers(self._reference, some), strict=False):
                if judgement != answer:
                    self.difference = word
                    return
                yield word
            for word in some[::_MEASURED]:
                self._measure(word)
                if self.difference is not None:
                    return

    def _measure(self, word: Codes) -> None:
        """Compare the scores of one word: beyond the margin, answers would no longer be safe."""
        oracle = self.task.oracle
        scores, reference = oracle.scores(WordBatch.from_codes([word])), oracle.reference_score(word)
        if scores is None or reference is None or not (math.isfinite(scores[0]) and math.isfinite(reference)):
            return
        distance = abs(float(scores[0]) - reference)
        self.largest = max(distance, self.largest or 0.0)
        if distance > getattr(oracle.model, "margin", math.inf):
            self.difference = word


def _answers(oracle: MembershipOracle, words: list[Codes]) -> list[bool]:
    """The answers to words, at a cost that depends on their lengths alone where the model shows its states.

    The last bits of a score decide which of two equal words a search keeps, and they differ between kernels. Common
    prefixes of the words, or earlier queries, must not change the number of steps.
    """
    if oracle.stepping:
        batch = WordBatch.from_codes(words)
        along = oracle.prefix_answers(batch)
        ends = zip(words, batch.offsets[1:].tolist(), strict=True)
        answers = [bool(along[end - 1] if word else oracle.answer(word)) for word, end in ends]
    else:
        answers = oracle.answers(words).tolist()
    return answers


class ReferenceWalk:
    """Queries the reference for every short word, where the evaluator was queried for all of them.

    ``length`` is the length reached without a ``violation``.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self.length: int | None = None
        self.violation: Codes | None = None

    def go(self, steps: int) -> None:
        """Query, shortest first, within ``steps`` steps."""
        task = self._task
        search = ExhaustiveSearch(PrefixTree(task.oracle.by_reference().stepper, task.prop))
        longest = search.affordable(-1 if task.exact_length is None else task.exact_length, steps)
        while not search.finished and search.length < longest:
            search.next_length(last=search.length + 1 == longest)
            if search.violation is not None:
                self.violation = search.violation
                return
            self.length = search.length


def shorter_by_reference(task: Task) -> tuple[Evaluation, Codes | None]:
    """How far the reference confirms that no shorter word is a violation, and one that is, if found."""
    model, walk = task.oracle.model, ReferenceWalk(task)
    evaluator = str(model.describe().get("queries", "as the model answers"))
    if model.by_reference() is model:
        return Evaluation(evaluator=evaluator), None
    with contextlib.suppress(BudgetExceeded):
        walk.go(max(_WALKED_LEAST, task.oracle.cost.work // _WALKED_SHARE))
    reference = str(model.describe().get("reference", BY_REFERENCE))
    return Evaluation(evaluator=evaluator, reference=reference, exact_length=walk.length), walk.violation
