"""Read the arrays of a PyTorch ``.pt`` or ``.pth`` file without running anything that is in it.

Such a file is a pickle, which can name any function to call. PyTorch's ``weights_only=True`` allows only tensors; it is
always passed explicitly, so no environment variable can turn it off. Sizes are checked before and after, since both a
zip archive and a tensor can claim to be far larger than the file.
"""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from rnncheck.errors import MissingExtraError, ModelError, short_repr
from rnncheck.models.files.safetensors_file import check_is_file, name_in_errors

DEFAULT_LIMIT = 2 << 30  # bytes, unpacked
_LARGEST_RATIO = 16  # PyTorch stores without compression; this leaves room for files that were packed again
_FIRST_SAFE = (2, 6)  # before it, weights_only could be circumvented (CVE-2025-32434)
_LONGEST_NAME = 2000  # characters without a space
_ARCHIVE = b"PK\x03\x04"
_PICKLES_BEFORE_NUMBERS = 5  # a mark, the version, the machine, the tensors and where their numbers are
_USUAL_KEYS = ("state_dict", "model_state_dict", "model")


def read_torch_file(path: str | os.PathLike[str], *, limit: int = DEFAULT_LIMIT) -> Mapping[str, npt.NDArray[Any]]:
    """The named arrays of a state dictionary, or of the one inside a checkpoint.

    A ModelError if the file holds anything but plain data, or more than ``limit`` bytes of it.
    """
    path = Path(path)
    with name_in_errors(path):
        check_is_file(path)
        check_size(path, limit)
        torch = import_torch("reading a PyTorch file")
        if is_script_archive(path):
            raise ModelError(
                "is TorchScript, a program; if you trust it, run it with torchscript=True (--torchscript); else save "
                "its state_dict()"
            )
        _check_names(path)
        tensors = _state_dict_in(_load(torch, path), torch)
        return {name: _as_array(torch, name, tensor) for name, tensor in tensors.items()}


def import_torch(purpose: str) -> ModuleType:
    """PyTorch, or an error that names the extra that installs it."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError(purpose, "torch") from None
    version = re.match(r"(\d+)\.(\d+)", torch.__version__)
    if version and (int(version[1]), int(version[2])) < _FIRST_SAFE:
        raise ModelError(f"PyTorch {torch.__version__} cannot read files safely; install 2.6 or newer")
    module: ModuleType = torch
    return module


def is_script_archive(path: Path) -> bool:
    """Whether a file was written by torch.jit.save: an archive with code in it."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any("/code/" in name and name.endswith(".py") for name in archive.namelist())


def check_size(path: Path, limit: int = DEFAULT_LIMIT) -> None:
    """Raise a ModelError for a file that would unpack to more than the limit, or to far more than its size."""
    packed = path.stat().st_size
    unpacked = packed
    try:
        if zipfile.is_zipfile(path):  # raises on an archive that claims to be one of several
            with zipfile.ZipFile(path) as archive:
                unpacked = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ModelError(f"is a damaged archive ({error}); copy or save it again") from None
    if unpacked > limit:
        raise ModelError(f"would unpack to {unpacked} bytes, more than the limit of {limit}")
    if unpacked > _LARGEST_RATIO * max(packed, 4096):
        raise ModelError(
            f"would unpack from {packed} to {unpacked} bytes, which no saved model does; "
            "it looks made to exhaust the memory"
        )


def _check_names(path: Path) -> None:
    """Raise an error for names that no saved model has: PyTorch takes hours to report one of a million letters.

    The opcodes are only listed, which runs nothing.
    """
    try:
        for stream in _pickles(path):
            for _, argument, _ in pickletools.genops(stream):
                if isinstance(argument, str | bytes) and len(argument) > _LONGEST_NAME:
                    _check_name(argument if isinstance(argument, str) else argument.decode("latin-1"))
    except ModelError:
        raise
    except Exception as error:  # zipfile and pickletools raise nearly anything on a damaged file
        raise ModelError(
            f"is not a PyTorch file of plain arrays ({short_repr(str(error) or type(error).__name__, 120)}); "
            "save model.state_dict() again"
        ) from None


def _pickles(path: Path) -> Iterator[IO[bytes]]:
    """The beginning of each pickle of a file, which is an archive or a series of pickles followed by numbers."""
    with path.open("rb") as file:
        if file.read(len(_ARCHIVE)) == _ARCHIVE:
            with zipfile.ZipFile(file) as archive:
                for entry in archive.infolist():
                    if entry.filename.endswith(".pkl"):
                        yield io.BytesIO(archive.read(entry))
            return
        file.seek(0)
        for _ in range(_PICKLES_BEFORE_NUMBERS):
            yield file


def _check_name(name: str) -> None:
    longest = max(map(len, name.split()), default=0)
    if longest > _LONGEST_NAME:
        raise ModelError(f"holds a name of {longest} characters, which no saved model does; save model.state_dict()")


def _load(torch: ModuleType, path: Path) -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old files use old storage classes; their owner cannot change that now
            content: object = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        cause = str(error).splitlines()
        raise ModelError(
            "holds more than plain arrays, and reading the rest would run code from the file, so it was not read "
            f"({short_repr(_offender(cause), 120)}); save model.state_dict(), or a safetensors file, instead"
        ) from None
    except Exception as error:  # a damaged file can fail anywhere inside the reader
        raise ModelError(
            f"is not a PyTorch file of plain arrays ({type(error).__name__}: {short_repr(str(error).strip(), 120)}); "
            "save model.state_dict() again"
        ) from None
    return content


def _offender(lines: list[str]) -> str:
    """The line of PyTorch's long message that names the forbidden object."""
    for line in lines:
        if "Unsupported" in line or "GLOBAL" in line or "WeightsUnpickler error" in line:
            return line.strip()
    return lines[0] if lines else "no details"


def _state_dict_in(content: object, torch: ModuleType) -> Mapping[str, Any]:
    """The content itself, or the one entry of a checkpoint, that maps names to tensors."""
    if _is_state_dict(content, torch):
        return content  # type: ignore[return-value]
    entries = content if isinstance(content, Mapping) else {}
    inside = {key: value for key, value in entries.items() if _is_state_dict(value, torch)}
    if len(inside) > 1:
        inside = {key: value for key, value in inside.items() if key in _USUAL_KEYS}
    if len(inside) == 1:
        found: Mapping[str, Any] = next(iter(inside.values()))
        return found
    what = f"a dictionary with {short_repr(list(entries))}" if entries else f"a {type(content).__name__}"
    raise ModelError(f"holds {what}, not a dictionary from names to tensors; save model.state_dict()")


def _is_state_dict(content: object, torch: ModuleType) -> bool:
    return (
        isinstance(content, Mapping)
        and len(content) > 0
        and all(isinstance(key, str) and isinstance(value, torch.Tensor) for key, value in content.items())
    )


def _as_array(torch: ModuleType, name: str, tensor: Any) -> npt.NDArray[Any]:
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.device.type != "cpu":
        raise ModelError(f"tensor {short_repr(name)} is sparse, quantised or empty of data; save plain float32 tensors")
    if not tensor.is_floating_point():
        raise ModelError(f"tensor {short_repr(name)} holds {tensor.dtype}; weights are floating-point numbers")
    if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise ModelError(f"tensor {short_repr(name)} claims the shape {tuple(tensor.shape)}, but has fewer numbers")
    plain = tensor.detach() if tensor.dtype in (torch.float32, torch.float64) else tensor.detach().to(torch.float32)
    return np.ascontiguousarray(plain.numpy())
