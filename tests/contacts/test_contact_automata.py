"""Automata of contact sequences against all words of small networks, and against the released specifications."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.automata.product import difference_witness, inclusion_witness
from rnncheck.contacts import (
    TemporalNetwork,
    graph_automaton,
    read_contacts,
    respect_time,
    spaced_automaton,
    synthetic_contacts,
    time_automaton,
)
from rnncheck.errors import InputError, StateLimitError
from rnncheck.spec import read_automaton
from support.contact_networks import FIGURE_3, all_paths, all_walks, contact_lists, networks, words_up_to
from support.paths import SHARED_DATA

FIGURE = TemporalNetwork.from_contacts(FIGURE_3)

RELEASED = {
    "kenyan-across": "scc2034_kilifi_all_contacts_across_households.csv",
    "hospital": "detailed_list_of_contacts_Hospital.csv",
    "highschool-2011": "highschool_2011.csv",
}
needs_data = pytest.mark.skipif(
    not SHARED_DATA.exists(), reason="the contact data is not beside the project (../shared/data)"
)


def language(dfa: DFA, length: int) -> set:
    words = list(words_up_to(list(dfa.alphabet), length))
    return {word for word, accepted in zip(words, dfa.accepts_batch(words), strict=True) if accepted}


@settings(max_examples=25)
@given(contact_lists(max_people=4, loops=True))
def test_the_contact_graph_accepts_its_walks(contacts) -> None:
    """Should accept the words in which every two neighbours met, the empty word and single people."""
    dfa = graph_automaton(TemporalNetwork.from_contacts(contacts))
    assert language(dfa, 6) == all_walks(contacts, 6)
    assert len(dfa) == len(dfa.alphabet) + 2


@settings(max_examples=25)
@given(contact_lists(max_people=4, loops=True), st.booleans())
def test_the_time_automaton_accepts_the_time_respecting_paths(contacts, strict: bool) -> None:
    """Should accept exactly what a walk along every sequence of contacts finds."""
    dfa = time_automaton(TemporalNetwork.from_contacts(contacts), strict=strict)
    assert language(dfa, 6) == all_paths(contacts, 6, strict=strict)


@settings(max_examples=25)
@given(contact_lists(max_people=4, loops=True), st.integers(1, 4))
def test_nobody_comes_again_within_the_gap(contacts, gap: int) -> None:
    """Should accept the walks in which no person comes twice among gap + 1 in a row."""
    dfa = spaced_automaton(TemporalNetwork.from_contacts(contacts), gap)
    expected = {
        word
        for word in all_walks(contacts, 6)
        if all(len(set(part)) == len(part) for k in range(len(word)) for part in [word[k : k + gap + 1]])
    }
    assert language(dfa, 6) == expected


@given(networks(max_people=6, max_time=12))
def test_the_languages_lie_inside_one_another(network: TemporalNetwork) -> None:
    """Should have strict paths inside paths, these inside the walks, and larger gaps inside smaller ones."""
    chain = [
        time_automaton(network, strict=True),
        time_automaton(network),
        graph_automaton(network),
    ]
    gaps = [spaced_automaton(network, gap) for gap in (3, 2, 1)]
    for smaller, larger in [*itertools.pairwise(chain), *zip(gaps, [*gaps[1:], chain[-1]], strict=True)]:
        assert inclusion_witness(smaller, larger) is None


def test_states_are_named_after_people() -> None:
    """Should call the state of a person by its name, and keep apart the names of start and sink."""
    network = TemporalNetwork.from_contacts([(1, "start", "rejected")])
    assert graph_automaton(network).names == ("start_", "start", "rejected", "rejected_")


def test_long_words_agree_with_the_rule() -> None:
    """Should agree with the earliest-arrival rule on long random words of a larger network, where few are paths."""
    network = synthetic_contacts(np.random.default_rng(5))
    rng = np.random.default_rng(6)
    words = []
    for _ in range(2000):  # along contacts, so that words do not break at once
        word = [int(rng.integers(len(network.people)))]
        for _ in range(int(rng.integers(12))):
            word.append(int(rng.choice(np.flatnonzero(network.met[word[-1]]))))
        words.append(network.people.decode(word))
    for strict in (False, True):
        answers = respect_time(network, words, strict=strict)
        assert 100 < answers.sum() < 1900
        assert np.array_equal(time_automaton(network, strict=strict).accepts_batch(words), answers)


def test_a_large_network_is_no_trouble() -> None:
    """Should build 404 states over 402 people at once, and say it when an automaton outgrows its limit."""
    rng = np.random.default_rng(0)
    people = rng.integers(400, size=9000).tolist()
    steps = rng.integers(1, 3, size=9000).tolist()
    contacts = [(time, str(a), str(a + b)) for time, (a, b) in enumerate(zip(people, steps, strict=True))]
    network = TemporalNetwork.from_contacts(contacts)
    assert len(graph_automaton(network)) == len(network.people) + 2
    with pytest.raises(StateLimitError, match="time-respecting paths needs more than 500 states"):
        time_automaton(network, max_states=500)
    with pytest.raises(StateLimitError, match="with gap 3 needs more than 1000 states"):
        spaced_automaton(network, 3, max_states=1000)


def test_limits_are_exact() -> None:
    """Should build what has exactly as many states as allowed, and refuse one fewer."""
    for build in (time_automaton, lambda network, **limit: spaced_automaton(network, 2, **limit)):
        states = len(build(FIGURE))
        assert len(build(FIGURE, max_states=states)) == states
        with pytest.raises(StateLimitError):
            build(FIGURE, max_states=states - 1)


def test_a_gap_bounds_something() -> None:
    """Should refuse a gap of nothing."""
    with pytest.raises(InputError, match="a gap of 0 steps bounds nothing"):
        spaced_automaton(FIGURE, 0)


@needs_data
class TestReleased:
    @pytest.mark.parametrize("name", RELEASED)
    def test_our_specification_is_the_released_one(self, name: str) -> None:
        """Should have the same letters in the same order and the same language, with self-contacts kept."""
        released = read_automaton(SHARED_DATA / "released" / "contacts" / name / "spec_dfa.dot")
        network = read_contacts(SHARED_DATA / "contacts" / RELEASED[name], self_contacts="keep")
        ours = graph_automaton(network)
        meta = (SHARED_DATA / "released" / "contacts" / name / "meta").read_text()
        assert f"alphabet = {network.people}\n" in meta
        assert difference_witness(ours, released) is None

    def test_the_one_difference_is_the_self_contact_that_we_drop(self) -> None:
        """Should differ only in the word 43 43: the file has one line in which person 43 meets itself."""
        released = read_automaton(SHARED_DATA / "released" / "contacts" / "highschool-2011" / "spec_dfa.dot")
        network = read_contacts(SHARED_DATA / "contacts" / "highschool_2011.csv")
        ours = graph_automaton(network)
        assert inclusion_witness(ours, released) is None
        assert inclusion_witness(released, ours) == ("43", "43")
        assert difference_witness(spaced_automaton(network, 1), ours) is None

    def test_the_largest_network(self) -> None:
        """Should build the specification of 403 people as a table of 405 states."""
        network = read_contacts(SHARED_DATA / "contacts" / "tij_SFHH.csv")
        dfa = graph_automaton(network)
        assert dfa.transitions.shape == (405, 403)
        assert dfa.accepts_batch([(), ("1467",), ("1467", "1591"), ("1467", "1467")]).tolist() == [1, 1, 1, 0]
