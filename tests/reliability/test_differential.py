"""Verdicts held against brute force and against one another, and proof that contradictions would be noticed."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

from rnncheck import Verdict
from rnncheck.verdict.value import Guarantee, Outcome
from support.paths import ROOT

SCRIPT = ROOT / "scripts" / "differential.py"
pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="the scripts are not beside the tests")


@pytest.fixture(scope="module")
def differential() -> ModuleType:
    spec = importlib.util.spec_from_file_location("differential", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["differential"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_verdicts_do_not_contradict_one_another(differential: ModuleType, part: int) -> None:
    """Should find nothing wrong in any method, model, relation or learner."""
    for seed in range(5 * part, 5 * part + 5):
        assert differential.run_case(differential.Case.drawn(seed)) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_verdicts_do_not_contradict_one_another(differential: ModuleType, part: int) -> None:
    for seed in range(1000 + 50 * part, 1050 + 50 * part):
        assert differential.run_case(differential.Case.drawn(seed)) == []


def test_the_cases_are_of_every_kind(differential: ModuleType) -> None:
    cases = [differential.Case.drawn(seed) for seed in range(200)]
    assert {case.model for case in cases} == {"network", "automaton", "function"}
    assert {case.relation for case in cases} == set(differential.RELATIONS)
    assert {case.learner for case in cases} == set(differential.LEARNERS)
    assert len({case.cell for case in cases}) == 4


def lying(verdict: Verdict, lie: str) -> Verdict:
    """The verdict with something in it that is not so."""
    honest = verdict.guarantee or Guarantee(epsilon=1e-9, gamma=1e-6, samples=10**9)
    told: dict[str, dict[str, Any]] = {
        "word": {"outcome": Outcome.VIOLATED, "counterexample": (), "guarantee": None},
        "exact": {"guarantee": replace(honest, exact_length=60)},
        "proof": {"guarantee": replace(honest, proof=True)},
        "epsilon": {"guarantee": replace(honest, epsilon=1e-9)},
    }
    satisfied = {"outcome": Outcome.SATISFIED, "counterexample": None, "faulty_flows": (), "trace": None}
    return replace(verdict, **{**satisfied, **told[lie]})


@pytest.mark.parametrize(
    ("lie", "complaint"),
    [("word", "is none"), ("exact", "exact up to 60"), ("proof", "a proof"), ("epsilon", "those known have")],
)
def test_a_lie_is_found_and_its_file_repeats_it(
    differential: ModuleType, monkeypatch: pytest.MonkeyPatch, lie: str, complaint: str
) -> None:
    """Should notice each kind of false claim, and the file should bring the same case back."""
    honest = differential.verify
    monkeypatch.setattr(differential, "METHODS", ("smc",))
    monkeypatch.setattr(differential, "verify", lambda *args, **more: lying(honest(*args, **more), lie))
    for seed in range(60):
        case = differential.Case.drawn(seed)
        problems = differential.run_case(case)
        if any(complaint in problem.what for problem in problems):
            break
    else:
        pytest.fail("no case noticed the lie")
    again = differential.case_in(differential.failure_text(case, problems))
    assert again == case
    assert differential.run_case(again) == problems
