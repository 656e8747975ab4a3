"""Thresholds near 0 and 1: the engine's comparison falls where the definition, a float32 sigmoid, falls."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rnncheck.errors import ModelError
from rnncheck.models.black_box import Decision
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.reference import reference_score
from rnncheck.models.thresholds import largest_rejected
from rnncheck.words import WordBatch
from support.networks import random_network


@given(threshold=st.floats(1e-37, 1 - 1e-6), dtype=st.sampled_from([np.float32, np.float64]))
def test_the_definition_flips_right_after_the_largest_rejected_output(threshold, dtype):
    cut = largest_rejected(threshold, np.dtype(dtype))
    above = np.nextafter(dtype(cut), dtype(np.inf))
    exponential = np.exp(-np.array([cut, above], dtype=np.float64)).astype(dtype)
    probabilities = dtype(1) / (dtype(1) + exponential)
    assert (probabilities > dtype(threshold)).tolist() == [False, True]
    # PyTorch's exponential may differ in its last bit, so its flip is looked for a little to both sides.
    room = dtype(8) * np.spacing(np.abs(above)) + dtype(8) * np.finfo(dtype).eps
    around = torch.tensor(np.array([dtype(cut) - room, above + room], dtype=dtype))
    by_torch = (torch.sigmoid(around) > threshold).tolist()
    assert by_torch[0] <= by_torch[1]


@pytest.mark.parametrize("threshold", [0.99999, 0.999999, 1e-5, 0.5, 0.9])
def test_engine_and_reference_agree_on_outputs_around_the_flip(threshold):
    network = random_network(hidden=(4,), threshold=threshold)
    cut = np.float32(network.logit_threshold)
    for output in (np.nextafter(cut, np.float32(-np.inf)), cut, np.nextafter(cut, np.float32(np.inf))):
        accepted = bool(network.scores(np.array([[output]]))[0] > 0)
        assert accepted == (output > cut)


def test_every_word_is_answered_as_the_float32_sigmoid_has_it():
    """The logarithm of the odds lies 5e-3 away from where a float32 sigmoid exceeds 0.99999."""
    base = random_network(hidden=(4,), seed=3)
    words = [tuple(word) for word in np.random.default_rng(0).integers(3, size=(200, 6)).tolist()]
    outputs = np.array([reference_score(base, word) for word in words]) + base.logit_threshold
    scale = np.float32(3e-3 / outputs.std())
    network = dataclasses.replace(
        base,
        head_weight=base.head_weight * scale,
        head_bias=(base.head_bias * scale + np.float32(11.5145) - np.float32(outputs.mean()) * scale).astype(
            np.float32
        ),
        threshold=0.99999,
    )
    model = CompiledNetwork(network)
    answers = model.accepts_batch(WordBatch.from_codes(words))
    assert 0 < answers.sum() < len(words)
    for word, answer in zip(words, answers.tolist(), strict=True):
        logit = model.reference_score(word) + network.logit_threshold
        assert answer == bool(torch.sigmoid(torch.tensor(np.float32(logit))) > 0.99999)


@pytest.mark.parametrize("threshold", [1 - 1e-12, 1e-60])
def test_thresholds_that_float32_cannot_tell_from_0_or_1_are_refused(threshold):
    with pytest.raises(ModelError, match="in float32"):
        random_network(threshold=threshold)
    with pytest.raises(ModelError, match="in float32"):
        Decision(1, threshold)


def test_float64_weights_are_computed_in_float64():
    network = random_network(dtype=np.float64, threshold=1 - 1e-12)
    assert "float64" in CompiledNetwork(network).describe()["queries"]
