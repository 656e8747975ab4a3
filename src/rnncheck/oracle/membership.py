"""The membership oracle: every question to a model goes through it, in batches, and each is paid for once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.errors import InputError
from rnncheck.models.protocol import Model, SteppingModel
from rnncheck.oracle.backends import Ledger, Pair, Questions, SteppedQuestions, WholeWordQuestions
from rnncheck.oracle.cache import RememberedAnswers, WordKeys
from rnncheck.oracle.journal import Journal, JournaledQuestions
from rnncheck.runtime.budget import UNLIMITED, Budget
from rnncheck.words import Codes, WordBatch

Query: TypeAlias = tuple[Codes, Codes]  # an access word and a suffix
Words: TypeAlias = WordBatch | Iterable[Sequence[int]]

DEFAULT_MEMORY = 1 << 30

_BYTES_A_QUERY = 1000  # what one pending query needs while it is being answered, its state apart
_QUERIES_AT_ONCE = (1 << 10, 1 << 16)


@dataclass(frozen=True)
class Cost:
    """What was asked and what it took.

    ``membership_queries`` counts words whose answer was asked for, each once (once more if it had to be forgotten for
    want of memory and was asked for again). ``prefix_answers`` counts the answers on prefixes that came along with
    such a word. ``network_steps`` counts rows × steps computed: one for each letter that the model has read.
    ``batches`` counts the times that new words were put to the model: once a call, unless a call is very large.
    ``work`` counts the letters that questions were about, whatever was saved on the way: it depends on the questions
    alone, so decisions that must not depend on what happens to be in memory are made by it.
    """

    membership_queries: int = 0
    network_steps: int = 0
    batches: int = 0
    prefix_answers: int = 0
    work: int = field(default=0, compare=False)

    def __sub__(self, earlier: Cost) -> Cost:
        return Cost(
            self.membership_queries - earlier.membership_queries,
            self.network_steps - earlier.network_steps,
            self.batches - earlier.batches,
            self.prefix_answers - earlier.prefix_answers,
            self.work - earlier.work,
        )


class Oracle:
    """Answers membership queries about a model: batched, remembered, counted, and only within a budget.

    Words are tuples of letter positions, or a WordBatch. A query is a whole word or a pair (access word, suffix):
    with a stepping model the state after every access word is kept, so that only the suffix is paid for, and words
    of one batch share the cost of what they begin with. Answers are the same however queries are batched.

    ``memory_limit`` bounds, in bytes, what is kept and the working space (the batch itself is the caller's). When it
    is reached, the least recently used states and answers are given up, which costs time and nothing else.
    ``budget`` is checked between steps and ends a call by BudgetExceeded. Answers obtained until then are remembered
    and counted, and the oracle can be asked again.

    Not to be used by several threads at once.
    """

    def __init__(
        self,
        model: Model,
        *,
        memory_limit: int = DEFAULT_MEMORY,
        budget: Budget = UNLIMITED,
        journal: Journal | None = None,
    ) -> None:
        if memory_limit < 0:
            raise InputError(f"a memory limit of {memory_limit} bytes was given; give 0 or more")
        self.model = model
        self.alphabet = model.alphabet
        self.stepping = isinstance(model, SteppingModel)  # answers on prefixes then come with the word's
        self._keys = WordKeys(model.alphabet)
        self._remembered = RememberedAnswers(memory_limit // 4)
        self._ledger = Ledger(budget)
        self._questions = _questions(model, self._keys, self._ledger, memory_limit)
        if journal is not None:
            self._questions = JournaledQuestions(self._questions, journal, self._ledger)
        self._at_once = int(np.clip(memory_limit // 8 // _BYTES_A_QUERY, *_QUERIES_AT_ONCE))

    @property
    def cost(self) -> Cost:
        """What has been asked so far."""
        ledger = self._ledger
        return Cost(ledger.queries, ledger.steps, ledger.batches, ledger.prefix_answers, ledger.work)

    @property
    def budget(self) -> Budget:
        """The budget of the calls to come; may be set anew."""
        return self._ledger.budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        self._ledger.budget = budget

    def answer(self, word: Sequence[int]) -> bool:
        """The answer to one word."""
        return bool(self.answers([word])[0])

    def answers(self, words: Words) -> Mask:
        """One answer a word, in order."""
        batch = words if isinstance(words, WordBatch) else list(words)
        found: list[bool] = []
        for part in self._parts(len(batch)):
            some = batch.take(np.arange(part.start, part.stop)) if isinstance(batch, WordBatch) else batch[part]
            keys = self._keys.keys(some)
            found += self._found(keys, lambda i, keys=keys: self._questions.split(keys[i]), keys)  # type: ignore[misc]
        return np.array(found, dtype=np.bool_)

    def ask(self, queries: Sequence[Query]) -> Mask:
        """One answer a query (access word, suffix), in order. The states after the access words are kept.

        A learner that has several suffixes after ``u a`` names ``u a`` as the access word, not ``u``.
        """
        found: list[bool] = []
        for part in self._parts(len(queries)):
            some = list(queries[part])
            # The same tuples come again and again, and comparing identities is quicker than hashing words.
            words = {id(word): word for query in some for word in query}
            key_of = dict(zip(words, self._keys.keys(words.values()), strict=True))
            pairs = [(key_of[id(access)], key_of[id(suffix)]) for access, suffix in some]
            suffixes = [suffix for _, suffix in pairs]
            found += self._found([access + suffix for access, suffix in pairs], pairs.__getitem__, suffixes)
        return np.array(found, dtype=np.bool_)

    def table(self, access: Sequence[Codes], suffixes: Sequence[Codes]) -> Mask:
        """The answers to every access word with every suffix: one row an access word, one column a suffix."""
        pairs = list(itertools.product(self._keys.keys(access), self._keys.keys(suffixes)))
        found: list[bool] = []
        for part in self._parts(len(pairs)):
            rests = [suffix for _, suffix in pairs[part]]
            found += self._found([word + suffix for word, suffix in pairs[part]], pairs[part].__getitem__, rests)
        return np.array(found, dtype=np.bool_).reshape(len(access), len(suffixes))

    def prefix_answers(self, words: WordBatch) -> Mask:
        """The answers after every letter of every word, aligned with ``words.codes``. They are not remembered.

        A stepping model gives them for the price of the words: each word counts as one query, and what its proper
        prefixes tell as ``prefix_answers``. Any other model is asked for every prefix, at that price.
        """
        words.check_codes(len(self.alphabet))
        if len(words.codes):
            self._ledger.batches += 1
        self._ledger.work += len(words.codes)
        return self._questions.prefix_answers(words)

    def confirm(self, word: Sequence[int]) -> bool:
        """The answer to one word by the model's own definition, whatever is remembered; from now on this one is."""
        key = self._keys.key(word)
        is_new = self._remembered.get([key]) == [None]
        self._ledger.tick(len(word))
        self._ledger.work += len(word)
        answer = self.model.definition(self._keys.codes(key))
        self._ledger.queries += is_new
        self._remembered.put({key: answer})
        return answer

    def tick(self, steps: int) -> None:
        """Charge steps that a search is about to take with the model itself, or raise BudgetExceeded."""
        self._ledger.tick(steps)
        self._ledger.work += steps

    def asked(self, words: int) -> None:
        """Count words that a search has read off the model itself; those that several searches meet count each time."""
        self._ledger.queries += words

    def _parts(self, count: int) -> list[slice]:
        return [slice(start, min(start + self._at_once, count)) for start in range(0, count, self._at_once)]

    def _found(self, keys: list[bytes], pair_of: Callable[[int], Pair], rests: Sequence[bytes]) -> list[bool]:
        """The answers to words; those not remembered are asked for.

        ``pair_of(i)`` says how to ask for word ``i``, and ``rests[i]`` is the part of it that is work.
        """
        remembered = self._remembered.get(keys)
        new = {key: i for i, (key, answer) in enumerate(zip(keys, remembered, strict=True)) if answer is None}
        fresh: dict[bytes, bool] = {}

        def store(answers: Mapping[bytes, bool]) -> None:
            fresh.update(answers)
            self._remembered.put(answers)
            self._ledger.queries += len(answers)

        if new:
            self._ledger.batches += 1
            self._ledger.work += sum(self._keys.lengths([rests[i] for i in new.values()]).tolist()) + len(new)
            self._questions.answer([pair_of(i) for i in new.values()], store)
        return [fresh[key] if answer is None else answer for key, answer in zip(keys, remembered, strict=True)]


def _questions(model: Model, keys: WordKeys, ledger: Ledger, memory_limit: int) -> Questions:
    if isinstance(model, SteppingModel):
        half, eighth = memory_limit // 2, memory_limit // 8
        return SteppedQuestions(model, keys, ledger, state_bytes=half, working_bytes=eighth)
    return WholeWordQuestions(model, keys, ledger)
