"""The words on which a compiled network is compared with its reference.

What the comparison establishes, and by what:

- Every weight is where it belongs. Any word shows it, as each of its letters reads all weights but the inputs of other
  letters; with many letters some of these are in no word.
- Rounding changes scores no more than was seen: random words of up to a hundred letters, and short loops repeated that
  often, along which it may add up.
- It does not grow later on either: words of 250 and 500 letters.

A large network would take minutes for all of these, as it fetches its weights from memory at each letter. Of such a
network fewer words of each kind are read, and the last kind only where ``grows`` says so of the others: what makes a
rounding a thousand times larger within 500 letters doubles it every fifty.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.words import Codes, IntArray

_LONGEST, _LOOPS = 100, 8
_FAR_LONGER = (250, 500)  # letters; rounding may grow so slowly that a hundred letters do not show it
_MOST_PRODUCTS = 1 << 33  # multiplications; more of them take seconds
_GROWTH = 1.5


def check_words(
    letters: int, products: int, runs: int, *, bounded: bool, longest: int | None
) -> tuple[list[Codes], list[Codes]]:
    """The words to compare on, ``runs`` of them random, and those that are only read where differences grow.

    A letter takes so many ``products``. ``bounded``: values of the cell stay in fixed bounds, as others may well leave
    all bounds on long words. No word is longer than ``longest``.
    """
    rng, most = np.random.default_rng(0), math.inf if longest is None else longest

    def word(length: int) -> Codes:
        return tuple(rng.integers(letters, size=int(min(length, most))).tolist())

    random = [word(length) for length in np.linspace(1, _LONGEST, runs).astype(int).tolist()]
    far = [word(length) for length in _FAR_LONGER] if bounded else []
    short = [rng.integers(letters, size=1 + number // 2).tolist() for number in range(_LOOPS if bounded else 0)]
    loops = [tuple((loop * _LONGEST)[: int(min(_LONGEST, most))]) for loop in short]
    every = math.ceil(products * sum(map(len, random + far + loops)) / _MOST_PRODUCTS)
    if every <= 1:
        return random + far + loops, []
    return random[::-every] + loops[::-every], far


def grows(lengths: IntArray, differences: npt.NDArray[Any]) -> bool:
    """Whether differences after words of these lengths are larger where words are longer."""
    early = lengths <= _LONGEST // 2
    return bool(differences[~early].max(initial=0.0) > _GROWTH * differences[early].max(initial=0.0))
