"""The assumption about evaluators stands in one document and one module, and everything takes it from there."""

from __future__ import annotations

import re

import pytest

from rnncheck.checker.proof_checks import KNOWN_ARITHMETIC
from rnncheck.models import evaluator_assumption as assumed
from rnncheck.models.thresholds import LEAST_LEAD
from rnncheck.proofs.domains.interval import Rounding
from rnncheck.verdict.certificate import ASSUMED
from support.paths import ROOT

PAGE = ROOT / "docs" / "evaluator-assumption.md"
SOURCE = ROOT / "src" / "rnncheck"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the tests are not in the source tree")


def power(number: float) -> str:
    """As the page writes it."""
    exponent = len(bin(int(number))) - 3 if number >= 1 else 1 - len(bin(int(1 / number))) + 2
    return "2" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def test_the_page_has_the_numbers_of_the_code() -> None:
    text = PAGE.read_text()
    for number in (assumed.UNIT, assumed.OVERFLOW, assumed.UNDERFLOW, LEAST_LEAD):
        assert power(number) in text
    assert f"within {assumed.FUNCTION_UNITS:g} u ({assumed.FUNCTION_UNITS * assumed.UNIT * 1e7:.1f} · 10⁻⁷)" in text


def test_prover_checker_and_certificate_assume_the_same() -> None:
    rounding = Rounding()
    assert (rounding.unit, rounding.tanh, rounding.sigmoid) == (ASSUMED.unit, ASSUMED.tanh, ASSUMED.sigmoid)
    assert ASSUMED == KNOWN_ARITHMETIC
    assert (ASSUMED.unit, ASSUMED.tanh) == (assumed.UNIT, assumed.FUNCTION_UNITS)


def test_the_numbers_are_written_once() -> None:
    """Should be written in no other module of the prover, the checker or the certificate."""
    numbers = re.compile(r"2\.0 ?\*\* ?-24\b|2\.0 ?\*\* ?120\b|2\.0 ?\*\* ?-100\b")
    modules = [*SOURCE.glob("proofs/**/*.py"), *SOURCE.glob("checker/*.py"), *SOURCE.glob("verdict/*.py")]
    assert len(modules) > 30
    assert [path.name for path in modules if numbers.search(path.read_text())] == []


def test_both_sides_name_the_page() -> None:
    for name in ("proofs/domains/interval.py", "checker/outward.py", "models/evaluator_assumption.py",
                 "verdict/certificate.py"):  # fmt: skip
        assert "docs/evaluator-assumption.md" in (SOURCE / name).read_text(), name
