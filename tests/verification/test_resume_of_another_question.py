"""A checkpoint answers its own question alone: whatever an answer depends on is part of the question."""

import functools

import pytest

from rnncheck import Spec, verify, wrap, zoo
from rnncheck.errors import InputError
from rnncheck.models.adapters import DFAModel, complement
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.verification.label_questions import label_spec, verify_labels
from rnncheck.verification.verify_settings import VerifySettings

LETTERS = ["a", "b"]


def settings(path, *, resume=False):
    return VerifySettings(checkpoint=str(path), resume=resume, search_steps=500, flows=None)


def test_of_another_specification_of_labels(tmp_path):
    """Before, the second question was answered from the first one's answers: satisfied, with no step at all."""
    model = CompiledNetwork(zoo.entry("tokens-gru").network())
    first, second = "G (label=integer | true)", "G !label=decimal"
    few = {"epsilon": 0.05, "gamma": 0.05}
    assert verify_labels(model, label_spec(model, ltlf=first), settings=settings(tmp_path / "c"), **few).satisfied
    with pytest.raises(InputError, match="another question"):
        verify_labels(model, label_spec(model, ltlf=second), settings=settings(tmp_path / "c", resume=True), **few)
    verdict = verify_labels(model, label_spec(model, ltlf=first), settings=settings(tmp_path / "c", resume=True), **few)
    assert verdict.satisfied


def shorter_than(limit, words):
    return [len(word) < limit for word in words]


A_STAR, B_STAR = (DFAModel(Spec.from_regex(text, LETTERS).dfa) for text in ("a*", "b*"))
PAIRS = {
    "complement": (complement(A_STAR), complement(B_STAR)),
    "automaton": (A_STAR, B_STAR),
    "code": tuple(wrap(functools.partial(shorter_than, n), LETTERS, fingerprint=f"shorter than {n}") for n in (3, 4)),
    "threshold": tuple(
        wrap(lambda words: [0.55 for _ in words], LETTERS, threshold=t, fingerprint="0.55") for t in (0.5, 0.6)
    ),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_of_another_model(kind, tmp_path):
    first, second = PAIRS[kind]
    spec, few = Spec.from_regex("(a | b)*", LETTERS), {"epsilon": 0.05, "gamma": 0.05}
    verify(first, spec, settings=settings(tmp_path / "c"), **few)
    verify(first, spec, settings=settings(tmp_path / "c", resume=True), **few)
    with pytest.raises(InputError, match="another question: its model"):
        verify(second, spec, settings=settings(tmp_path / "c", resume=True), **few)


def test_what_has_no_digest_cannot_be_resumed(tmp_path):
    def answers(words):
        with open(__file__) as file:
            known = file.read()
        return [str(word) in known for word in words]

    with pytest.raises(InputError, match=r"the function .*answers, .*fingerprint=.*; or leave out --checkpoint"):
        verify(wrap(answers, LETTERS), Spec.from_regex("a*", LETTERS), settings=settings(tmp_path / "c"))
    assert not (tmp_path / "c").exists()
