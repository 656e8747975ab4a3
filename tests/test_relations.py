"""Relations against their definition on all short words."""

import itertools

import numpy as np
import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError
from rnncheck.relations import Property, Relation

MEANING = {
    Relation.SUBSET: lambda r, a: r and not a,
    Relation.SUPERSET: lambda r, a: a and not r,
    Relation.EQUAL: lambda r, a: r != a,
}


@pytest.mark.parametrize("relation", Relation)
def test_broken_and_can_break(relation: Relation) -> None:
    pairs = list(itertools.product([False, True], repeat=2))
    model, other = np.array(pairs).T
    assert relation.broken(model, other).tolist() == [MEANING[relation](r, a) for r, a in pairs]
    for a in (False, True):
        possible = any(MEANING[relation](r, a) for r in (False, True))
        assert relation.may_violate(np.array([a])).tolist() == [possible]


@pytest.mark.parametrize("relation", Relation)
def test_witness_and_open_states(relation: Relation) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        m, n = (int(size) for size in rng.integers(1, 5, size=2))
        r = DFA(["a", "b"], rng.integers(m, size=(m, 2)), rng.random(m) < 0.5)
        a = DFA(["a", "b"], rng.integers(n, size=(n, 2)), rng.random(n) < 0.5)
        words = [word for length in range(7) for word in itertools.product("ab", repeat=length)]
        breaking = [word for word in words if MEANING[relation](r.accepts(word), a.accepts(word))]
        witness = relation.witness(r, a)
        if breaking:
            assert witness == min(breaking, key=lambda w: (len(w), w))
        else:
            assert witness is None or len(witness) > 6
        for state, is_open in enumerate(Property(a, relation).open_states):
            continuations = DFA(a.alphabet, a.transitions, a.accepting, initial=state)
            reached = np.array([continuations.accepts(word) for word in words])  # 4 states: 6 letters reach them all
            assert is_open == relation.may_violate(reached).any()


@pytest.mark.parametrize(("name", "sign"), [("subset", "⊆"), ("superset", "⊇"), ("equal", "=")])
def test_relations_have_names_and_signs(name: str, sign: str) -> None:
    relation = Relation.named(name)
    assert relation.value == name
    assert Relation.named(relation) is relation
    assert relation.formula == f"L(R) {sign} L(A)"


@pytest.mark.parametrize("name", ["", "SUBSET", "⊆", None, 1])
def test_unknown_relations_are_refused(name: object) -> None:
    with pytest.raises(InputError, match=r"unknown relation .*; known are subset, superset, equal"):
        Relation.named(name)


@pytest.mark.parametrize("relation", Relation)
def test_a_property_of_the_words_that_count(relation: Relation) -> None:
    """Should judge a word as its definition does where the word is assumed, and never find fault with another."""
    rng = np.random.default_rng(2)
    words = [word for length in range(7) for word in itertools.product("ab", repeat=length)]
    for _ in range(40):
        r, a, assumed = (
            DFA(["a", "b"], rng.integers(n, size=(n, 2)), rng.random(n) < 0.6) for n in rng.integers(1, 5, size=3)
        )
        wanted = Property.assuming(a, relation, assumed)
        ends = wanted.spec.end_states(words)
        meant = [assumed.accepts(word) and MEANING[relation](r.accepts(word), a.accepts(word)) for word in words]
        assert wanted.broken(r.accepts_batch(words), ends).tolist() == meant
        possible = [
            assumed.accepts(word) and any(MEANING[relation](said, a.accepts(word)) for said in (False, True))
            for word in words
        ]
        assert wanted.may_violate[ends].tolist() == possible == wanted.possible_violations.accepts_batch(words).tolist()
        assert wanted.violations(r).accepts_batch(words).tolist() == meant
        witness = wanted.witness(r)
        assert witness == next((word for word, wrong in zip(words, meant, strict=True) if wrong), witness)
        if not any(meant):
            assert witness is None or len(witness) > 6
        backwards = wanted.over(r.alphabet.__class__(["b", "a"]))
        assert backwards.broken(r.accepts_batch(words), backwards.spec.end_states(words)).tolist() == meant
