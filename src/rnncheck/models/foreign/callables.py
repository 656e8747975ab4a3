"""Any Python callable as a model: it takes a list of words and returns one answer for each.

A word is a tuple of letters. An answer is ``True`` or ``False``, or a number that accepts if it is greater than the
threshold. The result is checked: as many answers as words, no NaN, only booleans and numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.errors import ModelError, RnncheckError, short_repr
from rnncheck.models.fingerprint import digest_of, no_digest
from rnncheck.models.protocol import LARGEST_NOISE, NOISE_FACTOR, Model, Scores
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.runtime.watchdog import guarded
from rnncheck.words import Alphabet, Codes, Word, WordBatch, encode_batch, format_word

Answer: TypeAlias = bool | float
WordFunction: TypeAlias = Callable[[list[Word]], Iterable[Answer]]

DEFAULT_BATCH = 1024


class CallableModel(Model):
    """A model made of one function.

    ``function`` gets at most ``batch_size`` words per call. If it returns numbers, a word whose number is within
    ``margin`` of the threshold is evaluated again, alone, and that answer counts; the reference of the model is its
    answer to a word alone. When the model is made, ``checks`` random words (the empty word among them) are evaluated
    twice alone and once together. A function that answers the same word differently is an error. One whose answers
    depend on the other words of a call gets one word at a time from then on, which ``describe`` reports. Differences
    that float arithmetic explains only widen the margin. With ``max_length`` it is never called on longer words.
    ``fingerprint`` is a text that you change with the function; without one, no checkpoint can be resumed.
    """

    def __init__(
        self,
        function: WordFunction,
        alphabet: Alphabet,
        *,
        threshold: float = 0.5,
        batch_size: int = DEFAULT_BATCH,
        margin: float = 1e-6,
        checks: int = 16,
        seed: int = 0,
        max_length: int | None = None,
        fingerprint: str | None = None,
    ) -> None:
        if not math.isfinite(threshold):
            raise ModelError(f"threshold {threshold} is not a finite number")
        if batch_size < 1:
            raise ModelError(f"batch size {batch_size} is less than 1")
        if not margin >= 0:
            raise ModelError(f"margin {margin} is negative")
        self.alphabet = alphabet
        self.threshold = threshold
        self.margin = margin
        self._function = function
        self._name = getattr(function, "__qualname__", type(function).__name__)
        self._batch_size = batch_size
        self._notes: list[str] = []
        self.max_length = max_length
        self._fingerprint = fingerprint
        if checks:
            self._check(checks, np.random.default_rng(seed))

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        letters = self._letters(words)
        answers = self._query(letters)
        return np.fromiter(map(self._resolve, letters, answers), dtype=np.bool_, count=len(letters))

    def scores_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Scores | None:
        answers = self._query(self._letters(words))
        if any(isinstance(answer, bool) for answer in answers):
            return None
        return np.array(answers, dtype=np.float64) - self.threshold

    def reference_answer(self, codes: Codes) -> bool:
        """The answer to one word, evaluated alone."""
        return self._accepts(self._query([self.alphabet.decode(codes)])[0])

    def describe(self) -> Mapping[str, Any]:
        return {
            "kind": "Python callable",
            "name": self._name,
            "alphabet": str(self.alphabet),
            "threshold": self.threshold,
            "queries": f"black box, up to {self._batch_size} per call",
            "margin": self.margin,
            **({} if self.max_length is None else {"max_length": self.max_length}),
            "notes": list(self._notes),
        }

    def fingerprint(self) -> str:
        if self._fingerprint is None:
            raise no_digest(f"the function {self._name}")
        own = self._fingerprint, self._name
        return digest_of("callable", *own, list(self.alphabet), self.threshold, self._batch_size, self.margin)

    def _letters(self, words: WordBatch | Iterable[Iterable[str]]) -> list[Word]:
        return [self.alphabet.decode(codes) for codes in encode_batch(self.alphabet, words)]

    def _accepts(self, answer: Answer) -> bool:
        return answer if isinstance(answer, bool) else answer > self.threshold

    def _resolve(self, word: Word, answer: Answer) -> bool:
        close = not isinstance(answer, bool) and abs(answer - self.threshold) <= self.margin
        return self._accepts(self._query([word])[0] if close else answer)

    def _query(self, words: Sequence[Word]) -> list[Answer]:
        answers: list[Answer] = []
        for start in range(0, len(words), self._batch_size):
            answers += self._call(list(words[start : start + self._batch_size]))
        return answers

    def _call(self, words: list[Word]) -> list[Answer]:
        try:
            returned = guarded(lambda: _as_list(self._function(list(words))), lambda: _status(words))
        except (RnncheckError, MemoryError):
            raise
        except (Exception, SystemExit) as error:  # whatever the user's function raises is an error about the model
            word = self._culprit(words)
            raise ModelError(
                f"{self._name} raised {type(error).__name__}: {short_repr(str(error))} for {_word_text(word, words)}"
            ) from error
        if len(returned) != len(words):
            raise ModelError(
                f"{self._name} returned {len(returned)} answers for {len(words)} words; it must return one for each"
            )
        return [self._check_answer(answer, word) for answer, word in zip(returned, words, strict=True)]

    def _check_answer(self, answer: object, word: Word) -> Answer:
        if isinstance(answer, np.ndarray) and answer.size == 1:
            answer = answer.reshape(())[()]
        if isinstance(answer, bool | np.bool_):
            return bool(answer)
        if isinstance(answer, int | float | np.integer | np.floating):
            try:
                number = float(answer)
            except OverflowError:
                number = math.inf if answer > 0 else -math.inf
            if not math.isnan(number):
                return number
        raise ModelError(
            f"{self._name} answered {short_repr(answer)} to the word {short_repr(format_word(word))}; "
            "an answer is True, False or a number"
        )

    def _culprit(self, words: list[Word]) -> Word | None:
        """A word on which the function fails alone, found by bisection; None if only the batch fails."""
        while len(words) > 1:
            half = len(words) // 2
            words = words[:half] if self._fails(words[:half]) else words[half:]
        return words[0] if self._fails(words) else None

    def _fails(self, words: list[Word]) -> bool:
        try:
            guarded(lambda: _as_list(self._function(list(words))), lambda: _status(words))
        except BudgetExceeded:
            raise
        except (Exception, SystemExit):  # the same ones as in _call
            return True
        return False

    def _check(self, checks: int, rng: np.random.Generator) -> None:
        letters, largest = len(self.alphabet), LARGEST_NOISE * max(1.0, abs(self.threshold))
        longest = checks if self.max_length is None else self.max_length
        words = [self.alphabet.decode(rng.integers(letters, size=min(size, longest))) for size in range(checks)]
        alone = [self._query([word])[0] for word in words]
        for word, answer in zip(words, alone, strict=True):
            again = self._query([word])[0]
            if self._accepts(answer) != self._accepts(again) or _noise(answer, again) > largest:
                raise ModelError(
                    f"{self._name} answered {short_repr(answer)} and then {short_repr(again)} to the word "
                    f"{short_repr(format_word(word))}; a model must always give the same answer"
                )
        noise = max(map(_noise, alone, self._query(words)))
        if noise > largest:
            self._batch_size = 1
            self._notes.append("answers depend on the other words of a call, so each call has one word")
        else:
            self.margin = max(self.margin, NOISE_FACTOR * noise)


def _noise(first: Answer, second: Answer) -> float:
    """The difference between two answers to one word; infinite if they differ and are not both numbers."""
    if first == second and isinstance(first, bool) == isinstance(second, bool):
        return 0.0
    return math.inf if isinstance(first, bool) or isinstance(second, bool) else abs(first - second)


def _as_list(returned: Any) -> list[Any]:
    """The answers as a list; tensors are moved to the CPU, and a single column of numbers becomes a list."""
    if hasattr(returned, "detach"):
        returned = returned.detach().cpu().numpy()
    if isinstance(returned, str | bytes | Mapping):
        raise TypeError(f"it returned the {type(returned).__name__} {short_repr(returned)}, not a list of answers")
    if not isinstance(returned, Iterable):
        raise TypeError(
            f"it returned {short_repr(returned)}; it gets a list of words and must return one answer for each"
        )
    if isinstance(returned, np.ndarray) and returned.ndim == 2 and returned.shape[1] == 1:
        returned = returned[:, 0]
    return list(returned)


def _status(words: Sequence[Word]) -> str:
    first = short_repr(format_word(words[0]))
    some = f"the word {first}" if len(words) == 1 else f"{len(words)} words, the first of them {first}"
    return f"the model was evaluating {some}"


def _word_text(word: Word | None, words: Sequence[Word]) -> str:
    if word is None:
        return f"a batch of {len(words)} words, though not for any of them alone"
    return f"the word {short_repr(format_word(word))}"
