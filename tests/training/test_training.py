"""Training: the curriculum, the batches, the network it makes, checkpoints; and whether anything is learned."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as safetensors_bytes

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError, MissingExtraError, ModelError
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.reference import reference_score
from rnncheck.models.files.safetensors_file import load_network, read_safetensors, save_network
from rnncheck.models.network import Cell, RecurrentNetwork
from rnncheck.probability.distributions import WordDistribution
from rnncheck.spec import Spec
from rnncheck.training import (
    Ending,
    EpochProgress,
    LabelledWords,
    TrainedNetwork,
    TrainingData,
    TrainingSettings,
    data_from_automaton,
    data_from_words,
    read_labelled_words,
    train,
    train_on_automaton,
    train_on_words,
)
from rnncheck.training.batches import UNKNOWN, Batch, Stage, prefix_answers, training_stage, whole_word_stage
from rnncheck.training.curriculum import Curriculum, EpochResult
from rnncheck.training.torch_network import AdamOptimizer, TorchNetwork
from rnncheck.words import Alphabet, WordBatch
from support.killing import STAGES, kill_inside_writes
from support.strategies import dfas

AB = Alphabet(["a", "b"])
EVEN_AS = DFA(AB, [[1, 0], [0, 1]], [True, False])
SMALL = TrainingSettings(hidden=8, epochs=6, batch_size=32, min_batches=1)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def small_data(dfa: DFA = EVEN_AS, count: int = 400) -> TrainingData:
    return data_from_automaton(dfa, rng(), distribution=WordDistribution(dfa.alphabet, stop=0.1), count=count)


# Settings


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"class_weights": "heavy"}, "balanced, none"),
        ({"class_weights": {"yes": 0}}, "class weight 0 of label 'yes'"),
        ({"hidden": 0}, "hidden 0 is not a whole number of at least 1"),
        ({"layers": 1.5}, "layers 1.5"),
        ({"epochs": True}, "epochs True"),
        ({"embedding": -1}, "embedding -1 is not a whole number of at least 0"),
        ({"learning_rate": 0.0}, "learning_rate 0.0 is not a positive number"),
        ({"learning_rate": math.nan}, "learning_rate nan"),
        ({"timeout": -1}, "timeout -1"),
        ({"max_length": 0}, "max_length 0"),
        ({"target_accuracy": 1.1}, "target_accuracy 1.1"),
        ({"cell": "lstm"}, "cell 'lstm' cannot be trained; choose Cell.RNN_TANH"),
    ],
)
def test_settings_refuse_what_makes_no_sense(wrong: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TrainingSettings(**wrong)


# The curriculum


def result(loss: float = 0.5, stage: float = 0.5, accuracy: float = 0.5, validation_loss: float = 0.5) -> EpochResult:
    return EpochResult(loss, stage, accuracy, validation_loss)


def test_learned_stages_lead_to_longer_words_up_to_the_longest() -> None:
    curriculum = Curriculum.begin(TrainingSettings(), shortest=1, longest=50)
    seen = []
    for _ in range(5):
        seen.append(curriculum.longest)
        curriculum = curriculum.after(result(stage=0.99), TrainingSettings())
    assert seen == [8, 16, 32, 50, 50]


@pytest.mark.parametrize(
    ("shortest", "longest", "limit", "lengths"),
    [
        (1, 5, None, (5,)),
        (1, 8, None, (8,)),
        (20, 90, None, (20, 40, 80, 90)),
        (1, 100, 12, (8, 12)),
        (9, 9, None, (9,)),
    ],
)
def test_stages(shortest: int, longest: int, limit: int | None, lengths: tuple[int, ...]) -> None:
    assert Curriculum.begin(TrainingSettings(max_length=limit), shortest, longest).lengths == lengths


def test_the_rate_falls_when_stuck_then_training_restarts_then_ends() -> None:
    chosen = TrainingSettings(patience=2, restarts=1, learning_rate=1.0, epochs=1_000)
    curriculum = Curriculum.begin(chosen, shortest=1, longest=8)
    rates: dict[int, set[float]] = {0: set(), 1: set()}
    while curriculum.ending(chosen, 0.0) is None:
        rates[curriculum.attempt].add(round(curriculum.learning_rate, 6))
        curriculum = curriculum.after(result(), chosen)
    assert curriculum.ending(chosen, 0.0) is Ending.STUCK
    assert rates[0] == rates[1] == {1.0, 0.4, 0.16, 0.064, 0.0256}


def test_short_stages_that_are_not_learned_restart_or_move_on() -> None:
    chosen = TrainingSettings(patience=3, restarts=1)
    curriculum = Curriculum.begin(chosen, shortest=1, longest=100)
    for _ in range(4):
        curriculum = curriculum.after(result(stage=0.6), chosen)
    assert (curriculum.attempt, curriculum.longest, curriculum.epoch) == (1, 8, 4)
    for _ in range(4):
        curriculum = curriculum.after(result(stage=0.6), chosen)
    assert (curriculum.attempt, curriculum.longest, curriculum.epoch) == (1, 16, 8)
    half_learned = Curriculum.begin(chosen, shortest=1, longest=100)
    for _ in range(4):
        half_learned = half_learned.after(result(stage=0.9), chosen)
    assert (half_learned.attempt, half_learned.longest) == (0, 16)


def test_the_target_must_hold() -> None:
    chosen = TrainingSettings(hold=2, target_accuracy=0.9)
    curriculum = Curriculum.begin(chosen, 1, 8)
    for accuracy, ending in [(0.95, None), (0.8, None), (0.95, None), (0.9, Ending.TARGET)]:
        curriculum = curriculum.after(result(accuracy=accuracy), chosen)
        assert curriculum.ending(chosen, 0.0) is ending


def test_endings_by_epochs_and_time() -> None:
    curriculum = replace(Curriculum.begin(SMALL, 1, 8), epoch=6)
    assert curriculum.ending(SMALL, 0.0) is Ending.EPOCHS
    assert curriculum.ending(replace(SMALL, epochs=7), 99.0) is None
    assert curriculum.ending(replace(SMALL, epochs=7, timeout=99.0), 99.0) is Ending.TIME


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3, st.sampled_from([0.1, 0.5, math.nan, math.inf])), max_size=40))
def test_a_course_survives_json(results: list[tuple[float, float, float, float]]) -> None:
    curriculum = Curriculum.begin(TrainingSettings(patience=1), 1, 100)
    for numbers in results:
        curriculum = curriculum.after(EpochResult(*numbers), TrainingSettings(patience=1))
        assert Curriculum.from_json(curriculum.to_json()) == curriculum


def test_the_first_words_are_as_short_as_asked_for() -> None:
    assert Curriculum.begin(replace(SMALL, first_length=3), 1, 10).lengths == (3, 6, 10)
    assert Curriculum.begin(replace(SMALL, first_length=10), 5, 10).lengths == (10,)
    assert Curriculum.begin(replace(SMALL, first_length=99, max_length=10), 5, 50).lengths == (10,)
    with pytest.raises(InputError, match="first_length 0"):
        TrainingSettings(first_length=0)


def test_a_loss_that_is_not_a_number_is_never_the_best() -> None:
    assert not result(accuracy=1.0, validation_loss=math.nan).is_better_than(result(accuracy=0.0))
    assert not result(accuracy=1.0, loss=math.inf).is_better_than(result(accuracy=0.0))
    assert result(accuracy=0.6).is_better_than(result(accuracy=0.5, validation_loss=0.1))
    assert result(accuracy=0.5, validation_loss=0.4).is_better_than(result(accuracy=0.5))
    assert not result().is_better_than(result())


# Stages and batches


@given(dfas(max_states=5), st.lists(st.lists(st.integers(0, 2), max_size=9), min_size=1, max_size=12))
def test_prefix_answers_are_the_automatons(dfa: DFA, codes: list[list[int]]) -> None:
    words = [[code % len(dfa.alphabet) for code in word] for word in codes]
    answers = prefix_answers(dfa, WordBatch.from_codes(words)).tolist()
    expected = [dfa.accepts(dfa.alphabet.decode(word[:n])) for word in words for n in range(len(word) + 1)]
    assert answers == expected


@given(
    st.lists(st.lists(st.integers(0, 1), max_size=30).map(tuple), min_size=1, max_size=60, unique=True),
    st.integers(1, 9),
    st.integers(1, 35),
    st.booleans(),
)
def test_shuffled_batches_have_each_usable_word_once_and_nothing_else(
    words: list[tuple[int, ...]], size: int, longest: int, every_prefix: bool
) -> None:
    batch = WordBatch.from_codes(words)
    stage = Stage(batch, prefix_answers(EVEN_AS, batch), every_prefix)
    if not len(stage.usable(longest)):
        return
    met = []
    for piece in stage.shuffled_batches(rng(), size, longest):
        lengths = (piece.answers != UNKNOWN).sum(axis=0) - 1
        assert piece.letters.shape == (lengths.max(), len(lengths))
        assert len(lengths) <= size
        for column, length in enumerate(lengths):
            word = tuple(piece.letters[:length, column].tolist())
            met.append(word)
            expected = [EVEN_AS.accepts(AB.decode(word[:n])) for n in range(length + 1)]
            assert piece.answers[: length + 1, column].tolist() == expected
            assert not piece.letters[length:, column].any()
    usable = [word[:longest] for word in words] if every_prefix else [word for word in words if len(word) <= longest]
    assert sorted(met) == sorted(usable)


def test_batches_have_little_padding() -> None:
    stage = whole_word_stage(data_from_automaton(EVEN_AS, rng(), count=4_000).train)
    cells = sum(batch.letters.size for batch in stage.shuffled_batches(rng(), 64, 10_000))
    unsorted = sum(stage.batch(rows).letters.size for rows in np.array_split(rng().permutation(len(stage.words)), 50))
    assert cells < 1.25 * len(stage.words.codes)
    assert unsorted > 4 * len(stage.words.codes)


def test_held_out_words_are_not_learned_as_prefixes() -> None:
    data = small_data()
    stage = training_stage(data)
    held_out = {*data.validation.words, *data.test.words}
    starts = stage.starts.tolist()
    hidden = 0
    for start, word in zip(starts, data.train.words, strict=True):
        for n in range(len(word) + 1):
            answer = stage.answers[start + n]
            if word[:n] in held_out:
                assert answer == UNKNOWN
                hidden += 1
            else:
                assert answer == EVEN_AS.accepts(AB.decode(word[:n]))
    assert hidden > 0


def test_labelled_words_teach_their_own_answer_alone() -> None:
    words = LabelledWords.from_pairs([(("a", "b"), True), ((), False), (("b",), True)])
    assert whole_word_stage(words).answers.tolist() == [-1, -1, 1, 0, -1, 1]


# The trainable network


@pytest.mark.parametrize("cell", list(Cell))
@pytest.mark.parametrize(("layers", "embedding", "outputs"), [(1, 0, 1), (2, 3, 3)])
def test_the_network_made_answers_as_the_one_trained(cell: Cell, layers: int, embedding: int, outputs: int) -> None:
    """Against the definition in plain formulas, word by word, and against the engine."""
    chosen = TrainingSettings(cell=cell, hidden=7, layers=layers, embedding=embedding)
    trainable = TorchNetwork(2, outputs, chosen, rng(5))
    arrays = trainable.arrays()
    surer = {name: array if "weight_hh" in name else 3 * array for name, array in arrays.items()}
    trainable.load(surer | {"head.bias": 0.01 * arrays["head.bias"]})
    words = WordBatch.from_codes({(), *WordDistribution(AB, stop=0.1).sample(rng(), 60)})
    labels = ("no", "yes") if outputs == 1 else ("p", "q", "r")
    stage = whole_word_stage(LabelledWords(AB, words, np.zeros(len(words), dtype=np.int64), labels))
    answers, loss = trainable.answers(stage)
    assert math.isfinite(loss)
    assert len(set(answers.tolist())) > 1
    for label in range(outputs) if outputs > 1 else [None]:
        network = trainable.to_network(AB, labels, label, {})
        expected = answers == (1 if label is None else label)
        assert [reference_score(network, codes) > 0 for codes in words] == expected.tolist()
        assert CompiledNetwork(network, threads=1).accepts_batch(words).tolist() == expected.tolist()


def test_loss_counts_known_answers_only() -> None:
    trainable = TorchNetwork(2, 1, SMALL, rng())
    words = LabelledWords.from_pairs([(("a", "b"), True), (("b",), False), ((), True)])
    batch = whole_word_stage(words).batch(np.arange(3))
    loss, known, right = trainable.loss(batch, np.ones(2, dtype=np.float32))
    answers, mean = trainable.answers(whole_word_stage(words))
    assert known.tolist() == [1, 2]
    assert right.tolist() == [sum((answers == words.answers) & (words.answers == label)) for label in (0, 1)]
    assert float(loss.detach()) == pytest.approx(mean, abs=1e-6)
    doubled, _, _ = trainable.loss(batch, np.full(2, 2.0, dtype=np.float32))
    assert float(doubled.detach()) == pytest.approx(2 * mean, abs=1e-6)


@given(st.lists(st.integers(0, 300), min_size=2, max_size=4).filter(any))
def test_rare_labels_weigh_more_but_not_without_end(counts: list[int]) -> None:
    answers = np.repeat(np.arange(len(counts)), counts)
    weights = Stage(WordBatch.from_codes([()]), answers, every_prefix=False).label_weights(len(counts))
    assert weights[answers].mean() == pytest.approx(1.0, rel=1e-4)
    for (a, count_a), (b, count_b) in itertools.permutations(enumerate(counts), 2):
        if count_a >= count_b:
            assert weights[a] <= weights[b] * (1 + 1e-6)
        if min(count_a, count_b) >= sum(counts) / 20:
            assert weights[a] * count_a == pytest.approx(weights[b] * count_b, rel=1e-4)
    assert weights.max() <= 20 * weights.min() * (1 + 1e-6)


LINES = st.lists(st.tuples(st.sampled_from(["", "a", "b", "ab", "bb", "aba"]), st.sampled_from("xyz")), min_size=2)


@given(LINES.filter(lambda lines: len({label for _, label in lines}) > 1))
@settings(max_examples=40, deadline=None)
def test_weighted_words_are_learned_as_if_each_line_were_a_word(lines: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lines.tsv")
        path.write_text("".join(f"{label}\t{' '.join(word) or 'ε'}\n" for word, label in lines))
        words = read_labelled_words(path, AB, conflicts="weight")
    labels = words.labels
    trainable = TorchNetwork(2, len(labels), SMALL, rng())
    alone = [
        trainable.answers(
            whole_word_stage(LabelledWords(AB, WordBatch.from_codes([AB.encode(tuple(word))]), answer, labels))
        )[1]
        for word, label in lines
        for answer in [np.array([labels.index(label)])]
    ]
    stage = training_stage(TrainingData(words, *some_others(labels)))
    loss, _, _ = trainable.loss(
        stage.batch(np.arange(len(stage.words))),
        stage.label_weights(len(labels), np.ones(len(labels), dtype=np.float32)),
    )
    assert float(loss.detach()) == pytest.approx(float(np.mean(alone)), rel=1e-4)
    per_label = Counter(label for _, label in lines)
    balanced = stage.label_weights(len(labels))
    expected = balanced * [per_label[label] for label in labels]
    assert expected.sum() == pytest.approx(len(lines), rel=1e-4)
    for word, answer in zip(words.words, words.answers.tolist(), strict=True):
        counts = Counter(label for other, label in lines if AB.encode(tuple(other)) == word)
        assert counts[labels[answer]] == max(counts.values())
    assert words.contradicting == sum(
        len({label for other, label in lines if other == word}) > 1 for word in {word for word, _ in lines}
    )


def some_others(labels: tuple[str, ...]) -> list[LabelledWords]:
    answers = np.zeros(1, dtype=np.int64)
    return [
        LabelledWords(AB, WordBatch.from_codes([AB.encode(tuple(word))]), answers, labels) for word in ("bbbb", "aaaa")
    ]


@pytest.mark.parametrize(("chosen", "least", "most"), [("none", 0.65, 0.85), ({"no": 9.0}, 0.0, 0.4)])
def test_a_word_with_several_labels_is_learned_by_their_shares(chosen: Any, least: float, most: float) -> None:
    words = [AB.encode(tuple(word)) for word in ("a", "b", "ab", "ba", "aa", "bb", "aab", "abb")]
    times = np.array([[1, 3]] * len(words))
    labelled = LabelledWords(AB, WordBatch.from_codes(words), np.ones(len(words), dtype=np.int64), times=times)
    data = TrainingData(labelled, *some_others(labelled.labels))
    trained = train(data, settings=replace(SMALL, class_weights=chosen, epochs=12, min_batches=40, hold=12))
    scores = CompiledNetwork(trained.network, threads=1).scores_batch(WordBatch.from_codes(words))
    shares = 1 / (1 + np.exp(-scores))
    assert least < shares.min() <= shares.max() < most


def test_times_must_fit_the_answers_and_ties_take_either_answer() -> None:
    words = WordBatch.from_codes([(0,), (1,)])
    tied = LabelledWords(AB, words, np.array([0, 1]), times=np.array([[2, 2], [0, 1]]))
    assert tied.are_right(np.array([1, 1])).tolist() == [True, True]
    assert tied.are_right(np.array([0, 0])).tolist() == [True, False]
    assert np.array_equal(tied.take([1]).times, [[0, 1]])
    assert tied.sha256() != replace(tied, times=np.array([[1, 1], [0, 1]])).sha256()
    for wrong in ([[0, 2], [0, 1]], [[1, 0], [0, 0]], [[1], [1]], [[1, -1], [0, 1]]):
        with pytest.raises(InputError, match="times must count"):
            replace(tied, times=np.array(wrong))


def test_class_weights_of_unknown_labels_are_refused() -> None:
    with pytest.raises(InputError, match="no word is labelled 'maybe'; give weights of no, yes"):
        train(small_data(), settings=replace(SMALL, class_weights={"maybe": 2.0}))


def test_a_target_that_was_reached_and_not_held_is_told() -> None:
    report = train(small_data(), settings=replace(SMALL, target_accuracy=0.01, hold=7)).report
    assert report.ending is Ending.EPOCHS
    assert "reached the target accuracy 1.00% without holding it for 7 epochs" in report.sentences()[-1]


# Training itself


def global_states() -> tuple[Any, ...]:
    drawing: Any = np.random.get_state()
    return torch.get_rng_state(), drawing[1].tolist(), random.getstate(), torch.get_num_threads()


def test_training_is_a_function_of_the_seed_and_leaves_global_states_alone() -> None:
    data = small_data()
    first = train(data, settings=SMALL)
    torch.manual_seed(123)
    np.random.seed(7)
    random.seed(9)
    before = global_states()
    again = train(data, settings=replace(SMALL, threads=1))
    after = global_states()
    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]
    assert first.network.sha256() == again.network.sha256()
    assert first.network.sha256() != train(data, settings=replace(SMALL, seed=1)).network.sha256()


def test_the_number_of_threads_is_put_back_even_after_an_error() -> None:
    before = torch.get_num_threads()

    def fail(_: EpochProgress) -> None:
        assert torch.get_num_threads() == before + 1
        raise OSError

    with pytest.raises(OSError):
        train(small_data(), settings=replace(SMALL, threads=before + 1), progress=fail)
    assert torch.get_num_threads() == before


def test_ctrl_c_ends_with_the_best_network_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should be the network that a run of as many epochs keeps; before the first epoch there is none."""

    def stop(told: EpochProgress) -> None:
        if told.epoch == 2:
            raise KeyboardInterrupt

    endless = replace(SMALL, target_accuracy=1.0, hold=100)
    ended = train(small_data(), settings=endless, progress=stop)
    assert ended.report.ending is Ending.INTERRUPTED
    whole = train(small_data(), settings=replace(endless, epochs=2))
    assert np.array_equal(ended.network.layers[0].input_weight, whole.network.layers[0].input_weight)
    assert np.array_equal(ended.network.head_weight, whole.network.head_weight)
    assert ended.report.test_accuracy == whole.report.test_accuracy
    kept, by_label = ended.report.sentences()
    assert f"epoch {ended.report.best_epoch}" in kept
    assert "no " in by_label

    def end_at_once(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rnncheck.training.trainer._TrainingRun.epoch", end_at_once)
    with pytest.raises(KeyboardInterrupt):
        train(small_data(), settings=SMALL)


class Interrupt(Exception):  # noqa: N818
    pass


def interrupted(data: TrainingData, chosen: TrainingSettings, path: Path, after: int) -> None:
    def stop(told: EpochProgress) -> None:
        if told.epoch == after:
            raise Interrupt

    with pytest.raises(Interrupt):
        train(data, settings=chosen, checkpoint=path, progress=stop)


@pytest.mark.parametrize(
    "chosen",
    [
        replace(SMALL, target_accuracy=1.0, hold=10),
        # So impatient that rates fall and restarts happen on the way.
        replace(SMALL, cell=Cell.GRU, embedding=2, layers=2, epochs=9, patience=1, restarts=9, learning_rate=1e-6),
    ],
    ids=["plain", "restarts"],
)
@pytest.mark.parametrize("after", [1, 4])
def test_a_resumed_run_gives_exactly_the_same_network(tmp_path: Path, chosen: TrainingSettings, after: int) -> None:
    data = small_data()
    path = tmp_path / "run.checkpoint"
    whole = train(data, settings=chosen)
    interrupted(data, chosen, path, after)
    told: list[EpochProgress] = []
    resumed = train(data, settings=chosen, checkpoint=path, resume=True, progress=told.append)
    assert [one.epoch for one in told] == list(range(after + 1, chosen.epochs + 1))
    assert resumed.network.sha256() == whole.network.sha256()
    assert replace(resumed.report, seconds=0.0) == replace(whole.report, seconds=0.0)
    # The run is over; going on from its end trains no more.
    told.clear()
    at_end = train(data, settings=chosen, checkpoint=path, resume=True, progress=told.append)
    assert told == []
    assert at_end.network.sha256() == whole.network.sha256()


def test_restarts_happen_in_the_test_above() -> None:
    chosen = replace(SMALL, epochs=9, patience=1, restarts=9, learning_rate=1e-6)
    assert train(small_data(), settings=chosen).report.attempts > 1


def test_a_run_can_be_made_longer(tmp_path: Path) -> None:
    data = small_data()
    chosen = replace(SMALL, target_accuracy=1.0, hold=50)
    path = tmp_path / "run.checkpoint"
    train(data, settings=replace(chosen, epochs=2), checkpoint=path)
    longer = train(data, settings=chosen, checkpoint=path, resume=True)
    assert longer.network.sha256() == train(data, settings=chosen).network.sha256()


def test_checkpoints_of_other_runs_and_other_files_are_refused(tmp_path: Path) -> None:
    data = small_data()
    path = tmp_path / "run.checkpoint"
    trained = train(data, settings=replace(SMALL, epochs=1), checkpoint=path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.checkpoint"]
    with pytest.raises(InputError, match="was made with hidden 8, now it is 9"):
        train(data, settings=replace(SMALL, hidden=9), checkpoint=path, resume=True)
    with pytest.raises(InputError, match="other training words"):
        train(small_data(count=300), settings=SMALL, checkpoint=path, resume=True)
    with pytest.raises(InputError, match="name the checkpoint file"):
        train(data, settings=SMALL, resume=True)
    with pytest.raises(ModelError, match="no such file"):
        train(data, settings=SMALL, checkpoint=tmp_path / "none", resume=True)
    metadata, arrays = read_safetensors(path)
    name = next(name for name in arrays if name.startswith("best/"))
    for edited in ({**arrays, name: arrays[name] + 1}, {key: arrays[key] for key in arrays if key != name}):
        path.write_bytes(safetensors_bytes(edited, dict(metadata)))
        with pytest.raises(ModelError, match="damaged or edited"):
            train(data, settings=SMALL, checkpoint=path, resume=True)
    save_network(trained.network, path)
    with pytest.raises(ModelError, match="is not a checkpoint"):
        train(data, settings=SMALL, checkpoint=path, resume=True)
    path.write_bytes(b"garbage")
    with pytest.raises(ModelError, match="not a whole safetensors file"):
        train(data, settings=SMALL, checkpoint=path, resume=True)


def test_progress_and_report_tell_what_happened(tmp_path: Path) -> None:
    told: list[EpochProgress] = []
    ticks = iter(range(100))
    data = small_data()
    chosen = replace(SMALL, target_accuracy=1.0, hold=9)
    trained = train(data, settings=chosen, progress=told.append, clock=lambda: next(ticks))
    report = trained.report
    assert [one.epoch for one in told] == [1, 2, 3, 4, 5, 6]
    assert [one.seconds for one in told] == [1, 2, 3, 4, 5, 6]
    assert told[-1].best_accuracy == max(one.accuracy for one in told) == report.validation_accuracy
    assert report.ending is Ending.EPOCHS
    assert not report.reached_target
    assert told[report.best_epoch - 1].accuracy == report.validation_accuracy
    save_network(trained.network, tmp_path / "n.safetensors")
    facts = load_network(tmp_path / "n.safetensors").facts["training"]
    assert facts["test_accuracy"] == report.test_accuracy
    assert facts["settings"]["seed"] == 0
    assert facts["settings"]["cell"] == "lstm"
    assert facts["words"] == data.sizes
    assert facts["data"]["distribution"]["stop"] == 0.1
    assert_accuracy_is_true(trained, data)


def assert_accuracy_is_true(trained: TrainedNetwork, data: TrainingData) -> None:
    answers = CompiledNetwork(trained.network, threads=1).accepts_batch(data.test.words)
    right = answers == (data.test.answers == (trained.network.label if trained.network.label is not None else 1))
    if trained.network.label is None:
        assert right.mean() == trained.report.test_accuracy
    assert right.mean() >= trained.report.test_accuracy


def test_a_time_limit_ends_training_with_the_best_so_far() -> None:
    ticks = iter(range(0, 1_000, 10))
    chosen = replace(SMALL, timeout=25.0, target_accuracy=1.0, hold=9)
    trained = train(small_data(), settings=chosen, clock=lambda: next(ticks))
    assert trained.report.ending is Ending.TIME
    assert trained.report.epochs == 3


def test_even_divergence_ends_in_a_network() -> None:
    chosen = replace(SMALL, cell=Cell.RNN_RELU, learning_rate=1e6, clip=1e9, epochs=3)
    trained = train(small_data(), settings=chosen)
    assert isinstance(trained.network, RecurrentNetwork)
    assert not trained.report.reached_target


@pytest.mark.parametrize("cell", [Cell.LSTM, Cell.GRU, pytest.param(Cell.RNN_TANH, marks=pytest.mark.slow)])
def test_parity_is_learned(cell: Cell) -> None:
    trained = train(small_data(count=2_000), settings=TrainingSettings(cell=cell, hidden=16))
    assert trained.report.reached_target
    assert trained.report.test_accuracy >= 0.99


def test_gates_carry_parity_over_to_long_words() -> None:
    """From words of nine letters on average to words of a hundred."""
    trained = train(small_data(count=2_000), settings=TrainingSettings(hidden=16, hold=3))
    words = WordDistribution(AB).sample(rng(3), 500)
    answers = CompiledNetwork(trained.network, threads=1).accepts_batch(words)
    assert (answers == EVEN_AS.accepts_batch(words)).mean() >= 0.99


def test_a_thin_language_is_learned_on_both_sides() -> None:
    ab_pairs = DFA(AB, [[1, 2], [2, 0], [2, 2]], [True, False, False])
    trained = train_on_automaton(ab_pairs, settings=TrainingSettings(hidden=16), words=3_000)
    assert trained.report.reached_target
    assert trained.report.label_accuracy["yes"] >= 0.98
    assert "near misses" in trained.report.notes[0]


def three_labels() -> LabelledWords:
    """The label is the number of letters a, modulo 3."""
    names = ("none", "one", "two")
    drawn = set(WordDistribution(AB, stop=0.12).sample(rng(), 3_000))
    pairs = [(AB.decode(codes), names[codes.count(0) % 3]) for codes in sorted(drawn)]
    return LabelledWords.from_pairs(pairs)


def test_several_labels_are_learned_from_words_alone() -> None:
    words = three_labels()
    trained = train_on_words(words, settings=TrainingSettings(hidden=16), label="two", source="made up")
    network = trained.network
    assert trained.report.test_accuracy >= 0.97
    assert (network.labels, network.label) == (("none", "one", "two"), 2)
    assert set(trained.report.label_accuracy) == set(words.labels)
    data = data_from_words(words, rng([0, 0, 0]))
    assert_accuracy_is_true(trained, data)
    assert trained.report.data["source"] == "made up"


def test_labels_that_do_not_exist_are_refused() -> None:
    with pytest.raises(InputError, match="no word is labelled 'three'; choose one of none, one, two"):
        train_on_words(three_labels(), label="three")
    with pytest.raises(InputError, match="leave it out"):
        train(small_data(), label="yes")


def test_the_first_label_means_yes_unless_told() -> None:
    assert train_on_words(three_labels(), settings=replace(SMALL, epochs=1)).network.label == 0


def test_a_length_limit_is_kept() -> None:
    told: list[EpochProgress] = []
    trained = train(small_data(), settings=replace(SMALL, max_length=5), progress=told.append)
    assert {one.longest for one in told} == {5}
    assert trained.report.longest_word == 5
    long_words = [((letter,) * n, letter == "a") for letter in "ab" for n in range(20, 60)]
    with pytest.raises(InputError, match="no training word has at most max_length 5 letters"):
        train_on_words(LabelledWords.from_pairs(long_words), settings=replace(SMALL, max_length=5))


GRAMMARS = {
    "1": "1*",
    "2": "(1 0)*",
    "3": "!((.* 0)? 1 (1 1)* 0 (0 0)* (1 .*)?)",
    "4": "!(.* 0 0 0 .*)",
    "5": "(1* 0 1* 0)* 1* & (0* 1 0* 1)* 0*",
    "6": "((0 (0 1)* (1 | 0 0)) | 1 (1 0)* (0 | 1 1))*",
    "7": "0* 1* 0* 1*",
}


@pytest.mark.slow
@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("cell", [Cell.LSTM, Cell.GRU])
def test_tomitas_grammars_are_learned(grammar: str, cell: Cell) -> None:
    dfa = Spec.from_regex(GRAMMARS[grammar], ["0", "1"]).dfa
    assert_learned(dfa, TrainingSettings(cell=cell))


@pytest.mark.slow
def test_a_random_automaton_is_learned() -> None:
    generator = rng(0)
    table = generator.integers(10, size=(10, 5))
    assert_learned(DFA(list("abcde"), table, generator.random(10) < 0.5), TrainingSettings())


def assert_learned(dfa: DFA, chosen: TrainingSettings) -> None:
    trained = train_on_automaton(dfa, settings=chosen)
    words = WordDistribution(dfa.alphabet).sample(rng(77), 10_000)
    answers = CompiledNetwork(trained.network).accepts_batch(words)
    assert trained.report.test_accuracy >= 0.99
    assert min(share for share in trained.report.label_accuracy.values() if share is not None) >= 0.98
    assert (answers == dfa.accepts_batch(words)).mean() >= 0.99


@settings(max_examples=5)
@given(dfas(max_states=4))
def test_any_automaton_can_be_trained_on(dfa: DFA) -> None:
    """Languages with one label, unary alphabets: training runs and reports without a warning."""
    trained = train(small_data(dfa, count=100), settings=replace(SMALL, epochs=1))
    assert 0.0 <= trained.report.test_accuracy <= 1.0


def test_without_torch_training_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"training needs .* 'rnncheck\[torch\]'"):
        train(small_data(), settings=SMALL)


def test_importing_the_package_does_not_import_torch() -> None:
    code = "import sys, rnncheck.training, rnncheck.zoo; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("stages", "writes"),
    [pytest.param(STAGES[-2:-1], (2,), id="few"), pytest.param(STAGES, range(1, 5), id="many")],
)
@pytest.mark.slow  # every process imports PyTorch
def test_training_killed_inside_its_writes_gives_the_same_network(
    tmp_path: Path, stages: Sequence[str], writes: Iterable[int]
) -> None:
    """SIGKILL at stages of writing the checkpoint; then to the end, with the network of a calm run."""
    script = (
        "import os, sys\nfrom rnncheck import Spec, WordDistribution\nfrom rnncheck.training import TrainingSettings, "
        "train_on_automaton\nfile = sys.argv[1]\nspec = Spec.from_regex('(b* a b* a)* b*', ['a', 'b'])\nsettings = "
        "TrainingSettings(hidden=4, epochs=60, hold=1000)\ntrained = train_on_automaton(\n    spec.dfa, "
        "settings=settings, distribution=WordDistribution(spec.alphabet, stop=0.3), words=60,\n    checkpoint=file, "
        "resume=os.path.exists(file)\n)\nprint(trained.network.sha256())\n"
    )
    command = [sys.executable, "-c", script]
    calm = subprocess.run([*command, tmp_path / "calm"], capture_output=True, text=True, check=True, timeout=300).stdout
    file = tmp_path / "run.checkpoint"
    moments = list(itertools.product(stages, writes))
    for stage, write in kill_inside_writes([*command, file], tmp_path / "hooks", moments):
        assert file.exists() or stage != "after rename", f"{stage}, write {write}"
    final = subprocess.run([*command, file], capture_output=True, text=True, check=True, timeout=300).stdout
    assert final == calm
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calm", "hooks", "run.checkpoint"]


@pytest.mark.parametrize("cell", Cell)
def test_the_optimizer_is_pytorchs_bit_by_bit(cell: Cell) -> None:
    """Should take the very steps of torch.optim.Adam after clip_grad_norm_."""
    chosen = replace(SMALL, cell=cell, layers=2, embedding=3)
    ours, theirs = (TorchNetwork(2, 1, chosen, np.random.default_rng(4)) for _ in range(2))
    optimizer, adam = AdamOptimizer(ours.parameters(), 0.05), torch.optim.Adam(theirs.parameters())
    rng, weights = np.random.default_rng(5), np.ones(2, dtype=np.float32)
    for number in range(30):
        length, rate = int(rng.integers(1, 9)), float(rng.uniform(1e-4, 0.1))
        batch = Batch(rng.integers(2, size=(length, 5)), rng.integers(2, size=(length + 1, 5)))
        optimizer.step(ours.loss(batch, weights)[0], rate)
        adam.param_groups[0]["lr"] = rate
        adam.zero_grad()
        theirs.loss(batch, weights)[0].backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.05)
        adam.step()
        for name, value in theirs.arrays().items():
            np.testing.assert_array_equal(ours.arrays()[name], value, err_msg=f"{name} after step {number}")


def test_training_does_not_import_the_compiler_of_pytorch() -> None:
    """Should begin at once: that import alone takes seconds."""
    program = (
        "import sys; from rnncheck import Spec; from rnncheck.training import TrainingSettings, train_on_automaton\n"
        "train_on_automaton(Spec.from_regex('a*', ['a', 'b']).dfa, settings=TrainingSettings(epochs=1), words=50)\n"
        "print([name for name in ('torch._dynamo', 'torch._inductor') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "[]\n"
