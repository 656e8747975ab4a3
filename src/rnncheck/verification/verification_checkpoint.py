"""A verification's checkpoint: its question and the journal of the answers so far, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from rnncheck.errors import FormatError, InputError, ModelError
from rnncheck.oracle.journal import Journal
from rnncheck.runtime.budget import Clock
from rnncheck.runtime.checkpoint import check_same_question, read_checkpoint, try_save, write_checkpoint
from rnncheck.runtime.files import check_writable
from rnncheck.verification.question import Question
from rnncheck.version import __version__


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    schema: Literal["rnncheck/checkpoint-of-verify/1"]
    question: dict[str, Any]


class VerificationCheckpoint:
    """A file that is written now and then, always as a whole, and from which the same question can be resumed."""

    def __init__(self, path: str | Path, question: dict[str, Any], *, resume: bool) -> None:
        check_writable(path)
        self._path = Path(path)
        self._header = msgspec.json.encode(_Header("rnncheck/checkpoint-of-verify/1", question))
        self.journal = Journal(self._earlier() if resume else b"", source=str(path))

    def save(self) -> None:
        """Write the answers so far."""
        write_checkpoint(self._path, self._header + b"\n" + self.journal.content())

    def _earlier(self) -> bytes:
        source = str(self._path)
        head, _, journal = read_checkpoint(self._path).partition(b"\n")
        try:
            before = msgspec.json.decode(head, type=_Header).question
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise FormatError(f"not a checkpoint of a verification: {error}", source) from None
        check_same_question(self._path, before, msgspec.json.decode(self._header, type=_Header).question)
        return journal


class CheckpointWriter:
    """Writes a checkpoint now and then. Where that fails the work continues: a full disk costs no verdict."""

    def __init__(self, checkpoint: VerificationCheckpoint, seconds: float, clock: Clock) -> None:
        self.checkpoint = checkpoint
        self._seconds = seconds
        self._clock = clock
        self._saved = clock()

    def save_now_and_then(self) -> None:
        if self._clock() - self._saved >= self._seconds:
            self.save()
            self._saved = self._clock()

    def save(self) -> str | None:
        """Write it. Returns the problem, if there was one."""
        return try_save(self.checkpoint.save)


def checkpoint_writer(question: Question) -> CheckpointWriter | None:
    """The checkpoint writer, if the settings name a file."""
    settings, spec = question.settings, question.spec
    if settings.checkpoint is None:
        if settings.resume:
            raise InputError("there is nothing to resume from; name the checkpoint's file too (--checkpoint)")
        return None
    try:
        model = question.model.fingerprint()
    except ModelError as error:
        raise InputError(f"a run with this model cannot be resumed: {error}; or leave out --checkpoint") from None
    identity = {
        **question.facts(),
        "model": model,
        "alphabet": list(question.model.alphabet),
        "spec": spec.sha256(),
        "method": question.method,
        "relation": question.relation.value,
        "seed": question.seed,
        "version": __version__,
        "known_words": [list(word) for word in settings.known_words],
    }
    checkpoint = VerificationCheckpoint(settings.checkpoint, identity, resume=settings.resume)
    return CheckpointWriter(checkpoint, settings.checkpoint_seconds, settings.clock)
