"""Locks on open files, which the system releases when the process ends in any way.

They use flock, or msvcrt on Windows. A system with neither has no locks: two runs in one folder go unnoticed there.
"""

from __future__ import annotations

import errno
import importlib
import os
from typing import Any


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


_fcntl, _msvcrt = _module("fcntl"), _module("msvcrt")

# Windows cannot rename or remove an open file, so a file must be closed, and its lock released, first.
HELD_TO_THE_END = _fcntl is not None


def lock(handle: int) -> bool:
    """Lock a file at once; False where another process has it. An OSError says that it cannot be locked."""
    try:
        if _fcntl is not None:
            _fcntl.flock(handle, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        elif _msvcrt is not None:
            os.lseek(handle, 0, os.SEEK_SET)
            _msvcrt.locking(handle, _msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True
