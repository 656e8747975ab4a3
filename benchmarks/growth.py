"""How the cost of a verification grows with the automaton behind a network and with its alphabet.

    python benchmarks/growth.py [--output FOLDER] [--timeout 120]

One network a size, built by hand to be a random automaton exactly, so that sizes differ in nothing but size; its first
specification is verified by every method. Every verdict is "satisfied": this is what it costs to say so. Printed as a
table in network steps and seconds; with --output also drawn.

``curve(kind)`` gives the processor seconds of a command over alphabets of 5 to 50 000 letters, and ``exponent`` says
how they grow. The network is a small random LSTM over embeddings: one built of an automaton has units for each letter.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from limits import many, network

import rnncheck
from rnncheck import Spec
from rnncheck.experiments.random_automata import RandomAutomata
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.exact_network import exact_network
from rnncheck.words import Alphabet

STATES = (5, 10, 20, 30)
LETTERS = (2, 5, 20, 100)
METHODS = ("smc", "pdv", "auto")
SIZES = (5, 50, 500, 5_000, 50_000)
REJECTS_ALL = -300.0  # the bias of a network of which no word is a violation
WORD = 10  # letters of the word whose neighbours are asked


def _verify(method: str, bias: float, letters: Alphabet) -> object:
    model = CompiledNetwork(network(letters, bias), threads=1)
    return rnncheck.verify(model, Spec.from_ltlf("G(t1 -> F t2)", letters), method=method)


def _robust(letters: Alphabet) -> object:
    model = CompiledNetwork(network(letters, REJECTS_ALL), threads=1)
    return rnncheck.robustness(model, [list(itertools.islice(itertools.cycle(letters), WORD))])


CURVES: dict[str, Callable[[Alphabet], object]] = {
    "sampling": partial(_verify, "smc", REJECTS_ALL),
    "auto, satisfied": partial(_verify, "auto", REJECTS_ALL),
    "auto, violated": partial(_verify, "auto", 0.0),
    "robust": _robust,
}


def curve(kind: str, sizes: Sequence[int] = SIZES) -> list[tuple[int, float]]:
    """Letters, and processor seconds of one of ``CURVES`` over so many; the model and the specification included."""
    CURVES[kind](many(5))  # what is made once
    found = []
    for size in sizes:
        letters, begin = many(size), time.process_time()
        CURVES[kind](letters)
        found.append((size, time.process_time() - begin))
    return found


def exponent(points: Sequence[tuple[int, float]]) -> float:
    """The power with which seconds grow between the two largest sizes."""
    (size, seconds), (larger, longer) = points[-2:]
    return float(np.log(longer / seconds) / np.log(larger / size))


def measure(states: int, letters: int, timeout: float) -> dict[str, tuple[str, int, float]]:
    source = RandomAutomata(count=1, states=states, min_states=states, letters=letters, specs=1, seed=1)
    target = source.automaton(0, 0)
    (spec,) = source.specifications(0, 0, target).values()
    network = exact_network(target)
    model = CompiledNetwork(network, threads=1)
    found = {}
    for method in METHODS:
        verdict = rnncheck.verify(model, spec, method=method, timeout=timeout)
        found[method] = (verdict.outcome.value, verdict.cost.network_steps, verdict.cost.seconds)
    cells = "".join(f"{f'{o} {s / 1e3:.0f}k {t:.2f} s':>28}" for o, s, t in found.values())
    print(f"{states:>6} {letters:>7} {network.layers[0].hidden:>7}{cells}", flush=True)
    return found


def draw(rows: dict[str, list[tuple[int, dict[str, tuple[str, int, float]]]]], folder: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 5.2), layout="constrained")
    panels = figure.subplots(2, 2, sharey="row")
    looks = {"smc": ("#0072B2", "o-"), "pdv": ("#009E73", "^-."), "auto": ("#000000", "D:")}
    for column, (label, sizes) in enumerate(rows.items()):
        for method, (colour, line) in looks.items():
            for row, place in enumerate((1, 2)):
                panels[row, column].plot(
                    [size for size, _ in sizes], [found[method][place] for _, found in sizes], line, color=colour,
                    label=method, markersize=4,
                )  # fmt: skip
        for row, what in enumerate(("network steps", "seconds")):
            panels[row, column].set(xscale="log", yscale="log", xlabel=label, ylabel=what if column == 0 else "")
            panels[row, column].set_xticks([size for size, _ in sizes], [str(size) for size, _ in sizes])
            panels[row, column].minorticks_off()
    panels[0, 0].legend(frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "growth.svg", metadata={"Date": None})
    figure.savefig(folder / "growth.png", dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    print(f"{'states':>6} {'letters':>7} {'hidden':>7}" + "".join(f"{method:>28}" for method in METHODS))
    rows: dict[str, list[tuple[int, dict[str, tuple[str, int, float]]]]] = {"states": [], "letters": []}
    for states in STATES:
        rows["states"].append((states, measure(states, 5, arguments.timeout)))
    for letters in LETTERS:
        rows["letters"].append((letters, measure(10, letters, arguments.timeout)))
    for kind in CURVES:
        points = curve(kind)
        cells = "".join(f"{f'{size}: {seconds:.2f} s':>16}" for size, seconds in points)
        print(f"{kind:<16}{cells}  exponent {exponent(points):.2f}", flush=True)
    if arguments.output is not None:
        draw(rows, arguments.output)


if __name__ == "__main__":
    main()
