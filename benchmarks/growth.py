"""How costs grow: of a verification with the automaton behind a network and with its alphabet, and of all else.

    python benchmarks/growth.py [--output FOLDER] [--timeout 120]
    python benchmarks/growth.py --curves [NAME …] [--write]

With ``--curves``: how costs grow with one size at a time, each with its exponent (``growth_curves.py``); ``--write``
puts them into ``docs/growth.md``.

Otherwise one network a size, built by hand to be a random automaton exactly, so that sizes differ in nothing but size;
its first specification is verified by every method. Every verdict is "satisfied": this is what it costs to say so.
Printed as a table in network steps and seconds; with --output also drawn.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from growth_curves import measure_curves

import rnncheck
from rnncheck.experiments.random_automata import RandomAutomata
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.exact_network import exact_network

STATES = (5, 10, 20, 30)
LETTERS = (2, 5, 20, 100)
METHODS = ("smc", "pdv", "auto")


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
    parser.add_argument("--curves", nargs="*", metavar="NAME", help="measure these curves instead, or all of them")
    parser.add_argument("--write", action="store_true", help="write the curves into the documentation")
    arguments = parser.parse_args()
    if arguments.curves is not None:
        measure_curves(arguments.curves, write=arguments.write)
        return
    print(f"{'states':>6} {'letters':>7} {'hidden':>7}" + "".join(f"{method:>28}" for method in METHODS))
    rows: dict[str, list[tuple[int, dict[str, tuple[str, int, float]]]]] = {"states": [], "letters": []}
    for states in STATES:
        rows["states"].append((states, measure(states, 5, arguments.timeout)))
    for letters in LETTERS:
        rows["letters"].append((letters, measure(10, letters, arguments.timeout)))
    if arguments.output is not None:
        draw(rows, arguments.output)


if __name__ == "__main__":
    main()
