"""Automata from labelled words: right on every word that was given, and the true one where there are words enough."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck import zoo
from rnncheck.automata.minimisation import minimise
from rnncheck.errors import InputError
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import Cell
from rnncheck.training import HardeningSettings, LabelledWords, automaton_from_words, own_automaton, train_provable
from rnncheck.words import Alphabet, Codes, WordBatch
from support.proofs import random_dfa

AB = Alphabet(["a", "b"])


def labelled(words: dict[Codes, bool], alphabet: Alphabet = AB) -> LabelledWords:
    return LabelledWords(alphabet, WordBatch.from_codes(list(words)), np.array([int(yes) for yes in words.values()]))


def all_words(letters: int, longest: int) -> list[Codes]:
    return [word for length in range(longest + 1) for word in itertools.product(range(letters), repeat=length)]


@given(st.dictionaries(st.lists(st.integers(0, 1), max_size=7).map(tuple), st.booleans(), min_size=1, max_size=40))
@settings(max_examples=100, deadline=None)
def test_whatever_the_labels_every_word_is_answered_by_its_own(words: dict[Codes, bool]) -> None:
    found = automaton_from_words(labelled(words))
    assert [found.accepts(AB.decode(word)) for word in words] == list(words.values())


@pytest.mark.parametrize("seed", range(6))
def test_with_all_short_words_it_is_the_automaton_itself(seed: int) -> None:
    true = minimise(random_dfa(5, 2, seed))
    words = all_words(2, 8)
    found = automaton_from_words(labelled({word: true.accepts(true.alphabet.decode(word)) for word in words}))
    assert found == true


def test_a_network_answers_where_no_label_speaks() -> None:
    entry = zoo.entry("even-elman")
    network = entry.network()
    words = WordBatch.from_codes(all_words(2, 9))
    own = automaton_from_words(labelled({(): True}, network.alphabet), network=network)
    answers = CompiledNetwork(network).accepts_batch(words)
    assert (own.accepts_batch(words) == answers).all()
    assert own == minimise(own_automaton(network))
    changed = {(0, 1, 0): False, (0, 0): True}
    corrected = automaton_from_words(labelled(changed, network.alphabet), network=network)
    for word, answer in changed.items():
        assert corrected.accepts(network.alphabet.decode(word)) == answer
    assert (corrected.accepts_batch(words) == answers).mean() > 0.9


def test_a_network_trained_from_words_is_proved_of_their_automaton() -> None:
    true = minimise(random_dfa(4, 2, 3))
    words = labelled({word: true.accepts(true.alphabet.decode(word)) for word in all_words(2, 8)})
    made = train_provable(automaton_from_words(words), cell=Cell.GRU, hidden=12, settings=HardeningSettings(words=50))
    assert made.report.proved
    answers = CompiledNetwork(made.network).accepts_batch(words.words)
    assert (answers == (words.answers == 1)).all()


def test_what_cannot_be_learned_is_refused() -> None:
    several = LabelledWords(AB, WordBatch.from_codes([(), (0,)]), np.array([0, 1]), ("red", "green"))
    with pytest.raises(InputError, match="not yes and no"):
        automaton_from_words(several)
    with pytest.raises(InputError, match="different alphabets"):
        automaton_from_words(labelled({(): True}), network=zoo.entry("response-lstm").network())
    rng = np.random.default_rng(0)
    noise = {word: bool(rng.integers(2)) for word in all_words(2, 8)}
    with pytest.raises(InputError, match="more than 10 states"):
        automaton_from_words(labelled(noise), max_states=10)
