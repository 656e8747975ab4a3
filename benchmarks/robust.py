"""Robustness: the exact walk's speed, and what an answer by learning is worth beside it.

    python benchmarks/robust.py [--data ../shared/data/released/random] [--words 100] [--distance 5] [--learned 20]

First, a word of 50 letters over 5 letters, an LSTM of 160 units, substitutions: processor seconds at distances 2 and 3.
Then, for three released networks, accepted and rejected words of 6 to 12 letters: the share certified at each distance,
and how often property-directed learning at ε = γ = 0.01, asked about the same neighbourhoods, calls one robust that is
not. All on one thread.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path

import numpy as np

import rnncheck
from rnncheck.automata.edits import Edits, ball
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.files.released_folder import load_released
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.neighbourhoods.robustness_result import Robustness
from rnncheck.words import Alphabet, Word

LETTERS = Alphabet(list("abcde"))
NETWORKS = ("jun10-9", "jun03-13", "jun10-25")


def rejecting(hidden: int = 160) -> RecurrentNetwork:
    """An LSTM that rejects every word, so that nothing ends the walk early."""
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray:
        return (rng.uniform(-1, 1, size=shape) / np.sqrt(hidden)).astype(np.float32)

    layer = Layer(draw(4 * hidden, 5), draw(4 * hidden, hidden), draw(4 * hidden), draw(4 * hidden))
    bias = np.full(1, -99.0, np.float32)
    return RecurrentNetwork(LETTERS, Cell.LSTM, np.eye(5, dtype=np.float32), (layer,), draw(1, hidden), bias)


def speed(farthest: int) -> None:
    model = CompiledNetwork(rejecting(), threads=1)
    codes = np.random.default_rng(1).integers(5, size=50)
    word = LETTERS.decode(codes.tolist())
    for distance in range(1, farthest + 1):
        began = time.process_time()
        found = rnncheck.robust(model, [word], distance=distance, edits=Edits.of(["substitute"]))
        took = time.process_time() - began
        print(f"  distance {distance}: {found.network_steps:>11,} steps, {took:7.2f} s, {found.outcome.value}")


def chosen(model: CompiledNetwork, count: int) -> list[Word]:
    """Equally many accepted and rejected words of 6 to 12 letters."""
    rng = np.random.default_rng(2)
    accepted: list[Word] = []
    rejected: list[Word] = []
    while min(len(accepted), len(rejected)) < count and len(accepted) + len(rejected) < 400 * count:
        words = [model.alphabet.decode(rng.integers(5, size=rng.integers(6, 13)).tolist()) for _ in range(256)]
        for word, answer in zip(words, model.accepts_batch(words), strict=True):
            (accepted if answer else rejected).append(word)
    return accepted[:count] + rejected[:count]


def learned_wrongly(model: CompiledNetwork, found: Robustness, count: int, distance: int) -> tuple[int, int, int]:
    """How often learning reports robust, how often wrongly, and how often not robust."""
    robust = wrong = flipped = 0
    for one in found.words[:: max(1, len(found.words) // count)]:
        language = ball(one.word, distance, Edits(), model.alphabet)
        spec = language if one.accepted else language.complement()
        relation = "superset" if one.accepted else "subset"
        verdict = rnncheck.verify(model, spec, method="pdv", relation=relation, epsilon=0.01, gamma=0.01, timeout=60)
        robust += verdict.satisfied
        flipped += verdict.violated
        wrong += verdict.satisfied and one.distance is not None and one.distance <= distance
    return robust, wrong, flipped


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/released/random"))
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--distance", type=int, default=5)
    parser.add_argument("--learned", type=int, default=20, help="words that are also asked by learning, at distance 1")
    parser.add_argument("--farthest", type=int, default=3, help="distance of the walk around 50 letters")
    parser.add_argument("--max-steps", type=int, default=2_000_000)
    options = parser.parse_args()
    print("word of 50 letters, 5 letters, LSTM 160, substitutions")
    speed(options.farthest)
    for name in NETWORKS:
        if not (options.data / name).is_dir():
            print(f"{name}: not there")
            continue
        network = load_released(options.data / name)
        model = CompiledNetwork(dataclasses.replace(network), threads=1)
        words = chosen(model, options.words)
        began = time.process_time()
        found = rnncheck.robust(model, words, distance=options.distance, max_steps=options.max_steps)
        took = time.process_time() - began
        print(f"{name}: {len(words)} words, {found.network_steps:,} steps, {took:.0f} s")
        for distance, certified, flipped in found.table():
            print(f"  distance {distance}: certified {certified:>4}, flipped {flipped:>4} of {len(words)}")
        robust, wrong, seen = learned_wrongly(model, found, options.learned, 1)
        print(f"  learning at distance 1: {robust} called robust, {wrong} of them wrongly; {seen} flips found")


if __name__ == "__main__":
    main()
