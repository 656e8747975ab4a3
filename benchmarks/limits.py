"""Limits and what was used: every command with a time limit, and ``--memory``, on models made for it.

    python benchmarks/limits.py [--seconds 10] [--only dfa,robust]

Each line is a process of its own: the limit, the seconds that the work took (imports and the making of the model
apart), and the peak of its memory. A time limit may be exceeded by 10 % and a second, ``--memory`` by 10 %.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import rnncheck
from rnncheck import Spec, zoo
from rnncheck.automata.dfa import DFA
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.words import Alphabet


def network(letters: Alphabet, bias: float = 0.0, hidden: int = 16) -> RecurrentNetwork:
    """A random LSTM over embeddings of 8 numbers; with a low bias it rejects every word."""
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray:
        return rng.uniform(-1, 1, size=shape).astype(np.float32)

    layer = Layer(draw(4 * hidden, 8), draw(4 * hidden, hidden), draw(4 * hidden), draw(4 * hidden))
    head, bias_row = draw(1, hidden), np.full(1, bias, np.float32)
    return RecurrentNetwork(letters, Cell.LSTM, draw(len(letters), 8), (layer,), head, bias_row)


def many(count: int) -> Alphabet:
    return Alphabet([f"t{number}" for number in range(count)])


def verify_letters(seconds: float, bias: float = 0.0) -> float:
    letters = many(20_000)
    model, spec = CompiledNetwork(network(letters, bias)), Spec.from_ltlf("G(t1 -> F t2)", letters)
    began = time.monotonic()
    verdict = rnncheck.verify(model, spec, timeout=seconds)
    print(f"  {verdict.outcome.value}, severity {verdict.severity}")
    return time.monotonic() - began


def satisfied_letters(seconds: float) -> float:
    return verify_letters(seconds, bias=-300.0)


def bilstm(seconds: float) -> float:
    import torch

    class Both(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.embedding, self.head = torch.nn.Embedding(4, 16), torch.nn.Linear(128, 1)
            self.recurrent = torch.nn.LSTM(16, 64, bidirectional=True, batch_first=True)

        def forward(self, words: torch.Tensor) -> torch.Tensor:
            states, _ = self.recurrent(self.embedding(words))
            return self.head(states.mean(1))[:, 0] - 100.0

    model = rnncheck.wrap(Both(), alphabet=list("abcd"))
    began = time.monotonic()
    rnncheck.verify(model, Spec.from_ltlf("G(a -> F b)", list("abcd")), timeout=seconds)
    return time.monotonic() - began


def large_dfa(seconds: float) -> float:
    letters, states, rng = Alphabet(list("abc")), 1_000_000, np.random.default_rng(0)
    table = rng.integers(states, size=(states, 3))
    table[:, 0] = (np.arange(states) + 1) % states
    model, spec = CompiledNetwork(network(letters)), Spec.from_dfa(DFA(letters, table, rng.random(states) < 0.999))
    began = time.monotonic()
    rnncheck.verify(model, spec, timeout=seconds)
    return time.monotonic() - began


def robust(seconds: float) -> float:
    letters = many(5_000)
    model, word = CompiledNetwork(network(letters)), [f"t{number}" for number in range(20)]
    began = time.monotonic()
    rnncheck.robust(model, [word], distance=2, timeout=seconds)
    return time.monotonic() - began


def harden(seconds: float) -> float:
    from rnncheck.training import HardeningSettings
    from rnncheck.training import harden as harden_network

    entry, settings = zoo.entry("response-faulty-lstm"), HardeningSettings(timeout=seconds)
    began = time.monotonic()
    harden_network(entry.network(), entry.spec().dfa, settings=settings)
    return time.monotonic() - began


TIMED = {
    "letters": verify_letters,
    "satisfied": satisfied_letters,
    "bilstm": bilstm,
    "dfa": large_dfa,
    "robust": robust,
    "harden": harden,
}


def peak_mib() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) >> 10


def with_memory(limit: float, place: Path) -> None:
    """``verify --memory`` of a large network that rejects everything, so that the search goes on."""
    from rnncheck.cli import main
    from rnncheck.models.files.safetensors_file import save_network

    save_network(network(Alphabet(list("abcd")), -300.0, hidden=256), place / "model.safetensors")
    asked = ["verify", str(place / "model.safetensors"), "--ltlf", "G(a -> F b)", "--alphabet", "a,b,c,d", "--quiet"]
    sys.argv = ["rnncheck", *asked, "--memory", str(limit), "--timeout", "30"]
    try:
        main()
    except SystemExit as end:
        print(f"  exit code {end.code}")
    print(f"  memory limit {limit:6.0f} MiB, peak {peak_mib():6d} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--only", default=",".join([*TIMED, "memory"]))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=float, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one == "memory":
        with tempfile.TemporaryDirectory() as folder:
            with_memory(asked.limit, Path(folder))
    elif asked.one is not None:
        took = TIMED[asked.one](asked.limit)
        allowed = 1.1 * asked.limit + 1.0
        print(f"  limit {asked.limit:5.1f} s, took {took:6.1f} s (at most {allowed:.1f}), peak {peak_mib()} MiB")
    else:
        for name in asked.only.split(","):
            for limit in (64, 128, 1024) if name == "memory" else (asked.seconds,):
                print(name, flush=True)
                subprocess.run([sys.executable, __file__, "--one", name, "--limit", str(limit)], check=False)


if __name__ == "__main__":
    main()
