"""Two words, letter by letter: which became which, at the least cost."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rnncheck.automata.edits import Edits
from rnncheck.words import Alphabet

_FAR = Fraction(10**9)
Pair = tuple[str | None, str | None]


def aligned(word: Sequence[str], other: Sequence[str], edits: Edits, alphabet: Alphabet) -> list[Pair]:
    """Pairs of letters in order; None where the word, or the other, has none. Swapped letters are two pairs."""
    table = _table(word, other, edits, alphabet)
    pairs: list[Pair] = []
    here = len(word), len(other)
    while here != (0, 0):
        before = table[here][1]
        first, second = word[before[0] : here[0]], other[before[1] : here[1]]
        for place in reversed(range(max(len(first), len(second)))):
            pairs.append((first[place] if first else None, second[place] if second else None))
        here = before
    return pairs[::-1]


def _table(
    word: Sequence[str], other: Sequence[str], edits: Edits, alphabet: Alphabet
) -> dict[tuple[int, int], tuple[Fraction, tuple[int, int]]]:
    """For every pair of prefixes the least cost, and the pair of shorter prefixes that it comes from."""
    number = {letter: place for place, letter in enumerate(alphabet)}
    insert, delete, swap = (edits.each(kind, alphabet) for kind in ("insert", "delete", "swap"))
    table: dict[tuple[int, int], tuple[Fraction, tuple[int, int]]] = {(0, 0): (Fraction(0), (0, 0))}

    def ways(i: int, j: int) -> list[tuple[Fraction, tuple[int, int]]]:
        found = []
        for (down, right), cost in {
            (1, 1): edits.replacing(word[i - 1], other[j - 1]) if i and j else None,
            (1, 0): delete[number[word[i - 1]]] if i else None,
            (0, 1): insert[number[other[j - 1]]] if j else None,
            (2, 2): _swapped(word[max(0, i - 2) : i], other[max(0, j - 2) : j], swap, number),
        }.items():
            if cost is not None:
                before = i - down, j - right
                found.append((table[before][0] + cost, before))
        return found

    for i in range(len(word) + 1):
        for j in range(len(other) + 1):
            if (i, j) != (0, 0):
                table[i, j] = min(ways(i, j), key=lambda way: way[0], default=(_FAR, (max(0, i - 1), max(0, j - 1))))
    return table


def _swapped(
    pair: Sequence[str], other: Sequence[str], swap: Sequence[Fraction | None], number: dict[str, int]
) -> Fraction | None:
    if len(pair) < 2 or list(pair) != list(other)[::-1] or pair[0] == pair[1]:
        return None
    costs = [swap[number[letter]] for letter in pair]
    return None if None in costs else costs[0]
