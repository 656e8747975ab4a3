"""Classes of letters that an expression does not distinguish: an automaton is built for one of each class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class LetterClasses(NamedTuple):
    """Two letters are in one class if every set of an expression contains both or neither."""

    of_letter: list[int]
    size: int  # the number of classes
    rest: int  # the class of letters that are not mentioned; any class if all are


def letter_classes(sets: Iterable[frozenset[int]], letters: int) -> LetterClasses:
    """The classes of ``letters`` letters, from the sets of codes that an expression mentions."""
    holders: list[list[int]] = [[] for _ in range(letters)]
    for number, codes in enumerate(dict.fromkeys(sets)):
        for code in codes:
            holders[code].append(number)
    numbers: dict[tuple[int, ...], int] = {}
    of_letter = [numbers.setdefault(tuple(each), len(numbers)) for each in holders]
    return LetterClasses(of_letter, len(numbers), numbers.get((), 0))
