"""Checkpoints: the parts that all kinds of resumable work share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from rnncheck.errors import FormatError, InputError, short_repr
from rnncheck.runtime.files import read_limited, write_atomically

_DIGEST_BYTES = 32


def try_save(save: Callable[[], None]) -> str | None:
    """Write a checkpoint; on failure return a note for the result, and let the work continue."""
    try:
        save()
    except InputError as error:
        return f"{error}; the run continued, but could not have been resumed from there"
    return None


def write_checkpoint(path: Path, content: bytes) -> None:
    """Write it in one step, with its digest: damaged or edited results would look like those of this run."""
    write_atomically(path, content + hashlib.sha256(content).digest())


def read_checkpoint(path: Path) -> bytes:
    """The content; an error names the remedy where the file is missing or not a checkpoint."""
    try:
        written = read_limited(path, "checkpoint")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no checkpoint to resume; leave out --resume to begin") from None
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", str(path)) from None
    content, digest = written[:-_DIGEST_BYTES], written[-_DIGEST_BYTES:]
    if hashlib.sha256(content).digest() != digest:
        raise FormatError("not a checkpoint, or one that was damaged or edited; begin anew without --resume", str(path))
    return content


def check_same_question(
    path: Path, before: Mapping[str, Any], now: Mapping[str, Any], *, may_change: Collection[str] = ()
) -> None:
    """Raise InputError for a checkpoint of another question: its answers would look like this one's."""
    for name in sorted((before.keys() | now.keys()) - set(may_change)):
        if before.get(name) != now.get(name):
            raise InputError(
                f"{path}: the checkpoint is of another question: its {name} is {short_repr(before.get(name))}, "
                f"and {short_repr(now.get(name))} was requested; repeat the same, or begin anew without --resume"
            )
