"""The compiled kernel: ``kernel.c``, compiled on first use and kept in the user's cache directory.

It is optional. The numpy layers do the same work if there is no compiler, on another system or processor than Linux on
x86-64 with AVX2, with ``RNNCHECK_KERNEL=off`` in the environment, and if anything goes wrong.

A library is loaded only from a file and a folder that no other user can write. Its name is a digest of the source, the
flags, the compiler and rnncheck's version. The flags name instructions that this processor has, so a cache shared by
machines has one library for each kind of processor.
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
from rnncheck.models.engine.self_check_cache import cache_folder, only_ours_to_write, processor_features
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
    """A loaded library, identified by ``digest``. ``lanes`` is the number of units side by side in a group."""

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
        """Whether the compiled code computes correct values; some are compared."""
        x = np.linspace(-12, 12, 4097, dtype=np.float32)
        near = np.abs(self.tanh(x) - np.tanh(x.astype(np.float64))) <= _LARGEST_ERROR
        return bool(near.all() and np.isnan(self.tanh(np.array([np.nan], dtype=np.float32))[0]))


def usable_kernel(*, keep: bool) -> Kernel | None:
    """The kernel, if it can be used; unless ``keep``, the user's cache directory is neither read nor written."""
    if os.environ.get(SWITCH, "").lower() == "off":
        return None
    with _compiling:
        return _load(keep)


@functools.cache
def _load(keep: bool) -> Kernel | None:
    instructions, compiler = _instructions(), next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if instructions is None or compiler is None:
        return None
    source = resources.files(__package__).joinpath("kernel.c").read_bytes()
    flags = (*_FLAGS, *instructions)
    try:
        facts = Path(compiler).resolve().stat()
        digest = digest_of(source, flags, compiler, facts.st_size, facts.st_mtime_ns, __version__)
        load = _from_cache if keep else _compile_temporarily
        kernel = load([compiler, *flags], source, digest)
        return kernel if kernel.computes() else None
    except (OSError, AttributeError, subprocess.SubprocessError, RnncheckError):
        return None


def _from_cache(command: list[str], source: bytes, digest: str) -> Kernel:
    """The library in the user's cache, compiled first if it is missing; an OSError if it cannot be trusted."""
    folder = cache_folder("kernels")
    if folder is None:
        raise FileNotFoundError
    path = folder / f"{digest}.so"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(prefix="rnncheck-") as place:
            library = _compile(command, source, Path(place)).read_bytes()
            write_atomically(path, _with_digest(library), mode=0o600)
    handle = os.open(folder, os.O_RDONLY)
    try:
        opened = Path(f"/proc/self/fd/{handle}")  # a folder above it may be writable, and this one replaced
        path = opened / path.name  # the name has the digest, since the loader identifies libraries by their names
        if not (only_ours_to_write(opened) and only_ours_to_write(path)):
            raise PermissionError
        content = read_limited(path, "kernel")
        if content != _with_digest(content[: -hashlib.sha256().digest_size]):
            raise OSError
        return Kernel(path, digest)
    finally:
        os.close(handle)


def _with_digest(library: bytes) -> bytes:
    """The library with its digest appended, where no loader looks: loading a damaged one would end the process."""
    return library + hashlib.sha256(library).digest()


def _compile_temporarily(command: list[str], source: bytes, digest: str) -> Kernel:
    """Compile the library now, and delete the file once it is loaded."""
    with tempfile.TemporaryDirectory(prefix="rnncheck-") as place:
        return Kernel(_compile(command, source, Path(place)), digest)


def _compile(command: list[str], source: bytes, place: Path) -> Path:
    """Compile the library in a folder that is ours alone."""
    made = place / "kernel.so"
    subprocess.run(
        [*command, "-o", str(made), "-x", "c", "-"],
        input=source, check=True, timeout=_SECONDS, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return made


def _instructions() -> tuple[str, ...] | None:
    """The flags for this processor's instructions, as numpy found them; None if the kernel does not support it."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return None
    found = processor_features()
    if found & {"X86_V4", "AVX512_SKX"}:
        return "-march=x86-64-v4", "-mprefer-vector-width=512"
    return ("-march=x86-64-v3",) if "X86_V3" in found or {"AVX2", "FMA3"} <= found else None
