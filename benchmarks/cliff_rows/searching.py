"""What searches cost: until the first violation of the released networks, and over alphabets of many letters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import growth

import rnncheck
from cliff_rows.row import Measured, Row
from rnncheck.verification.settings import VerifySettings

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
        for path in sorted(path for network in networks for path in RELEASED.glob(f"{network}/spec_*.dot")):
            model = rnncheck.load_model(path.parent, threads=1)
            for seed in seeds:
                settings = VerifySettings(flows=None, mass_words=0)
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


def many_letters(kind: str) -> Callable[[bool], Iterator[Measured]]:
    """Processor seconds over the most letters, against a tenth of them."""

    def measure(quick: bool) -> Iterator[Measured]:
        most = 5_000 if quick else 50_000
        (_, few), (_, many) = growth.curve(kind, (most // 10, most))
        yield Measured(
            f"{kind}, {most} letters", f"{many:.2f} s", f"{most // 10} letters: {few:.2f} s", f"{many / few:.1f}"
        )

    return measure


ROWS = [
    Row(2, "half the steps", first_violations),
    *(Row(7, "at most 10", many_letters(kind)) for kind in ("sampling", "auto, satisfied", "auto, violated")),
    Row(8, "at most 10", many_letters("robust")),
]
