"""What "satisfied" rests on, what a caller requires of it, and specifications given as text."""

import json

import numpy as np
import pytest

import rnncheck
from rnncheck import DFA, DFAModel, NotSatisfiedError, Satisfied, Spec, Strength, VerifySettings, Violated, zoo
from rnncheck.errors import InputError
from rnncheck.models.protocol import Model

FEW, EVERY = VerifySettings(search_steps=2_000), VerifySettings(exhaustive=5)
QUICK = {"epsilon": 0.05, "gamma": 0.05, "settings": FEW}
NO_A = DFA(["a", "b"], [[1, 0], [1, 1]], np.array([True, False]))  # no a at all
NAMES = ("proved", "exhaustive", "bounded", "statistical")


def provable() -> tuple[Model, Spec]:
    entry = zoo.entry("even-provable-elman")
    return rnncheck.load_model(entry.path), entry.spec()


def of_each_strength() -> dict[str, rnncheck.Verdict]:
    model, (network, spec) = DFAModel(NO_A), provable()
    rare = Spec.from_regex("! (a a a a a a a a a)", ["a", "b"])  # one word of nine letters could be a violation
    return {
        "proved": rnncheck.prove(network, spec),
        "exhaustive": rnncheck.verify(model, NO_A, max_length=5, **{**QUICK, "settings": EVERY}),
        "bounded": rnncheck.verify(model, rare, method="smc", **QUICK),
        "statistical": rnncheck.verify(model, NO_A, method="smc", **QUICK),
    }


def test_each_strength_is_called_by_its_name_and_ordered() -> None:
    for name, verdict in of_each_strength().items():
        assert isinstance(verdict, Satisfied)
        assert verdict.strength is Strength(name)
        assert verdict.proved == (name == "proved")
        assert json.loads(verdict.to_json())["strength"] == name
        assert rnncheck.replay(verdict).status.name != "REFUTED"
        for least in NAMES:
            enough = NAMES.index(name) <= NAMES.index(least)
            asked = rnncheck.Verdict.from_json(json.dumps(json.loads(verdict.to_json()) | {"required": least}))
            assert asked.exit_code == (0 if enough else 3)
            assert (asked.shortfall is None) == enough
            if not enough:
                assert asked.shortfall == f"the result is {name}, and {least} is required"


def test_what_holds_whatever_the_model_says_is_proved() -> None:
    verdict = rnncheck.verify(DFAModel(NO_A), "regex: .*", require="proved", **QUICK)
    assert verdict.proved
    assert verdict.exit_code == 0


def test_a_violation_is_a_violation_whatever_is_required() -> None:
    verdict = rnncheck.verify(DFAModel(NO_A.complement()), NO_A, require="proved", **QUICK)
    assert isinstance(verdict, Violated)
    assert verdict.exit_code == 1
    assert verdict.shortfall is None


def test_an_unknown_strength_is_an_error_that_names_the_known() -> None:
    with pytest.raises(InputError, match="unknown strength 'sure'; known are proved, exhaustive, bounded, statistical"):
        rnncheck.verify(DFAModel(NO_A), NO_A, require="sure")


def test_assert_satisfies_requires_it_too() -> None:
    with pytest.raises(NotSatisfiedError, match="the result is statistical, and proved is required"):
        rnncheck.assert_satisfies(DFAModel(NO_A), NO_A, method="smc", require="proved", **QUICK)


@pytest.mark.parametrize("text", ["G !a", "regex: b*"])
def test_a_specification_may_be_text(text: str) -> None:
    """Should read it over the model's letters, as an assumption is read."""
    verdict = rnncheck.verify(DFAModel(NO_A), text, relation="equal", **QUICK)
    assert verdict.satisfied
    assumed = rnncheck.verify(DFAModel(NO_A.complement()), "G !a", assume="regex: b*", **QUICK)
    assert assumed.proved


def test_text_that_is_no_specification_names_the_place() -> None:
    with pytest.raises(InputError, match="column"):
        rnncheck.verify(DFAModel(NO_A), "G (a ->")
    with pytest.raises(InputError, match="3 is not a specification; give an LTLf formula as text"):
        rnncheck.verify(DFAModel(NO_A), 3)


def test_prove_has_one_method() -> None:
    with pytest.raises(InputError, match="method='smc' is another; call verify for that"):
        rnncheck.prove(DFAModel(NO_A), NO_A, method="smc")


@pytest.mark.parametrize(("old", "new"), [("extract_automaton", "extract"), ("robustness", "robust")])
def test_an_old_name_is_an_error_that_names_the_new_one(old: str, new: str) -> None:
    with pytest.raises(ImportError, match=f"rnncheck.{old} is called rnncheck.{new} now"):
        getattr(rnncheck, old)
    with pytest.raises(ImportError, match=f"rnncheck.{new} now"):
        exec(f"from rnncheck import {old}")
