"""Writing files so that nothing is lost: the old file stays until the new one is whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from rnncheck.errors import InputError


def write_atomically(path: str | Path, data: bytes | str) -> None:
    """Replace a file's content in one step; where that fails, the old file is as it was and the error says why."""
    target = Path(path)
    content = data.encode("utf-8") if isinstance(data, str) else data
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise _failure(target, error) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise _failure(target, error) from None
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The permissions that the file has, or that an ordinary new file would get."""
    try:
        return target.stat().st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _failure(target: Path, error: OSError) -> InputError:
    return InputError(f"{target}: cannot be written: {error.strerror or error}; nothing was changed")
