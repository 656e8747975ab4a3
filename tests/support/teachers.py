"""Targets and teachers for learners, and a zoo of named languages."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from rnncheck.automata.dfa import DFA, explore
from rnncheck.automata.minimisation import canonical, minimise
from rnncheck.automata.product import difference_witness
from rnncheck.learning import LEARNERS, Learner, Query, Search, make_learner
from rnncheck.words import Alphabet, Codes, WordBatch

BITS = Alphabet(["0", "1"])

# Every name of the registry, and the variants that ask differently.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in LEARNERS} | {
    "ttt prefixes": ("ttt", {"prefixes": True}),
    "ttt probes": ("ttt", {"search": Search("binary", probes=3), "at_once": 1}),
    "kv binary": ("kv", {"search": Search("binary"), "at_once": 16}),
    "kv prefixes": ("kv", {"prefixes": True, "search": Search("exponential", probes=3)}),
    "lstar binary": ("lstar", {"search": Search("binary", probes=2)}),
    "lstar columns": ("lstar", {"prefixes": True}),
}


def make(variant: str, alphabet: Alphabet, ask: Any, **options: Any) -> Learner[Any]:
    name, own = VARIANTS[variant]
    return make_learner(name, alphabet, ask, **(own | options))


class Target:
    """Answers for a DFA and keeps the log: every query of every batch."""

    def __init__(self, dfa: DFA) -> None:
        self.table, self.accepting = dfa.transitions.tolist(), dfa.accepting.tolist()
        self.initial = dfa.initial
        self.batches: list[list[Query]] = []

    def ask(self, queries: Sequence[Query]) -> list[bool]:
        self.batches.append(list(queries))
        return [self.answer(access + suffix) for access, suffix in queries]

    def answer(self, word: Codes) -> bool:
        state = self.initial
        for letter in word:
            state = self.table[state][letter]
        return bool(self.accepting[state])

    @property
    def words(self) -> list[Codes]:
        return [access + suffix for batch in self.batches for access, suffix in batch]


class ShortestWords:
    """A teacher whose counterexamples are the shortlex-least."""

    def __init__(self, dfa: DFA) -> None:
        self.dfa = dfa

    def __call__(self, hypothesis: DFA) -> Codes | None:
        word = difference_witness(self.dfa, hypothesis)
        return None if word is None else self.dfa.alphabet.encode(word)


class RandomWords(ShortestWords):
    """A teacher whose counterexamples are random words of about 100 letters, while there are such."""

    def __init__(self, dfa: DFA, seed: int) -> None:
        super().__init__(dfa)
        self.rng = np.random.default_rng(seed)

    def __call__(self, hypothesis: DFA) -> Codes | None:
        lengths = self.rng.geometric(0.01, 20) - 1
        codes = self.rng.integers(0, len(self.dfa.alphabet), lengths.sum())
        words = WordBatch(codes, np.concatenate([[0], np.cumsum(lengths)]))
        wrong = np.flatnonzero(self.dfa.accepts_batch(words) != hypothesis.accepts_batch(words))
        return words[int(wrong[0])] if len(wrong) else super().__call__(hypothesis)


def learn(learner: Learner, teacher: Callable[[DFA], Codes | None]) -> int:
    """Refine until the teacher is content, checking each step; returns the number of rounds."""
    for rounds in itertools.count(1):
        hypothesis = learner.hypothesis
        check_access_words(learner)
        word = teacher(hypothesis)
        if word is None:
            return rounds
        assert learner.refine(word)
        assert len(learner.hypothesis) > len(hypothesis)
        letters = learner.alphabet.decode(word)
        assert learner.hypothesis.accepts(letters) != hypothesis.accepts(letters)
    raise AssertionError


def check_access_words(learner: Learner) -> None:
    hypothesis, access = learner.hypothesis, learner.access_words
    assert hypothesis.initial == 0
    assert access[0] == ()
    assert hypothesis.end_states(WordBatch.from_codes(access)).tolist() == list(range(len(hypothesis)))


def check_learns(variant: str, dfa: DFA, teacher: Callable[[DFA], Codes | None]) -> None:
    target = Target(dfa)
    learner = make(variant, dfa.alphabet, target.ask)
    rounds = learn(learner, teacher)
    minimal = minimise(dfa)
    assert canonical(learner.hypothesis) == canonical(dfa)
    assert len(learner.hypothesis) == len(minimal)
    assert rounds <= len(minimal)
    assert len(target.words) == len(set(target.words)), "a word was asked for twice"


def random_dfa(states: int, letters: int, seed: int) -> DFA:
    rng = np.random.default_rng(seed)
    alphabet = Alphabet([f"t{i}" for i in range(letters)])
    share = rng.choice([0.1, 0.3, 0.5])
    return DFA(alphabet, rng.integers(0, states, (states, letters)), rng.random(states) < share)


def runs_of_tomita_3(state: tuple[str, int, bool]) -> list[tuple[str, int, bool]]:
    """(last letter, parity of its run, whether an odd run of ones came before this run of zeros)."""
    last, parity, odd_ones = state
    if last == "dead":
        return [state, state]
    if last == "1":
        after_zero = ("0", 1, parity == 1)
        after_one = ("1", 1 - parity, False)
    else:
        after_zero = ("0", 1 - parity, odd_ones)
        after_one = ("dead", 0, False) if odd_ones and parity == 1 else ("1", 1, False)
    return [after_zero, after_one]


def machine(
    start: Hashable,
    successors: Callable[[Any], Sequence[Any]],
    accepts: Callable[[Any], bool],
    alphabet: Alphabet = BITS,
) -> DFA:
    return explore(alphabet, start, successors, accepts, what="a language of the zoo")


def keylock(length: int, letters: int = 3) -> DFA:
    """Opens after the right letters in a row; any wrong one starts anew."""
    alphabet = Alphabet([f"t{i}" for i in range(letters)])
    key = [(7 * i * i + i) % letters for i in range(length)]
    return machine(
        0,
        lambda at: [min(at + 1, length) if at == length or a == key[at] else 0 for a in range(letters)],
        lambda at: at == length,
        alphabet,
    )


ZOO: dict[str, DFA] = {
    "nothing": machine(0, lambda _: [0, 0], lambda _: False),
    "everything": machine(0, lambda _: [0, 0], lambda _: True),
    "only the empty word": machine(0, lambda _: [1, 1], lambda q: q == 0),
    "one letter": machine(0, lambda _: [0], lambda _: True, Alphabet(["only"])),
    "even length": machine(0, lambda q: [1 - q], lambda q: q == 0, Alphabet(["only"])),
    "Tomita 1": machine(0, lambda q: [1, q], lambda q: q == 0),
    "Tomita 2": machine(0, lambda q: {0: [2, 1], 1: [0, 2], 2: [2, 2]}[q], lambda q: q == 0),
    "Tomita 3": machine(("0", 0, False), runs_of_tomita_3, lambda q: q[0] != "dead" and not (q[2] and q[1] == 1)),
    "Tomita 4": machine(0, lambda q: [min(q + 1, 3), 3 if q == 3 else 0], lambda q: q < 3),
    "Tomita 5": machine((0, 0), lambda q: [(1 - q[0], q[1]), (q[0], 1 - q[1])], lambda q: q == (0, 0)),
    "Tomita 6": machine(0, lambda q: [(q + 1) % 3, (q - 1) % 3], lambda q: q == 0),
    "Tomita 7": machine(0, lambda q: [[0, 1], [2, 1], [2, 3], [4, 3], [4, 4]][q], lambda q: q < 4),
    "parity of ones": machine(0, lambda q: [q, 1 - q], lambda q: q == 1),
    "multiples of 23": machine(0, lambda q: [2 * q % 23, (2 * q + 1) % 23], lambda q: q == 0),
    "sixth letter from the end": machine(0, lambda q: [(2 * q) % 64, (2 * q + 1) % 64], lambda q: q >= 32),
    "counter of 17": machine(0, lambda q: [(q + 1) % 17, 0], lambda q: q == 16),
} | {f"keylock {n}": keylock(n) for n in (1, 2, 5, 10, 25)}


def no_structure(word: Codes) -> bool:
    return bool(hashlib.blake2b(bytes(word)).digest()[0] & 1)


NOT_REGULAR: dict[str, Callable[[Codes], bool]] = {
    "as many zeros as ones": lambda w: w.count(0) == w.count(1),
    "0^n 1^n": lambda w: w == (0,) * (len(w) // 2) + (1,) * (len(w) // 2),
    "palindromes": lambda w: w == w[::-1],
    "no structure": no_structure,
}


class Function:
    """Answers by a function of words over two letters, and notes the longest word."""

    def __init__(self, accepts: Callable[[Codes], bool]) -> None:
        self.accepts = accepts
        self.longest = 0

    def ask(self, queries: Sequence[Query]) -> list[bool]:
        words = [access + suffix for access, suffix in queries]
        self.longest = max(self.longest, *map(len, words))
        return [self.accepts(word) for word in words]

    def counterexample(self, hypothesis: DFA) -> Codes:
        for length in itertools.count():
            words = list(itertools.product((0, 1), repeat=length))
            for word, answer in zip(words, hypothesis.accepts_batch(WordBatch.from_codes(words)), strict=True):
                if answer != self.accepts(word):
                    return word
        raise AssertionError

    def teach(self, learner: Learner[Any]) -> None:
        """Refine by the least wrong word, for ever: there is always one."""
        while True:
            learner.refine(self.counterexample(learner.hypothesis))
