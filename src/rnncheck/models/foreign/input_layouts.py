"""How words become the array that a foreign model takes, found out by asking it.

A recurrent classifier takes letter numbers or one-hot vectors, with the batch or the time first, or one word without
a batch. Which of these it is shows in what comes back: as many outputs for a long word as for a short one, and the
same for a word alone as for the word in a batch.
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

Encode: TypeAlias = Callable[[IntArray], Any]  # words of equal length to whatever the model takes
Call: TypeAlias = Callable[[Any], npt.NDArray[Any]]  # the model: what it takes to its raw output

# A person at the command line has no arguments, and a person in Python no options: both are named.
EMPTY_WORD_REJECTED = (
    "it is rejected; to leave it out assume a letter at least (--assume 'regex:. .*'), to accept it give wrap or "
    "load_model empty=True (with --module: return what wrap gives)"
)
_CLOSE = 1e-3  # far above float noise, far below what another word changes


@dataclass(frozen=True)
class InputLayout:
    """One way to lay words out: letter ``i`` is row ``first_row + i`` of ``rows``, or row ``ids[i]`` where given."""

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
        """What may be otherwise than it was taken for."""
        if not self.one_hot:
            return []
        note = (
            f"its input has {self.rows} features, which are taken for one-hot vectors of letters; where they are "
            "measurements, give encode=…, a function from words to them"
        )
        return [note]

    def __str__(self) -> str:
        what = "one-hot vectors" if self.one_hot else "letter numbers"
        order = {"BT": "batch × time", "TB": "time × batch", "T": "one word a call", "B": "batch"}[self.axes]
        numbers = f"the first letter is number {self.first_row}" if self.ids is None else "the ids of the alphabet"
        return f"{what} ({order}), {numbers}"


@dataclass(frozen=True)
class Convention:
    """What was found: how to encode words, how many outputs a word has, whether words can be asked together."""

    encode: Encode
    outputs: int
    batched: bool
    note: str

    @property
    def layout(self) -> InputLayout | None:
        """How words are laid out; None where a function of the user's encodes them."""
        owner = getattr(self.encode, "__self__", None)
        return owner if isinstance(owner, InputLayout) else None


def layouts(letters: int, *, ids: bool, first_row: int, rows: int, time_first: bool = False) -> list[InputLayout]:
    """The layouts to try, the likeliest first."""
    orders = ("TB", "BT", "T") if time_first else ("BT", "TB", "T")
    kinds = (False, True) if ids else (True, False)
    return [
        InputLayout(axes, one_hot, 0 if one_hot and rows == letters else first_row, rows)
        for one_hot in kinds
        for axes in orders
    ]


def token_ids(alphabet: object) -> tuple[int, ...] | None:
    """The ids of an alphabet that is a dict from tokens to ids; None of any other."""
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
    """Whether every id of the alphabet is a row."""
    if first_row is not None:
        raise InputError(f"first_row={first_row} was given, and the alphabet has ids; leave one of them out")
    if max(ids) >= rows:
        raise ModelError(f"the alphabet has the id {max(ids)}, but the {where} has {rows} rows, 0 to {rows - 1}")


def lengths_within(lengths: Iterable[int], longest: int | None) -> list[int]:
    """Those lengths of words to try that the model takes."""
    return [length for length in lengths if longest is None or length <= longest]


def find_convention(
    call: Call,
    candidates: Iterable[tuple[Encode, bool, str]],
    letters: int,
    rng: np.random.Generator,
    longest: int | None = None,
) -> Convention:
    """The first candidate (encode, may be batched, name) that the model answers to as a classifier of words does.

    A candidate whose words can be asked together is preferred to one whose words must be asked alone. A ModelError
    says what happened with each when none will do.
    """
    failures: list[str] = []
    alone: Convention | None = None
    for encode, batched, name in candidates:
        try:
            outputs = _outputs_of_single_words(call, encode, letters, rng, longest)
        except _UnfitError as unfit:
            failures.append(f"{name}: {unfit}")
            continue
        if batched and _batch_agrees(call, encode, letters, outputs, rng, longest):
            return Convention(encode, outputs, True, name)
        alone = alone or Convention(encode, outputs, False, name)
    if alone is None:
        raise ModelError(
            f"the model takes words in none of the ways tried ({'; '.join(dict.fromkeys(failures))}); "
            "say how: rnncheck.wrap(…, first_row=…) or encode=…, or wrap a function of your own that calls it (on the "
            "command line: --module with a function that returns what wrap gives)"
        )
    return alone


def rows_of(raw: npt.NDArray[Any], words: int) -> Outputs:
    """A model's raw output as words × outputs."""
    if words == 0 or raw.size % words or (words > 1 and (raw.ndim == 0 or raw.shape[0] != words)):
        raise ModelError(f"the model put out shape {raw.shape} for {words} words; expected one row for each word")
    return raw.reshape(words, -1).astype(np.float64)


class _UnfitError(Exception):
    """Why a layout will not do."""


def _outputs_of_single_words(
    call: Call, encode: Encode, letters: int, rng: np.random.Generator, longest: int | None
) -> int:
    """How many outputs a word has; the same for every length, and the same when asked again."""
    sizes = {}
    for length in lengths_within((1, 2, 5), longest):
        codes = rng.integers(letters, size=(1, length))
        first, second = (_attempt(call, encode, codes) for _ in range(2))
        check_finite(first, length)
        if first.shape != second.shape or not _close(first, second):
            raise ModelError("the model answers the same word differently when asked twice; it is not a function")
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
    except Exception as error:  # a foreign model given what it does not take can fail in any way
        text = str(error).strip().splitlines()
        raise _UnfitError(f"{type(error).__name__} {short_repr(text[0] if text else '', 80)}") from None
    return raw


def _close(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> bool:
    return bool(np.allclose(first, second, rtol=_CLOSE, atol=_CLOSE))


def row_of_first_letter(
    letters: int, rows: int, padding: int | None, asked: int | None, where: str = "embedding"
) -> tuple[int, str | None]:
    """Which row of an embedding with ``rows`` rows the first letter is, and what was assumed to say so."""
    if asked is not None:
        if not 0 <= asked <= rows - letters:
            raise ModelError(
                f"first_row={asked} needs {asked + letters} rows for {letters} letters, but the {where} has {rows}"
            )
        return asked, None
    if rows == letters:
        return 0, None
    if rows == letters + 1 and padding in (None, 0):
        note = None if padding == 0 else f"row 0 of the {where} is padding, letters start at row 1 (first_row=1)"
        return 1, note
    if rows == letters + 1 and padding == letters:
        return 0, None
    raise ModelError(
        f"the alphabet has {letters} letters, but the {where} has {rows} rows; "
        "say which row is the first letter: rnncheck.wrap(…, first_row=…) (on the command line: --module with a "
        "function that returns what wrap gives)"
    )
