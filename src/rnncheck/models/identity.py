"""One digest of everything that a model's answers depend on: numbers, decisions, and the code that is run.

Data is digested by value. Functions and classes of the user's own are digested by their compiled code, with the values
and functions that the code names, and so on from there. What belongs to a library is known by its name and version.
What none of this can be said of (an open file, a running generator, code that reads files as it answers) has no digest,
and the error says so. Our own objects that have an ``identity`` speak for themselves.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import sys
import sysconfig
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rnncheck.errors import ModelError, short_repr

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), range)
# Code that names these may answer differently without having changed.
_UNKNOWABLE = {
    *("open", "exec", "eval", "compile", "input", "__import__", "globals", "locals", "vars", "modules", "environ"),
    *("getenv", "popen", "system", "subprocess", "read_text", "read_bytes", "load", "loadtxt", "genfromtxt"),
    *("fromfile", "memmap", "urlopen"),
}
_OF_EVERY_CLASS = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__firstlineno__"}
_LIBRARIES = tuple(
    {str(Path(sysconfig.get_paths()[name]).resolve()) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {str(Path(folder).resolve()) for folder in sys.path if Path(folder).name in ("site-packages", "dist-packages")}
)


def digest_of(*values: object) -> str:
    """The digest of some values together; a ModelError names what has none."""
    walk = _Walk()
    try:
        for value in values:
            walk.add(value)
    except RecursionError:
        raise _without_digest("something that contains itself") from None
    return walk.digest.hexdigest()


_BUILT_IN = (str, bytes, int, float, tuple, list, set, frozenset, Mapping)  # digested by what they hold


def _is_function(value: object) -> bool:
    return isinstance(value, types.FunctionType)


class _Walk:
    """Feeds values into one digest, each object once."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self._met: dict[int, int] = {}
        self._alive: list[object] = []  # so that no address is given out twice

    def add(self, value: object) -> None:
        if type(value) in _PLAIN:
            self._feed(type(value).__name__, repr(value))
            return
        if id(value) in self._met:
            self._feed("again", str(self._met[id(value)]))
            return
        self._met[id(value)] = len(self._met)
        self._alive.append(value)
        self._add_new(value)

    def _add_new(self, value: Any) -> None:
        if isinstance(value, type):
            self._add_class(value)
            return
        if not _of_library(type(value).__module__):  # a list of the user's own making may have methods
            self.add(type(value))
            if isinstance(value, _BUILT_IN) and hasattr(value, "__dict__"):
                self.add(vars(value))
        if isinstance(value, str | bytes | int | float):  # of the user's own making too
            self._feed("plain", repr(value))
        elif hasattr(value, "__wrapped__") and _of_library(type(value).__module__) and not _is_function(value):
            # Such as a cache; what somebody's own class wraps is not all that it has.
            self._add_parts("wrapped", (value.__wrapped__,))
        elif _of_rnncheck(type(value)) and hasattr(value, "identity"):
            self._feed("identity", value.identity())
        elif isinstance(value, np.ma.MaskedArray):
            self._add_parts("masked", (value.filled(), np.ma.getmaskarray(value)))
        elif isinstance(value, np.ndarray | np.generic):
            self._add_array(np.asarray(value))
        elif isinstance(value, tuple | list):
            self._add_parts(type(value).__name__, value)
        elif isinstance(value, set | frozenset):
            self._add_parts("set", sorted(digest_of(each) for each in value))
        elif isinstance(value, Mapping):
            self._add_parts(type(value).__name__, (part for pair in value.items() for part in pair))
        elif isinstance(value, types.FunctionType):
            self._add_function(value)
        elif isinstance(value, types.MethodType):
            self._add_parts("method", (value.__func__, value.__self__))
        elif isinstance(value, staticmethod | classmethod):
            self._add_parts(type(value).__name__, (value.__func__,))
        elif isinstance(value, property):
            self._add_parts("property", (value.fget,))
        elif isinstance(value, functools.partial):
            self._add_parts("partial", (value.func, value.args, value.keywords))
        elif isinstance(value, types.ModuleType):
            self._add_module(value)
        elif isinstance(value, types.CodeType):
            self._add_code(value)
        else:
            self._add_object(value)

    def _add_object(self, value: Any) -> None:
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            self._feed("tensor", str(value.dtype))
            self._add_array(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy(), tuple(value.shape))
        elif torch is not None and isinstance(value, torch.jit.ScriptModule):
            from rnncheck.models.torch.script import parts_for_digest

            self._add_parts("script", parts_for_digest(value))
        elif torch is not None and isinstance(value, torch.nn.Module):
            self._add_parts("module", _parts_of_module(value, torch.nn.Module))
        elif _of_rnncheck(type(value)) and hasattr(value, "__dict__"):
            self._add_parts("object", (type(value), vars(value)))
        elif _of_library(type(value).__module__):
            try:
                self._feed("pickled", pickle.dumps(value, protocol=4))
            except Exception:  # whatever an object does when it is asked to be stored
                raise _without_digest(f"the {type(value).__name__} {short_repr(value)}") from None
        elif hasattr(value, "__dict__") and not hasattr(type(value), "__slots__"):
            self._add_parts("object", (type(value), vars(value)))
        else:
            raise _without_digest(f"the {type(value).__name__} {short_repr(value)}")

    def _add_class(self, kind: type) -> None:
        self._feed("class", f"{kind.__module__}.{kind.__qualname__}")
        if _of_library(kind.__module__):
            self._feed("version", _version(kind.__module__))
            return
        own = {name: value for name, value in vars(kind).items() if name not in _OF_EVERY_CLASS}
        for name, value in own.items():
            if isinstance(value, types.GetSetDescriptorType | types.MemberDescriptorType):
                continue
            self._feed("attribute", name)
            self.add(value)
        self._add_parts("bases", kind.__bases__)

    def _add_function(self, function: types.FunctionType) -> None:
        name = f"{function.__module__}.{function.__qualname__}"
        self._feed("function", name)
        if _of_library(function.__module__ or ""):
            self._feed("version", _version(function.__module__))
            return
        self.add(function.__code__)
        self._add_parts("defaults", (function.__defaults__, function.__kwdefaults__))
        if vars(function):
            self._add_parts("attributes", (vars(function),))
        for cell in function.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:  # a cell that is still empty
                self._feed("cell", "empty")
        for used in sorted(set(_names(function.__code__))):
            if used in _UNKNOWABLE:
                raise _without_digest(f"{name}, which calls {used}()")
            if used in function.__globals__:
                self._feed("global", used)
                self.add(function.__globals__[used])
            elif used in sys.modules and not _of_library(used):  # imported where it is used
                self.add(sys.modules[used])

    def _add_code(self, code: types.CodeType) -> None:
        self._feed("code", code.co_code)
        self._add_parts("names", (*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars))
        self._add_parts("constants", code.co_consts)

    def _add_module(self, module: types.ModuleType) -> None:
        self._feed("library", module.__name__)
        if _of_library(module.__name__):
            self._feed("version", _version(module.__name__))
            return
        for name, value in vars(module).items():
            if not name.startswith("__"):
                self._feed("attribute", name)
                self.add(value)

    def _add_array(self, array: np.ndarray[Any, Any], shape: tuple[int, ...] | None = None) -> None:
        if array.dtype.hasobject:
            self._add_parts("objects", array.tolist())
            return
        self._feed("array", f"{array.dtype.str} {array.shape if shape is None else shape}")
        self._feed("numbers", np.ascontiguousarray(array).tobytes())

    def _add_parts(self, kind: str, parts: Any) -> None:
        self._feed("begin", kind)
        for part in parts:
            self.add(part)
        self._feed("end", kind)

    def _feed(self, kind: str, content: str | bytes) -> None:
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        self.digest.update(f"{kind} {len(data)}:".encode())
        self.digest.update(data)


def _parts_of_module(module: Any, base: Callable[[], Any]) -> Iterator[object]:
    """What a PyTorch module's ``forward`` may depend on; whether it is in training mode is not among it."""
    inner = vars(base())
    yield type(module)
    yield repr(module)
    yield dict(module.named_parameters(recurse=False))
    yield dict(module.named_buffers(recurse=False))
    yield dict(module.named_children())
    for hooks in ("_forward_pre_hooks", "_forward_hooks"):
        yield list(getattr(module, hooks).values())
    own = {name: value for name, value in vars(module).items() if name not in inner}
    if "forward" in own:  # somebody's own code, which may read whatever was put there beside it
        own = {name: value for name, value in own.items() if not _only_refers(value)}
    elif _of_library(type(module).__module__):  # some options are not in its text
        own = {name: value for name, value in own.items() if isinstance(value, _PLAIN) or callable(value)}
    yield own


def _only_refers(value: object) -> bool:
    """Whether it holds nothing but weak references, as recurrent layers do to their parameters."""
    return isinstance(value, list) and all(isinstance(each, weakref.ref) or each is None for each in value)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


@functools.cache
def _of_library(module: str) -> bool:
    """Whether a module is installed rather than the user's own; code without a file (a prompt) is the user's own."""
    if module in sys.builtin_module_names or module.partition(".")[0] in ("rnncheck", *sys.stdlib_module_names):
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and str(Path(file).resolve()).startswith(_LIBRARIES)


def _of_rnncheck(kind: type) -> bool:
    return kind.__module__.startswith("rnncheck.")


def _version(module: str) -> str:
    top = sys.modules.get(module.partition(".")[0])
    return str(getattr(top, "__version__", ""))


def _without_digest(what: str) -> ModelError:
    return ModelError(f"nobody can tell whether it stays the same: it depends on {what}")
