"""Expressions made from automata, judged by compiling them again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import all_words, empty_language
from rnncheck.automata.minimisation import canonical
from rnncheck.automata.regex.regex_compiler import compile_regex
from rnncheck.automata.regex.state_elimination import regular_expression
from rnncheck.words import Alphabet


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4))
def test_the_expression_describes_the_same_language(seed: int, states: int, letters: int) -> None:
    """Should compile back to the automaton it came from, whatever that is."""
    rng = np.random.default_rng(seed)
    alphabet = Alphabet(["a", "<b>", "it's", "let"][:letters])
    dfa = DFA(alphabet, rng.integers(states, size=(states, letters)), rng.random(states) < 0.5)
    text = regular_expression(dfa, longest=100_000)
    if text is not None:
        assert canonical(compile_regex(text, alphabet)) == canonical(dfa)
    else:
        assert states > 5


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("a*", "a*"),
        ("a a*", "a+"),
        (".* a", ".* a"),
        ("!(.* a a .*)", "!(.* a a .*)"),
        ("(a|b) c", "[a b] c"),
        ("(a b)* ", "(a b)*"),
        ("a c+", "a c+"),
        ("a{3,}", "a a a+"),
        ("a c{10} .*", "a c{10} .*"),
        (".* a . .", ".* a . ."),
        ("(a|b)* c (a|b)*", "[a b]* c [a b]*"),
        ("ε", "ε"),
        ("a?", "a?"),
        ("[^a]* a [^a]*", "[^a]* a [^a]*"),
    ],
)
def test_small_languages_read_well(given_text: str, shown: str) -> None:
    """Should write small languages as a human would."""
    alphabet = Alphabet(["a", "b", "c"])
    text = regular_expression(compile_regex(given_text, alphabet))
    assert text is not None
    assert len(text) <= len(shown) + 2, text
    assert canonical(compile_regex(text, alphabet)) == canonical(compile_regex(given_text, alphabet))


def test_no_word_and_all_words_have_their_own_signs() -> None:
    alphabet = Alphabet(["a", "b"])
    assert regular_expression(empty_language(alphabet)) == "∅"
    assert regular_expression(all_words(alphabet)) == ".*"


def test_an_expression_that_is_too_long_is_not_given() -> None:
    """Should rather say nothing than show what nobody can read."""
    rng = np.random.default_rng(1)
    dfa = DFA(["a", "b"], rng.integers(12, size=(12, 2)), rng.random(12) < 0.5)
    assert regular_expression(dfa, longest=10_000) is not None
    assert regular_expression(dfa, longest=100) is None


def test_large_automata_end_soon_without_an_expression() -> None:
    """Should give up on automata of any size instead of working for ever or going too deep."""
    rng = np.random.default_rng(2)
    for states in (30, 60, 3_000):
        dfa = DFA(["a", "b", "c"], rng.integers(states, size=(states, 3)), rng.random(states) < 0.5)
        assert regular_expression(dfa) is None
    assert regular_expression(compile_regex("a{1000}", Alphabet(["a", "b"]))) is None
