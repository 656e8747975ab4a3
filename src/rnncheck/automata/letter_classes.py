"""Letters that an expression does not tell apart: an automaton is built for one of each class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class LetterClasses(NamedTuple):
    """Letters that every set of an expression has or lacks together are one class."""

    of_letter: list[int]
    size: int  # how many classes there are
    rest: int  # the class of the letters that are not mentioned; any class if all are


def letter_classes(sets: Iterable[frozenset[int]], letters: int) -> LetterClasses:
    """The classes of so many letters, from the sets of their codes that an expression mentions."""
    holders: list[list[int]] = [[] for _ in range(letters)]
    for number, codes in enumerate(dict.fromkeys(sets)):
        for code in codes:
            holders[code].append(number)
    numbers: dict[tuple[int, ...], int] = {}
    of_letter = [numbers.setdefault(tuple(each), len(numbers)) for each in holders]
    return LetterClasses(of_letter, len(numbers), numbers.get((), 0))
