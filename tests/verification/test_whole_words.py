"""Models that only know whole words are searched too, as far as the verdict says."""

import numpy as np
import pytest

from rnncheck import load_model, verify, wrap, zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import all_words
from rnncheck.checker import Status, replay
from rnncheck.models.adapters import DFAModel
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Property, Relation
from rnncheck.search.mutation import MutationSearch
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet

LETTERS = Alphabet(["a", "b"])


def random_dfa(seed: int, states: int, share: float = 0.5) -> DFA:
    rng = np.random.default_rng(seed)
    return DFA(LETTERS, rng.integers(states, size=(states, 2)), rng.random(states) < share)


@pytest.mark.parametrize("scored", [True, False], ids=["scores", "yes and no"])
@pytest.mark.parametrize("seed", range(3))
def test_the_faulty_network_wrapped_as_a_function_is_found_out(scored: bool, seed: int) -> None:
    """It loses a request among ten c: of random words one in a hundred thousand is like that."""
    entry = zoo.entry("response-faulty-lstm")
    network = load_model(entry.path)

    def model(words):
        return network.scores_batch(words) if scored else network.accepts_batch(words).tolist()

    wrapped = wrap(model, network.alphabet, **({"threshold": 0.0} if scored else {}))
    settings = VerifySettings(flows=None)
    verdict = verify(wrapped, entry.spec(), epsilon=0.01, gamma=0.01, seed=seed, settings=settings)
    assert verdict.violated
    assert verdict.no_violation_up_to >= 4
    assert replay(verdict, wrapped).having(Status.REFUTED) == ()


def test_what_was_searched_in_vain_is_told() -> None:
    model = wrap(lambda words: [len(word) % 2 == 0 for word in words], LETTERS)
    even = DFA(LETTERS, [[1, 1], [0, 0]], np.array([True, False]))
    settings = VerifySettings(search_steps=40_000)
    verdict = verify(model, even, epsilon=0.05, gamma=0.05, settings=settings)
    assert verdict.satisfied
    assert verdict.searched.changed_words > 100
    assert verdict.searched.guided_steps >= 5_000
    assert verdict.searched.exact_length >= 5
    assert verdict.guarantee.exact_length == verdict.searched.exact_length
    assert "changed random words" in verdict.searched.sentence()


@pytest.mark.parametrize("relation", Relation)
def test_changed_words_are_real_violations_and_each_is_asked_once(relation: Relation) -> None:
    found = 0
    for seed in range(12):
        target, spec = random_dfa(seed, 9, 0.2), random_dfa(seed + 30, 4, 0.6)
        asked: list[tuple[str, ...]] = []

        def answers(words, target=target, asked=asked):
            asked.extend(map(tuple, words))
            return target.accepts_batch(words).tolist()

        model = CallableModel(answers, LETTERS, checks=0)
        watched = Property(spec, relation)
        search = MutationSearch(
            MembershipOracle(model), watched, WordDistribution(LETTERS), np.random.default_rng(seed)
        )
        asked.clear()
        for _ in range(30):
            if search.finished:
                break
            search.advance()
        # One word is asked again, to see whether the model gives scores.
        assert len(asked) - len(set(asked)) <= 1
        assert all(watched.may_violate[spec.end_states([word])[0]] for word in asked)
        if search.violation is not None:
            found += 1
            word = LETTERS.decode(search.violation)
            assert relation.broken(np.array([target.accepts(word)]), np.array([spec.accepts(word)]))[0]
        elif search.finished:
            assert relation.witness(target, spec) is None
    assert found >= 4


def test_without_a_state_where_a_word_could_be_a_violation_nothing_is_asked() -> None:
    watched = Property(all_words(LETTERS), Relation.SUBSET)
    oracle = MembershipOracle(DFAModel(random_dfa(0, 3)))
    assert MutationSearch(oracle, watched, WordDistribution(LETTERS), np.random.default_rng(0)).finished
    assert oracle.cost.network_steps == 0
