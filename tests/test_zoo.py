"""The networks that come with rnncheck are what their entries say."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from rnncheck import VerifySettings, verify, zoo
from rnncheck.checker import Status, replay
from rnncheck.errors import InputError
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.reference import reference_score
from rnncheck.models.network import Cell
from rnncheck.probability.distributions import WordDistribution
from rnncheck.proofs.certifying import certificate_of
from rnncheck.proofs.proof_search import Invariant, find_invariant
from rnncheck.relations import Property, Relation
from rnncheck.words import WordBatch

ENTRIES = zoo.entries()
README = Path(zoo.__file__).with_name("README.md")
every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


def test_files_entries_and_readme_name_the_same_networks() -> None:
    files = {path.stem for path in README.parent.glob("*.safetensors")}
    assert files == set(zoo.names())
    for entry in ENTRIES:
        assert f"`{entry.name}`" in README.read_text()
        assert entry.property_text in README.read_text()
        assert f"build_zoo.py {entry.name}" in README.read_text()
    assert sum(path.stat().st_size for path in README.parent.glob("*.safetensors")) < 300_000


def test_all_cells_and_both_verdicts_are_there() -> None:
    assert {entry.network().cell for entry in ENTRIES} >= {Cell.LSTM, Cell.GRU, Cell.RNN_TANH}
    assert {entry.expected_verdict for entry in ENTRIES} == {"satisfied", "violated"}
    assert any(entry.network().outputs == 3 for entry in ENTRIES)
    assert any("<book>" in entry.alphabet for entry in ENTRIES)


@every_entry
def test_networks_fit_their_properties_and_tell_how_they_were_trained(entry: zoo.Entry) -> None:
    network = entry.network()
    assert network.alphabet == entry.alphabet == entry.spec().alphabet
    told = network.facts["training"]
    assert told["accuracy" if entry.proved else "test_accuracy"] >= 0.99
    assert zoo.path(entry.name) == entry.path


@every_entry
def test_short_words_and_drawn_words_are_answered_as_the_entry_says(entry: zoo.Entry) -> None:
    dfa = entry.spec().dfa
    letters = len(dfa.alphabet)
    longest = int(np.log(100_000) / np.log(letters))
    short = [word for n in range(longest + 1) for word in itertools.product(range(letters), repeat=n)]
    drawn = WordDistribution(dfa.alphabet).sample(np.random.default_rng(2), 2_000)
    model = CompiledNetwork(entry.network(), threads=1)
    for words in (WordBatch.from_codes(short), drawn):
        assert not (model.accepts_batch(words) & ~dfa.accepts_batch(words)).any()
    if entry.satisfied:
        assert model.accepts_batch(words := WordBatch.from_codes(short)).tolist() == dfa.accepts_batch(words).tolist()


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.violation], ids=lambda entry: entry.name)
def test_violations_are_real(entry: zoo.Entry) -> None:
    assert entry.violation is not None
    assert reference_score(entry.network(), entry.alphabet.encode(entry.violation)) > 0
    assert not entry.spec().accepts(entry.violation)


def test_satisfied_entries_hold_when_loops_are_pumped() -> None:
    for entry in (one for one in ENTRIES if one.satisfied):
        dfa, model = entry.spec().dfa, CompiledNetwork(entry.network(), threads=1)
        codes = range(len(entry.alphabet))
        words = [(a, b) + (c,) * n for a in codes for b in codes for c in codes for n in (20, 100, 500)]
        batch = WordBatch.from_codes(words)
        assert not (model.accepts_batch(batch) & ~dfa.accepts_batch(batch)).any(), entry.name


@every_entry
def test_verification_says_what_the_entry_says(entry: zoo.Entry) -> None:
    few = VerifySettings(search_steps=100_000)
    model = CompiledNetwork(entry.network(), threads=1)
    verdict = verify(model, entry.spec(), epsilon=0.01, gamma=0.01, settings=few)
    assert verdict.outcome.value == entry.expected_verdict
    if entry.violation is not None:
        assert len(verdict.counterexample or ()) <= len(entry.violation)


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.proved], ids=lambda entry: entry.name)
def test_proved_entries_are_proved_again_and_the_proof_is_confirmed(entry: zoo.Entry) -> None:
    network = entry.network()
    wanted = Property(entry.spec().dfa, Relation.EQUAL)
    found = find_invariant(network, wanted)
    assert isinstance(found, Invariant)
    model = CompiledNetwork(network, threads=1)
    proof = certificate_of(found, network, wanted, model.accepts_empty)
    assert replay(proof, model).status is Status.CONFIRMED


def test_a_proved_network_of_each_cell_is_there() -> None:
    cells = {entry.network().cell for entry in ENTRIES if entry.proved}
    assert cells == {Cell.LSTM, Cell.GRU, Cell.RNN_TANH}


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="no network is called 'lion'; there are response-lstm, "):
        zoo.path("lion")
