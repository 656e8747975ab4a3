"""``repair``: verify, teach what was found, verify again, with growing effort, until nothing is found."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from rnncheck.errors import InputError, ModelError, short_repr
from rnncheck.models.files.torch_file import import_torch
from rnncheck.models.labelled import network_of
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.protocol import Model
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Relation, RelationName
from rnncheck.repairing.checkpoint import Best, Progressed, Rank, RepairCheckpoint, Saved
from rnncheck.repairing.conclusion import Conclusion, Proof, Repaired
from rnncheck.repairing.lesson import Lesson
from rnncheck.repairing.measuring import Audit, Examples, fresh_words, right_answers, violating, violations_on
from rnncheck.repairing.own_words import OwnWords, check_labels, collected
from rnncheck.repairing.proof import prove_or_harden
from rnncheck.repairing.pupils import ModulePupil, NetworkPupil, Pupil, answers_of
from rnncheck.repairing.question import AUDIT, FRESH, HELD_OUT, SPLIT, TEACHING, VALIDATION, Question
from rnncheck.repairing.requirements import UNKNOWN, Demands, Requirement, Specs, requirements_of
from rnncheck.repairing.settings import RepairSettings
from rnncheck.repairing.values import Ending, Mass, Progress, RepairProgress, RepairRound, Standing
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.training.fine_tuning import FineTuned, fine_tune
from rnncheck.verdict.value import Outcome, Verdict
from rnncheck.verification.labels import verify_labels
from rnncheck.verification.settings import VerifySettings
from rnncheck.verification.verify import verify
from rnncheck.words import Alphabet, Codes, WordBatch, format_word

_FIRST_STEPS, _GROWTH = 100_000, 10  # of the search, while there is something to find
_COUNTEREXAMPLES = 4  # of different kinds, for each property in a round
_VALIDATION_WORDS = 4_000
_FORGOTTEN_SOUGHT = 2_000
_ENOUGH = 200  # labelled words that are held out, so that they can be measured with alone
_LEARNED = 0.999  # of the answers taught: less, and the network cannot hold them

_EMPTY_WORD = (
    "the empty word is a violation, and the module does not take it, so that it cannot be taught: let forward take "
    "words without letters, say by empty=True or False what it means, or let the property not speak of it"
)
ONNX_REFUSED = (
    "an ONNX graph holds a network for use, not for training; repair the original it was exported from (a PyTorch "
    "module by --module and --state, or its weights), and export it again"
)


def repair(
    model: object,
    specs: Specs,
    *,
    relation: RelationName | Relation = "subset",
    words: OwnWords | None = None,
    alphabet: Alphabet | Sequence[str] | None = None,
    distribution: WordDistribution | None = None,
    budget: Budget | float | None = None,
    seed: int = 0,
    settings: RepairSettings | None = None,
    progress: Progress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Repaired:
    """Train a network further until no violation of the specifications is found in it, or until they are proved.

    ``model`` is a network (a ``RecurrentNetwork``, or what ``load_model`` gives) or a PyTorch module, which is copied;
    a module needs the ``alphabet``, and ``options`` are those of ``wrap``. ``specs`` are one specification or several,
    all with ``relation``, or ``Requirement`` values with their own. Where no specification speaks, answers are kept:
    the labels of ``words`` where they have labels, else those of the model as it is.

    The ``budget`` (seconds, or a ``Budget``) ends the work with the best model so far. With ``checkpoint`` the state is
    written to that file after every round, and ``resume`` goes on from it. The same inputs and seed give the same
    model.
    """
    import_torch("repairing")
    from rnncheck.training.torch_network import torch_threads

    settings = settings or RepairSettings()
    limit = budget if isinstance(budget, Budget) else Budget.lasting(budget)
    pupil = _pupil(model, alphabet, settings, options or {})
    requirements = tuple(each.over(pupil.alphabet) for each in requirements_of(specs, relation))
    demands = Demands(requirements, pupil.alphabet, pupil.labels, pupil.yes)
    own = collected(words, pupil.alphabet, pupil.labels)
    check_labels(own, requirements, pupil.alphabet, pupil.labels, pupil.yes)
    drawn = distribution or WordDistribution(pupil.alphabet)
    question = Question(
        pupil, pupil.model(), requirements, demands, own, drawn.over(pupil.alphabet), seed, settings
    )  # fmt: skip
    with torch_threads(settings.threads or 1):
        return _Run(question, limit, progress).go(checkpoint, resume)


def _pupil(
    model: object, alphabet: Alphabet | Sequence[str] | None, settings: RepairSettings, options: Mapping[str, Any]
) -> Pupil:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        if alphabet is None:
            raise InputError("the alphabet of the module is missing; give alphabet=[…] (--alphabet a,b,c)")
        letters = alphabet if isinstance(alphabet, Alphabet) else Alphabet(alphabet)
        return ModulePupil(model, letters, options)
    if isinstance(model, RecurrentNetwork):
        return NetworkPupil(model, settings.threads)
    if not isinstance(model, Model):
        raise ModelError(f"{short_repr(model)} is neither a network nor a PyTorch module; load it with load_model")
    kind = str(model.describe().get("kind", type(model).__name__))
    network = getattr(model, "network", None)
    read_off = kind if network is None else str(network.facts.get("kind", ""))
    if "ONNX" in read_off:
        raise ModelError(ONNX_REFUSED)
    if read_off == "PyTorch module":
        raise ModelError("give the module itself, not the model that wrap makes of it; its weights are to be trained")
    return NetworkPupil(network_of(model), settings.threads)


class _Run:
    """One repair, between two rounds."""

    def __init__(self, question: Question, budget: Budget, progress: Progress | None) -> None:
        self._question, self._budget, self._progress = question, budget, progress
        self._began = budget.clock()
        self._initial = question.pupil.arrays()
        own = question.own
        learn, choose, measure = own.split(question.rng(SPLIT))
        self._to_learn = own.words.take(learn)
        given = {own.words[i]: int(own.answers[i]) for i in learn.tolist() if own.answers[i] != UNKNOWN}
        self._lesson = Lesson(question, given)
        self._audit = Audit(question.requirements, question.distribution, question.rng(AUDIT))
        self._validation = self._examples(choose.tolist(), VALIDATION, _VALIDATION_WORDS)
        self._held_out = self._examples(measure.tolist(), HELD_OUT, question.settings.held_out)
        self._accuracy_before = self._validation.accuracy(question.before, question.labels)
        self._state = Progressed()
        self._best_arrays = self._initial
        self._proof = Proof()
        self._verdicts: dict[str, Verdict] = {}  # the latest of each property, by its name

    def _examples(self, own: list[int], purpose: int, count: int) -> Examples:
        """A person's words that were held out, and fresh ones unless these have labels and are many."""
        question, words = self._question, [self._question.own.words[place] for place in own]
        labels = {word: int(question.own.answers[place]) for word, place in zip(words, own, strict=True)}
        if not self._measured_with_labels(own):
            words += fresh_words(question.requirements, question.distribution, question.rng(purpose), count)
        labels = {word: label for word, label in labels.items() if label != UNKNOWN}
        return right_answers(list(dict.fromkeys(words)), question, labels)

    def _measured_with_labels(self, own: list[int]) -> bool:
        return self._question.own.labelled and len(own) >= _ENOUGH

    @property
    def _seconds(self) -> float:
        return self._state.seconds + self._budget.clock() - self._began

    @property
    def _round(self) -> int:
        return len(self._state.rounds)

    def _tell(self, doing: str) -> None:
        self._budget.check()
        if self._progress is not None:
            self._progress(RepairProgress(self._round, doing, self._seconds))

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
            ending, reason = Ending.ENDED_EARLY, "interrupted"
        if self._state.best is None:
            self._tell_what_came()
        taught = [*self._lesson.words(), *self._to_learn]
        conclusion = Conclusion(self._question, self._state, self._audit, self._held_out, taught)
        return conclusion.repaired(ending, reason, self._proof, self._best_arrays, self._initial, self._seconds)

    def _loop(self, file: RepairCheckpoint | None) -> tuple[Ending, str]:
        while True:
            model = self._question.pupil.model()
            verdicts, steps = self._verified(model)
            self._judge(model, verdicts, steps)
            broken = [verdict for verdict in verdicts if verdict.violated]
            unclear = next((verdict for verdict in verdicts if verdict.undecided), None)
            if not broken and unclear is not None:
                return Ending.ENDED_EARLY, unclear.reason
            if not broken and (self._round == 0 or self._keeps_accuracy(model)):
                return self._proved(verdicts, steps)
            if not self._question.pupil.takes_empty and any(verdict.counterexample == () for verdict in broken):
                return Ending.NOT_REPAIRED, _EMPTY_WORD
            if self._round == self._question.settings.rounds:
                return Ending.NOT_REPAIRED, self._why_not(broken)
            self._teach(model, verdicts, steps)
            if file is not None:
                self._save(file)

    def _verified(self, model: Model) -> tuple[list[Verdict], int]:
        """A verdict for each property: with few steps while that finds violations, with more when it does not."""
        most = self._question.settings.search_steps
        steps = min(_FIRST_STEPS, most)
        while True:
            verdicts = [self._verdict(model, each, steps) for each in self._question.requirements]
            found = any(not verdict.satisfied for verdict in verdicts)
            if found or steps >= most or all(map(_is_proved, verdicts)):
                return verdicts, steps
            steps = min(steps * _GROWTH, most)

    def _verdict(self, model: Model, requirement: Requirement, steps: int) -> Verdict:
        self._tell(f"verifying {requirement.name} with {steps:,} steps")
        budget = self._budget
        options: dict[str, Any] = {
            "distribution": self._question.distribution,
            # Another seed in every round: what was found with one is not all there is.
            "seed": self._question.seed + 1 + self._round + 1_000 * int(math.log10(steps)),
            "timeout": None if budget.deadline is None else budget.remaining(),
            "settings": VerifySettings(
                search_steps=steps,
                counterexamples=_COUNTEREXAMPLES,
                mass_words=0,
                clock=budget.clock,
                cancelled=budget.cancelled,
            ),
        }
        if requirement.relation is None:
            verdict = verify_labels(model, requirement.spec, **options)
        else:
            verdict = verify(model, requirement.spec, relation=requirement.relation, **options)
        if verdict.undecided and verdict.reason == "interrupted":  # verify takes Ctrl-C for a wish to know what it has
            raise KeyboardInterrupt
        self._verdicts[requirement.name] = verdict
        budget.check()
        return verdict

    def _judge(self, model: Model, verdicts: Sequence[Verdict], steps: int) -> None:
        """Keep what is known of the model, and the model itself if it is the best."""
        question, masses = self._question, self._audit.masses(model)
        standings = [
            _standing(verdict, steps, mass, violations_on(question.own, each, model))
            for verdict, mass, each in zip(verdicts, masses, question.requirements, strict=True)
        ]
        violated = sum(verdict.violated for verdict in verdicts)
        self._consider(Rank(violated, _hits(masses), self._wrong(model)), standings)
        if not self._round:
            self._state.before = standings

    def _tell_what_came(self) -> None:
        """It ended before all properties were verified once; a violation that was found by then is told."""
        known = [self._verdicts.get(each.name) for each in self._question.requirements]
        self._state.before = [
            Standing(outcome=Outcome.UNDECIDED) if verdict is None else _standing(verdict, _FIRST_STEPS, None, None)
            for verdict in known
        ]
        self._state.best = Best(0, Rank(0, 0, 0.0), self._state.before)

    def _wrong(self, model: Model) -> float:
        return 1.0 - self._validation.accuracy(model, self._question.labels)

    def _keeps_accuracy(self, model: Model) -> bool:
        return self._accuracy_before - (1.0 - self._wrong(model)) <= self._question.settings.max_loss

    def _consider(self, rank: Rank, standings: list[Standing]) -> None:
        """The best model is the one of the least rank that has not lost too many answers."""
        best, most = self._state.best, 1.0 - self._accuracy_before + self._question.settings.max_loss
        if best is None or best.round == self._round or (rank < best.rank and rank.wrong <= most):
            self._state.best = Best(self._round, rank, standings)
            self._best_arrays = self._question.pupil.arrays()

    def _teach(self, model: Model, verdicts: Sequence[Verdict], steps: int) -> None:
        """Train on what was found; then measure, so that a model that is not verified yet can be kept."""
        number, began = self._round + 1, self._seconds
        rng, pupil = self._question.rng(TEACHING, number), self._question.pupil
        counts = self._lesson.add(number, verdicts, model, self._forgotten(model), rng)
        stage = pupil.stage(self._lesson.stage(self._to_learn, rng), rng)
        doing = f"round {number}: teaching {len(stage.words):,} words"
        tuned = fine_tune(
            pupil, stage, self._question.labels, rng, self._question.settings.fine_tuning, lambda: self._tell(doing)
        )
        now = pupil.model()
        masses = self._audit.masses(now)
        self._state.rounds.append(
            self._told_round(number, verdicts, steps, counts, tuned, _hits(masses), now, self._seconds - began)
        )
        watched = WordBatch.from_codes(self._lesson.errors)
        broken = [int(violating(each, now, watched).sum()) for each in self._question.requirements]
        unverified = [Standing(outcome=Outcome.UNDECIDED, mass=mass) for mass in masses]
        self._consider(Rank(sum(map(bool, broken)), sum(broken) + _hits(masses), self._wrong(now)), unverified)

    def _told_round(
        self,
        number: int,
        verdicts: Sequence[Verdict],
        steps: int,
        counts: dict[str, int],
        tuned: FineTuned,
        mistakes: int,
        now: Model,
        seconds: float,
    ) -> RepairRound:
        pairs = list(zip(self._question.requirements, verdicts, strict=True))
        return RepairRound(
            number=number,
            violated=tuple(each.name for each, verdict in pairs if verdict.violated),
            counterexamples=tuple(word for _, verdict in pairs if (word := verdict.counterexample) is not None),
            search_steps=steps,
            taught=counts,
            words=tuned.words,
            epochs=tuned.epochs,
            learned=tuned.accuracy,
            mistakes=mistakes,
            audited=self._audit.words,
            accuracy=1.0 - self._wrong(now),
            seconds=seconds,
        )

    def _forgotten(self, model: Model) -> list[Codes]:
        """Fresh random words to which the model now gives another answer than it should."""
        question = self._question
        rng = question.rng(FRESH, self._round)
        words = fresh_words(question.requirements, question.distribution, rng, _FORGOTTEN_SOUGHT)
        fresh = right_answers(words, question, {})
        wrong = answers_of(model, fresh.words, question.labels) != fresh.answers
        return [words[place] for place in np.flatnonzero(wrong).tolist()]

    def _proved(self, verdicts: Sequence[Verdict], steps: int) -> tuple[Ending, str]:
        """No violation is known. Is there a proof, or can the network be trained to have one?"""
        proved, effort = all(map(_is_proved, verdicts)), f"no violation was found with {steps:,} search steps"
        if len(verdicts) > 1:
            effort += " for each property"
        self._proof = prove_or_harden(self._question, proved, self._tell, self._keeps_accuracy)
        if proved or self._proof.network is not None:
            return Ending.PROVED, "proved for every word"
        return Ending.NOTHING_FOUND, effort

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
        file.save(Saved(state, self._question.pupil.arrays(), self._best_arrays, lesson.errors, lesson.random))

    def _go_on_from(self, saved: Saved) -> None:
        self._state, self._best_arrays = saved.progressed, dict(saved.best_weights)
        self._lesson.errors, self._lesson.random = saved.errors, saved.random
        self._question.pupil.load(saved.weights)


def _hits(masses: Sequence[Mass]) -> int:
    return sum(mass.hits for mass in masses)


def _is_proved(verdict: Verdict) -> bool:
    return verdict.satisfied and verdict.guarantee is not None and verdict.guarantee.proof


def _standing(verdict: Verdict, steps: int, mass: Mass | None, on_data: int | None) -> Standing:
    words = () if verdict.counterexample is None else (verdict.counterexample, *verdict.other_counterexamples)
    return Standing(
        outcome=verdict.outcome,
        proved=_is_proved(verdict),
        counterexamples=words,
        flows=tuple(map(str, verdict.faulty_flows)),
        search_steps=steps,
        mass=mass,
        on_data=on_data,
    )
