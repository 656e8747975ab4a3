"""What searches cost: until the first violation of the released networks, and over alphabets of many letters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from limits import many, network

import rnncheck
from cliff_rows.row import Curve, Measured, Row, seconds_of
from rnncheck import Spec
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet

RELEASED = Path(__file__).parents[2] / "../shared/data/released/random"
# The order of turns was designed on the first three networks; the others are what it is judged by.
DESIGN, HELD_OUT = ("jun03-13", "jun10-22", "jun10-25"), ("jun03-26", "jun10-9")
# Steps until the first violation and letters of the words in the end, seeds 0 to 2, of the version before beams began
# narrow (commit a2d5586).
BEFORE = {DESIGN: (2_318_643, 380), HELD_OUT: (1_594_636, 327)}


def first_violations(quick: bool) -> Iterator[Measured]:
    """Network steps until the first violation, all specifications of some networks."""
    seeds = range(1 if quick else 3)
    for networks, name in ((DESIGN, "designed on"), (HELD_OUT, "held out")):
        steps = letters = 0
        for path in sorted(path for folder in networks for path in RELEASED.glob(f"{folder}/spec_*.dot")):
            model = rnncheck.load_model(path.parent, threads=1)
            for seed in seeds:
                settings = VerifySettings(flows=None, severity_samples=0)
                verdict = rnncheck.verify(model, rnncheck.Spec.from_file(path), seed=seed, settings=settings)
                steps += verdict.cost.first_violation_steps or verdict.cost.network_steps
                letters += len(verdict.counterexample or ())
        if steps:
            before, length = (each * len(seeds) // 3 for each in BEFORE[networks])
            yield Measured(
                f"first violation, {name}: {', '.join(networks)}, {len(seeds)} seeds",
                f"{steps:,} steps, {letters} letters",
                f"before: {before:,} steps, {length} letters",
                f"{before / steps:.1f}",
            )


REJECTS_ALL = -300.0  # the bias of a network of which no word is a violation
WORD = 10  # letters of the word whose neighbours are queried


def _verify(method: str, bias: float, letters: Alphabet) -> object:
    """A small random LSTM over embeddings: a network built of an automaton has units for each letter."""
    model = CompiledNetwork(network(letters, bias), threads=1)
    return rnncheck.verify(model, Spec.from_ltlf("G(t1 -> F t2)", letters), method=method)


def _robust(letters: Alphabet) -> object:
    model = CompiledNetwork(network(letters, REJECTS_ALL), threads=1)
    return rnncheck.robust(model, [list(itertools.islice(itertools.cycle(letters), WORD))])


def over_letters(work: Callable[[Alphabet], object], sizes: Sequence[int]) -> list[tuple[int, float]]:
    """Letters, and processor seconds of some work over that many; the model and the specification included."""
    work(many(5))  # what is made once
    return [(size, seconds_of(partial(work, many(size)))) for size in sizes]


CURVES = [
    Curve(f"letters-{name}", what, "letters", (5, 50, 500, 5_000, 50_000), partial(over_letters, work))
    for name, what, work in (
        ("sampling", "A property that holds, by random words alone", partial(_verify, "smc", REJECTS_ALL)),
        ("satisfied", "A property that holds, by all methods in turns", partial(_verify, "auto", REJECTS_ALL)),
        ("violated", "A property that is violated, by all methods in turns", partial(_verify, "auto", 0.0)),
        ("robust", "Every neighbour of a word of ten letters", _robust),
    )
]


def many_letters(curve: Curve, quick: bool) -> Iterator[Measured]:
    """Processor seconds over the most letters, against a tenth of them."""
    most = 5_000 if quick else 50_000
    (_, few), (_, long) = curve.measure((most // 10, most))
    yield Measured(
        f"{curve.name}, {most} letters", f"{long:.2f} s", f"{most // 10} letters: {few:.2f} s", f"{long / few:.1f}"
    )


ROWS = [
    Row(2, "half the steps", first_violations),
    *(Row(8 if curve.name == "letters-robust" else 7, "at most 10", partial(many_letters, curve)) for curve in CURVES),
]
