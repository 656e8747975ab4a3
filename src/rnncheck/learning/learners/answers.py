"""What a learner knows about the target: one answer per word, each queried once."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InconsistentAnswersError, InputError, LearningBoundReached, short_repr
from rnncheck.learning.learners.runs import Runs, StateOutputs
from rnncheck.oracle import Query
from rnncheck.runtime.cooperative import CooperativeWork, finish
from rnncheck.words import Codes, WordBatch, shortlex_key

Ask: TypeAlias = Callable[[Sequence[Query]], Iterable[int]]  # yes and no, or the positions of labels

Sifted: TypeAlias = dict[Codes, Query]
Implied: TypeAlias = Callable[[Iterable[Codes]], Iterable[Codes]]

# Below this a loop over the words is quicker than array operations, one per letter of the longest word.
_FEW_WORDS = 64
# About how many letters one batch reads: larger ones are divided, with a pause after each part.
_LETTERS_AT_ONCE = 1 << 14


class InconsistentLabelsError(InconsistentAnswersError):
    """Two answers about the same word are different labels, given by their positions."""

    def __init__(self, word: Codes, first: int, now: int) -> None:
        super().__init__(word, before=bool(first))
        self.first = first
        self.now = now
        message = (
            f"the word with letter positions {short_repr(list(word))} was first given label {first} and is now given "
            f"label {now}; give each word one answer (remember answers, or fix the known words)"
        )
        self.args = (message,)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.word, self.first, self.now))


class Answers:
    """Caches every answer, queries only new words, and raises LearningBoundReached above ``max_query_length``.

    An answer is a number below ``outputs``: 0 or 1 for no and yes, or the position of a label.

    Because no word is queried twice, a learner sees a function of the word even where ``ask`` is not one: changing
    answers cannot make it loop.

    With ``prefixes`` the prefixes of every suffix are queried in the same batch as the suffix.
    """

    def __init__(
        self, ask: Ask, *, max_query_length: int | None = None, prefixes: bool = False, outputs: int = 2
    ) -> None:
        self._ask: Ask | None = ask
        self._outputs = outputs
        self._read: Callable[[Any], int] = bool if outputs == 2 else int
        self.max_query_length = max_query_length
        self.prefixes = prefixes
        self._answers: dict[Codes, int] = {}
        self._shelves: defaultdict[int, _Shelf] = defaultdict(_Shelf)  # by the number of bits of the words' lengths
        self._runs: Runs | None = None
        # The words to look at in every hypothesis, where their queries were split, and whether they imply others.
        self._log: list[tuple[Codes, int, bool]] = []
        self._sifts: list[Sifted] = []  # those that have not ended
        self._filed = self._filed_at = 0  # how many of them are on shelves or followed; transitions when filing began

    def __getstate__(self) -> dict[str, object]:
        unfiled: dict[str, object] = {"_shelves": defaultdict(_Shelf), "_runs": None, "_filed": 0, "_filed_at": 0}
        return {**self.__dict__, "_ask": None, **unfiled}

    def connect(self, ask: Ask) -> None:
        """Use ``ask`` for queries from now on."""
        self._ask = ask

    def __len__(self) -> int:
        return len(self._answers)

    def __contains__(self, word: Codes) -> bool:
        return word in self._answers

    def __getitem__(self, word: Codes) -> int:
        return self._answers[word]

    def known(self, word: Codes) -> int | None:
        """The cached answer, or None."""
        return self._answers.get(word)

    def add(self, word: Codes, answer: int) -> None:
        """Add an answer that was obtained elsewhere."""
        answer = self._read(answer)
        self._check([answer])
        if word not in self._answers:
            new: dict[Codes, Query] = {word: ((), word)}
            self._remember(new, [answer], new)
        first = self._answers[word]
        if first != answer:
            raise (
                InconsistentAnswersError(word, before=bool(first))
                if self._outputs == 2
                else InconsistentLabelsError(word, first, answer)
            )

    def of(self, queries: Sequence[Query]) -> list[int]:
        """One answer per query, in order; new words are queried together."""
        return finish(self.asking(queries))

    def asking(self, queries: Sequence[Query], *, sifted: Sifted | None = None) -> CooperativeWork[list[int]]:
        """Like ``of``, with a pause after every batch of bounded work.

        Queries that place words in a tree are added to ``sifted``: when the sift has ended, other words stand for them.
        """
        known = self._answers
        words = [access + suffix for access, suffix in queries]
        found = list(map(known.get, words))
        if None not in found:
            return cast("list[int]", found)
        new = {word: query for word, query, answer in zip(words, queries, found, strict=True) if answer is None}
        yield from self.asking_new(new, sifted=sifted)
        return [known[word] for word in words]

    def asking_new(self, new: dict[Codes, Query], *, sifted: Sifted | None = None) -> CooperativeWork[None]:
        """Like ``asking``, of words that are not known, each with its query."""
        if not new:
            return
        longest, limit = max(map(len, new)), self.max_query_length
        if limit is not None and longest > limit:
            raise LearningBoundReached("max_query_length", limit)
        is_small = not self.prefixes and (1 + longest) * len(new) < _LETTERS_AT_ONCE
        for batch in (new,) if is_small else self._batches(new):
            prefixes = self._new_prefixes(batch.values()) if self.prefixes else {}
            batch |= prefixes
            self._remember(batch, self._replies(list(batch.values())), batch if sifted is None else prefixes)
            if sifted is not None:
                self._begin_sift(sifted)
                sifted |= batch
            yield

    def _begin_sift(self, sifted: Sifted) -> None:
        if not sifted and all(sifted is not other for other in self._sifts):
            self._sifts.append(sifted)

    def end_sift(self, sifted: Sifted) -> None:
        """These words have their places in a tree, and others that are looked at stand for them."""
        sifted.clear()
        self._sifts = [other for other in self._sifts if other is not sifted]

    def look_at_all(self) -> None:
        """Look at every known word in every hypothesis: no words stand for others."""
        self._log += [(word, 0, False) for word in self._answers]

    def watch(self, access: Codes, suffix: Codes) -> None:
        """Look at this known word in every hypothesis, though it was sifted, because sifted words depend on it."""
        self._log.append((access + suffix, len(access), True))

    def confirm(self, words: Sequence[Codes]) -> None:
        """Query known words once more; raises InconsistentAnswersError if an answer has changed."""
        if words:
            for word, reply in zip(words, self._replies([((), word) for word in words]), strict=True):
                self.add(word, reply)

    def _remember(self, batch: dict[Codes, Query], answers: Sequence[int], looked_at: dict[Codes, Query]) -> None:
        self._answers.update(zip(batch, answers, strict=True))
        self._log += [(word, len(access), False) for word, (access, _) in looked_at.items()]

    def disagreements(
        self,
        dfa: DFA,
        limit: int,
        outputs: StateOutputs | None = None,
        access: Sequence[Codes] = (),
        implied: Implied = lambda _: (),
    ) -> list[Codes]:
        """The shortlex-least known words, at most ``limit``, to which the automaton gives another answer.

        Its answers are acceptance, or the ``outputs`` of its states. ``access`` are words that reach its states, also
        in later automata that have them: then only words that pass a change are run again. ``implied`` gives the sifted
        words that get another answer, from all others that do.
        """
        state_outputs = dfa.accepting if outputs is None else outputs
        for sifted in self._sifts:  # an error ended these sifts, so no other words stand for theirs
            self._log += [(word, len(begin), False) for word, (begin, _) in sifted.items()]
            sifted.clear()
        runs = self._runs_on(dfa, state_outputs, access)
        for word, split, has_implied in self._log[self._filed :]:
            answer = self._answers[word]
            if runs is None or not runs.add(word, split, answer):
                shelf = self._shelves[len(word).bit_length()]
                shelf.fresh[word] = answer
                shelf.has_implied |= has_implied
        self._filed = len(self._log)
        wrong = set() if runs is None else set(runs.wrong)
        for bits in sorted(self._shelves):
            are_longer = sum(len(word).bit_length() < bits for word in wrong) >= limit
            if self._shelves[bits].has_implied or not are_longer:
                wrong.update(self._shelves[bits].disagreements(dfa, state_outputs))
        return heapq.nsmallest(limit, wrong.union(implied(wrong)), key=shortlex_key)

    def _runs_on(self, dfa: DFA, outputs: StateOutputs, access: Sequence[Codes]) -> Runs | None:
        """The words that are followed from one automaton to the next.

        All words are filed anew when the automaton has doubled, since following pays for more of them then; and when
        it has changed in enough places that running all words again, until it has doubled, is cheaper.
        """
        if dfa.transitions.size >= 2 * self._filed_at:
            self._runs = Runs(dfa, outputs, access) if access else None
        elif self._runs is None or self._runs.follow(dfa, outputs, access):
            return self._runs
        else:
            self._runs = None
        self._shelves.clear()
        self._filed, self._filed_at = 0, dfa.transitions.size
        return self._runs

    def _batches(self, new: dict[Codes, Query]) -> Iterator[dict[Codes, Query]]:
        """The queries in batches of bounded length; access words count only if each word is read anew."""
        batch: dict[Codes, Query] = {}
        letters = 0
        for word, query in new.items():
            if word in self._answers:  # as a prefix of a batch before
                continue
            batch[word] = query
            letters += 1 + len(query[1]) + (0 if self.prefixes else len(query[0]))
            if letters >= _LETTERS_AT_ONCE:
                yield batch
                batch, letters = {}, 0
        if batch:
            yield batch

    def _new_prefixes(self, queries: Iterable[Query]) -> dict[Codes, Query]:
        shorter = ((access, suffix[:length]) for access, suffix in queries for length in range(1, len(suffix)))
        return {access + suffix: (access, suffix) for access, suffix in shorter if access + suffix not in self._answers}

    def _replies(self, queries: list[Query]) -> list[int]:
        if self._ask is None:
            raise InputError("a restored learner has no source of answers; call connect(ask) first")
        replies = list(map(self._read, self._ask(queries)))
        if len(replies) != len(queries):
            raise InputError(f"ask() gave {len(replies)} answers to {len(queries)} queries; give one each, in order")
        if self._outputs > 2:
            self._check(replies)
        return replies

    def _check(self, answers: Sequence[int]) -> None:
        if answers and not (min(answers) >= 0 and max(answers) < self._outputs):
            wrong = next(answer for answer in answers if not 0 <= answer < self._outputs)
            raise InputError(f"{wrong} is not an answer; there are {self._outputs}, 0 to {self._outputs - 1}")


class _Shelf:
    """Words of similar length with their answers: most of them packed into arrays, the latest not yet."""

    def __init__(self) -> None:
        self.fresh: dict[Codes, int] = {}
        self.has_implied = False
        self._batch = WordBatch.from_codes([])
        self._answers: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def disagreements(self, dfa: DFA, outputs: StateOutputs) -> list[Codes]:
        if len(self.fresh) > max(_FEW_WORDS, len(self._batch) // 4):
            self._answers = np.concatenate([self._answers, np.array(list(self.fresh.values()), dtype=np.int64)])
            self._batch = WordBatch.from_codes([*self._batch, *self.fresh])
            self.fresh = {}
        packed = outputs[dfa.end_states(self._batch)] if len(self._batch) else self._answers
        wrong = [self._batch[int(i)] for i in np.flatnonzero(packed != self._answers)]
        if not self.fresh:
            return wrong
        table, state_outputs = dfa.transitions.tolist(), outputs.tolist()
        for word, answer in self.fresh.items():
            state = dfa.initial
            for letter in word:
                state = table[state][letter]
            if state_outputs[state] != answer:
                wrong.append(word)
        return wrong
