"""What every model promises. To put a new kind of model under the contract, add a line to MODELS."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.automata.label_specs import PairAlphabet
from rnncheck.errors import AlphabetError, InputError
from rnncheck.models.adapters import DFAModel, complement
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.labelled import LabelledNetwork
from rnncheck.models.network import Cell
from rnncheck.models.protocol import Model, SteppingModel, resolve_near_threshold
from rnncheck.models.traces import TraceModel
from rnncheck.oracle import MembershipOracle
from rnncheck.spec import Spec
from rnncheck.words import Codes, Word, WordBatch
from support.networks import letters, random_network
from support.paths import RELEASED


def network(cell: Cell, **options: object) -> Callable[[], Model]:
    return lambda: CompiledNetwork(random_network(cell, (6, 5), scale=2.0, seed=3, **options))


def automaton() -> DFAModel:
    """Words with as many a as b, counted modulo 4; c changes nothing."""
    table = [[(q + 1) % 4, (q - 1) % 4, q] for q in range(4)]
    return DFAModel(DFA(letters(3), table, [True, False, False, False]))


def even_word(words: list[Word]) -> list[bool]:
    return [len(word) % 2 == 0 for word in words]


def share_of_a(words: list[Word]) -> list[float]:
    return [word.count("a") / (1 + len(word)) for word in words]


MODELS: dict[str, Callable[[], Model]] = {
    **{cell.value: network(cell) for cell in Cell},
    **{f"{cell.value}, with padding": network(cell, padding=True) for cell in Cell},
    "rnn_relu, without bias": network(Cell.RNN_RELU, bias=False),
    "lstm, one label of three": network(Cell.LSTM, outputs=3, label=2),
    "lstm, double precision": lambda: CompiledNetwork(random_network(Cell.LSTM, (6,), seed=3), dtype=np.float64),
    "lstm, threshold 0.6": network(Cell.LSTM, threshold=0.6),
    "automaton": automaton,
    "complement of an automaton": lambda: complement(automaton()),
    "complement of a network": lambda: complement(network(Cell.GRU)()),
    "function": lambda: CallableModel(even_word, letters(3)),
    "function with scores": lambda: CallableModel(share_of_a, letters(3), threshold=0.3),
    "complement of a function": lambda: complement(CallableModel(even_word, letters(3))),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Model:
    return MODELS[request.param]()


@pytest.fixture(scope="module")
def stepping(model: Model) -> SteppingModel:
    if not isinstance(model, SteppingModel):
        pytest.skip("is a black box")
    return model


def some_words(model: Model, count: int, longest: int, seed: int = 0) -> list[Codes]:
    rng = np.random.default_rng(seed)
    lengths = np.arange(count) % (longest + 1)
    return [tuple(rng.integers(len(model.alphabet), size=length).tolist()) for length in lengths]


def check_batches(model: Model, words: list[Codes], sizes: tuple[int, ...]) -> None:
    """In shuffled batches of every size, the answers are those of the definition, a word at a time."""
    batch = WordBatch.from_codes(words)
    expected = np.array([model.reference_answer(word) for word in words])
    rng = np.random.default_rng(1)
    for size in sizes:
        answers = np.empty(len(words), dtype=np.bool_)
        for part in np.array_split(rng.permutation(len(words)), -(-len(words) // size)):
            answers[part] = model.accepts_batch(batch.take(part))
        assert np.flatnonzero(answers != expected).tolist() == []


def test_answers_are_the_definitions_whatever_the_batch(model: Model) -> None:
    check_batches(model, some_words(model, 150, 30), (1, 7, 150))


@pytest.mark.slow
def test_answers_are_the_definitions_on_many_long_words(model: Model) -> None:
    check_batches(model, some_words(model, 2107, 300), (1, 7, 256))


@pytest.mark.slow
@pytest.mark.skipif(not RELEASED.is_dir(), reason=f"the released networks are not at {RELEASED}")
@pytest.mark.parametrize("folder", sorted(RELEASED.glob("*/*")), ids=lambda folder: folder.name)
def test_released_networks(folder: Path) -> None:
    pytest.importorskip("torch")
    from rnncheck.models.files.released_folder import load_released

    model = CompiledNetwork(load_released(folder))
    words = some_words(model, 2107, 300)
    batch = WordBatch.from_codes(words)
    scores = model.scores_batch(batch)
    # The definition of long words in such numbers takes minutes: it is asked for some, and PyTorch for all.
    check_batches(model, words[:: len(words) // 100], (1, 7, 100))
    np.testing.assert_allclose(scores, by_torch(model, words), atol=model.margin)
    for size in (1, 7, 256):
        part = batch.take(np.random.default_rng(size).permutation(len(batch))[: 60 * size])
        np.testing.assert_array_equal(model.accepts_batch(part), MembershipOracle(model).answers(part))


def by_torch(model: CompiledNetwork, words: list[Codes]) -> np.ndarray:
    from support.networks import ByTorch

    judge = ByTorch(model.network)
    longest = max(map(len, words))
    padded = np.array([word + (0,) * (longest - len(word)) for word in words])
    outputs = np.concatenate([judge.outputs(part) for part in np.array_split(padded, 20)])
    return np.array([outputs[i, len(word) - 1, 0] if word else judge(word).score for i, word in enumerate(words)])


def test_letters_and_positions_are_the_same_words(model: Model) -> None:
    words = some_words(model, 20, 6)
    decoded = [model.alphabet.decode(word) for word in words]

    assert model.accepts_batch(decoded).tolist() == model.accepts_batch(WordBatch.from_codes(words)).tolist()
    assert [model.accepts(word) for word in decoded] == model.accepts_batch(decoded).tolist()
    assert model.accepts_batch(decoded).dtype == np.bool_


def test_no_words_and_the_empty_word(model: Model) -> None:
    assert model.accepts_batch([]).shape == (0,)
    assert model.accepts_batch(WordBatch.from_codes([])).dtype == np.bool_
    assert model.accepts([]) == model.reference_answer(()) == model.accepts_batch([["a"], []])[1]


def test_bad_words_are_refused(model: Model) -> None:
    with pytest.raises(AlphabetError, match="'z'"):
        model.accepts(["a", "z"])
    with pytest.raises(AlphabetError):
        model.accepts_batch(WordBatch([len(model.alphabet)], [0, 1]))
    for call in (lambda: model.accepts("ab"), lambda: model.accepts_batch("ab")):
        with pytest.raises(InputError):
            call()


def test_scores_have_the_sign_of_the_answers(model: Model) -> None:
    batch = WordBatch.from_codes(some_words(model, 60, 12))
    scores = model.scores_batch(batch)
    if scores is None:
        return
    clear = np.abs(scores) > getattr(model, "margin", 1e-3)

    assert scores.shape == (60,)
    np.testing.assert_array_equal((scores > 0)[clear], model.accepts_batch(batch)[clear])


def test_description_is_json_and_says_how_it_is_asked(model: Model) -> None:
    facts = json.loads(json.dumps(model.describe()))
    while "of" in facts:
        facts = facts["of"]
    assert isinstance(facts["queries"], str)


def test_the_complement_says_the_opposite(model: Model) -> None:
    batch = WordBatch.from_codes(some_words(model, 40, 8))
    opposite = complement(model)

    np.testing.assert_array_equal(opposite.accepts_batch(batch), ~model.accepts_batch(batch))
    assert isinstance(opposite, SteppingModel) == isinstance(model, SteppingModel)
    assert complement(opposite) is model or opposite is getattr(model, "inner", None)


def test_the_oracle_gives_the_models_answers(model: Model) -> None:
    words = [word for n in range(4) for word in itertools.product(range(len(model.alphabet)), repeat=n)]
    expected = [model.reference_answer(word) for word in words]
    oracle = MembershipOracle(model)

    assert oracle.ask([(word[: len(word) // 2], word[len(word) // 2 :]) for word in words]).tolist() == expected
    assert MembershipOracle(model).answers(words).tolist() == expected
    assert oracle.cost.membership_queries == len(words)


def test_stepping_gives_the_answers(stepping: SteppingModel) -> None:
    words = [word for word in some_words(stepping, 60, 9) if word]
    batch = WordBatch.from_codes(words)
    states, scores = stepping.initial(len(words)), np.zeros(len(words))
    for t in range(9):
        running = np.array([i for i, word in enumerate(words) if len(word) > t])
        before = states.copy()
        after = stepping.step(states, np.array([words[i][t] for i in running]), running)
        np.testing.assert_array_equal(states, before)
        states[running] = after
        scores[running] = stepping.scores(after)

    answers = resolve_near_threshold(scores, stepping.margin, words.__getitem__, stepping.reference_answer)

    np.testing.assert_array_equal(answers, stepping.accepts_batch(batch))


def test_prefix_scores_are_aligned_and_watched(stepping: SteppingModel) -> None:
    words = some_words(stepping, 40, 11)
    batch = WordBatch.from_codes(words)
    prefixes = WordBatch.from_codes(word[:end] for word in words for end in range(1, len(word) + 1))
    rows: list[int] = []

    scores = stepping.prefix_scores(batch, rows.append)

    np.testing.assert_allclose(scores, stepping.scores_batch(prefixes), atol=1e-5)
    assert sum(rows) == len(batch.codes)
    assert stepping.prefix_scores(WordBatch.from_codes([(), ()])).shape == (0,)


def test_the_empty_word_of_a_stepping_model(stepping: SteppingModel) -> None:
    assert stepping.accepts([]) == stepping.accepts_empty
    assert stepping.scores_batch([[]]).tolist() == [stepping.empty_score]


def test_steps_refuse_letters_outside_the_alphabet(stepping: SteppingModel) -> None:
    for letter in (-1, len(stepping.alphabet)):
        with pytest.raises(AlphabetError):
            stepping.step(stepping.initial(1), np.array([letter]))


def test_one_state_may_be_continued_by_several_letters(stepping: SteppingModel) -> None:
    count = len(stepping.alphabet)
    after = stepping.step(stepping.initial(1), np.arange(count), np.zeros(count, dtype=np.int64))

    np.testing.assert_allclose(after, stepping.step(stepping.initial(count), np.arange(count)), atol=1e-6)


def test_a_model_that_takes_so_many_letters_says_so_in_every_guise(model: Model) -> None:
    """Should be known to the reference, the opposite, and what tells labels and traces apart."""
    inner = copy.copy(getattr(model, "inner", model))
    inner.max_length = 6
    limited = complement(inner) if hasattr(model, "inner") else inner
    guises = [limited.by_reference(), complement(limited), complement(limited).by_reference()]
    if isinstance(limited, CompiledNetwork):
        labelled = LabelledNetwork.of(limited)
        trace = TraceModel(labelled, Spec.from_regex(".*", PairAlphabet(labelled.alphabet, labelled.labels).pairs).dfa)
        guises += [limited.with_threads(2), limited.for_label(limited.network.label), labelled, trace]
        guises += [labelled.by_reference(), trace.by_reference()]
    assert [guise.max_length for guise in guises] == [6] * len(guises)
