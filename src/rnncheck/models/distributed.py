"""A network whose long batches are evaluated by other processes, or by a cluster.

Whole words are sent, as a sampler draws them, and the score after every letter comes back. Everything else (the short
queries of learners, searches) is evaluated here, since sending would cost more than evaluating. Scores may differ in
their last bits but answers do not, so nothing depends on which worker read a word. Some words of every share are
evaluated here too: a worker with another version, or with broken arithmetic, would otherwise decide a verdict.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Mapping
from concurrent.futures import wait
from typing import Any

import numpy as np

from rnncheck.errors import InputError, RnncheckError, short_repr
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.protocol import Letters, Model, Scores, States, SteppingModel, Tick, no_tick
from rnncheck.runtime.executors import Executor
from rnncheck.words import Codes, IntArray, WordBatch, format_word

_WORTH_SENDING = 2_000  # letters; fewer are evaluated here
_COMPARED_WORDS = 8  # of each share
_POLL_SECONDS = 0.2  # between two checks of the budget


def distributed(model: Model, executor: Executor) -> SteppingModel:
    """The model, with its long batches read by the executor's workers."""
    if not isinstance(model, CompiledNetwork):
        raise InputError(
            f"only a compiled network can be sent to workers, and this is a {type(model).__name__}; leave out "
            "--workers and --cluster"
        )
    return _Distributed(model, executor)


class _Distributed(SteppingModel):
    def __init__(self, model: CompiledNetwork, executor: Executor) -> None:
        self._model = model
        self._executor = executor
        self.network = model.network
        self.alphabet, self.max_length = model.alphabet, model.max_length
        self.margin = model.margin
        self.accepts_empty = model.accepts_empty
        self.empty_score = model.empty_score

    @functools.cached_property
    def _shared_bytes(self) -> Any:
        """The network as bytes, for all shares: the executor sends them to a worker once."""
        return self._executor.share(pickle.dumps(self._model.with_threads(1)))

    def initial(self, rows: int) -> States:
        return self._model.initial(rows)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        return self._model.step(states, letters, rows)

    def scores(self, states: States) -> Scores:
        return self._model.scores(states)

    def reference_answer(self, codes: Codes) -> bool:
        return self._model.reference_answer(codes)

    def reference_score(self, codes: Codes) -> float:
        return self._model.reference_score(codes)

    def describe(self) -> Mapping[str, Any]:
        return self._model.describe()

    def fingerprint(self) -> str:
        return self._model.fingerprint()

    @property
    def covers_reference(self) -> bool:  # type: ignore[override]
        return self._model.covers_reference

    def by_reference(self) -> Model:
        return self._model.by_reference()

    def prefix_scores(self, words: WordBatch, tick: Tick = no_tick) -> Scores:
        if len(words.codes) < _WORTH_SENDING:
            return self._model.prefix_scores(words, tick)
        words.check_codes(len(self.alphabet))
        tick(len(words.codes))
        workers = self._executor.workers
        order = np.argsort(-words.lengths, kind="stable")
        shares = [np.sort(order[nth::workers]) for nth in range(min(workers, len(order)))]
        futures = [self._executor.submit(_scores, self._shared_bytes, words.take(share)) for share in shares]
        try:
            while wait(futures, timeout=_POLL_SECONDS).not_done:
                tick(0)  # the budget may end while others work
        except BaseException:
            for future in futures:
                future.cancel()
            raise
        out = np.empty(len(words.codes), dtype=np.float64)
        for share, future in zip(shares, futures, strict=True):
            part = words.take(share)
            scores = _check_scores(future.result(), len(part.codes))
            self._compare(part, scores)
            places = [np.arange(words.offsets[word], words.offsets[word + 1]) for word in share]
            out[np.concatenate(places)] = scores
        return out

    def _compare(self, words: WordBatch, scores: Scores) -> None:
        """Raise an error if a worker's scores are not ours. Not counted: steps may not depend on the workers."""
        picked = np.unique(np.linspace(0, len(words) - 1, _COMPARED_WORDS).astype(np.int64))
        some = words.take(picked)
        theirs = np.concatenate([scores[words.offsets[word] : words.offsets[word + 1]] for word in picked])
        ours = self._model.prefix_scores(some)
        with np.errstate(invalid="ignore"):  # infinite on both sides
            near = np.abs(theirs - ours) <= 2 * self.margin  # each may be off by the margin
        apart = ~(near | (theirs == ours) | (np.isnan(theirs) & np.isnan(ours)))
        if apart.any():
            place = int(apart.argmax())
            word = short_repr(format_word(self.alphabet.decode(some.prefix_ending_at(place))))
            raise RnncheckError(
                f"a worker gives the word {word} the score {theirs[place]:.6g}, and this machine {ours[place]:.6g}; "
                "does it run the same version? Without --workers and --cluster everything is evaluated here"
            )


def _check_scores(result: object, letters: int) -> Scores:
    """The result of a worker if it is one number per letter; anything else would become an answer unnoticed."""
    if isinstance(result, np.ndarray) and result.dtype.kind == "f" and result.shape == (letters,):
        return result
    raise RnncheckError(
        f"a worker returned {short_repr(result)} instead of {letters} scores; does it run the same version?"
    )


def _scores(pickled: bytes, words: WordBatch) -> Scores:
    return _unpickle(pickled).prefix_scores(words)


@functools.lru_cache(maxsize=2)
def _unpickle(pickled: bytes) -> CompiledNetwork:
    """The network in a worker, compiled once."""
    model: CompiledNetwork = pickle.loads(pickled)
    return model
