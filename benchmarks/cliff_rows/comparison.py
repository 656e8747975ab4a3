"""What a satisfied verdict's comparison with the reference costs, of all that the verdict costs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from property_file import holding

import rnncheck
from cliff_rows.row import Measured, Row, seconds_of
from rnncheck import zoo
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.suite.check import check
from rnncheck.verdict.guarantee import Evaluation
from rnncheck.verification.audit import Audit
from rnncheck.words import Alphabet


def network(units: int) -> RecurrentNetwork:
    """An LSTM as PyTorch makes it, untrained, that rejects every word."""
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray:
        return (rng.uniform(-1, 1, size=shape) / np.sqrt(units)).astype(np.float32)

    layer = Layer(draw(4 * units, 10), draw(4 * units, units), draw(4 * units), draw(4 * units))
    bias = np.full(1, -300.0, np.float32)
    return RecurrentNetwork(Alphabet(["a", "b", "c"]), Cell.LSTM, draw(3, 10), (layer,), draw(1, units), bias)


def comparisons(quick: bool) -> Iterator[Measured]:
    """A property file of holding properties by smc, at the default epsilon."""
    properties = 3 if quick else 20
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        large = folder / "large.safetensors"
        rnncheck.save_network(network(32 if quick else 160), large)
        for name, path in (("zoo", zoo.path("response-lstm")), ("160 units", large)):
            lines = ["[defaults]", 'method = "smc"', "[models.m]", f'path = "{path}"']
            lines += [f'[properties.p{number}]\nltlf = "{text}"' for number, text in enumerate(holding(properties))]
            suite = folder / "suite.toml"
            suite.write_text("\n".join(lines))
            spent: list[float] = []
            run = Audit.run

            def timed(audit: Audit, run=run, spent=spent) -> Evaluation:
                found: list[Evaluation] = []
                spent.append(seconds_of(lambda: found.append(run(audit))))
                return found[0]

            with patch.object(Audit, "run", timed):
                whole = seconds_of(partial(check, suite, threads=1))
            compared = sum(spent)
            yield Measured(
                f"comparison with the reference, {properties} smc properties, {name}",
                f"{compared:.2f} s",
                f"the check: {whole:.2f} s",
                f"{compared / whole:.2f}",
            )


ROWS = [Row(13, "at most 0.3", comparisons)]
