"""How words become the array that a foreign model takes, found out by calling it.

A recurrent classifier takes letter numbers or one-hot vectors, with the batch or the time first, or one word without
a batch. The outputs show which: there are as many for a long word as for a short one, and they are the same for a word
alone as for the word in a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.errors import InputError, ModelError, short_repr
from rnncheck.models.black_box import Outputs, check_finite
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.words import IntArray

Encode: TypeAlias = Callable[[IntArray], Any]  # words of equal length to the model's input
Call: TypeAlias = Callable[[Any], npt.NDArray[Any]]  # the model: from its input to its raw output

# For users of the command line and of Python alike.
EMPTY_WORD_REJECTED = (
    "it is rejected; to exclude it assume at least one letter (--assume 'regex:. .*'), to accept it pass empty=True to "
    "wrap or load_model (with --module: return the result of wrap)"
)
_CLOSE = 1e-3  # far above float noise, far below what another word changes


@dataclass(frozen=True)
class InputLayout:
    """One layout of words: letter ``i`` is row ``first_row + i`` of ``rows``, or row ``ids[i]`` if given."""

    axes: str  # "BT" batch × time, "TB" time × batch, "T" one word, "B" one letter of each word
    one_hot: bool
    first_row: int
    rows: int
    ids: tuple[int, ...] | None = None

    @property
    def batched(self) -> bool:
        return self.axes != "T"

    def encode(self, codes: IntArray) -> npt.NDArray[Any]:
        """Words of equal length (words × letters) as the model's input."""
        ids = codes + self.first_row if self.ids is None else np.array(self.ids, dtype=np.int64)[codes]
        laid = {"BT": ids, "TB": ids.T, "T": ids[0], "B": ids[:, 0] if ids.shape[1] else ids}[self.axes]
        if self.one_hot:
            return np.asarray(np.eye(self.rows, dtype=np.float32)[laid])
        return np.ascontiguousarray(laid)

    def notes(self) -> list[str]:
        """Assumptions that may be wrong."""
        if not self.one_hot:
            return []
        note = (
            f"its input has {self.rows} features, which are taken for one-hot vectors of letters; if they are "
            "measurements, give encode=…, a function from words to them"
        )
        return [note]

    def __str__(self) -> str:
        what = "one-hot vectors" if self.one_hot else "letter numbers"
        order = {"BT": "batch × time", "TB": "time × batch", "T": "one word per call", "B": "batch"}[self.axes]
        numbers = f"the first letter is number {self.first_row}" if self.ids is None else "the ids of the alphabet"
        return f"{what} ({order}), {numbers}"


@dataclass(frozen=True)
class InputEncoding:
    """How to encode words, how many outputs a word has, and whether words can be evaluated together."""

    encode: Encode
    outputs: int
    batched: bool
    note: str

    @property
    def layout(self) -> InputLayout | None:
        """The layout of words; None if a function of the user encodes them."""
        owner = getattr(self.encode, "__self__", None)
        return owner if isinstance(owner, InputLayout) else None


def layouts(letters: int, *, ids: bool, first_row: int, rows: int, time_first: bool = False) -> list[InputLayout]:
    """The layouts to try, the most likely first."""
    orders = ("TB", "BT", "T") if time_first else ("BT", "TB", "T")
    kinds = (False, True) if ids else (True, False)
    return [
        InputLayout(axes, one_hot, 0 if one_hot and rows == letters else first_row, rows)
        for one_hot in kinds
        for axes in orders
    ]


def token_ids(alphabet: object) -> tuple[int, ...] | None:
    """The ids of an alphabet that is a dict from tokens to ids; None for any other."""
    if not isinstance(alphabet, Mapping):
        return None
    seen: dict[int, object] = {}
    for token, number in alphabet.items():
        if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < 0:
            raise InputError(
                f"alphabet= has the id {short_repr(number)} for {short_repr(token)}; ids are integers from 0"
            )
        if int(number) in seen:
            raise InputError(
                f"alphabet= has the id {number} twice, for {short_repr(seen[int(number)])} and {short_repr(token)}"
            )
        seen[int(number)] = token
    return tuple(seen)


def check_ids(ids: Sequence[int], rows: int, first_row: int | None, where: str = "embedding") -> None:
    """Raise an error unless every id of the alphabet is a row."""
    if first_row is not None:
        raise InputError(f"first_row={first_row} was given, and the alphabet has ids; leave one of them out")
    if max(ids) >= rows:
        raise ModelError(f"the alphabet has the id {max(ids)}, but the {where} has {rows} rows, 0 to {rows - 1}")


def lengths_within(lengths: Iterable[int], longest: int | None) -> list[int]:
    """The lengths that the model takes."""
    return [length for length in lengths if longest is None or length <= longest]


def find_encoding(
    call: Call,
    candidates: Iterable[tuple[Encode, bool, str]],
    letters: int,
    rng: np.random.Generator,
    longest: int | None = None,
) -> InputEncoding:
    """The first candidate (encode, may be batched, name) with which the model behaves as a classifier of words.

    A candidate whose words can be evaluated together is preferred to one whose words must be evaluated alone. If none
    fits, a ModelError says what happened with each.
    """
    failures: list[str] = []
    alone: InputEncoding | None = None
    for encode, batched, name in candidates:
        try:
            outputs = _outputs_of_single_words(call, encode, letters, rng, longest)
        except _UnfitError as unfit:
            failures.append(f"{name}: {unfit}")
            continue
        if batched and _batch_agrees(call, encode, letters, outputs, rng, longest):
            return InputEncoding(encode, outputs, True, name)
        alone = alone or InputEncoding(encode, outputs, False, name)
    if alone is None:
        raise ModelError(
            f"the model takes words in none of the ways tried ({'; '.join(dict.fromkeys(failures))}); "
            "give rnncheck.wrap(…, first_row=…) or encode=…, or wrap a function of your own that calls it (on the "
            "command line: --module with a function that returns the result of wrap)"
        )
    return alone


def rows_of(raw: npt.NDArray[Any], words: int) -> Outputs:
    """A model's raw output as words × outputs."""
    if words == 0 or raw.size % words or (words > 1 and (raw.ndim == 0 or raw.shape[0] != words)):
        raise ModelError(f"the model's output has shape {raw.shape} for {words} words; expected one row for each word")
    return raw.reshape(words, -1).astype(np.float64)


class _UnfitError(Exception):
    """Why a layout does not fit."""


def _outputs_of_single_words(
    call: Call, encode: Encode, letters: int, rng: np.random.Generator, longest: int | None
) -> int:
    """The number of outputs of a word; the same for every length, and at a second call."""
    sizes = {}
    for length in lengths_within((1, 2, 5), longest):
        codes = rng.integers(letters, size=(1, length))
        first, second = (_attempt(call, encode, codes) for _ in range(2))
        check_finite(first, length)
        if first.shape != second.shape or not _close(first, second):
            raise ModelError("the model answers the same word differently when called twice; it is not a function")
        sizes[length] = first.size
    if len(set(sizes.values())) > 1:
        each = ", ".join(f"{size} for {length} letters" for length, size in sizes.items())
        raise _UnfitError(f"the number of outputs depends on the length ({each})")
    if not sizes[1]:
        raise _UnfitError("no output")
    return sizes[1]


def _batch_agrees(
    call: Call, encode: Encode, letters: int, outputs: int, rng: np.random.Generator, longest: int | None
) -> bool:
    for length in lengths_within((1, 2, 5, 9), longest):
        codes = rng.integers(letters, size=(3, length))
        try:
            together = rows_of(_attempt(call, encode, codes), 3)
        except (_UnfitError, ModelError):
            return False
        alone = np.concatenate([rows_of(_attempt(call, encode, codes[i : i + 1]), 1) for i in range(3)])
        if together.shape[1] != outputs or not _close(together, alone):
            return False
    return True


def _attempt(call: Call, encode: Encode, codes: IntArray) -> npt.NDArray[Any]:
    try:
        raw = call(encode(codes))
    except BudgetExceeded:
        raise
    except ModelError as error:
        raise _UnfitError(str(error)) from None
    except Exception as error:  # a foreign model can fail in any way on inputs that it does not take
        text = str(error).strip().splitlines()
        raise _UnfitError(f"{type(error).__name__} {short_repr(text[0] if text else '', 80)}") from None
    return raw


def _close(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> bool:
    return bool(np.allclose(first, second, rtol=_CLOSE, atol=_CLOSE))


def row_of_first_letter(
    letters: int, rows: int, padding: int | None, given: int | None, where: str = "embedding"
) -> tuple[int, str | None]:
    """The row of the first letter in an embedding with ``rows`` rows, and the assumption behind it, if any."""
    if given is not None:
        if not 0 <= given <= rows - letters:
            raise ModelError(
                f"first_row={given} needs {given + letters} rows for {letters} letters, but the {where} has {rows}"
            )
        return given, None
    if rows == letters:
        return 0, None
    if rows == letters + 1 and padding in (None, 0):
        note = None if padding == 0 else f"row 0 of the {where} is padding, letters start at row 1 (first_row=1)"
        return 1, note
    if rows == letters + 1 and padding == letters:
        return 0, None
    raise ModelError(
        f"the alphabet has {letters} letters, but the {where} has {rows} rows; "
        "give the row of the first letter: rnncheck.wrap(…, first_row=…) (on the command line: --module with a "
        "function that returns the result of wrap)"
    )
