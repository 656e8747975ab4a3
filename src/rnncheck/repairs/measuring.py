"""Measurements of a model: violations of each property, accuracy on words, and answers that changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.models.labelled import answers_of
from rnncheck.models.protocol import Model
from rnncheck.models.traces import trace_model
from rnncheck.probability.clopper_pearson import clopper_pearson
from rnncheck.probability.conditioned import conditioned
from rnncheck.probability.distributions import WordDistribution
from rnncheck.repairs.near_words import all_words, distinct, near_misses, words_in
from rnncheck.repairs.own_words import Collection
from rnncheck.repairs.repair_question import Question
from rnncheck.repairs.repair_report import ChangedAnswer, Changes, Mass
from rnncheck.repairs.repaired_models import scores_along
from rnncheck.repairs.requirements import Requirement
from rnncheck.words import Alphabet, Codes, IntArray, WordBatch, shortlex_key

_AUDITED = 2_000  # words of each property that could be violations
_SHORT = 5_000  # the most short words to compare: all up to some length
_SHOWN = 20  # changed answers
_NEAR = 3  # near misses of a word of a rare side


@dataclass(frozen=True, eq=False)
class Examples:
    """Words with their correct answers, as positions among the model's labels."""

    words: WordBatch
    answers: IntArray

    def accuracy(self, model: Model) -> float:
        return float((answers_of(model, self.words) == self.answers).mean()) if len(self.words) else 1.0


def violating(requirement: Requirement, model: Model, words: WordBatch) -> Mask:
    """Which of the words are violations."""
    if requirement.about_labels:
        return ~trace_model(model, requirement.spec.dfa).accepts_batch(words)
    prop = requirement.as_property
    return prop.broken(model.accepts_batch(words), prop.spec.end_states(words))


class ViolationSample:
    """Random words that could be violations of each property, the same for every model that is measured."""

    def __init__(
        self, requirements: Sequence[Requirement], distribution: WordDistribution, rng: np.random.Generator
    ) -> None:
        self._parts: list[tuple[Requirement, float, WordBatch]] = []
        for each in requirements:
            possible = None if each.about_labels else each.as_property.possible_violations
            source = distribution if possible is None else conditioned(distribution, possible)
            mass = 1.0 if possible is None else distribution.mass(possible)
            words = WordBatch.from_codes([]) if source is None else source.sample(rng, _AUDITED)
            self._parts.append((each, mass, words))

    @property
    def words(self) -> int:
        return sum(len(words) for _, _, words in self._parts)

    def masses(self, model: Model) -> list[Mass]:
        """The probability of a violation of each property."""
        found = []
        for each, possible, words in self._parts:
            hits = int(violating(each, model, words).sum()) if len(words) else 0
            low, high = clopper_pearson(hits, len(words)) if len(words) else (0.0, 1.0)
            found.append(Mass(possible, hits, len(words), (possible * low, possible * high)))
        return found


def right_answers(words: Sequence[Codes], question: Question, given: dict[Codes, int]) -> Examples:
    """The correct answer to each word: its given label, or the original model's answer if that is allowed."""
    batch = WordBatch.from_codes(words)
    answers = question.allowed_outputs.answers(batch, scores_along(question.before, batch, question.labels)).answers
    ends = batch.offsets[1:] + np.arange(len(batch))
    right = answers[ends]
    for place, word in enumerate(words):
        right[place] = given.get(word, right[place])
    return Examples(batch, right)


def fresh_words(
    requirements: Sequence[Requirement], distribution: WordDistribution, rng: np.random.Generator, count: int
) -> list[Codes]:
    """Random words of the distribution, and as many from both sides of each property, with near misses.

    The distribution alone would have no words of a rare side.
    """
    words = list(distribution.sample(rng, count // 2))
    letters, of_words = len(distribution.alphabet), [each for each in requirements if not each.about_labels]
    share = count // 2 // max(1, len(of_words)) // 2 // (1 + _NEAR)
    for each in of_words:
        for side in (each.spec.dfa, each.spec.dfa.complement()):
            drawn = words_in(side, distribution, rng, share)
            words += drawn
            for word in drawn:
                words += near_misses(word, letters, rng, _NEAR)
    return distinct(words)


def changed_answers(
    before: Model,
    after: Model,
    requirements: Sequence[Requirement],
    words: Sequence[Codes],
    alphabet: Alphabet,
    labels: Sequence[str],
    own: Collection,
) -> Changes:
    """The answers that differ, among these words and all short ones; ``own`` are your words with their labels."""
    batch = WordBatch.from_codes(distinct([*all_words(len(alphabet), _SHORT), *words]))
    then, now = (answers_of(model, batch) for model in (before, after))
    rows = np.flatnonzero(then != now)
    differing = batch.take(rows)
    required = np.zeros(len(rows), dtype=np.bool_)
    for each in requirements:
        if len(rows):
            required |= violating(each, before, differing)
    own_labels = dict(zip(own.words, own.answers.tolist(), strict=True))
    labelled = [own_labels.get(differing[place]) == int(now[row]) for place, row in enumerate(rows.tolist())]
    order = sorted(range(len(rows)), key=lambda place: shortlex_key(differing[place]))[:_SHOWN]
    shown = tuple(
        ChangedAnswer(
            alphabet.decode(differing[place]),
            labels[int(then[rows[place]])],
            labels[int(now[rows[place]])],
            bool(required[place]),
            labelled[place],
        )
        for place in order
    )
    by_labels = sum(own_label and not other for own_label, other in zip(labelled, required.tolist(), strict=True))
    return Changes(
        words=len(batch), changed=len(rows), required=int(required.sum()), labelled=by_labels, shortest=shown
    )


def violations_on(own: Collection, requirement: Requirement, model: Model) -> int | None:
    """How many of your own words are violations; None if there are no words."""
    return int(violating(requirement, model, own.words).sum()) if len(own) else None
