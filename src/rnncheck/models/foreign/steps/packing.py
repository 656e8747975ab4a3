"""States of any shape as the array that the rest of rnncheck keeps: one row for each word.

A state may be an array, or a tuple, list, dictionary or data class of arrays, nested to any depth, of numpy or of
PyTorch. Every array has one axis along which the words lie, the first one or another (PyTorch's layers × words ×
hidden). Packing loses nothing: every number comes back as it was, in the type that it had.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.errors import ModelError, short_repr
from rnncheck.models.protocol import States

_EXACT_IN_FLOAT32 = {np.dtype(name) for name in ("bool", "i1", "i2", "u1", "u2", "f2", "f4", "c8")}
_EXACT_IN_FLOAT64 = {np.dtype(name) for name in ("i4", "u4", "f8", "c16")}
_LARGE_INTEGERS = {np.dtype(name) for name in ("i8", "u8")}  # exact up to 2⁵³, which is checked


@dataclasses.dataclass(frozen=True)
class Leaf:
    """One array of a state: its path, the axis along which the words lie, and the shape of one word's part."""

    path: str
    axis: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    tensor: Any = None  # the type and device of a PyTorch tensor

    @functools.cached_property
    def columns(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * (2 if self.dtype.kind == "c" else 1)

    def rows(self, value: Any, count: int) -> npt.NDArray[Any]:
        """The numbers of ``count`` words, one row each; a ModelError if the array differs from that of ``initial``."""
        (found, dtype), expected = _shape_and_type(value), (*self.shape[: self.axis], count, *self.shape[self.axis :])
        if found != expected:
            raise ModelError(
                f"the state{self.path} has shape {found} after a step on {count} rows, and {expected} was expected, as "
                "in initial; a state that grows with the word cannot be stepped: wrap a function of whole words instead"
            )
        if dtype != self.dtype or _tensor_kind(value) != self.tensor:
            was, now = _kind_text(self.dtype, self.tensor), _kind_text(dtype, _tensor_kind(value))
            raise ModelError(f"the state{self.path} is {was} in initial and {now} after a step; return {now} from both")
        numbers = _as_numpy(value)
        laid = np.moveaxis(numbers, self.axis, 0) if self.axis else numbers
        rows = laid.reshape(count, math.prod(self.shape))
        if self.dtype.kind == "c":
            return np.ascontiguousarray(rows).view(np.float32 if self.dtype.itemsize == 8 else np.float64)
        if self.dtype in _LARGE_INTEGERS and (np.abs(rows.astype(np.float64)) > 2**53).any():
            raise ModelError(f"the state{self.path} holds whole numbers above 2^53; keep smaller ones")
        return rows

    def value(self, rows: npt.NDArray[Any]) -> Any:
        """A new array, or tensor, of these rows, which the caller may change."""
        if self.dtype.kind == "c":
            part: npt.DTypeLike = np.float32 if self.dtype.itemsize == 8 else np.float64
            numbers = np.ascontiguousarray(rows, dtype=part).view(self.dtype).copy()
        else:
            numbers = rows.astype(self.dtype)
        laid = numbers.reshape(len(rows), *self.shape)
        if self.axis:
            laid = np.ascontiguousarray(np.moveaxis(laid, 0, self.axis))
        if self.tensor is None:
            return laid
        dtype, device = self.tensor
        return sys.modules["torch"].from_numpy(laid).to(device=device, dtype=dtype)


class Packing:
    """How the states of one model are packed, learned from the initial states of two and of three words."""

    def __init__(self, two: Any, three: Any) -> None:
        self._template = two
        arrays = _leaves(two)
        if not arrays:
            raise ModelError("initial returns no array; return the state as an array, or as several arrays")
        again = _align(two, three)
        self.leaves = tuple(_leaf(path, first, second) for (path, first), second in zip(arrays, again, strict=True))
        narrow = all(leaf.dtype in _EXACT_IN_FLOAT32 for leaf in self.leaves)
        self.dtype = np.dtype(np.float32 if narrow else np.float64)
        ends = np.cumsum([leaf.columns for leaf in self.leaves]).tolist()
        self._columns = [slice(end - leaf.columns, end) for leaf, end in zip(self.leaves, ends, strict=True)]

    @property
    def tensors(self) -> Any:
        """The device of the first PyTorch tensor; None if all arrays are numpy's."""
        return next((leaf.tensor[1] for leaf in self.leaves if leaf.tensor is not None), None)

    def pack(self, tree: Any, rows: int) -> States:
        """The states of this many words as one array."""
        packed = np.empty((rows, self._columns[-1].stop), dtype=self.dtype)
        for leaf, value, columns in zip(self.leaves, _align(self._template, tree), self._columns, strict=True):
            packed[:, columns] = leaf.rows(value, rows)
        return packed

    def unpack(self, states: States) -> Any:
        """The states in the form of the model's own functions, in new arrays."""
        values = (leaf.value(states[:, columns]) for leaf, columns in zip(self.leaves, self._columns, strict=True))
        return _map_arrays(self._template, lambda _: next(values))

    def __str__(self) -> str:
        numbers, kinds = (
            self._columns[-1].stop,
            dict.fromkeys(_kind_text(leaf.dtype, leaf.tensor) for leaf in self.leaves),
        )
        return f"{numbers} numbers in {len(self.leaves)} array{'s' * (len(self.leaves) > 1)} ({', '.join(kinds)})"


def _leaf(path: str, two: Any, three: Any) -> Leaf:
    (first, dtype), (second, _) = _shape_and_type(two), _shape_and_type(three)
    axes = [axis for axis, sizes in enumerate(zip(first, second, strict=False)) if sizes == (2, 3)]
    if len(first) != len(second) or len(axes) != 1 or _without(first, axes[0]) != _without(second, axes[0]):
        raise ModelError(
            f"the state{path} has shape {first} in initial(2) and {second} in initial(3); one axis must have one "
            "place for each row, and nothing else may depend on how many there are"
        )
    if dtype not in _EXACT_IN_FLOAT32 | _EXACT_IN_FLOAT64 | _LARGE_INTEGERS:
        raise ModelError(f"the state{path} holds {dtype}; keep floating-point, complex, whole or Boolean numbers")
    return Leaf(path, axes[0], _without(first, axes[0]), dtype, _tensor_kind(two))


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


def _align(template: Any, tree: Any, path: str = "") -> Iterator[Any]:
    """The arrays of a state in the order of the template; those of a dictionary by key, whatever their order."""
    if template is None or _is_array(template):
        if template is None and tree is None:
            return
        if template is None or not _is_array(tree):
            raise _structure_error(template, tree, path)
        yield tree
        return
    known, given = ({key: value for key, value, _ in _children(each, path)} if each is not None and not _is_array(each)
                    else None for each in (template, tree))  # fmt: skip
    if given is None or known is None or known.keys() != given.keys() or _kind(template) is not _kind(tree):
        raise _structure_error(template, tree, path)
    for key, value, at in _children(template, path):
        yield from _align(value, given[key], f"{path}{at}")


def _kind(tree: Any) -> object:
    """The kind of a container, which must not change; a list and a tuple are the same here."""
    return list if type(tree) is tuple else dict if isinstance(tree, Mapping) else type(tree)


def _structure_error(template: Any, tree: Any, path: str) -> ModelError:
    was, now = ("an array" if _is_array(each) else _tree_text(each) for each in (template, tree))
    return ModelError(
        f"the state{path} is {was} in initial and {now} after a step; return the same arrays, by the same names"
    )


def _tree_text(tree: Any) -> str:
    if isinstance(tree, Mapping):
        return f"a {type(tree).__name__} of {short_repr(list(tree))}"
    return "None" if tree is None else f"a {type(tree).__name__}"


def _leaves(tree: Any) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    _map_arrays(tree, found.append)
    return found


def _map_arrays(tree: Any, change: Callable[[tuple[str, Any]], Any], path: str = "") -> Any:
    """The same tree with ``change`` applied to every array, given with its path."""
    if tree is None:
        return None
    if _is_array(tree):
        return change((path, tree))
    parts = {key: _map_arrays(value, change, f"{path}{at}") for key, value, at in _children(tree, path)}
    if isinstance(tree, Mapping):
        return type(tree)(parts)  # type: ignore[call-arg]
    if dataclasses.is_dataclass(tree):
        return dataclasses.replace(tree, **parts)  # type: ignore[type-var]
    return type(tree)(*parts.values()) if hasattr(tree, "_fields") else type(tree)(parts.values())


def _children(tree: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
    if isinstance(tree, Mapping):
        yield from ((key, value, f"[{key!r}]") for key, value in tree.items())
    elif isinstance(tree, tuple | list):
        yield from ((place, value, f"[{place}]") for place, value in enumerate(tree))
    elif dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        for field in dataclasses.fields(tree):
            yield field.name, getattr(tree, field.name), f".{field.name}"
    else:
        raise ModelError(
            f"the state{path} is {short_repr(tree)}, a {type(tree).__name__}; a state is made of numpy arrays or "
            "PyTorch tensors, in tuples, lists, dictionaries and data classes"
        )


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or _is_tensor(value)


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _tensor_kind(value: Any) -> Any:
    return (value.dtype, value.device) if _is_tensor(value) else None


def _as_numpy(value: Any) -> npt.NDArray[Any]:
    if not _is_tensor(value):
        return np.asarray(value)
    torch, value = sys.modules["torch"], value.detach().cpu().resolve_conj()
    return np.asarray((value.float() if value.dtype is torch.bfloat16 else value).numpy())


def _shape_and_type(value: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    if not _is_tensor(value):
        return value.shape, value.dtype
    return tuple(value.shape), _as_numpy(value[:0] if value.dim() else value).dtype


def _kind_text(dtype: np.dtype[Any], tensor: Any) -> str:
    return dtype.name if tensor is None else str(tensor[0])
