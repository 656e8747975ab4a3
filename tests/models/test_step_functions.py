"""Models that are stepped by their owner's functions: packing, the self-check, and what verify makes of them."""

from __future__ import annotations

import collections
import dataclasses
import itertools
from typing import Any

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rnncheck
from rnncheck.models.foreign.steps.packing import Packing
from rnncheck.models.protocol import SteppingModel
from rnncheck.words import WordBatch

AB = ("a", "b")
RNG = np.random.default_rng(7)
INPUT, LOOP, HEAD = RNG.normal(size=(2, 6)), RNG.normal(size=(6, 6)) / 2, RNG.normal(size=6)


def initial(rows: int) -> np.ndarray:
    return np.zeros((rows, 6))


def step(states: np.ndarray, letters: np.ndarray) -> np.ndarray:
    return np.tanh(INPUT[letters] + states @ LOOP)


def score(states: np.ndarray) -> np.ndarray:
    return states @ HEAD - 0.1


def by_hand(word: tuple[str, ...]) -> bool:
    state = np.zeros(6)
    for letter in word:
        state = np.tanh(INPUT[AB.index(letter)] + state @ LOOP)
    return bool(state @ HEAD - 0.1 > 0)


def all_words(longest: int) -> list[tuple[str, ...]]:
    return [word for length in range(longest + 1) for word in itertools.product(AB, repeat=length)]


def test_answers_are_those_of_the_functions() -> None:
    model = rnncheck.wrap_steps(initial, step, score, AB)
    words = all_words(8)
    assert isinstance(model, SteppingModel)
    assert model.accepts_batch(words).tolist() == [by_hand(word) for word in words]
    assert model.by_reference().accepts_batch(words).tolist() == [by_hand(word) for word in words]


def test_verify_says_what_was_evaluated() -> None:
    model = rnncheck.wrap_steps(initial, step, score, AB)
    shortest = next(word for word in all_words(6) if by_hand(word))
    nothing = rnncheck.Spec.from_regex("$none", alphabet=AB, definitions={"none": "a & b"})
    verdict = rnncheck.verify(model, nothing, epsilon=0.02, settings=rnncheck.VerifySettings(search_steps=10_000))
    assert verdict.counterexample == shortest
    satisfied = rnncheck.verify(model, rnncheck.Spec.from_regex(".*", alphabet=AB), method="smc", epsilon=0.02)
    assert satisfied.satisfied
    assert satisfied.model_facts["queries"] == "stepped by its owner's functions, up to 4096 words per call"
    assert rnncheck.replay(verdict, model).exit_code == 0


def test_a_step_may_work_in_place() -> None:
    """Should keep its states from a function that changes what it is given, and from one that always gives the same."""
    zeros = np.zeros((8192, 6))

    def in_place(states: np.ndarray, letters: np.ndarray) -> np.ndarray:
        states @= LOOP
        states += INPUT[letters]
        letters[:] = 0
        return np.tanh(states, out=states)

    model = rnncheck.wrap_steps(lambda rows: zeros[:rows], in_place, score, AB)
    words = all_words(7)
    assert model.accepts_batch(words).tolist() == [by_hand(word) for word in words]
    states = model.initial(2)
    before = states.copy()
    model.step(states, np.array([0, 1]))
    model.scores(states)
    assert np.array_equal(states, before)


Pair = collections.namedtuple("Pair", ["left", "right"])


@dataclasses.dataclass
class Both:
    hidden: Any
    other: Any


@st.composite
def trees(draw: Any) -> Any:
    """For a number of rows, states of some tree; the words lie along any axis."""
    kinds = st.sampled_from(["f2", "f4", "f8", "c8", "c16", "i1", "i4", "i8", "u4", "bool"])

    def leaf() -> Any:
        kind, shape, seed = (
            np.dtype(draw(kinds)),
            draw(st.lists(st.integers(1, 3), max_size=3)),
            draw(st.integers(0, 99)),
        )
        axis = draw(st.integers(0, len(shape)))

        def made(rows: int) -> np.ndarray:
            rng = np.random.default_rng(seed)
            numbers = np.stack([rng.normal(size=shape) * 100 for _ in range(rows)], axis=axis)
            return (numbers * (1j if kind.kind == "c" else 1) + numbers).astype(kind)

        return made

    leaves = [leaf() for _ in range(draw(st.integers(1, 4)))]
    form = draw(st.sampled_from(["list", "tuple", "dict", "named", "data", "nested"]))

    def tree(rows: int) -> Any:
        made = [each(rows) for each in leaves]
        if form == "dict":
            return dict(enumerate(made))
        if form == "named":
            return Pair(made[0], made[1:])
        if form == "data":
            return Both(made, None)
        if form == "nested":
            return [{"x": (made[0],)}, *made[1:]]
        return tuple(made) if form == "tuple" else made

    return tree


@given(trees(), st.integers(1, 5))
@settings(deadline=None, max_examples=60)
def test_packing_loses_nothing(tree: Any, rows: int) -> None:
    with np.errstate(all="ignore"):
        packing = Packing(tree(2), tree(3))
        packed = packing.pack(tree(rows), rows)
        back = packing.unpack(packed)
        assert len(packed) == rows
        assert repr(back) == repr(tree(rows))
        for path in range(rows):  # row by row, whatever stands beside it
            assert np.array_equal(
                packing.pack(packing.unpack(packed[path : path + 1]), 1)[0], packed[path], equal_nan=True
            )


@given(arrays.arrays(np.int64, (2, 3), elements=st.integers(-(2**62), 2**62)))
@settings(deadline=None, max_examples=30)
def test_whole_numbers_are_kept_or_refused(numbers: np.ndarray) -> None:
    packing = Packing(np.zeros((2, 3), np.int64), np.zeros((3, 3), np.int64))
    try:
        packed = packing.pack(numbers, 2)
    except rnncheck.ModelError:
        assert np.abs(numbers).max() >= 2**53
    else:
        assert np.array_equal(packing.unpack(packed), numbers)


def keeps_its_own_state() -> Any:
    """A step that ignores the states it is given, as a module with a state inside does."""
    kept = {"state": np.zeros((1, 6))}

    def forward(states: np.ndarray, letters: np.ndarray) -> np.ndarray:
        if not states.any():  # a new word
            kept["state"] = np.zeros((len(letters), 6))
        kept["state"] = np.tanh(INPUT[letters] + kept["state"][: len(letters)] @ LOOP)
        return kept["state"].copy()

    return initial, forward, score


def at_random() -> Any:
    rng = np.random.default_rng(0)
    return initial, lambda states, letters: step(states, letters) + rng.normal(size=states.shape), score


def growing() -> Any:
    return initial, lambda states, letters: np.concatenate([states, states], axis=1), lambda states: states[:, 0]


REFUSED = [
    (*keeps_its_own_state(), "keep nothing for itself"),
    (*at_random(), "must always give the same answer"),
    (*growing(), "grows with the word"),
    (lambda rows: 3, step, score, "a state is made of numpy arrays"),
    (lambda rows: np.zeros(6), step, score, "one axis must have one place for each row"),
    (lambda rows: [], step, score, "initial returns no array"),
    (lambda rows: np.zeros((rows, 6), np.float32), step, score, "is float32 in initial and float64 after a step"),
    (lambda rows: np.arange(rows * 6.0).reshape(rows, 6), step, score, "every word must begin in the same state"),
    (initial, lambda states, letters: (states, states), score, "an array in initial and a tuple after a step"),
    (initial, step, lambda states: states, "must return one number for each"),
    (initial, step, lambda states: states @ HEAD * np.nan, "empty=False"),
    (initial, step, lambda states: np.where(states[:, 0] == 0, 1.0, np.inf), "return finite numbers"),
    (initial, lambda states, letters: 1 / 0, score, "step raised ZeroDivisionError"),
]


@pytest.mark.parametrize(("first", "then", "last", "message"), REFUSED)
def test_refused_with_the_reason(first: Any, then: Any, last: Any, message: str) -> None:
    with pytest.raises(rnncheck.ModelError, match=message):
        rnncheck.wrap_steps(first, then, last, AB)


def test_rows_that_influence_one_another_are_stepped_alone() -> None:
    """Should take the word alone for what is meant, and say so."""
    model = rnncheck.wrap_steps(initial, lambda s, x: step(s, x) + (s - s.mean(axis=0)), score, AB)
    words = all_words(6)
    assert model.accepts_batch(words).tolist() == [by_hand(word) for word in words]
    assert "rows of one call influence one another" in model.describe()["notes"][0]
    assert model.by_reference() is model


def test_rows_given_back_in_another_order_are_stepped_alone() -> None:
    model = rnncheck.wrap_steps(initial, lambda s, x: step(s, x)[::-1], score, AB)
    words = all_words(6)
    assert model.accepts_batch(words).tolist() == [by_hand(word) for word in words]


def whole(words: list[tuple[str, ...]]) -> list[float]:
    found = []
    for word in words:
        state = np.zeros(6)
        for letter in word:
            state = np.tanh(INPUT[AB.index(letter)] + state @ LOOP)
        found.append(float(state @ HEAD - 0.1))
    return found


def test_whole_words_are_the_reference() -> None:
    asked = []

    def recorded(words: list[tuple[str, ...]]) -> list[float]:
        asked.extend(words)
        return whole(words)

    model = rnncheck.wrap_steps(initial, step, score, AB, whole_words=recorded)
    assert model.describe()["self_check"]["whole_words"] == 19
    asked.clear()
    verdict = rnncheck.verify(model, rnncheck.Spec.from_regex("a*", alphabet=AB))
    assert verdict.violated
    assert verdict.counterexample in asked  # confirmed by the function of whole words


@pytest.mark.parametrize("kind", [float, bool])
def test_steps_of_another_model_are_refused(kind: type) -> None:
    """Should compare the steps with whole words, whether these give numbers or answers."""
    spoilt = lambda words: [kind(-value if kind is float else value <= 0) for value in whole(words)]  # noqa: E731
    with pytest.raises(rnncheck.ModelError, match="not the same model"):
        rnncheck.wrap_steps(initial, step, score, AB, whole_words=spoilt)
    right = lambda words: [kind(value if kind is float else value > 0) for value in whole(words)]  # noqa: E731
    assert rnncheck.wrap_steps(initial, step, score, AB, whole_words=right).accepts(("a", "b")) == by_hand(("a", "b"))


def test_a_difference_that_the_check_missed_is_found_by_the_audit() -> None:
    """Should not call satisfied what the whole words refute: one word in a thousand is answered otherwise."""

    def treats_one_apart(words: list[tuple[str, ...]]) -> list[bool]:
        return [word == ("a", "a", "a", "a") for word in words]

    model = rnncheck.wrap_steps(initial, step, lambda states: states[:, 0] * 0 - 1.0, AB, whole_words=treats_one_apart)
    verdict = rnncheck.verify(model, rnncheck.Spec.from_regex(".*b.*", alphabet=AB), timeout=60)
    assert verdict.violated
    assert verdict.counterexample == ("a",) * 4


def test_yes_and_no_are_scores() -> None:
    model = rnncheck.wrap_steps(lambda rows: np.zeros(rows, np.int64), lambda s, x: (s + x) % 3, lambda s: s == 0, AB)
    for word in all_words(7):
        assert model.accepts(word) == (word.count("b") % 3 == 0)


def test_the_empty_word_is_what_is_said() -> None:
    for empty in (True, False):
        model = rnncheck.wrap_steps(initial, step, score, AB, empty=empty)
        assert model.accepts(()) is empty
        assert model.reference_answer(()) is empty


def test_no_more_than_batch_size_rows_a_call() -> None:
    seen = []

    def counted(states: np.ndarray, letters: np.ndarray) -> np.ndarray:
        seen.append(len(letters))
        return step(states, letters)

    model = rnncheck.wrap_steps(initial, counted, score, AB, batch_size=5)
    words = all_words(5)
    assert model.accepts_batch(words).tolist() == [by_hand(word) for word in words]
    assert max(seen) == 5
    assert model.step(model.initial(0), np.zeros(0, np.int64)).shape == (0, 6)


@pytest.mark.parametrize(
    ("options", "message"), [({"batch_size": 0}, "batch size 0"), ({"max_length": 1}, "max_length 1")]
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(rnncheck.InputError, match=message):
        rnncheck.wrap_steps(initial, step, score, AB, **options)
    with pytest.raises(rnncheck.InputError, match="give a function"):
        rnncheck.wrap_steps(initial, 3, score, AB)


def test_words_longer_than_max_length_are_never_stepped() -> None:
    model = rnncheck.wrap_steps(
        lambda rows: np.zeros((rows, 1)),
        lambda s, x: s + 1,
        lambda s: np.where(s[:, 0] > 4, np.nan, -1.0),
        AB,
        max_length=4,
    )
    assert rnncheck.verify(model, rnncheck.Spec.from_regex("$no", alphabet=AB, definitions={"no": "a & b"})).satisfied


def test_torch_states_with_the_words_on_the_second_axis() -> None:
    """Should step a PyTorch LSTM by its own states: layers × words × hidden."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    lstm, head, embedding = torch.nn.LSTM(3, 5, num_layers=2), torch.nn.Linear(5, 1), torch.nn.Embedding(2, 3)

    def forward(states: Any, letters: Any) -> Any:
        return lstm(embedding(letters)[None], states)[1]

    model = rnncheck.wrap_steps(
        lambda rows: (torch.zeros(2, rows, 5), torch.zeros(2, rows, 5)), forward, lambda s: head(s[0][-1])[:, 0], AB
    )
    words = all_words(6)[1:]
    with torch.no_grad():
        ids = [torch.tensor([AB.index(letter) for letter in word]) for word in words]
        expected = [float(head(lstm(embedding(row))[0][-1])) for row in ids]
    assert np.allclose(model.scores_batch(words), expected, atol=1e-5)
    assert model.accepts_batch(WordBatch.from_codes([[0, 1]])).tolist() == [model.accepts(("a", "b"))]
    assert model.describe()["state"] == "20 numbers in 2 arrays (torch.float32)"


def test_arrays_of_a_dictionary_are_told_by_their_keys() -> None:
    """Should not depend on the order in which a step puts them together."""
    packing = Packing(*({"h": np.zeros((rows, 2)), "c": np.zeros((rows, 2))} for rows in (2, 3)))
    state = {"c": np.ones((4, 2)), "h": np.zeros((4, 2))}
    again = packing.unpack(packing.pack(state, 4))
    assert {name: value.mean() for name, value in again.items()} == {"h": 0.0, "c": 1.0}


@pytest.mark.parametrize(
    "after",
    [
        {"h": np.zeros((4, 2)), "d": np.zeros((4, 2)), "e": None},
        {"h": None, "c": np.zeros((4, 2)), "e": np.zeros((4, 2))},
        {"h": np.zeros((4, 2)), "c": [np.zeros((4, 2))], "e": None},
        (np.zeros((4, 2)), np.zeros((4, 2)), None),
        np.zeros((4, 2)),
    ],
)
def test_a_state_of_another_make_is_refused(after: Any) -> None:
    """Should not put arrays in each other's places."""
    packing = Packing(*({"h": np.zeros((rows, 2)), "c": np.zeros((rows, 2)), "e": None} for rows in (2, 3)))
    with pytest.raises(rnncheck.RnncheckError, match="return the same arrays"):
        packing.pack(after, 4)


def test_no_words_at_all_are_packed_too() -> None:
    packing = Packing(*({"h": np.zeros((rows, 2)), "c": np.zeros((3, rows, 2))} for rows in (2, 3)))
    again = packing.unpack(packing.pack({"h": np.zeros((0, 2)), "c": np.zeros((3, 0, 2))}, 0))
    assert [value.shape for value in again.values()] == [(0, 2), (3, 0, 2)]
