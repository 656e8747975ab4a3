"""Every enclosure against ball arithmetic (Arb): functions, sums and products, with the errors that are assumed.

The prover and the checker each have intervals and zonotopes. What each of them gives must contain the exact result and
everything within the assumed error of it (docs/evaluator-assumption.md), at every point, for certain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

flint = pytest.importorskip("flint")

from flint import arb  # noqa: E402

from rnncheck.checker import checked_zonotope, outward  # noqa: E402
from rnncheck.checker.outward import Interval, linear, of_products  # noqa: E402
from rnncheck.proofs.domains import interval, zonotope  # noqa: E402
from support.enclosures import (  # noqa: E402
    FUNCTION_UNITS,
    UNIT,
    Domain,
    bounds,
    domains,
    encloses,
    exactly,
    has_bounds,
    number,
)

each_domain = pytest.mark.parametrize("domain", domains(), ids=str)
SMALL = [
    2.0**-1074,
    2.0**-1050,
    2.0**-1022,
    1e-300,
    2.0**-149,
    2.0**-130,
    2.0**-126,
    1e-30,
    1e-12,
    2.0**-24,
    1e-4,
    0.01,
]
USUAL = [0.1, 0.25, 0.5, 0.549, 0.625, 1.0, 2.0, 3.7, 5.0, 7.9, 9.01]
SATURATED = [16.6, 17.4, 18.72, 19.07, 20.0, 22.0, 36.7, 44.0, 88.7, 88.8, 103.9, 104.0, 372.0]
HUGE = [708.0, 709.8, 710.0, 745.1, 745.2, 1e4, 1e30, 3.4e38, 1e300]


def sigmoid(x: arb) -> arb:
    """Of numbers whose exponential has no size that Arb holds, everything that it may be."""
    if bool(x < -5000) or bool(x > 5000):
        return exactly(0.0 if bool(x < 0) else 1.0) + arb(0, 2.0**-1000)
    return 1 / (1 + (-x).exp())


EXACT: dict[str, Callable[[arb], arb]] = {
    "tanh": lambda x: x.tanh(),
    "sigmoid": sigmoid,
    "relu": lambda x: x if bool(x > 0) else exactly(0.0),
}


def adversarial_points() -> np.ndarray:
    rng = np.random.default_rng(0)
    positive = np.array([0.0, *SMALL, *USUAL, *SATURATED, *HUGE])
    random = rng.normal(size=60) * 10.0 ** rng.integers(-6, 3, size=60)
    return np.concatenate([positive, -positive, random])


def around(points: np.ndarray, width: str) -> tuple[np.ndarray, np.ndarray]:
    """Bounds whose lower end is each point."""
    rng = np.random.default_rng(len(width))
    match width:
        case "points":
            high = points
        case "the next float":
            high = np.nextafter(points, np.inf)
        case "narrow":
            high = points + np.abs(points) * 1e-7 + 1e-9
        case _:
            high = points + 10.0 ** rng.uniform(-3, 2, size=points.shape)
    return points[None, :], high[None, :]


def check_function(domain: Domain, name: str, width: str) -> None:
    low, high = around(adversarial_points(), width)
    rng = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        given = domain.of(low, high)
        found = getattr(domain, name)(given)
    slack = exactly(0.0 if name == "relu" else FUNCTION_UNITS * UNIT)
    claimed = has_bounds(found)
    assert claimed[np.abs(low[0]) < 1e100].all()
    for unknowns in (np.full(low.shape[1], -1.0), np.ones(low.shape[1]), rng.uniform(-1, 1, size=low.shape[1])):
        for column in np.flatnonzero(claimed).tolist():
            value = EXACT[name](number(given, column, unknowns))
            assert encloses(found, column, unknowns, value - slack, value + slack), (low[0, column], high[0, column])


@each_domain
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("width", ["points", "the next float", "narrow", "wide"])
def test_functions_are_enclosed_with_their_assumed_error(domain: Domain, name: str, width: str) -> None:
    check_function(domain, name, width)


# -- sums --------------------------------------------------------------------------------------------------------------

SCALES = [1e-160, 1e-42, 1e-38, 1e-20, 1e-3, 1.0, 1e6, 1e18]


def magnitude(value: arb) -> arb:
    return value if bool(value >= 0) else -value


def rounding_of(size: arb, terms: int, largest: float) -> arb:
    """What evaluations in float32 may lose of a sum: a rounding for each operation on a term, and what underflows.

    A product, its two factors and the result are each stored once, and a term passes as many additions as there are
    other terms. Of factors below ``largest`` a product that underflows loses 2⁻¹²⁶ in each operation at most.
    """
    each = (1 + exactly(UNIT)) ** (terms + 3) - 1
    return each * size + exactly(terms * 2.0**-126 * min(max(largest, 1.0), 2.0**60))


def check_sums(domain: Domain, scale: float, columns: int) -> None:
    rng = np.random.default_rng(columns)
    weight = (rng.normal(size=(3, columns)) * 10.0 ** rng.uniform(-3, 1, size=columns)).astype(np.float32)
    bias = (rng.normal(size=3) * scale).astype(np.float32)
    if columns > 1:  # the first row cancels
        weight[0, 1] = -weight[0, 0]
    low = (rng.normal(size=(1, columns)) * scale).astype(np.float32).astype(np.float64)
    high = low + np.abs(low) * rng.choice([0.0, 1e-7, 1.0], size=columns)
    low[0, -1], high[0, -1] = low[0, 0], high[0, 0]
    with np.errstate(all="ignore"):
        given = domain.of(low, high)
        found = domain.computed(domain.affine(weight, bias, given))
    assert has_bounds(found).all()
    for unknowns in (*rng.choice([-1.0, 1.0], size=(3, columns)), rng.uniform(-1, 1, size=columns)):
        numbers = [number(given, column, unknowns) for column in range(columns)]
        for row in range(3):
            products = [exactly(w) * x for w, x in zip(weight[row], numbers, strict=True)] + [exactly(bias[row])]
            exact, size = sum(products, exactly(0.0)), sum(map(magnitude, products), exactly(0.0))
            error = rounding_of(size, columns + 1, float(np.abs(weight).max()))
            assert encloses(found, row, unknowns, exact - error, exact + error), (row, unknowns)


@each_domain
@pytest.mark.parametrize("scale", SCALES)
def test_sums_are_enclosed_with_all_their_roundings(domain: Domain, scale: float) -> None:
    for columns in (1, 2, 7, 40):
        check_sums(domain, scale, columns)


def check_products(domain: Domain, scale: float) -> None:
    """``a b + c d``, and a sum that is scaled by a number."""
    rng, columns = np.random.default_rng(3), 10
    bounds_of = []
    for _ in range(4):
        low = (rng.normal(size=(1, columns)) * scale).astype(np.float32).astype(np.float64)
        bounds_of.append((low, low + np.abs(low) * rng.choice([0.0, 1e-7, 1.0, 3.0], size=columns)))
    for width in (0.0, 1.0):
        ends = [(low, low + width * (high - low)) for low, high in bounds_of]
        given = [domain.of(low, high) for low, high in ends]
        a, b, c, d = given
        with np.errstate(all="ignore"):
            found = domain.computed(domain.products((a, b), (c, d)))
            scaled = domain.computed(domain.times(domain.affine(np.eye(columns), None, a), b))
        assert has_bounds(found).all()
        assert has_bounds(scaled).all()
        for unknowns in (*rng.choice([-1.0, 1.0], size=(4, columns)), rng.uniform(-1, 1, size=columns)):
            for column in range(columns):
                # Each of the four has the unknowns of its own columns; the same values stand for all of them.
                p, q, r, s = (number(each, column, unknowns) for each in given)
                exact, size = p * q + r * s, magnitude(p * q) + magnitude(r * s)
                error = rounding_of(size, 2, scale * 10)
                assert encloses(found, column, unknowns, exact - error, exact + error)
                error = rounding_of(magnitude(p * q), 2, scale * 10)
                assert encloses(scaled, column, unknowns, p * q - error, p * q + error)


@each_domain
@pytest.mark.parametrize("scale", [1e-160, 1e-25, 1e-3, 1.0, 1e6, 1e12])
def test_products_are_enclosed_with_all_their_roundings(domain: Domain, scale: float) -> None:
    check_products(domain, scale)


def check_means(domain: Domain, scale: float) -> None:
    """``(1 - s) a + s b`` for gates of all sizes, some of them a little outside 0 … 1 by the function's error."""
    rng = np.random.default_rng(4)
    error = FUNCTION_UNITS * UNIT
    ends = np.array([-error, 0.0, 2.0**-149, 1e-9, 0.3, 0.5, 0.999999, 1.0, 1.0 + error])
    pairs = [(low, high) for low in ends for high in ends if low <= high]
    gate_low, gate_high = (np.array([pair])[0] for pair in np.array(pairs).T)
    columns = len(pairs)
    low = (rng.normal(size=(2, 1, columns)) * scale).astype(np.float32).astype(np.float64)
    high = low + np.abs(low) * rng.choice([0.0, 1e-7, 1.0], size=columns)
    given = [domain.of(gate_low[None, :], gate_high[None, :])] + [domain.of(low[i], high[i]) for i in range(2)]
    with np.errstate(all="ignore"):
        found = domain.blend(*given)
    for unknowns in (*rng.choice([-1.0, 1.0], size=(4, columns)), rng.uniform(-1, 1, size=columns)):
        for column in range(columns):
            share, new, old = (number(each, column, unknowns) for each in given)
            exact = (1 - share) * new + share * old
            lost = 4 * exactly(UNIT) * (magnitude(new) + magnitude(old)) + exactly(2.0**-125)
            assert encloses(found, column, unknowns, exact - lost, exact + lost), pairs[column]


@each_domain
@pytest.mark.parametrize("size", [1.0, 2.0**30, 2.0**60, 2.0**100])
def test_what_underflows_may_be_scaled_by_any_number(domain: Domain, size: float) -> None:
    """Should hold for an evaluator that flushes the products to zero before it scales their sum."""
    tiny = 2.0**-64
    weight, small, large = np.full((1, 2), tiny), np.full((1, 2), tiny), np.full((1, 1), size)
    given = domain.affine(weight, None, domain.of(small, small))
    low, high = bounds(domain.computed(domain.times(given, domain.of(large, large))))
    exact = 2.0 * tiny * tiny * size
    assert low[0, 0] <= 0.0
    assert exact <= high[0, 0]


@each_domain
@pytest.mark.parametrize("scale", [1e-42, 1e-3, 1.0, 1e4])
def test_means_are_enclosed_however_they_are_written(domain: Domain, scale: float) -> None:
    check_means(domain, scale)


# -- the checker's exact arithmetic, and what overflows ----------------------------------------------------------------


def check_outward() -> None:
    """Sums and products of intervals, without any error of an evaluator, contain the exact ones."""
    rng = np.random.default_rng(5)
    values = np.concatenate([adversarial_points(), rng.normal(size=200)])
    values = values[np.abs(values) < 1e150]
    a, b = (rng.permutation(values)[None, :] for _ in range(2))
    with np.errstate(all="ignore"):
        total, product = Interval(a, a) + Interval(b, b), Interval(a, a) * Interval(b, b)
        pairs = of_products((Interval(a, a), Interval(b, b)), (Interval(b, b), Interval(b, b)))
        sums = linear(b[:, :30], None, Interval(a[:, :30], a[:, :30]))
    nowhere = np.zeros(len(values))
    for column in range(len(values)):
        x, y = exactly(a[0, column]), exactly(b[0, column])
        for found, exact in ((total, x + y), (product, x * y), (pairs.exact, x * y + y * y)):
            assert encloses(found, column, nowhere, exact, exact), (x, y)
        assert bool(exactly(pairs.sizes[0, column]) >= magnitude(x * y) + y * y)
    exact = sum((exactly(x) * exactly(y) for x, y in zip(a[0, :30], b[0, :30], strict=True)), exactly(0.0))
    assert encloses(sums.exact, 0, nowhere, exact, exact)


def test_the_checkers_intervals_contain_exact_results() -> None:
    check_outward()


def check_overflow(domain: Domain, size: float) -> None:
    one, large, zero = (domain.of(np.full((1, 2), value), np.full((1, 2), value)) for value in (1.0, size, 0.0))
    weight = np.array([[size, 0.0]])
    with np.errstate(all="ignore"):
        sums = [
            domain.affine(weight, None, one),
            domain.affine(weight, None, zero),
            domain.affine(np.zeros((1, 2)), np.array([size]), zero),
            domain.products((large, one)),
            domain.products((large, zero)),
            domain.times(domain.affine(np.eye(2), None, large), zero),
            domain.times(domain.affine(np.zeros((2, 2)), np.full(2, size), zero), zero),
        ]
        sums.append(domain.times(domain.affine(np.zeros((2, 2)), None, one), large))
        means = [domain.blend(domain.sigmoid(zero), *pair) for pair in ((one, large), (large, one))]
        for found in (*map(domain.computed, sums), *means):
            low, high = bounds(found)
            assert not ((low >= -1e300) & (high <= 1e300)).any()


@each_domain
@pytest.mark.parametrize("size", [2.0**121, 1e38, 3.4e38, 1e39, 1e300])
def test_nothing_is_claimed_where_float32_may_overflow(domain: Domain, size: float) -> None:
    """Should have no bounds for sums, products and scaled sums that float32 cannot hold, whatever multiplies them."""
    check_overflow(domain, size)


# -- these tests can fail ----------------------------------------------------------------------------------------------


def all_checks(domain: Domain) -> None:
    for name in EXACT:
        check_function(domain, name, "wide")
        check_function(domain, name, "points")
    for scale in (1e-42, 1.0):
        check_sums(domain, scale, 7)
    check_products(domain, 1e-25)
    check_products(domain, 1.0)
    check_means(domain, 1e-42)
    check_means(domain, 1.0)
    check_outward()
    check_overflow(domain, 1e38)


def scaled_alone(name: str) -> Callable[[Any, Any], Any]:
    """The scaling of a sum that forgets that the sum may be computed, and overflow, before it is scaled."""
    scaled = {cls: getattr(cls, name) for cls in SUMS if hasattr(cls, name)}

    def forgetting(self: Any, by: Any) -> Any:
        attribute = "factors" if hasattr(self, "factors") else "factor"
        return dataclasses.replace(scaled[type(self)](self, by), **{attribute: getattr(self, attribute)})

    return forgetting


SUMS = (interval.Sum, zonotope.ZonotopeSum, outward.Total, checked_zonotope.ZonotopeTotal)


def without_error(self: Any, total: Any) -> np.ndarray:
    return np.zeros_like(total.sizes)


MUTATIONS: dict[str, tuple[str, list[tuple[Any, str, Any]]]] = {
    "prover: no rounding of sums": ("prover", [(interval, "_MORE_ROUNDINGS", -7)]),
    "prover: no underflow": ("prover", [(interval, "UNDERFLOW", 0.0), (zonotope, "UNDERFLOW", 0.0)]),
    "prover: exact functions": ("prover", [(interval, "_GUARD", -8.0 * UNIT), (zonotope, "_GUARD", -8.0 * UNIT)]),
    "checker: no error of sums": ("checker", [(outward.Evaluator, "error", without_error)]),
    "checker: no rounding outwards": (
        "checker", [(outward, "up", np.asarray), (outward, "down", np.asarray), (checked_zonotope, "up", np.asarray)],
    ),
    "checker: no underflow": ("checker", [(outward, "UNDERFLOW", 0.0), (checked_zonotope, "UNDERFLOW", 0.0)]),
    "prover: zero times overflow": (
        "prover", [(cls, "times", scaled_alone("times")) for cls in SUMS[:2]],
    ),
    "checker: zero times overflow": (
        "checker", [(cls, "scaled", scaled_alone("scaled")) for cls in SUMS[2:]],
    ),
    "checker: exact functions": ("checker", [(outward, "_FUNCTION_ULPS", -8.0 * 2.0**29)]),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mistake_in_an_enclosure_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should fail for both enclosures of a side once something is left out."""
    whose, changes = MUTATIONS[name]
    for place, attribute, value in changes:
        monkeypatch.setattr(place, attribute, value)
    for domain in domains():
        if domain.name.startswith(whose):
            with pytest.raises(AssertionError):
                all_checks(domain)
