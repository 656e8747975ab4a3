"""The networks of ``benchmarks/extract.py``: trained on languages of several kinds and sizes, or built exactly.

    python benchmarks/extract_networks.py FOLDER [--epochs 30] [--only NAME]

A random automaton of hundreds of states is not learned in so few epochs: that network is trained as far as it goes, and
its own language, whatever it is, is the one to extract. No clock ends a training, so that a machine makes the same
networks again, whatever else it is doing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import rnncheck
from rnncheck.automata.dfa import DFA, explore
from rnncheck.automata.minimisation import minimise
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.exact_network import exact_network
from rnncheck.models.network import Cell
from rnncheck.models.protocol import Model
from rnncheck.probability.distributions import WordDistribution
from rnncheck.training import TrainingSettings, train_on_automaton
from rnncheck.words import Alphabet

STOP = 0.05
BATCHES = 100  # of an epoch of the bidirectional network


def letters(count: int) -> Alphabet:
    return Alphabet([chr(ord("a") + i) for i in range(count)])


def random_dfa(states: int, width: int, seed: int = 0) -> DFA:
    """The first random automaton from that seed on whose minimal form has this many states."""
    many = round(states / (0.8 if width == 2 else 1.0))  # with two letters a fifth of them is not reached
    while True:
        rng = np.random.default_rng([states, width, seed])
        table = rng.integers(many, size=(many, width))
        found = minimise(DFA(letters(width), table, rng.random(len(table)) < 0.5))
        if abs(len(found) - states) <= states // 10:
            return found
        seed += 1


def counting(most: int = 12) -> DFA:
    """As many a as b, and in between never fewer, nor more than a bound: a counter."""
    return explore(
        letters(2),
        0,
        lambda at: [-1, -1] if at < 0 or at > most else [at + 1, at - 1],
        lambda at: at == 0,
        what="a counter",
    )


def k_testable(width: int = 5, k: int = 3) -> DFA:
    """No forbidden factor of k letters occurs; a fifteenth of them are forbidden."""
    forbidden = np.random.default_rng(7).random(width**k) < 1 / 15
    start: tuple[int, ...] | None = ()

    def after(last: tuple[int, ...] | None) -> list[tuple[int, ...] | None]:
        if last is None:
            return [None] * width
        found: list[tuple[int, ...] | None] = []
        for letter in range(width):
            factor = (*last, letter)
            number = sum(code * width**place for place, code in enumerate(factor))
            found.append(None if len(factor) == k and forbidden[number] else factor[-(k - 1) :])
        return found

    return explore(letters(width), start, after, lambda last: last is not None, what="a k-testable language")


TRAINED: dict[str, tuple[Callable[[], DFA], Cell, int]] = {
    "random-10-2-gru": (lambda: random_dfa(10, 2), Cell.GRU, 64),
    "random-10-25-lstm": (lambda: random_dfa(10, 25), Cell.LSTM, 64),
    "random-50-2-gru": (lambda: random_dfa(50, 2), Cell.GRU, 100),
    "random-50-5-lstm": (lambda: random_dfa(50, 5), Cell.LSTM, 100),
    "random-200-2-lstm": (lambda: random_dfa(200, 2), Cell.LSTM, 100),
    "random-200-25-gru": (lambda: random_dfa(200, 25), Cell.GRU, 64),
    "random-500-5-gru": (lambda: random_dfa(500, 5), Cell.GRU, 100),
    "counting-gru": (counting, Cell.GRU, 64),
    "k-testable-lstm": (k_testable, Cell.LSTM, 64),
}
EXACT: dict[str, Callable[[], DFA]] = {
    "exact-50-5": lambda: random_dfa(50, 5),
    "exact-200-2": lambda: random_dfa(200, 2),
    "exact-500-2": lambda: random_dfa(500, 2),
}
BIDIRECTIONAL = "bidirectional-gru"
NAMES = (*TRAINED, *EXACT, BIDIRECTIONAL)


def network(name: str, folder: Path) -> Model:
    """A network of that name; trained ones are in the folder."""
    if name in EXACT:
        return CompiledNetwork(exact_network(EXACT[name]()), threads=1)
    if name == BIDIRECTIONAL:
        import torch

        module = _bidirectional()
        module.load_state_dict(torch.load(folder / f"{name}.pt", weights_only=True))
        return rnncheck.wrap(module, alphabet=letters(2))
    return rnncheck.load_model(folder / f"{name}.safetensors")


def make(folder: Path, epochs: int, names: Sequence[str]) -> None:
    """Train those of the names that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (language, cell, hidden) in TRAINED.items():
        file = folder / f"{name}.safetensors"
        if file.exists() or name not in names:
            continue
        dfa = language()
        settings = TrainingSettings(cell=cell, hidden=hidden, epochs=epochs, max_length=40)
        distribution = WordDistribution(dfa.alphabet, stop=STOP)
        trained = train_on_automaton(dfa, settings=settings, distribution=distribution)
        rnncheck.save_network(trained.network, file)
        print(f"{name}: {len(dfa)} states, test accuracy {trained.report.test_accuracy}", flush=True)
    if BIDIRECTIONAL in names and not (folder / f"{BIDIRECTIONAL}.pt").exists():
        _train_bidirectional(folder / f"{BIDIRECTIONAL}.pt", epochs)


def _bidirectional() -> Any:
    import torch

    class Bidirectional(torch.nn.Module):
        """A GRU that reads in both directions; the answer is a function of both last states."""

        def __init__(self) -> None:
            super().__init__()
            self.embedding = torch.nn.Embedding(2, 8)
            self.recurrent = torch.nn.GRU(8, 32, bidirectional=True, batch_first=True)
            self.head = torch.nn.Linear(64, 1)

        def forward(self, words: torch.Tensor) -> torch.Tensor:
            _, last = self.recurrent(self.embedding(words))
            return self.head(torch.cat([last[0], last[1]], dim=-1))[:, 0]

    torch.manual_seed(0)
    return Bidirectional().eval()


def _train_bidirectional(file: Path, epochs: int) -> None:
    """On a random automaton of ten states; words of a batch have one length."""
    import torch

    torch.set_num_threads(1)
    dfa, module, rng = random_dfa(10, 2), _bidirectional().train(), np.random.default_rng(0)
    optimiser = torch.optim.Adam(module.parameters(), 3e-3)
    for _ in range(epochs * BATCHES):
        codes = rng.integers(2, size=(64, int(rng.geometric(STOP)) + 1))
        right = dfa.accepts_batch([dfa.alphabet.decode(word) for word in codes.tolist()])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            module(torch.tensor(codes)), torch.tensor(right, dtype=torch.float32)
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    torch.save(module.state_dict(), file)
    print(f"{file.stem}: last loss {float(loss.detach()):.3f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--only", action="append", choices=(*TRAINED, BIDIRECTIONAL))
    chosen = parser.parse_args()
    if chosen.epochs < 1:
        parser.error(f"--epochs {chosen.epochs} is less than 1")
    make(chosen.folder, chosen.epochs, chosen.only or NAMES)
