"""Cell equations that the checker does not have itself: read off the cell type, evaluated here, and tried.

The checker writes the equations of the common cells by itself. For any other cell it takes those of the cell type
(``CellType.step_on``), which the prover used too. They only name operations; the numbers are this package's own. What
they mean is compared with the cell's reference step, which the prover does not use.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rnncheck.checker.outward import Numbers
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.semantics import Semantics

_WORDS = 16  # that the reference step walks along
_LENGTH = 8


class Operations(Protocol):
    """What equations are computed with: intervals, or zonotopes."""

    def linear(self, weight: Any, bias: Any, x: Any, /) -> Any: ...

    def products(self, *pairs: tuple[Any, Any]) -> Any: ...

    def rounded(self, total: Any, /) -> Any: ...

    def tanh(self, x: Any, /) -> Any: ...

    def sigmoid(self, x: Any, /) -> Any: ...

    def relu(self, x: Any, /) -> Any: ...

    def mean(self, share: Any, new: Any, old: Any, /) -> Any: ...


@dataclasses.dataclass(frozen=True, eq=False)
class _Terms:
    """A sum of products under the names that equations use."""

    total: Any

    def __add__(self, other: _Terms) -> _Terms:
        return _Terms(self.total + other.total)

    def __getitem__(self, part: slice) -> _Terms:
        return _Terms(self.total.part(part))

    def times(self, factor: Any) -> _Terms:
        return _Terms(self.total.scaled(factor))


class ReadEquations(Semantics[Any, _Terms]):
    """The operations that equations name, for one step: it remembers which values are gates."""

    def __init__(self, by: Operations) -> None:
        self._by = by
        self._gates: list[Any] = []

    def affine(self, weight: Any, bias: Any | None, x: Any, /) -> _Terms:
        return _Terms(self._by.linear(weight, bias, x))

    def products(self, *pairs: tuple[Any, Any]) -> _Terms:
        return _Terms(self._by.products(*pairs))

    def computed(self, total: _Terms, /) -> Any:
        return self._by.rounded(total.total)

    def tanh(self, x: Any, /) -> Any:
        return self._by.tanh(x)

    def relu(self, x: Any, /) -> Any:
        return self._by.relu(x)

    def sigmoid(self, x: Any, /) -> Any:
        gate = self._by.sigmoid(x)
        self._gates.append(gate)
        return gate

    def keeping(self, gate: Any, /) -> Any:
        return gate

    def blend(self, z: Any, new: Any, old: Any, /) -> Any:
        """Unbounded unless ``z`` is a gate: the bounds of a mean hold for shares between 0 and 1 alone."""
        found = self._by.mean(z, new, old)
        return found if any(z is gate for gate in self._gates) else _unbounded(found)

    def unknown(self, x: Any, h: Any, /) -> Any:
        return None if h is None else _unbounded(h)


def _unbounded(numbers: Any) -> Any:
    """In the place of these numbers some that are not known at all: NaN is in no box."""
    parts = {part.name: np.full_like(getattr(numbers, part.name), np.nan) for part in dataclasses.fields(numbers)}
    return type(numbers)(**parts)


def reference_states(network: RecurrentNetwork) -> Numbers:
    """States to try equations at, one per row: on words by the cell's reference step in float64, and some at random.

    A state has h of every layer, then c of every layer.
    """
    rng, width = np.random.default_rng(0), _width(network)
    states, found = np.zeros((_WORDS, width)), [rng.uniform(-1.0, 1.0, size=(_WORDS, width))]
    for _ in range(_LENGTH):
        found.append(states)
        states = reference_step(network, states, rng.integers(len(network.alphabet), size=_WORDS))
    return np.concatenate(found)


def reference_step(network: RecurrentNetwork, states: Numbers, letters: npt.NDArray[np.int64]) -> Numbers:
    """The states after one letter each, by the cell's reference step."""
    kind = network.cell.kind
    sizes = [layer.hidden for layer in network.layers] * (2 if kind.memory else 1)
    parts = np.split(states, np.cumsum(sizes)[:-1], axis=1)
    layers = len(network.layers)
    x, hidden, memory = network.inputs[letters].astype(np.float64), [], []
    for number, layer in enumerate(network.layers):
        c = parts[layers + number] if kind.memory else np.zeros_like(parts[number])
        with np.errstate(all="ignore"):
            x, c = kind.step(layer, x, parts[number], c)
        hidden.append(x)
        memory += [c] if kind.memory else []
    return np.hstack(hidden + memory)


def _width(network: RecurrentNetwork) -> int:
    return sum(layer.hidden for layer in network.layers) * (2 if network.cell.kind.memory else 1)
