"""Two models with several labels side by side, however they are asked: brute force is the judge."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rnncheck
from rnncheck import zoo
from rnncheck.automata.moore import MooreMachine
from rnncheck.models.black_box import BlackBoxModel, Decision
from rnncheck.models.labelled import LabelledNetwork
from rnncheck.models.protocol import Model, SteppingModel
from rnncheck.models.traces import trace_model
from rnncheck.models.word_difference import difference
from rnncheck.words import Alphabet, WordBatch
from support.networks import random_network

pytest.importorskip("torch")

import torch

ABC = ("a", "b", "c")
QUICK = rnncheck.VerifySettings(flows=None, severity_samples=0, search_steps=2_000, shorter_steps=2_000)
NAMES = ("idle", "busy", "alarm")
WORDS = [word for length in range(4) for word in itertools.product(ABC, repeat=length)]


class Labels(torch.nn.Module):
    """A GRU that says one of three labels: with one linear layer, with two, or in both directions."""

    def __init__(self, kind: str, seed: int) -> None:
        """Of two seeds the weights are near one another, so that some words are answered alike, and others are not."""
        super().__init__()
        torch.manual_seed(7)
        both = kind == "both ways"
        self.recurrent = torch.nn.GRU(3, 5, batch_first=True, bidirectional=both)
        head = [torch.nn.Linear(5, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)]
        self.head = torch.nn.Sequential(*head) if kind == "two layers" else torch.nn.Linear(10 if both else 5, 3)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.mul_(3.0).add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed)))

    def forward(self, words: Any) -> Any:
        return self.head(self.recurrent(words)[0][:, -1])


def said(module: Any, word: tuple[str, ...]) -> int:
    codes = torch.nn.functional.one_hot(torch.tensor([[ABC.index(letter) for letter in word]]), 3).float()
    with torch.no_grad():
        return int(module.eval()(codes).argmax())


@pytest.mark.parametrize("kind", ["one layer", "two layers", "both ways"])
def test_modules_are_compared_by_all_labels(kind: str) -> None:
    """Whichever label was chosen to mean yes: the empty word, which a module does not take, is alike without one."""
    modules = [Labels(kind, seed) for seed in (1, 2)]
    expected = [bool(word) and said(modules[0], word) != said(modules[1], word) for word in WORDS]
    assert True in expected
    assert False in expected[1:]
    for label in (0, 2) if kind == "one layer" else (1,):
        models = [rnncheck.wrap(module, ABC, label=label, labels=NAMES, threads=1) for module in modules]
        assert [isinstance(model, SteppingModel) for model in models] == [kind != "both ways"] * 2
        pair = difference(*models)
        assert pair.by_label
        assert pair.pair.labels == (*NAMES, "no label")
        assert pair.accepts_batch(WORDS).tolist() == expected
        assert pair.by_reference().accepts_batch(WORDS).tolist() == expected
        codes = [pair.alphabet.encode(word) for word in WORDS]
        assert [pair.reference_answer(code) for code in codes] == expected
        outputs = [tuple(pair.pair.labels[label] for label in pair.answers_of_both(code)) for code in codes]
        assert outputs[0] == ("no label", "no label")
        assert outputs[1:] == [tuple(NAMES[said(module, word)] for module in modules) for word in WORDS[1:]]
        scores = pair.scores_batch(WORDS[1:])
        assert scores is not None
        assert ((scores > 0) == expected[1:]).all()


def test_a_module_and_one_that_is_asked_for_whole_words() -> None:
    one, other = Labels("one layer", 1), Labels("both ways", 2)
    old, new = (rnncheck.wrap(module, ABC, label=1, threads=1) for module in (one, other))
    verdict = rnncheck.diff(old, new, epsilon=0.1, settings=QUICK)
    differing = [word for word in WORDS if word and said(one, word) != said(other, word)]
    assert verdict.counterexample in [word for word in differing if len(word) == len(differing[0])]
    assert verdict.comparison is not None
    assert verdict.comparison.by_label
    assert verdict.comparison.old_said[-1] == str(said(one, verdict.counterexample))
    assert verdict.comparison.old_said[0] == "no label"


def test_a_network_that_has_a_label_for_the_empty_word_and_a_module_that_has_none() -> None:
    """They differ there, and it is said which of the two has none."""
    old = rnncheck.CompiledNetwork(random_network(outputs=3), threads=1)
    pair = difference(old, rnncheck.wrap(Labels("one layer", 1), ABC, label=0, threads=1))
    assert pair.accepts(())
    assert [pair.pair.labels[label] for label in pair.answers_of_both(())] == [
        str(LabelledNetwork.of(old).empty_label),
        "no label",
    ]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("whole", [False, True])
def test_between_markers(seed: int, whole: bool) -> None:
    """Stepped and by whole words: every word with its markers around it is what counts."""
    networks = [
        random_network(outputs=3, scale=3.0, alphabet=Alphabet(list("abcd")), seed=10 * seed + n) for n in range(2)
    ]
    letters = networks[0].alphabet.letters
    plain = [rnncheck.CompiledNetwork(network, threads=1) for network in networks]
    asked: list[Model] = [_whole(each) if whole else each for each in plain]
    models = [rnncheck.wrap(each, before=letters[3], after=letters[0]) for each in asked]
    words = [word for length in range(4) for word in itertools.product(letters[1:3], repeat=length)]
    marked = [(letters[3], *word, letters[0]) for word in words]
    labelled = [LabelledNetwork.of(each) for each in plain]
    both = [[each.reference_label(each.alphabet.encode(word)) for word in marked] for each in labelled]
    pair = difference(*models)
    assert isinstance(pair, SteppingModel) != whole
    assert pair.accepts_batch(words).tolist() == [one != other for one, other in zip(*both, strict=True)]
    assert pair.accepts(()) == (both[0][0] != both[1][0])


def _whole(model: rnncheck.CompiledNetwork) -> BlackBoxModel:
    """The same network without its states."""
    label_models = [model.for_label(label) for label in range(3)]

    def evaluate(codes: Any) -> Any:
        words = WordBatch.from_codes([tuple(row) for row in codes.tolist()])
        return np.stack([model.scores_batch(words) for model in label_models], axis=1)

    return BlackBoxModel(model.alphabet, evaluate, Decision(3, label=0))


def test_labels_between_markers_that_were_exchanged() -> None:
    """Two labels exchanged: the label that means yes is alike, and what the two say is not."""
    network = zoo.entry("tokens-gru").network()
    swap = [0, 2, 1] if network.label == 0 else [2, 1, 0] if network.label == 1 else [1, 0, 2]
    exchanged = dataclasses.replace(network, head_weight=network.head_weight[swap], head_bias=network.head_bias[swap])
    old, new = (rnncheck.wrap(rnncheck.CompiledNetwork(one), before="sign") for one in (network, exchanged))
    verdict = rnncheck.diff(old, new, epsilon=0.1, settings=QUICK)
    assert verdict.violated
    assert verdict.comparison is not None
    assert verdict.comparison.by_label
    assert not difference(old, new, labels=False).by_label


def test_traces_and_machines_between_markers_and_of_modules() -> None:
    """What is said along a word is what is said of each prefix; brute force by the module itself."""
    module = Labels("two layers", 3)
    model = rnncheck.wrap(module, ABC, label=0, labels=NAMES, threads=1)
    spec = rnncheck.label_spec(model, ltlf=f"G !label={NAMES[said(module, ('b', 'a'))]}")
    words = WORDS[:20]
    avoided = said(module, ("b", "a"))
    expected = [all(said(module, word[:end]) != avoided for end in range(1, len(word) + 1)) for word in words]
    assert expected.count(True) not in (0, len(words))
    judged = trace_model(model, spec.dfa)
    assert judged.accepts_batch(words).tolist() == expected
    assert [judged.reference_answer(model.alphabet.encode(word)) for word in words] == expected
    machine = rnncheck.extract(model, labels=True, epsilon=0.2, gamma=0.2, timeout=60).automaton
    assert isinstance(machine, MooreMachine)
    assert machine.labels == (*NAMES, "no label")  # of the empty word, which the module does not take
    says = machine.output_batch(WordBatch.from_codes([(), *((letter,) for letter in range(len(ABC)))]))
    assert machine.labels[says[0]] == "no label"
    assert says[1:].tolist() == [said(module, (letter,)) for letter in ABC]


@pytest.mark.filterwarnings("ignore")
def test_onnx_by_label(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    module = Labels("one layer", 1)
    path = tmp_path / "labels.onnx"
    torch.onnx.export(
        module.eval(), torch.zeros(1, 4, 3), path, dynamo=False, input_names=["x"], dynamic_axes={"x": {0: "n", 1: "t"}}
    )  # fmt: skip
    old = rnncheck.load_model(path, alphabet=ABC, label="busy", labels=NAMES)
    new = rnncheck.wrap(Labels("one layer", 2), ABC, label=0, labels=NAMES, threads=1)
    assert old.label_names == NAMES
    expected = [bool(word) and said(module, word) != said(Labels("one layer", 2), word) for word in WORDS]
    assert difference(old, new).accepts_batch(WORDS).tolist() == expected
