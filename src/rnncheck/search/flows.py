"""Faulty flows: loops inside a counterexample that can be pumped, so that one mistake becomes a family.

For every way to cut the counterexample into a prefix and a suffix, the loops at the product state of specification and
hypothesis after the prefix leave both automata where they were. If the model does not notice them either,
prefix · loopⁿ · suffix is a violation for every n.
"""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.automata.product import product
from rnncheck.models.protocol import States
from rnncheck.oracle import MembershipOracle, Stepper
from rnncheck.words import Codes


@dataclass(frozen=True)
class FlowSettings:
    """How hard to look: pumps tried, hits needed (more than), loops tried at each place, and their length at most."""

    pumps: int = 100
    more_than: int = 20
    loops: int = 8
    longest_loop: int = 8


# How many times a loop is repeated to see whether the model's state comes back to itself, and the longest cycle that
# is then asked for in full.
_SETTLING_LOOPS = 1000
_LONGEST_PERIOD = 60
_LOOPS_AT_ONCE = 8  # few, since whoever asks may have enough flows soon


@dataclass(frozen=True)
class Flow:
    """A loop and the numbers of repetitions, 1 … pumps, for which it gave a violation.

    ``settles_at``: from this n on the model's state after loopⁿ comes back to itself bit by bit, every ``period``
    loops; None where that was not seen. ``forever``: every n from there on is a violation, in this ``arithmetic``.
    """

    prefix: Codes
    loop: Codes
    suffix: Codes
    hits: tuple[int, ...]
    pumps: int
    settles_at: int | None = None
    period: int | None = None
    forever: bool = False
    arithmetic: str | None = None

    def word(self, n: int) -> Codes:
        return self.prefix + self.loop * n + self.suffix


def find_flows(
    counterexample: Codes,
    spec: DFA,
    hypothesis: DFA,
    violates: Callable[[Sequence[Codes]], Mask],
    settings: FlowSettings,
) -> Iterator[Flow]:
    """Every flow that the settings find: the shortest loop at each place first, then the second, and so on.

    ``violates`` answers a batch of words; a few loops of one rank are asked for at once, with every n.
    """
    both = product(spec, hypothesis.over(spec.alphabet), np.logical_and).dfa
    path = [both.initial]
    for letter in counterexample:
        path.append(int(both.transitions[path[-1], letter]))
    loops_at = {state: shortest_loops(both, state, settings.loops, settings.longest_loop) for state in set(path)}
    pumped: set[Codes] = set()  # a loop shifted by a letter gives the same words again
    for rank in range(settings.loops):
        candidates: list[Flow] = []
        for cut, state in enumerate(path):
            prefix, suffix = counterexample[:cut], counterexample[cut:]
            for loop in loops_at[state][rank : rank + 1]:
                if prefix + loop + loop + suffix not in pumped:
                    pumped.add(prefix + loop + loop + suffix)
                    candidates.append(Flow(prefix, loop, suffix, (), settings.pumps))
        for start in range(0, len(candidates), _LOOPS_AT_ONCE):
            for flow in _pumped(candidates[start : start + _LOOPS_AT_ONCE], violates):
                if len(flow.hits) > settings.more_than:
                    yield flow


def _pumped(flows: Sequence[Flow], violates: Callable[[Sequence[Codes]], Mask]) -> Iterator[Flow]:
    """The flows with their hits; all have the same number of pumps."""
    words = [flow.word(n) for flow in flows for n in range(1, flow.pumps + 1)]
    for flow, row in zip(flows, violates(words).reshape(len(flows), -1), strict=True):
        yield dataclasses.replace(flow, hits=tuple((np.flatnonzero(row) + 1).tolist()))


def by_reference(flow: Flow, reference: MembershipOracle, breaks: Callable[[Mask], Mask]) -> Flow:
    """The flow as the model's reference has it: its own hits, and what is known of all larger n.

    ``breaks`` says which answers to such a word are violations. A reference that does not step shows no states, so
    nothing is said of larger n.
    """
    hits = np.flatnonzero(breaks(_pumped_answers(flow, reference, range(1, flow.pumps + 1)))) + 1
    flow = dataclasses.replace(flow, hits=tuple(hits.tolist()))
    settled = settling(reference.stepper, flow.prefix, flow.loop, _SETTLING_LOOPS) if reference.stepping else None
    if settled is None or settled[1] > _LONGEST_PERIOD:
        return flow
    start, period = settled
    forever = bool(breaks(_pumped_answers(flow, reference, range(start, start + period))).all())
    numbers = reference.stepper.initial(1).dtype
    # Integers are not rounded; floats are, and not in the same way by every processor.
    arithmetic = f"{numbers} on {platform.machine()}" if np.issubdtype(numbers, np.floating) else None
    return dataclasses.replace(flow, settles_at=start, period=period, forever=forever, arithmetic=arithmetic)


def _pumped_answers(flow: Flow, oracle: MembershipOracle, numbers: range) -> Mask:
    if not oracle.stepping:
        return oracle.answers([flow.word(n) for n in numbers])
    stepper = oracle.stepper
    scores = stepper.scores(pumped_states(stepper, flow.prefix, flow.loop, flow.suffix, numbers))
    return stepper.answers(scores, lambda i: flow.word(numbers[i]))


def pumped_states(stepper: Stepper, prefix: Codes, loop: Codes, suffix: Codes, numbers: range) -> States:
    """The states after prefix · loopⁿ · suffix for consecutive n; the loop is read once, the suffix by all together."""

    def read(states: States, word: Codes) -> States:
        for letter in word:
            states = stepper.step(states, np.full(len(states), letter))
        return states

    after = [read(stepper.initial(1), prefix + loop * numbers.start)]
    for _ in numbers[1:]:
        after.append(read(after[-1], loop))
    return read(np.concatenate(after), suffix)


def shortest_loops(dfa: DFA, state: int, count: int, longest: int) -> list[Codes]:
    """The shortlex-first words that lead from a state back to it and pass through it nowhere between."""
    distance = _distances_to(dfa, state, longest)
    found: list[Codes] = []
    front: list[tuple[Codes, int]] = [((), state)]
    for length in range(1, longest + 1):
        grown = []
        for word, at in front:
            for letter, successor in enumerate(dfa.transitions[at].tolist()):
                if successor == state:
                    found.append((*word, letter))
                    if len(found) == count:
                        return found
                elif distance[successor] <= longest - length:
                    grown.append(((*word, letter), successor))
        # Only so many loops are wanted, and each of these words can still become one.
        front = grown[: 4 * count]
    return found


def settling(stepper: Stepper, prefix: Codes, loop: Codes, loops: int) -> tuple[int, int] | None:
    """From which n on the state after prefix · loopⁿ repeats an earlier one bit by bit, and with which period."""
    states = stepper.initial(1)
    for letter in prefix:
        states = stepper.step(states, np.array([letter]))
    seen: dict[bytes, int] = {}
    for n in range(loops + 1):
        key = states.tobytes()
        if key in seen:
            return seen[key], n - seen[key]
        seen[key] = n
        for letter in loop:
            states = stepper.step(states, np.array([letter]))
    return None


def _distances_to(dfa: DFA, target: int, longest: int) -> list[int]:
    """How many letters lead from each state to the target; ``longest`` + 1 stands for more than that."""
    distance = np.full(len(dfa), longest + 1)
    distance[target] = 0
    for step in range(1, longest + 1):
        near = (distance[dfa.transitions] == step - 1).any(axis=1) & (distance > step)
        distance[near] = step
    return distance.tolist()
