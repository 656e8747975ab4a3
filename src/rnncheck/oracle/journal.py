"""A record of the model's answers, so that an interrupted run can be repeated without the model up to where it stopped.

A verification is a function of its inputs, its seed and the model's answers. Repeated with the answers from a journal
it takes every decision again, quickly, and then continues with the model as if it had not been interrupted.
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

_HEAD = struct.Struct("<8sQ")  # a digest of the queries, and how many answers follow, one bit each
_MOST_BYTES = 1 << 28


class Journal:
    """Answers in the order of their queries, one record per batch.

    The answers of an earlier run are replayed as long as the queries are the same. When a query differs (another
    version, another memory limit), the rest is dropped and the model is queried: a journal can save time and never
    changes an answer. It stops growing at ``most_bytes``.
    """

    def __init__(self, earlier: bytes = b"", *, source: str = "journal", most_bytes: int = _MOST_BYTES) -> None:
        self._waiting = deque(_records(earlier, source))
        self._written: list[bytes] = []
        self._size = 0
        self._most = most_bytes

    def recall(self, digest: bytes, count: int) -> Mask | None:
        """The answers of the next record, if it is about these queries."""
        if not self._waiting:
            return None
        record = self._waiting.popleft()
        if record[: _HEAD.size] != _HEAD.pack(digest, count):
            self._waiting.clear()
            return None
        self._keep(record)
        bits = np.frombuffer(record, dtype=np.uint8, offset=_HEAD.size)
        return np.unpackbits(bits, count=count).astype(np.bool_)

    def record(self, digest: bytes, answers: Mask) -> None:
        """Add the model's answers."""
        self._keep(_HEAD.pack(digest, len(answers)) + np.packbits(answers).tobytes())

    def _keep(self, record: bytes) -> None:
        # A gap would make everything after it useless, so the first record that does not fit ends the journal.
        self._size += len(record)
        if self._size <= self._most:
            self._written.append(record)

    def content(self) -> bytes:
        """All records, including those that were not replayed yet."""
        return b"".join([*self._written, *self._waiting])


class JournaledBackend(QueryBackend):
    """A query backend that replays answers from a journal, and adds new ones to it."""

    def __init__(self, inner: QueryBackend, journal: Journal, counters: Counters) -> None:
        self._inner = inner
        self._journal = journal
        self._counters = counters

    def split(self, key: bytes) -> Pair:
        return self._inner.split(key)

    def answer(self, pairs: Sequence[Pair], store: Store) -> None:
        words = [prefix + suffix for prefix, suffix in pairs]
        digest = _digest(words)
        known = self._journal.recall(digest, len(words))
        if known is not None:
            store(dict(zip(words, known.tolist(), strict=True)))
            return
        found: dict[bytes, int] = {}

        def collect(answers: Mapping[bytes, int]) -> None:
            found.update(answers)
            store(answers)

        self._inner.answer(pairs, collect)
        self._journal.record(digest, np.array([found[word] for word in words], dtype=np.bool_))

    def prefix_answers(self, words: WordBatch) -> Mask:
        digest = _digest([words.codes.tobytes(), words.offsets.tobytes()])
        known = self._journal.recall(digest, len(words.codes))
        if known is not None:
            self._counters.count_prefixes(words)
            return known
        answers = np.asarray(self._inner.prefix_answers(words), dtype=np.bool_)
        self._journal.record(digest, answers)
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
