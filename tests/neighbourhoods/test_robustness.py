"""Robustness against brute force: every word, every distance, every kind of edit, on models made for the purpose."""

import contextlib
import dataclasses
import itertools
import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rnncheck import Alphabet, Edits, FormatError, InputError, ModelError, Robustness, Spec, robust, wrap
from rnncheck.automata.edits import ball, distance_of, within
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork, compiled_or_stepped
from rnncheck.models.engine.reference import Judgement, reference_judgement
from rnncheck.models.network import Cell
from rnncheck.neighbourhoods.alignment import aligned
from rnncheck.neighbourhoods.uniform_words import UniformWords
from rnncheck.neighbourhoods.walk import Ball, Walk, prefixes
from rnncheck.oracle import MembershipOracle
from rnncheck.runtime.checkpoint import read_checkpoint
from rnncheck.runtime.executors import WorkerLostError
from rnncheck.verdict.facts import Outcome
from support.clusters import Cluster
from support.networks import random_network
from support.robust_networks import robust_network
from support.strategies import dfas

LETTERS = Alphabet(["a", "b", "c"])
ALL = [word for length in range(7) for word in itertools.product(LETTERS, repeat=length)]
FAR = 1e6


def distance_by(edits: Edits) -> Callable[[Sequence[str], Sequence[str]], float]:
    """By the textbook's table, with nothing of the automata. All costs are halves, which floats hold exactly."""
    place = {letter: i for i, letter in enumerate(LETTERS)}

    def prices(costs):
        return [FAR if cost is None else float(cost) for cost in costs]

    replacing = [prices(edits.replacing(letter, other) for other in LETTERS) for letter in LETTERS]
    inserting, deleting, swapping = (prices(edits.each(kind, LETTERS)) for kind in ("insert", "delete", "swap"))

    def distance(word, other) -> float:
        first, second = [place[letter] for letter in word], [place[letter] for letter in other]
        table: dict[tuple[int, int], float] = {}
        for i, j in itertools.product(range(len(first) + 1), range(len(second) + 1)):
            ways = [0.0] if i == j == 0 else []
            if i:
                ways.append(table[i - 1, j] + deleting[first[i - 1]])
            if j:
                ways.append(table[i, j - 1] + inserting[second[j - 1]])
            if i and j:
                ways.append(table[i - 1, j - 1] + replacing[first[i - 1]][second[j - 1]])
            if i > 1 and j > 1 and first[i - 2 : i] == second[j - 2 : j][::-1] and first[i - 1] != first[i - 2]:
                ways.append(table[i - 2, j - 2] + max(swapping[letter] for letter in first[i - 2 : i]))
            table[i, j] = min(ways)
        return table[len(first), len(second)]

    return distance


costs = st.sampled_from([None, 1, 1, 2, Fraction(1, 2)])
whole_costs = st.sampled_from([None, 1, 1, 2])
edit_kinds = st.builds(
    Edits,
    substitute=costs,
    insert=whole_costs,
    delete=costs,
    swap=costs,
    replacements=st.sampled_from([{}, {}, {"a": {"b": "0.5"}}, {"b": {}, "c": {"a": 1}}]),
    locked=st.sampled_from([frozenset(), frozenset(), frozenset("a")]),
)
words = st.lists(st.sampled_from(list(LETTERS)), max_size=4).map(tuple)


@given(word=words, edits=edit_kinds, far=st.sampled_from([0, 1, 2, "1.5"]))
@settings(max_examples=40, deadline=None)
def test_a_ball_is_all_words_within_the_distance(word, edits, far) -> None:
    language = ball(word, far, edits, LETTERS)
    distance = distance_by(edits)
    expected = [distance(word, other) <= Fraction(far) for other in ALL]
    assert language.accepts_batch(ALL).tolist() == expected


@given(word=words, edits=edit_kinds, far=st.sampled_from([1, 2]), seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_letters_that_neither_the_word_nor_an_edit_names_are_alike(word, edits, far, seed) -> None:
    """One of them stands for all: a ball over many letters has the words whose image is in that over few."""
    others = [f"x{number}" for number in range(40)]
    many, few = Alphabet([*others[:20], *LETTERS, *others[20:]]), Alphabet([*LETTERS, "x"])
    rng = np.random.default_rng(seed)
    asked = [tuple(rng.choice(many, size=rng.integers(7))) for _ in range(50)]
    asked += [(*word[:place], "x7", *word[place + skip :]) for place in range(len(word) + 1) for skip in (0, 1)]
    image = [tuple("x" if letter in others else letter for letter in each) for each in asked]
    assert ball(word, far, edits, many).accepts_batch(asked).tolist() == (
        ball(word, far, edits, few).accepts_batch(image).tolist()
    )


def test_every_neighbour_over_many_letters_is_asked_whatever_the_memory() -> None:
    letters = Alphabet([f"t{number}" for number in range(300)])
    word = ["t1", "t2", "t2", "t9"]
    language = ball(word, 1, Edits(), letters)
    near = {tuple(word), *(tuple(word[:place] + word[place + 1 :]) for place in range(4))}
    near |= {
        (*word[:place], letter, *word[place + skip :]) for place in range(5) for skip in (0, 1) for letter in letters
    }
    for rare in (("t1", "t2", "t2", "t250"), ("t1", "t299", "t2", "t2", "t9"), ("t1", "t2", "t9")):
        model = wrap(lambda some, rare=rare: [tuple(each) == rare for each in some], alphabet=list(letters))
        for memory in (1, 1 << 28):
            walk = Walk(MembershipOracle(model).stepper, [Ball(language, False)], memory)
            while not walk.finished:
                walk.advance()
            assert walk.flips == [letters.encode(rare)]
    assert UniformWords(language).count == len(near)


@given(language=dfas(alphabet=LETTERS), edits=edit_kinds, far=st.sampled_from([1, "1.5"]))
@settings(max_examples=25, deadline=None)
def test_the_words_within_a_distance_of_a_language(language, edits, far) -> None:
    short = [word for word in ALL if len(word) <= 3]
    known = [word for word in ALL if len(word) <= 6 and language.accepts(word)]
    found = within(language, far, edits).accepts_batch(short).tolist()
    distance = distance_by(edits)
    assert found == [any(distance(word, other) <= Fraction(far) for word in known) for other in short]


@st.composite
def questions(draw):
    """A model that changes its mind here and there, a word, edits and a distance."""
    seed = draw(st.integers(0, 10**6))
    cell = draw(st.sampled_from(list(Cell)))
    network = random_network(cell, hidden=(4,), alphabet=LETTERS, scale=2.0, seed=seed)
    word = draw(st.lists(st.sampled_from(list(LETTERS)), min_size=2, max_size=4).map(tuple))
    return compiled_or_stepped(network), word, draw(edit_kinds), draw(st.sampled_from([1, 2, "1.5"]))


def check_against_brute_force(model, word, edits, far) -> None:
    found = robust(model, [word], distance=far, edits=edits).words[0]
    answers = dict(zip(ALL, model.accepts_batch(ALL).tolist(), strict=True))
    distance = distance_by(edits)
    near = {other: away for other in ALL if (away := distance(word, other)) <= Fraction(far)}
    flips = {other: away for other, away in near.items() if answers[other] != answers[word]}
    assert found.accepted == answers[word]
    assert (found.outcome is Outcome.SATISFIED) == (not flips)
    if flips:
        assert Fraction(str(found.distance)) == min(flips.values()) == flips[found.nearest]
    else:
        assert found.words == len(near)


@given(questions())
@settings(max_examples=25, deadline=None)
def test_every_answer_is_brute_forces(question) -> None:
    check_against_brute_force(*question)


@pytest.mark.slow
@given(questions())
@settings(max_examples=2000, deadline=None)
def test_two_thousand_answers_are_brute_forces(question) -> None:
    check_against_brute_force(*question)


def test_words_are_stepped_once_whichever_ball_they_are_in() -> None:
    network = random_network(Cell.GRU, alphabet=LETTERS)
    rejecting = CompiledNetwork(dataclasses.replace(network, head_bias=np.full(1, -99.0, np.float32)))
    centres = [("a", "b", "c", "a"), ("a", "b", "c", "b"), ("b", "b", "c", "b")]
    languages = [ball(word, 2, Edits(), LETTERS) for word in centres]
    oracle = MembershipOracle(rejecting)
    walk = Walk(oracle.stepper, [Ball(language, False) for language in languages], memory=1 << 10)
    while not walk.finished:
        walk.advance()
    inside = [word for word in ALL if any(language.accepts(word) for language in languages)]
    assert walk.flips == [None] * 3
    assert oracle.cost.work == len({word[:length] for word in inside for length in range(1, len(word) + 1)})
    assert prefixes(languages[0]) < oracle.cost.work < sum(map(prefixes, languages))


def test_words_are_drawn_with_equal_chances() -> None:
    language = ball(("a", "b"), 1, Edits(), LETTERS)
    source = UniformWords(language)
    inside = [word for word in ALL if language.accepts(word)]
    assert source.count == len(inside)
    drawn = list(source.sample(np.random.default_rng(0), 20_000))
    counts = np.array([drawn.count(LETTERS.encode(word)) for word in inside])
    assert counts.sum() == 20_000
    expected = 20_000 / len(inside)
    assert (np.abs(counts - expected) < 6 * np.sqrt(expected)).all()


def rejecting_lstm():
    network = random_network(Cell.LSTM, alphabet=LETTERS)
    return dataclasses.replace(network, head_bias=np.full(1, -99.0, np.float32))


def test_too_many_neighbours_are_never_called_robust() -> None:
    word = ("a", "b", "c") * 4
    model = DFAModel(Spec.from_regex("!(.*)", LETTERS).dfa)
    found = robust(model, [word], distance=3, max_steps=20_000, epsilon=0.01)
    one = found.words[0]
    assert one.outcome is Outcome.UNDECIDED
    assert one.certified == 2
    assert 0 < one.epsilon <= 0.01
    assert "network steps, more than 20000" in one.reason
    assert found.exit_code == 3


@pytest.mark.parametrize("cell", [Cell.RNN_TANH, Cell.GRU, Cell.LSTM])
def test_too_many_neighbours_are_proved_where_states_can_be_enclosed(cell) -> None:
    """The property holds of every neighbour, by the automaton that the network was built from."""
    spec = Spec.from_regex("!(.* a a a .*)", LETTERS).dfa
    model = CompiledNetwork(robust_network(spec, cell))
    words = [("b", "c", "b", "a") * 3, ("b", "c", "a") * 3 + ("a", "b", "c")]
    found = robust(model, words, max_steps=100)
    assert [one.outcome for one in found.words] == [Outcome.SATISFIED, Outcome.VIOLATED]
    assert found.words[0].boxes > 0
    assert not spec.accepts(found.words[1].nearest)
    assert robust(model, words).words[0].boxes is None  # asked, where there is time for it


@example(seed=185490, word=["a", "a"])  # the empty word is near, and no proof is about it
@given(seed=st.integers(0, 10**6), word=st.lists(st.sampled_from(list(LETTERS)), min_size=2, max_size=3))
@settings(max_examples=30, deadline=None)
def test_no_proof_contradicts_asking_everything(seed, word) -> None:
    network = random_network(Cell.GRU, hidden=(4,), alphabet=LETTERS, scale=1.5, seed=seed)
    proved = robust(compiled_or_stepped(network), [word], distance=2, max_steps=1).words[0]
    asked = robust(compiled_or_stepped(network), [word], distance=2).words[0]
    if proved.boxes is not None:
        assert asked.outcome is Outcome.SATISFIED
    if proved.nearest is not None:
        assert asked.distance <= proved.distance


def test_a_flip_among_too_many_neighbours_is_found_and_no_more_is_claimed() -> None:
    spec = Spec.from_regex("!(.* b b b .*)", LETTERS)
    found = robust(DFAModel(spec.dfa), [("a", "b", "a") * 4], distance=3, max_steps=300)
    one = found.words[0]
    assert one.outcome is Outcome.VIOLATED
    assert not one.exact
    assert spec.dfa.accepts(one.word) != spec.dfa.accepts(one.nearest)
    assert distance_by(Edits())(one.word, one.nearest) == one.distance <= 3


def test_only_words_of_the_specification_count() -> None:
    model = DFAModel(Spec.from_regex(".* a", LETTERS).dfa)
    assert not robust(model, [("b", "c", "a")]).robust
    ends_in_a = Spec.from_regex(".* a", LETTERS)
    assert robust(model, [("b", "c", "a")], distance=2, spec=ends_in_a).robust


def test_an_original_that_differs_from_its_engine_is_asked_itself() -> None:
    """The engine rejects every word, and the original accepts those with two b."""
    network = rejecting_lstm()
    model = CompiledNetwork(network)

    def judge(word):
        judgement = reference_judgement(network, word)
        return Judgement(3.0, True) if tuple(word).count(1) >= 2 else judgement

    model._reference = judge
    model._options["reference"] = judge
    found = robust(model, [("a", "c", "a", "c")], distance=2)
    assert found.words[0].distance == 2
    assert any("different answers" in note for note in found.notes)


def test_nothing_is_robust_before_the_reference_was_asked() -> None:
    """The engine rejects every word, and the time is over while the reference is asked for some."""
    network = rejecting_lstm()
    model = CompiledNetwork(network)
    asked = []

    def judge(word):
        asked.append(word)
        return reference_judgement(network, word)

    model._reference = judge
    model._options["reference"] = judge
    late = lambda: 1e9 if len(asked) > 5 else 0.0  # noqa: E731 - a clock
    found = robust(model, [("a", "b", "c", "a")], timeout=1, clock=late)
    assert found.words[0].outcome is Outcome.UNDECIDED
    assert found.words[0].certified == 0


class OneC(DFAModel):
    """The evaluator accepts words with two c in a row, the reference those with any c."""

    def __init__(self) -> None:
        super().__init__(Spec.from_regex(".* c c .*", LETTERS).dfa)

    def reference_answer(self, codes) -> bool:
        return 2 in codes

    def by_reference(self) -> DFAModel:
        return DFAModel(Spec.from_regex(".* c .*", LETTERS).dfa)


@pytest.mark.parametrize("steps", [50_000_000, 30])
def test_no_word_is_nearer_by_the_reference_too(steps: int) -> None:
    """Should compare the certified part of a neighbourhood, where a flip further off is known or not."""
    found = robust(OneC(), [("a", "b", "a")], distance=2, max_steps=steps)
    assert found.words[0].distance == 1
    assert any("different answers" in note for note in found.notes)


def test_where_no_neighbour_counts() -> None:
    model = CompiledNetwork(rejecting_lstm())
    one = robust(model, [("a", "b", "c")], spec=Spec.from_regex("c{8}", LETTERS)).words[0]
    assert (one.outcome, one.words) == (Outcome.SATISFIED, 0)
    assert one.reason.startswith("no word within distance 1 counts")


def test_a_model_of_short_words_is_asked_for_no_longer_ones() -> None:
    def short(some):
        assert all(len(word) <= 4 for word in some)
        return [False for _ in some]

    assert robust(wrap(short, LETTERS, max_length=4), [("a", "b", "a", "b")], distance=2).robust


@pytest.mark.parametrize("cost", ["1/4611686018427387904", 1e-9, "0.000001", "1e99999999"])
def test_costs_of_many_digits_are_refused(cost) -> None:
    model = DFAModel(Spec.from_regex("a*", LETTERS).dfa)
    with pytest.raises(InputError):
        robust(model, [("a", "b")], edits=Edits(swap=cost))


def test_a_model_that_cannot_travel_is_told() -> None:
    with pytest.raises(ModelError, match="cannot be sent to other processes"):
        robust(wrap(lambda some: [True for _ in some], LETTERS), [("a", "b")], workers=1)


def test_distances_that_costs_allow_are_the_rows_of_the_table() -> None:
    model = DFAModel(Spec.from_regex(".* a", LETTERS).dfa)
    edits = Edits(substitute=2, insert=None, delete=None, swap="0.5")
    found = robust(model, [("b", "a"), ("c", "c")], distance=2, edits=edits)
    assert found.table() == [(0, 2, 0), (0.5, 1, 1), (1, 1, 1), (1.5, 1, 1), (2, 0, 2)]


def test_models_of_whole_words_are_asked_too() -> None:
    model = wrap(lambda some: [word.count("a") < 3 for word in some], LETTERS)
    found = robust(model, [("a", "b", "a", "b")], distance=2)
    assert found.words[0].distance == 1


def test_the_result_does_not_depend_on_the_workers(tmp_path) -> None:
    model = CompiledNetwork(random_network(Cell.GRU, hidden=(6,), alphabet=LETTERS, scale=3.0, seed=5))
    some = [word for word in ALL if len(word) == 4][::2]
    alone = robust(model, some, distance=2)
    shared = robust(model, some, distance=2, workers=2)
    assert shared.words == alone.words
    assert (shared.network_steps, shared.compared) == (alone.network_steps, alone.compared)
    assert Robustness.from_json(alone.to_json()) == alone


@pytest.mark.filterwarnings("ignore")  # what Dask and its event loop warn about is theirs
def test_a_cluster_gives_the_same_result(tmp_path) -> None:
    pytest.importorskip("distributed")
    model = CompiledNetwork(random_network(Cell.GRU, hidden=(6,), alphabet=LETTERS, scale=3.0, seed=5))
    some = [word for word in ALL if len(word) == 4][::2]
    with contextlib.closing(Cluster(tmp_path)) as cluster:
        shared = robust(model, some, distance=2, cluster=cluster.address)
    assert shared.words == robust(model, some, distance=2).words


def test_an_interrupted_run_goes_on(tmp_path) -> None:
    model = CompiledNetwork(random_network(Cell.GRU, hidden=(6,), alphabet=LETTERS, scale=3.0, seed=5))
    some = [word for word in ALL if len(word) == 4]
    kept = str(tmp_path / "kept")

    def impatient(now) -> None:
        if now.done > 30:
            raise KeyboardInterrupt

    broken = robust(model, some, distance=2, checkpoint=kept, progress=impatient)
    assert broken.outcome is not Outcome.SATISFIED
    assert {one.reason for one in broken.words if one.accepted is None} == {"interrupted"}
    before = len(json.loads(read_checkpoint(tmp_path / "kept"))["words"])
    assert 0 < before < len(some)
    whole = robust(model, some, distance=2, checkpoint=kept, resume=True)
    assert whole.words == robust(model, some, distance=2).words
    with pytest.raises(InputError, match="another question: its distance is '2', and '1' was requested"):
        robust(model, some, distance=1, checkpoint=kept, resume=True)
    written = Path(kept).read_bytes()
    edited = written.replace(b'"accepted":true', b'"accepted":false').replace(
        b'"outcome":"violated"', b'"outcome":"satisfied"'
    )
    assert edited != written
    Path(kept).write_bytes(edited)
    with pytest.raises(FormatError, match="damaged or edited"):
        robust(model, some, distance=2, checkpoint=kept, resume=True)


def test_a_checkpoint_that_cannot_be_written_costs_no_result(tmp_path, monkeypatch) -> None:
    def full(*_):
        raise InputError("kept: No space left on device")

    monkeypatch.setattr("rnncheck.neighbourhoods.robustness_checkpoint.write_checkpoint", full)
    model = DFAModel(Spec.from_regex("!(.*)", LETTERS).dfa)
    found = robust(model, [("a", "b")], checkpoint=str(tmp_path / "kept"))
    assert found.robust
    assert "No space left" in found.notes[0]


class LosingWorkers:
    """An executor whose first piece of work ends its worker."""

    workers = 1

    def __init__(self) -> None:
        self.lost = False

    def share(self, value):
        return value

    def submit(self, work, *arguments):
        future: Future = Future()
        if self.lost:
            future.set_result(work(*arguments))
        else:
            self.lost = True
            future.set_exception(WorkerLostError("the worker was lost"))
        return future


def test_a_lost_worker_costs_its_own_words_alone(monkeypatch) -> None:
    monkeypatch.setattr(
        "rnncheck.neighbourhoods.robustness.open_executor", lambda *_, **__: nullcontext(LosingWorkers())
    )
    words = [("a",) * length for length in range(1, 40)]
    found = robust(DFAModel(Spec.from_regex(".*", LETTERS).dfa), words, workers=1)
    outcomes = {one.outcome for one in found.words}
    assert outcomes == {Outcome.UNDECIDED, Outcome.SATISFIED}
    assert any("worker was lost" in one.reason for one in found.words)


def test_a_time_limit_leaves_words_undecided() -> None:
    model = CompiledNetwork(rejecting_lstm())
    ticks = itertools.count()
    found = robust(model, [("a", "b", "c") * 3], distance=3, timeout=40, clock=lambda: float(next(ticks)))
    assert found.words[0].outcome is Outcome.UNDECIDED
    assert found.words[0].reason == "the time limit was reached"


def test_words_are_aligned_letter_by_letter() -> None:
    edits = Edits.of(["substitute", "insert", "delete", "swap"])
    assert aligned("cab", "cba", edits, LETTERS) == [("c", "c"), ("a", "b"), ("b", "a")]
    assert aligned("abc", "abac", edits, LETTERS) == [("a", "a"), ("b", "b"), (None, "a"), ("c", "c")]
    assert aligned("abc", "ac", Edits(), LETTERS) == [("a", "a"), ("b", None), ("c", "c")]
    assert aligned("", "", edits, LETTERS) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"distance": -1}, "distance -1 is negative"),
        ({"distance": "far"}, "distance is 'far'; give a number"),
        ({"distance": "1e5000"}, "distance is '1e5000'; give a number"),
        ({"distance": 10**5000}, "distance is larger than 1000000000"),
        ({"distance": 4}, "distance 4 is larger than the word 'a b' of 2 letters"),
        ({"edits": Edits(locked=frozenset("x"))}, "the edits name 'x', which is not a letter"),
        ({"max_steps": 0}, "at most 0 steps were allowed"),
    ],
)
def test_nonsense_is_refused(options, says) -> None:
    model = DFAModel(Spec.from_regex("a*", LETTERS).dfa)
    with pytest.raises(InputError, match=says):
        robust(model, [("a", "b")], **options)


@pytest.mark.parametrize("cost", [0, -1, "x", True, None.__class__, float("nan")])
def test_costs_are_numbers_above_zero(cost) -> None:
    with pytest.raises(InputError, match="the cost of insert is"):
        Edits(insert=cost)
    with pytest.raises(InputError):
        distance_of("1/0")
