"""The rounds of a repair: verify, train on what was found, and verify again, with growing effort."""

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
from rnncheck.repairs.repair_question import AUDIT, FRESH, HELD_OUT, SPLIT, TRAINING, VALIDATION, Question
from rnncheck.repairs.repair_report import Ending, Mass, Progress, RepairProgress, RepairRound, Standing
from rnncheck.repairs.requirements import UNKNOWN
from rnncheck.repairs.training_set import TrainingSet
from rnncheck.repairs.verifier import FIRST_STEPS, Verifier, is_proved, standing_of
from rnncheck.runtime.budget import INTERRUPTED, Budget, BudgetExceeded
from rnncheck.runtime.checkpoint import try_save
from rnncheck.training.fine_tuning import FineTuned, fine_tune
from rnncheck.verdict.facts import Outcome
from rnncheck.verdict.value import Verdict
from rnncheck.words import Codes, WordBatch, format_word

_VALIDATION_WORDS = 4_000
_FORGOTTEN_SOUGHT = 2_000
_ENOUGH = 200  # held-out labelled words from which no random words are added for measuring
_LEARNED = 0.999  # of the training answers; with less the network cannot hold them
_FIRST_EPOCHS = 10  # of training in the first round; twice as many in every further one, up to the setting

_EMPTY_WORD = (
    "the empty word is a violation, and the module does not take it, so it cannot be trained on: let forward take "
    "words without letters, give its answer by empty=True or False, or exclude it from the property"
)


class _Measures(NamedTuple):
    """Measurements of one model: the mass of violations of each property, and the share of wrong validation answers."""

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
        self._initial = question.candidate.arrays()
        own = question.own
        learn, self._choose_by, self._measure_with = own.split(question.rng(SPLIT))
        self._to_learn = own.words.take(learn)
        given = {own.words[i]: int(own.answers[i]) for i in learn.tolist() if own.answers[i] != UNKNOWN}
        self._training_set = TrainingSet(question, given, budget)
        self._verifier = Verifier(question, budget, self._report)
        self._state = Progressed()
        self._best_arrays = self._verified_arrays = self._initial
        self._measures: _Measures | None = None  # of the model as it is now
        self._proof = Proof()
        self._checkpoint_problem: str | None = None

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
        """Your held-out words, and random ones unless yours have labels and are many."""
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

    def _report(self, doing: str, counts: dict[str, int] | None = None) -> None:
        if self._progress is not None:
            self._progress(RepairProgress(self._round, doing, self._seconds, counts or {}))

    def _begin(self, doing: str) -> None:
        self._budget.check()
        self._report(doing)

    def go(self, checkpoint: str | os.PathLike[str] | None, resume: bool) -> Repaired:
        """Run the loop, the proof, and the measurements for the report."""
        file = None if checkpoint is None else RepairCheckpoint(os.fspath(checkpoint), self._question.as_values())
        if resume:
            if file is None:
                raise InputError("to resume, name the checkpoint file")
            self._resume(file.load())
        try:
            ending, reason = self._loop(file)
        except BudgetExceeded as end:
            ending, reason = Ending.ENDED_EARLY, end.reason
        except KeyboardInterrupt:
            ending, reason = Ending.ENDED_EARLY, INTERRUPTED
        except (ModelError, MemoryError) as error:  # for example weights that became infinite in training
            if self._state.best is None:
                raise
            ending, reason = Ending.ENDED_EARLY, str(error) or "memory ran out"
        if self._checkpoint_problem is not None:
            self._proof.notes.append(self._checkpoint_problem)
        if self._state.best is None:
            self._record_early_end()
        try:
            self._report("measuring before and after")
            return self._conclude(ending, reason)
        except KeyboardInterrupt:  # only the measuring is left, which is short; a second interrupt ends it
            return self._conclude(ending, reason)

    def _conclude(self, ending: Ending, reason: str) -> Repaired:
        held_out = self._examples(self._measure_with.tolist(), HELD_OUT, self._question.settings.held_out)
        trained_on = [*self._training_set.words(), *self._to_learn]
        conclusion = Conclusion(
            self._question, self._state, self._sample, held_out, trained_on, self._verifier.with_shorter_counterexamples
        )
        return conclusion.repaired(ending, reason, self._proof, self._best_arrays, self._initial, lambda: self._seconds)

    def _loop(self, file: RepairCheckpoint | None) -> tuple[Ending, str]:
        while True:
            model = self._question.candidate.model()
            verdicts, steps = self._verifier.verdicts(model, self._round)
            self._assess(model, verdicts, steps)
            broken = [verdict for verdict in verdicts if verdict.violated]
            unclear = next((verdict for verdict in verdicts if verdict.undecided), None)
            if not broken and unclear is not None:
                return Ending.ENDED_EARLY, unclear.reason
            if not broken and (self._round == 0 or self._keeps_accuracy(self._measured(model).wrong)):
                return self._proved(verdicts, steps)
            if not self._question.candidate.takes_empty and any(verdict.counterexample == () for verdict in broken):
                return Ending.NOT_REPAIRED, _EMPTY_WORD
            if self._round == self._question.settings.rounds:
                return self._end_after_all_rounds(broken)
            self._train(model, verdicts, steps)
            if file is not None:
                self._save(file)

    def _measured(self, model: Model) -> _Measures:
        """The measurements of the current model, made once."""
        if self._measures is None:
            self._report("measuring")
            self._measures = _Measures(self._sample.masses(model), self._wrong(model))
        return self._measures

    def _assess(self, model: Model, verdicts: Sequence[Verdict], steps: int) -> None:
        """Record the results of the model, and keep the model if it is the best so far."""
        question, measures = self._question, self._measured(model)
        standings = [
            standing_of(verdict, steps, mass, violations_on(question.own, each, model), question.distribution)
            for verdict, mass, each in zip(verdicts, measures.masses, question.requirements, strict=True)
        ]
        violated = sum(verdict.violated for verdict in verdicts)
        self._take(Best(self._round, Rank(violated, measures.hits, measures.wrong), standings))
        if not self._round:
            self._state.before = standings

    def _record_early_end(self) -> None:
        """Record the violations found before all properties were verified once."""
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
        """Keep the best of the verified models; it replaces an unverified one that was kept meanwhile."""
        if self._better(now, self._state.verified):
            self._state.verified, self._verified_arrays = now, self._question.candidate.arrays()
        self._state.best, self._best_arrays = self._state.verified, self._verified_arrays

    def _better(self, now: Best, than: Best | None) -> bool:
        """Whether a model has a lower rank than another and has not lost too many answers."""
        return than is None or (now.rank < than.rank and self._keeps_accuracy(now.rank.wrong))

    def _train(self, model: Model, verdicts: Sequence[Verdict], steps: int) -> None:
        """Train on what was found; then measure, so that a model that is not yet verified can be kept."""
        number, began = self._round + 1, self._seconds
        rng, question = self._question.rng(TRAINING, number), self._question
        self._begin("making training words")
        counts = self._training_set.add(number, verdicts, model, self._forgotten(model), rng)
        stage = question.candidate.stage(self._training_set.stage(self._to_learn, rng), rng)
        how = question.settings.fine_tuning
        how = dataclasses.replace(how, epochs=min(how.epochs, _FIRST_EPOCHS * 2 ** (number - 1)))
        tuned = fine_tune(question.candidate, stage, question.labels, rng, how, self._training_progress(how.epochs))
        self._measures, now = None, question.candidate.model()
        measures, pairs = self._measured(now), list(zip(question.requirements, verdicts, strict=True))
        result = RepairRound(
            number=number,
            violated=tuple(each.name for each, verdict in pairs if verdict.violated),
            counterexamples=tuple(word for _, verdict in pairs if (word := verdict.counterexample) is not None),
            search_steps=steps,
            added_words=counts,
            words=tuned.words,
            epochs=tuned.epochs,
            learned=tuned.accuracy,
            mistakes=measures.hits,
            audited=self._sample.words,
            accuracy=1.0 - measures.wrong,
            seconds=self._seconds - began,
        )
        self._state.rounds.append(result)
        watched = WordBatch.from_codes(self._training_set.errors)
        broken = [int(violating(each, now, watched).sum()) for each in question.requirements]
        unverified = [Standing(outcome=Outcome.UNDECIDED, mass=mass) for mass in measures.masses]
        rank = Rank(sum(map(bool, broken)), sum(broken) + measures.hits, measures.wrong)
        latest = Best(number, rank, unverified)
        if self._better(latest, self._state.best):  # it counts if time ends before it is verified
            self._state.best, self._best_arrays = latest, question.candidate.arrays()

    def _training_progress(self, epochs: int) -> Callable[[FineTuned], bool]:
        """A callback that reports the progress of a training and checks the budget."""
        budget, number = self._budget, self._round + 1

        def go_on(now: FineTuned) -> bool:
            budget.check()
            counts = {"words": now.words, "answers": now.answers, "right answers": now.right}
            self._report(f"training for round {number}, epoch {now.epochs} of at most {epochs}", counts)
            return True

        return go_on

    def _forgotten(self, model: Model) -> list[Codes]:
        """New random words that the model now answers wrongly."""
        question = self._question
        rng = question.rng(FRESH, self._round)
        words = fresh_words(question.requirements, question.distribution, rng, _FORGOTTEN_SOUGHT)
        fresh = right_answers(words, question, {})
        wrong = answers_of(model, fresh.words) != fresh.answers
        return [words[place] for place in np.flatnonzero(wrong).tolist()]

    def _proved(self, verdicts: Sequence[Verdict], steps: int) -> tuple[Ending, str]:
        """End without known violations, with a proof if there is one or the network can be trained to have one."""
        proved, effort = all(map(is_proved, verdicts)), f"no violation was found with {steps:,} search steps"
        if len(verdicts) > 1:
            effort += " for each property"
        return self._conclude_proof(proved, Ending.NOTHING_FOUND, effort)

    def _end_after_all_rounds(self, broken: Sequence[Verdict]) -> tuple[Ending, str]:
        """End after all rounds with violations left, unless certified training repairs them."""
        return self._conclude_proof(False, Ending.NOT_REPAIRED, self._why_not(broken))

    def _conclude_proof(self, proved: bool, ending: Ending, reason: str) -> tuple[Ending, str]:
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
                f"{found}; only {learned:.2%} of the training answers were learned: the network may be too small, or "
                "the answers to keep may contradict the properties"
            )
        return f"{found}; every round found another violation: allow more rounds"

    def _save(self, file: RepairCheckpoint) -> None:
        state, training_set = msgspec.structs.replace(self._state, seconds=self._seconds), self._training_set
        weights = self._question.candidate.arrays(), self._best_arrays, self._verified_arrays
        now = Saved(state, *weights, training_set.errors, training_set.kept, training_set.random)
        self._checkpoint_problem = try_save(lambda: file.save(now))

    def _resume(self, try_save: Saved) -> None:
        self._state = try_save.progressed
        self._best_arrays, self._verified_arrays = dict(try_save.best_weights), dict(try_save.verified_weights)
        training_set = self._training_set
        training_set.errors, training_set.kept, training_set.random = try_save.errors, try_save.kept, try_save.random
        self._question.candidate.load(try_save.weights)
