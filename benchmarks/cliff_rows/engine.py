"""The engine: one word at a time, the self-check of large networks, replay of proofs, and what is sent to workers.

All on one thread: OMP_NUM_THREADS=1 python benchmarks/cliffs.py --rows 6 10 11 12
"""

from __future__ import annotations

import multiprocessing.connection
import pickle
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cliff_rows.row import Curve, Measured, Row, seconds_of
from rnncheck.automata.minimisation import minimise
from rnncheck.checker import Status, replay
from rnncheck.models.distributed import distributed
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.proofs.certifying import certificate_of
from rnncheck.proofs.proof_search import Invariant, find_invariant
from rnncheck.relations import Property, Relation
from rnncheck.runtime.executors import Executor, open_executor
from rnncheck.words import Alphabet, WordBatch

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from support.clusters import Cluster
from support.proofs import random_dfa
from support.robust_networks import robust_network

UNITS = (32, 64, 128, 256, 512, 1024, 2048)
WORD_LETTERS, ROUNDS = 100, 5
MODULES = {Cell.LSTM: torch.nn.LSTM, Cell.GRU: torch.nn.GRU, Cell.RNN_TANH: torch.nn.RNN}
torch.set_num_threads(1)


class Subject:
    """One network as a PyTorch module, and as ours with the same weights, over five letters."""

    def __init__(self, cell: Cell, units: int, layers: int = 1) -> None:
        torch.manual_seed(units + layers)
        self._embedding, self._head = torch.nn.Embedding(5, 10), torch.nn.Linear(units, 1)
        self._module = MODULES[cell](10, units, layers).eval()
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        self.network = RecurrentNetwork(
            Alphabet(["a", "b", "c", "d", "e"]),
            cell,
            self._embedding.weight.detach().numpy(),
            tuple(Layer(*(getattr(self._module, f"{n}_l{i}").detach().numpy() for n in names)) for i in range(layers)),
            self._head.weight.detach().numpy(),
            self._head.bias.detach().numpy(),
        )

    def model(self) -> CompiledNetwork:
        return CompiledNetwork(self.network, threads=1)

    def by_torch(self, word: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            return self._head(self._module(self._embedding(word)[:, None])[0][-1])


def drawn_words(count: int) -> list[list[int]]:
    rng = np.random.default_rng(0)
    return [rng.integers(5, size=WORD_LETTERS).tolist() for _ in range(count)]


def in_turns(*contenders: Callable[[], object]) -> list[float]:
    """The median time of each over some rounds, after one that does not count."""
    rounds = [[seconds_of(contender) for contender in contenders] for _ in range(1 + ROUNDS)]
    return [statistics.median(times) for times in zip(*rounds[1:], strict=True)]


def one_word(quick: bool) -> Iterator[Measured]:
    """The scores after each letter of one word, and torch's answer to it: twenty words, one at a time."""
    shapes = [(cell, units, 1) for cell in MODULES for units in (32, 64, 128)] + [(cell, 512, 4) for cell in MODULES]
    for cell, units, layers in shapes[:1] if quick else shapes:
        subject, words = Subject(cell, units, layers), drawn_words(20 if layers == 1 else 5)
        model, batches = subject.model(), [WordBatch.from_codes([word]) for word in words]
        tensors = [torch.tensor(word) for word in words]
        ours, theirs = in_turns(
            lambda model=model, batches=batches: [model.prefix_scores(batch) for batch in batches],
            lambda subject=subject, tensors=tensors: [subject.by_torch(word) for word in tensors],
        )
        found = [f"{1e6 * seconds / len(words) / WORD_LETTERS:.2f} µs a letter" for seconds in (ours, theirs)]
        what = f"one word at a time, {cell.value} {units} × {layers}"
        yield Measured(what, found[0], f"torch {found[1]}", f"{ours / theirs:.2f}")


def load_seconds(units: int) -> float:
    """Compiling a network and comparing it with its reference."""
    network = Subject(Cell.LSTM, units).network
    return seconds_of(lambda: CompiledNetwork(network, threads=1, cache=False))


def self_check(quick: bool) -> Iterator[Measured]:
    units = 256 if quick else 2048
    subject, (word,) = Subject(Cell.LSTM, units), drawn_words(1)
    load_seconds(8)  # the kernel is compiled
    (theirs,) = in_turns(lambda: subject.by_torch(torch.tensor(word)))
    ours = load_seconds(units)
    what = f"compile and self-check, lstm {units}"
    yield Measured(
        what, f"{ours:.2f} s", f"torch reads {WORD_LETTERS} letters in {theirs:.2f} s", f"{ours / theirs:.1f}"
    )


def proof_replay(quick: bool) -> Iterator[Measured]:
    for cell in MODULES:
        states = 10 if quick else 100
        spec = minimise(random_dfa(states, 5, 0))
        wanted, network = Property(spec, Relation.EQUAL), robust_network(spec, cell, gain=4.0)
        model, found = CompiledNetwork(network, threads=1), []
        proving = seconds_of(lambda: found.append(find_invariant(network, wanted)))  # noqa: B023 - called at once
        (invariant,) = found
        assert isinstance(invariant, Invariant)
        text = certificate_of(invariant, network, wanted, model.accepts_empty).to_json()
        checked: list[Any] = []
        checking = seconds_of(lambda: checked.append(replay(text, model)))  # noqa: B023
        assert checked[0].status is Status.CONFIRMED
        what = f"replay of a proof, {cell.value}, {len(spec)} states × {network.layers[0].hidden} units"
        yield Measured(what, f"{checking:.2f} s", f"the proof {proving:.2f} s", f"{checking / proving:.2f}")


@contextmanager
def counted_bytes() -> Iterator[list[int]]:
    """The sizes of what this process sends to worker processes and to a Dask scheduler."""
    from distributed.comm.tcp import TCP

    sizes: list[int] = []
    send, write = multiprocessing.connection.Connection._send_bytes, TCP.write

    def counting_send(self: Any, content: Any) -> None:
        sizes.append(len(content))
        send(self, content)

    async def counting_write(self: Any, *arguments: Any, **options: Any) -> int:
        sizes.append(await write(self, *arguments, **options))
        return sizes[-1]

    multiprocessing.connection.Connection._send_bytes, TCP.write = counting_send, counting_write
    try:
        yield sizes
    finally:
        multiprocessing.connection.Connection._send_bytes, TCP.write = send, write


def sent_per_share(model: CompiledNetwork, executor: Executor, batches: int) -> tuple[float, int]:
    """Bytes for each share of several long batches, and the number of shares."""
    shared, words = distributed(model, executor), WordBatch.from_codes(drawn_words(40))
    with counted_bytes() as sizes:
        for _ in range(batches):
            shared.prefix_scores(words)
    shares = batches * executor.workers
    return sum(sizes) / shares, shares


def weights_sent(quick: bool) -> Iterator[Measured]:
    model, batches = Subject(Cell.LSTM, 64 if quick else 1024).model(), 2 if quick else 10
    whole = len(pickle.dumps(model))
    with tempfile.TemporaryDirectory() as folder, closing(Cluster(Path(folder))) as cluster:
        for name, address in (("processes", None), ("Dask", cluster.address)):
            with open_executor(2, address) as executor:
                each, shares = sent_per_share(model, executor, batches)
            what = f"{name}: sent per share, {shares} shares on 2 workers"
            yield Measured(what, f"{each / 1e6:.2f} MB", f"the network {whole / 1e6:.2f} MB", f"{each / whole:.2f}")


def word_seconds(units: int) -> float:
    """Reading one word of a hundred letters."""
    model, (word,) = Subject(Cell.LSTM, units).model(), drawn_words(1)
    batch = WordBatch.from_codes([word])
    return in_turns(lambda: model.prefix_scores(batch))[0]


def step_seconds(units: int) -> float:
    """One letter in each of 256 sampled words."""
    model = Subject(Cell.LSTM, units).model()
    states, letters = model.initial(256), np.random.default_rng(0).integers(5, size=256)
    return in_turns(lambda: model.scores(model.step(states, letters)))[0]


def over_units(work: Callable[[int], float], sizes: Sequence[int]) -> list[tuple[int, float]]:
    """Units of an LSTM, and processor seconds."""
    work(8)  # the kernel is compiled
    return [(units, work(units)) for units in sizes]


CURVES = [
    Curve(f"units-{name}", what, "units", UNITS, partial(over_units, work), most=2.0)
    for name, what, work in (
        ("load", "Loading a network and checking it against its reference", load_seconds),
        ("word", "One word of a hundred letters", word_seconds),
        ("step", "One letter in each of 256 words", step_seconds),
    )
]
ROWS = [
    Row(6, "≤ 1", one_word),
    Row(10, "2 s", self_check),
    Row(11, "≤ 1", proof_replay),
    Row(12, "once per worker", weights_sent),
]
