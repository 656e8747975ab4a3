"""Checks that are kept while a run goes on, so that another run need not do them again."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from rnncheck.errors import FormatError
from rnncheck.runtime.checkpoint import read_checkpoint, write_checkpoint
from rnncheck.runtime.files import check_writable
from rnncheck.suite.check_results import Check
from rnncheck.verdict.value import AnyVerdict, check_parts, decode_part, encode_part


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    schema: Literal["rnncheck/checkpoint-of-check/1"]
    checks: list[Check]


class SuiteCheckpoint:
    """A file with the checks so far, always as a whole; fingerprints show what has changed since."""

    def __init__(self, path: str | Path, *, resume: bool) -> None:
        check_writable(path)
        self._path = Path(path)
        self._document = _Document("rnncheck/checkpoint-of-check/1", [])
        if resume:
            self._document = self._read()

    def earlier(self) -> dict[str, AnyVerdict]:
        """The verdicts so far, by their fingerprint."""
        return {
            check.fingerprint: check.verdict
            for check in self._document.checks
            if check.fingerprint is not None and check.verdict is not None
        }

    def save(self, check: Check | None = None) -> None:
        """Write the file, with this check too, unless it would have to be done again anyway."""
        known = {None, *(old.fingerprint for old in self._document.checks)}
        if check is not None and check.fingerprint not in known:
            self._document.checks.append(check)
        write_checkpoint(self._path, msgspec.json.encode(self._document, enc_hook=encode_part))

    def _read(self) -> _Document:
        source = str(self._path)
        try:
            document = msgspec.json.decode(read_checkpoint(self._path), type=_Document, dec_hook=decode_part)
            for check in document.checks:
                if check.verdict is not None:
                    check_parts(check.verdict)
            return document
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise FormatError(f"not a checkpoint of check: {error}; start again without --resume", source) from None
