"""Two networks side by side: the zoo against its copies in float16 and int8, one word of nine letters, sixty letters.

``python benchmarks/diff.py`` prints a row for each, in about three minutes on two cores.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import rnncheck
from rnncheck import zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.product import symmetric_difference
from rnncheck.models.exact_network import exact_network


def copied(network: rnncheck.RecurrentNetwork, kind: str) -> rnncheck.RecurrentNetwork:
    """The network with every weight rounded to float16, or to 255 steps of its array's largest one."""

    def rounded(array: Any) -> Any:
        if array is None:
            return None
        if kind == "float16":
            return array.astype(np.float16).astype(np.float32)
        unit = (np.abs(array).max() / 127) or 1.0
        return (np.round(array / unit) * unit).astype(np.float32)

    arrays = {name: rounded(getattr(network, name)) for name in ("inputs", "head_weight", "head_bias", "padding")}
    layers = tuple(
        dataclasses.replace(
            layer, **{part.name: rounded(getattr(layer, part.name)) for part in dataclasses.fields(layer)}
        )
        for layer in network.layers
    )
    return dataclasses.replace(network, layers=layers, **arrays)


def shown(name: str, old: rnncheck.RecurrentNetwork, new: rnncheck.RecurrentNetwork) -> None:
    verdict = rnncheck.diff(rnncheck.CompiledNetwork(old), rnncheck.CompiledNetwork(new), timeout=120)
    word, exact = verdict.counterexample, verdict.guarantee and verdict.guarantee.exact_length
    found = f"exact up to {exact}" if word is None else f"{len(word)} letters{', the fewest' * verdict.shortest}"
    cost = f"{verdict.cost.seconds:6.1f} s {verdict.cost.network_steps:>10,}"
    print(f"{name:34} {verdict.outcome.value:10} {found:28} {cost}", flush=True)


def one_word_apart(letters: list[str], word: list[str], seed: int) -> tuple[DFA, DFA]:
    """A random automaton of six states, and the same but for one word."""
    rng = np.random.default_rng(seed)
    table, accepting = rng.integers(6, size=(6, len(letters))), rng.random(6) < 0.5
    old = DFA(letters, table.tolist(), accepting.tolist())
    return old, symmetric_difference(old, rnncheck.Spec.from_regex(" ".join(word), alphabet=letters).dfa)


def main() -> None:
    for entry in zoo.entries():
        for kind in ("float16", "int8"):
            shown(f"{entry.name}, {kind}", entry.network(), copied(entry.network(), kind))
    for count, length in ((2, 9), (3, 9), (4, 9), (60, 2), (60, 3)):
        letters = [f"e{number}" for number in range(count)]
        word = [letters[place % count] for place in range(1, 2 * length, 2)]
        old, new = (exact_network(dfa) for dfa in one_word_apart(letters, word, seed=1))
        shown(f"{count} letters, one word of {length}", old, new)


if __name__ == "__main__":
    main()
