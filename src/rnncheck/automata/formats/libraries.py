"""To and from the automata of other libraries. Each is imported only when used (extra ``convert``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.parts import Parts, unused_name
from rnncheck.errors import AutomatonError, MissingExtraError, short_repr
from rnncheck.words import Alphabet


def to_automata_lib(dfa: DFA) -> Any:
    """An ``automata.fa.dfa.DFA``. Its states are integers and its symbols our letters."""
    try:
        from automata.fa import dfa as other
    except ImportError:
        raise MissingExtraError("conversion to automata-lib", "convert") from None
    letters = dfa.alphabet.letters
    return other.DFA(
        states=set(range(len(dfa))),
        input_symbols=set(letters),
        transitions={state: dict(zip(letters, row, strict=True)) for state, row in enumerate(dfa.transitions.tolist())},
        initial_state=dfa.initial,
        final_states=set(np.flatnonzero(dfa.accepting).tolist()),
    )


def from_automata_lib(other: Any, *, alphabet: Alphabet | None = None, complete: bool = False) -> DFA:
    """From an ``automata.fa.dfa.DFA``, partial ones only with ``complete``. States are named by their ``str``."""
    parts = Parts("automata-lib DFA")
    _check_kind(other, "automata.fa.dfa", "DFA")
    states = dict.fromkeys([other.initial_state, *sorted(other.states, key=str)])
    names = {state: _name(state, parts) for state in states}
    parts.initial.append((names[other.initial_state], 0))
    parts.accepting.update(names[state] for state in other.final_states)
    for state, row in other.transitions.items():
        for symbol, target in row.items():
            parts.edges.append((names[state], _letter(symbol), names[target], 0))
    letters = alphabet or Alphabet(sorted(map(_letter, other.input_symbols)))
    return parts.build(letters, complete=complete)


def to_aalpy(dfa: DFA) -> Any:
    """An ``aalpy.automata.Dfa`` with our letters as inputs."""
    try:
        from aalpy.automata import Dfa, DfaState
    except ImportError:
        raise MissingExtraError("conversion to AALpy", "convert") from None
    states = [DfaState(f"s{state}", bool(accepting)) for state, accepting in enumerate(dfa.accepting)]
    for state, row in zip(states, dfa.transitions.tolist(), strict=True):
        state.transitions = {letter: states[to] for letter, to in zip(dfa.alphabet, row, strict=True)}
    return Dfa(states[dfa.initial], states)


def from_aalpy(other: Any, *, alphabet: Alphabet | None = None, complete: bool = False) -> DFA:
    """From an ``aalpy.automata.Dfa``, partial ones only with ``complete``."""
    parts = Parts("AALpy Dfa")
    _check_kind(other, "aalpy.automata.Dfa", "Dfa")
    states = {id(state): state for state in [other.initial_state, *other.states]}
    names = {key: _name(state.state_id, parts) for key, state in states.items()}
    parts.initial.append((names[id(other.initial_state)], 0))
    for state in other.states:
        if state.is_accepting:
            parts.accepting.add(names[id(state)])
        for symbol, target in state.transitions.items():
            parts.edges.append((names[id(state)], _letter(symbol), names[id(target)], 0))
    return parts.build(alphabet, complete=complete)


def _check_kind(other: object, module: str, name: str) -> None:
    if not any((kind.__module__, kind.__name__) == (module, name) for kind in type(other).__mro__):
        raise AutomatonError(
            f"{short_repr(other)} is a {type(other).__name__}, not a {module}.{name}; convert it first"
        )


def _name(state: object, parts: Parts) -> str:
    name = unused_name(str(state), parts.states)  # 1 and "1" are two states
    parts.declare(name)
    return name


def _letter(symbol: object) -> str:
    if not isinstance(symbol, str):
        raise AutomatonError(
            f"symbol {short_repr(symbol)} is a {type(symbol).__name__}; letters are strings: rename it first"
        )
    return symbol
