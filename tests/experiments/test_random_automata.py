"""Automata, specifications and networks are drawn as the paper describes."""

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from rnncheck.automata.minimisation import minimise
from rnncheck.automata.product import inclusion_witness
from rnncheck.errors import InputError
from rnncheck.experiments.random_automata import RandomAutomata
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.training.from_automaton import data_from_automaton


@pytest.mark.parametrize("number", range(30))
def test_automata_are_minimal_and_of_the_size_asked_for(number) -> None:
    drawn = RandomAutomata(states=12).automaton(number, 0)
    assert 5 <= len(drawn) <= 12
    assert len(minimise(drawn)) == len(drawn)
    assert list(drawn.alphabet) == list("abcde")


@pytest.mark.parametrize("number", range(10))
def test_specifications_allow_more_than_the_target_and_differ(number) -> None:
    source = RandomAutomata(states=8)
    target = source.automaton(number, 0)
    specs = list(source.specifications(number, 0, target).values())
    refusing = int((~target.accepting).sum())
    assert len(specs) == min(5, 2**refusing - 2)
    words = [word for length in range(7) for word in itertools.product(range(5), repeat=length)]
    letters = [target.alphabet.decode(word) for word in words]
    ours = target.accepts_batch(letters)
    answers = [spec.accepts_batch(letters) for spec in specs]
    for spec, allowed in zip(specs, answers, strict=True):
        assert inclusion_witness(target, spec) is None
        assert not (ours & ~allowed).any()
        assert not allowed.all(), "a specification that accepts everything is no question"
    assert len({allowed.tobytes() for allowed in answers}) == len(specs)


def test_a_seed_decides_everything_and_a_draw_changes_it() -> None:
    source = RandomAutomata(states=9, seed=4)
    assert source.automaton(2, 0) == source.automaton(2, 0)
    assert source.automaton(2, 0) != source.automaton(2, 1)
    assert source.automaton(2, 0) != source.automaton(3, 0)
    assert source.automaton(2, 0) != RandomAutomata(states=9, seed=5).automaton(2, 0)


def test_networks_have_the_papers_shape_and_are_good_enough() -> None:
    source = RandomAutomata(
        count=1, states=5, min_states=4, hidden_per_state=3, words=200, accuracy=0.3, target_accuracy=0.7
    )
    subject = source.make("random-001", None)
    facts: Mapping[str, Any] = subject.facts
    assert [layer.hidden for layer in subject.network.layers] == [3 * facts["states"]]
    assert facts["accuracy"] > 0.3
    assert len(subject.specs) >= 1


def test_by_the_papers_recipe_a_network_learns_whole_words_and_is_judged_by_them() -> None:
    """Its accuracy is that on the words it was trained with, measured again here."""
    source = RandomAutomata(
        count=1,
        states=5,
        min_states=4,
        hidden_per_state=3,
        words=200,
        accuracy=0.3,
        target_accuracy=0.7,
        recipe="paper",
    )
    subject = source.make("random-001", None)
    training: Mapping[str, Any] = subject.network.facts["training"]
    target = source.automaton(0, 0)
    words = data_from_automaton(target, source._rng(0, 0, 2), count=200, balance=0.0).train.words
    answers = CompiledNetwork(subject.network).accepts_batch(words)
    assert subject.facts["accuracy"] == pytest.approx((answers == target.accepts_batch(words)).mean())
    assert subject.facts["recipe"] == "paper"
    assert training["data"]["balance"] == 0.0


def test_a_network_that_is_never_good_enough_is_an_error_with_a_remedy() -> None:
    source = RandomAutomata(
        count=1, states=5, hidden=1, words=50, accuracy=0.999, target_accuracy=1.0, draws=2, training_seconds=0.001
    )
    with pytest.raises(InputError, match=r"none of 2 networks.*--accuracy"):
        source.make("random-001", None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": 0}, {"states": 3}, {"states": 2, "min_states": 1}, {"letters": 0}, {"draws": 0},
        {"accuracy": 0.99, "target_accuracy": 0.9}, {"training_seconds": 0.0}, {"hidden": -3},
    ],
)  # fmt: skip
def test_impossible_sizes_are_refused(wrong) -> None:
    with pytest.raises(InputError):
        RandomAutomata(**wrong)


def test_automata_that_cannot_come_up_are_an_error(monkeypatch) -> None:
    """Over one letter hardly any random automaton of 60 states is minimal."""
    monkeypatch.setattr("rnncheck.experiments.random_automata._DRAWS", 100)
    with pytest.raises(InputError, match="--min-states"):
        RandomAutomata(states=60, min_states=60, letters=1).automaton(0, 0)


def test_many_letters_have_names_of_their_own() -> None:
    assert len(set(RandomAutomata(letters=100).automaton(0, 0).alphabet)) == 100
