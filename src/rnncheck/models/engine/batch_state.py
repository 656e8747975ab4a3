"""The states of a batch of words, one per row, advanced letter by letter; and how numpy does it."""

from __future__ import annotations

import functools
import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from rnncheck.models.cells.cell_type import Array, CellType, CompiledLayer, Layer, Scratch, Siblings, StateLayout
from rnncheck.models.engine.threads import Workers
from rnncheck.models.protocol import Letters, Scores, States, Tick, letters_in_step
from rnncheck.words import IntArray, WordBatch

TOO_LITTLE_TO_SPLIT = 1 << 20  # multiplications; BLAS itself keeps fewer to one thread
_BLOCK_NUMBERS = 1 << 19  # gate values in a block of rows: about as many as fit in the cache of one core
_BLOCK_ROWS = (128, 1024)
# How rows are split into pieces depends on the number of rows alone, so that no bit depends on the number of threads.
_PIECE_PRODUCTS, _PIECE_ROWS = 1 << 24, 64  # the least multiplications and rows of a piece, unless it is the only one
_PIECES = 4  # or more, if a piece would be larger than a block


class Rows(ABC):
    """Advances rows of states, and computes the outputs of the head. No bit depends on the number of threads.

    ``head`` is the matrix that is multiplied with (1, h of the top layer), one column per output.
    """

    def __init__(self, layout: StateLayout, head: Array, dtype: npt.DTypeLike) -> None:
        self._layout, self._dtype = layout, dtype
        self._head = head.astype(dtype)

    def initial(self, rows: int) -> States:
        """The states before the first letter."""
        states = np.zeros((rows, self._layout.width), dtype=self._dtype)
        states[:, self._layout.ones] = 1
        return states

    def outputs(self, states: States) -> Array:
        """The outputs of the head, one row for each state."""
        return np.asarray(np.matmul(states[:, self._layout.read_by_head], self._head))

    @abstractmethod
    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        """The states after one more letter each, for all states or for the chosen ``rows``."""

    @abstractmethod
    def run(self, words: WordBatch, tick: Tick, scores: Callable[[Array], Scores]) -> Scores:
        """The score after every letter of every word, aligned with ``words.codes``; longer words run first.

        ``scores`` turns outputs into scores.
        """


def products(layers: Sequence[Layer]) -> int:
    """The multiplications of one step of one row."""
    return sum(layer.input_weight.size + layer.recurrent_weight.size for layer in layers)


class NumpyRows(Rows):
    """Layers of numpy products, on pieces of the rows that threads process one after another."""

    def __init__(
        self,
        compiled: Sequence[CompiledLayer],
        cell: CellType,
        layers: Sequence[Layer],
        layout: StateLayout,
        head: Array,
        dtype: npt.DTypeLike,
        threads: int,
    ) -> None:
        super().__init__(layout, head, dtype)
        self._layers, self._cell = compiled, cell
        self._products = products(layers)
        self._widest = max(layer.hidden for layer in layers)
        self._block_rows = int(np.clip(_BLOCK_NUMBERS // (cell.gates * self._widest), *_BLOCK_ROWS))
        self._workers, self._local = Workers(threads), threading.local()

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        after = np.empty((len(letters), self._layout.width), dtype=self._dtype)

        def piece(start: int, end: int) -> None:
            block, siblings = after[start:end], None
            if rows is None:
                np.copyto(block, states[start:end])
            else:
                states.take(rows[start:end], axis=0, out=block, mode="clip")
                siblings = Siblings.among(states, rows[start:end])
            with np.errstate(all="ignore"):
                self._advance(block, letters[start:end], siblings)

        if len(letters) <= self._block_rows and len(letters) * self._products < TOO_LITTLE_TO_SPLIT:
            piece(0, len(letters))
        else:
            cuts = self._cuts(len(letters))
            self._workers.run([functools.partial(piece, *cut) for cut in itertools.pairwise(cuts)])
        return after

    def run(self, words: WordBatch, tick: Tick, scores: Callable[[Array], Scores]) -> Scores:
        """The score after every letter of every word.

        Words of similar length run together. If there are only a few pieces, each takes every n-th word, so that all
        have the same work.
        """
        out = np.empty(len(words.codes), dtype=np.float64)

        def piece(picked: IntArray) -> None:
            states = self.initial(len(picked))
            with np.errstate(all="ignore"):
                for at in letters_in_step(words.offsets[:-1][picked], words.lengths[picked]):
                    tick(len(at))
                    rows = states[: len(at)]
                    self._advance(rows, words.codes[at])
                    out[at] = scores(self.outputs(rows))

        order, pieces, block = np.argsort(-words.lengths, kind="stable"), self._pieces(len(words)), self._block_rows
        if pieces > _PIECES:
            shares = [order[start : start + block] for start in range(0, len(order), block)]
        else:
            shares = [order[nth::pieces] for nth in range(pieces)]
        self._workers.run([functools.partial(piece, share) for share in shares])
        return out

    def _advance(self, rows: States, letters: Letters, siblings: Siblings | None = None) -> None:
        """Read one letter in every row, in place; at most a block of rows."""
        scratch: Scratch | None = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = Scratch(self._block_rows, self._cell, self._widest, self._dtype)
        for layer in self._layers:
            layer.advance(rows, letters, scratch, siblings)

    def _pieces(self, rows: int) -> int:
        """How many pieces to split rows into, none above a block: enough for a few threads, if that pays."""
        worth = min(_PIECES, rows // max(_PIECE_ROWS, _PIECE_PRODUCTS // self._products))
        return max(1, worth, -(-rows // self._block_rows))

    def _cuts(self, rows: int) -> list[int]:
        """The boundaries of equal pieces."""
        pieces = self._pieces(rows)
        return [rows * piece // pieces for piece in range(pieces + 1)]
