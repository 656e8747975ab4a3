"""Several counterexamples are several mistakes: every kind that brute force finds, each once, each real."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.checker import Status, replay
from rnncheck.errors import InputError
from rnncheck.models.adapters import DFAModel
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Relation
from rnncheck.search.flows import Flow
from rnncheck.verdict.value import Verdict
from rnncheck.verdict.violation import FailureCluster
from rnncheck.verification.explanation.diversify import kind_of
from rnncheck.verification.explanation.failure_clusters import family_of
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.word_files import read_sequences
from rnncheck.words import Alphabet

LETTERS = Alphabet(["a", "b"])
QUICK = {"epsilon": 0.05, "gamma": 0.05}


def random_dfa(seed: int, states: int, share: float = 0.5) -> DFA:
    rng = np.random.default_rng(seed)
    return DFA(LETTERS, rng.integers(states, size=(states, 2)), rng.random(states) < share)


def settings(count: int) -> VerifySettings:
    return VerifySettings(search_steps=5_000, max_states=40, flows=None, counterexamples=count)


def kinds_by_brute_force(target: DFA, spec: DFA, relation: Relation, length: int) -> set:
    words = [word for size in range(length + 1) for word in itertools.product(LETTERS, repeat=size)]
    broken = relation.broken(target.accepts_batch(words), spec.accepts_batch(words))
    return {kind_of(spec, LETTERS.encode(words[row])) for row in np.flatnonzero(broken)}


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("stepping", [True, False])
def test_every_kind_of_short_words_is_found_once(relation: Relation, stepping: bool) -> None:
    several = 0
    for seed in range(4):
        target, spec = random_dfa(seed, 8), random_dfa(seed + 20, 5)
        model = DFAModel(target) if stepping else CallableModel(target.accepts_batch, LETTERS)
        verdict = verify(model, spec, relation=relation, settings=settings(20), **QUICK)
        expected = kinds_by_brute_force(target, verdict.specification, relation, 7)
        if not verdict.violated:
            assert not expected
            continue
        words = [verdict.counterexample, *verdict.other_counterexamples]
        kinds = [kind_of(verdict.specification, LETTERS.encode(word)) for word in words]
        assert len(set(kinds)) == len(kinds)
        assert set(kinds) >= expected
        assert len(verdict.counterexample) == min(map(len, words))
        for word in words:
            assert relation.broken(np.array([target.accepts(word)]), np.array([spec.accepts(word)]))[0]
        assert replay(verdict, model).having(Status.REFUTED) == ()
        several += len(words) > 2
    assert several >= 1


def test_no_more_are_shown_than_were_asked_for() -> None:
    target, spec = DFA(LETTERS, [[0, 0]], np.array([True])), DFA(LETTERS, [[1, 0], [0, 1]], np.array([False] * 2))
    counts = [
        len(verify(DFAModel(target), spec, settings=settings(count), **QUICK).other_counterexamples)
        for count in (1, 2, 3)
    ]
    assert counts == [0, 1, 2]


@pytest.mark.parametrize("change", ["same kind", "no violation", "unknown letter", "no word"])
def test_changed_others_are_refuted(change: str) -> None:
    target = DFA(LETTERS, [[1, 1], [2, 2], [2, 2]], np.array([False, True, False]))  # words of one letter
    spec = DFA(LETTERS, [[0, 0]], np.array([False]))
    model = DFAModel(target)
    verdict = verify(model, spec, settings=settings(2), **QUICK)
    assert verdict.counterexample == ("a",)
    assert verdict.other_counterexamples == (("b",),)
    document = json.loads(verdict.to_json())
    document["other_counterexamples"] = {
        "same kind": [["a"]],
        "no violation": [["b", "b"]],
        "unknown letter": [["z"]],
        "no word": 7,
    }[change]
    assert replay(json.dumps(document), model).status is Status.REFUTED


@pytest.mark.parametrize("count", [0, -1])
def test_fewer_than_one_makes_no_sense(count: int) -> None:
    with pytest.raises(InputError, match=f"counterexamples={count}"):
        VerifySettings(counterexamples=count)


ABCD = Alphabet(["a", "b", "c", "d"])
# Accepted: d alone, which random words know well, and what goes on with a or b after c, which they hardly ever have.
STRAYING = DFA(
    ABCD,
    [[0, 0, 50, 1], [0, 0, 50, 1], *[[2, 2, 2, 2]] * 48, [51, 52, 2, 2], [2, 2, 2, 2], [2, 2, 2, 2]],
    np.isin(np.arange(53), [1, 51, 52]),
)
NOTHING = DFA(ABCD, [[0, 0, 0, 0]], np.array([False]))


def straying(**given: object) -> Verdict:
    drawn = WordDistribution(ABCD, weights={"a": 1, "b": 0.9, "c": 1e-9, "d": 1}, stop=0.1)
    chosen = VerifySettings(search_steps=5_000, max_states=60, flows=None, counterexamples=3, **given)
    return verify(DFAModel(STRAYING), NOTHING, distribution=drawn, settings=chosen, **QUICK)


def test_words_that_go_astray_at_one_edge_are_one_mistake() -> None:
    verdict = straying()
    words = [verdict.counterexample, *verdict.other_counterexamples]
    assert words == [("d",), ("c", "a"), ("c", "b")]
    assert verdict.failure_clusters == (
        FailureCluster(words=(0,), after=(None,)),
        FailureCluster(words=(1, 2), state=0, letter="c", after=(1, 1)),
    )
    assert "counterexample 2, 3" in verdict.failure_clusters[1].sentence()
    assert replay(verdict, DFAModel(STRAYING)).having(Status.REFUTED) == ()


def test_what_is_likely_on_the_persons_data_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("c b\n" * 5 + "a a\n")
    assert straying().other_counterexamples == (("c", "a"), ("c", "b"))
    assert straying(on_data=read_sequences(file, ABCD)).other_counterexamples[0] == ("c", "b")


@pytest.mark.parametrize("words", [[[0], [1]], [[0, 1, 2], [2]], [[0, 1], [3]]])
def test_mistakes_that_name_other_counterexamples_are_refuted(words: list[list[int]]) -> None:
    document = json.loads(straying().to_json())
    document["failure_clusters"] = [{"words": numbers} for numbers in words]
    assert replay(json.dumps(document), DFAModel(STRAYING)).status is Status.REFUTED


def test_the_family_of_a_flow_is_every_number_of_loops() -> None:
    flows = [Flow((0,), (1, 1), (2,), (), 5), Flow((), (0,), (), (), 5)]
    assert [family_of(flows, word) for word in [(0, 1, 1, 2), (0, 2), (0, 1, 2), (0, 0), (2,)]] == [0, 0, None, 1, None]
