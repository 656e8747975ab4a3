"""The training loop."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError, short_repr
from rnncheck.models.files.torch_file import import_torch
from rnncheck.probability.distributions import WordDistribution
from rnncheck.runtime.checkpoint import try_save
from rnncheck.training.batches import UNKNOWN, training_stage, whole_word_stage
from rnncheck.training.curriculum import Curriculum, Ending, EpochResult
from rnncheck.training.datasets import LabelledWords, TrainingData, data_from_words
from rnncheck.training.from_automaton import data_from_automaton
from rnncheck.training.training_checkpoint import Best, TrainingCheckpoint, load_checkpoint, save_checkpoint
from rnncheck.training.training_result import EpochProgress, Progress, TrainedNetwork, TrainingReport
from rnncheck.training.training_settings import TrainingSettings

_DATA, _WEIGHTS, _EPOCH = range(3)  # the uses of random numbers; each has its own stream
_FIRST_SHARE = 0.1  # where whole words are learned, the first stage has at least this share of them


def train(
    data: TrainingData,
    *,
    settings: TrainingSettings | None = None,
    label: str | None = None,
    progress: Progress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    clock: Callable[[], float] = time.perf_counter,
) -> TrainedNetwork:
    """Train a network on the training words until the validation words are answered well enough.

    ``label`` is the accepting one of several labels (by default the first). With ``checkpoint`` the state is written to
    that file after every epoch; ``resume`` continues from it, and gives exactly the network of an uninterrupted run.
    Ctrl-C ends it with the best network so far, or with KeyboardInterrupt if no epoch is finished. The global random
    states are neither used nor changed.
    """
    settings = settings or TrainingSettings()
    yes = _position_of_yes(data.train, label)
    import_torch("training")
    from rnncheck.training.torch_network import torch_threads

    data_sha256 = data.sha256()
    with torch_threads(settings.threads):
        run = _TrainingRun(data, settings)
        if resume:
            run.resume_from(load_checkpoint(_existing(checkpoint), settings, data_sha256))
        began, trouble = clock() - run.seconds, None
        try:
            while (ending := run.curriculum.ending(settings, run.seconds)) is None:
                progress_after = run.epoch()
                run.seconds = clock() - began
                if checkpoint is not None:
                    state = run.checkpoint()
                    trouble = try_save(lambda: save_checkpoint(state, checkpoint, settings, data_sha256))  # noqa: B023
                if progress is not None:
                    progress(progress_after(run.seconds))
        except KeyboardInterrupt:
            if not run.has_learned:
                raise
            ending = Ending.INTERRUPTED
        return run.finish(ending, yes, () if trouble is None else (trouble,))


def train_on_automaton(
    dfa: DFA,
    *,
    settings: TrainingSettings | None = None,
    distribution: WordDistribution | None = None,
    words: int = 10_000,
    balance: float = 0.3,
    pumped: float = 0.0,
    progress: Progress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> TrainedNetwork:
    """Train a network to answer as ``dfa`` does on words of the distribution (see ``data_from_automaton``)."""
    settings = settings or TrainingSettings()
    rng = _generator(settings, _DATA)
    data = data_from_automaton(dfa, rng, distribution=distribution, count=words, balance=balance, pumped=pumped)
    return train(data, settings=settings, progress=progress, checkpoint=checkpoint, resume=resume)


def train_on_words(
    words: LabelledWords,
    *,
    settings: TrainingSettings | None = None,
    label: str | None = None,
    source: str | None = None,
    progress: Progress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> TrainedNetwork:
    """Train a network to answer as the labels do; ``source`` names where the words are from, for the model file."""
    settings = settings or TrainingSettings()
    data = data_from_words(words, _generator(settings, _DATA), source=source)
    return train(data, settings=settings, label=label, progress=progress, checkpoint=checkpoint, resume=resume)


class _TrainingRun:
    """One training run between two epochs."""

    def __init__(self, data: TrainingData, settings: TrainingSettings) -> None:
        self._data = data
        self._settings = settings
        self._stage = training_stage(data)
        self._validation = whole_word_stage(data.validation)
        lengths = data.train.words.lengths
        if not len(self._stage.usable(settings.max_length or int(lengths.max()))):
            raise InputError(
                f"no training word has at most max_length {settings.max_length} letters; allow longer ones"
            )
        shortest = 1 if self._stage.every_prefix else int(np.quantile(lengths, _FIRST_SHARE, method="higher"))
        self.curriculum = Curriculum.begin(settings, shortest, int(lengths.max()))
        self.seconds = 0.0
        self._begin_attempt()
        worst = EpochResult(sys.float_info.max, 0.0, 0.0, sys.float_info.max)
        self._best = Best(self._network.arrays(), worst, epoch=0, attempt=0, longest=0)

    def _begin_attempt(self) -> None:
        from rnncheck.training.torch_network import AdamOptimizer, TorchNetwork

        words = self._data.train
        outputs = 1 if words.is_yes_no else len(words.labels)
        rng = _generator(self._settings, _WEIGHTS, self.curriculum.attempt)
        self._network = TorchNetwork(len(words.alphabet), outputs, self._settings, rng)
        self._optimizer = AdamOptimizer(self._network.parameters(), self._settings.clip)

    def epoch(self) -> Callable[[float], EpochProgress]:
        """Train on every training word; return a function from the seconds to the progress to report."""
        curriculum = self.curriculum
        loss, stage_accuracy = self._learn()
        answers, validation_loss = self._network.answers(self._validation)
        accuracy = float(self._data.validation.are_right(answers).mean())
        result = EpochResult(loss, stage_accuracy, accuracy, validation_loss)
        if result.is_better_than(self._best.result):
            self._best = Best(
                self._network.arrays(), result, curriculum.epoch + 1, curriculum.attempt, curriculum.longest
            )
        self.curriculum = curriculum.after(result, self._settings)
        if self.curriculum.attempt > curriculum.attempt:
            self._begin_attempt()
        best = self._best.result.accuracy
        epochs = self._settings.epochs
        return lambda seconds: EpochProgress(
            curriculum.epoch + 1,
            epochs,
            curriculum.attempt + 1,
            curriculum.longest,
            curriculum.learning_rate,
            loss,
            accuracy,
            best,
            seconds,
        )

    def _learn(self) -> tuple[float, float]:
        """The mean loss, and the mean over the labels of the share of answers that were right, while learning."""
        rng = _generator(self._settings, _EPOCH, self.curriculum.epoch)
        labels = len(self._data.train.labels)
        weights = self._stage.label_weights(labels, self._settings.weights_of(self._data.train.labels))
        total, batches = 0.0, 0
        known, right = np.zeros(labels, dtype=np.int64), np.zeros(labels, dtype=np.int64)
        while batches < self._settings.min_batches:
            for batch in self._stage.shuffled_batches(rng, self._settings.batch_size, self.curriculum.longest):
                batches += 1
                if (batch.answers == UNKNOWN).all():
                    continue
                loss, batch_known, batch_right = self._network.loss(batch, weights)
                self._optimizer.step(loss, self.curriculum.learning_rate)
                total += float(loss.detach()) * batch_known.sum()
                known += batch_known
                right += batch_right
        if not known.any():
            raise InputError(
                f"there is no label for words of at most {self.curriculum.longest} letters; allow longer words"
            )
        return float(total / known.sum()), float((right[known > 0] / known[known > 0]).mean())

    @property
    def has_learned(self) -> bool:
        """Whether there is a network of a finished epoch."""
        return self._best.epoch > 0

    def resume_from(self, checkpoint: TrainingCheckpoint) -> None:
        self.curriculum = checkpoint.curriculum
        self.seconds = checkpoint.seconds
        self._best = checkpoint.best
        self._begin_attempt()
        self._network.load(checkpoint.weights)
        self._optimizer.load(checkpoint.optimizer)

    def checkpoint(self) -> TrainingCheckpoint:
        return TrainingCheckpoint(
            self.curriculum, self._network.arrays(), self._optimizer.arrays(), self._best, self.seconds
        )

    def finish(self, ending: Ending, yes: int | None, troubles: tuple[str, ...]) -> TrainedNetwork:
        """The best network, measured on the test words."""
        self._network.load(self._best.weights)
        test, words = self._data.test, self._data.train
        answers, _ = self._network.answers(whole_word_stage(test))
        right = test.are_right(answers)
        report = TrainingReport(
            ending=ending,
            epochs=self.curriculum.epoch,
            best_epoch=self._best.epoch,
            attempts=self.curriculum.attempt + 1,
            seconds=self.seconds,
            loss=self._best.result.validation_loss,
            validation_accuracy=self._best.result.accuracy,
            test_accuracy=float(right.mean()),
            label_accuracy={
                label: float(right[test.answers == position].mean()) if (test.answers == position).any() else None
                for position, label in enumerate(test.labels)
            },
            sizes=self._data.sizes,
            longest_word=min(self._best.longest, int(words.words.lengths.max())),
            notes=(*self._data.notes, *troubles),
            settings=self._settings.to_json(),
            data=self._data.facts,
        )
        facts = {"training": report.facts()}
        return TrainedNetwork(self._network.to_network(words.alphabet, words.labels, yes, facts), report)


def _generator(settings: TrainingSettings, purpose: int, number: int = 0) -> np.random.Generator:
    return np.random.default_rng([settings.seed, purpose, number])


def _position_of_yes(words: LabelledWords, label: str | None) -> int | None:
    if words.is_yes_no:
        if label is not None:
            raise InputError(
                f"label {short_repr(label)} was chosen, but the words are labelled no and yes; leave it out"
            )
        return None
    if label is None:
        return 0
    if label not in words.labels:
        raise InputError(f"no word is labelled {short_repr(label)}; choose one of {', '.join(words.labels)}")
    return words.labels.index(label)


def _existing(checkpoint: str | os.PathLike[str] | None) -> Path:
    if checkpoint is None:
        raise InputError("to resume, name the checkpoint file")
    return Path(checkpoint)
