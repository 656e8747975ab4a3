"""The membership oracle: every query to a model goes through it, in batches, and each is paid for once."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import Mask
from rnncheck.automata.moore import Outputs
from rnncheck.errors import InputError
from rnncheck.models.labelled import LabelledNetwork
from rnncheck.models.protocol import Model, Scores, SteppingModel, slices_within
from rnncheck.oracle.backends import Pair, QueryBackend, SteppingBackend, WholeWordBackend
from rnncheck.oracle.cache import AnswerCache, WordKeys
from rnncheck.oracle.counters import Cost, Counters
from rnncheck.oracle.journal import Journal, JournaledBackend
from rnncheck.oracle.readout import AnswerReadout, LabelReadout, Readout
from rnncheck.oracle.stepper import CountedSteps, SpelledWords, Stepper
from rnncheck.runtime.budget import UNLIMITED, Budget
from rnncheck.words import Codes, WordBatch

Query: TypeAlias = tuple[Codes, Codes]  # an access word and a suffix
Words: TypeAlias = WordBatch | Iterable[Sequence[int]]

DEFAULT_MEMORY = 1 << 30

_BYTES_PER_QUERY = 1000  # of a pending query, without its state
_QUERIES_AT_ONCE = (1 << 10, 1 << 16)
_SCORED_AT_ONCE = 1 << 14  # letters between two checks of the budget


class MembershipOracle:
    """Answers membership queries about a model: batched, cached, counted, and only within a budget.

    Words are tuples of letter positions, or a WordBatch. A query is a whole word or a pair (access word, suffix):
    with a stepping model the state after every access word is stored, so that only the suffix is paid for, and words
    of one batch share the cost of their common prefixes. Answers are the same however queries are batched.

    With ``labels`` the model is a network with several labels, and an answer is the position of a label.

    ``memory_limit`` bounds, in bytes, the cache and the working space (the batch itself is the caller's). When it is
    reached, the least recently used states and answers are evicted, which costs time and nothing else.
    ``budget`` is checked between steps and ends a call by BudgetExceeded. Answers obtained until then are cached and
    counted, and the oracle can be used again. ``counters``: count on those of another oracle, and keep its budget.

    Not safe for use by several threads at once.
    """

    def __init__(
        self,
        model: Model,
        *,
        labels: bool = False,
        memory_limit: int = DEFAULT_MEMORY,
        budget: Budget = UNLIMITED,
        journal: Journal | None = None,
        counters: Counters | None = None,
    ) -> None:
        if memory_limit < 0:
            raise InputError(f"a memory limit of {memory_limit} bytes was given; give 0 or more")
        self.model = model
        self._memory_limit = memory_limit
        self.alphabet = model.alphabet
        self._keys = WordKeys(model.alphabet)
        self._cache = AnswerCache(memory_limit // 4)
        self._counters = counters or Counters(budget)
        self._readout = _readout(model, labels)
        self._dtype: npt.DTypeLike = np.int64 if labels else np.bool_
        self._backend: QueryBackend
        if self._readout is None:
            self._backend = WholeWordBackend(model, self._keys, self._counters)
        else:
            half, eighth = memory_limit // 2, memory_limit // 8
            self._backend = SteppingBackend(
                self._readout, self._keys, self._counters, state_bytes=half, working_bytes=eighth
            )
        if journal is not None:
            self._backend = JournaledBackend(self._backend, journal, self._counters)
        self._at_once = int(np.clip(memory_limit // 8 // _BYTES_PER_QUERY, *_QUERIES_AT_ONCE))

    @property
    def cost(self) -> Cost:
        """The cost so far."""
        return self._counters.cost

    @property
    def budget(self) -> Budget:
        """The budget of further calls; can be replaced."""
        return self._counters.budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        self._counters.budget = budget

    @property
    def stepping(self) -> bool:
        """Whether the model shows its states; the answers on prefixes then cost nothing extra."""
        return self._readout is not None

    @functools.cached_property
    def stepper(self) -> Stepper:
        """The model's states, stepped letter by letter; of a black-box model the state is the word so far."""
        if isinstance(self.model, SteppingModel):
            return CountedSteps(self.model, self._counters)
        return SpelledWords(self.alphabet, self.answers)

    def answer(self, word: Sequence[int]) -> int:
        """The answer to one word."""
        answer: int = self.answers([word])[0].item()
        return answer

    def answers(self, words: Words) -> npt.NDArray[Any]:
        """One answer per word, in order."""
        batch = words if isinstance(words, WordBatch) else list(words)
        found: list[int] = []
        for part in self._parts(len(batch)):
            some = batch.take(np.arange(part.start, part.stop)) if isinstance(batch, WordBatch) else batch[part]
            keys = self._keys.keys(some)
            found += self._look_up(keys, lambda i, keys=keys: self._backend.split(keys[i]), keys)  # type: ignore[misc]
        return np.array(found, dtype=self._dtype)

    def ask(self, queries: Sequence[Query]) -> npt.NDArray[Any]:
        """One answer per query (access word, suffix), in order. The states after the access words are stored.

        A learner that queries several suffixes after ``u a`` passes ``u a`` as the access word, not ``u``.
        """
        found: list[int] = []
        for part in self._parts(len(queries)):
            some = list(queries[part])
            # The same tuples come again and again, and comparing identities is quicker than hashing words.
            words = {id(word): word for query in some for word in query}
            key_of = dict(zip(words, self._keys.keys(words.values()), strict=True))
            pairs = [(key_of[id(access)], key_of[id(suffix)]) for access, suffix in some]
            suffixes = [suffix for _, suffix in pairs]
            found += self._look_up([access + suffix for access, suffix in pairs], pairs.__getitem__, suffixes)
        return np.array(found, dtype=self._dtype)

    def table(self, access: Sequence[Codes], suffixes: Sequence[Codes]) -> npt.NDArray[Any]:
        """The answers to every access word with every suffix: one row per access word, one column per suffix."""
        return self.ask(list(itertools.product(access, suffixes))).reshape(len(access), len(suffixes))

    def prefix_answers(self, words: WordBatch) -> Mask | Outputs:
        """The answers after every letter of every word, aligned with ``words.codes``. They are not cached.

        A stepping model gives them for the price of the words: each word counts as one query, and the answers on its
        proper prefixes as ``prefix_answers``. Of any other model every prefix is queried, at that price.
        """
        words.check_codes(len(self.alphabet))
        if len(words.codes):
            self._counters.batches += 1
        self._counters.work += len(words.codes)
        return self._backend.prefix_answers(words)

    def scores(self, words: WordBatch) -> Scores | None:
        """How far each word is from the threshold; None where the model has no scores. They are not cached."""
        found: list[Scores] = [np.zeros(0)]
        rest = ((1 + start, 1 + end) for start, end in slices_within(words.offsets[1:], _SCORED_AT_ONCE))
        for start, end in ((0, min(1, len(words))), *rest):  # one word shows whether there are any
            part = words.take(np.arange(start, end))
            self._counters.tick(len(part.codes))
            self._counters.work += len(part.codes)
            scores = self.model.scores_batch(part)
            if scores is None:
                return None
            found.append(scores)
        return np.concatenate(found)

    def reference_answer(self, word: Sequence[int]) -> bool:
        """The reference's answer to one word; it replaces the cached one."""
        key = self._keys.key(word)
        is_new = self._cache.get([key]) == [None]
        self._charge(len(word))
        answer = self.model.reference_answer(self._keys.codes(key))
        self._counters.queries += is_new
        self._cache.put({key: answer})
        return answer

    def reference_score(self, word: Sequence[int]) -> float | None:
        """How far the reference's score of a word is from the threshold; None where it has none."""
        self.budget.check()
        score = self.model.reference_score(tuple(word))
        if score is not None:  # without a score nothing was read
            self._charge(len(word))
        return score

    def by_reference(self) -> MembershipOracle:
        """An oracle that queries the reference alone, with the same counters and budget."""
        model = self.model.by_reference()
        if model is self.model:
            return self
        return MembershipOracle(model, memory_limit=self._memory_limit, counters=self._counters)

    def _charge(self, steps: int) -> None:
        self._counters.tick(steps)
        self._counters.work += steps

    def _parts(self, count: int) -> list[slice]:
        return [slice(start, min(start + self._at_once, count)) for start in range(0, count, self._at_once)]

    def _look_up(self, keys: list[bytes], pair_of: Callable[[int], Pair], suffixes: Sequence[bytes]) -> list[int]:
        """The answers to words; those not cached are queried.

        ``pair_of(i)`` is how to query word ``i``, and the letters of ``suffixes[i]`` count as work.
        """
        cached = self._cache.get(keys)
        new = {key: i for i, (key, answer) in enumerate(zip(keys, cached, strict=True)) if answer is None}
        fresh: dict[bytes, int] = {}

        def store(answers: Mapping[bytes, int]) -> None:
            fresh.update(answers)
            self._cache.put(answers)
            self._counters.queries += len(answers)

        if new:
            self._counters.batches += 1
            self._counters.work += sum(self._keys.lengths([suffixes[i] for i in new.values()]).tolist()) + len(new)
            self._backend.answer([pair_of(i) for i in new.values()], store)
        return [fresh[key] if answer is None else answer for key, answer in zip(keys, cached, strict=True)]


def _readout(model: Model, labels: bool) -> Readout | None:
    if labels:
        return LabelReadout(LabelledNetwork.of(model))
    return AnswerReadout(model) if isinstance(model, SteppingModel) else None
