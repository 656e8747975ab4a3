"""Checkpoints: what is the same for every kind of work that can be gone on with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from rnncheck.errors import FormatError, InputError, short_repr
from rnncheck.runtime.files import read_limited, write_atomically

_DIGEST_BYTES = 32


def saved(save: Callable[[], None]) -> str | None:
    """Write a checkpoint; what to note where that fails, by which the work that goes on loses nothing."""
    try:
        save()
    except InputError as error:
        return f"{error}; the run went on, but could not have been resumed from there"
    return None


def write_checkpoint(path: Path, content: bytes) -> None:
    """Write it as a whole, with its digest: results that were damaged or edited would be told as this run's own."""
    write_atomically(path, content + hashlib.sha256(content).digest())


def read_checkpoint(path: Path) -> bytes:
    """What was written; an error says what to do where there is none, or another."""
    try:
        written = read_limited(path, "checkpoint")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no checkpoint to go on from; leave out --resume to begin") from None
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", str(path)) from None
    content, digest = written[:-_DIGEST_BYTES], written[-_DIGEST_BYTES:]
    if hashlib.sha256(content).digest() != digest:
        raise FormatError("not a checkpoint, or one that was damaged or edited; begin anew without --resume", str(path))
    return content


def check_same_question(
    path: Path, before: Mapping[str, Any], now: Mapping[str, Any], *, may_change: Collection[str] = ()
) -> None:
    """Refuse a checkpoint of another question: its answers would be told for this one's."""
    for name in sorted((before.keys() | now.keys()) - set(may_change)):
        if before.get(name) != now.get(name):
            raise InputError(
                f"{path}: the checkpoint is of another question: its {name} is {short_repr(before.get(name))}, "
                f"and {short_repr(now.get(name))} was asked for; ask the same, or begin anew without --resume"
            )
