"""A model that is stepped by its owner's own functions.

The reference of such a model is the functions on the word alone, one row per call, or a function of whole words if its
owner has one. The functions may change their arguments: states are kept packed, and unpacked for every call.
"""

from __future__ import annotations

import contextlib
import copy
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rnncheck.errors import ModelError, RnncheckError, short_repr
from rnncheck.models.fingerprint import digest_of, no_digest
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.foreign.steps.packing import Packing
from rnncheck.models.protocol import ByReference, Letters, Model, Scores, States, SteppingModel, check_letters
from rnncheck.runtime.watchdog import guarded
from rnncheck.words import Alphabet, Codes, IntArray, format_word

DEFAULT_BATCH = 4096


@dataclass(frozen=True)
class StepFunctions:
    """The owner's functions: ``initial(rows)``, ``step(states, letters)`` and ``score(states)``; above 0 accepts."""

    initial: Callable[[int], Any]
    step: Callable[[Any, Any], Any]
    score: Callable[[Any], Any]


@dataclass(frozen=True)
class StepCheck:
    """The comparison of the functions with words stepped alone, and with whole words if there is such a function."""

    words: int
    largest_difference: float
    largest_score: float
    whole_words: int = 0


class FunctionModel(SteppingModel):
    """A model stepped by functions, at most ``batch_size`` rows per call; ``whole``, if given, is the reference."""

    def __init__(
        self,
        functions: StepFunctions,
        alphabet: Alphabet,
        *,
        whole: CallableModel | None = None,
        empty: bool | None = None,
        batch_size: int = DEFAULT_BATCH,
        max_length: int | None = None,
        fingerprint: str | None = None,
    ) -> None:
        self.alphabet = alphabet
        self.max_length = max_length
        self._fingerprint = fingerprint
        self.margin = 0.0
        self.self_check: StepCheck | None = None
        self.notes: list[str] = []
        self.whole = whole
        self.batch_size = batch_size
        self._functions = functions
        self._packing = Packing(self._call("initial", 2, functions.initial, 2),
                                self._call("initial", 3, functions.initial, 3))  # fmt: skip
        self._first = self.fresh_initial(1)
        self._empty = empty
        self.empty_score, self.accepts_empty = self._answer_empty()

    def initial(self, rows: int) -> States:
        return np.repeat(self._first, rows, axis=0)

    def fresh_initial(self, rows: int) -> States:
        """The result of calling ``initial`` for this many rows."""
        return self._packing.pack(self._call("initial", rows, self._functions.initial, rows), rows)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        letters = np.asarray(letters)
        check_letters(letters, self.alphabet)
        before = states if rows is None else states[rows]
        if len(before) != len(letters):
            raise ModelError(f"{len(letters)} letters for {len(before)} states; give one each, or say which rows")
        after = np.empty_like(before)
        for part in self._parts(len(letters)):
            after[part] = self._step_rows(before[part], letters[part])
        return after

    def scores(self, states: States) -> Scores:
        scores = np.empty(len(states), dtype=np.float64)
        for part in self._parts(len(states)):
            scores[part] = self._score_rows(states[part])
        return scores

    def reference_answer(self, codes: Codes) -> bool:
        if not codes:
            return self.accepts_empty
        if self.whole is not None:
            return self.whole.reference_answer(codes)
        return self.reference_score(codes) > 0.0

    def reference_score(self, codes: Codes) -> float:
        """The score of one word stepped alone, or the number that the function of whole words gives."""
        if not codes:
            return self.empty_score
        if self.whole is not None:
            scores = self.whole.scores_batch([self.alphabet.decode(codes)])
            if scores is not None:
                return float(scores[0])
        score = float(self._score_rows(self.state_after(codes))[0])
        if not np.isfinite(score):
            word = short_repr(format_word(self.alphabet.decode(codes)), 200)
            raise ModelError(f"score returns {score} for the word {word}, which is no answer; return finite numbers")
        return score

    def state_after(self, codes: Codes) -> States:
        """The state after one word, stepped alone."""
        states = self._first
        for code in codes:
            states = self._step_rows(states, np.array([code]))
        return states

    def by_reference(self) -> Model:
        if self.whole is not None:
            return ByReference(self)
        if self.batch_size == 1:
            return self
        alone = copy.copy(self)
        alone.batch_size, alone.margin = 1, 0.0
        return alone

    def describe(self) -> Mapping[str, Any]:
        name = getattr(self._functions.step, "__qualname__", type(self._functions.step).__name__)
        together = f"up to {self.batch_size} words per call" if self.batch_size > 1 else "each word alone"
        return {
            "kind": "step functions",
            "name": name,
            "letters": len(self.alphabet),
            "state": str(self._packing),
            "queries": f"stepped by its owner's functions, {together}",
            "reference": "its owner's functions, on the word alone"
            if self.whole is None
            else "its owner's function of whole words, on the word alone",
            "margin": self.margin,
            **({} if self.self_check is None else {"self_check": asdict(self.self_check)}),
            **({} if self.max_length is None else {"max_length": self.max_length}),
            "notes": list(self.notes),
        }

    def fingerprint(self) -> str:
        if self._fingerprint is None:
            raise no_digest("its step functions")
        own = self._fingerprint, self.whole is not None, self._empty
        return digest_of("step functions", *own, list(self.alphabet), self.batch_size, self.margin)

    def _answer_empty(self) -> tuple[float, bool]:
        if self._empty is not None:
            self.notes.append(
                f"the empty word is {'accepted' if self._empty else 'rejected'}, as empty={self._empty} says"
            )
            return (np.inf if self._empty else -np.inf), self._empty
        try:
            score = float(self._score_rows(self._first)[0])
            if np.isfinite(score):
                return score, score > 0.0 if self.whole is None else self.whole.reference_answer(())
            why = f"score returns {score}"
        except ModelError as error:
            why = str(error)
        raise ModelError(f"the empty word has no answer ({why}); give it: empty=False, or empty=True")

    def _parts(self, rows: int) -> list[slice]:
        return [slice(start, min(start + self.batch_size, rows)) for start in range(0, rows, self.batch_size)]

    def _step_rows(self, states: States, letters: Letters) -> States:
        given = letters.astype(np.int64)
        device = self._packing.tensors
        read = given if device is None else sys.modules["torch"].from_numpy(given).to(device)
        after = self._call("step", len(letters), self._functions.step, self._packing.unpack(states), read)
        return self._packing.pack(after, len(letters))

    def _score_rows(self, states: States) -> Scores:
        rows = len(states)
        given = self._call("score", rows, self._functions.score, self._packing.unpack(states))
        return _numbers(given, rows)

    def _call(self, name: str, rows: int, function: Callable[..., Any], *arguments: Any) -> Any:
        with _without_gradients():
            try:
                return guarded(lambda: function(*arguments), lambda: f"{name} was called on {rows} rows")
            except (RnncheckError, MemoryError):
                raise
            except (Exception, SystemExit) as error:  # whatever the owner's function raises
                text = " ".join(str(error).split())
                raise ModelError(
                    f"{name} raised {type(error).__name__} for {rows} rows: {short_repr(text, 200)}"
                ) from error


def _numbers(given: Any, rows: int) -> Scores:
    """The result of ``score`` as one number per row; True and False are 1 and -1."""
    if hasattr(given, "detach"):
        given = given.detach().cpu()
        given = given.double().numpy() if given.is_floating_point() else given.numpy()
    values = np.asarray(given)
    if values.shape not in ((rows,), (rows, 1)) or values.dtype.kind not in "bfiu":
        raise ModelError(
            f"score returned {values.dtype} of shape {values.shape} for {rows} rows; "
            "it must return one number for each, above 0 to accept"
        )
    flat = values.reshape(rows)
    return np.where(flat, 1.0, -1.0) if flat.dtype.kind == "b" else flat.astype(np.float64)


@contextlib.contextmanager
def _without_gradients() -> Iterator[None]:
    torch = sys.modules.get("torch")
    with contextlib.nullcontext() if torch is None else torch.no_grad():
        yield
