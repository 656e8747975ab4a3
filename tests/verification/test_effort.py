"""How much work explains a violation: by counts, the same for every command, and more where it is set."""

from __future__ import annotations

import dataclasses

import pytest

import rnncheck
from rnncheck import Spec, VerifySettings, verify, zoo
from rnncheck.models.adapters import DFAModel
from rnncheck.verdict.strata import frequency_sentence
from rnncheck.verification.effort import SHORTER_STEPS, Effort
from support.clocks import Ticking

DEFAULT = VerifySettings()


class Sized(DFAModel):
    """A model with a given number of values in its state."""

    def __init__(self, size: int) -> None:
        super().__init__(Spec.from_regex("a*", ["a", "b"]).dfa)
        self._size = size

    def initial(self, rows: int):
        return super().initial(rows).repeat(self._size).reshape(rows, self._size)


def faulty(**settings):
    entry = zoo.entry("response-faulty-lstm")
    return verify(rnncheck.load_model(entry.path), entry.spec(), settings=VerifySettings(**settings))


def test_a_large_network_reads_fewer_letters() -> None:
    """Should divide two seconds of one core for any network, and more where finding took more."""
    small, large = (Effort.of(Sized(size), 0, DEFAULT) for size in (1, 2_000))
    assert large.shorter < small.shorter == SHORTER_STEPS
    assert large.severity < small.severity / 50
    later = Effort.of(Sized(2_000), 50_000, DEFAULT)
    assert later.shorter == pytest.approx(large.shorter + 0.7 * 100_000, abs=1)


def test_the_severity_does_not_depend_on_how_the_violation_was_found() -> None:
    assert len({Effort.of(Sized(500), spent, DEFAULT).severity for spent in (0, 10_000, 10**7)}) == 1


def test_seconds_for_explanations_lift_the_limit() -> None:
    more, none = (Effort.of(Sized(500), 10_000, VerifySettings(explain=seconds)) for seconds in (100.0, 0.0))
    assert more.shorter > 10 * SHORTER_STEPS
    assert more.severity == pytest.approx(50 * Effort.of(Sized(500), 0, DEFAULT).severity, rel=1e-3)
    assert dataclasses.astuple(none) == (0, 0, 0)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_what_is_no_number_of_seconds_is_an_error(seconds: float) -> None:
    with pytest.raises(rnncheck.RnncheckError, match="explain="):
        VerifySettings(explain=seconds)


def test_more_seconds_narrow_the_severity() -> None:
    """Should find the same word, and bound the probability of violations more closely."""
    none, few, many = faulty(explain=0.0), faulty(), faulty(explain=1_000.0, severity_samples=30_000)
    assert none.severity is None
    assert few.counterexample == many.counterexample
    assert few.severity is not None
    assert many.severity is not None
    assert many.severity.interval[1] < few.severity.interval[1] / 2


def test_the_clock_ends_explanations_and_not_the_verdict() -> None:
    verdict = faulty(explain=3.0, clock=Ticking())
    assert verdict.violated
    assert verdict.confirmed


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        ((0.001, 0.004), "about 1 in 500 random words is a violation"),
        ((0.25, 0.36), "about 30% of all random words are violations"),
        ((1e-9, 0.00031), "fewer than 1 in 3,200 random words are violations"),
        ((1e-9, 0.5), "at least 1 in 1,000,000,000 random words is a violation"),
        ((0.0, 0.0014), "fewer than 1 in 710 random words are violations"),
        ((0.0, 0.4), "at most 40% of all random words are violations"),
        ((0.0, 0.0), "at most 0% of all random words are violations"),
        ((0.013, 0.99), "at least 1 in 77 random words is a violation"),
    ],
)
def test_how_often_in_words(interval: tuple[float, float], expected: str) -> None:
    """Should be one number within a factor of ten, and else a bound that is on the safe side."""
    assert frequency_sentence(interval) == expected


def test_how_often_names_the_words_that_count() -> None:
    assert frequency_sentence((0.001, 0.004), " of at most 5 letters") == (
        "about 1 in 500 random words of at most 5 letters is a violation"
    )
