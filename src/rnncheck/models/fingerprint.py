"""One digest of everything that a model's answers depend on, where all of it is data: numbers, texts, graphs.

Code is not data: what it reads cannot be seen. A model that runs the user's code has a digest only where the user gives
it a fingerprint, a text that changes whenever the model does; the error says so. Our own functions are known by their
name, and our own objects that have an ``identity`` give it.
"""

from __future__ import annotations

import enum
import hashlib
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from rnncheck.errors import InputError, ModelError, short_repr
from rnncheck.version import __version__

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def digest_of(*values: object) -> str:
    """The digest of some values together; a ModelError names what is not data."""
    digest = hashlib.sha256()

    def feed(kind: str, content: str | bytes) -> None:
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        digest.update(f"{kind} {len(data)}:".encode())
        digest.update(data)

    def add(value: Any) -> None:
        kind = type(value)
        if kind in _PLAIN:
            feed(kind.__name__, value if kind in (str, bytes) else repr(value))
        elif kind in (tuple, list):
            feed(kind.__name__, str(len(value)))
            for part in value:
                add(part)
        elif isinstance(value, Mapping):
            feed("mapping", str(len(value)))
            for pair in value.items():
                add(pair)
        elif kind is np.ndarray or isinstance(value, np.generic):
            array = np.ascontiguousarray(value)
            if array.dtype.hasobject:
                raise without_digest(f"the array {short_repr(value)} of Python objects")
            feed("array", f"{array.dtype.str} {np.shape(value)}")
            feed("numbers", array.tobytes())
        elif not kind.__module__.startswith("rnncheck.") and not _our_function(value):
            raise without_digest(f"the {kind.__name__} {short_repr(value)}")
        elif isinstance(value, types.MethodType):
            add((value.__func__, value.__self__))
        elif isinstance(value, types.FunctionType):
            feed("function", f"{value.__module__}.{value.__qualname__} {__version__}")
        elif hasattr(value, "identity"):
            feed("identity", value.identity())
        elif isinstance(value, enum.Enum):
            feed("enum", str(value))
        else:
            feed("object", f"{kind.__module__}.{kind.__qualname__} {__version__}")
            add(vars(value))

    for value in values:
        add(value)
    return digest.hexdigest()


def _our_function(value: object) -> bool:
    """Whether it is a function of rnncheck that depends on its arguments alone, or a method of one of our objects."""
    if isinstance(value, types.MethodType):
        return type(value.__self__).__module__.startswith("rnncheck.")
    ours = isinstance(value, types.FunctionType) and value.__module__.startswith("rnncheck.")
    return ours and getattr(value, "__closure__", None) is None


def checked_fingerprint(given: object) -> str | None:
    """What the user gave as the fingerprint of a model."""
    if given is None or (isinstance(given, str) and given):
        return given
    raise InputError(f"fingerprint={short_repr(given)} was given; give a text that you change with the model")


def without_digest(what: str) -> ModelError:
    """The error where answers depend on something that is not data."""
    return ModelError(
        f"its answers depend on {what}, and whether code still does the same cannot be seen; give the model a "
        'fingerprint, a text that you change whenever the model changes: fingerprint="…" for wrap and wrap_steps, '
        'fingerprint = "…" in a property file, or the attribute fingerprint of what --module names'
    )
