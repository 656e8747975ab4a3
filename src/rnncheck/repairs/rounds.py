"""The rounds of a repair: verify, teach what was found, verify again, with growing effort, until nothing is found."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from rnncheck.errors import InputError, ModelError, short_repr
from rnncheck.models.labelled import answers_of
from rnncheck.models.protocol import Model
from rnncheck.repairs.measuring import Examples, ViolationSample, fresh_words, right_answers, violating, violations_on
from rnncheck.repairs.repair_checkpoint import Best, Progressed, Rank, RepairCheckpoint, Saved
from rnncheck.repairs.repair_conclusion import Conclusion, Proof, Repaired
from rnncheck.repairs.repair_proof import prove_or_harden
from rnncheck.repairs.repair_question import AUDIT, FRESH, HELD_OUT, SPLIT, TEACHING, VALIDATION, Question
from rnncheck.repairs.repair_report import Ending, Mass, Progress, RepairProgress, RepairRound, Standing
from rnncheck.repairs.requirements import UNKNOWN
from rnncheck.repairs.training_set import Lesson
from rnncheck.repairs.verifier import FIRST_STEPS, Verifier, is_proved, standing_of
from rnncheck.runtime.budget import INTERRUPTED, Budget, BudgetExceeded
from rnncheck.runtime.checkpoint import try_save
from rnncheck.training.fine_tuning import FineTuned, fine_tune
from rnncheck.verdict.facts import Outcome
from rnncheck.verdict.value import Verdict
from rnncheck.words import Codes, WordBatch, format_word

_VALIDATION_WORDS = 4_000
_FORGOTTEN_SOUGHT = 2_000
_ENOUGH = 200  # labelled words that are held out, so that they can be measured with alone
_LEARNED = 0.999  # of the answers taught: less, and the network cannot hold them
_FIRST_EPOCHS = 10  # of training in the first round; twice as many in every further one, up to what is set

_EMPTY_WORD = (
    "the empty word is a violation, and the module does not take it, so that it cannot be taught: let forward take "
    "words without letters, say by empty=True or False what it means, or let the property not speak of it"
)


class _Measures(NamedTuple):
    """Of one model: the mass of violations of each property, and the share of validation words answered wrong."""

    masses: list[Mass]
    wrong: float

    @property
    def hits(self) -> int:
        return sum(mass.hits for mass in self.masses)


class Run:
    """One repair, between two rounds."""

    def __init__(self, question: Question, budget: Budget, progress: Progress | None) -> None:
        self._question, self._budget, self._progress = question, budget, progress
        self._began = budget.clock()
        self._initial = question.pupil.arrays()
        own = question.own
        learn, self._choose_by, self._measure_with = own.split(question.rng(SPLIT))
        self._to_learn = own.words.take(learn)
        given = {own.words[i]: int(own.answers[i]) for i in learn.tolist() if own.answers[i] != UNKNOWN}
        self._lesson = Lesson(question, given, budget)
        self._verifier = Verifier(question, budget, self._tell)
        self._state = Progressed()
        self._best_arrays = self._verified_arrays = self._initial
        self._measures: _Measures | None = None  # of the model as it is now
        self._proof = Proof()
        self._trouble: str | None = None  # with the checkpoint

    @functools.cached_property
    def _sample(self) -> ViolationSample:
        return ViolationSample(self._question.requirements, self._question.distribution, self._question.rng(AUDIT))

    @functools.cached_property
    def _validation(self) -> Examples:
        return self._examples(self._choose_by.tolist(), VALIDATION, _VALIDATION_WORDS)

    @functools.cached_property
    def _accuracy_before(self) -> float:
        return self._validation.accuracy(self._question.before)

    def _examples(self, own: list[int], purpose: int, count: int) -> Examples:
        """A person's words that were held out, and fresh ones unless these have labels and are many."""
        question, words = self._question, [self._question.own.words[place] for place in own]
        labels = {word: int(question.own.answers[place]) for word, place in zip(words, own, strict=True)}
        if not (question.own.labelled and len(own) >= _ENOUGH):
            words += fresh_words(question.requirements, question.distribution, question.rng(purpose), count)
        labels = {word: label for word, label in labels.items() if label != UNKNOWN}
        return right_answers(list(dict.fromkeys(words)), question, labels)

    @property
    def _seconds(self) -> float:
        return self._state.seconds + self._budget.clock() - self._began

    @property
    def _round(self) -> int:
        return len(self._state.rounds)

    def _tell(self, doing: str, counts: dict[str, int] | None = None) -> None:
        if self._progress is not None:
            self._progress(RepairProgress(self._round, doing, self._seconds, counts or {}))

    def _begin(self, doing: str) -> None:
        self._budget.check()
        self._tell(doing)

    def go(self, checkpoint: str | os.PathLike[str] | None, resume: bool) -> Repaired:
        """All of it: the loop, the proof, and what is to be told."""
        file = None if checkpoint is None else RepairCheckpoint(os.fspath(checkpoint), self._question.asked())
        if resume:
            if file is None:
                raise InputError("to resume, name the checkpoint file")
            self._go_on_from(file.load())
        try:
            ending, reason = self._loop(file)
        except BudgetExceeded as end:
            ending, reason = Ending.ENDED_EARLY, end.reason
        except KeyboardInterrupt:
            ending, reason = Ending.ENDED_EARLY, INTERRUPTED
        except (ModelError, MemoryError) as error:  # such as weights that training made infinite
            if self._state.best is None:
                raise
            ending, reason = Ending.ENDED_EARLY, str(error) or "memory ran out"
        if self._trouble is not None:
            self._proof.notes.append(self._trouble)
        if self._state.best is None:
            self._tell_what_came()
        try:
            self._tell("measuring before and after")
            return self._concluded(ending, reason)
        except KeyboardInterrupt:  # too late to end anything but the measuring, which is short; a second one ends it
            return self._concluded(ending, reason)

    def _concluded(self, ending: Ending, reason: str) -> Repaired:
        held_out = self._examples(self._measure_with.tolist(), HELD_OUT, self._question.settings.held_out)
        taught = [*self._lesson.words(), *self._to_learn]
        conclusion = Conclusion(self._question, self._state, self._sample, held_out, taught, self._verifier.polished)
        return conclusion.repaired(ending, reason, self._proof, self._best_arrays, self._initial, lambda: self._seconds)

    def _loop(self, file: RepairCheckpoint | None) -> tuple[Ending, str]:
        while True:
            model = self._question.pupil.model()
            verdicts, steps = self._verifier.verdicts(model, self._round)
            self._judge(model, verdicts, steps)
            broken = [verdict for verdict in verdicts if verdict.violated]
            unclear = next((verdict for verdict in verdicts if verdict.undecided), None)
            if not broken and unclear is not None:
                return Ending.ENDED_EARLY, unclear.reason
            if not broken and (self._round == 0 or self._keeps_accuracy(self._measured(model).wrong)):
                return self._proved(verdicts, steps)
            if not self._question.pupil.takes_empty and any(verdict.counterexample == () for verdict in broken):
                return Ending.NOT_REPAIRED, _EMPTY_WORD
            if self._round == self._question.settings.rounds:
                return self._last_resort(broken)
            self._teach(model, verdicts, steps)
            if file is not None:
                self._save(file)

    def _measured(self, model: Model) -> _Measures:
        """What is known of the model as it is now, measured once."""
        if self._measures is None:
            self._tell("measuring")
            self._measures = _Measures(self._sample.masses(model), self._wrong(model))
        return self._measures

    def _judge(self, model: Model, verdicts: Sequence[Verdict], steps: int) -> None:
        """Keep what is known of the model, and the model itself if it is the best."""
        question, measures = self._question, self._measured(model)
        standings = [
            standing_of(verdict, steps, mass, violations_on(question.own, each, model), question.distribution)
            for verdict, mass, each in zip(verdicts, measures.masses, question.requirements, strict=True)
        ]
        violated = sum(verdict.violated for verdict in verdicts)
        self._take(Best(self._round, Rank(violated, measures.hits, measures.wrong), standings))
        if not self._round:
            self._state.before = standings

    def _tell_what_came(self) -> None:
        """It ended before all properties were verified once; a violation that was found by then is told."""
        question, latest = self._question, self._verifier.latest
        known = [latest.get(each.name) for each in question.requirements]
        self._state.before = [
            Standing(outcome=Outcome.UNDECIDED)
            if verdict is None
            else standing_of(verdict, FIRST_STEPS, None, None, question.distribution)
            for verdict in known
        ]
        self._state.best = Best(0, Rank(0, 0, 0.0), self._state.before)

    def _wrong(self, model: Model) -> float:
        return 1.0 - self._validation.accuracy(model)

    def _keeps_accuracy(self, wrong: float) -> bool:
        return self._accuracy_before - (1.0 - wrong) <= self._question.settings.max_loss

    def _take(self, now: Best) -> None:
        """Of the models that were verified the best is kept, whatever was hoped of one that was not yet."""
        if self._better(now, self._state.verified):
            self._state.verified, self._verified_arrays = now, self._question.pupil.arrays()
        self._state.best, self._best_arrays = self._state.verified, self._verified_arrays

    def _better(self, now: Best, than: Best | None) -> bool:
        """The best model is the one of the least rank that has not lost too many answers."""
        return than is None or (now.rank < than.rank and self._keeps_accuracy(now.rank.wrong))

    def _teach(self, model: Model, verdicts: Sequence[Verdict], steps: int) -> None:
        """Train on what was found; then measure, so that a model that is not verified yet can be kept."""
        number, began = self._round + 1, self._seconds
        rng, question = self._question.rng(TEACHING, number), self._question
        self._begin("making words of what was found")
        counts = self._lesson.add(number, verdicts, model, self._forgotten(model), rng)
        stage = question.pupil.stage(self._lesson.stage(self._to_learn, rng), rng)
        how = question.settings.fine_tuning
        how = dataclasses.replace(how, epochs=min(how.epochs, _FIRST_EPOCHS * 2 ** (number - 1)))
        tuned = fine_tune(question.pupil, stage, question.labels, rng, how, self._teaching(how.epochs))
        self._measures, now = None, question.pupil.model()
        measures, pairs = self._measured(now), list(zip(question.requirements, verdicts, strict=True))
        told = RepairRound(
            number=number,
            violated=tuple(each.name for each, verdict in pairs if verdict.violated),
            counterexamples=tuple(word for _, verdict in pairs if (word := verdict.counterexample) is not None),
            search_steps=steps,
            taught=counts,
            words=tuned.words,
            epochs=tuned.epochs,
            learned=tuned.accuracy,
            mistakes=measures.hits,
            audited=self._sample.words,
            accuracy=1.0 - measures.wrong,
            seconds=self._seconds - began,
        )
        self._state.rounds.append(told)
        watched = WordBatch.from_codes(self._lesson.errors)
        broken = [int(violating(each, now, watched).sum()) for each in question.requirements]
        unverified = [Standing(outcome=Outcome.UNDECIDED, mass=mass) for mass in measures.masses]
        rank = Rank(sum(map(bool, broken)), sum(broken) + measures.hits, measures.wrong)
        hoped = Best(number, rank, unverified)
        if self._better(hoped, self._state.best):  # it counts if time ends before it is verified
            self._state.best, self._best_arrays = hoped, question.pupil.arrays()

    def _teaching(self, epochs: int) -> Callable[[FineTuned], bool]:
        """Reports how far a training is, within the budget."""
        budget, number = self._budget, self._round + 1

        def go_on(now: FineTuned) -> bool:
            budget.check()
            counts = {"words": now.words, "answers": now.answers, "right answers": now.right}
            self._tell(f"teaching for round {number}, epoch {now.epochs} of at most {epochs}", counts)
            return True

        return go_on

    def _forgotten(self, model: Model) -> list[Codes]:
        """Fresh random words to which the model now gives another answer than it should."""
        question = self._question
        rng = question.rng(FRESH, self._round)
        words = fresh_words(question.requirements, question.distribution, rng, _FORGOTTEN_SOUGHT)
        fresh = right_answers(words, question, {})
        wrong = answers_of(model, fresh.words) != fresh.answers
        return [words[place] for place in np.flatnonzero(wrong).tolist()]

    def _proved(self, verdicts: Sequence[Verdict], steps: int) -> tuple[Ending, str]:
        """No violation is known. Is there a proof, or can the network be trained to have one?"""
        proved, effort = all(map(is_proved, verdicts)), f"no violation was found with {steps:,} search steps"
        if len(verdicts) > 1:
            effort += " for each property"
        return self._proved_or(proved, Ending.NOTHING_FOUND, effort)

    def _last_resort(self, broken: Sequence[Verdict]) -> tuple[Ending, str]:
        """All rounds are over, and violations are left. Where training for a proof closes, it mends them as well."""
        return self._proved_or(False, Ending.NOT_REPAIRED, self._why_not(broken))

    def _proved_or(self, proved: bool, ending: Ending, reason: str) -> tuple[Ending, str]:
        keeps = lambda model: self._keeps_accuracy(self._wrong(model))  # noqa: E731
        self._proof = prove_or_harden(self._question, proved, self._begin, keeps)
        self._proof.otherwise, self._proof.otherwise_ending = reason, ending
        if proved or self._proof.network is not None:
            return Ending.PROVED, "proved for every word"
        return ending, reason

    def _why_not(self, broken: Sequence[Verdict]) -> str:
        rounds = "after 1 round" if self._round == 1 else f"after {self._round} rounds"
        if not broken:
            return f"{rounds} no violation is known, but too many other answers have changed"
        word = short_repr(format_word(broken[0].counterexample or ()))
        found = f"{rounds} {len(broken)} of {len(self._question.requirements)} properties are violated, as by {word}"
        learned = self._state.rounds[-1].learned
        if learned < _LEARNED:
            return (
                f"{found}; only {learned:.2%} of the answers taught were learned: the network may be too small, or "
                "what it is to keep may contradict the properties"
            )
        return f"{found}; every round found another violation: allow more rounds"

    def _save(self, file: RepairCheckpoint) -> None:
        state, lesson = msgspec.structs.replace(self._state, seconds=self._seconds), self._lesson
        weights = self._question.pupil.arrays(), self._best_arrays, self._verified_arrays
        now = Saved(state, *weights, lesson.errors, lesson.kept, lesson.random)
        self._trouble = try_save(lambda: file.save(now))

    def _go_on_from(self, try_save: Saved) -> None:
        self._state = try_save.progressed
        self._best_arrays, self._verified_arrays = dict(try_save.best_weights), dict(try_save.verified_weights)
        lesson = self._lesson
        lesson.errors, lesson.kept, lesson.random = try_save.errors, try_save.kept, try_save.random
        self._question.pupil.load(try_save.weights)
