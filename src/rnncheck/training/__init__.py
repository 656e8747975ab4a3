"""Training of recurrent networks from a specification or from labelled words. Needs the extra ``torch``."""

from rnncheck.automata.moore import NO_YES
from rnncheck.training.certified.certified_result import (
    HardeningEnding,
    HardeningProgress,
    HardeningReport,
    ProvableNetwork,
)
from rnncheck.training.certified.certified_training import HardeningSettings, harden, own_automaton, train_provable
from rnncheck.training.curriculum import Ending
from rnncheck.training.datasets import LabelledWords, TrainingData, data_from_words
from rnncheck.training.from_automaton import data_from_automaton
from rnncheck.training.labelled_files import (
    format_labelled_words,
    read_labelled_words,
    write_labelled_words,
)
from rnncheck.training.merged_words import automaton_from_words
from rnncheck.training.trainer import train, train_on_automaton, train_on_words
from rnncheck.training.training_result import EpochProgress, TrainedNetwork, TrainingReport
from rnncheck.training.training_settings import TrainingSettings

__all__ = [
    "NO_YES",
    "Ending",
    "EpochProgress",
    "HardeningEnding",
    "HardeningProgress",
    "HardeningReport",
    "HardeningSettings",
    "LabelledWords",
    "ProvableNetwork",
    "TrainedNetwork",
    "TrainingData",
    "TrainingReport",
    "TrainingSettings",
    "automaton_from_words",
    "data_from_automaton",
    "data_from_words",
    "format_labelled_words",
    "harden",
    "own_automaton",
    "read_labelled_words",
    "train",
    "train_on_automaton",
    "train_on_words",
    "train_provable",
    "write_labelled_words",
]
