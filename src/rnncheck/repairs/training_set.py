"""The training set of a repair: words with an answer after every prefix, collected over the rounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.models.protocol import Model
from rnncheck.repairs.measuring import violating
from rnncheck.repairs.near_words import (
    all_words,
    distinct,
    near_misses,
    pumped_flow,
    pumped_word,
    random_words,
    words_in,
)
from rnncheck.repairs.repair_question import Question
from rnncheck.repairs.repaired_models import scores_along
from rnncheck.repairs.requirements import UNKNOWN
from rnncheck.repairs.violation_mining import mine_violations
from rnncheck.runtime.budget import Budget
from rnncheck.training.batches import Stage
from rnncheck.verdict.value import Verdict
from rnncheck.words import Codes, IntArray, WordBatch

_SHORT_WORDS = 500
_MINED, _MINING_STEPS = 1_000, 1_000_000  # violations of all properties, and network steps of the search for them
_PUMPED_FLOW, _PUMPED_WORD, _NEAR = 12, 60, 200  # words made of one counterexample
_SAMPLED = 300  # words of each property that could be mistakes, and of the other side
_SOUGHT = 3_000  # words queried, so that mistakes are among those taken
_OWN_LETTERS = 200_000  # the most letters of your own words in a round
_RECENT = 2  # rounds whose random words are trained on again


def _part(count: int, share: float) -> int:
    return max(1, round(count * share))


class TrainingSet:
    """The training words so far, by kind, each with its answers.

    The words for one property fill a round. If there are several, each has its share of the first round, and twice as
    much in every further one.

    Answers are those of the original model where no requirement forbids them; ``given`` are your own labels.
    """

    def __init__(self, question: Question, given: dict[Codes, int], budget: Budget) -> None:
        self._question, self._given, self._budget = question, given, budget
        self._requirements, self._distribution = question.requirements, question.distribution
        self.errors: list[Codes] = []  # words around mistakes
        self.kept: list[Codes] = []  # other words that stay for good: short ones, and words that were forgotten once
        self.random: list[list[Codes]] = []  # random words of each round
        self._answers: dict[tuple[Codes, bool], IntArray] = {}  # by word, and whether it is around a mistake

    def add(
        self,
        round_number: int,
        verdicts: Sequence[Verdict],
        model: Model,
        forgotten: list[Codes],
        rng: np.random.Generator,
    ) -> dict[str, int]:
        """Add the words for a round, from what was found and what was forgotten; return the new words by kind."""
        counts: dict[str, int] = {}
        known = {*self.errors, *self.kept}
        share = min(1.0, 2.0 ** (round_number - 1) / len(self._requirements))
        for kind, words in self._around_mistakes(verdicts, model, share, rng):
            new = distinct(words, known)
            known.update(new)
            self.errors += new
            counts[kind] = counts.get(kind, 0) + len(new)
        new = distinct(forgotten, self.kept)
        self.kept += new
        counts["forgotten"] = len(new)
        letters = len(self._distribution.alphabet)
        random = random_words(self._distribution, rng, self._question.settings.letters)
        if round_number == 1:
            self.kept += distinct(all_words(letters, _SHORT_WORDS), new)
        for each in self._requirements:
            if not each.about_labels:
                for side in (each.spec.dfa, each.spec.dfa.complement()):
                    drawn = words_in(side, self._distribution, rng, _part(_SAMPLED // 2, share))
                    random += drawn
                    random += [miss for word in drawn for miss in near_misses(word, letters, rng, 1)]
        self.random.append(distinct(random))
        return {**{kind: count for kind, count in counts.items() if count}, "random": len(self.random[-1])}

    def words(self) -> list[Codes]:
        """All training words so far."""
        return [*self.errors, *self.kept, *(word for some in self.random for word in some)]

    def _around_mistakes(
        self, verdicts: Sequence[Verdict], model: Model, share: float, rng: np.random.Generator
    ) -> Iterable[tuple[str, list[Codes]]]:
        alphabet = self._distribution.alphabet
        for each, verdict in zip(self._requirements, verdicts, strict=True):
            spec = None if each.about_labels else each.spec.dfa
            if verdict.counterexample is not None:
                found = [verdict.counterexample, *verdict.other_counterexamples]
                for word in map(alphabet.encode, found):
                    yield "counterexamples", [word]
                    yield "near misses", near_misses(word, len(alphabet), rng, _part(_NEAR, share))
                    if spec is not None:
                        yield "pumped", list(pumped_word(word, spec, rng, _part(_PUMPED_WORD, share)))
                for flow in verdict.faulty_flows:
                    yield "pumped", list(pumped_flow(flow, alphabet, rng, _part(_PUMPED_FLOW, share)))
            steps, most = _part(_MINING_STEPS, 1 / len(self._requirements)), _part(_MINED, share)
            yield "mined violations", mine_violations(each, model, rng, steps=steps, most=most, budget=self._budget)
            if spec is None:
                drawn = list(self._distribution.sample(rng, _part(_SOUGHT // 10, share)))
            else:
                drawn = words_in(each.as_property.possible_violations, self._distribution, rng, _part(_SOUGHT, share))
            if drawn:
                wrong = violating(each, model, WordBatch.from_codes(drawn))
                mistakes = [drawn[place] for place in np.flatnonzero(wrong).tolist()]
                yield "sampled mistakes", mistakes[: _part(_SAMPLED, share)]
                yield "samples of the error language", drawn[: _part(_SAMPLED // 2, share)]

    def stage(self, own: WordBatch, rng: np.random.Generator) -> Stage:
        """The training words of a round, with as many of your own words as the limit allows."""
        order, room = rng.permutation(len(own)).tolist(), _OWN_LETTERS
        afforded: list[Codes] = []
        for place in order:
            word = own[place]
            room -= len(word) + 1
            if room < 0:
                break
            afforded.append(word)
        recent = [word for some in self.random[-_RECENT:] for word in some]
        return self.labelled(distinct([*self.errors, *self.kept, *recent, *afforded]))

    def labelled(self, words: Sequence[Codes]) -> Stage:
        """The words with the answer at each prefix."""
        errors = {*self.errors} - {*self.kept}
        keys = [(word, word in errors) for word in words]
        new = [key for key in keys if key not in self._answers]
        if new:
            batch = WordBatch.from_codes([word for word, _ in new])
            answers = self._answers_to_learn(batch, np.array([near_mistake for _, near_mistake in new]))
            starts = (batch.offsets[:-1] + np.arange(len(batch))).tolist()
            for (word, near_mistake), start in zip(new, starts, strict=True):
                along = answers[start : start + len(word) + 1]
                for end in range(len(word) + 1) if self._given else ():
                    label = self._given.get(word[:end])
                    if label is not None:
                        along[end] = label
                self._answers[word, near_mistake] = along
        batch = WordBatch.from_codes(words)
        return Stage(batch, np.concatenate([self._answers[key] for key in keys]), every_prefix=True)

    def _answers_to_learn(self, words: WordBatch, near_mistake: Mask) -> IntArray:
        """The answer at each prefix; for words around a mistake, only the answers that the requirements determine.

        There the original model is wrong, and its other answers are no guide: with them the network would have to
        stay as wrong as before and yet answer correctly here and there, which it learns slowly and badly.
        """
        question = self._question
        scores = scores_along(question.before, words, question.labels)
        answers, corrected, bound = question.allowed_outputs.answers(words, scores)
        return np.where(np.repeat(near_mistake, words.lengths + 1) & ~corrected & ~bound, UNKNOWN, answers)
