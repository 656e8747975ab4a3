"""Long work that queries no model looks at the time too: clocks here go on by a second at every look."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import rnncheck
from rnncheck import Spec, verify
from rnncheck.automata.dfa import DFA, explore
from rnncheck.automata.edits import Edits, ball
from rnncheck.automata.minimisation import coreachable, minimise
from rnncheck.automata.product import intersection
from rnncheck.models.adapters import DFAModel
from rnncheck.neighbourhoods.walk import prefixes
from rnncheck.oracle.membership import MembershipOracle
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Property, Relation
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.runtime.watchdog import watchdog
from rnncheck.search.exhaustive import ExhaustiveSearch
from rnncheck.search.prefix_tree import PrefixTree
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet
from support.clocks import Ticking

AB = Alphabet(["a", "b"])
MANY = Alphabet([f"t{number}" for number in range(600)])


def chain(states: int) -> DFA:
    """Accepts words of at least this many letters."""
    after = np.minimum(np.arange(states) + 1, states - 1)
    return DFA(AB, np.stack([after, after], axis=1), np.arange(states) == states - 1)


WORK: dict[str, Callable[[], object]] = {
    "reachable backwards": lambda: coreachable(chain(1_000)),
    "minimise": lambda: minimise(chain(1_000)),
    "product": lambda: intersection(chain(1_000), chain(1_000)),
    "mass": lambda: WordDistribution(AB).mass(chain(1_000)),
    "explore": lambda: explore(MANY, 0, lambda n: [min(n + 1, 50)] * 600, lambda n: n == 50, what="a chain"),
    "ball": lambda: ball([f"t{number}" for number in range(100)], 3, Edits(), MANY),
    "prefixes": lambda: prefixes(DFA(MANY, [[1] * 600, [2] * 600, [2] * 600], [False, True, False])),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_work_on_automata_ends_soon_after_the_time_is_over(work: Callable[[], object]) -> None:
    """Should look at the time on its way, and end at the first look after the limit; without a limit it is done."""
    clock = Ticking()
    with pytest.raises(BudgetExceeded), watchdog(Budget.lasting(1.0, clock=clock).remaining):
        work()
    assert clock() < 5.0
    work()


def test_the_price_of_long_words_keeps_the_time_limit() -> None:
    """Should look at the time: where no word of hundreds of letters can be a violation, all are for nothing."""
    spec, clock = chain(400), Ticking()
    search = ExhaustiveSearch(PrefixTree(MembershipOracle(DFAModel(spec)).stepper, Property(spec, Relation.SUPERSET)))
    with pytest.raises(BudgetExceeded), watchdog(Budget.lasting(1.0, clock=clock).remaining):
        search.price(600)
    assert search.price(600) >= 0


@pytest.mark.parametrize("method", ["auto", "pdv", "smc"])
@pytest.mark.parametrize("seconds", [0, 1, 3, 10, 100])
def test_a_large_specification_keeps_the_time_limit(method, seconds: int) -> None:
    """Should be a verdict, whatever the time limit cuts off, a few looks at the clock after it."""
    model, spec, clock = DFAModel(Spec.from_regex("a*", AB).dfa), Spec.from_dfa(chain(1_000)), Ticking()
    settings = VerifySettings(clock=clock, search_steps=1_000)
    verdict = verify(model, spec, relation="superset", method=method, timeout=float(seconds), settings=settings)
    assert verdict.undecided or verdict.violated
    assert clock() < 1.1 * seconds + 60


@pytest.mark.parametrize("seconds", [0, 1, 2, 5])
def test_robustness_over_many_letters_keeps_the_time_limit(seconds: int) -> None:
    clock = Ticking()
    model = DFAModel(DFA(MANY, [[0] * 600], [True]))
    found = rnncheck.robust(model, [("t1", "t2", "t3")], distance=2, timeout=float(seconds), clock=clock)
    assert found.words[0].outcome.value != "satisfied"
    assert clock() < seconds + 10


@pytest.mark.parametrize("seconds", [30, 60])
def test_what_is_known_of_a_large_neighbourhood_is_reported_when_the_time_is_over(seconds: int) -> None:
    """Counting its words would take time that is over: the result comes without the count."""
    letters = Alphabet([f"t{number}" for number in range(1000)])
    model, word = DFAModel(DFA(letters, [[0] * 1000], [True])), tuple(f"t{number}" for number in range(10))
    found = rnncheck.robust(model, [word], distance=1, timeout=float(seconds), clock=Ticking())
    assert found.words[0].outcome.value == "undecided"
    assert found.words[0].words is None
