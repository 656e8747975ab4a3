"""What is trained answers as what is verified."""

import dataclasses

import numpy as np
import pytest

from rnncheck import CompiledNetwork, zoo
from rnncheck.models.labelled import LabelledNetwork
from rnncheck.models.network import RecurrentNetwork
from rnncheck.repairing.pupils import NetworkPupil, answers_of, scores_along
from rnncheck.words import WordBatch

pytest.importorskip("torch")


def padded_with_another_threshold() -> RecurrentNetwork:
    network = zoo.entry("xml-lstm").network()
    return dataclasses.replace(network, padding=network.inputs[3] * 0.5, threshold=0.8)


def without_biases() -> RecurrentNetwork:
    network = zoo.entry("tomita4-gru").network()
    layers = tuple(dataclasses.replace(layer, input_bias=None, recurrent_bias=None) for layer in network.layers)
    return dataclasses.replace(network, layers=layers)


NETWORKS = {name: zoo.entry(name).network for name in zoo.names()}
NETWORKS |= {"padded": padded_with_another_threshold, "without biases": without_biases}


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
    back = NetworkPupil(network, threads=1).network()
    assert (back.threshold, back.label, back.labels) == (network.threshold, network.label, network.labels)
    assert np.array_equal(
        answers_of(CompiledNetwork(back, threads=1), words, labels),
        answers_of(CompiledNetwork(network, threads=1), words, labels),
    )


def test_labels_are_those_that_the_network_says() -> None:
    model = CompiledNetwork(zoo.entry("tokens-gru").network(), threads=1)
    rng = np.random.default_rng(1)
    words = [tuple(rng.integers(3, size=length).tolist()) for length in range(8) for _ in range(5)]
    labelled = LabelledNetwork.of(model)
    assert answers_of(model, WordBatch.from_codes(words), 3).tolist() == [labelled.reference_label(w) for w in words]
