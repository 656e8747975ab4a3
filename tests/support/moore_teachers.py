"""Random Moore machines, a teacher that counts, and the same machines as AALpy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rnncheck.automata.moore import MooreMachine, difference_of
from rnncheck.learning import Query, make_learner
from rnncheck.words import Codes


def random_machine(seed: int, states: int = 8, letters: int = 2, labels: int = 3) -> MooreMachine:
    """A random machine, minimised."""
    rng = np.random.default_rng(seed)
    return MooreMachine(
        [f"t{i}" for i in range(letters)],
        [f"label {i}" for i in range(labels)],
        rng.integers(states, size=(states, letters)),
        rng.integers(labels, size=states),
    ).minimised()


class Teacher:
    """Answers for a machine, keeps the words that were asked for, and counts runs.

    A run gives the labels of all prefixes of a word, as it does with a stepped network (and with AALpy's systems): a
    word that another one in its batch begins with needs no run of its own.
    """

    def __init__(self, machine: MooreMachine) -> None:
        self._table, self._outputs = machine.transitions.tolist(), machine.outputs.tolist()
        self._initial = machine.initial
        self.words: list[Codes] = []
        self.runs = 0

    def ask(self, queries: Sequence[Query]) -> list[int]:
        words = [access + suffix for access, suffix in queries]
        self.words += words
        begun = {word[:length] for word in words for length in range(len(word))}
        self.runs += sum(word not in begun for word in words)
        return [self.answer(word) for word in words]

    def answer(self, word: Codes) -> int:
        state = self._initial
        for letter in word:
            state = self._table[state][letter]
        return int(self._outputs[state])


def learned(name: str, machine: MooreMachine, **options: Any) -> tuple[MooreMachine, Teacher]:
    """What a learner makes of a machine with least counterexamples, and whom it asked."""
    teacher = Teacher(machine)
    learner = make_learner(name, machine.alphabet, teacher.ask, labels=machine.labels, **options)
    while (word := difference_of(machine, learner.machine)) is not None:
        assert learner.refine(machine.alphabet.encode(word))
    return learner.machine, teacher


def learned_by_aalpy(name: str, machine: MooreMachine) -> tuple[MooreMachine, int]:
    """What AALpy's learner makes of it with the same counterexamples, and how many runs of the machine it asked for."""
    from aalpy.base import SUL, Oracle
    from aalpy.learning_algs import run_KV, run_Lstar

    class System(SUL):
        def pre(self) -> None:
            self.state = machine.initial

        def post(self) -> None:
            pass

        def step(self, letter: str | None) -> str:
            if letter is not None:
                self.state = int(machine.transitions[self.state, machine.alphabet.index(letter)])
            return machine.labels[int(machine.outputs[self.state])]

    class Perfect(Oracle):
        def find_cex(self, hypothesis: Any) -> Any:
            word = difference_of(machine, from_aalpy(hypothesis, machine))
            return None if word is None else list(word)

    system = System()
    run = {"lstar": run_Lstar, "kv": run_KV}[name]
    options = {"cex_processing": "rs"}
    found, facts = run(
        list(machine.alphabet), system, Perfect(list(machine.alphabet), system), automaton_type="moore",
        return_data=True, print_level=0, **options,
    )  # fmt: skip
    return from_aalpy(found, machine), int(facts["queries_learning"])


def from_aalpy(found: Any, like: MooreMachine) -> MooreMachine:
    number = {id(state): i for i, state in enumerate(found.states)}
    return MooreMachine(
        like.alphabet,
        like.labels,
        [[number[id(state.transitions[letter])] for letter in like.alphabet] for state in found.states],
        [like.labels.index(state.output) for state in found.states],
        number[id(found.initial_state)],
    )
