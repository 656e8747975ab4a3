"""The severity of a violation: languages with exact probabilities in which the share of violations is measured.

A sample of all words finds nothing rarer than one in a few thousand. So the words that could be violations are divided
into languages: learned violations, the counterexample with its loops repeated, words that end in it, short words, and
all others. In each the share of violations is measured on words drawn from it alone. The exact probability of a
language, times the least share that these words show, is a lower bound far below what any sample of all words finds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from rnncheck.automata.dfa import DFA, explore
from rnncheck.automata.language import is_empty, short_words
from rnncheck.automata.minimisation import minimise
from rnncheck.automata.product import difference, intersection
from rnncheck.probability.clopper_pearson import clopper_pearson
from rnncheck.verdict.facts import Interval
from rnncheck.verdict.violation import Stratum
from rnncheck.words import Alphabet, Codes

LEARNED = "words learned to be violations"
FAMILY = "words of the counterexample's family"  # its loops repeated
ENDING = "words that end in the counterexample"
SHORT = "words as short as the counterexample"
OTHERS = "other words that could be violations"
CONFIDENCE = 0.95
_NEAR, _INFORMATIVE = 10.0, 0.1  # an interval within this factor is one number; larger upper bounds say little
_LARGEST = 2_000  # states of their automaton, or letters of the counterexample, up to which words are divided

Loops: TypeAlias = Sequence[tuple[int, Codes]]  # each with its place in the counterexample


def divide(possible: DFA, word: Codes, loops: Loops, learned: DFA | None) -> Iterator[tuple[str, DFA]]:
    """Divide the words that could be violations into disjoint languages, each with its name."""
    if max(len(possible), len(word)) > _LARGEST:  # the parts of a large automaton are large
        yield OTHERS, possible
        return
    parts = {
        LEARNED: learned,
        FAMILY: family(possible.alphabet, word, loops),
        ENDING: ending_in(possible.alphabet, word) if word else None,
        SHORT: short_words(possible.alphabet, len(word)),
    }
    left = possible
    for name, language in parts.items():
        if language is None:
            continue
        part = minimise(intersection(left, language))
        if not is_empty(part):
            yield name, part
            left = minimise(difference(left, language))
    if not is_empty(left):
        yield OTHERS, left


def family(alphabet: Alphabet, word: Codes, loops: Loops) -> DFA:
    """The automaton of the word with each of its loops repeated any number of times, at its place."""
    # A place is (letters read of the word, current loop or -1, letters read of the loop).
    start, letters = frozenset({(0, -1, 0)}), range(len(alphabet))

    def after(place: tuple[int, int, int], letter: int) -> Iterator[tuple[int, int, int]]:
        read, loop, done = place
        if loop >= 0:
            if loops[loop][1][done] == letter:
                yield (read, loop, done + 1) if done + 1 < len(loops[loop][1]) else (read, -1, 0)
            return
        if read < len(word) and word[read] == letter:
            yield (read + 1, -1, 0)
        for number, (at, body) in enumerate(loops):
            if at == read and body and body[0] == letter:
                yield (read, number, 1) if len(body) > 1 else (read, -1, 0)

    return explore(
        alphabet,
        start,
        lambda places: [frozenset(each for place in places for each in after(place, letter)) for letter in letters],
        lambda places: (len(word), -1, 0) in places,
        what="the family of the counterexample",
    )


def ending_in(alphabet: Alphabet, word: Codes) -> DFA:
    """The automaton of the words that end in a word; its states are the longest prefixes just read."""
    table = np.zeros((len(word) + 1, len(alphabet)), dtype=np.int32)
    shorter = 0  # the longest proper prefix that is also a suffix of what was read
    for read, letter in enumerate(word):
        table[read] = table[shorter]
        shorter, table[read, letter] = table[read, letter] if read else 0, read + 1
    table[len(word)] = table[shorter]
    return DFA(alphabet, table, np.arange(len(word) + 1) == len(word))


def interval_of(strata: Sequence[Stratum], least: float) -> Interval:
    """A 95 % interval for the probability of violations; ``least`` is that of the counterexample alone.

    The allowed error is shared among the strata, so that all their intervals hold together.
    """
    confidence = 1.0 - (1.0 - CONFIDENCE) / max(1, len(strata))
    low = high = 0.0
    for stratum in strata:
        share = clopper_pearson(stratum.violations, stratum.words, confidence) if stratum.words else (0.0, 1.0)
        low += stratum.mass * share[0]
        high += stratum.mass * share[1]
    low = max(low, least)
    return low, min(1.0, max(low, high))


def frequency_sentence(interval: Interval, scope: str = "") -> str:
    """An interval for the probability of violations as a sentence about random words."""
    often, words = frequency(interval), f"random words{scope.replace('that satisfies', 'that satisfy')}"
    if often.endswith("%"):
        return f"{often} of all {words} are violations"
    return f"{often} {words} {'are violations' if often.startswith('fewer') else 'is a violation'}"


def frequency(interval: Interval) -> str:
    """One number where the interval is narrow, else one bound."""
    low, high = interval
    if 0.0 < high <= _NEAR * low:
        middle = math.sqrt(low * high)
        return f"about {middle:.0%}" if middle >= _INFORMATIVE else f"about 1 in {_one_in(middle, round):,}"
    if 0.0 < high <= _INFORMATIVE:
        return f"fewer than 1 in {_one_in(high, math.floor):,}"
    return f"at least 1 in {_one_in(low, math.ceil):,}" if low > 0.0 else f"at most {high:.0%}"


def _one_in(probability: float, rounded: Callable[[float], int]) -> int:
    number = 1 / max(probability, sys.float_info.min)  # smaller ones have no inverse
    unit: int = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return rounded(number / unit) * unit
