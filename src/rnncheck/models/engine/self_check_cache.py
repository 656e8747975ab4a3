"""A cache of self-checks, in this process or in the user's cache directory.

A self-check is a function of the network, the engine and the machine, so nothing depends on whether its result came
from the cache. An entry that cannot be trusted or used (damaged, writable by another user, unreadable, not writable)
is ignored.
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

_MOST_OF_THIS_PROCESS = 10_000  # training and repair make many networks
_of_this_process: dict[str, CachedCheck] = {}


class CachedCheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The result of comparing an engine with the reference on random words. ``seal`` is the digest of the rest."""

    schema: Literal["rnncheck/self-check/1"] = "rnncheck/self-check/1"
    key: str
    words: int
    largest_difference: float
    largest_score: float
    seal: str = ""

    def with_seal(self) -> CachedCheck:
        numbers = (self.words, self.largest_difference, self.largest_score)
        return msgspec.structs.replace(self, seal=digest_of(self.schema, self.key, *numbers))


def cached_check(key: str, on_disk: bool) -> CachedCheck | None:
    """The result stored under a key; None if there is none that can be trusted."""
    if not on_disk:
        return _of_this_process.get(key)
    path = _path(key)
    if path is None:
        return None
    try:
        if not only_ours_to_write(path):
            return None
        known = msgspec.json.decode(read_limited(path, "cache"), type=CachedCheck)
    except (OSError, RnncheckError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return known if known.key == key and known == known.with_seal() else None


def store_check(check: CachedCheck, on_disk: bool) -> None:
    """Store a result, if possible."""
    if not on_disk:
        if len(_of_this_process) < _MOST_OF_THIS_PROCESS:
            _of_this_process[check.key] = check
        return
    path = _path(check.key)
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, msgspec.json.encode(check.with_seal()), mode=0o600)
    except (OSError, RnncheckError):
        return


def key_of(*what: object) -> str:
    """A digest of values and of everything that this machine's arithmetic depends on."""
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


def only_ours_to_write(path: Path) -> bool:
    """Whether this is a plain file or a folder that no other user can write."""
    facts = path.stat()
    alone = not hasattr(os, "getuid") or (facts.st_uid == os.getuid() and not facts.st_mode & 0o022)
    return (stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode)) and alone


def _path(key: str) -> Path | None:
    folder = cache_folder("self-checks")
    return None if folder is None else folder / f"{key}.json"


def cache_folder(name: str) -> Path | None:
    """The folder of a cache; None if there is no home directory."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = Path(configured) if os.path.isabs(configured) else Path.home() / ".cache"
    except RuntimeError:  # the home directory is unknown
        return None
    return folder / "rnncheck" / name
