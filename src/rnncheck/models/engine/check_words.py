"""The words on which a compiled network is compared with its reference.

What the comparison establishes, and how:

- Every weight is where it belongs. Any word shows it, since each letter reads all weights except the inputs of other
  letters; with many letters some of these are in no word.
- Rounding changes scores no more than was measured: random words of up to a hundred letters, and short loops repeated
  up to that length, along which rounding may add up.
- It does not grow later on either: words of 250 and 500 letters.

A large network would take minutes for all of these, since it fetches its weights from memory at each letter. Such a
network reads fewer words of each kind, and the last kind only if differences on the others grow (``grows``): a rounding
error that becomes a thousand times larger within 500 letters doubles every fifty.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.words import Codes, IntArray

_LONGEST, _LOOPS = 100, 8
_MUCH_LONGER = (250, 500)  # letters; rounding may grow so slowly that a hundred letters do not show it
_MOST_PRODUCTS = 1 << 33  # multiplications; more of them take seconds
_GROWTH = 1.5


def check_words(
    letters: int, products: int, runs: int, *, bounded: bool, longest: int | None
) -> tuple[list[Codes], list[Codes]]:
    """The words to compare on, ``runs`` of them random; and those to read only if differences grow.

    ``products`` are the multiplications for one letter. ``bounded``: the cell's values stay in fixed bounds; other
    cells get no very long words, on which their values may overflow. No word is longer than ``longest``.
    """
    rng, most = np.random.default_rng(0), math.inf if longest is None else longest

    def word(length: int) -> Codes:
        return tuple(rng.integers(letters, size=int(min(length, most))).tolist())

    random = [word(length) for length in np.linspace(1, _LONGEST, runs).astype(int).tolist()]
    far = [word(length) for length in _MUCH_LONGER] if bounded else []
    short = [rng.integers(letters, size=1 + number // 2).tolist() for number in range(_LOOPS if bounded else 0)]
    loops = [tuple((loop * _LONGEST)[: int(min(_LONGEST, most))]) for loop in short]
    every = math.ceil(products * sum(map(len, random + far + loops)) / _MOST_PRODUCTS)
    if every <= 1:
        return random + far + loops, []
    return random[::-every] + loops[::-every], far


def grows(lengths: IntArray, differences: npt.NDArray[Any]) -> bool:
    """Whether differences are larger on longer words."""
    early = lengths <= _LONGEST // 2
    return bool(differences[~early].max(initial=0.0) > _GROWTH * differences[early].max(initial=0.0))
