"""What a result claims and no more: comparisons of some words, finite properties, weights read from a module."""

import json
from typing import Any

import numpy as np
import pytest
import torch

import rnncheck
from rnncheck import DFAModel, NotSatisfiedError, ProofSettings, Spec, Strength, SuiteResult, Verdict, VerifySettings
from rnncheck.checker.checks import Status
from rnncheck.errors import FormatError
from rnncheck.models.protocol import Model
from rnncheck.suite.check_results import Check
from rnncheck.verdict.text import headline, limits, question
from support.robust_networks import robust_network

AB = ["a", "b"]
QUICK = {"epsilon": 0.05, "gamma": 0.05, "settings": VerifySettings(search_steps=2_000)}
EVERY = {**QUICK, "settings": VerifySettings(exhaustive=5)}


def accepting(expression: str) -> DFAModel:
    return DFAModel(Spec.from_regex(expression, AB).dfa)


def as_written_before(verdict: Verdict) -> dict[str, Any]:
    """The document that the schema rnncheck/verdict/1 had for a verdict without a violation."""
    document = json.loads(verdict.to_json())
    for name in ("strength", "required"):
        del document[name]
    nothing = {"shortest": False, "no_violation_up_to": None, "other_counterexamples": [], "mistakes": [],
               "violation_mass": None, "mass_strata": [], "trace": None}  # fmt: skip
    return {
        **document,
        **nothing,
        "schema": "rnncheck/verdict/1",
        "assumption": document.pop("scope")["assumption"],
    } | {"scope": None}


@pytest.mark.parametrize(
    ("relation", "others"),
    [
        ("equal", "the two models answer every word of at most 2 letters alike"),
        ("superset", "every word of at most 2 letters that the old model accepts is accepted by the new one"),
    ],
)
def test_models_that_agree_on_the_words_that_count_are_said_to_agree_on_these(relation: Any, others: str) -> None:
    old, new = accepting("a*"), accepting("a* & !(a a a)")
    assert rnncheck.diff(old, new, relation=relation, **EVERY).counterexample == ("a", "a", "a")
    alike = rnncheck.diff(old, new, relation=relation, max_length=2, **EVERY)
    assert alike.strength is Strength.EXHAUSTIVE
    assert headline(alike) == others
    assert others in question(alike)


def test_a_comparison_in_one_direction_claims_no_more() -> None:
    found = rnncheck.diff(accepting("a*"), accepting("a a a*"), relation="subset", method="smc", **QUICK)
    assert headline(found).startswith(
        "no sequence was found that the new model accepts and the old one rejects; a random"
    )


FINITE = Spec.from_regex("a | b | b b", AB)


@pytest.mark.parametrize(
    ("spec", "options", "strength", "reason"),
    [
        (FINITE, {"relation": "superset"}, Strength.EXHAUSTIVE, "every word that counts and could be a violation"),
        (Spec.from_regex(".*", AB), {"max_length": 4}, Strength.PROVED, "whatever the model answers"),
        (Spec.from_regex(".*", AB), {}, Strength.PROVED, "whatever the model answers"),
    ],
)
def test_the_reason_says_what_was_done_and_earlier_documents_are_read_alike(
    spec: Spec, options: dict[str, Any], strength: Strength, reason: str
) -> None:
    model = accepting("(a|b)*")
    verdict = rnncheck.verify(model, spec, **options, **QUICK)
    assert verdict.strength is strength
    assert reason in verdict.reason
    before = as_written_before(verdict)
    for text in ("no word at all can be a violation", "every word that counts and could be a violation was asked"):
        read = Verdict.from_json(json.dumps({**before, "reason": text}))
        assert read.strength is strength
        assert rnncheck.replay(json.dumps({**before, "reason": text}), model).status is Status.CONFIRMED


class Module(torch.nn.Module):
    """A module with the weights of a network that is proved."""

    def __init__(self) -> None:
        super().__init__()
        network = robust_network(Spec.from_ltlf("G(a -> F b)", AB).dfa)
        layer = network.layers[0]
        self.rnn = torch.nn.RNN(2, layer.hidden, batch_first=True)
        self.out = torch.nn.Linear(layer.hidden, 1)
        parts = (layer.input_weight, layer.recurrent_weight, layer.input_bias, layer.recurrent_bias)
        with torch.no_grad():
            for parameter, part in zip(self.rnn.parameters(), parts, strict=True):
                parameter.copy_(torch.from_numpy(np.asarray(part)))
            self.out.weight.copy_(torch.from_numpy(network.head_weight))
            self.out.bias.copy_(torch.from_numpy(network.head_bias))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.rnn(x)
        return self.out(hidden[:, -1])[:, 0]


def module() -> Model:
    return rnncheck.wrap(Module().eval(), alphabet=AB, empty=True)


@pytest.mark.parametrize(("required", "code"), [("statistical", 0), ("bounded", 3), ("proved", 3)])
def test_a_sample_counts_beside_a_proof_of_the_weights_that_were_read(required: Any, code: int) -> None:
    """Should not ask for more because more was found: the sample was compared with the module itself."""
    verdict = rnncheck.verify(module(), "G(a -> F b)", require=required, **QUICK)
    assert verdict.strength is Strength.PROVED
    assert not verdict.proved
    assert verdict.exit_code == code, verdict.shortfall
    assert any("a random word violates it with probability" in claim for claim in verdict.guarantee.sentences())
    assert "the module's own code" in limits(verdict)[0]


def test_a_proof_up_to_a_length_is_about_what_was_read_too() -> None:
    model = module()
    settings = VerifySettings(proof=ProofSettings(context=0, classes=3, rounds=3, induction_depth=0))
    document = json.loads(rnncheck.prove(model, "G(a -> F b)", settings=settings).to_json())
    assert document["verdict"] == "undecided"
    assert document["guarantee"]["lengths"]["covers_reference"] is False
    document["guarantee"]["invariant"] = None
    assert rnncheck.replay(json.dumps(document), model).status is not Status.REFUTED
    document["guarantee"]["lengths"]["covers_reference"] = document["scope"]["covers_reference"] = True
    assert rnncheck.replay(json.dumps(document), model).status is Status.REFUTED


def test_what_is_not_enough_is_not_called_a_violation() -> None:
    with pytest.raises(NotSatisfiedError, match=r"what is known of .* is not enough: the result is exhaustive"):
        rnncheck.assert_satisfies(accepting("(a|b)*"), FINITE, relation="superset", require="proved", **QUICK)
    with pytest.raises(NotSatisfiedError, match="it is open whether the model satisfies"):
        rnncheck.assert_satisfies(accepting("a*"), FINITE, timeout=0)


@pytest.mark.parametrize(
    "part", ["evaluation", "health", "model", "settings", "required", "version", "scope", "guarantee"]
)
def test_one_damaged_part_is_refuted_and_the_rest_is_checked(part: str) -> None:
    model = accepting("a*")
    document = json.loads(rnncheck.verify(model, "G !b", method="smc", **QUICK).to_json())
    result = rnncheck.replay(json.dumps({**document, part: 3}), model)
    assert result.status is Status.REFUTED
    assert len(result.checks) > 2


@pytest.mark.parametrize(
    "changes",
    [{"strength": "proved"}, {"strength": "exhaustive"}, {"guarantee": {"epsilon": -1.0, "gamma": 0.05, "samples": 9}}],
)
def test_parts_that_do_not_belong_together_are_not_read(changes: dict[str, Any]) -> None:
    """Should be an error of a document, alone or in the result of a check."""
    verdict = rnncheck.verify(accepting("a*"), "G !b", method="smc", **QUICK)
    document = {**json.loads(verdict.to_json()), **changes}
    with pytest.raises(FormatError, match="belong together"):
        Verdict.from_json(json.dumps(document))
    check = Check(model="m", name="p", kind="ltlf", text="G !b", source="m", verdict=verdict)
    result = json.loads(SuiteResult(suite="s", checks=(check,), seconds=0.0).to_json())
    result["checks"][0]["verdict"] = document
    with pytest.raises(FormatError, match="not the result of a check"):
        SuiteResult.from_json(json.dumps(result))


@pytest.mark.parametrize("changes", [{"epsilon": 0.0}, {"words": 3}, {"gamma": 1e-9}, {"reference": None}])
def test_a_comparison_with_the_reference_that_was_not_made_is_refuted(changes: dict[str, Any]) -> None:
    model = rnncheck.load_model(rnncheck.zoo.path("even-elman"))
    verdict = rnncheck.verify(model, "regex: (b* a b* a)* b*", method="smc", **QUICK)
    document = json.loads(verdict.to_json())
    assert rnncheck.replay(verdict, model).status is Status.CONFIRMED
    document["evaluation"] |= changes
    assert rnncheck.replay(json.dumps(document), model).status is Status.REFUTED
