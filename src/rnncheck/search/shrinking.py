"""The least word, in shortlex order, that still satisfies a predicate, as far as small steps can find it.

The shrinker knows nothing about networks. It tests the predicate on batches of candidates, each smaller than the
current word, and moves to the least candidate that holds, until none does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

from rnncheck.words import Codes, shortlex_key

Predicate = Callable[[Sequence[Codes]], Iterable[bool]]

# Up to this size every block size is tried.
_EVERY_SIZE = 16
# Trying every block of a word costs the square of its length for each size. In words of more than ``_LONG`` letters,
# blocks of each size are left out only at some places, so that all sizes together test words of about ``_LETTERS``
# letters, and no letter is lowered.
_LONG = 256
_LETTERS = 1 << 19
_WORTH = 0.75  # a long word is tried again only if at most this share of its letters is left
_FEWEST_AT_ONCE, _AT_ONCE = 16, 256  # places that one batch changes, each in a word of its own
# Words up to this length are also changed at two places at once: quadratically many candidates.
_SHORT = 24
_MOST_SHORT_CUTS = 1 << 15  # of each kind
_BATCH, _BATCH_LETTERS = 1 << 13, 1 << 20


def shrink(word: Codes, letters: int, holds: Predicate, *, found: Callable[[Codes], None] = lambda word: None) -> Codes:
    """A word that satisfies ``holds``, at most ``word`` in shortlex order, which no step below improves.

    The steps: leave out a block of letters; lower one letter; and, in short words, leave out or lower one letter while
    another one changes. In long words only some blocks are tried, and no letter is lowered. ``word`` must satisfy
    ``holds``. ``found`` is called with every improvement, so that improvements survive an exception of ``holds``.
    """
    search = _Search(word, holds, found)
    while len(search.best) > _LONG and _shorten_long_word(search):
        pass
    while len(search.best) <= _LONG:
        before = search.best
        for size in _block_sizes(len(search.best)):
            while search.move(_without_block(search.best, size)):
                pass
        _lower_letters(search)
        if search.best == before and not search.move(_short_cuts(search.best, letters)):
            break
    return search.best


class _Search:
    """The best word so far; ``move`` is the only way to a better one."""

    def __init__(self, word: Codes, holds: Predicate, found: Callable[[Codes], None]) -> None:
        self.best = word
        self._holds = holds
        self._found = found
        self._refuted: set[Codes] = set()

    def move(self, candidates: Iterator[Codes]) -> bool:
        """Test the candidates in batches; move to the least that holds in the first batch where any does."""
        most = max(1, min(_BATCH, _BATCH_LETTERS // max(1, len(self.best))))
        while batch := list(itertools.islice(candidates, most)):
            new = [word for word in dict.fromkeys(batch) if word not in self._refuted]
            answers = list(self._holds(new)) if new else []
            good = [word for word, answer in zip(new, answers, strict=True) if answer]
            if len(self.best) <= _LONG:  # long candidates do not recur, and would take much memory
                self._refuted.update(word for word, answer in zip(new, answers, strict=True) if not answer)
            if good:
                self.best = min(good, key=shortlex_key)
                self._found(self.best)
                return True
        return False


def _block_sizes(length: int) -> list[int]:
    """From the whole word down to single letters: a quarter less each time while large, then every size."""
    sizes = []
    size = length
    while size > 0:
        sizes.append(size)
        size = size * 3 // 4 if size > _EVERY_SIZE else size - 1
    return sizes


def _without_block(word: Codes, size: int) -> Iterator[Codes]:
    for start in _starts(word, size, 0):
        yield word[:start] + word[start + size :]


def _starts(word: Codes, size: int, least: int) -> list[int]:
    """Where blocks start, from ``least`` on, that leave different words when removed."""
    # Where the letter before the block is the block's last, the block one place earlier left the same word.
    places = range(least, len(word) - size + 1)
    return [start for start in places if not start or word[start - 1] != word[start + size - 1]]


def _shorten_long_word(search: _Search) -> bool:
    """Leave blocks out of a long word, large ones first, each size once from left to right; whether it got much
    shorter.

    Batches grow while no candidate holds.
    """
    length = len(search.best)
    sizes, at_once = _block_sizes(length), _FEWEST_AT_ONCE
    for size in sizes:
        starts = _starts(search.best, size, 0)
        stride = 1 + len(starts) * (length - size) * len(sizes) // _LETTERS
        while starts and len(search.best) > _LONG:
            word, tried = search.best, starts[: at_once * stride : stride]
            if search.move(word[:start] + word[start + size :] for start in tried):
                starts, at_once = _starts(search.best, size, tried[0]), _FEWEST_AT_ONCE
            else:
                starts, at_once = starts[at_once * stride :], min(2 * at_once, _AT_ONCE)
    return len(search.best) <= _WORTH * length


def _lower_letters(search: _Search) -> None:
    """Lower letters from left to right: an earlier letter counts more than all later ones.

    Candidates of one batch change several positions; batches grow while no candidate holds. The least candidate is the
    one that differs first, so the result is the same as if each position had been tested by itself.
    """
    position, at_once = 0, 1
    while position < len(search.best):
        word, end = search.best, min(position + at_once, len(search.best))
        lowered = ((*word[:i], code, *word[i + 1 :]) for i in range(position, end) for code in range(word[i]))
        if search.move(lowered):
            position = next(i for i, code in enumerate(search.best) if code != word[i]) + 1
            at_once = 1
        else:
            position, at_once = end, min(2 * at_once, _AT_ONCE)


def _short_cuts(word: Codes, letters: int) -> Iterator[Codes]:
    """Two small changes at once: one letter left out or lowered, and another one (a later one) changed."""
    if len(word) > _SHORT:
        return
    # Over many letters there are too many; what is left out would improve the word only a little.
    shorter = (_with_one_change(word[:position] + word[position + 1 :], 0, letters) for position in range(len(word)))
    lower = (
        _with_one_change((*word[:position], code, *word[position + 1 :]), position + 1, letters)
        for position in range(len(word))
        for code in range(word[position])
    )
    for changed in (shorter, lower):
        yield from itertools.islice(itertools.chain.from_iterable(changed), _MOST_SHORT_CUTS)


def _with_one_change(word: Codes, start: int, letters: int) -> Iterator[Codes]:
    """Every word that differs in exactly one letter, at ``start`` or later."""
    for position in range(start, len(word)):
        for code in range(letters):
            if code != word[position]:
                yield (*word[:position], code, *word[position + 1 :])
