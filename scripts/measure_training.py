"""How well and how fast networks learn Tomita's seven grammars and random automata; prints a table.

python scripts/measure_training.py [--cell lstm] [--hidden 32] [--threads 1] [--seeds 1]
"""

from __future__ import annotations

import time

import click
import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import Cell
from rnncheck.probability.distributions import WordDistribution
from rnncheck.spec import Spec
from rnncheck.training import TrainingSettings, train_on_automaton
from rnncheck.words import Alphabet

BITS = Alphabet(["0", "1"])
TOMITA = {
    "Tomita 1, 1*": "1*",
    "Tomita 2, (10)*": "(1 0)*",
    "Tomita 3, no odd 1s then odd 0s": "!((.* 0)? 1 (1 1)* 0 (0 0)* (1 .*)?)",
    "Tomita 4, no 000": "!(.* 0 0 0 .*)",
    "Tomita 5, even 0s and even 1s": "(1* 0 1* 0)* 1* & (0* 1 0* 1)* 0*",
    "Tomita 7, 0*1*0*1*": "0* 1* 0* 1*",
}
FRESH = 10_000


def random_automaton(states: int, letters: int, seed: int) -> DFA:
    """A minimal automaton of exactly this many states."""
    rng = np.random.default_rng(seed)
    alphabet = Alphabet([chr(ord("a") + i) for i in range(letters)])
    while True:
        table = rng.integers(states, size=(states, letters))
        dfa = minimise(DFA(alphabet, table, rng.random(states) < 0.5))
        if len(dfa) == states:
            return dfa


def targets() -> dict[str, DFA]:
    grammars = {name: Spec.from_regex(text, BITS).dfa for name, text in TOMITA.items()}
    grammars["Tomita 6, as many 0s as 1s modulo 3"] = DFA(BITS, [[1, 2], [2, 0], [0, 1]], [True, False, False])
    ordered = dict(sorted(grammars.items()))
    return ordered | {f"random, 10 states, 5 letters, no. {seed}": random_automaton(10, 5, seed) for seed in range(3)}


@click.command()
@click.option("--cell", type=click.Choice([cell.value for cell in Cell]), default="lstm")
@click.option("--hidden", default=32)
@click.option("--threads", default=1)
@click.option("--seeds", default=1, help="Runs of each, with different seeds.")
def main(cell: str, hidden: int, threads: int, seeds: int) -> None:
    """Train on every target and print one line each."""
    click.echo("| language | cell | fresh words right | test words right | epochs | CPU s | wall s |")
    click.echo("|---|---|---|---|---|---|---|")
    for name, dfa in targets().items():
        for seed in range(seeds):
            settings = TrainingSettings(cell=Cell(cell), hidden=hidden, threads=threads, seed=seed)
            used = time.process_time()
            trained = train_on_automaton(dfa, settings=settings)
            used = time.process_time() - used
            words = WordDistribution(dfa.alphabet).sample(np.random.default_rng(1_000 + seed), FRESH)
            right = CompiledNetwork(trained.network).accepts_batch(words) == dfa.accepts_batch(words)
            report = trained.report
            click.echo(
                f"| {name} | {cell} {hidden} | {right.mean():.2%} | {report.test_accuracy:.2%} | {report.epochs} "
                f"| {used:.1f} | {report.seconds:.1f} |"
            )


if __name__ == "__main__":
    main()
