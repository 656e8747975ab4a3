"""Where violations are looked for to say how bad they are: languages whose probability is exact, however small.

A sample of all words sees nothing that is rarer than one in some thousands. So the words that could be violations are
divided into languages: what was learned to be violations, the counterexample with its loops repeated, what ends in it,
short words, and all others. In each the share of violations is measured on words drawn from it alone. The probability
of a language, which is exact, times the least share that these words show, is a lower bound far below what any sample
of all words sees.
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
from rnncheck.probability.statistics import clopper_pearson
from rnncheck.verdict.facts import Interval
from rnncheck.verdict.violation import Stratum
from rnncheck.words import Alphabet, Codes

LEARNED = "words learned to be violations"
FAMILY = "words of the counterexample's family"  # its loops repeated
ENDING = "words that end in the counterexample"
SHORT = "words as short as the counterexample"
OTHERS = "other words that could be violations"
CONFIDENCE = 0.95
_NEAR, _TELLING = 10.0, 0.1  # within this factor an interval is one number; an upper bound above this tells little
_LARGEST = 2_000  # states of the words that could be violations, or letters of one, for which they are divided

Loops: TypeAlias = Sequence[tuple[int, Codes]]  # at which place of the counterexample, and which


def divided(possible: DFA, word: Codes, loops: Loops, learned: DFA | None) -> Iterator[tuple[str, DFA]]:
    """The words that could be violations, divided: each name with its language. No word is in two of them."""
    if max(len(possible), len(word)) > _LARGEST:  # what is left of a large automaton is large
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
    # A place is (letters of the word that were read, loop that is being read or -1, letters of it that were read).
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
    """The automaton of the words that end in a word; its states are the prefixes of it that were read last."""
    table = np.zeros((len(word) + 1, len(alphabet)), dtype=np.int32)
    shorter = 0  # the longest prefix that is read last, apart from the one that a row is for
    for read, letter in enumerate(word):
        table[read] = table[shorter]
        shorter, table[read, letter] = table[read, letter] if read else 0, read + 1
    table[len(word)] = table[shorter]
    return DFA(alphabet, table, np.arange(len(word) + 1) == len(word))


def interval_of(strata: Sequence[Stratum], least: float) -> Interval:
    """A 95 % interval for the probability of violations; ``least`` is what the counterexample has by itself.

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


def how_often(interval: Interval, scope: str = "") -> str:
    """What an interval for the probability of violations says of random words, as a sentence."""
    often, words = frequency(interval), f"random words{scope}"
    if often.endswith("%"):
        return f"{often} of all {words} are violations"
    return f"{often} {words} {'are violations' if often.startswith('fewer') else 'is a violation'}"


def frequency(interval: Interval) -> str:
    """One number where the interval is narrow, else one bound."""
    low, high = interval
    if 0.0 < high <= _NEAR * low:
        middle = math.sqrt(low * high)
        return f"about {middle:.0%}" if middle >= _TELLING else f"about 1 in {_one_in(middle, round):,}"
    if 0.0 < high <= _TELLING:
        return f"fewer than 1 in {_one_in(high, math.floor):,}"
    return f"at least 1 in {_one_in(low, math.ceil):,}" if low > 0.0 else f"at most {high:.0%}"


def _one_in(probability: float, rounded: Callable[[float], int]) -> int:
    number = 1 / max(probability, sys.float_info.min)  # smaller ones have no inverse
    unit: int = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return rounded(number / unit) * unit
