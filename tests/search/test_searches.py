"""Exhaustive and guided search, sampling and flows, against brute force."""

import dataclasses
import itertools
import tracemalloc

import numpy as np
import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.network import Cell
from rnncheck.models.protocol import Model
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Property, Relation
from rnncheck.search import guided
from rnncheck.search.exhaustive import ExhaustiveSearch
from rnncheck.search.flows import (
    Flow,
    FlowSettings,
    by_reference,
    canonical_loop,
    find_flows,
    find_repetition,
    pumped_scores,
    shortest_loops,
)
from rnncheck.search.guided import RANKINGS, Beam, GuidedSearch, Ranking, beam_plan
from rnncheck.search.merged_pass import MergedPass
from rnncheck.search.prefix_tree import Frontier, PrefixTree
from rnncheck.search.sampler import Sampler
from rnncheck.spec import Spec
from rnncheck.words import Alphabet
from support.networks import random_network

LETTERS = Alphabet(["l0", "l1"])


def tree_of(model: Model, spec: DFA, relation: Relation) -> PrefixTree:
    return PrefixTree(MembershipOracle(model).stepper, Property(spec, relation))


def random_dfa(seed: int, states: int, letters: int = 2, share: float = 0.5) -> DFA:
    rng = np.random.default_rng(seed)
    names = [f"l{i}" for i in range(letters)]
    return DFA(names, rng.integers(states, size=(states, letters)), rng.random(states) < share)


def brute_force(model, spec, relation, length):
    """The shortlex-least violation of at most this length, by asking every word."""
    words = [w for n in range(length + 1) for w in itertools.product(spec.alphabet, repeat=n)]
    broken = relation.broken(model.accepts_batch(words), spec.accepts_batch(words))
    return spec.alphabet.encode(words[int(broken.argmax())]) if broken.any() else None


MODELS = [
    *(DFAModel(random_dfa(seed, 5)) for seed in range(6)),
    *(
        CompiledNetwork(random_network(cell, seed=seed, alphabet=LETTERS, hidden=(6,), scale=2.0))
        for seed, cell in enumerate(Cell)
    ),
]


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("memory", [1 << 28, 400])
def test_exhaustive_search_is_exact_and_shortest(model, relation: Relation, memory: int) -> None:
    """Also where no level of the tree fits into memory, so that it is walked depth first."""
    for seed in range(4):
        spec = random_dfa(100 + seed, 4)
        search = ExhaustiveSearch(tree_of(model, spec, relation), memory=memory)
        while not search.finished and search.length < 6:
            search.next_length()
        expected = brute_force(model, spec, relation, 6)
        assert search.violation == expected
        if expected is not None:
            assert search.length == len(expected)


def test_exhaustive_search_skips_what_cannot_matter() -> None:
    """After l0 the specification accepts for ever: no word that begins with it is stepped."""
    spec = DFA(["l0", "l1"], [[1, 0], [1, 1]], np.array([False, True]))
    model = DFAModel(random_dfa(1, 4, share=0.0))
    oracle = MembershipOracle(model)
    search = ExhaustiveSearch(PrefixTree(oracle.stepper, Property(spec, Relation.SUBSET)))
    steps = []
    for _ in range(6):
        search.next_length()
        steps.append(oracle.cost.network_steps)
    assert steps == [0, 1, 2, 3, 4, 5]
    assert search.violation is None


def test_exhaustive_search_ends_when_no_word_can_be_a_violation() -> None:
    everything = DFA(["l0", "l1"], [[0, 0]], np.array([True]))
    search = ExhaustiveSearch(tree_of(DFAModel(everything), everything, Relation.SUBSET))
    assert search.finished
    assert search.violation is None


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("memory", [1 << 28, 400])
def test_the_price_of_a_length_is_known_before_it_is_paid(relation: Relation, memory: int) -> None:
    """With one length to go, exactly; a walk that finds a violation may end before it has paid all."""
    for seed in range(8):
        model, spec = DFAModel(random_dfa(seed, 5)), random_dfa(100 + seed, 4)
        oracle = MembershipOracle(model)
        search = ExhaustiveSearch(PrefixTree(oracle.stepper, Property(spec, relation)), memory=memory)
        while not search.finished and search.length < 5:
            before, price = oracle.cost.network_steps, search.price(search.length + 1)
            assert search.affordable(search.length + 1, price) == search.length + 1
            if price:
                assert search.affordable(search.length + 1, price - 1) == search.length
            search.next_length(last=True)
            paid = oracle.cost.network_steps - before
            assert paid == price if search.violation is None else paid <= price
        assert search.violation == brute_force(model, spec, relation, search.length)


@pytest.mark.parametrize("relation", Relation)
def test_states_within_so_many_letters_of_a_violation(relation: Relation) -> None:
    for seed in range(8):
        spec = random_dfa(seed, 5, share=0.3)
        tree = tree_of(DFAModel(random_dfa(seed + 1, 3)), spec, relation)
        may_violate = relation.may_violate(spec.accepting)
        for letters in range(6):
            for state in range(len(spec)):
                ends = {state}
                near = bool(may_violate[state])
                for _ in range(letters):
                    ends = {int(spec.transitions[end, code]) for end in ends for code in range(2)}
                    near = near or any(may_violate[end] for end in ends)
                assert tree.within(letters)[state] == near


@pytest.mark.parametrize("relation", Relation)
def test_merging_by_what_an_automaton_is_in_loses_nothing(relation: Relation) -> None:
    """Words that lead to one state of both automata go on alike, so the shortest violation of all is found."""
    found = 0
    for seed in range(60):
        target, spec = random_dfa(seed, 12, share=0.1), random_dfa(seed + 50, 5, share=0.7)
        tree = tree_of(DFAModel(target), spec, relation)
        search = MergedPass(tree, tree.root(), np.random.default_rng(0), steps=10_000, shorter_than=60)
        while not search.finished:
            search.advance()
        shortest = relation.witness(target, spec)
        if shortest:  # the empty word is nobody's child
            found += 1
            assert len(search.violation) == len(shortest)
        elif shortest is None:
            assert search.violation is None
    assert found >= 3


def test_merged_words_are_real_violations_within_the_steps_and_the_length() -> None:
    found = 0
    for seed in range(12):
        model = CompiledNetwork(random_network(Cell.LSTM, seed=seed, alphabet=LETTERS, hidden=(6,), scale=3.0))
        spec, oracle = random_dfa(seed, 4), MembershipOracle(model)
        tree = PrefixTree(oracle.stepper, Property(spec, Relation.SUBSET))
        search = MergedPass(tree, tree.root(), np.random.default_rng(seed), steps=600, shorter_than=9)
        while not search.finished:
            search.advance()
        assert oracle.cost.network_steps <= 600
        if search.violation is not None:
            found += 1
            word = model.alphabet.decode(search.violation)
            assert 1 <= len(word) < 9
            assert model.accepts(word)
            assert not spec.accepts(word)
    assert found >= 3


@pytest.mark.parametrize("relation", Relation)
def test_guided_search_finds_real_violations_only(relation: Relation) -> None:
    found = 0
    for seed in range(12):
        model = CompiledNetwork(random_network(Cell.GRU, seed=seed, alphabet=LETTERS, hidden=(6,), scale=2.0))
        spec = random_dfa(seed, 3)
        search = GuidedSearch(tree_of(model, spec, relation), np.random.default_rng(seed), width=16)
        for _ in range(60):
            if search.finished:
                break
            search.advance()
        if search.violation is not None:
            found += 1
            word = model.alphabet.decode(search.violation)
            assert relation.broken(np.array([model.accepts(word)]), np.array([spec.accepts(word)]))[0]
    assert found >= 6


def test_a_word_that_a_narrow_beam_finds_costs_no_wide_one() -> None:
    """Beams begin with a word for each state and become four times as wide; a ranking is one turn behind another."""
    begun = list(itertools.islice(beam_plan(RANKINGS[:3], 2, 512), 18))
    assert [width for ranking, width, _ in begun[:15] if ranking is RANKINGS[0]] == [2, 8, 32, 128, 512]
    assert [ranking for ranking, *_ in begun[:6]] == [RANKINGS[0], *RANKINGS[:2], *RANKINGS[:3]]
    assert sum(width for _, width, _ in begun[:15]) * 3 <= 4 * 3 * 512
    assert {length for *_, length in begun[:15]} == {24}
    assert begun[15:] == [(ranking, 512, 48) for ranking in RANKINGS[:3]]


def test_the_widest_beams_of_some_rankings_are_twice_as_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrow beams are as wide as ever, and each counts as one of the full width."""
    begun = []

    class Noted(Beam):
        def __init__(self, tree, ranking, rng, width, *bounds) -> None:
            begun.append((ranking, width))
            super().__init__(tree, ranking, rng, width, *bounds)

    monkeypatch.setattr(guided, "Beam", Noted)
    chain = DFA(Alphabet(list("ab")), [[0, 0]], [False])
    tree = tree_of(DFAModel(chain), chain, Relation.SUBSET)
    few = RANKINGS[:2]
    search = GuidedSearch(tree, np.random.default_rng(0), width=4, shorter_than=3, rankings=few, wider=few[1:])
    while search.beams < 2:
        search.advance()
    assert begun == [(few[0], 1), (few[0], 4), (few[1], 1), (few[1], 8)]


def test_a_narrow_beam_finds_what_is_far_from_all_others() -> None:
    """A violation of six letters among 5⁶, which a beam of four words finds at once."""
    chain = DFA(Alphabet(list("abcde")), [[i + 1, *[7] * 4] for i in range(6)] + [[7] * 5] * 2, np.arange(8) == 6)
    spec = DFA(chain.alphabet, [[1] * 5, [0] * 5], np.array([False, False]))
    oracle = MembershipOracle(DFAModel(chain))
    search = GuidedSearch(PrefixTree(oracle.stepper, Property(spec, Relation.SUBSET)), np.random.default_rng(0))
    while not search.finished:
        search.advance()
    assert search.violation == (0,) * 6
    assert oracle.cost.network_steps <= 2_500  # a wide beam came to it after 7 900


def test_guided_search_respects_a_length_limit() -> None:
    """The only violations have exactly five letters: none is found below, one is found above."""
    chain = DFA(["a", "b"], [[i + 1, i + 1] for i in range(6)] + [[6, 6]], np.arange(7) == 5)
    nothing = DFA(["a", "b"], [[0, 0]], np.array([False]))
    tree = tree_of(DFAModel(chain), nothing, Relation.SUBSET)
    short = GuidedSearch(tree, np.random.default_rng(0), width=8, shorter_than=5)
    for _ in range(100):
        short.advance()
    assert short.violation is None
    longer = GuidedSearch(tree, np.random.default_rng(0), width=8, shorter_than=6)
    while not longer.finished:
        longer.advance()
    assert len(longer.violation) == 5


def test_a_ranking_of_two_kinds_has_the_best_of_both_at_every_state() -> None:
    """Of 40 words at two states, the first and every fifth place go to an outlier, the others to those near zero."""
    rng = np.random.default_rng(0)
    spec_states = np.arange(40, dtype=np.int32) % 2
    scores, states = rng.permutation(40) / 8 - 2.5, rng.normal(size=(40, 3))
    frontier = Frontier(np.zeros((40, 1), dtype=np.int32), states, spec_states)
    tree = tree_of(DFAModel(random_dfa(1, 3)), random_dfa(2, 3), Relation.SUBSET)

    values = Ranking.NEAR_THRESHOLD_OR_OUTLIER.values(tree, frontier, scores, rng)

    for state in (0, 1):
        here = np.flatnonzero(spec_states == state)
        apart = ((states[here] - states[here].mean(axis=0)) ** 2).sum(axis=1)
        best = set(here[np.argsort(-values[here], kind="stable")][:7].tolist())
        assert set(here[np.argsort(-apart)][:2].tolist()) <= best
        assert len(best & set(here[np.argsort(np.abs(scores[here]))][:7].tolist())) >= 5


@pytest.mark.parametrize("columns", [3, 60])
def test_what_is_unusual_differs_where_the_others_are_alike(columns: int) -> None:
    """At each of two states 20 words differ much in one direction; one differs a little in another, and ranks first."""
    rng = np.random.default_rng(0)
    states = np.zeros((40, columns))
    states[:, 0], states[:, 1] = rng.choice([-3, 3], size=40), 0.01 * rng.normal(size=40)
    states[[6, 9], 1] = 1.0
    frontier = Frontier(np.zeros((40, 1), dtype=np.int32), states, np.arange(40, dtype=np.int32) % 2)
    tree = tree_of(DFAModel(random_dfa(1, 3)), random_dfa(2, 3), Relation.SUBSET)
    scores = np.zeros(40)

    values = Ranking.UNUSUAL.values(tree, frontier, scores, rng)

    assert {int(values[0::2].argmax()) * 2, int(values[1::2].argmax()) * 2 + 1} == {6, 9}
    apart = states[0::2] - states[0::2].mean(axis=0)
    ridge = 0.01 * np.square(apart).sum() / columns
    inverse = np.linalg.inv(apart.T @ apart + ridge * np.eye(columns))
    assert np.allclose(values[0::2], np.einsum("ij,jk,ik->i", apart, inverse, apart))
    alike = dataclasses.replace(frontier, states=np.ones((40, columns)))
    assert not Ranking.UNUSUAL.values(tree, alike, scores, rng).any()


def test_a_find_bounds_the_next_beam() -> None:
    """Every word of three letters and more is a violation: after one of three letters none of two is found."""
    chain = DFA(["a", "b"], [[min(i + 1, 3)] * 2 for i in range(4)], np.arange(4) == 3)
    nothing = DFA(["a", "b"], [[0, 0]], np.array([False]))
    search = GuidedSearch(tree_of(DFAModel(chain), nothing, Relation.SUBSET), np.random.default_rng(0), shorter_than=9)
    while not search.finished:
        search.advance()
    assert len(search.violation) == 3
    search.search_below(3)
    assert not search.finished
    for _ in range(100):
        search.advance()
    assert search.violation is None
    search.search_below(1)
    assert search.finished


def test_as_far_as_plainly_only_where_enough_steps_are_left() -> None:
    """Of two letters there are 2 + 4 + 8 + 16 words of at most four letters, each one more step."""
    chain = DFA(["a", "b"], [[0, 0]], np.array([False]))
    nothing = DFA(["a", "b"], [[0, 0]], np.array([False]))
    search = ExhaustiveSearch(tree_of(DFAModel(chain), nothing, Relation.SUBSET))
    assert search.affordable(9, steps=6) == 2
    assert search.affordable(9, steps=6, plain_steps=30, most=30) == 4
    assert search.affordable(9, steps=6, plain_steps=30, most=29) == 3


def test_beams_keep_within_the_memory() -> None:
    """Every word of a beam is extended by every letter: with many letters that is much."""
    letters = Alphabet([f"l{i}" for i in range(50)])
    network = random_network(hidden=(16,), alphabet=letters)
    rejecting = dataclasses.replace(network, head_bias=np.full(1, -99.0, np.float32))
    seen = []
    watched = Property(DFA(letters, [[0] * 50], np.array([False])), Relation.SUBSET)
    tree = PrefixTree(MembershipOracle(CompiledNetwork(rejecting)).stepper, watched, lambda some, _: seen.append(some))
    memory = 1 << 18
    beam = Beam(tree, RANKINGS[0], np.random.default_rng(0), 512, memory)
    for _ in range(8):
        beam.grow()
    assert len(seen) == 8
    assert memory / 4 < max(some.states.nbytes + some.words.nbytes for some in seen) <= memory


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("stepping", [True, False])
def test_sampler_finds_the_least_broken_prefix(relation: Relation, stepping: bool) -> None:
    for seed in range(8):
        target, spec, hypothesis = random_dfa(seed, 5), random_dfa(seed + 50, 4), random_dfa(seed + 90, 3)
        model = DFAModel(target) if stepping else CallableModel(target.accepts_batch, target.alphabet)
        sampler = Sampler(
            MembershipOracle(model),
            WordDistribution(target.alphabet, stop=0.2),
            np.random.default_rng(seed),
            Property(spec, relation),
        )
        again = WordDistribution(target.alphabet, stop=0.2).sample(np.random.default_rng(seed), 64)
        drawn = sampler.draw(64, (hypothesis, relation))
        words = [target.alphabet.decode(word) for word in again]
        prefixes = {word[:n] for word in words for n in range(len(word) + 1)} if stepping else set(words)
        # A word that can break neither relation is not run, and so its prefixes are not seen.
        run = [
            word
            for word in words
            if relation.may_violate(np.array([spec.accepts(word)]))[0]
            or relation.may_violate(np.array([hypothesis.accepts(word)]))[0]
        ]
        seen = {word[:n] for word in run for n in range(1, len(word) + 1)} if stepping else set(run)
        seen |= {()} if () in run else set()
        assert seen <= prefixes
        least = _least_broken(seen, target, spec, relation)
        assert drawn.violation == least
        differing = [word for word in run if _broken(word, target, hypothesis, relation)]
        if not differing:
            assert drawn.difference is None
        else:
            assert drawn.difference is not None
            assert _broken(target.alphabet.decode(drawn.difference), target, hypothesis, relation)
        assert sampler.words == (0 if least is not None else 64)


def _broken(word, model, other, relation) -> bool:
    return bool(relation.broken(np.array([model.accepts(word)]), np.array([other.accepts(word)]))[0])


def _least_broken(words, model, other, relation):
    broken = [model.alphabet.encode(word) for word in words if _broken(word, model, other, relation)]
    return min(broken, key=lambda word: (len(word), word), default=None)


def test_words_that_cannot_matter_cost_no_step() -> None:
    everything = DFA(["l0", "l1"], [[0, 0]], np.array([True]))
    oracle = MembershipOracle(DFAModel(random_dfa(3, 5)))
    wanted = Property(everything, Relation.SUBSET)
    sampler = Sampler(oracle, WordDistribution(everything.alphabet), np.random.default_rng(0), wanted)
    assert sampler.draw(500).violation is None
    assert sampler.words == 64
    assert oracle.cost.network_steps == 0


@pytest.mark.parametrize("seed", range(10))
def test_shortest_loops_against_brute_force(seed: int) -> None:
    dfa = random_dfa(seed, 4)
    for state in range(len(dfa)):
        loops = []
        for length in range(1, 6):
            for word in itertools.product(range(2), repeat=length):
                visited, at = [], state
                for code in word:
                    at = int(dfa.transitions[at, code])
                    visited.append(at)
                if at == state and state not in visited[:-1]:
                    loops.append(word)
        assert shortest_loops(dfa, state, 3, 5) == loops[:3]


def test_flows_of_an_automaton_are_found_and_settle() -> None:
    """The model accepts a·b*·a; the specification wants no second a: the loop b between them can be pumped for ever."""
    model_dfa = DFA(["a", "b"], [[1, 3], [2, 1], [3, 3], [3, 3]], np.array([False, False, True, False]))
    spec = DFA(["a", "b"], [[1, 0], [2, 1], [2, 2]], np.array([True, True, False]))
    model = DFAModel(model_dfa)

    def violates(words):
        decoded = [spec.alphabet.decode(word) for word in words]
        return model.accepts_batch(decoded) & ~spec.accepts_batch(decoded)

    oracle = MembershipOracle(model)
    found = find_flows((0, 0), spec, model_dfa, violates, FlowSettings(pumps=30, min_hits=10))
    flows = [by_reference(flow, oracle, lambda answers: answers, 100) for flow in found]
    assert [(flow.prefix, flow.loop, flow.suffix) for flow in flows] == [((0,), (1,), (0,))]
    assert flows[0].hits == tuple(range(1, 31))
    assert flows[0].forever
    assert flows[0].settles_at == 0
    assert flows[0].period == 1
    assert flows[0].arithmetic is None  # an automaton's states are not rounded
    assert find_repetition(oracle.stepper, (), (0,), 10)[1] == (3, 1)


@pytest.mark.parametrize("seed", range(30))
def test_the_reference_says_of_a_flow_what_every_pumped_word_says(seed: int) -> None:
    """Where the state comes back no suffix is read again, and what follows is as if each word had been asked."""
    rng = np.random.default_rng(seed)
    dfa = random_dfa(seed, 6)
    prefix, loop, suffix = (tuple(rng.integers(2, size=size).tolist()) for size in rng.integers([0, 1, 0], [4, 4, 4]))
    flow = by_reference(
        Flow(prefix, loop, suffix, (), 20), MembershipOracle(DFAModel(dfa)), lambda answers: answers, 30
    )
    accepted = dfa.accepts_batch([dfa.alphabet.decode(flow.word(n)) for n in range(1, 60)])
    assert flow.hits == tuple(n for n in range(1, 21) if accepted[n - 1])
    assert flow.settles_at is not None  # six states come back within six loops
    later = accepted[max(0, flow.settles_at - 1) :]
    assert flow.forever == bool(later.all())
    assert (later[flow.period :] == later[: -flow.period]).all()


def test_scores_of_flows_side_by_side_are_those_of_the_words() -> None:
    model = CompiledNetwork(random_network(Cell.GRU, seed=1, alphabet=LETTERS, hidden=(6,), scale=2.0))
    flows = [Flow((0,), (1, 0, 1), (1, 1), (), 7), Flow((), (1,), (), (), 5), Flow((0, 1, 0), (0, 1), (0,), (), 9)]
    oracle = MembershipOracle(model)
    for flow, scores in zip(flows, pumped_scores(oracle.stepper, flows), strict=True):
        words = [model.alphabet.decode(flow.word(n)) for n in range(1, flow.pumps + 1)]
        np.testing.assert_allclose(scores, model.scores_batch(words), atol=1e-5)
    assert oracle.cost.network_steps == sum(
        len(flow.prefix) + flow.pumps * (len(flow.loop) + len(flow.suffix)) for flow in flows
    )


@pytest.mark.parametrize(("loop", "once"), [("a", "a"), ("ba", "ab"), ("abab", "ab"), ("aab", "aab"), ("cab", "abc")])
def test_loops_that_go_round_alike_are_one(loop: str, once: str) -> None:
    assert canonical_loop(tuple(map(ord, loop))) == tuple(map(ord, once))


def test_flows_are_of_different_loops() -> None:
    """The model accepts every word, the specification none: every letter can be pumped, at each of four places."""
    every, none = (DFA(["a", "b"], [[0, 0]], np.array([answer])) for answer in (True, False))
    settings = FlowSettings(pumps=5, min_hits=2, loops=4, longest_loop=2)
    found = find_flows((0, 1, 0), none, every, lambda words: np.ones(len(words), dtype=bool), settings)
    assert [flow.loop for flow in found] == [(0,), (1,)]


def test_one_flow_among_many_letters_is_found_with_few_steps() -> None:
    """Of 200 loops at each place one is a flow, the last but one: tried with few repetitions, all can be afforded."""
    letters, secret = 200, 198
    every = DFA(Alphabet([f"p{i}" for i in range(letters)]), [[0] * letters], [True])
    none = DFA(every.alphabet, [[0] * letters], [False])
    asked = 0

    def violates(words):
        nonlocal asked
        asked += sum(map(len, words))
        return np.array([set(word) <= {0, secret} for word in words])

    found = list(find_flows((0,), none, every, violates, FlowSettings(longest_loop=1), steps=10_000))
    assert {flow.loop for flow in found} == {(0,), (secret,)}


def test_a_flow_that_begins_late_is_found_last() -> None:
    """No violation with few repetitions, and many with more: tried in vain, and pumped when nothing is left."""
    every = DFA(Alphabet(["a", "b"]), [[0, 0]], [True])
    none = DFA(every.alphabet, [[0, 0]], [False])

    def violates(words):
        return np.array([word.count(1) in (0, 1) or word.count(1) > 10 for word in words])

    settings = FlowSettings(longest_loop=1)
    assert [flow.loop for flow in find_flows((0,), none, every, violates, settings)] == [(0,), (1,)]


def test_a_search_over_many_letters_keeps_its_memory() -> None:
    """Should count all that an extended word takes: small states over 20,000 letters took half more than allowed."""
    letters = Alphabet([f"t{number}" for number in range(2_000)])
    network = random_network(hidden=(4,), alphabet=letters)
    never = dataclasses.replace(network, head_bias=np.full_like(network.head_bias, -99.0))
    watched = Property(Spec.from_ltlf("F t1", letters).dfa, Relation.SUBSET)
    tree = PrefixTree(MembershipOracle(CompiledNetwork(never, threads=1)).stepper, watched)
    tracemalloc.start()
    beam = Beam(tree, RANKINGS[0], np.random.default_rng(0), 512, memory=16 << 20)
    for _ in range(3):
        beam.grow()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 1.1 * (16 << 20)
