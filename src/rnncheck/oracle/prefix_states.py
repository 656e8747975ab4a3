"""States after prefixes, stored within a memory limit, and the walk that computes each new prefix once."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence

import numpy as np

from rnncheck.models.protocol import Letters, States, SteppingModel, Tick
from rnncheck.words import IntArray

_KEY_OVERHEAD = 250  # bytes that Python needs for a key and its place, besides the letters
_FIRST_SLOTS = 64


class PrefixStates:
    """The states after some words; when memory is full, the least recently used ones are evicted.

    Words are given as bytes. ``max_bytes`` bounds everything that is stored.
    """

    def __init__(self, model: SteppingModel, max_bytes: int) -> None:
        one = model.initial(1)
        self._max_bytes = max_bytes
        self._row_bytes = max(1, one.nbytes)
        self._table = np.empty((0, *one.shape[1:]), dtype=one.dtype)
        self._slots: OrderedDict[bytes, int] = OrderedDict()
        self._free: list[int] = []
        self._key_bytes = 0
        self._lengths: Counter[int] = Counter()  # of the stored words, so that a search tries no other lengths
        self._longest_first: list[int] = []

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, key: bytes) -> bool:
        return key in self._slots

    @property
    def bytes_used(self) -> int:
        return self._table.nbytes + self._key_bytes

    def longest_prefix(self, key: bytes) -> bytes:
        """The longest prefix of a word (or the word itself) whose state is stored; empty if there is none."""
        slots = self._slots
        for length in self._longest_first:
            if length <= len(key) and key[:length] in slots:
                return key[:length]
        return b""

    def get(self, keys: Sequence[bytes]) -> States:
        """The states of stored words; they become the most recently used."""
        for key in keys:
            self._slots.move_to_end(key)
        return np.take(self._table, [self._slots[key] for key in keys], axis=0)

    def put(self, keys: Sequence[bytes], states: States) -> None:
        """Store these states too, as far as there is room; ``keys`` are distinct."""
        kept = []
        for row, key in enumerate(keys):
            if key not in self._slots and not self._make_room(key):
                continue
            kept.append((self._slots[key], row))
            self._slots.move_to_end(key)
        if kept:
            slots, rows = np.array(kept).T
            # A slot may have been reused within this call: it belongs to the last word that got it.
            self._table[slots] = states[rows]

    def _make_room(self, key: bytes) -> bool:
        """Give the word a slot, evicting others where necessary; False where it does not fit at all."""
        needed = len(key) + _KEY_OVERHEAD
        if not self._free:
            self._grow()
        while self._slots and (not self._free or self.bytes_used + needed > self._max_bytes):
            self._evict_oldest()
        if not self._free or self.bytes_used + needed > self._max_bytes:
            return False
        self._slots[key] = self._free.pop()
        self._key_bytes += needed
        self._lengths[len(key)] += 1
        if self._lengths[len(key)] == 1:
            self._longest_first = sorted(self._lengths, reverse=True)
        return True

    def _evict_oldest(self) -> None:
        key, slot = self._slots.popitem(last=False)
        self._free.append(slot)
        self._key_bytes -= len(key) + _KEY_OVERHEAD
        self._lengths[len(key)] -= 1
        if not self._lengths[len(key)]:
            del self._lengths[len(key)]
            self._longest_first = sorted(self._lengths, reverse=True)

    def _grow(self) -> None:
        """Double the table, as far as memory allows."""
        old = len(self._table)
        new = min(max(_FIRST_SLOTS, 2 * old), self._max_bytes // (self._row_bytes + _KEY_OVERHEAD))
        if new > old:
            # In place, so that the old and the new table do not exist at once; nothing else has a view of it.
            self._table.resize((new, *self._table.shape[1:]), refcheck=False)
            self._free = list(range(new - 1, old - 1, -1))


def walk(
    model: SteppingModel,
    states: States,
    row_state: IntArray,
    letters: Letters,
    starts: IntArray,
    lengths: IntArray,
    tick: Tick,
) -> Iterator[tuple[IntArray, States, IntArray]]:
    """Continue from states by words, all in step, each distinct continuation once.

    Row ``i`` begins in ``states[row_state[i]]`` and reads ``letters[starts[i] : starts[i] + lengths[i]]``. Rows must
    be sorted by ``row_state`` and then by their letters, so that rows with a common prefix are neighbours. Yields
    the rows that have just ended, the current states, and which of these each ended row is in.
    """
    rows = np.arange(len(lengths))
    at = row_state
    length = 0
    while len(rows):
        ended = lengths[rows] == length
        if ended.any():
            yield rows[ended], states, at[ended]
            rows, at = rows[~ended], at[~ended]
            if not len(rows):
                return
        read = letters[starts[rows] + length]
        is_new = np.ones(len(rows), dtype=np.bool_)
        is_new[1:] = (at[1:] != at[:-1]) | (read[1:] != read[:-1])
        tick(int(np.count_nonzero(is_new)))
        states = model.step(states, read[is_new], at[is_new])
        at = np.cumsum(is_new) - 1
        length += 1
