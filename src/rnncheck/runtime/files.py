"""Writing files without loss (the old file stays until the new one is complete), and reading them up to a size."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
import tempfile
from pathlib import Path

from rnncheck.errors import FormatError, InputError
from rnncheck.runtime import locks

_PREFIX, _SUFFIX = ".rnncheck-", ".part"
# The largest size of each kind of file, in bytes: far above real files, far below the memory.
MOST_BYTES = {
    "automaton": 1 << 30,
    "edits": 1 << 20,
    "properties": 1 << 24,
    "verdict": 1 << 28,
    "checkpoint": 1 << 30,
    "text": 1 << 30,
    "cache": 1 << 16,
    "kernel": 1 << 24,
    "model": 1 << 32,
}


def read_limited(path: str | Path, kind: str) -> bytes:
    """The content of a file; a FormatError where it is too large for its kind. The caller handles OSError."""
    check_size(path, kind)
    with open(path, "rb") as file:
        content = file.read(MOST_BYTES[kind] + 1)  # a device has no size, and may never end
    if len(content) > MOST_BYTES[kind]:
        raise _too_large(path, kind)
    return content


def check_size(path: str | Path, kind: str) -> None:
    """Raise FormatError where a file is too large for its kind."""
    if os.stat(path).st_size > MOST_BYTES[kind]:
        raise _too_large(path, kind)


def _too_large(path: str | Path, kind: str) -> FormatError:
    mib = MOST_BYTES[kind] / (1 << 20)
    return FormatError(f"larger than {mib:g} MiB, the limit for a {kind} file; is it one?", str(path))


def write_atomically(path: str | Path, data: bytes | str, *, mode: int | None = None) -> None:
    """Replace a file's content in one step; where that fails, the old file is as it was and the error says why.

    It keeps its permissions unless ``mode`` is given. A link stays, and its target is replaced. A device or a pipe is
    written to directly.
    """
    target = Path(path)
    content = data.encode("utf-8") if isinstance(data, str) else data
    try:
        if keeps_nothing(target):
            with target.open("wb") as device:
                device.write(content)
            return
        file = Path(os.path.realpath(target))
        _remove_leftovers_once(file.parent)
        handle, temporary = _locked_part(file.parent)
    except OSError as error:
        raise _failure(target, error) from None
    try:
        with os.fdopen(handle, "wb") as part:
            part.write(content)
            part.flush()
            os.fsync(part.fileno())
            os.chmod(temporary, _mode(file) if mode is None else mode)
            if locks.HELD_TO_THE_END:
                os.replace(temporary, file)
        if not locks.HELD_TO_THE_END:
            os.replace(temporary, file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _failure(target, error) from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_writable(path: str | Path) -> None:
    """Raise InputError where a file cannot be written: before hours of work, not after them."""
    target = Path(path)
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if keeps_nothing(target):  # opening a pipe would wait for its reader, or wake the reader
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        handle, temporary = _locked_part(Path(os.path.realpath(target)).parent)
    except OSError as error:
        raise _failure(target, error) from None
    os.close(handle)
    temporary.unlink(missing_ok=True)


def keeps_nothing(path: Path) -> bool:
    """Whether the path is a device or a pipe."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def remove_leftovers(folder: Path) -> None:
    """Remove the partial files of killed processes; those of running processes are locked, and stay.

    Where a lock does not last until the file has its name (Windows), the two cannot be distinguished, and all stay.
    """
    if not locks.HELD_TO_THE_END:
        return
    for part in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            handle = os.open(part, os.O_RDWR)
            try:
                if locks.lock(handle):
                    part.unlink()
            finally:
                os.close(handle)


@functools.lru_cache(maxsize=1024)
def _remove_leftovers_once(folder: Path) -> None:
    """Once per folder and process: listing a large folder at every write would be expensive."""
    remove_leftovers(folder)


def _locked_part(folder: Path) -> tuple[int, Path]:
    while True:
        handle, name = tempfile.mkstemp(dir=folder, prefix=_PREFIX, suffix=_SUFFIX)
        ours = True
        with contextlib.suppress(OSError):  # some network drives have no locks; there leftovers stay
            ours = locks.lock(handle)
        if ours and os.fstat(handle).st_nlink:
            return handle, Path(name)
        os.close(handle)  # another process took the new file for a leftover before it was locked


def _mode(target: Path) -> int:
    """The permissions of the file, or of an ordinary new file."""
    try:
        return target.stat().st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _failure(target: Path, error: OSError) -> InputError:
    why: object = error.strerror or error
    if isinstance(error, FileNotFoundError):  # /proc is a folder, and accepts no new files
        why = "its folder accepts no new files" if target.parent.is_dir() else f"there is no folder {target.parent}"
    return InputError(f"{target}: cannot be written: {why}; nothing was changed")
