"""Where a counterexample goes wrong (Rivest and Schapire).

Let w be a word on which hypothesis and target differ, m its length, and α(i) the target's answer to the access word
of the state that the hypothesis reaches by the first i letters, followed by the rest of w. α(0) is the target's
answer to w, α(m) the hypothesis's, so for some i α(i) is the answer to w and α(i + 1) is not: the transition taken at
letter i is wrong, and the rest of w after it proves that. Such an i is found with about log m queries. The
number of different answers does not matter.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError, short_repr
from rnncheck.learning.learners.answers import Answers
from rnncheck.oracle import Query
from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.words import Codes

STRATEGIES = ("exponential", "binary")


@dataclass(frozen=True)
class Search:
    """How to search for the wrong transition.

    ``exponential`` goes back from the end of the word in doubling steps, then bisects: it queries short suffixes first
    and tends to find a short one, with about twice the logarithm of its length in queries. ``binary`` bisects the whole
    word. ``probes`` positions are queried in one batch: more probes, fewer batches, somewhat more queries.
    """

    strategy: str = "exponential"
    probes: int = 1

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise InputError(f"unknown search strategy {short_repr(self.strategy)}; known are {', '.join(STRATEGIES)}")
        if not isinstance(self.probes, int) or self.probes < 1:
            raise InputError(f"probes is {short_repr(self.probes)}; give at least 1")


@dataclass(frozen=True)
class WrongTransition:
    """``suffix`` distinguishes, for the target, (access word of ``state``) + ``letter`` from the access word of the
    state to which the hypothesis goes.
    """

    state: int
    letter: int
    suffix: Codes


_Searching: TypeAlias = Generator[list[Query], list[int], WrongTransition]


def states_on(dfa: DFA, word: Codes) -> list[int]:
    """The states that a word visits, the initial one first."""
    successor, state, letters = dfa.transitions.item, dfa.initial, len(dfa.alphabet)
    states = [state]
    for letter in word:
        state = successor(state * letters + letter)
        states.append(state)
    return states


def wrong_transitions(
    words: Sequence[Codes], hypothesis: DFA, access: Sequence[Codes], answers: Answers, search: Search
) -> CooperativeWork[list[WrongTransition]]:
    """For each word a wrong transition on its path; all words are searched in step, one batch per step.

    The answers to the words are known, and the hypothesis gets every one of them wrong.
    """
    found: dict[int, WrongTransition] = {}
    waiting: list[tuple[int, _Searching, list[int] | None]] = [
        (i, _search(word, states_on(hypothesis, word), access, answers, search), None) for i, word in enumerate(words)
    ]
    while waiting:
        pending = []
        for i, each, reply in waiting:
            try:
                pending.append((i, each, next(each) if reply is None else each.send(reply)))
            except StopIteration as end:
                found[i] = end.value
        answered = iter((yield from answers.asking([query for _, _, queries in pending for query in queries])))
        waiting = [(i, each, [next(answered) for _ in queries]) for i, each, queries in pending]
    return [found[i] for i in range(len(words))]


def _search(word: Codes, states: list[int], access: Sequence[Codes], answers: Answers, search: Search) -> _Searching:
    """Yields the queries it needs answered, is sent the answers, and returns what it has found."""
    truth = answers[word]

    # α costs nothing where its word is known. Search in the last gap between the target's answer and another one.
    low, high, known_answer = 0, len(word), answers.known
    for i in range(len(word) - 1, 0, -1):
        known = known_answer(access[states[i]] + word[i:])
        if known == truth:
            low = i
            break
        if known is not None:
            high = i

    end, stride = high, 1 if search.strategy == "exponential" else 0
    while high - low > 1:
        points = [p for p in (end - (stride << j) for j in range(search.probes)) if p > low] if stride else []
        stride <<= search.probes
        if not points:
            stride, points = 0, _evenly_between(low, high, search.probes)
        for point, answer in zip(points, (yield [(access[states[p]], word[p:]) for p in points]), strict=True):
            if answer == truth:
                low, stride = point, 0
                break
            high = point
    return WrongTransition(states[low], word[low], word[low + 1 :])


def _evenly_between(low: int, high: int, count: int) -> list[int]:
    """At most ``count`` positions strictly between two, evenly spaced, from the right."""
    count = min(count, high - low - 1)
    return [low + (high - low) * k // (count + 1) for k in range(count, 0, -1)]
