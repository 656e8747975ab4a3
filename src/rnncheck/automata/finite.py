"""The automaton of finitely many words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rnncheck.automata.dfa import DEFAULT_MAX_STATES, DFA
from rnncheck.errors import StateLimitError
from rnncheck.words import Alphabet

_SINK = 0


def finite_language(words: Iterable[Iterable[str]], alphabet: Alphabet, *, max_states: int = DEFAULT_MAX_STATES) -> DFA:
    """The automaton of exactly these words: their tree of prefixes, not minimal."""
    letters = len(alphabet)
    rows = [[_SINK] * letters, [_SINK] * letters]
    accepting = [False, False]
    for word in words:
        state = 1
        for letter in alphabet.encode(word):
            if rows[state][letter] == _SINK:
                if len(rows) >= max_states:
                    raise StateLimitError("the list of words", max_states)
                rows[state][letter] = len(rows)
                rows.append([_SINK] * letters)
                accepting.append(False)
            state = rows[state][letter]
        accepting[state] = True
    return DFA(alphabet, np.array(rows), np.array(accepting), initial=1)
