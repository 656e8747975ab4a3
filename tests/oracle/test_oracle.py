"""The oracle gives the model's answers, asks for each once, counts exactly, and survives being stopped."""

from __future__ import annotations

import itertools
import threading
import tracemalloc
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.test_engine import on_the_threshold
from rnncheck import wrap
from rnncheck.automata.dfa import DFA, Mask
from rnncheck.errors import AlphabetError, InputError, ModelError, ResourceLimitError
from rnncheck.models.adapters import DFAModel, complement
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.reference import reference_judgement
from rnncheck.models.network import Cell
from rnncheck.models.protocol import Letters, Model, Scores, States
from rnncheck.oracle import Cost, MembershipOracle, backends
from rnncheck.oracle.cache import AnswerCache, WordKeys
from rnncheck.oracle.prefix_states import PrefixStates, walk
from rnncheck.runtime.budget import UNLIMITED, Budget, BudgetExceeded
from rnncheck.words import Alphabet, Codes, IntArray, WordBatch
from support.clocks import Standing
from support.networks import letters, random_network

MEMORY_LIMITS = [0, 1, 700, 3000, 20_000, 1 << 30]


class WholeWordModel(Model):
    """The words whose letters add up to a multiple of three, asked whole; remembers what it was asked."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.asked: list[Codes] = []

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        assert isinstance(words, WordBatch)
        self.asked += list(words)
        return np.array([truth(word) for word in words], dtype=np.bool_)

    def describe(self) -> Mapping[str, Any]:
        return {"queries": "black box"}


def truth(word: Codes) -> bool:
    return sum(word) % 3 == 0


def counting_dfa(alphabet: Alphabet) -> DFA:
    """The same language as an automaton."""
    return DFA(alphabet, [[(q + a) % 3 for a in range(len(alphabet))] for q in range(3)], [True, False, False])


class SpiedModel(DFAModel):
    """Remembers the rows of each step."""

    def __init__(self, dfa: DFA) -> None:
        super().__init__(dfa)
        self.rows: list[int] = []

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        self.rows.append(len(letters))
        return super().step(states, letters, rows)


ABC = letters(3)
words_of = st.lists(st.integers(0, 2), max_size=7).map(tuple)
calls = st.one_of(
    st.tuples(st.just("ask"), st.lists(st.tuples(words_of, words_of), max_size=15)),
    st.tuples(st.just("answers"), st.lists(words_of, max_size=15)),
    st.tuples(st.just("batch"), st.lists(words_of, max_size=15)),
    st.tuples(st.just("table"), st.lists(st.lists(words_of, max_size=4), min_size=2, max_size=2)),
    st.tuples(st.just("prefixes"), st.lists(words_of, max_size=8)),
    st.tuples(st.just("reference_answer"), st.lists(words_of, max_size=2)),
)


def perform(oracle: MembershipOracle, kind: str, given: list) -> tuple[list[bool], list[Codes]]:
    """Make one call; the answers, and the words they should be about."""
    if kind == "ask":
        return oracle.ask(given).tolist(), [access + suffix for access, suffix in given]
    if kind == "answers":
        return oracle.answers(iter(given)).tolist(), given
    if kind == "batch":
        return oracle.answers(WordBatch.from_codes(given)).tolist(), given
    if kind == "table":
        table = oracle.table(*given)
        assert table.shape == tuple(map(len, given))
        return table.ravel().tolist(), [u + v for u, v in itertools.product(*given)]
    if kind == "reference_answer":
        return [oracle.reference_answer(word) for word in given], given
    found = oracle.prefix_answers(WordBatch.from_codes(given)).tolist()
    return found, [word[:end] for word in given for end in range(1, len(word) + 1)]


@settings(deadline=None, max_examples=150)
@given(st.lists(calls, max_size=6), st.sampled_from(MEMORY_LIMITS), st.sampled_from(["stepping", "plain", "opposite"]))
def test_answers_are_the_truth_whatever_is_asked_and_forgotten(made: list, memory: int, kind: str) -> None:
    stepping = DFAModel(counting_dfa(ABC))
    model = {"stepping": stepping, "plain": WholeWordModel(ABC), "opposite": complement(stepping)}[kind]
    oracle = MembershipOracle(model, memory_limit=memory)
    asked: set[Codes] = set()
    for call in made:
        found, about = perform(oracle, *call)

        assert found == [truth(word) != (kind == "opposite") for word in about]
        asked |= set(about)
    if memory == MEMORY_LIMITS[-1] and not any(call[0] == "prefixes" for call in made):
        assert oracle.cost.membership_queries == len(asked)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.lists(st.tuples(words_of, words_of), max_size=20), max_size=4))
def test_no_prefix_is_computed_twice(batches: list[list[tuple[Codes, Codes]]]) -> None:
    """With memory enough, steps are the distinct prefixes, except those that no access word's state can spare."""
    oracle = MembershipOracle(DFAModel(counting_dfa(ABC)))
    held: set[Codes] = {()}
    known: set[Codes] = set()
    steps = 0
    for batch in batches:
        before = oracle.cost.network_steps
        oracle.ask(batch)
        new = {access + suffix: access for access, suffix in batch if access + suffix not in known}
        access_nodes: set[Codes] = set()
        suffix_nodes: set[tuple[Codes, Codes]] = set()
        for word, access in new.items():
            if not word:
                continue
            start = max((held_word for held_word in held if access[: len(held_word)] == held_word), key=len)
            access_nodes |= {access[:end] for end in range(len(start) + 1, len(access) + 1)}
            suffix_nodes |= {(access, word[:end]) for end in range(len(access) + 1, len(word) + 1)}
        steps = oracle.cost.network_steps - before
        assert steps == len(access_nodes) + len(suffix_nodes)
        held |= {access for word, access in new.items() if word}
        known |= set(new)


def test_counters_by_hand() -> None:
    model = SpiedModel(counting_dfa(ABC))
    oracle = MembershipOracle(model)
    assert oracle.cost == Cost(0, 0, 0, 0)

    oracle.ask([((0, 1), (2,)), ((0, 1), (2, 2)), ((0, 1), (2,)), ((0, 2), ()), ((), ())])
    # access: 0, then 01 and 02 = 3 steps; suffixes: 2 after 01, then 22 = 2 steps; five queries, four words
    assert model.rows == [1, 2, 1, 1]
    assert oracle.cost == Cost(membership_queries=4, network_steps=5, batches=1)

    oracle.answers([(0, 1, 2), (0, 1, 2, 2), ()])
    assert oracle.cost == Cost(4, 5, 1)  # all known

    oracle.answers([(0, 1, 2, 2, 1), (0, 2), (0, 1, 0), (0, 1, 0)])
    # 0102… from the held 01: the letters 2 2 1 and 0 = 4 steps; two new words
    assert oracle.cost == Cost(6, 9, 2)

    oracle.ask([((0, 1, 1), (0,)), ((0, 2), (1,))])
    # 011 is one step from 01, then its suffix, and one step after 02
    assert oracle.cost == Cost(8, 12, 3)

    oracle.prefix_answers(WordBatch.from_codes([(0, 1, 2), (), (1,)]))
    assert oracle.cost == Cost(10, 16, 4, prefix_answers=2)

    assert oracle.cost - Cost(8, 12, 3) == Cost(2, 4, 1, 2)


def test_counters_of_whole_words() -> None:
    model = WholeWordModel(ABC)
    oracle = MembershipOracle(model)

    oracle.ask([((0, 1), (2,)), ((0,), (1, 2)), ((), ()), ((1, 1), ())])
    assert sorted(model.asked) == [(), (0, 1, 2), (1, 1)]
    assert oracle.cost == Cost(membership_queries=3, network_steps=5, batches=1)

    oracle.answers([(1, 1), (0, 1, 2)])
    assert oracle.cost == Cost(3, 5, 1)

    answers = oracle.prefix_answers(WordBatch.from_codes([(0, 1, 2), (1,)]))
    assert answers.tolist() == [True, False, True, False]
    assert oracle.cost == Cost(membership_queries=7, network_steps=12, batches=2)
    assert not oracle.stepping


def test_confirming_asks_the_definition_and_corrects_what_is_remembered() -> None:
    class Moody(WholeWordModel):
        def reference_answer(self, codes: Codes) -> bool:
            return not truth(codes)

    oracle = MembershipOracle(Moody(ABC))
    assert oracle.answer((0, 0)) is True
    assert oracle.reference_answer((0, 0)) is False
    assert oracle.answer((0, 0)) is False
    assert oracle.cost == Cost(membership_queries=1, network_steps=4, batches=1)


@pytest.mark.parametrize("cell", Cell)
def test_answers_of_a_network(cell: Cell) -> None:
    network = random_network(cell, (6, 5), scale=2.0, seed=1)
    oracle = MembershipOracle(CompiledNetwork(network))
    words = [word for n in range(5) for word in itertools.product(range(3), repeat=n)]
    expected = [reference_judgement(network, word).accepted for word in words]
    rng = np.random.default_rng(0)

    for size in (1, 7, 40):
        for part in np.array_split(rng.permutation(len(words)), -(-len(words) // size)):
            cut = [(words[i], int(rng.integers(len(words[i]) + 1))) for i in part]
            fresh = MembershipOracle(oracle.model)
            assert fresh.ask([(word[:at], word[at:]) for word, at in cut]).tolist() == [expected[i] for i in part]
            assert oracle.answers([words[i] for i in part]).tolist() == [expected[i] for i in part]
    prefixes = oracle.prefix_answers(WordBatch.from_codes(words)).tolist()
    known = dict(zip(words, expected, strict=True))
    assert prefixes == [known[word[:end]] for word in words for end in range(1, len(word) + 1)]


def test_answers_on_the_threshold_do_not_depend_on_the_batch() -> None:
    network = on_the_threshold()
    model = CompiledNetwork(network)
    rng = np.random.default_rng(7)
    words = [tuple(rng.integers(3, size=1 + n % 20).tolist()) for n in range(150)]
    expected = np.array([reference_judgement(network, word).accepted for word in words])
    for size in (1, 3, 50, 150):
        for part in np.array_split(rng.permutation(len(words)), -(-len(words) // size)):
            oracle = MembershipOracle(model)
            pairs = [(words[i][: len(words[i]) // 2], words[i][len(words[i]) // 2 :]) for i in part]
            np.testing.assert_array_equal(oracle.ask(pairs), expected[part])
            np.testing.assert_array_equal(MembershipOracle(model).answers([words[i] for i in part]), expected[part])
    batch = WordBatch.from_codes(words)
    np.testing.assert_array_equal(MembershipOracle(model).prefix_answers(batch)[batch.offsets[1:] - 1], expected)


def test_asking_the_definition_is_counted() -> None:
    """A word that is too close to call costs its letters once more."""
    oracle = MembershipOracle(CompiledNetwork(on_the_threshold()))
    oracle.answers([(0, 1, 2, 0)])
    assert oracle.cost.network_steps == 8


class Stopwatch:
    """A clock that moves on by one whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("model", [DFAModel(counting_dfa(ABC)), CompiledNetwork(random_network(Cell.GRU, (4,)))])
def test_a_deadline_midway_loses_nothing(model: Model) -> None:
    queries = [((0,) * n, (1, 2)[:m]) for n in range(12) for m in range(3)]
    patient = MembershipOracle(model)
    expected = patient.ask(queries)
    oracle = MembershipOracle(model)
    rounds = 0
    while True:
        oracle.budget = Budget.lasting(5, clock=Stopwatch())
        before = oracle.cost
        try:
            found = oracle.ask(queries)
            break
        except BudgetExceeded:
            rounds += 1
        assert oracle.cost.network_steps > before.network_steps
    assert rounds > 1
    np.testing.assert_array_equal(found, expected)
    assert oracle.cost.membership_queries == patient.cost.membership_queries
    assert oracle.cost.network_steps >= patient.cost.network_steps


def test_what_was_answered_before_the_end_is_remembered_and_counted() -> None:
    oracle = MembershipOracle(DFAModel(counting_dfa(ABC)), budget=Budget.lasting(4, clock=Stopwatch()))
    with pytest.raises(BudgetExceeded):
        oracle.answers([(), (0,), (0, 1), (0, 1, 2), (0, 1, 2, 0), (0, 1, 2, 0, 1)])
    assert oracle.cost == Cost(membership_queries=4, network_steps=3, batches=1)

    assert oracle.answers([(), (0,), (0, 1), (0, 1, 2)]).tolist() == [True, True, False, True]
    assert oracle.cost == Cost(membership_queries=4, network_steps=3, batches=1)
    oracle.budget = UNLIMITED
    assert oracle.answer((0, 1, 2, 0, 1)) is False


def test_answers_that_need_no_definition_are_kept_when_the_definition_stops() -> None:
    class Undecided(DFAModel):
        margin = 2.0

        def scores(self, states: States) -> Scores:
            return super().scores(states) * np.where(states == 2, 1.0, 3.0)

    oracle = MembershipOracle(Undecided(counting_dfa(ABC)), budget=Budget.lasting(2, clock=Stopwatch()))
    with pytest.raises(BudgetExceeded):
        oracle.answers([(2,), (0,), (1,)])
    assert oracle.cost == Cost(membership_queries=2, network_steps=3, batches=1)
    assert oracle.answers([(0,), (1,)]).tolist() == [True, False]
    oracle.budget = UNLIMITED
    assert oracle.answer((2,)) is False
    assert oracle.cost == Cost(membership_queries=3, network_steps=5, batches=2)


@pytest.mark.parametrize("kind", ["answers", "prefix_answers"])
@pytest.mark.parametrize("model", [WholeWordModel(ABC), CompiledNetwork(random_network(Cell.LSTM, (8,)), threads=2)])
def test_cancelling_midway(model: Model, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_LETTERS_AT_ONCE", 100)
    monkeypatch.setattr(backends, "_FEWEST_LETTERS", 100)
    stop = threading.Event()
    seen = itertools.count()

    def cancelled() -> bool:
        if next(seen) == 5:
            stop.set()
        return stop.is_set()

    oracle = MembershipOracle(model, budget=Budget(cancelled=cancelled))
    words = WordBatch.from_codes([(0, 1, 2, 1)[: 1 + n % 4] * 10 + (n % 3,) * (n % 20) for n in range(200)])
    with pytest.raises(BudgetExceeded, match="cancelled"):
        getattr(oracle, kind)(words)
    assert 0 < oracle.cost.network_steps < len(words.codes) * 10
    assert oracle.cost.membership_queries < len(words)
    oracle.budget = UNLIMITED
    assert len(getattr(oracle, kind)(words)) in (len(words), len(words.codes))


def test_budgets() -> None:
    now = [10.0]
    budget = Budget.lasting(5.0, clock=lambda: now[0])
    budget.check()
    assert budget.remaining() == 5.0
    now[0] = 15.0
    assert budget.remaining() == 0.0
    with pytest.raises(ResourceLimitError, match="time limit"):
        budget.check()
    UNLIMITED.check()
    assert Budget.lasting(None).remaining() == float("inf")
    with pytest.raises(InputError, match="-1 seconds"):
        Budget.lasting(-1)


def test_bad_inputs() -> None:
    with pytest.raises(InputError, match="-5 bytes"):
        MembershipOracle(DFAModel(counting_dfa(ABC)), memory_limit=-5)
    for model in (DFAModel(counting_dfa(ABC)), DFAModel(counting_dfa(letters(300)))):
        oracle = MembershipOracle(model)
        for bad in [(1, 300), (-1,), (0, "a"), ("a",), (0.5,)]:
            with pytest.raises(AlphabetError, match="letter positions"):
                oracle.answers([bad])
            with pytest.raises(AlphabetError, match="letter positions"):
                oracle.ask([((), bad)])
        with pytest.raises(AlphabetError):
            oracle.prefix_answers(WordBatch([300], [0, 1]))
        assert oracle.cost == Cost()
        assert len(oracle.answers([])) == len(oracle.ask([])) == 0
        assert oracle.table([(0,)], []).shape == (1, 0)


def test_overflow_names_the_word() -> None:
    from models.test_engine import doubling

    oracle = MembershipOracle(CompiledNetwork(doubling(1e-3), margin=1e30))
    with pytest.raises(ModelError, match="160 letters"):
        oracle.ask([((0,) * 150, (0,) * 10)])


@given(st.integers(1, 70_000), st.lists(st.integers(0, 69_999), max_size=5), st.lists(st.integers(0, 69_999)))
@settings(deadline=None)
def test_keys_are_words(size: int, first: list[int], second: list[int]) -> None:
    class Letters(Alphabet):
        """An alphabet of which only the size matters."""

        def __init__(self) -> None:
            super().__init__(["a"])

        def __len__(self) -> int:
            return size

    keys = WordKeys(Letters())
    u, v = (tuple(code % size for code in codes) for codes in (first, second))
    assert keys.codes(keys.key(u)) == u
    assert keys.key(u) + keys.key(v) == keys.key(u + v)
    assert (keys.key(u) < keys.key(v)) == (u < v)
    assert keys.keys(WordBatch.from_codes([u, v])) == keys.keys([u, v])
    assert keys.batch([keys.key(u), keys.key(v)]) == WordBatch.from_codes([u, v])
    assert list(map(keys.codes, keys.prefixes(keys.key(v)))) == [v[:end] for end in range(1, len(v) + 1)]


TINY = CompiledNetwork(random_network(Cell.RNN_TANH, (2,)))
TINY_WIDTH = TINY.initial(1).shape[1]


@settings(deadline=None)
@given(
    st.lists(st.one_of(st.lists(words_of, unique=True, max_size=5), st.lists(words_of, max_size=3).map(tuple))),
    st.integers(0, 4000),
)
def test_prefix_states_hold_the_right_states_within_the_limit(steps: list, limit: int) -> None:
    """Against a plain dictionary, in the order of use."""
    states = PrefixStates(TINY, limit)
    values: dict[bytes, np.ndarray] = {}
    for step in steps:
        keys = [bytes(word) for word in step if word]
        if isinstance(step, list):
            given_states = np.random.default_rng(len(values)).normal(size=(len(keys), TINY_WIDTH))
            states.put(keys, given_states.astype(np.float32))
            values.update(zip(keys, given_states.astype(np.float32), strict=True))
        else:
            held = [key for key in keys if key in states]
            for key, state in zip(held, states.get(held), strict=True):
                np.testing.assert_array_equal(state, values[key])
        assert states.bytes_used <= limit
        for key in values:
            longest = max((k for k in values if k in states and key.startswith(k)), key=len, default=b"")
            assert states.longest_prefix(key) == longest


def test_the_least_recently_used_state_goes_first() -> None:
    model = DFAModel(counting_dfa(ABC))
    states = PrefixStates(model, 4 * 256)  # room for four
    for key in (b"a", b"b", b"c", b"d"):
        states.put([key], np.array([ord(key)], dtype=np.int32))
    states.get([b"a"])
    states.put([b"e"], np.array([ord("e")], dtype=np.int32))
    assert [key in states for key in (b"a", b"b", b"c", b"d", b"e")] == [True, False, True, True, True]
    assert states.get([b"e", b"a"]).tolist() == [ord("e"), ord("a")]


def test_answers_are_forgotten_oldest_first() -> None:
    answers = AnswerCache(2 * 160 * 10)
    for i in range(1000):
        answers.put({bytes([i % 256, i // 256]): i % 3 == 0})
        assert answers.get([b"\x00\x00"]) == [True]  # whatever is used stays
        assert len(answers) <= 21
    assert answers.get([bytes([999 % 256, 3]), b"\x05\x00"]) == [True, None]


def test_walking_shares_common_beginnings() -> None:
    model = DFAModel(counting_dfa(ABC))
    ticks: list[int] = []
    words = [(0, 1), (0, 2), (0, 2), (1,)]  # the same word in two rows of one state is one walk
    batch = WordBatch.from_codes(words)
    walked = walk(
        model, model.initial(1), np.zeros(4, np.int64), batch.codes, batch.offsets[:-1], batch.lengths, ticks.append
    )
    ends = {int(row): int(states[at]) for ended, states, nodes in walked for row, at in zip(ended, nodes, strict=True)}
    assert ends == {0: 1, 1: 2, 2: 2, 3: 1}
    assert ticks == [2, 2]


@pytest.mark.slow
def test_many_queries_stay_within_the_memory_limit() -> None:
    """200 000 queries on a network of 280 units: what the oracle keeps and works with stays under the limit."""
    network = random_network(Cell.LSTM, (280,), alphabet=letters(5), inputs=10)
    limit = 64 << 20
    model = CompiledNetwork(network)
    rng = np.random.default_rng(0)
    model.prefix_scores(WordBatch.from_codes([(0, 1)] * 2000))  # so that scratch memory is there already
    tracemalloc.start()
    oracle = MembershipOracle(model, memory_limit=limit)
    suffixes = [tuple(rng.integers(5, size=n).tolist()) for n in (0, 1, 1, 2)]
    for _ in range(20):
        access = [tuple(rng.integers(5, size=6).tolist()) for _ in range(2500)]
        oracle.table(access, suffixes)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert oracle.cost.membership_queries > 50_000
    assert peak < limit


def test_scores_of_many_words_keep_the_budget() -> None:
    """Should look at the time between some words: a slow model was asked for all of them in one call."""
    clock = Standing()

    def slowly(words):
        clock.advance(len(words))
        return [float(len(word)) for word in words]

    oracle = MembershipOracle(wrap(slowly, alphabet=["a", "b"]))
    words = WordBatch.from_codes([(0,) * 500] * 300)
    whole = oracle.scores(words)
    oracle.budget = Budget.lasting(100.0, clock=clock)
    began = clock()
    with pytest.raises(BudgetExceeded):
        oracle.scores(words)
    assert clock() - began < 150.0
    assert whole is not None
    assert whole.tolist() == oracle.model.scores_batch(words).tolist()
