"""The subjects of the paper's Table 1: networks trained on random automata, specifications that allow a little more."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.errors import InputError
from rnncheck.experiments.subjects import Recipe, Subject
from rnncheck.models.engine.compiled import compiled_or_stepped
from rnncheck.models.network import Cell
from rnncheck.training import TrainedNetwork, TrainingSettings, train, train_on_automaton
from rnncheck.training.from_automaton import data_from_automaton
from rnncheck.words import Alphabet

_DRAWS = 10_000  # of an automaton that must be large enough; a random one nearly always is
_LEAST_STATES = 3
_AUTOMATON, _SPECS, _WORDS, _MEASURED = range(4)  # what random numbers are for; each use has its own stream

# By the paper's recipe, where there may be hundreds of thousands of long words: how many at most training is stopped by
# and tested with, and how many of those trained with its accuracy is measured on.
_HELD_OUT = 1_000
_MOST_MEASURED = 10_000


class RandomAutomata(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Random automata of at most ``states`` states, and a network trained on each, as the paper draws them.

    A network has ``hidden_per_state`` · |Q| dimensions (if ``hidden`` is not given) and 1 + ⌊|Q| / 10⌋ layers, where
    |Q| counts the states of the minimal automaton. It is kept when more than ``accuracy`` of the test words are
    answered rightly; otherwise automaton and network are drawn again, up to ``draws`` times.

    By the ``recipe`` "ours" a network learns from every prefix of balanced words. By the paper's it learns from words
    as they are drawn, each with its one label, and its accuracy is that on the words it was trained with (at most
    10 000 of them).
    """

    count: int = 30
    states: int = 30
    min_states: int = 5
    letters: int = 5
    specs: int = 5
    cell: str = "lstm"
    hidden_per_state: int = 20
    hidden: int | None = None
    layers: int | None = None
    words: int = 10_000
    accuracy: float = 0.95
    target_accuracy: float = 0.99
    draws: int = 10
    training_seconds: float = 3600.0
    recipe: Recipe = "ours"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("count", "states", "min_states", "letters", "specs", "hidden_per_state", "draws"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} {getattr(self, name)} is not at least 1")
        if self.states < self.min_states:
            raise InputError(
                f"at most {self.states} states and at least {self.min_states} is impossible; lower min_states"
            )
        if self.states < _LEAST_STATES:
            raise InputError(
                f"{self.states} states are too few: one must accept, and two reject, or there is no specification to "
                f"distinguish from all words; give at least {_LEAST_STATES}"
            )
        self._settings(self.min_states, 0)  # what is wrong is better known before a folder is begun than after
        if not 0.0 <= self.accuracy <= self.target_accuracy <= 1.0:
            raise InputError(
                f"accuracy {self.accuracy} and target_accuracy {self.target_accuracy} are not 0 ≤ the first ≤ the "
                "second ≤ 1; training stops at the second, and what is not above the first is drawn again"
            )

    def names(self) -> Sequence[str]:
        return [f"random-{number:03d}" for number in range(1, self.count + 1)]

    def make(self, name: str, checkpoint: str | None) -> Subject:
        number = self.names().index(name)
        for draw in range(self.draws):
            target = self.automaton(number, draw)
            file = None if checkpoint is None else f"{checkpoint}.{draw}"
            trained, accuracy = self._train(number, draw, target, file)
            if accuracy > self.accuracy:
                specs = self.specifications(number, draw, target)
                facts = {
                    "states": len(target),
                    "letters": self.letters,
                    "cell": self.cell,
                    "hidden": trained.network.layers[0].hidden,
                    "layers": len(trained.network.layers),
                    "accuracy": accuracy,
                    "test_accuracy": trained.report.test_accuracy,
                    "recipe": self.recipe,
                    "training_seconds": trained.report.seconds,
                    "draws": draw + 1,
                }
                return Subject(trained.network, specs, facts)
        raise InputError(
            f"{name}: none of {self.draws} networks came above the accuracy {self.accuracy}; allow more training "
            "(--train-seconds, --words), more draws (--draws), or less accuracy (--accuracy)"
        )

    def automaton(self, number: int, draw: int) -> DFA:
        """A random minimal automaton, with at least two rejecting states so that there is a specification."""
        rng = self._rng(number, draw, _AUTOMATON)
        alphabet = Alphabet(_letters(self.letters))
        for _ in range(_DRAWS):
            states = int(rng.integers(self.min_states, self.states + 1))
            table = rng.integers(states, size=(states, self.letters))
            drawn = minimise(DFA(alphabet, table, rng.random(states) < 0.5))
            if len(drawn) >= self.min_states and np.count_nonzero(~drawn.accepting) >= 2 and drawn.accepting.any():
                return drawn
        raise InputError(
            f"no automaton of {self.min_states} to {self.states} states over {self.letters} letters came up in "
            f"{_DRAWS} draws; ask for fewer states at least (--min-states)"
        )

    def specifications(self, number: int, draw: int, target: DFA) -> dict[str, DFA]:
        """Up to ``specs`` automata that accept in some more states than the target, in different ones each.

        Different sets of accepting states of a minimal automaton are different languages.
        The set of all states is left out: nothing violates a specification that accepts every word.
        """
        rng = self._rng(number, draw, _SPECS)
        rejecting = np.flatnonzero(~target.accepting)
        possible = 2 ** len(rejecting) - 2
        chosen: dict[bytes, DFA] = {}
        while len(chosen) < min(self.specs, possible):
            more = rejecting[rng.random(len(rejecting)) < 0.5]
            if 0 < len(more) < len(rejecting):
                accepting = target.accepting.copy()
                accepting[more] = True
                spec = DFA(target.alphabet, target.transitions, accepting, target.initial)
                chosen.setdefault(accepting.tobytes(), spec)
        return {str(position): spec for position, spec in enumerate(chosen.values(), 1)}

    def _train(self, number: int, draw: int, target: DFA, checkpoint: str | None) -> tuple[TrainedNetwork, float]:
        """A network, and the accuracy that its recipe goes by."""
        seed = int(self._rng(number, draw).integers(2**31))
        settings, resume = self._settings(len(target), seed), checkpoint is not None and Path(checkpoint).exists()
        if self.recipe == "ours":
            trained = train_on_automaton(
                target, settings=settings, words=self.words, checkpoint=checkpoint, resume=resume
            )
            return trained, trained.report.test_accuracy
        held, rng = min(0.1, _HELD_OUT / self.words), self._rng(number, draw, _WORDS)
        data = data_from_automaton(target, rng, count=self.words, balance=0.0, validation=held, test=held)
        data = dataclasses.replace(data, target=None)  # no label but the word's own
        trained = train(data, settings=settings, checkpoint=checkpoint, resume=resume)
        order = self._rng(number, draw, _MEASURED).permutation(len(data.train))
        some = data.train.take(np.sort(order[:_MOST_MEASURED]))
        answers = compiled_or_stepped(trained.network, threads=1).accepts_batch(some.words)
        return trained, float((answers == some.answers.astype(bool)).mean())

    def _settings(self, states: int, seed: int) -> TrainingSettings:
        return TrainingSettings(
            cell=Cell(self.cell),
            hidden=self.hidden or self.hidden_per_state * states,
            layers=self.layers or 1 + states // 10,
            target_accuracy=self.target_accuracy,
            timeout=self.training_seconds,
            seed=seed,
        )

    def _rng(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *purpose])


def _letters(count: int) -> list[str]:
    """a, b, c … as the paper has them, numbered where the latin letters end."""
    return [chr(ord("a") + i) if count <= 26 else f"a{i}" for i in range(count)]
