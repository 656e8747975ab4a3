"""The compiled network answers as the original does, whatever the batch, the threads and the precision."""

from __future__ import annotations

import dataclasses
import itertools
import json
import pickle
import time
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from rnncheck.errors import AlphabetError, InputError, ModelError
from rnncheck.models.engine import batch_state as engine_rows
from rnncheck.models.engine import compiled, kernel_rows
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.kernel import SWITCH
from rnncheck.models.engine.reference import Judgement, reference_judgement, reference_prefix_scores, reference_score
from rnncheck.models.engine.stepped_reference import SteppedReference
from rnncheck.models.engine.threads import Workers, single_threaded_blas
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.models.protocol import resolve_near_threshold
from rnncheck.words import Codes, WordBatch
from support.networks import ByTorch, letters, random_network

LONGEST = 300
WORDS = 2000


def random_words(rng: np.random.Generator, count: int, letter_count: int, longest: int = LONGEST) -> list[Codes]:
    """Lengths from 0 to ``longest``, each about as often."""
    lengths = rng.permutation(np.arange(count) % (longest + 1))
    return [tuple(rng.integers(letter_count, size=length).tolist()) for length in lengths]


def batches(rng: np.random.Generator, count: int, alone: int, sevens: int) -> list[np.ndarray]:
    """The numbers below ``count``, shuffled, in batches of 1, of 7 and of 256."""
    sizes = [1] * alone + [7] * sevens
    sizes += [256] * ((count - sum(sizes)) // 256)
    order = rng.permutation(count)
    return [part for part in np.split(order, np.cumsum(sizes)) if len(part)]


def torch_judgements(judge: ByTorch, words: list[Codes]) -> list[Judgement]:
    """PyTorch's judgement of each word; where a batch leaves doubt, of the word alone."""
    padded = np.zeros((len(words), max(map(len, words))), dtype=np.int64)
    for row, word in zip(padded, words, strict=True):
        row[: len(word)] = word
    outputs = judge.outputs(padded)
    found = [judge.judgement(outputs[i, len(word) - 1]) if word else judge(word) for i, word in enumerate(words)]
    return [judge(word) if abs(known.score) < 1e-4 else known for word, known in zip(words, found, strict=True)]


SHAPES = [
    (cell, layers, bias, outputs)
    for cell, layers, bias, outputs in itertools.product(Cell, (1, 2, 3), (True, False), (1, 3))
    if layers < 3 or (bias and outputs == 1)
]


@pytest.mark.parametrize("count", [250, pytest.param(WORDS, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("cell", "layers", "bias", "outputs"), SHAPES)
def test_answers_are_pytorchs(cell: Cell, layers: int, bias: bool, outputs: int, count: int) -> None:
    """No difference on so many words of 0 to 300 letters, in shuffled batches, in both precisions."""
    network = random_network(cell, (7,) * layers, bias=bias, outputs=outputs, padding=bias, seed=layers)
    judge = ByTorch(network)
    rng = np.random.default_rng(5)
    words = random_words(rng, count, len(network.alphabet))
    judgements = torch_judgements(judge, words)
    expected = np.array([judgement.accepted for judgement in judgements])
    scores = np.array([judgement.score for judgement in judgements])
    batch = WordBatch.from_codes(words)
    model = CompiledNetwork(network, reference=judge)
    answers = np.empty(count, dtype=np.bool_)
    for part in batches(rng, count, alone=5, sevens=5):
        answers[part] = model.accepts_batch(batch.take(part))
    assert np.flatnonzero(answers != expected).tolist() == []
    np.testing.assert_allclose(model.scores_batch(batch), scores, atol=2e-5)
    double = CompiledNetwork(network, dtype=np.float64, reference=judge)
    assert np.flatnonzero(double.accepts_batch(batch) != expected).tolist() == []


@pytest.mark.slow
@pytest.mark.parametrize("cell", Cell)
def test_answers_are_pytorchs_in_every_batch_size(cell: Cell) -> None:
    network = random_network(cell, (16, 16), seed=9)
    judge = ByTorch(network)
    rng = np.random.default_rng(6)
    words = random_words(rng, WORDS, len(network.alphabet))
    expected = np.array([judgement.accepted for judgement in torch_judgements(judge, words)])
    model = CompiledNetwork(network, reference=judge)
    batch = WordBatch.from_codes(words)
    for size in (1, 7, 256):
        order = rng.permutation(WORDS)
        answers = np.empty(WORDS, dtype=np.bool_)
        for part in np.array_split(order, -(-WORDS // size)):
            answers[part] = model.accepts_batch(batch.take(part))
        assert np.flatnonzero(answers != expected).tolist() == []


@pytest.mark.parametrize("cell", Cell)
@pytest.mark.parametrize("outputs", [1, 3])
def test_reference_is_pytorchs(cell: Cell, outputs: int) -> None:
    """The plain definition agrees with PyTorch on words alone, in the precision of the weights."""
    for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-12)):
        network = random_network(cell, (6, 6), outputs=outputs, padding=True, dtype=dtype, seed=3)
        judge = ByTorch(network)
        for word in random_words(np.random.default_rng(0), 40, len(network.alphabet), longest=39):
            score, accepted = reference_judgement(network, word)
            assert score == pytest.approx(judge(word).score, abs=tolerance)
            assert accepted == (score > 0)
            assert reference_score(network, word) == score


def test_prefix_scores_of_the_reference_are_those_of_the_prefixes_alone() -> None:
    network = random_network(Cell.GRU, (5, 4))
    word = (0, 1, 2, 2, 1, 0, 0)

    alone = [reference_score(network, word[:end]) for end in range(1, len(word) + 1)]

    assert reference_prefix_scores(network, word) == alone


@pytest.mark.parametrize("cell", Cell)
@pytest.mark.parametrize("hidden", [(1,), (1, 1), (5, 9, 3), (40,)])
def test_layers_of_different_sizes(cell: Cell, hidden: tuple[int, ...]) -> None:
    network = random_network(cell, hidden, inputs=1, seed=4)
    model = CompiledNetwork(network)
    words = random_words(np.random.default_rng(1), 30, 3, longest=29)

    expected = [reference_score(network, word) for word in words]

    np.testing.assert_allclose(model.scores_batch(WordBatch.from_codes(words)), expected, atol=1e-5)


SMALL = random_network(Cell.LSTM, (5, 4), seed=8)
ON_THREADS = [CompiledNetwork(SMALL, threads=threads) for threads in (1, 2)]


@settings(deadline=None, max_examples=50)
@given(
    words=st.lists(st.lists(st.integers(0, 2), max_size=12).map(tuple), max_size=12), model=st.sampled_from(ON_THREADS)
)
def test_prefix_scores_and_steps_agree(words: list[Codes], model: CompiledNetwork) -> None:
    batch = WordBatch.from_codes(words)
    rows: list[int] = []

    scores = model.prefix_scores(batch, rows.append)

    expected = [reference_score(SMALL, word[:end]) for word in words for end in range(1, len(word) + 1)]
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert sum(rows) == len(batch.codes)
    states = model.initial(len(words))
    for t in range(max(map(len, words), default=0)):
        running = [i for i, word in enumerate(words) if len(word) > t]
        states[running] = model.step(states[running], np.array([words[i][t] for i in running]))
        at = batch.offsets[:-1][running] + t
        np.testing.assert_allclose(model.scores(states)[running], scores[at], atol=1e-6)


def test_rows_continue_chosen_states_and_leave_them_alone() -> None:
    model = CompiledNetwork(SMALL)
    states = model.step(model.initial(3), np.array([0, 1, 2]))
    before = states.copy()
    rows, read = np.array([2, 0, 2, 2]), np.array([1, 1, 0, 2])

    after = model.step(states, read, rows)

    np.testing.assert_array_equal(states, before)
    np.testing.assert_allclose(after, model.step(states[rows], read), rtol=1e-6)
    assert len(model.step(states, np.array([], dtype=np.int64), np.array([], dtype=np.int64))) == 0


@pytest.mark.parametrize("hidden", [(24,), (24, 24), (90, 40)])
@pytest.mark.parametrize("cell", [Cell.LSTM, Cell.GRU])
def test_not_a_bit_depends_on_threads(monkeypatch: pytest.MonkeyPatch, cell: Cell, hidden: tuple[int, ...]) -> None:
    monkeypatch.setattr(engine_rows, "_PIECE_PRODUCTS", 1)  # split even the smallest work
    for module in (engine_rows, kernel_rows):
        monkeypatch.setattr(module, "TOO_LITTLE_TO_SPLIT", 1)
    network = random_network(cell, hidden, seed=2)
    words = WordBatch.from_codes(random_words(np.random.default_rng(3), 400, 3, longest=60))
    models = [CompiledNetwork(network, threads=threads) for threads in (1, 2, 3)]
    for model in models:
        monkeypatch.setattr(model._rows, "_block_rows", 96, raising=False)  # the kernel has none
    before = models[0].step(models[0].initial(300), np.arange(300) % 3)
    siblings = np.repeat(np.arange(300), 3), np.tile(np.arange(3), 300)

    for few in (words, words.take(np.arange(100))):
        scores = [model.prefix_scores(few) for model in models]
        np.testing.assert_array_equal(scores[1], scores[0])
        np.testing.assert_array_equal(scores[2], scores[0])
    states = [model.step(before, siblings[1], siblings[0]) for model in models]
    np.testing.assert_array_equal(states[1], states[0])
    np.testing.assert_array_equal(states[2], states[0])


@pytest.mark.parametrize("cell", list(Cell))
@pytest.mark.parametrize("hidden", [(7,), (7, 5), (6, 6, 4)])
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_siblings_are_stepped_as_if_each_were_alone(cell: Cell, hidden: tuple[int, ...], data: st.DataObject) -> None:
    """What is computed once for all letters that continue a state is what each would have computed."""
    model = CompiledNetwork(random_network(cell, hidden, seed=5))
    count = data.draw(st.integers(1, 6))
    states = model.initial(count)
    for _ in range(2):
        states = model.step(states, np.array(data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))))
    rows = np.array(data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=30).map(sorted)))
    read = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))))

    together = model.step(states, read, rows)

    alone = np.concatenate(
        [model.step(states[row][None], letter[None]) for row, letter in zip(rows, read, strict=True)]
    )
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-6)


def on_the_threshold() -> RecurrentNetwork:
    """Two copies of one network, the second with its units shuffled, whose outputs are subtracted.

    Every score is zero but for rounding, so its sign is noise.
    """
    half = random_network(Cell.RNN_TANH, (24,), scale=2.0, seed=12)
    (layer,) = half.layers
    shuffled = np.random.default_rng(0).permutation(24)
    both = np.zeros((48, 48), dtype=np.float32)
    both[:24, :24] = layer.recurrent_weight
    both[24:, 24:] = layer.recurrent_weight[np.ix_(shuffled, shuffled)]
    double = [np.concatenate([part, part[shuffled]]) for part in (layer.input_weight, layer.input_bias)]
    recurrent_bias = np.concatenate([layer.recurrent_bias, layer.recurrent_bias[shuffled]])
    head = np.concatenate([half.head_weight, -half.head_weight[:, shuffled]], axis=1)
    layers = (Layer(double[0], both, double[1], recurrent_bias),)
    return dataclasses.replace(half, layers=layers, head_weight=head, head_bias=np.zeros(1, np.float32))


def test_answers_on_the_threshold_are_the_definitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounding decides, and numpy's depends on the batch. Answers must not."""
    monkeypatch.setenv(SWITCH, "off")
    network = on_the_threshold()
    model = CompiledNetwork(network)
    rng = np.random.default_rng(4)
    batch = WordBatch.from_codes(tuple(rng.integers(3, size=1 + n % 30).tolist()) for n in range(100))
    expected = np.array([reference_judgement(network, word).accepted for word in batch])
    scores = model.scores_batch(batch)

    assert 0.1 < expected.mean() < 0.9
    assert 0 < np.abs(scores).max() <= model.margin
    answers_by_sign = set()
    for size in (1, 2, 7, 100):
        for part in np.array_split(rng.permutation(len(batch)), -(-len(batch) // size)):
            some = batch.take(part)
            np.testing.assert_array_equal(model.accepts_batch(some), expected[part])
            answers_by_sign |= set(zip(part.tolist(), (model.scores_batch(some) > 0).tolist(), strict=True))
    assert len(answers_by_sign) > len(batch), "signs alone would do, so this test could not fail"


def test_a_network_that_is_always_undecided() -> None:
    network = random_network(Cell.GRU, (4,))
    network = dataclasses.replace(
        network, head_weight=np.zeros_like(network.head_weight), head_bias=np.zeros(1, np.float32)
    )

    assert not CompiledNetwork(network).accepts_batch([["a"], ["b", "a"], []]).any()


@pytest.mark.parametrize(("label", "accepted"), [(0, True), (1, False)])
def test_the_first_of_equal_outputs_wins(label: int, accepted: bool) -> None:
    network = random_network(Cell.RNN_TANH, (4,), outputs=2, label=label)
    twins = np.repeat(network.head_weight[:1], 2, axis=0)
    network = dataclasses.replace(network, head_weight=twins, head_bias=np.zeros(2, np.float32))

    model = CompiledNetwork(network)

    assert model.accepts_batch([["a"], [], ["a", "b"]]).tolist() == [accepted] * 3


def test_threshold_moves_the_decision() -> None:
    word = ["a", "b"]
    output = reference_score(SMALL, SMALL.alphabet.encode(word))
    probability = 1 / (1 + np.exp(-output))
    for threshold in (probability - 0.01, probability + 0.01):
        model = CompiledNetwork(dataclasses.replace(SMALL, threshold=threshold))
        assert model.accepts(word) == (probability > threshold)


def test_the_empty_word_is_judged_on_the_padding_vector_or_the_initial_state() -> None:
    plain = random_network(Cell.LSTM, (6,), seed=1)
    padded = dataclasses.replace(plain, padding=plain.inputs[1])

    assert CompiledNetwork(plain).empty_score == pytest.approx(float(plain.head_bias[0]))
    assert CompiledNetwork(padded).empty_score == pytest.approx(reference_score(plain, (1,)))
    for network in (plain, padded):
        model = CompiledNetwork(network)
        assert model.accepts([]) == model.accepts_empty == (model.empty_score > 0)
        assert model.scores_batch([[]])[0] == model.empty_score


def doubling(start: float) -> RecurrentNetwork:
    """``h = relu(2 h + start)``: twice as much with every letter, until it overflows."""
    one = np.ones((1, 1), dtype=np.float32)
    layer = Layer(one * np.float32(start), one * 2)
    return RecurrentNetwork(letters(1), Cell.RNN_RELU, one, (layer,), one, np.zeros(1, np.float32))


def test_overflow_is_an_error_that_names_the_word() -> None:
    model = CompiledNetwork(doubling(1e-3), margin=1e30)  # 2¹²⁸ overflows; the self-check's 100 letters do not
    assert model.accepts(["a"] * 120)
    with pytest.raises(ModelError, match=r"outputs .*inf.* on the word 'a a a .* \(160 letters\)"):
        model.accepts(["a"] * 160)
    with pytest.raises(ModelError, match="150 letters"):
        model.reference_answer((0,) * 150)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("cell", Cell)
def test_the_reference_of_many_words_is_that_of_each(cell: Cell, outputs: int) -> None:
    words = [(), (1,), (0, 2, 1, 1, 0, 2), (), (2, 2), (1,), *itertools.product(range(3), repeat=4)]
    accepted = []
    for seed in range(8):
        network = random_network(cell, hidden=(3, 2), outputs=outputs, padding=True, scale=3.0, seed=seed)
        answers = SteppedReference(network).accepts_batch(WordBatch.from_codes(words))
        assert answers.dtype == np.bool_
        assert answers.tolist() == [reference_judgement(network, word).accepted for word in words]
        accepted += answers.tolist()
    assert len(accepted) / 10 < sum(accepted) < len(accepted) * 9 / 10  # so both answers were compared


def test_the_reference_of_many_words_names_the_first_that_overflows() -> None:
    words = WordBatch.from_codes([(), (0,), (0,) * 300, (0,) * 400])
    with pytest.raises(ModelError, match=r"outputs .* \(300 letters\), which is no answer"):
        SteppedReference(doubling(1e-3)).accepts_batch(words)


def test_overflow_within_the_self_check_refuses_the_network() -> None:
    with pytest.raises(ModelError, match="on the word 'a a"):
        CompiledNetwork(doubling(1e20))


def test_a_definition_that_differs_is_refused_with_the_word_and_both_scores() -> None:
    def other(word: Codes) -> Judgement:
        score = reference_score(SMALL, word) + (0.5 if len(word) > 50 else 0.0)
        return Judgement(score, score > 0)

    with pytest.raises(ModelError, match=r"on the word '[abc ]+' the stepped network scores -?\d.* its reference"):
        CompiledNetwork(SMALL, reference=other)


def test_a_wrongly_compiled_network_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The self-check sees a single wrong weight."""
    monkeypatch.setenv(SWITCH, "off")
    arrange = compiled.compile_layers

    def broken(*arguments: object) -> object:
        layers: Any = arrange(*arguments)
        layers[0]._weights[0, 1, 0] += 0.1
        return layers

    monkeypatch.setattr(compiled, "compile_layers", broken)
    with pytest.raises(ModelError, match="its values depend on rounding"):
        CompiledNetwork(SMALL)


def test_the_margin_covers_what_the_self_check_saw() -> None:
    model = CompiledNetwork(SMALL)
    seen = model.self_check.largest_difference

    assert model.self_check.words > 800
    assert model.margin == max(compiled.MARGIN_FLOOR, compiled.MARGIN_FACTOR * seen)
    assert CompiledNetwork(SMALL, margin=0.25).margin == 0.25
    with pytest.raises(ModelError, match="give a larger margin"):
        CompiledNetwork(SMALL, margin=seen / 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": np.float16}, "choose float32 or float64"),
        ({"margin": -1.0}, "at least 0"),
        ({"margin": float("nan")}, "at least 0"),
        ({"threads": 0}, "at least 1"),
    ],
)
def test_bad_options_are_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CompiledNetwork(SMALL, **options)


def test_bad_letters_are_refused() -> None:
    model = CompiledNetwork(SMALL)
    for letter in (-1, 3):
        with pytest.raises(AlphabetError, match="3 letters"):
            model.step(model.initial(1), np.array([letter]))
        with pytest.raises(AlphabetError, match="3 letters"):
            model.prefix_scores(WordBatch([letter], [0, 1]))
    with pytest.raises(ModelError, match="2 letters for 3 states"):
        model.step(model.initial(3), np.array([0, 1]))


def test_stopping_a_run_midway() -> None:
    class Enough(Exception):  # noqa: N818
        pass

    model = CompiledNetwork(random_network(Cell.LSTM, (64,)), threads=2)
    words = WordBatch.from_codes([(0, 1, 2) * 30] * 500)
    calls = itertools.count()

    def tick(rows: int) -> None:
        if next(calls) > 20:
            raise Enough

    with pytest.raises(Enough):
        model.prefix_scores(words, tick)
    assert next(calls) < 30
    assert len(model.prefix_scores(words)) == len(words.codes)


def test_pickling_compiles_again() -> None:
    model = CompiledNetwork(SMALL, threads=1, margin=0.01)
    again = pickle.loads(pickle.dumps(model))

    assert again.describe() == model.describe()
    np.testing.assert_array_equal(again.initial(2), model.initial(2))


def test_describe_is_told_in_json() -> None:
    facts = json.loads(json.dumps(CompiledNetwork(SMALL, threads=2).describe()))

    assert facts["cell"] == "lstm"
    assert facts["hidden"] == [5, 4]
    assert facts["queries"].startswith("stepped, float32")
    assert facts["self_check"]["words"] > 800


def test_settle_asks_the_definition_where_scores_cannot_be_trusted() -> None:
    scores = np.array([2.0, -2.0, 0.5, -0.5, 0.0, np.nan, np.inf, -np.inf])
    asked: list[Codes] = []

    def reference_answer(word: Codes) -> bool:
        asked.append(word)
        return True

    answers = resolve_near_threshold(scores, 0.5, lambda i: (i,), reference_answer)

    assert answers.tolist() == [True, False, True, True, True, True, True, True]
    assert asked == [(2,), (3,), (4,), (5,), (6,), (7,)]


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_is_given_back_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    # Others may have loaded further libraries since they were counted; those that were there then are numpy's.
    monkeypatch.setattr(single_threaded_blas, "_libraries", None)
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with single_threaded_blas:
            with single_threaded_blas:
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
        with pytest.raises(ZeroDivisionError):
            Workers(2).run([lambda: 1 // 0])
        assert blas_threads() == before


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_workers_run_every_piece_and_raise_the_first_failure(threads: int) -> None:
    workers = Workers(threads)
    done: list[int] = []
    workers.run([partial(done.append, i) for i in range(50)])
    assert sorted(done) == list(range(50))

    def piece(i: int) -> None:
        if i == 5:
            raise KeyError(i)
        time.sleep(0.001)
        done.append(i)

    done.clear()
    with pytest.raises(KeyError):
        workers.run([partial(piece, i) for i in range(100_000)])  # a minute's work, were it not given up
    assert 5 not in done
    assert len(done) < 50_000
    workers.run([])


@pytest.mark.parametrize("cell", Cell)
def test_more_rows_than_a_block_in_a_tiny_network(cell: Cell) -> None:
    """However little there is to compute, a step takes any number of rows, and answers as it does row by row."""
    model = CompiledNetwork(random_network(cell, hidden=(3,)))
    codes = np.arange(5000) % 3
    at_once = model.scores(model.step(model.initial(5000), codes))
    few = model.scores(model.step(model.initial(3), np.arange(3)))
    assert np.allclose(at_once, few[codes], atol=1e-6)


def test_every_copy_takes_no_longer_words(monkeypatch: pytest.MonkeyPatch) -> None:
    model = CompiledNetwork(random_network(Cell.GRU, hidden=(3,)))
    model.max_length = 7
    assert pickle.loads(pickle.dumps(model)).max_length == 7
    monkeypatch.setattr(CompiledNetwork, "_compare_with_reference", None)  # it was compared already
    assert model.with_cache().max_length == 7
