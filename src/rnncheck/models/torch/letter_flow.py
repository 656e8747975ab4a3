"""Which way a letter takes through a module, shown by spoiling it.

A recurrent classifier that may be stepped feeds its recurrent layer one letter at a time, and nothing else of the word
reaches its output. Random words cannot tell: a layer over the whole word may be silent but for one word. NaN can, since
no arithmetic gets rid of it: the numbers of one letter are made NaN, and they may come to the recurrent layer once,
and, held up there, never to the output.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from rnncheck.models.self_check import MismatchError
from rnncheck.models.torch.tracing import cell_called

MOST_ROWS = 64  # of a word's numbers, so many are spoilt at most: the first and the last


class Spoiling(TorchFunctionMode):  # type: ignore[misc]
    """While it is active, one row of the numbers that stand for a word is NaN, until a recurrent layer takes it.

    ``rows`` is how many rows there are, and ``fed`` how many spoilt ones came to recurrent layers.
    """

    def __init__(self, row: int) -> None:
        super().__init__()
        self.rows = 0
        self.fed = 0
        self._row = row

    def spoilt(self, arguments: list[Any]) -> list[Any]:
        """What a module is to be called with: copies, where numbers stand for the word from the start."""
        copies = [argument.clone() if _is_floating(argument) else argument for argument in arguments]
        for numbers in filter(_is_floating, copies):
            self._spoil(numbers)
        return copies

    def _spoil(self, numbers: Any) -> None:
        """Spoil these, unless others stood for the word already."""
        if self.rows or not numbers.numel():
            return
        shape = tuple(numbers.shape[:-1])
        self.rows = math.prod(shape)
        if self._row < self.rows:
            # PyTorch's own unravel_index would import half a second's worth of modules.
            numbers[tuple(map(int, np.unravel_index(self._row, shape)))] = math.nan

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if cell_called(getattr(func, "__name__", "")) is not None:
            fed = args[0]
            self.fed += int(torch.isnan(fed).reshape(-1, fed.shape[-1]).any(dim=1).sum())
            return func(torch.nan_to_num(fed), *args[1:], **(kwargs or {}))
        result = func(*args, **(kwargs or {}))
        if _is_floating(result) and any(map(_is_index, args)):  # letters become numbers here
            self._spoil(result)
        return result


def check_letter_flow(mode: Spoiling, output: Any) -> None:
    """Whether what happened to the spoilt letter is what happens in a network that reads letter by letter."""
    if mode.fed > 1:
        raise MismatchError("its recurrent layer is fed several letters at once, which may treat some words apart")
    if bool(torch.isnan(output).any()):
        raise MismatchError("letters reach its output past the recurrent layer, which may treat some words apart")


def rows_to_spoil(rows: int) -> list[int]:
    half = MOST_ROWS // 2
    return list(range(rows)) if rows <= MOST_ROWS else [*range(half), *range(rows - half, rows)]


def _is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.dim() > 0


def _is_index(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_is_index, value))
    return isinstance(value, torch.Tensor) and not value.is_floating_point() and value.dim() > 0
