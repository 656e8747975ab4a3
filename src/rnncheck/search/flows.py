"""Faulty flows: loops inside a counterexample that can be pumped, so that one violation becomes a family.

For every way to cut the counterexample into a prefix and a suffix, the loops at the product state of specification and
hypothesis after the prefix leave both automata where they were. If the model's state hardly changes either,
prefix · loopⁿ · suffix is a violation for every n.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.automata.product import product
from rnncheck.errors import renamed_fields
from rnncheck.models.protocol import Scores, States
from rnncheck.oracle import MembershipOracle, Stepper
from rnncheck.words import Codes


@renamed_fields(more_than="min_hits", hits="min_hits")
@dataclass(frozen=True)
class FlowSettings:
    """How much to search for faulty flows.

    A flow is reported if more than ``min_hits`` of its ``pumps`` words violate the property. At most ``loops`` loops of
    at most ``longest_loop`` letters are tried at each place.
    """

    pumps: int = 100
    min_hits: int = 20
    loops: int = 1000
    longest_loop: int = 30


_LONGEST_PERIOD = 60  # loops after which the model's state must have repeated for a claim about all n
_LOOPS_AT_ONCE = 8  # few, since the caller may soon have enough flows
_FRONT = 1000  # prefixes of loops that are followed at once
_TRIED_AT_ONCE = 64
_TRIES = 4  # repetitions; a violation with every fifth loop has at most 20 hits among 100
_TRYING_SHARE = 0.5  # of the steps, for trying loops; the others are for pumping


@dataclass(frozen=True)
class Flow:
    """A loop and the numbers of repetitions, 1 … pumps, for which it gave a violation.

    ``settles_at``: from this n on the model's state after loopⁿ repeats bit by bit, every ``period`` loops; None where
    that was not seen. ``forever``: every n from there on is a violation, in this ``arithmetic``.
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

    @property
    def price(self) -> int:
        """Network steps to pump it: the prefix is read once, the loop once for each n, the suffix after each."""
        return len(self.prefix) + self.pumps * (len(self.loop) + len(self.suffix))

    def with_at_most(self, pumps: int) -> Flow:
        """The same flow with at most ``pumps`` repetitions."""
        return dataclasses.replace(self, pumps=min(pumps, self.pumps))

    def word(self, n: int) -> Codes:
        return self.prefix + self.loop * n + self.suffix


def find_flows(
    counterexample: Codes,
    spec: DFA,
    hypothesis: DFA,
    violates: Callable[[Sequence[Codes]], Mask],
    settings: FlowSettings,
    steps: int | None = None,
) -> Iterator[Flow]:
    """A flow for each loop that the settings find: the shortest loop at each place first, then the second, and so on.

    ``violates`` answers a batch of words; at most ``steps`` network steps are spent. Many loops are tried with few
    repetitions, and those that give a violation are pumped first, the others when no loop is left to try. A loop that
    gave a flow is not pumped again, neither at another place nor rotated nor doubled.
    """
    candidates = _candidates(
        counterexample, product(spec, hypothesis.over(spec.alphabet), np.logical_and).dfa, settings
    )
    flowing: set[Codes] = set()
    budget = _Steps(steps)
    postponed: list[Flow] = []
    while some := list(itertools.islice(candidates, _TRIED_AT_ONCE)):
        new = [flow for flow in some if canonical_loop(flow.loop) not in flowing]
        tries = budget.affordable([flow.with_at_most(_TRIES) for flow in new], _TRYING_SHARE)
        promising = [bool(tried.hits) for tried in _with_hits(tries, violates)]
        postponed += [flow for flow, is_promising in itertools.zip_longest(new, promising) if not is_promising]
        yield from _flows(list(itertools.compress(new, promising)), violates, settings, flowing, budget)
        if len(tries) < len(new):
            break
    yield from _flows(postponed, violates, settings, flowing, budget)


class _Steps:
    """The network steps that are left; unlimited where ``steps`` is None."""

    def __init__(self, steps: int | None) -> None:
        self._all = self._left = math.inf if steps is None else steps

    def affordable(self, flows: Sequence[Flow], share: float = 1.0) -> Sequence[Flow]:
        """The first flows that can be pumped before more than this share of all steps is spent. Deducts their price."""
        for count, flow in enumerate(flows):
            if self._left - flow.price < (1.0 - share) * self._all:
                return flows[:count]
            self._left -= flow.price
        return flows


def _candidates(counterexample: Codes, both: DFA, settings: FlowSettings) -> Iterator[Flow]:
    """Loops of the product at every cut of the counterexample, without hits: the first at each, then the second, …"""
    state, loops_at = both.initial, []
    for cut in range(len(counterexample) + 1):
        loops_at.append(itertools.islice(_loops(both, state, settings.longest_loop, _FRONT), settings.loops))
        state = int(both.transitions[state, counterexample[cut]]) if cut < len(counterexample) else state
    pumped: set[Codes] = set()  # a loop shifted by a letter gives the same words again
    for rank in itertools.zip_longest(*loops_at):
        for cut, loop in enumerate(rank):
            prefix, suffix = counterexample[:cut], counterexample[cut:]
            if loop is not None and prefix + loop + loop + suffix not in pumped:
                pumped.add(prefix + loop + loop + suffix)
                yield Flow(prefix, loop, suffix, (), settings.pumps)


def _flows(
    candidates: Sequence[Flow],
    violates: Callable[[Sequence[Codes]], Mask],
    settings: FlowSettings,
    flowing: set[Codes],
    budget: _Steps,
) -> Iterator[Flow]:
    """The candidates with more than ``min_hits`` hits; a few are pumped at once, with every n."""
    for start in range(0, len(candidates), _LOOPS_AT_ONCE):
        some = candidates[start : start + _LOOPS_AT_ONCE]
        new = budget.affordable([flow for flow in some if canonical_loop(flow.loop) not in flowing])
        for flow in _with_hits(new, violates):
            if len(flow.hits) > settings.min_hits and canonical_loop(flow.loop) not in flowing:
                flowing.add(canonical_loop(flow.loop))
                yield flow


def _with_hits(flows: Sequence[Flow], violates: Callable[[Sequence[Codes]], Mask]) -> Iterator[Flow]:
    """The flows with their hits; all have the same number of pumps."""
    words = [flow.word(n) for flow in flows for n in range(1, flow.pumps + 1)]
    if not words:
        return
    for flow, row in zip(flows, violates(words).reshape(len(flows), -1), strict=True):
        yield dataclasses.replace(flow, hits=tuple((np.flatnonzero(row) + 1).tolist()))


def canonical_loop(loop: Codes) -> Codes:
    """One canonical word for all rotations and repetitions of a loop."""
    length = len(loop)
    once = next(size for size in range(1, length + 1) if length % size == 0 and loop[:size] * (length // size) == loop)
    return min(loop[start:once] + loop[:start] for start in range(once))


def by_reference(flow: Flow, reference: MembershipOracle, breaks: Callable[[Mask], Mask], loops: int) -> Flow:
    """The flow by the model's reference: its hits, and what is known of all larger n.

    ``breaks`` shows which answers to such a word are violations. The loop is repeated ``loops`` times, or as often as
    it is pumped, to see whether the state repeats. A reference that does not step shows no states, so nothing is known
    of larger n.
    """
    if not reference.stepping:
        words = [flow.word(n) for n in range(1, flow.pumps + 1)]
        return dataclasses.replace(flow, hits=_numbers(breaks(reference.answers(words))))
    stepper = reference.stepper
    states, repetition = find_repetition(stepper, flow.prefix, flow.loop, max(loops, flow.pumps))
    # Once the state repeats the answers do too, so no suffix is read twice in one state.
    start, period = repetition or (flow.pumps + 1, 1)
    first = max(1, start)
    last = flow.pumps if repetition is None else first + period - 1
    after = _read(stepper, np.concatenate(states[1 : last + 1]), [flow.suffix] * last)
    broken = breaks(stepper.answers(stepper.scores(after), lambda i: flow.word(i + 1)))
    numbers = np.arange(1, flow.pumps + 1)
    hits = _numbers(broken[np.where(numbers < first, numbers, first + (numbers - first) % period) - 1])
    if repetition is None or period > _LONGEST_PERIOD:
        return dataclasses.replace(flow, hits=hits)
    kind = stepper.initial(1).dtype
    # Integers are not rounded; floats are, and not in the same way by every processor.
    arithmetic = f"{kind} on {platform.machine()}" if np.issubdtype(kind, np.floating) else None
    forever = bool(broken[first - 1 :].all())
    return dataclasses.replace(flow, hits=hits, settles_at=start, period=period, forever=forever, arithmetic=arithmetic)


def _numbers(hits: Mask) -> tuple[int, ...]:
    """The numbers n, from 1 on, of the hits."""
    return tuple((np.flatnonzero(hits) + 1).tolist())


def pumped_scores(stepper: Stepper, flows: Sequence[Flow]) -> list[Scores]:
    """The scores of prefix · loopⁿ · suffix for n = 1 … pumps of each flow; all flows are read side by side."""
    if not flows:
        return []
    along = states_along(stepper, [flow.prefix + flow.loop * flow.pumps for flow in flows])
    after, suffixes = [], []
    for flow, states in zip(flows, along, strict=True):
        after.append(states[len(flow.prefix) :: len(flow.loop)][1:])
        suffixes += [flow.suffix] * flow.pumps
    scores = stepper.scores(_read(stepper, np.concatenate(after), suffixes))
    return np.split(scores, np.cumsum([flow.pumps for flow in flows])[:-1])


def states_along(stepper: Stepper, words: Sequence[Codes]) -> list[States]:
    """The states before and after every letter of each word, one row each; the words are read side by side."""
    states = stepper.initial(len(words))
    rows = [[states[row : row + 1]] for row in range(len(words))]
    for position in range(max(map(len, words), default=0)):
        running = [row for row, word in enumerate(words) if len(word) > position]
        letters = np.array([words[row][position] for row in running])
        states[running] = stepper.step(states[running], letters)
        for row in running:
            rows[row].append(states[row : row + 1].copy())
    return [np.concatenate(each) for each in rows]


def _read(stepper: Stepper, states: States, words: Sequence[Codes]) -> States:
    """The states after one more word each."""
    states = states.copy()
    for position in range(max(map(len, words), default=0)):
        running = np.array([row for row, word in enumerate(words) if len(word) > position])
        states[running] = stepper.step(states[running], np.array([words[row][position] for row in running.tolist()]))
    return states


def shortest_loops(dfa: DFA, state: int, count: int, longest: int) -> list[Codes]:
    """The shortlex-first words that lead from a state back to it without passing through it on the way."""
    return list(itertools.islice(_loops(dfa, state, longest, 4 * count), count))


def _loops(dfa: DFA, state: int, longest: int, most: int) -> Iterator[Codes]:
    """Yield these words; at most ``most`` prefixes of each length are followed, and each can become a loop."""
    distance = _distances_to(dfa, state, longest)
    frontier: list[tuple[Codes, int]] = [((), state)]
    for length in range(1, longest + 1):
        extended = []
        for word, at in frontier:
            for letter, successor in enumerate(dfa.transitions[at].tolist()):
                if successor == state:
                    yield (*word, letter)
                elif distance[successor] <= longest - length:
                    extended.append(((*word, letter), successor))
        frontier = extended[:most]


def find_repetition(
    stepper: Stepper, prefix: Codes, loop: Codes, loops: int
) -> tuple[list[States], tuple[int, int] | None]:
    """The states after prefix · loopⁿ for n = 0, 1, …, and (first n, period) where they repeat bit by bit.

    The last state is the first repeated one; None where ``loops`` loops show no repetition.
    """
    states = _read(stepper, stepper.initial(1), [prefix])
    seen: dict[bytes, int] = {}
    walked: list[States] = []
    for n in range(loops + 1):
        first = seen.setdefault(states.tobytes(), n)
        walked.append(states)
        if first < n:
            return walked, (first, n - first)
        states = _read(stepper, states, [loop])
    return walked, None


def _distances_to(dfa: DFA, target: int, longest: int) -> list[int]:
    """How many letters lead from each state to the target; ``longest`` + 1 stands for more than that."""
    distance = np.full(len(dfa), longest + 1)
    distance[target] = 0
    for step in range(1, longest + 1):
        near = (distance[dfa.transitions] == step - 1).any(axis=1) & (distance > step)
        distance[near] = step
    return distance.tolist()
