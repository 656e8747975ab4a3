"""The compiled kernel: ``kernel.c``, compiled on first use and kept in the user's cache directory.

It is never needed. The numpy layers do the same work where there is no compiler, on another system or processor than
Linux on x86-64 with AVX2, with ``RNNCHECK_KERNEL=off`` in the environment, and where anything goes wrong.

A library is loaded only from a file and a folder that nobody else could have written. Its name is a digest of the
source, the flags, the compiler and rnncheck's version. The flags name instructions that this processor has, so that a
cache that machines share has one library for each kind of them.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import threading
from importlib import resources
from pathlib import Path

import numpy as np

from rnncheck.errors import RnncheckError
from rnncheck.models.engine.self_check_cache import cache_folder, nobody_elses, processor_features
from rnncheck.models.evaluator_assumption import FUNCTION_UNITS, UNIT
from rnncheck.models.fingerprint import digest_of
from rnncheck.runtime.files import read_limited, write_atomically
from rnncheck.version import __version__

SWITCH = "RNNCHECK_KERNEL"
_FLAGS = (
    "-std=gnu11",
    "-O3",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fPIC",
    "-shared",
    "-pthread",
)
_SECONDS = 60.0  # for the compiler, which takes half a second
_LARGEST_ERROR = FUNCTION_UNITS * UNIT  # what proofs assume of any tanh
_compiling = threading.Lock()


class Kernel:
    """A loaded library; ``digest`` says which. ``lanes``: so many units stand side by side in a group."""

    def __init__(self, path: Path, digest: str) -> None:
        library, number, address = ctypes.CDLL(str(path)), ctypes.c_int64, ctypes.c_void_p
        self.digest = digest
        self.step = library.rnncheck_step
        self.step.argtypes = [address, *[number] * 3, *[address] * 5, number, address, address, number, number]
        self.read = library.rnncheck_read
        self.read.argtypes = [address, *[number] * 4, *[address] * 3, number, address, address, number]
        self.step.restype = self.read.restype = None
        self._tanh = library.rnncheck_tanh
        self._tanh.argtypes = [number, address, address]
        self._tanh.restype = None
        library.rnncheck_lanes.restype = number
        self.lanes = int(library.rnncheck_lanes())

    def tanh(self, x: np.ndarray[tuple[int], np.dtype[np.float32]]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        """The kernel's own tanh of some numbers."""
        x = np.ascontiguousarray(x, dtype=np.float32)
        y = np.empty_like(x)
        self._tanh(x.size, x.ctypes.data, y.ctypes.data)
        return y

    def computes(self) -> bool:
        """Whether it was compiled into what was meant: a look at some values."""
        x = np.linspace(-12, 12, 4097, dtype=np.float32)
        near = np.abs(self.tanh(x) - np.tanh(x.astype(np.float64))) <= _LARGEST_ERROR
        return bool(near.all() and np.isnan(self.tanh(np.array([np.nan], dtype=np.float32))[0]))


def usable_kernel(*, keep: bool) -> Kernel | None:
    """The kernel, if there can be one; unless ``keep``, the user's cache directory is neither read nor written."""
    if os.environ.get(SWITCH, "").lower() == "off":
        return None
    with _compiling:
        return _loaded(keep)


@functools.cache
def _loaded(keep: bool) -> Kernel | None:
    instructions, compiler = _instructions(), next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if instructions is None or compiler is None:
        return None
    source = resources.files(__package__).joinpath("kernel.c").read_bytes()
    flags = (*_FLAGS, *instructions)
    try:
        facts = Path(compiler).resolve().stat()
        digest = digest_of(source, flags, compiler, facts.st_size, facts.st_mtime_ns, __version__)
        made = _from_cache if keep else _thrown_away
        found = made([compiler, *flags], source, digest)
        return found if found.computes() else None
    except (OSError, AttributeError, subprocess.SubprocessError, RnncheckError):
        return None


def _from_cache(command: list[str], source: bytes, digest: str) -> Kernel:
    """The library of the user's cache, compiled first if it is not there; an OSError where none can be relied on."""
    folder = cache_folder("kernels")
    if folder is None:
        raise FileNotFoundError
    path = folder / f"{digest}.so"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(prefix="rnncheck-") as place:
            library = _compile(command, source, Path(place)).read_bytes()
            write_atomically(path, _sealed(library), mode=0o600)
    handle = os.open(folder, os.O_RDONLY)
    try:
        opened = Path(f"/proc/self/fd/{handle}")  # who may write above the folder may put another one in its place
        path = opened / path.name  # the digest is in it: the loader takes what has the name of a library for that one
        if not (nobody_elses(opened) and nobody_elses(path)):
            raise PermissionError
        content = read_limited(path, "kernel")
        if content != _sealed(content[: -hashlib.sha256().digest_size]):
            raise OSError
        return Kernel(path, digest)
    finally:
        os.close(handle)


def _sealed(library: bytes) -> bytes:
    """With its own digest at its end, where no loader looks: one that is damaged would end the whole process."""
    return library + hashlib.sha256(library).digest()


def _thrown_away(command: list[str], source: bytes, digest: str) -> Kernel:
    """Compiled now; the file goes when it is loaded."""
    with tempfile.TemporaryDirectory(prefix="rnncheck-") as place:
        return Kernel(_compile(command, source, Path(place)), digest)


def _compile(command: list[str], source: bytes, place: Path) -> Path:
    """The library, in a folder that is ours alone."""
    made = place / "kernel.so"
    subprocess.run(
        [*command, "-o", str(made), "-x", "c", "-"],
        input=source, check=True, timeout=_SECONDS, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return made


def _instructions() -> tuple[str, ...] | None:
    """The flags for this processor's instructions, as numpy found them; None where the kernel is not for it."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return None
    found = processor_features()
    if found & {"X86_V4", "AVX512_SKX"}:
        return "-march=x86-64-v4", "-mprefer-vector-width=512"
    return ("-march=x86-64-v3",) if "X86_V3" in found or {"AVX2", "FMA3"} <= found else None
