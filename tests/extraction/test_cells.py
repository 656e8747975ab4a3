"""The automaton of the cells as a surrogate: what it contains, what AAMC proves by it, and where it does not fit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rnncheck import zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import canonical
from rnncheck.automata.product import inclusion_witness
from rnncheck.checker import Status, replay
from rnncheck.errors import InputError, ModelError
from rnncheck.extraction.extract import extract
from rnncheck.extraction.invariant_cells import cells
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.learning.learning_task import Progress
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.foreign.steps.step_wrapping import wrap_steps
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.probability.distributions import WordDistribution
from rnncheck.spec import Spec
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet
from support.extraction import end_of, task_for
from support.proofs import random_dfa, with_one_word_changed
from support.robust_networks import robust_network

QUICK = {"epsilon": 0.05, "gamma": 0.05}
CELLS = VerifySettings(extraction="cells")


@pytest.mark.parametrize("name", ["even-provable-elman", "tomita4-provable-gru", "response-provable-lstm"])
def test_a_provable_network_is_extracted_exactly_and_that_is_proved(name: str) -> None:
    entry = zoo.entry(name)
    found = extract(CompiledNetwork(entry.network()), method="cells", **QUICK)
    assert canonical(found.automaton) == canonical(entry.spec().dfa)
    assert found.passed
    assert found.open_mass == 0.0
    assert found.epsilon is None  # no sample shows it
    assert found.sentence == "it accepts exactly the words that the network accepts: this is proved"


def test_another_network_is_contained_and_the_result_says_how_far() -> None:
    """Should never be made smaller, though constant answers agree with the network more often."""
    entry = zoo.entry("tomita4-gru")
    model = CompiledNetwork(entry.network())
    found = extract(model, method="cells", settings=LearningSettings(max_states=120), **QUICK)
    words = [word for n in range(9) for word in itertools.product(entry.alphabet, repeat=n)]
    assert isinstance(found.automaton, DFA)
    assert (model.accepts_batch(words) <= found.automaton.accepts_batch(words)).all()
    assert not found.passed
    assert found.open_mass is not None
    assert 0.05 < found.open_mass <= 1.0
    assert "accepts every word that the network accepts: this is proved" in found.sentence


@pytest.mark.parametrize("relation", ["subset", "superset", "equal"])
def test_aamc_with_cells_is_a_proof_and_its_certificate_is_confirmed(relation: str, tmp_path) -> None:
    entry = zoo.entry("tomita4-provable-gru")
    model, path = CompiledNetwork(entry.network()), tmp_path / "proof.cert"
    settings = VerifySettings(extraction="cells", certificate=str(path))
    verdict = verify(model, entry.spec(), method="aamc", relation=relation, settings=settings)
    assert verdict.satisfied
    assert verdict.guarantee is not None
    assert verdict.guarantee.proof
    assert verdict.guarantee.samples == 0
    assert verdict.cost.rounds == 2  # words are distinguished by their last letter, after the first try did without
    assert "its language" in verdict.reason
    assert replay(path.read_text(), model).status is Status.CONFIRMED
    assert replay(verdict, model).status is not Status.REFUTED


@pytest.mark.parametrize("relation", ["subset", "superset", "equal"])
def test_aamc_with_cells_finds_a_violation_among_the_suspects(relation: str) -> None:
    spec = random_dfa(3, 2, 1)
    word = (0, 1, 1)
    model = CompiledNetwork(robust_network(with_one_word_changed(spec, word), Cell.GRU))
    verdict = verify(model, Spec.from_dfa(spec), method="aamc", relation=relation, settings=CELLS)
    accepts = spec.accepts(spec.alphabet.decode(word))
    if relation == ("subset" if accepts else "superset"):
        assert verdict.satisfied
    else:
        assert verdict.counterexample == spec.alphabet.decode(word)


def test_aamc_with_cells_never_says_satisfied_without_a_proof() -> None:
    entry = zoo.entry("even-elman")
    verdict = verify(CompiledNetwork(entry.network()), entry.spec(), method="aamc", settings=CELLS)
    assert verdict.undecided
    assert "spurious" in verdict.reason
    few = VerifySettings(extraction="cells", max_states=3)
    for relation in ("subset", "superset", "equal"):
        verdict = verify(CompiledNetwork(entry.network()), entry.spec(), method="aamc", relation=relation, settings=few)
        assert verdict.undecided
        assert verdict.hypothesis is not None
        assert len(verdict.hypothesis) <= 3


def test_too_few_states_leave_all_words() -> None:
    entry = zoo.entry("even-elman")
    found = extract(CompiledNetwork(entry.network()), method="cells", settings=LearningSettings(max_states=2), **QUICK)
    assert not found.passed
    everything = Spec.from_regex(".*", entry.alphabet).dfa
    task = task_for(CompiledNetwork(entry.network()), max_states=2)
    assert inclusion_witness(everything, end_of(cells(task)).automaton.support) is None


def test_what_has_no_weights_and_what_asks_for_fewer_states_is_refused() -> None:
    letters = Alphabet(["a", "b"])
    model = CallableModel(lambda words: [len(word) % 2 == 0 for word in words], letters)
    with pytest.raises(ModelError, match="cells needs the hidden states"):
        extract(model, method="cells", **QUICK)
    stepped = wrap_steps(
        lambda rows: np.zeros((rows, 1)), lambda states, codes: states, lambda states: states[:, 0] + 1.0, letters
    )
    with pytest.raises(ModelError, match="by its weights"):
        extract(stepped, method="cells", **QUICK)
    network = CompiledNetwork(zoo.entry("even-elman").network())
    with pytest.raises(InputError, match="leave the number of states out"):
        extract(network, method="cells", states=3)
    with pytest.raises(InputError, match="Moore machine"):
        extract(network, method="cells", labels=True)


def remembering() -> CompiledNetwork:
    """Relu units of which two always agree, which boxes do not know, and a sum that few words make large enough."""
    layer = Layer(
        np.array([[0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], np.float32),
        np.array([[0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 0.5, 0], [0, 0, 10, 0]], np.float32),
        np.array([0, 0, 0, -19], np.float32),
    )
    head, letters = np.array([[1, -1, 0, 1]], np.float32), Alphabet(["a", "b", "c"])
    return CompiledNetwork(
        RecurrentNetwork(
            letters, Cell.RNN_RELU, np.eye(3, dtype=np.float32), (layer,), head, np.array([-0.25], np.float32)
        )
    )


@pytest.mark.parametrize("weight", [0.0, 1e-200])
def test_words_that_are_never_drawn_are_words(weight: float) -> None:
    """Should not say "the very words" where the automaton accepts others, however improbable they are."""
    model = remembering()
    distribution = WordDistribution(model.alphabet, {"a": 1.0, "b": weight, "c": weight}, 0.5)
    found = extract(model, method="cells", distribution=distribution, **QUICK)
    words = [word for n in range(5) for word in itertools.product(model.alphabet, repeat=n)]
    assert isinstance(found.automaton, DFA)
    assert (model.accepts_batch(words) < found.automaton.accepts_batch(words)).any()
    assert found.open_mass is not None
    assert found.open_mass > 0.0
    assert "the very words" not in found.sentence


def test_what_was_proved_before_the_end_is_kept() -> None:
    """Should tell of the cells that were found, and give the automaton that contains the network's language."""
    model, reports = remembering(), []

    def count(progress: Progress) -> None:
        reports.append(progress)

    def end(progress: Progress) -> None:
        reports.append(progress)
        if len(reports) == calls - 1:
            raise KeyboardInterrupt

    extract(model, method="cells", progress=count, **QUICK)
    calls = len(reports)
    reports.clear()
    found = extract(model, method="cells", progress=end, **QUICK)
    assert found.unfinished == "interrupted"
    assert found.cells is not None
    assert "accepts every word that the network accepts: this is proved" in found.sentence
    assert isinstance(found.automaton, DFA)
    words = [word for n in range(7) for word in itertools.product(model.alphabet, repeat=n)]
    assert (model.accepts_batch(words) <= found.automaton.accepts_batch(words)).all()
