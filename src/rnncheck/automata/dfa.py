"""The DFA: an immutable, complete, validated value on an integer transition table."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from rnncheck.display import Displayable
from rnncheck.errors import AutomatonError, StateLimitError, short_repr
from rnncheck.runtime.watchdog import check_time
from rnncheck.words import Alphabet, WordBatch, encode_batch

Table: TypeAlias = npt.NDArray[np.int32]
Mask: TypeAlias = npt.NDArray[np.bool_]
Node = TypeVar("Node", bound=Hashable)

DEFAULT_MAX_STATES = 100_000
_CELLS_BETWEEN_LOOKS = 1 << 12  # between two checks of the time
_FEW_AT_A_STEP = 32  # letters that plain Python reads in the time of one array operation


class DFA(Displayable):
    """A complete deterministic finite automaton.

    States are ``0 … n - 1``. ``transitions[q, a]`` is the successor of state ``q`` under the letter at position
    ``a`` of the alphabet; ``accepting[q]`` says whether a run that ends in ``q`` accepts. ``names`` are the
    states' names in a file; they are kept for display and do not affect equality.

    Two automata are equal when their tables are; for equality of languages compare ``canonical(a)`` with
    ``canonical(b)``, or ask for a ``difference_witness``.
    """

    __slots__ = ("accepting", "alphabet", "initial", "names", "transitions")

    alphabet: Alphabet
    transitions: Table
    accepting: Mask
    initial: int
    names: tuple[str, ...] | None

    def __init__(
        self,
        alphabet: Alphabet | Iterable[str],
        transitions: npt.ArrayLike,
        accepting: npt.ArrayLike,
        initial: int = 0,
        names: Iterable[str] | None = None,
    ) -> None:
        set_once = object.__setattr__
        set_once(self, "alphabet", alphabet if isinstance(alphabet, Alphabet) else Alphabet(alphabet))
        set_once(self, "transitions", _frozen_table(transitions, len(self.alphabet)))
        set_once(self, "accepting", _frozen_mask(accepting, len(self.transitions)))
        set_once(self, "initial", _state_number(initial))
        set_once(self, "names", None if names is None else tuple(names))
        if not 0 <= self.initial < len(self):
            raise AutomatonError(f"initial state {initial} is not one of the {len(self)} states (0 to {len(self) - 1})")
        if self.names is not None and len(self.names) != len(self):
            raise AutomatonError(f"{len(self.names)} names for {len(self)} states; give one per state")
        for name in self.names or ():
            if not isinstance(name, str):
                raise AutomatonError(f"state name {short_repr(name)} is a {type(name).__name__}; names are strings")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a DFA is immutable; {name!r} cannot be set, build a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a DFA is immutable; {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[object, ...]:
        return (DFA, (self.alphabet, self.transitions, self.accepting, self.initial, self.names))

    def __len__(self) -> int:
        """The number of states."""
        return len(self.transitions)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DFA)
            and self.alphabet == other.alphabet
            and self.initial == other.initial
            and np.array_equal(self.accepting, other.accepting)
            and np.array_equal(self.transitions, other.transitions)
        )

    def __hash__(self) -> int:
        return hash((self.alphabet, self.initial, self.accepting.tobytes(), self.transitions.tobytes()))

    def __repr__(self) -> str:
        return (
            f"<DFA with {len(self)} states, {int(self.accepting.sum())} accepting, over {len(self.alphabet)} letters>"
        )

    @property
    def support(self) -> DFA:
        """Itself: a DFA is a Moore machine with the outputs accept and reject."""
        return self

    @property
    def outputs(self) -> Mask:
        """The output of each state."""
        return self.accepting

    def name(self, state: int) -> str:
        """The name of a state for display."""
        return self.names[state] if self.names else str(state)

    def run(self, word: Iterable[str]) -> list[int]:
        """The states that a word visits, the initial one first."""
        states = [self.initial]
        for code in self.alphabet.encode(word):
            states.append(int(self.transitions[states[-1], code]))
        return states

    def accepts(self, word: Iterable[str]) -> bool:
        """Whether the word is in the language."""
        return bool(self.accepting[self.run(word)[-1]])

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        """One answer per word, in the same order."""
        return self.accepting[self.end_states(words)]

    def end_states(self, words: WordBatch | Iterable[Iterable[str]]) -> Table:
        """The state in which each word ends."""
        batch = encode_batch(self.alphabet, words)
        visited = self.visited(batch)
        ends = np.full(len(batch), self.initial, dtype=np.int32)
        filled = batch.lengths > 0
        ends[filled] = visited[batch.offsets[1:][filled] - 1]
        return ends

    def visited(self, words: WordBatch) -> Table:
        """The state after every letter of every word, aligned with ``words.codes``."""
        words.check_codes(len(self.alphabet))
        lengths = words.lengths
        if len(words.codes) + self.transitions.size < _FEW_AT_A_STEP * lengths.max(initial=0):
            return self._visited_one_by_one(words)
        reads = words.offsets[:-1][np.argsort(-lengths, kind="stable")]
        # still_running[t]: the number of words longer than t; they come first in the order.
        still_running = len(words) - np.cumsum(np.bincount(lengths, minlength=1))
        letters = len(self.alphabet)
        # States are multiplied by the row length, so that a step is one addition and one look-up.
        flat = self.transitions.ravel().astype(np.intp) * letters
        states = np.full(len(words), self.initial * letters, dtype=np.intp)
        out = np.empty(len(words.codes), dtype=np.int32)
        for t, running in enumerate(still_running[:-1].tolist()):
            at = reads[:running] + t
            states = flat[states[:running] + words.codes[at]]
            out[at] = states
        out //= letters
        return out

    def _visited_one_by_one(self, words: WordBatch) -> Table:
        """Like ``visited``, letter by letter: faster than one array operation per step where few words are long."""
        successors, out = self.transitions.tolist(), []
        for word in words:
            state = self.initial
            for code in word:
                state = successors[state][code]
                out.append(state)
        return np.array(out, dtype=np.int32)

    def complement(self) -> DFA:
        """The automaton of the words that this one rejects."""
        return DFA(self.alphabet, self.transitions, ~self.accepting, self.initial, self.names)

    def over(self, alphabet: Alphabet) -> DFA:
        """The same automaton with its letters in the order of ``alphabet``, which must have the same letters."""
        if alphabet == self.alphabet:
            return self
        missing = [letter for letter in alphabet if letter not in self.alphabet]
        surplus = [letter for letter in self.alphabet if letter not in alphabet]
        if missing or surplus:
            details = [
                f"{short_repr(letters[0])} is only in the {side}"
                for side, letters in (("first", missing), ("second", surplus))
                if letters
            ]
            raise AutomatonError(f"the alphabets differ: {'; '.join(details)}; both must have the same letters")
        columns = [self.alphabet.index(letter) for letter in alphabet]
        return DFA(alphabet, self.transitions[:, columns], self.accepting, self.initial, self.names)


def explore(
    alphabet: Alphabet,
    start: Node,
    successors: Callable[[Node], Sequence[Node]],
    accepts: Callable[[Node], bool],
    *,
    what: str,
    max_states: int = DEFAULT_MAX_STATES,
    letter_class: Sequence[int] | None = None,
) -> DFA:
    """The DFA reachable from ``start``, numbered breadth first.

    ``successors(node)`` gives one node for each letter, or, where ``letter_class[a]`` names the class of letter
    ``a``, one for each class: letters that behave alike are then computed once. ``what`` names the automaton being
    built, for the error raised above ``max_states``.
    """
    number: dict[Node, int] = {start: 0}
    queue = [start]
    rows: list[list[int]] = []
    looks = max(1, _CELLS_BETWEEN_LOOKS // len(alphabet))
    for node in queue:  # grows while it is walked
        row = []
        for successor in successors(node):
            known = number.get(successor)
            if known is None:
                known = len(queue)
                if known >= max_states:
                    raise StateLimitError(what, max_states)
                number[successor] = known
                queue.append(successor)
            row.append(known)
        rows.append(row)
        if not len(rows) % looks:
            check_time()
    table = np.array(rows, dtype=np.int32)
    if letter_class is not None:
        table = table[:, list(letter_class)]
    return DFA(alphabet, table, [accepts(node) for node in queue])


def _state_number(state: object) -> int:
    try:
        return operator.index(state)  # type: ignore[arg-type]
    except TypeError:
        raise AutomatonError(f"state {short_repr(state)} is a {type(state).__name__}; states are integers") from None


def _frozen_table(transitions: npt.ArrayLike, letters: int) -> Table:
    try:
        given = np.asarray(transitions)
    except ValueError:
        raise AutomatonError("the transition table is ragged; every state needs one successor per letter") from None
    if given.ndim != 2 or not len(given) or given.shape[1] != letters:
        raise AutomatonError(
            f"the transition table has shape {given.shape}; "
            f"it needs one row per state (at least one) and {letters} columns"
        )
    if given.dtype.kind not in "iu":
        raise AutomatonError(f"the transition table holds {given.dtype}; states are integers")
    outside = (given < 0) | (given >= len(given))
    if outside.any():
        state, letter = np.argwhere(outside)[0]
        raise AutomatonError(
            f"state {state} goes to {given[state, letter]} on letter {letter}; "
            f"there are only states 0 to {len(given) - 1}"
        )
    table = np.array(given, dtype=np.int32, order="C")
    table.flags.writeable = False
    return table


def _frozen_mask(accepting: npt.ArrayLike, states: int) -> Mask:
    given = np.asarray(accepting)
    if given.shape != (states,) or given.dtype != np.bool_:
        raise AutomatonError(
            f"accepting needs one boolean for each of the {states} states, not {short_repr(accepting)}"
        )
    mask = given.copy()
    mask.flags.writeable = False
    return mask
