"""Time-respecting paths: the earliest-arrival rule against a search over all sequences of contacts."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.contacts import Reason, TemporalNetwork, broken_pairs, check_path, explain_path, respect_time
from rnncheck.errors import AlphabetError, InputError, ResourceLimitError
from rnncheck.words import WordBatch
from support.contact_networks import FIGURE_3, all_paths, all_walks, contact_lists, networks, words_up_to

FIGURE = TemporalNetwork.from_contacts(FIGURE_3)


def holds_up(network: TemporalNetwork, word, times, *, strict: bool) -> bool:
    """Whether these times prove the path: a contact for every step, and in order."""
    contacts = {
        (time, frozenset((network.people[a], network.people[b])))
        for time, a, b in zip(network.times.tolist(), network.first.tolist(), network.second.tolist(), strict=True)
    }
    steps = list(zip(times, map(frozenset, itertools.pairwise(word)), strict=True))
    ordered = all(a < b if strict else a <= b for a, b in itertools.pairwise(times))
    return ordered and all(step in contacts for step in steps)


@pytest.mark.parametrize("strict", [False, True])
def test_figure_5_of_the_paper(strict: bool) -> None:
    """Should take C D A B, with its times, and refuse A B C D because B met C only before it met A."""
    good = check_path(FIGURE, ("C", "D", "A", "B"), strict=strict)
    assert good.valid
    assert good.times == (1, 3, 4)
    bad = check_path(FIGURE, ("A", "B", "C", "D"), strict=strict)
    assert not bad.valid
    assert bad.times == (4,)
    assert (bad.broken.first, bad.broken.second, bad.broken.position) == ("B", "C", 1)
    assert (bad.broken.reason, bad.broken.arrival, bad.broken.last_met) == (Reason.ONLY_BEFORE, 4, 2)


def test_equal_times_are_allowed_unless_strict() -> None:
    """Should tell the two meanings of «increasing» apart."""
    network = TemporalNetwork.from_contacts([(5, "a", "b"), (5, "b", "c")])
    assert check_path(network, ("a", "b", "c")).times == (5, 5)
    strict = check_path(network, ("a", "b", "c"), strict=True).broken
    assert strict.reason is Reason.ONLY_BEFORE
    assert str(strict) == f"b → c, who met at {strict.last_met} and not later"


@settings(max_examples=25)
@given(contact_lists(max_people=4, loops=True), st.booleans())
def test_every_word_up_to_six_people_against_all_sequences_of_contacts(contacts, strict: bool) -> None:
    """Should say yes to exactly the paths that a walk along every sequence of contacts finds."""
    network = TemporalNetwork.from_contacts(contacts)
    words = list(words_up_to(list(network.people), 6))
    answers = respect_time(network, words, strict=strict)
    yes = {word for word, answer in zip(words, answers, strict=True) if answer}
    assert yes == {word for word in all_paths(contacts, 6, strict=strict) if set(word) <= set(network.people)}


@given(networks(loops=True), st.data(), st.booleans())
def test_the_answer_about_one_word_comes_with_its_proof(network: TemporalNetwork, data, strict: bool) -> None:
    """Should agree with the batch, prove a yes by times, and break a no where the longest valid beginning ends."""
    word = tuple(data.draw(st.lists(st.sampled_from(network.people.letters), max_size=8)))
    check = check_path(network, word, strict=strict)
    assert check.valid == respect_time(network, [word], strict=strict)[0]
    if check.valid:
        assert holds_up(network, word, check.times, strict=strict)
    else:
        position = check.broken.position
        assert holds_up(network, word[: position + 1], check.times, strict=strict)
        assert respect_time(network, [word[: position + 1], word[: position + 2]], strict=strict).tolist() == [1, 0]
        never = len(network.times_of(*word[position : position + 2])) == 0
        assert check.broken.reason is (Reason.NEVER_MET if never else Reason.ONLY_BEFORE)


@given(networks(), st.data())
def test_a_strict_path_is_a_path(network: TemporalNetwork, data) -> None:
    """Should never call valid with strict what is not valid without it."""
    words = data.draw(st.lists(st.lists(st.sampled_from(network.people.letters), max_size=6), max_size=20))
    assert not (respect_time(network, words, strict=True) & ~respect_time(network, words)).any()


@given(contact_lists(max_people=4))
def test_broken_pairs_are_what_the_contact_graph_refuses(contacts) -> None:
    """Should find none exactly in the paths of the contact graph."""
    network = TemporalNetwork.from_contacts(contacts)
    walks = all_walks(contacts, 4)
    for word in words_up_to(list(network.people), 4):
        assert (broken_pairs(network, word) == []) == (word in walks)


def test_no_words_and_short_words() -> None:
    """Should accept the empty word and single people, and answer an empty batch with nothing."""
    assert respect_time(FIGURE, [(), ("A",), ("B",)]).tolist() == [True, True, True]
    assert respect_time(FIGURE, []).tolist() == []
    assert check_path(FIGURE, ()).times == ()


def test_unknown_people_are_refused() -> None:
    """Should name the stranger, for one word as for a batch of letters or of positions."""
    with pytest.raises(AlphabetError, match="'E'"):
        check_path(FIGURE, ("A", "E"))
    with pytest.raises(AlphabetError, match="'E'"):
        respect_time(FIGURE, [("A", "E")])
    with pytest.raises(AlphabetError, match="position 9"):
        respect_time(FIGURE, WordBatch.from_codes([(0, 9)]))


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("A C", "accepts A → C, who never met"),
        ("C A B A C", "accepts C → A, who never met (1 more of its 4 pairs never met)"),
        ("A B C", "accepts B → C, who met only before: last at 2, and the path reaches B at 4"),
        ("A B C A", "accepts C → A, who never met"),
        ("C D A", "accepts a path that took place: C –1→ D –3→ A"),
        ("A A", "accepts A → A, the same person twice"),
        ("A", "accepts A alone"),
        ("", "accepts the empty word"),
    ],
)
def test_a_counterexample_is_said_in_words(word: str, text: str) -> None:
    """Should name people who never met before people who met too early."""
    assert explain_path(FIGURE, tuple(word.split())) == text


def test_odd_names_stay_on_one_line() -> None:
    """Should quote names with blanks and show line breaks as escapes."""
    network = TemporalNetwork.from_contacts([(1, "a\nb", "Ann Lee"), (2, "Ann Lee", "c")])
    assert explain_path(network, ("a\nb", "c")) == r"accepts 'a\nb' → c, who never met"
    assert str(check_path(network, ("c", "Ann Lee", "a\nb"))) == r"c –2→ 'Ann Lee' –✗→ 'a\nb'"


class TestNetwork:
    def test_counts(self) -> None:
        """Should count repetitions among contacts but not among labelled edges, whichever way round they stand."""
        network = TemporalNetwork.from_contacts([(3, "a", "b"), (1, "b", "a"), (3, "b", "a"), (2, "b", "c")])
        assert (len(network), network.distinct_contacts, network.pairs) == (4, 3, 2)
        assert network.times.tolist() == [1, 2, 3, 3]
        assert network.people.letters == ("a", "b", "c")
        assert network.times_of("b", "a").tolist() == network.times_of("a", "b").tolist() == [1, 3]
        assert network.times_of("a", "c").tolist() == []

    def test_a_person_that_meets_itself_counts_once(self) -> None:
        """Should count a loop as one labelled edge, and as no pair: a pair is two people."""
        network = TemporalNetwork.from_contacts([(1, "a", "a"), (2, "a", "b")])
        assert (network.distinct_contacts, network.pairs) == (2, 1)
        assert check_path(network, ("a", "a", "b")).times == (1, 2)

    @given(networks(), st.integers(0, 5), st.integers(0, 5))
    def test_a_window_keeps_people_and_the_contacts_inside(self, network, start: int, end: int) -> None:
        """Should keep exactly the contacts from start to end, or refuse when there are none."""
        inside = [time for time in network.times.tolist() if start <= time <= end]
        if not inside:
            with pytest.raises(InputError, match="there is no contact"):
                network.between(start, end)
            return
        window = network.between(start, end)
        assert window.people == network.people
        assert window.times.tolist() == inside

    def test_arrays_are_its_own(self) -> None:
        """Should copy what it is given and let nobody write to it."""
        times = np.array([2, 1])
        network = TemporalNetwork(FIGURE.people, times, np.array([0, 1]), np.array([1, 2]))
        times[0] = 9
        assert network.times.tolist() == [1, 2]
        with pytest.raises(ValueError, match="read-only"):
            network.times[0] = 5

    @pytest.mark.parametrize(
        ("times", "first", "second", "message"),
        [
            ([], [], [], "no contacts"),
            ([1, 2], [0], [1], "needs a time and two people"),
            ([-4], [0], [1], "-4 is negative"),
            ([1], [0], [7], "second is 7"),
            ([1], [-1], [1], "first is -1"),
            ([0.5], [0], [1], "whole numbers"),
        ],
    )
    def test_bad_parts_are_refused(self, times, first, second, message: str) -> None:
        """Should say what is wrong with the arrays."""
        with pytest.raises(InputError, match=message):
            TemporalNetwork(FIGURE.people, np.array(times), np.array(first), np.array(second))

    def test_more_people_than_a_table_can_hold_are_refused(self) -> None:
        """Should say how many there may be before memory runs out."""
        with pytest.raises(ResourceLimitError, match="20001 people are more than 20000"):
            TemporalNetwork.from_contacts((time, str(time), str(time + 1)) for time in range(20_000))

    def test_one_person_or_nobody_is_refused(self) -> None:
        """Should want two people at least."""
        with pytest.raises(InputError, match="only one person, 'a'"):
            TemporalNetwork.from_contacts([(1, "a", "a")])
        with pytest.raises(InputError, match="no contacts"):
            TemporalNetwork.from_contacts([])
