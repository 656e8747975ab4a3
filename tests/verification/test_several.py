"""Several counterexamples are several mistakes: every kind that brute force finds, each once, each real."""

import itertools
import json

import numpy as np
import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError
from rnncheck.models.adapters import DFAModel
from rnncheck.models.callables import CallableModel
from rnncheck.relations import Relation
from rnncheck.verdict.replay import Status, replay
from rnncheck.verification.settings import VerifySettings
from rnncheck.verification.several import kind_of
from rnncheck.verification.verify import verify
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
