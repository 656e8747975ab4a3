"""Inputs that are nearly right: valid ones with something changed in them, by bytes, by tokens or by structure."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

LARGEST = 10_000  # bytes; the promise about time is made for inputs below this

NUMBERS = [
    *(b"0", b"1", b"-1", b"2", b"7", b"255", b"256", b"65536", b"2147483647", b"2147483648", b"4294967296"),
    *(b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"-9223372036854775809"),
    *(b"1e999", b"-0.0", b"1e-400", b"0.1", b"NaN", b"Infinity", b"1" * 30, b"9" * 5000),
]
ODD_TEXT = [
    *(b"", b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\r\n", b"\x85", b"\t"),
    *("ε".encode(), "é".encode(), "\U0001f600".encode(), b"\\", b"\\u{110000}", b"\\ud800", b"'", b'"', b"../x", b"%s"),
]
ODD_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 3, 10**6, 2**31, 2**63 - 1, 2**64, 10**40, 0.5, -0.0, 1e308, 5e-324),
    *("", "a", "\x00", "ε", "../../x", "x" * 300, [], {}, [None], [[]], {"": 0}, ["a", "a"], [0] * 50, "nan"),
]


class Mutator:
    """Changes inputs of one kind. ``tokens`` are pieces that mean something in it."""

    def __init__(self, corpus: Sequence[bytes], tokens: Sequence[bytes], rng: random.Random) -> None:
        self._corpus = list(corpus)
        self._tokens = [*tokens, *NUMBERS, *ODD_TEXT]
        self._own = list(tokens) or ODD_TEXT
        self._rng = rng
        self._steps: list[Callable[[bytearray], None]] = [
            self._flip, self._set, self._delete, self._repeat, self._token, self._token, self._token, self._splice,
            self._swap, self._cut, self._nest, self._number,
        ]  # fmt: skip

    def input(self) -> bytes:
        """A new input: mostly a changed valid one, now and then tokens in any order, or noise."""
        rng, kind = self._rng, self._rng.random()
        if kind < 0.02:
            return rng.randbytes(rng.randrange(200))
        if kind < 0.12:
            separator = rng.choice([b"", b" ", b" ", b"\n"])
            return separator.join(rng.choices(self._own, k=rng.randrange(1, 30)))[:LARGEST]
        return self.changed(rng.choice(self._corpus))

    def changed(self, data: bytes) -> bytes:
        out = bytearray(data)
        for _ in range(self._rng.choice((1, 1, 1, 2, 3, 6))):
            self._rng.choice(self._steps)(out)
        return bytes(out[:LARGEST])

    def _place(self, data: bytearray) -> int:
        return self._rng.randrange(len(data) + 1)

    def _range(self, data: bytearray) -> tuple[int, int]:
        start = self._place(data)
        return start, min(len(data), start + self._rng.choice((1, 1, 2, 4, 8, 30, 200)))

    def _flip(self, data: bytearray) -> None:
        if data:
            data[self._rng.randrange(len(data))] ^= 1 << self._rng.randrange(8)

    def _set(self, data: bytearray) -> None:
        if data:
            data[self._rng.randrange(len(data))] = self._rng.randrange(256)

    def _delete(self, data: bytearray) -> None:
        start, end = self._range(data)
        del data[start:end]

    def _repeat(self, data: bytearray) -> None:
        start, end = self._range(data)
        times = self._rng.choice((1, 2, 5, 100))
        data[start:start] = (bytes(data[start:end]) * times)[:LARGEST]

    def _token(self, data: bytearray) -> None:
        at = self._place(data)
        end = self._range(data)[1] if self._rng.random() < 0.4 else at
        data[at : max(at, end)] = self._rng.choice(self._own if self._rng.random() < 0.8 else self._tokens)

    def _splice(self, data: bytearray) -> None:
        other = self._rng.choice(self._corpus)
        start = self._rng.randrange(len(other) + 1)
        data[self._place(data) :] = other[start:]

    def _swap(self, data: bytearray) -> None:
        start, end = self._range(data)
        piece = bytes(data[start:end])
        del data[start:end]
        at = self._place(data)
        data[at:at] = piece

    def _cut(self, data: bytearray) -> None:
        del data[self._place(data) :]

    def _nest(self, data: bytearray) -> None:
        """Wrap the end or the whole in many copies of one token."""
        token = self._rng.choice(self._own)
        at = 0 if self._rng.random() < 0.5 else self._place(data)
        data[at:at] = (token * self._rng.choice((3, 30, 300, 3000)))[:LARGEST]

    def _number(self, data: bytearray) -> None:
        digits = [at for at, byte in enumerate(data) if 48 <= byte <= 57]
        if digits:
            at = self._rng.choice(digits)
            data[at : at + 1] = self._rng.choice(NUMBERS)


class JsonMutator(Mutator):
    """Half of the time a value somewhere in a valid document is replaced, left out or moved; else bytes change."""

    def changed(self, data: bytes) -> bytes:
        if self._rng.random() < 0.5:
            return super().changed(data)
        document = json.loads(data)
        for _ in range(self._rng.choice((1, 1, 2, 3))):
            document = self.value_changed(document)
        return json.dumps(document, ensure_ascii=self._rng.random() < 0.9).encode("utf-8", "surrogatepass")[:LARGEST]

    def value_changed(self, document: Any) -> Any:
        """The document with one value changed, at any depth."""
        rng = self._rng
        if not isinstance(document, dict | list) or not document or rng.random() < 0.1:
            return rng.choice(ODD_VALUES)
        keys = list(document) if isinstance(document, dict) else list(range(len(document)))
        key = rng.choice(keys)
        copy: Any = dict(document) if isinstance(document, dict) else list(document)
        kind = rng.random()
        if kind < 0.1:
            del copy[key]
        elif kind < 0.2:
            copy[key] = copy[rng.choice(keys)]
        elif kind < 0.25 and isinstance(copy, dict):
            copy[rng.choice(["", "x", "schema", "a" * 200])] = rng.choice(ODD_VALUES)
        elif kind < 0.3 and isinstance(copy, list):
            copy *= rng.choice((0, 2, 20))
        else:
            copy[key] = self.value_changed(copy[key])
        return copy


class SafetensorsMutator(JsonMutator):
    """The header is JSON behind its length, and may itself carry a document."""

    def changed(self, data: bytes) -> bytes:
        if self._rng.random() < 0.3:
            return Mutator.changed(self, data)
        size = struct.unpack("<Q", data[:8])[0]
        header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
        metadata = header.get("__metadata__", {})
        if metadata and self._rng.random() < 0.5:
            name = self._rng.choice(list(metadata))
            metadata[name] = json.dumps(self.value_changed(json.loads(metadata[name])))
        else:
            header = self.value_changed(header)
        text = json.dumps(header).encode("utf-8", "surrogatepass")
        length = len(text) if self._rng.random() < 0.95 else self._rng.choice((0, 2**63, len(text) + 1))
        return struct.pack("<Q", length) + text + body
