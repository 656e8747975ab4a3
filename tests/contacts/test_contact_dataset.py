"""Data sets of contact sequences, and made-up contacts."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.contacts import (
    BreakKind,
    ContactDataset,
    DatasetSettings,
    SyntheticSettings,
    TemporalNetwork,
    check_path,
    contact_dataset,
    read_contacts,
    respect_time,
    synthetic_contacts,
    write_contacts,
)
from rnncheck.contacts.dataset import ONE_BREAK
from rnncheck.contacts.synthetic import DAY, RESOLUTION
from rnncheck.contacts.walks import as_words, broken_walks, is_whole, timed_walks
from rnncheck.errors import InputError, ResourceLimitError
from support.clocks import calls_of
from support.contact_networks import FIGURE_3, contact_lists, networks
from support.strategies import refusal

NETWORK = synthetic_contacts(np.random.default_rng(1))


def draw(seed: int = 0, network: TemporalNetwork = NETWORK, **choices) -> ContactDataset:
    return contact_dataset(network, np.random.default_rng(seed), DatasetSettings(**choices))


@settings(max_examples=40)
@given(networks(max_people=6, max_time=20), st.integers(0, 99), st.booleans())
def test_walks_go_along_contacts_in_time(network: TemporalNetwork, seed: int, strict: bool) -> None:
    """Should give time-respecting paths only, each as long as asked for or broken off."""
    lengths = np.random.default_rng(seed).integers(2, 7, 40)
    walks = timed_walks(network, lengths, np.random.default_rng(seed), strict=strict)
    whole = is_whole(walks, lengths)
    assert respect_time(network, as_words(walks[whole], lengths[whole]), strict=strict).all()
    assert whole[lengths == 2].all()


def test_walks_reach_every_path() -> None:
    """Should find each time-respecting path of three people of a small network."""
    contacts = [*FIGURE_3, (6, "A", "C"), (2, "A", "B")]
    network = TemporalNetwork.from_contacts(contacts)
    everything = {word for word in np.ndindex(4, 4, 4) if check_path(network, network.people.decode(word)).valid}
    lengths = np.full(40_000, 3)
    walks = timed_walks(network, lengths, np.random.default_rng(0))
    assert {tuple(walk) for walk in walks[is_whole(walks, lengths)].tolist()} == everything


@pytest.mark.parametrize("strict", [False, True])
def test_labels_are_right(strict: bool) -> None:
    """Should agree, word by word, with the check of single paths."""
    words = draw(train=600, strict=strict)
    for part in (words.train, words.test):
        for codes, valid in zip(part.words, part.valid, strict=True):
            assert check_path(NETWORK, NETWORK.people.decode(codes), strict=strict).valid == valid


def test_sizes_and_lengths_are_as_the_paper_says() -> None:
    """Should have two training words for each contact, a fifth of that to test, half of each label, 5 to 15 people."""
    words = draw()
    assert len(words.train) == 2 * len(NETWORK)
    assert len(words.test) == round(0.4 * len(NETWORK))
    for part in (words.train, words.test):
        assert abs(int(part.valid.sum()) - len(part) / 2) <= 1
        for label in (True, False):
            lengths = np.bincount(part.words.lengths[part.valid == label], minlength=16)
            assert lengths[:5].sum() == 0
            assert len(lengths) == 16
            # Both labels have every length about as often, so that length tells nothing.
            assert (np.abs(lengths[5:] * 11 / lengths.sum() - 1) < 0.5).all()


def test_no_word_comes_twice() -> None:
    """Should have only different words, none both in training and test."""
    words = draw(train=3000)
    everything = [*words.train.words, *words.test.words]
    assert len(set(everything)) == len(everything) == 3600


def test_broken_paths_are_of_all_kinds() -> None:
    """Should break a third each way, and each in its own way."""
    words = draw(train=3000)
    assert set(words.broken) == {"strangers", "backwards", "repeated"}
    assert all(count > 500 for count in words.broken.values())
    assert sum(words.broken.values()) == 1800
    for kind in ONE_BREAK:
        part = draw(train=300, kinds=(kind,)).train
        for codes in (codes for codes, valid in zip(part.words, part.valid, strict=True) if not valid):
            pairs = list(itertools.pairwise(codes))
            stutter = any(a == b for a, b in pairs)
            strangers = any(not NETWORK.met[pair] for pair in pairs if pair[0] != pair[1])
            assert {
                BreakKind.STRANGERS: strangers and not stutter,
                BreakKind.BACKWARDS: not strangers and not stutter,
                BreakKind.REPEATED: stutter,
            }[kind]


@pytest.mark.parametrize("strict", [False, True])
def test_paths_may_break_at_every_step(strict: bool) -> None:
    """Should break most words at several places, in all three ways, and have no time-respecting path among them."""
    part = draw(train=600, kinds=(BreakKind.MANY,), strict=strict).train
    broken = [codes for codes, valid in zip(part.words, part.valid, strict=True) if not valid]
    assert len(broken) == 300
    assert {len(codes) for codes in broken} == set(range(5, 16))
    assert not respect_time(NETWORK, [NETWORK.people.decode(codes) for codes in broken], strict=strict).any()
    pairs = [list(itertools.pairwise(codes)) for codes in broken]
    stutters = [sum(a == b for a, b in each) for each in pairs]
    strangers = [sum(a != b and not NETWORK.met[a, b] for a, b in each) for each in pairs]
    steps = sum(map(len, pairs))
    assert 0.2 * steps < sum(stutters) < 0.35 * steps
    assert 0.2 * steps < sum(strangers) < 0.35 * steps
    assert np.median(np.add(stutters, strangers)) >= 3
    triples = [triple for codes in broken for triple in zip(codes, codes[1:], codes[2:], strict=False)]
    walked = [triple for triple in triples if NETWORK.met[triple[0], triple[1]] and NETWORK.met[triple[1], triple[2]]]
    backwards = ~respect_time(NETWORK, [NETWORK.people.decode(codes) for codes in walked], strict=strict)
    assert backwards.sum() >= 5


@settings(max_examples=30)
@given(networks(max_people=5, max_time=6), st.integers(0, 99), st.booleans())
def test_steps_of_broken_walks_are_between_people(network: TemporalNetwork, seed: int, strict: bool) -> None:
    """Should fill every walk, whoever never met a stranger, an earlier or a later contact."""
    lengths = np.array([2, 3, 5, 5])
    walks = broken_walks(network, lengths, np.random.default_rng(seed), strict=strict)
    inside = np.arange(5) < lengths[:, None]
    assert ((walks >= 0) == inside).all()
    assert (walks < len(network.people)).all()


def test_sizes_and_proportions_are_options() -> None:
    """Should heed all of them."""
    words = draw(train=1000, test_share=0.5, valid_share=0.3, shortest=3, longest=4)
    assert (len(words.train), len(words.test)) == (1000, 500)
    assert (int(words.train.valid.sum()), int(words.test.valid.sum())) == (300, 150)
    assert set(words.train.words.lengths.tolist()) == {3, 4}


def test_the_seed_decides() -> None:
    """Should give the same words for the same seed, and others for another."""
    first, again, other = (draw(seed, train=200).train for seed in (3, 3, 4))
    assert first.words == again.words
    assert np.array_equal(first.valid, again.valid)
    assert first.words != other.words


@settings(max_examples=30)
@given(contact_lists(max_people=5, max_time=8, loops=True), st.integers(0, 9))
def test_any_network_gives_right_words_or_says_that_it_has_too_few(contacts, seed: int) -> None:
    """Should never loop for ever, nor label wrongly, however small the network is."""
    network = TemporalNetwork.from_contacts(contacts)
    drawn: list[ContactDataset] = []
    error = refusal(lambda: drawn.append(draw(seed, network, train=30, shortest=2, longest=4)))
    if error is not None:
        assert "were found, not" in str(error)
        return
    (words,) = drawn
    for part in (words.train, words.test):
        assert np.array_equal(respect_time(network, part.words), part.valid)


def test_too_few_paths_are_an_error_with_the_number_found() -> None:
    """Should say how many there are and what to do."""
    network = TemporalNetwork.from_contacts([(1, "a", "b"), (2, "b", "c")])
    with pytest.raises(InputError, match=r"only 5 different time-respecting paths of 2 to 3 people.*not 60.*--train"):
        draw(network=network, train=100, shortest=2, longest=3, strict=True)


@pytest.mark.parametrize("seed", range(5))
def test_few_words_are_found_although_most_ways_to_break_a_path_are_impossible(seed: int) -> None:
    """Should try every way: two people who met once cannot be strangers, nor go back in time."""
    network = TemporalNetwork.from_contacts([(1, "a", "b")])
    words = draw(seed, network=network, train=4, shortest=2, longest=4)
    assert words.broken == {"strangers": 0, "backwards": 0, "repeated": 3}


def test_more_words_than_memory_holds_are_refused() -> None:
    """Should say how many are possible."""
    with pytest.raises(ResourceLimitError, match=r"120000000000 words of up to 15 people.*at most 20000000 words"):
        draw(network=TemporalNetwork.from_contacts([(1, "a", "b")]), train=10**11)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"shortest": 1}, "lengths 1 to 15"),
        ({"shortest": 6, "longest": 5}, "lengths 6 to 5"),
        ({"train": 1}, "1 training words are too few"),
        ({"test_share": 0.0}, "the test share is 0.0"),
        ({"valid_share": 1.0}, "the valid share is 1.0"),
        ({"kinds": ()}, "a kind of broken path"),
    ],
)
def test_impossible_settings_are_refused(choices, message: str) -> None:
    """Should say which setting is wrong."""
    with pytest.raises(InputError, match=message):
        DatasetSettings(**choices)


def test_a_hundred_thousand_words_are_drawn_together() -> None:
    """Should call far fewer functions for a word than a walk has steps."""
    drawn = []
    assert calls_of(lambda: drawn.append(draw(train=100_000))) < 10 * 120_000
    assert len(drawn[0].train) + len(drawn[0].test) == 120_000


class TestSynthetic:
    @settings(max_examples=30)
    @given(
        st.builds(
            SyntheticSettings,
            people=st.integers(2, 40),
            days=st.integers(1, 4),
            group_size=st.integers(1, 15),
            meetings=st.floats(0.01, 3.0),
        ),
        st.integers(0, 99),
    )
    def test_everybody_meets_somebody(self, choices: SyntheticSettings, seed: int) -> None:
        """Should have all people in some contact, nobody with itself, on the days asked for."""
        network = synthetic_contacts(np.random.default_rng(seed), choices)
        assert len(network.people) == choices.people
        assert network.met.any(axis=1).all()
        assert not network.met.diagonal().any()
        assert network.times[-1] // DAY < choices.days
        assert not (network.times % RESOLUTION).any()
        assert network.distinct_contacts == len(network)

    def test_it_looks_like_contact_data(self) -> None:
        """Should have more contacts inside groups than across, nights without any, and some long meetings."""
        network = synthetic_contacts(np.random.default_rng(0), SyntheticSettings(people=60, days=3))
        groups = np.array([network.groups[person] for person in network.people])
        inside = groups[network.first] == groups[network.second]
        assert 0.6 < inside.mean() < 1.0
        hours = network.times % DAY // 3600
        assert set(range(8, 18)) <= set(hours.tolist()) <= set(range(8, 19))
        assert 0.1 < network.pairs / (60 * 59 / 2) < 0.5
        assert set((network.times // DAY).tolist()) == {0, 1, 2}

    def test_the_seed_decides(self) -> None:
        """Should give the same contacts for the same seed, and others for another."""
        first, again, other = (synthetic_contacts(np.random.default_rng(seed)) for seed in (3, 3, 4))
        assert np.array_equal(first.index.keys, again.index.keys)
        assert not np.array_equal(first.index.keys, other.index.keys)

    def test_it_can_be_written_and_read(self, tmp_path) -> None:
        """Should come back with the same people, groups and contacts."""
        write_contacts(NETWORK, tmp_path / "contacts.csv")
        network = read_contacts(tmp_path / "contacts.csv")
        assert set(network.people) == set(NETWORK.people)
        assert network.groups == NETWORK.groups
        assert network.times.tolist() == NETWORK.times.tolist()

    def test_many_groups_have_different_names(self) -> None:
        """Should go on after Z."""
        network = synthetic_contacts(np.random.default_rng(0), SyntheticSettings(people=60, group_size=1))
        assert len(set(network.groups.values())) == 60

    @pytest.mark.parametrize(
        ("choices", "message"),
        [({"people": 1}, "people is 1"), ({"days": 0}, "days is 0"), ({"meetings": 0.0}, "meetings is 0.0")],
    )
    def test_impossible_settings_are_refused(self, choices, message: str) -> None:
        """Should name the setting."""
        with pytest.raises(InputError, match=message):
            SyntheticSettings(**choices)

    @pytest.mark.parametrize("choices", [{"people": 100_000}, {"days": 10**8}, {"people": 5000, "meetings": 900.0}])
    def test_more_than_memory_holds_is_refused(self, choices) -> None:
        """Should name the figures before anything is drawn."""
        with pytest.raises(ResourceLimitError, match=r"people on .* days"):
            SyntheticSettings(**choices)
