"""The answers to learn at each prefix of a word."""

import itertools

import numpy as np

from rnncheck import RepairSettings, Requirement, Spec, WordDistribution, zoo
from rnncheck.repairs.own_words import collect_words
from rnncheck.repairs.repair_question import Question
from rnncheck.repairs.repaired_models import RepairedNetwork
from rnncheck.repairs.requirements import UNKNOWN, AllowedOutputs
from rnncheck.repairs.training_set import TrainingSet
from rnncheck.runtime.budget import UNLIMITED
from rnncheck.training.batches import Stage
from rnncheck.words import Codes, WordBatch


def test_around_a_mistake_only_answers_of_the_property_are_learned() -> None:
    """Should keep the network's own answers along all other words, and a person's labels everywhere."""
    network = zoo.entry("even-elman").network()
    candidate, alphabet = RepairedNetwork(network, threads=1), network.alphabet
    model, spec = candidate.model(), Spec.from_regex("(a a | b b)* | (a|b) (a|b)", alphabet)
    requirements = (Requirement("p", spec),)
    question = Question(
        candidate, model, requirements, AllowedOutputs(requirements, alphabet, candidate.labels),
        collect_words(None, alphabet, ()),
        WordDistribution(alphabet), 0, RepairSettings(),
    )  # fmt: skip
    given: Codes = (0, 1)
    training_set = TrainingSet(question, {given: 0}, UNLIMITED)
    words = [word for length in range(4) for word in itertools.product(range(2), repeat=length)]
    for doubted in (words[::3], words):  # an answer that is remembered is not that of a word that came to be doubted
        training_set.errors = doubted
        stage = training_set.labelled(words)
        for word, start in zip(words, stage.starts.tolist(), strict=True):
            prefixes = [word[:end] for end in range(len(word) + 1)]
            yes = {prefix: bool(model.accepts(alphabet.decode(prefix))) for prefix in prefixes}
            allowed = {prefix: spec.dfa.accepts(alphabet.decode(prefix)) for prefix in prefixes}
            near_mistake = word in set(doubted)
            for place, prefix in enumerate(prefixes):
                own = UNKNOWN if near_mistake else int(yes[prefix])
                expected = 0 if prefix == given or not allowed[prefix] else own
                assert stage.answers[start + place] == expected
    assert np.count_nonzero(stage.answers == UNKNOWN)


def test_prefixes_that_are_asked_one_by_one_become_words_of_their_own() -> None:
    words = WordBatch.from_codes([(), (0, 1), (0, 1, 1), (1, 0, 0, 1)])
    lengths = words.lengths.tolist()
    answers = np.concatenate([[word[:end].count(1) % 2 for end in range(len(word) + 1)] for word in words])
    answers[-1] = UNKNOWN  # of the last word
    thin = Stage(words, answers, every_prefix=True).thinned(np.random.default_rng(0), 50)
    whole = {word: int(thin.answers[start + len(word)]) for word, start in zip(thin.words, thin.starts, strict=True)}
    every = {word[:end] for word, length in zip(words, lengths, strict=True) for end in range(length + 1)}
    assert whole == {word: word.count(1) % 2 for word in every - {(1, 0, 0, 1)}}
    assert np.count_nonzero(thin.answers != UNKNOWN) == len(whole) == len(thin.words)
