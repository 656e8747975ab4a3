"""A record of the model's answers, so that an interrupted run can be repeated up to where it was without the model.

A verification is a function of its inputs, its seed and the model's answers. Repeated with the answers from a journal
it takes every decision again, in no time, and then goes on with the model as if nothing had happened.
"""

from __future__ import annotations

import hashlib
import struct
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.errors import FormatError
from rnncheck.oracle.backends import Pair, QueryBackend, Store
from rnncheck.oracle.counters import Counters
from rnncheck.words import WordBatch

_HEAD = struct.Struct("<8sQ")  # a digest of the questions, and how many answers follow, one bit each
_MOST_BYTES = 1 << 28


class Journal:
    """Answers in the order in which they were asked for, in one record a batch.

    What is read from an earlier run is given out again as long as the same questions are asked. When other questions
    come (another version, a memory limit that forgot something), the rest is dropped and the model is asked: a journal
    can save time and never change an answer. It stops growing at ``most_bytes``.
    """

    def __init__(self, earlier: bytes = b"", *, source: str = "journal", most_bytes: int = _MOST_BYTES) -> None:
        self._waiting = deque(_records(earlier, source))
        self._written: list[bytes] = []
        self._size = 0
        self._most = most_bytes

    def recall(self, digest: bytes, count: int) -> Mask | None:
        """The answers of the next record, if it is about these questions."""
        if not self._waiting:
            return None
        record = self._waiting.popleft()
        if record[: _HEAD.size] != _HEAD.pack(digest, count):
            self._waiting.clear()
            return None
        self._keep(record)
        bits = np.frombuffer(record, dtype=np.uint8, offset=_HEAD.size)
        return np.unpackbits(bits, count=count).astype(np.bool_)

    def note(self, digest: bytes, answers: Mask) -> None:
        """Write down what the model said."""
        self._keep(_HEAD.pack(digest, len(answers)) + np.packbits(answers).tobytes())

    def _keep(self, record: bytes) -> None:
        # A gap would make everything after it useless, so the first record that does not fit ends the journal.
        self._size += len(record)
        if self._size <= self._most:
            self._written.append(record)

    def content(self) -> bytes:
        """All records, those that were not yet asked for again included."""
        return b"".join([*self._written, *self._waiting])


class JournaledBackend(QueryBackend):
    """A query backend that looks answers up in a journal first, and writes down those that are new."""

    def __init__(self, inner: QueryBackend, journal: Journal, counters: Counters) -> None:
        self._inner = inner
        self._journal = journal
        self._counters = counters

    def split(self, key: bytes) -> Pair:
        return self._inner.split(key)

    def answer(self, pairs: Sequence[Pair], store: Store) -> None:
        words = [beginning + rest for beginning, rest in pairs]
        digest = _digest(words)
        known = self._journal.recall(digest, len(words))
        if known is not None:
            store(dict(zip(words, known.tolist(), strict=True)))
            return
        found: dict[bytes, int] = {}

        def keep(answers: Mapping[bytes, int]) -> None:
            found.update(answers)
            store(answers)

        self._inner.answer(pairs, keep)
        self._journal.note(digest, np.array([found[word] for word in words], dtype=np.bool_))

    def prefix_answers(self, words: WordBatch) -> Mask:
        digest = _digest([words.codes.tobytes(), words.offsets.tobytes()])
        known = self._journal.recall(digest, len(words.codes))
        if known is not None:
            self._counters.count_prefixes(words)
            return known
        answers = np.asarray(self._inner.prefix_answers(words), dtype=np.bool_)
        self._journal.note(digest, answers)
        return answers


def _digest(parts: Iterable[bytes]) -> bytes:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def _records(content: bytes, source: str) -> list[bytes]:
    found, at = [], 0
    while at < len(content):
        if at + _HEAD.size > len(content):
            raise FormatError("the journal ends in the middle of a record", source)
        _, count = _HEAD.unpack_from(content, at)
        end = at + _HEAD.size + (count + 7) // 8
        if end > len(content):
            raise FormatError("the journal ends in the middle of a record", source)
        found.append(content[at:end])
        at = end
    return found
