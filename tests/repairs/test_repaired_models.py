"""What is trained answers as what is verified."""

import dataclasses
import itertools

import numpy as np
import pytest

from rnncheck import CompiledNetwork, zoo
from rnncheck.models.labelled import LabelledNetwork, answers_of
from rnncheck.models.network import RecurrentNetwork
from rnncheck.repairs.repaired_models import RepairedModule, RepairedNetwork, scores_along
from rnncheck.training.batches import UNKNOWN, Stage
from rnncheck.training.fine_tuning import FineTuning, fine_tune
from rnncheck.words import Alphabet, WordBatch

pytest.importorskip("torch")


def padded_with_another_threshold() -> RecurrentNetwork:
    network = zoo.entry("xml-lstm").network()
    return dataclasses.replace(network, padding=network.inputs[3] * 0.5, threshold=0.8)


def without_biases() -> RecurrentNetwork:
    network = zoo.entry("tomita4-gru").network()
    layers = tuple(dataclasses.replace(layer, input_bias=None, recurrent_bias=None) for layer in network.layers)
    return dataclasses.replace(network, layers=layers)


def with_a_column_for_padding() -> RecurrentNetwork:
    """One-hot letters, and one number more that is for none of them."""
    network = zoo.entry("tomita4-gru").network()
    first = network.layers[0]
    assert np.array_equal(network.inputs, np.eye(len(network.alphabet)))
    wider = dataclasses.replace(first, input_weight=np.pad(first.input_weight, ((0, 0), (0, 1)), constant_values=0.5))
    inputs = np.pad(network.inputs, ((0, 0), (0, 1)))
    return dataclasses.replace(network, inputs=inputs, layers=(wider, *network.layers[1:]))


NETWORKS = {name: zoo.entry(name).network for name in zoo.names()}
NETWORKS |= {
    "padded": padded_with_another_threshold,
    "without biases": without_biases,
    "a column more": with_a_column_for_padding,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_trained_form_puts_out_what_the_network_does(name: str) -> None:
    from rnncheck.training.torch_network import TorchNetwork

    network = NETWORKS[name]()
    rng = np.random.default_rng(0)
    letters = rng.integers(len(network.alphabet), size=(12, 20))
    put_out = TorchNetwork.of(network).logits(letters)
    words = WordBatch.from_codes([column.tolist() for column in letters.T])
    labels = max(2, network.outputs)
    scores = scores_along(CompiledNetwork(network, threads=1), words, labels).reshape(20, 13, labels)
    if network.outputs == 1:
        expected = put_out[:, :, 0].T - network.logit_threshold
        assert np.allclose(scores[:, :, 1], expected, atol=1e-4)
    else:
        assert np.array_equal(scores.argmax(axis=2), put_out.argmax(axis=2).T)
    candidate = RepairedNetwork(network, threads=1)
    assert candidate.network() is network  # nothing was trained yet
    candidate.load({weights: np.nextafter(array, np.float32(1)) for weights, array in candidate.arrays().items()})
    back = candidate.network()
    assert (back.threshold, back.label, back.labels) == (network.threshold, network.label, network.labels)
    assert np.array_equal(
        answers_of(CompiledNetwork(back, threads=1), words),
        answers_of(CompiledNetwork(network, threads=1), words),
    )


def test_labels_are_those_that_the_network_says() -> None:
    model = CompiledNetwork(zoo.entry("tokens-gru").network(), threads=1)
    rng = np.random.default_rng(1)
    words = [tuple(rng.integers(3, size=length).tolist()) for length in range(8) for _ in range(5)]
    labelled = LabelledNetwork.of(model)
    assert answers_of(model, WordBatch.from_codes(words)).tolist() == [labelled.reference_label(w) for w in words]


def test_training_a_module_does_not_depend_on_what_ran_before() -> None:
    """Random state, threads, precision and gradients are settings of the whole process, which any code may change."""
    import torch

    from rnncheck.training.torch_network import torch_threads

    class Mine(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.letters = torch.nn.Embedding(2, 16)
            self.memory = torch.nn.GRU(16, 32, batch_first=True)
            self.decide = torch.nn.Linear(32, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.decide(self.memory(self.letters(x))[0][:, -1])

    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = Mine()
    words = WordBatch.from_codes([word for n in range(1, 6) for word in itertools.product(range(2), repeat=n)])
    answers = np.full(len(words.codes) + len(words), UNKNOWN)
    answers[words.offsets[1:] + np.arange(len(words))] = words.codes[words.offsets[1:] - 1]
    few = FineTuning(epochs=2, min_batches=3)

    def trained() -> list[bytes]:
        with torch_threads(1):
            candidate = RepairedModule(module, Alphabet(["a", "b"]), {})
            fine_tune(candidate, Stage(words, answers, every_prefix=False), 2, np.random.default_rng(0), few)
        return [array.tobytes() for array in candidate.arrays().values()]

    alone = trained()
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    try:
        with torch.random.fork_rng():
            torch.manual_seed(99)
            torch.set_num_threads(2)
            torch.set_float32_matmul_precision("medium")
            with torch.inference_mode():
                assert trained() == alone
            assert (torch.get_num_threads(), torch.get_float32_matmul_precision()) == (2, "medium")
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)
