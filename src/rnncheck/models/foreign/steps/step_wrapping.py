"""``wrap_steps``: functions that step a model, tried out before they are used.

Stepping keeps states, continues from one of them several times, and passes many in one call. That is only correct if a
step is a function of its states and letters, row by row. So words are stepped alone, twice; from states that were kept
while other words were read; together, in two orders; and compared with whole words if there is a function of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rnncheck.errors import InputError, ModelError, short_repr
from rnncheck.models.black_box import DEFAULT_MARGIN
from rnncheck.models.fingerprint import check_fingerprint
from rnncheck.models.foreign.callables import CallableModel, WordFunction
from rnncheck.models.foreign.steps.step_functions import DEFAULT_BATCH, FunctionModel, StepCheck, StepFunctions
from rnncheck.models.protocol import LARGEST_NOISE, NOISE_FACTOR, Scores, SteppingModel
from rnncheck.runtime.watchdog import guarded_for
from rnncheck.words import Alphabet, Codes, WordBatch, format_word

_LENGTHS = (1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 25, 32, 50, 99)


def wrap_steps(
    initial: Callable[[int], Any],
    step: Callable[[Any, Any], Any],
    score: Callable[[Any], Any],
    alphabet: Iterable[str],
    *,
    whole_words: WordFunction | None = None,
    empty: bool | None = None,
    batch_size: int = DEFAULT_BATCH,
    max_length: int | None = None,
    seed: int = 0,
    timeout: float | None = None,
    fingerprint: str | None = None,
) -> SteppingModel:
    """Make a model of three functions that step it: as fast as a network of ours, whatever it is made of.

    ``initial(rows)`` returns the state before any letter, ``rows`` times: an array of numpy or PyTorch, or a tuple,
    list, dictionary or data class of arrays. Every array has one axis with one place per row. ``step(states, letters)``
    returns the states after one more letter each; ``letters`` are positions in ``alphabet``, as an array of the same
    library. It may change its arguments. ``score(states)`` returns one number per row: **above 0 accepts**.

    ``whole_words``, if you have it, is the model as you would call it otherwise: a function from a list of words to
    one answer each, the same number or ``True`` and ``False``. It is then the reference: the steps are compared with
    it, and it confirms every counterexample. Without it the reference is the steps on the word alone.

    The answer to the empty word is the score of the initial state, unless ``empty`` gives it. A call has at most
    ``batch_size`` rows. ``verify`` queries no word of more than ``max_length`` letters. The functions are tried out on
    some words; if they hang, ``timeout`` (in seconds) ends that with a ResourceLimitError.

    ``fingerprint`` is a text that you change whenever the functions, or anything they read, change: a checkpoint can be
    resumed while it is the same, and not without it.
    """
    letters = alphabet if isinstance(alphabet, Alphabet) else Alphabet(alphabet)
    for name, function in {"initial": initial, "step": step, "score": score}.items():
        if not callable(function):
            raise InputError(f"{name} is {short_repr(function)}; give a function")
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise InputError(f"batch size {short_repr(batch_size)} is not a whole number of at least 1")
    if max_length is not None and max_length < 2:
        raise InputError(f"max_length {max_length} is less than 2")

    def make() -> FunctionModel:
        whole = None
        if whole_words is not None:
            whole = CallableModel(whole_words, letters, threshold=0.0, batch_size=1, checks=0, max_length=max_length)
        functions = StepFunctions(initial, step, score)
        model = FunctionModel(
            functions,
            letters,
            whole=whole,
            empty=empty,
            batch_size=batch_size,
            max_length=max_length,
            fingerprint=check_fingerprint(fingerprint),
        )
        check_steps(model, np.random.default_rng(seed))
        return model

    return guarded_for(timeout, make, "the functions were being tried out")


def check_steps(model: FunctionModel, rng: np.random.Generator) -> None:
    """Try the functions out, and set the margin and the rows per call; a ModelError if they cannot be used."""
    longest = max(_LENGTHS) if model.max_length is None else model.max_length
    words = [
        tuple(rng.integers(len(model.alphabet), size=min(length, longest)).tolist()) for length in sorted(_LENGTHS)
    ]
    alone = np.array([_score_alone(model, word) for word in words])
    scale = max(1.0, float(np.abs(alone).max()))
    largest = LARGEST_NOISE * scale
    _check_initial(model)
    again = np.array([_score_alone(model, word) for word in reversed(words)])[::-1]
    _require_equal(model, words, alone, again, largest, "and then", "a model must always give the same answer")
    kept = _scores_from_kept_states(model, words)
    why = "a step must depend only on its states and letters, and keep nothing for itself"
    _require_equal(model, words, alone, kept, largest, "but from a state that was kept meanwhile", why)
    noise = max(_largest_difference(alone, again), _largest_difference(alone, kept))
    together = max(
        _largest_difference(alone, _scores_together(model, words, order)) for order in _orders(len(words), rng)
    )
    if together <= largest:
        noise = max(noise, together)
    else:
        model.batch_size = 1
        model.notes.append("rows of one call influence one another, so each word is stepped alone")
    noise = max(noise, _compare_with_whole_words(model, words, alone, largest))
    compared = 0 if model.whole is None else len(words)
    model.margin = 0.0 if model.by_reference() is model else max(DEFAULT_MARGIN, NOISE_FACTOR * noise)
    model.self_check = StepCheck(len(words), noise, scale, compared)


def _score_alone(model: FunctionModel, word: Codes) -> float:
    score = float(model.scores(model.state_after(word))[0])
    if not np.isfinite(score):
        raise ModelError(
            f"score returns {score} for the word {_text(model, word)}, which is no answer; return finite numbers"
        )
    return score


def _check_initial(model: FunctionModel) -> None:
    """Raise a ModelError unless every row of every call begins in the same state."""
    for rows in (1, 2, 5):
        states = model.fresh_initial(rows)
        if not np.array_equal(states, model.initial(rows), equal_nan=True):
            raise ModelError(
                f"initial({rows}) returns a row that differs from initial(1); every word must begin in the same state"
            )


def _scores_from_kept_states(model: FunctionModel, words: list[Codes]) -> Scores:
    """The scores of words whose second halves are read after the first halves of all other words."""
    kept = [model.state_after(word[: len(word) // 2]) for word in words]
    found = []
    for states, word in zip(kept, words, strict=True):
        for code in word[len(word) // 2 :]:
            states = model.step(states, np.array([code]))
        found.append(float(model.scores(states)[0]))
    return np.array(found)


def _orders(count: int, rng: np.random.Generator) -> list[list[int]]:
    return [list(range(count)), rng.permutation(count).tolist()]


def _scores_together(model: FunctionModel, words: list[Codes], order: list[int]) -> Scores:
    """The scores of words that are stepped in one batch in this order, returned in their original order."""
    scores = np.empty(len(words))
    scores[order] = model.scores_batch(WordBatch.from_codes([words[place] for place in order]))
    return scores


def _compare_with_whole_words(model: FunctionModel, words: list[Codes], alone: Scores, largest: float) -> float:
    """The largest difference from the function of whole words; a ModelError if the steps are another model."""
    if model.whole is None:
        return 0.0
    numbers = model.whole.scores_batch([model.alphabet.decode(word) for word in words])
    if numbers is not None:
        same = "the two are not the same model"
        _require_equal(model, words, alone, numbers, largest, "stepped, and whole_words returns", same)
        return _largest_difference(alone, numbers)
    for word, score in zip(words, alone.tolist(), strict=True):
        if abs(score) > DEFAULT_MARGIN and model.whole.reference_answer(word) != (score > 0):
            raise ModelError(
                f"on the word {_text(model, word)} the score is {score:.6g} stepped, and whole_words "
                f"{'rejects' if score > 0 else 'accepts'} it; the two are not the same model"
            )
    return 0.0


def _require_equal(
    model: FunctionModel, words: list[Codes], first: Scores, second: Scores, largest: float, how: str, rule: str
) -> None:
    apart = ~(np.abs(first - second) <= largest)
    if apart.any():
        at = int(np.flatnonzero(apart)[0])
        raise ModelError(
            f"on the word {_text(model, words[at])} the score is {first[at]:.6g} {how} {second[at]:.6g}; {rule}"
        )


def _largest_difference(first: Scores, second: Scores) -> float:
    return float(np.nan_to_num(np.abs(first - second), nan=np.inf).max())


def _text(model: FunctionModel, word: Codes) -> str:
    return short_repr(format_word(model.alphabet.decode(word)), 120)
