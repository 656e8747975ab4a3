"""One digest of everything that a model's answers depend on, if all of it is data: numbers, texts, graphs.

Code is not data: what it reads cannot be seen. A model that runs your code has a digest only if you give it a
fingerprint, a text that changes whenever the model does; otherwise the error asks for one. The functions of rnncheck
are identified by their name, and its objects by their method ``fingerprint`` if they have one.
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
    """The digest of all values together; a ModelError names the first that is not data."""
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
                raise no_digest(f"the array {short_repr(value)} of Python objects")
            feed("array", f"{array.dtype.str} {np.shape(value)}")
            feed("numbers", array.tobytes())
        elif not kind.__module__.startswith("rnncheck.") and not _our_function(value):
            raise no_digest(f"the {kind.__name__} {short_repr(value)}")
        elif isinstance(value, types.MethodType):
            add((value.__func__, value.__self__))
        elif isinstance(value, types.FunctionType):
            feed("function", f"{value.__module__}.{value.__qualname__} {__version__}")
        elif callable(getattr(value, "fingerprint", None)):
            feed("identity", value.fingerprint())
        elif isinstance(value, enum.Enum):
            feed("enum", str(value))
        else:
            feed("object", f"{kind.__module__}.{kind.__qualname__} {__version__}")
            add(vars(value))

    for value in values:
        add(value)
    return digest.hexdigest()


def _our_function(value: object) -> bool:
    """Whether a value is a function of rnncheck without a closure, or a method of an object of rnncheck."""
    if isinstance(value, types.MethodType):
        return type(value.__self__).__module__.startswith("rnncheck.")
    ours = isinstance(value, types.FunctionType) and value.__module__.startswith("rnncheck.")
    return ours and getattr(value, "__closure__", None) is None


def check_fingerprint(given: object) -> str | None:
    """Check the ``fingerprint`` argument of a model."""
    if given is None or (isinstance(given, str) and given):
        return given
    raise InputError(f"fingerprint={short_repr(given)} was given; give a text that you change with the model")


def no_digest(what: str) -> ModelError:
    """The error for a model whose answers depend on something that is not data."""
    return ModelError(
        f"its answers depend on {what}, and whether code still does the same cannot be seen; give the model a "
        'fingerprint, a text that you change whenever the model changes: fingerprint="…" for wrap and wrap_steps, '
        'fingerprint = "…" in a property file, or the attribute fingerprint of what --module names'
    )
