"""Verdicts held against brute force and against one another, and proof that contradictions would be noticed."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import itertools
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

from rnncheck import Satisfied, Verdict, Violated
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import Cell
from rnncheck.verdict.facts import Strength
from rnncheck.verdict.guarantee import Guarantee
from rnncheck.verification.methods import METHODS
from support import samples
from support.paths import ROOT

SCRIPTS = ROOT / "scripts"
pytestmark = pytest.mark.skipif(not SCRIPTS.is_dir(), reason="the scripts are not beside the tests")


@pytest.fixture
def cases(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("torch", reason="the extra torch is not installed")
    monkeypatch.syspath_prepend(SCRIPTS)
    module = importlib.import_module("differential_cases")
    module.network_subject.cache_clear()
    return module


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_verdicts_do_not_contradict_one_another(cases: ModuleType, part: int) -> None:
    """Should find nothing wrong in any method, model, relation or learner."""
    for seed in range(10 * part, 10 * part + 10):
        assert cases.run_case(cases.Case.drawn(seed)).problems == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_verdicts_do_not_contradict_one_another(cases: ModuleType, part: int) -> None:
    for seed in range(1000 + 50 * part, 1050 + 50 * part):
        assert cases.run_case(cases.Case.drawn(seed)).problems == []


def test_the_cases_are_of_every_kind(cases: ModuleType) -> None:
    drawn = [cases.Case.drawn(seed) for seed in range(0, 3000, 10)]
    assert {case.model.kind for case in drawn} == set(cases.MODELS)
    assert {case.relation for case in drawn} == set(cases.RELATIONS)
    assert {case.learner for case in drawn} == set(cases.LEARNERS)
    assert {method for case in drawn for method in case.methods} == set(cases.METHODS) == set(METHODS)
    assert {case.model.cell for case in drawn} == {cell.value for cell in Cell}


def lying(verdict: Verdict, lie: str) -> Verdict:
    """The verdict with something in it that is not so."""
    honest = verdict.guarantee or Guarantee(epsilon=1e-9, gamma=1e-6, samples=10**9)
    lies: dict[str, dict[str, Any]] = {
        "exact": {"guarantee": replace(honest, exact_length=60)},
        "proof": {"guarantee": replace(honest, proof=True), "strength": Strength.PROVED},
        "epsilon": {"guarantee": replace(honest, epsilon=1e-9)},
    }
    if lie == "word":
        return samples.changed(verdict, kind=Violated, counterexample=())
    return samples.changed(verdict, kind=Satisfied, **{"strength": Strength.STATISTICAL, **lies[lie]})


@pytest.mark.parametrize(
    ("lie", "complaint"),
    [("word", "is none"), ("exact", "exact up to 60"), ("proof", "a proof"), ("epsilon", "those known have")],
)
def test_a_lie_is_found_and_its_file_repeats_it(
    cases: ModuleType, monkeypatch: pytest.MonkeyPatch, lie: str, complaint: str
) -> None:
    """Should notice each kind of false claim, and the file should bring the same case back."""
    honest = cases.verify
    monkeypatch.setattr(cases, "verify", lambda *args, **more: lying(honest(*args, **more), lie))
    for seed in range(60):
        case = dataclasses.replace(cases.Case.drawn(seed), methods=("smc",))
        problems = cases.run_case(case).problems
        if any(complaint in problem.what for problem in problems):
            break
    else:
        pytest.fail("no case noticed the lie")
    again = cases.case_in(cases.failure_text(case, problems))
    assert again == case
    assert cases.run_case(again).problems == problems


def test_an_engine_that_differs_from_the_original_is_found(cases: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should ask PyTorch, which knows nothing of a change in the engine."""
    honest = CompiledNetwork.accepts_batch
    monkeypatch.setattr(CompiledNetwork, "accepts_batch", lambda model, words: ~honest(model, words))
    case = next(case for case in map(cases.Case.drawn, itertools.count()) if case.model.kind == "network")
    assert "engine" in {problem.method for problem in cases.run_case(case).problems}


def test_an_interrupted_run_is_gone_on_with(cases: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should run no case of a finished piece again, and count what is kept of it."""
    differential = importlib.import_module("differential")
    monkeypatch.setattr(differential, "PIECE", 2)

    def run(count: int) -> str:
        monkeypatch.setattr(sys, "argv", ["differential.py", "--cases", str(count), "--out", str(tmp_path)])
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            assert differential.main() == 0
        return out.getvalue().split("\n", count // 2)[-1]

    run(4)
    asked: list[int] = []

    def watched(case: Any) -> Any:
        asked.append(case.seed)
        return cases.run_case(case)

    monkeypatch.setattr(differential, "run_case", watched)
    whole = run(6)
    assert asked == [4, 5]
    assert "6 cases, 12 verdicts" in whole
    assert run(6) == whole
    assert asked == [4, 5]
