"""Verification inside pytest: a property of a network is a test like any other.

Run it with ``pytest examples/test_my_model.py``. ``assert_satisfies`` fails with the counterexample in its message; an
undecided verdict fails too, so that a time limit never looks like a passed test.
"""

import pytest

import rnncheck
from rnncheck import zoo


@pytest.fixture(scope="module")
def model() -> object:
    """The network under test; put ``rnncheck.wrap(your_module, alphabet=[…])`` here."""
    return rnncheck.load_model(zoo.path("tomita4-gru"))


def test_no_three_zeros_in_a_row_are_accepted(model) -> None:
    spec = rnncheck.Spec.from_regex("!(.* 0 0 0 .*)", alphabet=model.alphabet)
    rnncheck.assert_satisfies(model, spec, epsilon=1e-2, timeout=60)


def test_words_without_three_zeros_in_a_row_are_accepted(model) -> None:
    spec = rnncheck.Spec.from_regex("!(.* 0 0 0 .*)", alphabet=model.alphabet)
    rnncheck.assert_satisfies(model, spec, relation="superset", epsilon=1e-2, timeout=60)


@pytest.mark.xfail(reason="a known fault: the network forgets a request while it reads c after c", strict=True)
def test_every_request_is_answered() -> None:
    model = rnncheck.load_model(zoo.path("response-faulty-lstm"))
    spec = rnncheck.Spec.from_ltlf("G(a -> F b)", alphabet=model.alphabet)
    rnncheck.assert_satisfies(model, spec, timeout=60)
