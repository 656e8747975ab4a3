"""What is taught in a round: words with an answer after every prefix, gathered over the rounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.models.protocol import Model
from rnncheck.repairs.measuring import violating
from rnncheck.repairs.near_words import (
    all_words,
    as_they_come,
    distinct,
    near_misses,
    pumped_flow,
    pumped_word,
    words_in,
)
from rnncheck.repairs.repair_question import Question
from rnncheck.repairs.repaired_models import scores_along
from rnncheck.repairs.requirements import UNKNOWN
from rnncheck.repairs.violation_mining import mined
from rnncheck.runtime.budget import Budget
from rnncheck.training.batches import Stage
from rnncheck.verdict.value import Verdict
from rnncheck.words import Codes, IntArray, WordBatch

_SHORT_WORDS = 500
_MINED, _MINING_STEPS = 1_000, 1_000_000  # violations of all properties, and network steps of the search for them
_PUMPED_FLOW, _PUMPED_WORD, _NEAR = 12, 60, 200  # words that are made of one counterexample
_SAMPLED = 300  # words of each property that could be mistakes, and of the other side
_SOUGHT = 3_000  # of them that are asked, so that mistakes are among those taken
_OWN_LETTERS = 200_000  # of a person's own words that are gone through in a round
_RECENT = 2  # rounds whose random words are taught again


def _part(count: int, share: float) -> int:
    return max(1, round(count * share))


class Lesson:
    """The words taught so far, by kind, each with its answers.

    The words for one property fill a round. Where there are several, each has its share of the first round, and twice
    as much in every further one.

    The teacher is the model as it came: what no requirement forbids is answered as it does, and ``given`` are the
    person's own labels.
    """

    def __init__(self, question: Question, given: dict[Codes, int], budget: Budget) -> None:
        self._question, self._given, self._budget = question, given, budget
        self._requirements, self._distribution = question.requirements, question.distribution
        self.errors: list[Codes] = []  # words around mistakes, for good
        self.kept: list[Codes] = []  # others that are never given up: short ones, and what was forgotten once
        self.random: list[list[Codes]] = []  # random words of each round
        self._answers: dict[tuple[Codes, bool], IntArray] = {}  # of a word, and whether it is around a mistake

    def add(
        self,
        round_number: int,
        verdicts: Sequence[Verdict],
        model: Model,
        forgotten: list[Codes],
        rng: np.random.Generator,
    ) -> dict[str, int]:
        """Words for a round, from what was found and what was forgotten; how many new ones of each kind there are."""
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
        random = as_they_come(self._distribution, rng, self._question.settings.letters)
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
        """All that were taught so far."""
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
            yield "mined violations", mined(each, model, rng, steps=steps, most=most, budget=self._budget)
            if spec is None:
                drawn = list(self._distribution.sample(rng, _part(_SOUGHT // 10, share)))
            else:
                drawn = words_in(each.wanted.possible_violations, self._distribution, rng, _part(_SOUGHT, share))
            if drawn:
                wrong = violating(each, model, WordBatch.from_codes(drawn))
                mistakes = [drawn[place] for place in np.flatnonzero(wrong).tolist()]
                yield "sampled mistakes", mistakes[: _part(_SAMPLED, share)]
                yield "samples of the error language", drawn[: _part(_SAMPLED // 2, share)]

    def stage(self, own: WordBatch, rng: np.random.Generator) -> Stage:
        """All of it, and as many of the person's own words as can be afforded."""
        order, room = rng.permutation(len(own)).tolist(), _OWN_LETTERS
        afforded: list[Codes] = []
        for place in order:
            word = own[place]
            room -= len(word) + 1
            if room < 0:
                break
            afforded.append(word)
        recent = [word for some in self.random[-_RECENT:] for word in some]
        return self.taught(distinct([*self.errors, *self.kept, *recent, *afforded]))

    def taught(self, words: Sequence[Codes]) -> Stage:
        """The words with the answer to each prefix."""
        errors = {*self.errors} - {*self.kept}
        asked = [(word, word in errors) for word in words]
        new = [each for each in asked if each not in self._answers]
        if new:
            batch = WordBatch.from_codes([word for word, _ in new])
            answers = self._worth_teaching(batch, np.array([doubtful for _, doubtful in new]))
            starts = (batch.offsets[:-1] + np.arange(len(batch))).tolist()
            for (word, doubtful), start in zip(new, starts, strict=True):
                along = answers[start : start + len(word) + 1]
                for end in range(len(word) + 1) if self._given else ():
                    label = self._given.get(word[:end])
                    if label is not None:
                        along[end] = label
                self._answers[word, doubtful] = along
        batch = WordBatch.from_codes(words)
        return Stage(batch, np.concatenate([self._answers[each] for each in asked]), every_prefix=True)

    def _worth_teaching(self, words: WordBatch, doubtful: Mask) -> IntArray:
        """The answer to each prefix; of words around a mistake, only those that the requirements speak of.

        There the model as it came has lost its way, and its other answers are no guide: kept, they would ask of the
        network to go astray as before and yet to answer rightly here and there, which it learns slowly and badly.
        """
        question = self._question
        scores = scores_along(question.before, words, question.labels)
        answers, corrected, bound = question.demands.answers(words, scores)
        return np.where(np.repeat(doubtful, words.lengths + 1) & ~corrected & ~bound, UNKNOWN, answers)
