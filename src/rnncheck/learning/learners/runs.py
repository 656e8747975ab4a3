"""Where remembered words end in a hypothesis that grows: only words that pass a changed transition are run again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA, Table
from rnncheck.words import Codes

StateOutputs = npt.NDArray[np.generic]  # of an automaton: one per state

# A word is followed when the automaton has this many transitions for each of its letters: a small change then affects
# few words. A change is followed when it leaves all but one in this many transitions as they were.
_TRANSITIONS_PER_LETTER = 4
_TRANSITIONS_PER_CHANGE = 8


class Runs:
    """Words with their answers, run on one automaton, then on those that ``follow`` it.

    ``wrong`` are the words to which the current automaton gives another answer. A word is run from the state of an
    access word that is a prefix of it: the path to that state never changes.
    """

    def __init__(self, dfa: DFA, outputs: StateOutputs, access: Sequence[Codes]) -> None:
        self.wrong: set[Codes] = set()
        self._letters = len(dfa.alphabet)
        self._initial = dfa.initial
        self._transitions: Table = dfa.transitions.ravel()
        self._outputs = outputs
        self._access = list(access)
        self._state = {word: state for state, word in enumerate(access)}
        # States are numbers of their first transition, so that a step is one addition and one look-up.
        self._targets: list[int] = (self._transitions * self._letters).tolist()
        self._output_of: list[int] = outputs.tolist()
        self._items: list[tuple[Codes, int, int, Codes]] = []  # word, answer, where its run starts, what it reads
        # For each transition the items that pass it, and some that did so before an earlier transition of theirs
        # changed.
        self._passing: defaultdict[int, list[int]] = defaultdict(list)

    def add(self, word: Codes, split: int, answer: int) -> bool:
        """Follow a word that was queried as ``split`` letters (an access word, or one letter more) and a suffix.

        Returns False and does nothing where that costs more than running it again with all others.
        """
        begin, state = 0, None if split < 1 else self._state.get(word[:split])
        if state is not None:
            begin = split
        elif split > 1 and (state := self._state.get(word[: split - 1])) is not None:
            begin = split - 1
        if (len(word) - begin) * _TRANSITIONS_PER_LETTER > len(self._targets):
            return False
        place = self._letters * (self._initial if state is None else state)
        item, suffix, passing, targets = len(self._items), word[begin:], self._passing, self._targets
        self._items.append((word, answer, place, suffix))
        for letter in suffix:
            place += letter
            passing[place].append(item)
            place = targets[place]
        if self._output_of[place // self._letters] != answer:
            self.wrong.add(word)
        return True

    def follow(self, dfa: DFA, outputs: StateOutputs, access: Sequence[Codes]) -> bool:
        """Continue with an automaton whose first states are those of the current one.

        Returns False and does nothing where it differs too much for that to pay.
        """
        known, transitions = len(self._access), dfa.transitions.ravel()
        if dfa.initial != self._initial or access[:known] != self._access:
            return False
        changed = np.flatnonzero(transitions[: len(self._transitions)] != self._transitions).tolist()
        if len(changed) * _TRANSITIONS_PER_CHANGE > len(transitions) or (outputs[:known] != self._outputs).any():
            return False
        self._targets += (transitions[len(self._transitions) :] * self._letters).tolist()
        self._output_of += outputs[known:].tolist()
        self._state.update(zip(access[known:], range(known, len(access)), strict=True))
        self._access += access[known:]
        for place in changed:
            self._targets[place] = int(transitions[place]) * self._letters
        self._transitions, self._outputs = transitions, outputs
        self._run_again(set(changed))
        return True

    def _run_again(self, changed: set[int]) -> None:
        """Run the words that pass one of these transitions, and note what they pass from there on."""
        passing, targets, items = self._passing, self._targets, self._items
        output_of, letters, wrong = self._output_of, self._letters, self.wrong
        for item in sorted(set[int]().union(*(passing.pop(place, ()) for place in changed))):
            word, answer, place, suffix = items[item]
            is_new = False
            for letter in suffix:
                place += letter
                if is_new or place in changed:
                    is_new = True
                    passing[place].append(item)
                place = targets[place]
            if output_of[place // letters] == answer:
                wrong.discard(word)
            else:
                wrong.add(word)
