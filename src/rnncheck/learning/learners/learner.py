"""The contract of every learner: a complete hypothesis at any time, and refinement by words that refute it."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Generic, Protocol, TypedDict, TypeVar

from rnncheck.automata.dfa import DFA
from rnncheck.automata.moore import NO_YES, MooreMachine
from rnncheck.errors import InputError, short_repr
from rnncheck.learning.learners.answers import Answers, Ask
from rnncheck.learning.learners.counterexamples import states_on
from rnncheck.runtime.cooperative import CooperativeWork, finish
from rnncheck.words import Alphabet, Codes

MAX_HYPOTHESIS_STATES = 10_000

# The first hypothesis may need two states, and words of two letters to find the transitions of the second.
_LEAST_BOUND = 2


class Structure(Protocol):
    """What a learner builds (a table, a tree). Once committed it is copied, never changed."""

    @property
    def access_words(self) -> Sequence[Codes]:
        """For each state of the automaton a word that reaches it; the initial state's is empty."""

    def machine(self, alphabet: Alphabet, labels: tuple[str, ...]) -> MooreMachine:
        """The complete hypothesis."""

    def committed(self, answers: Answers) -> None:
        """Note that this is the learner's structure now, so that the words it has sifted need not be looked at."""

    def implied(self, wrong: Iterable[Codes]) -> Iterable[Codes]:
        """The sifted words that the hypothesis gets wrong, from all others that it gets wrong."""


S = TypeVar("S", bound=Structure)


class Options(TypedDict, total=False):
    """The keyword arguments that all learners have; see :class:`Learner`."""

    labels: Sequence[str]
    known: Mapping[Codes, int] | Iterable[Codes]
    max_states: int
    max_query_length: int | None
    prefixes: bool


class Learner(ABC, Generic[S]):
    """Learns a language from answers to membership queries and from words that refute its hypothesis.

    Or a function from words to several ``labels``: an answer is then the position of a label, and the hypothesis is a
    ``machine``. A language is the case of two labels, no and yes, and its ``hypothesis`` an automaton.

    ``ask`` gets a batch of queries (access word, suffix) and gives the target's answer to each access word + suffix,
    in order. Nothing is queried before the first use (``start``, ``hypothesis``, ``refine``), and no word twice.

    ``known`` are words to start with: a mapping to their answers, which are then not queried, or words alone. A call
    returns only with a hypothesis that agrees with all known words and with every other word that was answered.

    ``max_states`` and ``max_query_length`` bound the hypothesis and the queried words, for languages that are not
    regular. Needing more raises LearningBoundReached. After that, and after any error that ``ask`` raises, the last
    complete hypothesis is still available, no answer is lost, and learning can continue.

    ``prefixes`` is for models that give the answers to all prefixes of a word with the word's own: the prefixes of
    every suffix are then queried in the same batch.

    Learners are deterministic: the same answers give the same queries and hypotheses. They can be pickled; a restored
    one needs ``connect(ask)`` before it can query again.
    """

    _at_once = 1

    def __init__(
        self,
        alphabet: Alphabet,
        ask: Ask,
        *,
        labels: Sequence[str] = NO_YES,
        known: Mapping[Codes, int] | Iterable[Codes] = (),
        max_states: int = MAX_HYPOTHESIS_STATES,
        max_query_length: int | None = None,
        prefixes: bool = False,
    ) -> None:
        self.alphabet = alphabet
        self.labels = tuple(labels)
        if len(self.labels) < 2 or len(set(self.labels)) < len(self.labels):
            raise InputError(f"labels {short_repr(self.labels)} were given; give two or more, each once")
        self.max_states = _bound("max_states", max_states)
        if max_query_length is not None:
            _bound("max_query_length", max_query_length)
        self._answers = Answers(ask, max_query_length=max_query_length, prefixes=prefixes, outputs=len(self.labels))
        self._unanswered: tuple[Codes, ...] = ()
        if isinstance(known, Mapping):
            for word, answer in known.items():
                self._answers.add(self._checked(word), answer)
        else:
            self._unanswered = tuple(map(self._checked, known))
        self._current: tuple[S, MooreMachine] | None = None

    def connect(self, ask: Ask) -> None:
        """Use ``ask`` for queries from now on; a restored learner needs it."""
        self._answers.connect(ask)

    def start(self) -> None:
        """Make the first queries and learn from the known words, unless that was done."""
        finish(self.starting())

    @property
    def hypothesis(self) -> DFA:
        """The last complete hypothesis, as the automaton of the words with the answer yes."""
        if len(self.labels) > 2:
            raise InputError(f"a learner of {len(self.labels)} labels has no automaton; ask for its machine")
        return self._started()[1].support

    @property
    def machine(self) -> MooreMachine:
        """The last complete hypothesis, as a machine with a label for each word."""
        return self._started()[1]

    @property
    def access_words(self) -> tuple[Codes, ...]:
        """For each state of the hypothesis a word that reaches it."""
        return tuple(self._started()[0].access_words)

    def answered(self, word: Codes) -> int | None:
        """The target's answer to a word, if it is known."""
        return self._answers.known(word)

    def refine(self, word: Codes) -> bool:
        """Learn from a word on which hypothesis and target should differ.

        True: they did, the hypothesis has at least one more state, and both agree on the word. False: they do not
        differ, and nothing has changed. A word that was answered before is queried once more before it is rejected, so
        that a caller who saw another answer gets an InconsistentAnswersError instead of an endless loop.
        """
        return self.refine_all([word])

    def refine_all(self, words: Iterable[Codes]) -> bool:
        """Learn from several words, as ``refine`` does from one, in fewer and larger batches of queries.

        True when hypothesis and target differed on at least one of them; they agree on all of them then. The order does
        not matter; a word may occur twice, or be right by now because of another one.
        """
        return finish(self.refining(words))

    def refining(
        self, words: Iterable[Codes], answers: Mapping[Codes, int] = MappingProxyType({})
    ) -> CooperativeWork[bool]:
        """Like ``refine_all``, with a pause after every batch of queries.

        At any pause the last complete hypothesis is available, and may have grown. ``answers`` are answers of the
        target that the caller already has: those words are not queried.
        """
        yield from self.starting()
        for word, answer in answers.items():
            self._answers.add(self._checked(word), answer)
        machine = self.machine
        expected = {
            word: int(machine.outputs[states_on(machine.support, word)[-1]]) for word in map(self._checked, words)
        }
        unrefuted = [word for word, output in expected.items() if self._answers.known(word) == output]
        self._answers.confirm([word for word in unrefuted if word not in answers])
        if (yield from self._answers.asking([((), word) for word in expected])) == list(expected.values()):
            return False
        yield from self._agree_with_answers()
        return True

    def starting(self) -> CooperativeWork[None]:
        """Like ``start``, with a pause after every batch of queries."""
        if self._current is None:
            first = yield from self._first()
            self._commit(first, None)
            yield from self._agree_with_answers()

    def _started(self) -> tuple[S, MooreMachine]:
        if self._current is None:
            self.start()
        assert self._current is not None
        return self._current

    def _agree_with_answers(self) -> CooperativeWork[None]:
        """Refine until no known answer differs. Each step is committed, so that an error loses only its own work."""
        yield from self._answers.asking([((), word) for word in self._unanswered])
        self._unanswered = ()
        structure, machine = self._started()
        while words := self._answers.disagreements(
            machine.support, self._at_once, machine.outputs, structure.access_words, structure.implied
        ):
            refined = yield from self._refined(structure, machine.support, words)
            structure, machine = self._commit(refined, structure)
            yield

    def _commit(self, structure: S, before: S | None) -> tuple[S, MooreMachine]:
        if (self._current and self._current[0]) is not before:  # other work was committed in a pause, and is lost now
            self._answers.look_at_all()
        self._current = structure, structure.machine(self.alphabet, self.labels)
        structure.committed(self._answers)
        return self._current

    @abstractmethod
    def _first(self) -> CooperativeWork[S]:
        """The initial structure."""

    @abstractmethod
    def _refined(self, structure: S, hypothesis: DFA, words: Sequence[Codes]) -> CooperativeWork[S]:
        """A new structure with more states. The answers to the words are known; the hypothesis gets all wrong.

        Only its transitions are used, so it is an automaton whatever the labels.
        """

    def _checked(self, word: Codes) -> Codes:
        letters = len(self.alphabet)
        try:
            codes = tuple(map(operator.index, word))
        except TypeError:
            raise InputError(
                f"{short_repr(word)} is not a tuple of letter positions; use alphabet.encode(word)"
            ) from None
        if not all(0 <= code < letters for code in codes):
            raise InputError(f"{short_repr(word)} has a letter position outside 0 to {letters - 1}")
        return codes


def _bound(name: str, value: int) -> int:
    if not isinstance(value, int) or value < _LEAST_BOUND:
        raise InputError(f"{name} is {short_repr(value)}; give an integer of at least {_LEAST_BOUND}")
    return value
