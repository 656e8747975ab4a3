"""A proof of a part: what is reported, that it is true, when it is enough, and that a document cannot claim more."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from rnncheck import zoo
from rnncheck.automata.minimisation import minimise
from rnncheck.automata.product import symmetric_difference
from rnncheck.checker import Replay, ReplaySettings, Status, replay
from rnncheck.errors import InputError
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import Cell
from rnncheck.probability.distributions import WordDistribution
from rnncheck.proofs.proof_search import ProofSettings
from rnncheck.spec import Spec
from rnncheck.verdict.certificate import Certificate
from rnncheck.verdict.guarantee import at_most
from rnncheck.verdict.value import Verdict
from rnncheck.verification.label_questions import label_spec, verify_labels
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from support.proofs import random_dfa, with_one_word_changed
from support.robust_networks import robust_network

ENTRY = zoo.entry("tomita4-gru")


@functools.cache
def partly(**proof: float) -> tuple[Verdict, Certificate, CompiledNetwork]:
    model = CompiledNetwork(ENTRY.network())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.cert"
        verdict = verify(
            model,
            ENTRY.spec(),
            method="prove",
            distribution=WordDistribution(model.alphabet, stop=0.3),
            settings=VerifySettings(proof=ProofSettings(context=4, **proof), certificate=str(path)),
        )
        return verdict, Certificate.from_json(path.read_text()), model


def again(verdict: Verdict | str, proof: Certificate, model: CompiledNetwork) -> Replay:
    return replay(verdict, model, ReplaySettings(certificate=proof))


def test_what_is_not_proved_is_bounded_and_the_bound_is_checked_again() -> None:
    verdict, proof, model = partly()
    assert verdict.undecided
    guarantee = verdict.guarantee
    assert guarantee is not None
    assert not guarantee.proof
    assert guarantee.invariant is not None
    assert guarantee.invariant.unproved is not None
    assert 0.0 < guarantee.invariant.unproved < 0.5
    assert guarantee.exact_length is not None
    assert guarantee.lengths is not None
    assert "without a sample" in str(guarantee)
    assert f"no word of at most {guarantee.exact_length} letters" in str(guarantee)
    assert again(verdict, proof, model).status is Status.CONFIRMED
    assert proof.of_a_part
    result = replay(proof, model)  # by itself it does not say how much it leaves open
    assert result.status is Status.OPEN
    assert [check.name for check in result.having(Status.OPEN)] == ["unproved words"]
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_a_certificate_over_more_letters_is_about_another_question(tmp_path: Path) -> None:
    verdict, _, model = partly()
    spec, path = Spec.from_ltlf("G(a -> F b)", ["a", "b", "c"]), tmp_path / "other.cert"
    other = CompiledNetwork(robust_network(spec.dfa))
    assert verify(other, spec, method="prove", settings=VerifySettings(certificate=str(path))).satisfied
    result = again(verdict, Certificate.from_json(path.read_text()), model)
    assert "proof: question" in {check.name for check in result.having(Status.REFUTED)}


def test_enough_is_what_was_asked_for_and_no_more() -> None:
    bound = partly()[0].guarantee.invariant.unproved
    enough, proof, model = partly(epsilon=bound * 1.01)
    assert enough.satisfied
    assert enough.guarantee is not None
    assert not enough.guarantee.proof
    assert again(enough, proof, model).status is Status.CONFIRMED
    assert partly(epsilon=bound)[0].undecided
    for wrong in (-0.1, 1.0):
        with pytest.raises(InputError, match="epsilon"):
            ProofSettings(epsilon=wrong)


CLAIMS = {
    "less is unproved": lambda doc: doc["guarantee"]["invariant"].update(unproved=0.001),
    "nothing is unproved": lambda doc: doc["guarantee"]["invariant"].update(unproved=0.0),
    "a probability below 0": lambda doc: doc["guarantee"]["invariant"].update(unproved=-0.5),
    "it is a proof": lambda doc: doc["guarantee"].update(proof=True),
    "a proof of all": lambda doc: (
        doc["guarantee"]["invariant"].update(unproved=None), doc["guarantee"].update(proof=True),
        doc.update(verdict="satisfied"),
    ),
    "it is satisfied": lambda doc: doc.update(verdict="satisfied"),
    "a greater length": lambda doc: doc["guarantee"].update(exact_length=doc["guarantee"]["exact_length"] + 10),
    "fewer letters tell apart": lambda doc: doc["guarantee"]["lengths"].update(context=0),
    "another arithmetic": lambda doc: doc["guarantee"]["lengths"].update(arithmetic="exact numbers"),
    "no length": lambda doc: doc["guarantee"].update(exact_length=None),
    "all were asked": lambda doc: (doc["guarantee"].update(lengths=None, exact_length=30)),
    "shorter words": lambda doc: doc["guarantee"]["distribution"].update(stop=0.9),
}  # fmt: skip


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_document_that_claims_more_is_refuted(claim: str) -> None:
    verdict, proof, model = partly()
    document = json.loads(verdict.to_json())
    CLAIMS[claim](document)
    assert again(json.dumps(document), proof, model).status is Status.REFUTED


def test_a_certificate_of_a_part_that_claims_more_is_refuted() -> None:
    _, proof, model = partly()

    def with_parts(**parts: Any) -> Replay:
        return replay(msgspec.structs.replace(proof, **parts).sealed(), model)

    left = proof.left
    assert isinstance(left, tuple)
    assert left
    assert with_parts(left=left[1:]).status is Status.REFUTED  # a class without bounds
    assert with_parts(left=msgspec.UNSET, undecided=msgspec.UNSET).status is Status.REFUTED
    assert with_parts(left=(0, *left)).status is Status.REFUTED  # the empty word
    assert with_parts(left=(*left, 10**6)).status is Status.REFUTED
    assert with_parts(undecided=left).status is Status.REFUTED
    cells = list(proof.cells)
    cells[left[0]] = msgspec.structs.replace(cells[left[0]], successors=(1,) * len(proof.alphabet))
    assert with_parts(cells=tuple(cells)).status is Status.REFUTED
    bounds = (-1.0,) * len(cells[0].lower)
    kept = next(number for number in range(1, len(proof.cells)) if number not in left)
    cells = list(proof.cells)
    cells[kept] = msgspec.structs.replace(cells[kept], lower=bounds, upper=bounds)
    assert with_parts(cells=tuple(cells)).status is Status.REFUTED


@pytest.mark.parametrize("cell", [Cell.RNN_TANH, Cell.GRU, Cell.LSTM])
@pytest.mark.parametrize("relation", ["subset", "superset", "equal"])
def test_no_bound_is_below_the_mass_of_a_planted_violation(cell: Cell, relation: str) -> None:
    """Should find the word, or bound its probability from above and stop before its length."""
    spec = minimise(random_dfa(3, 2, 5))
    word = tuple(np.random.default_rng(5).integers(2, size=6).tolist())
    changed = with_one_word_changed(spec, word)
    words = WordDistribution(spec.alphabet, stop=0.2)
    verdict = verify(
        CompiledNetwork(robust_network(changed, cell)),
        Spec.from_dfa(spec),
        method="prove",
        relation=relation,
        distribution=words,
        settings=VerifySettings(proof=ProofSettings(context=3)),
    )
    accepts = spec.accepts(spec.alphabet.decode(word))
    if relation == ("subset" if accepts else "superset"):
        assert not verdict.violated
        return
    assert not verdict.satisfied
    if verdict.undecided:
        assert verdict.guarantee is not None
        assert verdict.guarantee.invariant is not None
        assert (verdict.guarantee.invariant.unproved or 0.0) >= words.mass(symmetric_difference(changed, spec))
        assert (verdict.guarantee.exact_length or 0) < 6


@pytest.mark.parametrize("weight", [0.0, 1e-200, 1e-4])
def test_words_that_are_never_drawn_are_unproved_all_the_same(weight: float) -> None:
    """The one wrong word has letters of that weight: a probability of 0, or one that floats lose, is no proof."""
    spec, word = Spec.from_regex("a* | a* b (a|b)* b", ["a", "b"]).dfa, (1, 0, 0, 1, 1)
    changed = with_one_word_changed(spec, word)
    model, words = CompiledNetwork(robust_network(changed)), WordDistribution(spec.alphabet, {"a": 1.0, "b": weight})
    verdict = verify(
        model,
        Spec.from_dfa(spec),
        method="prove",
        relation="equal",
        distribution=words,
        settings=VerifySettings(proof=ProofSettings(context=2, induction_depth=0)),  # or it would find the word
    )
    assert verdict.undecided
    guarantee = verdict.guarantee
    assert guarantee is not None
    assert guarantee.invariant is not None
    unproved = guarantee.invariant.unproved
    assert unproved is not None
    assert unproved > 0.0
    assert unproved >= words.mass(symmetric_difference(changed, spec))
    assert not guarantee.proof
    assert (guarantee.exact_length or 0) < len(word)


def test_a_bound_is_never_told_smaller_than_it_is() -> None:
    for tiny in (5e-324, 1e-307):
        assert float(at_most(tiny)) >= tiny
    for bound in (0.0, 1e-12, 0.0123456, 0.12345, 0.4999999, 0.99951, 1.0):
        assert float(at_most(bound)) >= bound
        assert float(at_most(bound)) <= bound * 1.011


def test_properties_of_label_traces_are_refused_with_the_reason() -> None:
    model = CompiledNetwork(zoo.entry("tokens-gru").network())
    spec = label_spec(model, ltlf="G(label=malformed -> F label=integer)")
    verdict = verify_labels(model, spec, method="prove")
    assert verdict.undecided
    assert "reads the labels" in verdict.reason
