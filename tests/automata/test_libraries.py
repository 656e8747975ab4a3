"""To and from the automata of other libraries: no word changes sides."""

from __future__ import annotations

import builtins
from unittest.mock import patch

import pytest
from aalpy.automata import Dfa, DfaState, MooreMachine, MooreState
from automata.fa import dfa as automata_lib
from automata.fa.nfa import NFA
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.libraries import from_aalpy, from_automata_lib, to_aalpy, to_automata_lib
from rnncheck.automata.product import difference_witness
from rnncheck.errors import AutomatonError, FormatError, MissingExtraError
from rnncheck.words import Alphabet
from support.strategies import ONE_LINE, alphabets, chain, dfas, language, partial_tables

AB = Alphabet(["a", "b"])


def same_language(a: DFA, b: DFA) -> bool:
    return difference_witness(a, b) is None


def aalpy_accepts(machine: Dfa, word) -> bool:
    machine.reset_to_initial()
    answer = machine.current_state.is_accepting
    for letter in word:
        answer = machine.step(letter)
    return bool(answer)


class TestAutomataLib:
    @given(alphabets().flatmap(dfas))
    def test_there_and_back(self, dfa):
        theirs = to_automata_lib(dfa)
        for word, yes in language(dfa, 4).items():
            assert theirs.accepts_input(word) == yes
        again = from_automata_lib(theirs)
        assert again.alphabet.letters == tuple(sorted(dfa.alphabet))
        assert same_language(again, dfa)
        assert from_automata_lib(theirs, alphabet=dfa.alphabet).alphabet == dfa.alphabet
        assert len(again) == len(dfa)
        assert again.name(again.initial) == str(dfa.initial)

    @given(partial_tables())
    def test_partial_ones(self, parts):
        alphabet, table, accepting, initial = parts
        theirs = automata_lib.DFA(
            states=set(range(len(table))),
            input_symbols=set(alphabet),
            transitions={
                state: {letter: to for letter, to in zip(alphabet, row, strict=True) if to is not None}
                for state, row in enumerate(table)
            },
            initial_state=initial,
            final_states={state for state, yes in enumerate(accepting) if yes},
            allow_partial=True,
        )
        dfa = from_automata_lib(theirs, complete=True)
        for word, yes in language(dfa, 4).items():
            assert theirs.accepts_input(word) == yes
        if any(None in row for row in table):
            with pytest.raises(FormatError, match=r"automata-lib DFA: state '.' has no successor on letter"):
                from_automata_lib(theirs)

    def test_states_that_look_alike(self):
        theirs = automata_lib.DFA(
            states={1, "1", "1_"},
            input_symbols={"a"},
            transitions={1: {"a": "1"}, "1": {"a": "1_"}, "1_": {"a": 1}},
            initial_state=1,
            final_states={"1"},
        )
        dfa = from_automata_lib(theirs)
        assert len(dfa) == 3
        assert len(set(dfa.names)) == 3
        assert [dfa.accepts(("a",) * n) for n in range(5)] == [False, True, False, False, True]

    def test_results_of_their_operations(self):
        odd = to_automata_lib(DFA(AB, [[1, 0], [0, 1]], [False, True]))
        both = odd.intersection(odd.complement()).union(odd)
        assert same_language(from_automata_lib(both, complete=True), from_automata_lib(odd))

    def test_symbols_that_are_not_strings(self):
        theirs = automata_lib.DFA(
            states={0}, input_symbols={1}, transitions={0: {1: 0}}, initial_state=0, final_states=set()
        )
        with pytest.raises(AutomatonError, match="symbol 1 is a int; letters are strings"):
            from_automata_lib(theirs)

    def test_other_things(self):
        nfa = NFA(states={0}, input_symbols={"a"}, transitions={0: {"a": {0}}}, initial_state=0, final_states={0})
        for other in (nfa, 42, None, DFA(AB, [[0, 0]], [True])):
            with pytest.raises(AutomatonError, match=ONE_LINE) as caught:
                from_automata_lib(other)
            assert "not a automata.fa.dfa.DFA" in str(caught.value)


class TestAALpy:
    @given(alphabets().flatmap(dfas))
    def test_there_and_back(self, dfa):
        theirs = to_aalpy(dfa)
        for word, yes in language(dfa, 4).items():
            assert aalpy_accepts(theirs, word) == yes
        again = from_aalpy(theirs, alphabet=dfa.alphabet)
        assert same_language(again, dfa)
        assert len(again) == len(dfa)
        assert from_aalpy(theirs).alphabet.letters == tuple(sorted(dfa.alphabet))

    @given(partial_tables())
    @settings(max_examples=50)
    def test_partial_ones(self, parts):
        alphabet, table, accepting, initial = parts
        states = [DfaState(f"s{i}", yes) for i, yes in enumerate(accepting)]
        for state, row in zip(states, table, strict=True):
            state.transitions = {letter: states[to] for letter, to in zip(alphabet, row, strict=True) if to is not None}
        theirs = Dfa(states[initial], states)
        dfa = from_aalpy(theirs, alphabet=alphabet, complete=True)
        for word, yes in language(dfa, 4).items():
            state = states[initial]
            for letter in word:
                state = state and state.transitions.get(letter)
            assert yes == bool(state and state.is_accepting)
        if any(None in row for row in table):
            with pytest.raises(FormatError, match=r"AALpy Dfa: state 's.' has no successor on letter"):
                from_aalpy(theirs, alphabet=alphabet)

    def test_states_that_are_called_the_same(self):
        states = [DfaState("q", yes) for yes in (False, True, False)]
        for n, state in enumerate(states):
            state.transitions = {"a": states[(n + 1) % 3]}
        dfa = from_aalpy(Dfa(states[0], states))
        assert len(dfa) == 3
        assert [dfa.accepts(("a",) * n) for n in range(5)] == [False, True, False, False, True]

    def test_long_ones(self):
        dfa = chain(3000)
        assert same_language(from_aalpy(to_aalpy(dfa)), dfa)

    def test_symbols_that_are_not_strings(self):
        state = DfaState("q", True)
        state.transitions = {0: state}
        with pytest.raises(AutomatonError, match="symbol 0 is a int; letters are strings"):
            from_aalpy(Dfa(state, [state]))

    def test_other_things(self):
        state = MooreState("q", "output")
        state.transitions = {"a": state}
        for other in (MooreMachine(state, [state]), 42, None, to_automata_lib(DFA(AB, [[0, 0]], [True]))):
            with pytest.raises(AutomatonError, match=ONE_LINE) as caught:
                from_aalpy(other)
            assert "not a aalpy.automata.Dfa.Dfa" in str(caught.value)


@given(dfas())
@settings(max_examples=30)
def test_through_both(dfa):
    assert same_language(from_aalpy(to_aalpy(from_automata_lib(to_automata_lib(dfa)))), dfa)


@pytest.mark.parametrize(("convert", "module"), [(to_automata_lib, "automata"), (to_aalpy, "aalpy")])
def test_without_the_extra(convert, module):
    real = builtins.__import__

    def absent(name, *arguments):
        if name.split(".")[0] == module:
            raise ImportError(name)
        return real(name, *arguments)

    with (
        patch.object(builtins, "__import__", absent),
        pytest.raises(MissingExtraError, match=r"pip install 'rnncheck\[convert\]'"),
    ):
        convert(DFA(AB, [[0, 0]], [True]))


@given(st.data())
@settings(max_examples=20)
def test_states_are_numbered_alike_every_time(data):
    dfa = data.draw(dfas())
    assert from_automata_lib(to_automata_lib(dfa)) == from_automata_lib(to_automata_lib(dfa))
