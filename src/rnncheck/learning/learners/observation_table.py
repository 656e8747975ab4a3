"""L* (Angluin): an observation table, closed, and consistent where counterexamples add prefixes.

A row is a word of S or of S + one letter, a column is a suffix of E, a cell the target's answer to row + column. Rows
of S with different cells are different states.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Unpack

from rnncheck.automata.dfa import DFA
from rnncheck.automata.moore import MooreMachine
from rnncheck.errors import LearningBoundReached
from rnncheck.learning.learners.answers import Answers, Ask
from rnncheck.learning.learners.counterexamples import Search, wrong_transitions
from rnncheck.learning.learners.learner import Learner, Options
from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.words import Alphabet, Codes, shortlex_key


class ObservationTable:
    """``short`` is S (closed under prefixes, the empty word first), ``suffixes`` is E, ``rows`` has both halves."""

    def __init__(self, letters: int, max_states: int) -> None:
        self.letters = letters
        self.max_states = max_states
        self.short: list[Codes] = []
        self.suffixes: list[Codes] = [()]
        self.rows: dict[Codes, tuple[int, ...]] = {}

    def copy(self) -> ObservationTable:
        twin = ObservationTable(self.letters, self.max_states)
        twin.short, twin.suffixes, twin.rows = self.short.copy(), self.suffixes.copy(), self.rows.copy()
        return twin

    def states(self) -> dict[tuple[int, ...], int]:
        """The different rows of S, numbered in order of their first word."""
        number: dict[tuple[int, ...], int] = {}
        for word in self.short:
            number.setdefault(self.rows[word], len(number))
        return number

    @property
    def access_words(self) -> list[Codes]:
        """For each state the first word of S with its row."""
        first: dict[tuple[int, ...], Codes] = {}
        for word in self.short:
            first.setdefault(self.rows[word], word)
        return list(first.values())

    def machine(self, alphabet: Alphabet, labels: tuple[str, ...]) -> MooreMachine:
        """The hypothesis of a closed and consistent table."""
        number = self.states()
        table = [[number[self.rows[(*word, a)]] for a in range(self.letters)] for word in self.access_words]
        return MooreMachine(alphabet, labels, table, [row[0] for row in number])

    def committed(self, answers: Answers) -> None:
        pass  # nothing is sifted

    def implied(self, wrong: Iterable[Codes]) -> Iterable[Codes]:
        return ()

    def add_short(self, words: Iterable[Codes], answers: Answers) -> CooperativeWork[None]:
        """Add words to S; missing cells of their rows and of their one-letter extensions are queried in one batch."""
        there = set(self.short)
        new = [word for word in words if word not in there]
        self.short += new
        yield from self._fill([row for word in new for row in (word, *self._extensions(word))], answers)

    def add_suffixes(self, suffixes: Iterable[Codes], answers: Answers) -> CooperativeWork[None]:
        """Add columns, queried in one batch."""
        self.suffixes += [suffix for suffix in suffixes if suffix not in self.suffixes]
        yield from self._fill(self.rows, answers)

    def close(self, answers: Answers) -> CooperativeWork[None]:
        """Add to S the least word of each row that has no equal there, until there is none."""
        while True:
            states = self.states()
            new = [word for word, row in self.rows.items() if row not in states]
            if not new:
                return
            least = {self.rows[word]: word for word in sorted(new, key=shortlex_key, reverse=True)}
            yield from self.add_short(sorted(least.values(), key=shortlex_key), answers)

    def inconsistency(self) -> Codes | None:
        """The least suffix that distinguishes equal rows of S after one more letter, or None."""
        found = []
        first: dict[tuple[int, ...], Codes] = {}
        for word in self.short:
            model = first.setdefault(self.rows[word], word)
            for a, (mine, others) in enumerate(zip(self._extensions(word), self._extensions(model), strict=True)):
                cells = zip(self.suffixes, self.rows[mine], self.rows[others], strict=True)
                found += [(a, *suffix) for suffix, one, other in cells if one != other]
        return min(found, key=shortlex_key, default=None)

    def _extensions(self, word: Codes) -> list[Codes]:
        return [(*word, a) for a in range(self.letters)]

    def _fill(self, words: Iterable[Codes], answers: Answers) -> CooperativeWork[None]:
        """Query the missing cells of these rows."""
        missing = [(word, self.suffixes[len(self.rows.get(word, ())) :]) for word in dict.fromkeys(words)]
        queries = [(word, suffix) for word, suffixes in missing for suffix in suffixes]
        answered = iter((yield from answers.asking(queries)))
        for word, suffixes in missing:
            self.rows[word] = (*self.rows.get(word, ()), *(next(answered) for _ in suffixes))
        if len(self.states()) > self.max_states:
            raise LearningBoundReached("max_states", self.max_states)


class LStar(Learner[ObservationTable]):
    """L* with Rivest and Schapire's treatment of counterexamples: each adds one suffix, found by search.

    All rows of S stay different, so the table is always consistent.
    """

    def __init__(
        self,
        alphabet: Alphabet,
        ask: Ask,
        *,
        search: Search = Search(),  # noqa: B008 - a frozen value
        **options: Unpack[Options],
    ) -> None:
        super().__init__(alphabet, ask, **options)
        self.search = search

    def _first(self) -> CooperativeWork[ObservationTable]:
        return _first_table(len(self.alphabet), self.max_states, self._answers)

    def _refined(
        self, structure: ObservationTable, hypothesis: DFA, words: Sequence[Codes]
    ) -> CooperativeWork[ObservationTable]:
        (wrong,) = yield from wrong_transitions(words, hypothesis, structure.access_words, self._answers, self.search)
        refined = structure.copy()
        yield from refined.add_suffixes(
            _prefixes(wrong.suffix) if self._answers.prefixes else [wrong.suffix], self._answers
        )
        yield from refined.close(self._answers)
        return refined


class AngluinLStar(Learner[ObservationTable]):
    """L* as Angluin wrote it: a counterexample adds all its prefixes to S."""

    def _first(self) -> CooperativeWork[ObservationTable]:
        return _first_table(len(self.alphabet), self.max_states, self._answers)

    def _refined(
        self, structure: ObservationTable, hypothesis: DFA, words: Sequence[Codes]
    ) -> CooperativeWork[ObservationTable]:
        refined = structure.copy()
        yield from refined.add_short(_prefixes(words[0]), self._answers)
        # Never consistent at first: otherwise the rows of the prefixes would be the states visited, and the hypothesis
        # right.
        while (suffix := refined.inconsistency()) is not None:
            yield from refined.add_suffixes([suffix], self._answers)
            yield from refined.close(self._answers)
        return refined


def _first_table(letters: int, max_states: int, answers: Answers) -> CooperativeWork[ObservationTable]:
    table = ObservationTable(letters, max_states)
    yield from table.add_short([()], answers)
    yield from table.close(answers)
    return table


def _prefixes(word: Codes) -> Sequence[Codes]:
    return [word[:length] for length in range(len(word) + 1)]
