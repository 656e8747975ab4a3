"""Moore machines: automata that output one of several labels for a word, not only accept or reject.

A DFA is the case of two labels. Learners build Moore machines for any number of labels, so they exist only once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA, Table
from rnncheck.automata.minimisation import breadth_first_order, equivalence_classes
from rnncheck.automata.product import difference_witness
from rnncheck.errors import AutomatonError, short_repr
from rnncheck.words import Alphabet, Word, WordBatch, encode_batch

Outputs: TypeAlias = npt.NDArray[np.int64]

NO_YES = ("no", "yes")


class MooreMachine:
    """An immutable complete machine: after a word it is in one state, and the state has one label.

    ``transitions[q, a]`` is the state after reading letter ``a`` in state ``q``, and ``outputs[q]`` the position in
    ``labels`` of its output there. ``support`` has the same states and accepts where the output is not the first
    label: with two labels that is the automaton of the second.
    """

    __slots__ = ("labels", "outputs", "support")

    labels: tuple[str, ...]
    outputs: Outputs
    support: DFA

    def __init__(
        self,
        alphabet: Alphabet | Iterable[str],
        labels: Iterable[str],
        transitions: npt.ArrayLike,
        outputs: npt.ArrayLike,
        initial: int = 0,
    ) -> None:
        set_once = object.__setattr__
        set_once(self, "labels", tuple(labels))
        if len(self.labels) < 2 or len(set(self.labels)) < len(self.labels):
            raise AutomatonError(f"labels {short_repr(self.labels)} were given; give two or more, each once")
        numbers = np.array(outputs, dtype=np.int64)
        if numbers.ndim != 1 or ((numbers < 0) | (numbers >= len(self.labels))).any():
            raise AutomatonError(
                f"outputs {short_repr(numbers.tolist())} are not one label per state; labels have the numbers 0 to "
                f"{len(self.labels) - 1}"
            )
        numbers.flags.writeable = False
        set_once(self, "outputs", numbers)
        set_once(self, "support", DFA(alphabet, transitions, numbers != 0, initial))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Moore machine is immutable; {name!r} cannot be set, build a new one")

    def __reduce__(self) -> tuple[object, ...]:
        return (MooreMachine, (self.alphabet, self.labels, self.transitions, self.outputs, self.initial))

    def __len__(self) -> int:
        """The number of states."""
        return len(self.outputs)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MooreMachine)
            and self.labels == other.labels
            and self.support == other.support
            and np.array_equal(self.outputs, other.outputs)
        )

    def __hash__(self) -> int:
        return hash((self.labels, self.support, self.outputs.tobytes()))

    def __repr__(self) -> str:
        return f"<Moore machine with {len(self)} states, {len(self.labels)} labels, over {len(self.alphabet)} letters>"

    @property
    def alphabet(self) -> Alphabet:
        return self.support.alphabet

    @property
    def transitions(self) -> Table:
        return self.support.transitions

    @property
    def initial(self) -> int:
        return self.support.initial

    def label(self, word: Iterable[str]) -> str:
        """The label of a word."""
        return self.labels[int(self.outputs[self.support.run(word)[-1]])]

    def output_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Outputs:
        """The position of the label of each word, in the same order."""
        return self.outputs[self.support.end_states(encode_batch(self.alphabet, words))]

    def words_labelled(self, label: str) -> DFA:
        """The automaton of the words that get this label."""
        if label not in self.labels:
            raise AutomatonError(f"unknown label {short_repr(label)}; the labels are {', '.join(self.labels)}")
        return DFA(self.alphabet, self.transitions, self.outputs == self.labels.index(label), self.initial)

    def minimised(self) -> MooreMachine:
        """The machine of the same function with the fewest states, numbered breadth first: equal if and only if."""
        order = breadth_first_order(self.support)
        number = np.full(len(self), -1)
        number[order] = np.arange(len(order))
        table = number[self.transitions[order]].astype(np.int32)
        outputs = self.outputs[order]
        classes = equivalence_classes(table, outputs)
        members = np.sort(np.unique(classes, return_index=True)[1])
        renamed = np.empty(len(members), dtype=np.int64)
        renamed[classes[members]] = np.arange(len(members))
        return MooreMachine(self.alphabet, self.labels, renamed[classes[table[members]]], outputs[members])


Hypothesis: TypeAlias = DFA | MooreMachine  # of a learner: a state for each word, an output for each state


def outputs_after(hypothesis: Hypothesis, words: WordBatch) -> npt.NDArray[Any]:
    """The output of a hypothesis for each word."""
    return np.asarray(hypothesis.outputs[hypothesis.support.end_states(words)])


def difference_of(one: MooreMachine, other: MooreMachine) -> Word | None:
    """The shortlex-least word that two machines label differently; None where there is none."""
    if one.labels != other.labels:
        raise AutomatonError(f"the labels differ: {short_repr(one.labels)} and {short_repr(other.labels)}")
    found = []
    for label in one.labels[1:]:  # where no other label differs, the first does not either
        word = difference_witness(one.words_labelled(label), other.words_labelled(label))
        if word is not None:
            found.append(word)
    alphabet = one.alphabet
    return min(found, key=lambda word: (len(word), alphabet.encode(word)), default=None)
