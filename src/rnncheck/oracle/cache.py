"""Words as short byte strings, and the cache of answers under these keys."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from rnncheck.errors import AlphabetError, short_repr
from rnncheck.words import Alphabet, Codes, WordBatch


class WordKeys:
    """Letter positions as bytes: one byte per letter where the alphabet allows, else two or four.

    Keys sort as the words do, and the key of a concatenation is the concatenation of the keys.
    """

    def __init__(self, alphabet: Alphabet) -> None:
        self._letters = len(alphabet)
        self._dtype = np.dtype("u1" if self._letters <= 1 << 8 else ">u2" if self._letters <= 1 << 16 else ">u4")
        self._valid = bytes(range(min(self._letters, 256)))

    def key(self, codes: Sequence[int]) -> bytes:
        """The key of one word; an AlphabetError names a position outside the alphabet."""
        try:
            if self._dtype.itemsize == 1:
                key = bytes(tuple(codes))
                if not key.translate(None, self._valid):
                    return key
            elif all(0 <= operator.index(code) < self._letters for code in codes):
                return np.array(codes, dtype=self._dtype).tobytes()
        except (TypeError, ValueError):
            pass
        raise AlphabetError(
            f"{short_repr(codes)} is not a word of letter positions; the alphabet has {self._letters} letters, "
            f"0 to {self._letters - 1}"
        )

    def keys(self, words: WordBatch | Iterable[Sequence[int]]) -> list[bytes]:
        """The keys of many words."""
        if not isinstance(words, WordBatch):
            return [self.key(word) for word in words]
        words.check_codes(self._letters)
        data = words.codes.astype(self._dtype).tobytes()
        ends = (words.offsets * self._dtype.itemsize).tolist()
        return [data[start:end] for start, end in itertools.pairwise(ends)]

    def prefixes(self, key: bytes) -> list[bytes]:
        """The keys of a word's prefixes, the first letter's first."""
        size = self._dtype.itemsize
        return [key[:end] for end in range(size, len(key) + 1, size)]

    def letters(self, key: bytes) -> npt.NDArray[np.int32]:
        """The letter positions of a key, or of several joined keys."""
        return np.frombuffer(key, dtype=self._dtype).astype(np.int32)

    def codes(self, key: bytes) -> Codes:
        """The word of a key."""
        return tuple(self.letters(key).tolist())

    def batch(self, keys: Sequence[bytes]) -> WordBatch:
        """The words of many keys."""
        return WordBatch(self.letters(b"".join(keys)), np.append(0, np.cumsum(self.lengths(keys))))

    def lengths(self, keys: Sequence[bytes]) -> npt.NDArray[np.int64]:
        """The numbers of letters of many keys."""
        sizes = np.fromiter(map(len, keys), dtype=np.int64, count=len(keys))
        return sizes // self._dtype.itemsize


class AnswerCache:
    """Answers by key, within a limit on memory.

    There are two generations. When the young one has filled its half of the memory, the old one is dropped and the
    young one takes its place; an answer that is used moves to the young one. So nothing recently used is lost, and
    eviction costs nothing.
    """

    _ENTRY_OVERHEAD = 150  # bytes that Python needs for an entry besides the letters

    def __init__(self, max_bytes: int) -> None:
        self._half = max_bytes // 2
        self._young: dict[bytes, int] = {}
        self._old: dict[bytes, int] = {}
        self._young_bytes = 0

    def __len__(self) -> int:
        """The number of cached answers."""
        return len(self._young) + sum(key not in self._young for key in self._old)

    def get(self, keys: Sequence[bytes]) -> list[int | None]:
        """The answers; None where one is not cached."""
        found = list(map(self._young.get, keys))
        if self._old and None in found:
            again = {
                key: self._old[key]
                for key, answer in zip(keys, found, strict=True)
                if answer is None and key in self._old
            }
            found = [again.get(key) if answer is None else answer for key, answer in zip(keys, found, strict=True)]
            self.put(again)
        return found

    def put(self, answers: Mapping[bytes, int]) -> None:
        """Cache answers."""
        for key, answer in answers.items():
            if key not in self._young:
                self._young_bytes += len(key) + self._ENTRY_OVERHEAD
                if self._young_bytes > self._half:
                    self._old, self._young = self._young, {}
                    self._young_bytes = len(key) + self._ENTRY_OVERHEAD
            self._young[key] = answer
