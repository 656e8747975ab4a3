"""Violations in numbers."""

import itertools

import numpy as np
import pytest

from rnncheck import CompiledNetwork, Requirement, Spec, zoo
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.repairs.measuring import violating
from rnncheck.repairs.violation_mining import mine_violations
from rnncheck.runtime.budget import UNLIMITED, Budget, BudgetExceeded
from rnncheck.verification.label_questions import label_spec
from rnncheck.words import WordBatch


@pytest.fixture(scope="module")
def model() -> CompiledNetwork:
    return CompiledNetwork(zoo.entry("response-faulty-lstm").network(), threads=1)


@pytest.mark.parametrize("relation", ["subset", "superset", "equal"])
def test_all_that_is_mined_violates(model: CompiledNetwork, relation: str) -> None:
    """A property that the network was never meant for is violated everywhere."""
    requirement = Requirement("p", Spec.from_regex("(a|b)* a", model.alphabet).over(model.alphabet), relation)
    words = mine_violations(requirement, model, np.random.default_rng(0), steps=5_000, most=60, budget=UNLIMITED)
    assert len(set(words)) == 60
    assert violating(requirement, model, WordBatch.from_codes(words)).all()
    every = itertools.product(range(len(model.alphabet)), repeat=2)
    short = [word for word in every if violating(requirement, model, WordBatch.from_codes([word]))[0]]
    assert set(short) <= set(words)  # the shortest are among them


def test_a_property_of_few_words_comes_to_an_end(model: CompiledNetwork) -> None:
    requirement = Requirement("p", Spec.from_regex("a | a a b", model.alphabet), "superset")
    words = mine_violations(requirement, model, np.random.default_rng(0), steps=10**6, most=60, budget=UNLIMITED)
    assert set(words) <= {(0,), (0, 0, 1)}


def test_traces_are_mined_too() -> None:
    model = CompiledNetwork(zoo.entry("tokens-gru").network(), threads=1)
    requirement = Requirement("p", label_spec(model, ltlf="false"), None)
    words = mine_violations(requirement, model, np.random.default_rng(0), steps=2_000, most=20, budget=UNLIMITED)
    assert len(words) == 20
    assert violating(requirement, model, WordBatch.from_codes(words)).all()


def test_nothing_is_mined_where_there_is_nothing(model: CompiledNetwork) -> None:
    rng = np.random.default_rng(0)
    holds = Requirement("p", Spec.from_regex("(a|b|c)*", model.alphabet))
    assert mine_violations(holds, model, rng, steps=2_000, most=20, budget=UNLIMITED) == []
    whole = CallableModel(lambda words: [True] * len(words), model.alphabet)
    never = Requirement("p", Spec.from_regex("a", model.alphabet))
    assert (
        mine_violations(never, whole, rng, steps=2_000, most=20, budget=UNLIMITED) == []
    )  # every step would be a whole word


def test_mining_ends_with_the_budget(model: CompiledNetwork) -> None:
    never = Requirement("p", Spec.from_regex("a", model.alphabet))
    with pytest.raises(BudgetExceeded):
        mine_violations(
            never, model, np.random.default_rng(0), steps=10**9, most=20, budget=Budget(cancelled=lambda: True)
        )
