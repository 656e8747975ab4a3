"""Strongly connected components, against the definition."""

from __future__ import annotations

from hypothesis import given

from rnncheck.automata.components import components
from support.clocks import calls_of
from support.strategies import chain, dfas, reached_states


@given(dfas())
def test_components_are_those_of_the_definition(dfa) -> None:
    leads_to = [reached_states(dfa, state) for state in range(len(dfa))]
    parts = components(dfa.transitions)
    assert sorted(state for part in parts for state in part) == list(range(len(dfa)))
    done: set[int] = set()
    for part in parts:
        done |= set(part)
        for state in part:
            assert set(part) == {other for other in leads_to[state] if state in leads_to[other]}
            assert leads_to[state] <= done, "a component comes after all those it leads to"


def test_work_of_a_deep_automaton() -> None:
    def work(states: int) -> int:
        return calls_of(
            lambda: (components(chain(states).transitions), components(chain(states, closed=True).transitions))
        )

    assert work(8000) < 12 * work(1000)
