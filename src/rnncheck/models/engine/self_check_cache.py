"""Self-checks that were made before, remembered in this process or in the user's cache directory.

A self-check is a function of the network, the engine and the machine: what is remembered is its result, and so nothing
that is decided by it depends on whether it was. Whatever is not as it should be (damaged, written by somebody else, not
to be read, not to be written) is as if it were not there.
"""

from __future__ import annotations

import functools
import os
import platform
import stat
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from threadpoolctl import threadpool_info

from rnncheck.errors import RnncheckError
from rnncheck.models.fingerprint import digest_of
from rnncheck.runtime.files import read_limited, write_atomically
from rnncheck.version import __version__

_MOST_OF_THIS_PROCESS = 10_000  # networks that are trained or repaired come and go
_of_this_process: dict[str, KnownCheck] = {}


class KnownCheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How an engine compared with the reference on random words. ``seal`` is the digest of the rest."""

    schema: Literal["rnncheck/self-check/1"] = "rnncheck/self-check/1"
    key: str
    words: int
    largest_difference: float
    largest_score: float
    seal: str = ""

    def sealed(self) -> KnownCheck:
        numbers = (self.words, self.largest_difference, self.largest_score)
        return msgspec.structs.replace(self, seal=digest_of(self.schema, self.key, *numbers))


def known_check(key: str, on_disk: bool) -> KnownCheck | None:
    """What is remembered under a key; None where nothing is that can be relied on."""
    if not on_disk:
        return _of_this_process.get(key)
    path = _path(key)
    if path is None:
        return None
    try:
        if not nobody_elses(path):
            return None
        known = msgspec.json.decode(read_limited(path, "cache"), type=KnownCheck)
    except (OSError, RnncheckError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return known if known.key == key and known == known.sealed() else None


def remember(check: KnownCheck, on_disk: bool) -> None:
    """Keep a result, if that can be done."""
    if not on_disk:
        if len(_of_this_process) < _MOST_OF_THIS_PROCESS:
            _of_this_process[check.key] = check
        return
    path = _path(check.key)
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, msgspec.json.encode(check.sealed()), mode=0o600)
    except (OSError, RnncheckError):
        return


def key_of(*what: object) -> str:
    """The digest of something on this machine: what its arithmetic depends on belongs to it."""
    return digest_of(*what, *_machine())


@functools.cache
def _machine() -> tuple[str, ...]:
    libraries = sorted(
        f"{part.get('internal_api')} {part.get('version')} {part.get('architecture')}" for part in threadpool_info()
    )
    system = (platform.machine(), platform.system(), *sorted(processor_features()))
    return (__version__, np.__version__, *system, *libraries)


def processor_features() -> frozenset[str]:
    """The instructions that numpy found this processor to have beyond the common ones."""
    return frozenset(np.show_config(mode="dicts")["SIMD Extensions"].get("found", ()))  # left out where it is empty


def nobody_elses(path: Path) -> bool:
    """Whether it is a plain file, or a folder, that nobody else could have written."""
    facts = path.stat()
    alone = not hasattr(os, "getuid") or (facts.st_uid == os.getuid() and not facts.st_mode & 0o022)
    return (stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode)) and alone


def _path(key: str) -> Path | None:
    folder = cache_folder("self-checks")
    return None if folder is None else folder / f"{key}.json"


def cache_folder(name: str) -> Path | None:
    """Where something is kept; None where there is no place."""
    told = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = Path(told) if os.path.isabs(told) else Path.home() / ".cache"
    except RuntimeError:  # nobody's home is known
        return None
    return folder / "rnncheck" / name
