"""How fast the engine answers, against PyTorch, onnxruntime and the bare matrix products, in one process.

    python benchmarks/engine.py [--quick] [--output FILE]

Four tables, each for 1 and for 2 threads. Contenders take turns in the same process, and the figures are medians over
the rounds of the ratios within a round, so that a busy machine slows both sides alike. With one thread the time is
processor time, with two it is wall time. PyTorch gets words that are packed in advance, and is asked for the answer to
the whole word only; our side sorts, batches, and answers every prefix.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import onnx
import onnxruntime
import torch
from threadpoolctl import threadpool_limits

from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.kernel import usable_kernel
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.oracle import MembershipOracle
from rnncheck.words import Alphabet, Codes, WordBatch

LETTERS = 5
EMBEDDING = 10
SHAPES = [(100, 1), (100, 2), (180, 1), (180, 2), (280, 1), (280, 2)]  # hidden, layers
PACKED_BATCH = 200
PAUSE = 0.15  # seconds


@dataclass
class Subject:
    """One network, as a PyTorch module and as our value with the same weights."""

    embedding: torch.nn.Embedding
    lstm: torch.nn.LSTM
    head: torch.nn.Linear
    network: RecurrentNetwork

    @classmethod
    def make(cls, hidden: int, layers: int) -> Subject:
        torch.manual_seed(hidden + layers)
        embedding = torch.nn.Embedding(LETTERS, EMBEDDING)
        lstm = torch.nn.LSTM(EMBEDDING, hidden, layers).eval()
        head = torch.nn.Linear(hidden, 1)
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        network = RecurrentNetwork(
            Alphabet([chr(ord("a") + i) for i in range(LETTERS)]),
            Cell.LSTM,
            embedding.weight.detach().numpy(),
            tuple(Layer(*(getattr(lstm, f"{n}_l{i}").detach().numpy() for n in names)) for i in range(layers)),
            head.weight.detach().numpy(),
            head.bias.detach().numpy(),
        )
        return cls(embedding, lstm, head, network)

    def packed(self, words: list[Codes]) -> list[torch.nn.utils.rnn.PackedSequence]:
        tensors = [torch.tensor(word) for word in words]
        pack = torch.nn.utils.rnn.pack_sequence
        return [
            pack(tensors[at : at + PACKED_BATCH], enforce_sorted=False) for at in range(0, len(words), PACKED_BATCH)
        ]

    def by_torch(self, batches: list[torch.nn.utils.rnn.PackedSequence]) -> list[torch.Tensor]:
        with torch.inference_mode():
            return [self._answers(batch) for batch in batches]

    def _answers(self, batch: torch.nn.utils.rnn.PackedSequence) -> torch.Tensor:
        _, (hidden, _) = self.lstm(batch._replace(data=self.embedding(batch.data)))
        return self.head(hidden[-1])[:, 0]


def sampled_words(count: int, rng: np.random.Generator) -> list[Codes]:
    """Words as the usual distribution draws them, the empty word left out: mean length 100."""
    return [tuple(rng.integers(LETTERS, size=length).tolist()) for length in rng.geometric(0.01, size=count)]


def learner_queries(rng: np.random.Generator) -> tuple[list[Codes], list[Codes]]:
    """200 access words of 20 to 40 letters, each with every letter added; 20 suffixes, two of each length to 10."""
    access = [tuple(rng.integers(LETTERS, size=rng.integers(20, 41)).tolist()) for _ in range(200)]
    extended = [(*word, letter) for word in access for letter in range(LETTERS)]
    suffixes: dict[Codes, None] = {}
    while len(suffixes) < 20:
        suffixes[tuple(rng.integers(LETTERS, size=1 + len(suffixes) // 2).tolist())] = None
    return extended, list(suffixes)


Work = Callable[[], object]


def in_turns(contenders: dict[str, Work], rounds: int, threads: int) -> dict[str, list[float]]:
    """Times of each contender, one warm-up apart, round by round.

    With several threads there is a pause before each: BLAS's own threads look for more work for a tenth of a second
    when they have ended, on the core that the next contender would use.
    """
    clock = time.process_time if threads == 1 else time.perf_counter
    for work in contenders.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            time.sleep(0.0 if threads == 1 else PAUSE)
            start = clock()
            work()
            times[name].append(clock() - start)
    return times


def repeated(work: Work, times: int) -> Work:
    def several() -> None:
        for _ in range(times):
            work()

    return several


def ratio(slow: list[float], fast: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(slow, fast, strict=True))


@contextmanager
def limited_to(threads: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads):
            yield
    finally:
        torch.set_num_threads(before)


class Table:
    """Prints rows as they come, and keeps them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str = "") -> None:
        print(text, flush=True)
        self.lines.append(text)


def whole_words(table: Table, threads: int, rounds: int, scale: float) -> None:
    table.line(f"\n(a) sampled words of mean length 100 against torch.nn.LSTM, {threads} thread(s); aim: at least 2")
    table.line("    hidden layers   ours letters/s  torch letters/s   ratio")
    for hidden, layers in SHAPES:
        subject = Subject.make(hidden, layers)
        words = sampled_words(int(scale * (2000 if hidden * layers <= 200 else 1000)), np.random.default_rng(1))
        batch, packed = WordBatch.from_codes(words), subject.packed(words)
        model = CompiledNetwork(subject.network, threads=threads)
        if not np.allclose(model.scores_batch(batch), torch.cat(subject.by_torch(packed)), atol=1e-4):
            raise SystemExit("the contenders disagree; nothing was measured")
        contenders = {"ours": partial(model.prefix_scores, batch), "torch": partial(subject.by_torch, packed)}
        times = in_turns(contenders, rounds, threads)
        ours, theirs = (len(batch.codes) / statistics.median(times[name]) for name in contenders)
        table.line(
            f"    {hidden:6d} {layers:6d} {ours:16,.0f} {theirs:16,.0f} {ratio(times['torch'], times['ours']):7.2f}"
        )


def queries(table: Table, threads: int, rounds: int, scale: float) -> None:
    access, suffixes = learner_queries(np.random.default_rng(2))
    words = [u + v for u in access for v in suffixes]
    table.line(
        f"\n(b) {len(words):,} queries of a learner against torch on whole words, {threads} thread(s); aim: at least 10"
    )
    table.line("    hidden layers   ours queries/s  torch queries/s   ratio   steps for letters")
    part = max(PACKED_BATCH, int(scale * 2000))  # torch is measured on this many of the words, drawn at random
    chosen = np.random.default_rng(3).permutation(len(words))[:part]

    def ask(model: CompiledNetwork) -> MembershipOracle:
        oracle = MembershipOracle(model)
        oracle.table(access, suffixes)
        return oracle

    for hidden, layers in SHAPES:
        subject = Subject.make(hidden, layers)
        model = CompiledNetwork(subject.network, threads=threads)
        packed = subject.packed([words[i] for i in chosen])
        steps = ask(model).cost.network_steps
        contenders = {"ours": partial(ask, model), "torch": partial(subject.by_torch, packed)}
        times = in_turns(contenders, rounds, threads)
        torch_times = [t * len(words) / part for t in times["torch"]]
        ours = len(words) / statistics.median(times["ours"])
        theirs = len(words) / statistics.median(torch_times)
        table.line(
            f"    {hidden:6d} {layers:6d} {ours:16,.0f} {theirs:16,.0f} {ratio(torch_times, times['ours']):7.2f}"
            f"   {steps:,} for {sum(map(len, words)):,}"
        )


def bound(table: Table, threads: int, rounds: int, scale: float) -> None:
    aim = "80 %" if threads == 1 else "70 %"
    table.line(
        f"\n(c) share of the bound set by the matrix products alone, {threads} thread(s); aim: {aim} from 160 units"
    )
    table.line("    hidden layers    words run through, and single steps, of 64, 256, 1024, 4096 rows")
    for hidden, layers in SHAPES:
        rng = np.random.default_rng(4)
        model = CompiledNetwork(Subject.make(hidden, layers).network, threads=threads)
        shares = []
        for rows in (64, 256, 1024, 4096):
            letters = rng.integers(LETTERS, size=(rows, max(2, int(scale * 4096 / rows))))
            states = model.step(model.initial(rows), letters[:, 0])
            contenders = {
                "run": partial(model.prefix_scores, WordBatch.from_codes(letters.tolist())),
                "bare": repeated(bare_products(hidden, layers, rows, rng), letters.shape[1]),
                "steps": repeated(partial(model.step, states, letters[:, 1]), letters.shape[1]),
            }
            times = in_turns(contenders, 2 * rounds, threads)
            shares += [ratio(times["bare"], times["run"]), ratio(times["bare"], times["steps"])]
        pairs = zip(shares[::2], shares[1::2], strict=True)
        table.line(f"    {hidden:6d} {layers:6d}    " + "   ".join(f"{run:4.0%} {step:4.0%}" for run, step in pairs))


def bare_products(hidden: int, layers: int, rows: int, rng: np.random.Generator) -> Work:
    """The products of one step and nothing else: the input of the lowest layer is a table, so it has none."""
    shapes = [(hidden, 4 * hidden)] + [(2 * hidden, 4 * hidden)] * (layers - 1)
    weights = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    inputs = [rng.normal(size=(rows, shape[0])).astype(np.float32) for shape in shapes]
    out = np.empty((rows, 4 * hidden), dtype=np.float32)

    def products() -> None:
        for x, weight in zip(inputs, weights, strict=True):
            np.matmul(x, weight, out=out)

    return products


def onnx_session(subject: Subject, threads: int) -> onnxruntime.InferenceSession:
    """The network with its states as inputs and outputs, and the output after every letter.

    ONNX orders an LSTM's gates i, o, f, g where PyTorch has i, f, g, o.
    """
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    nodes, constants, below = [], [], "letters_embedded"
    hidden = subject.network.layers[0].hidden
    constants.append(onnx.numpy_helper.from_array(subject.network.inputs, "embedding"))
    constants.append(onnx.numpy_helper.from_array(np.array([1]), "direction"))
    nodes.append(helper.make_node("Gather", ["embedding", "letters"], [below]))
    inputs = [helper.make_tensor_value_info("letters", onnx.TensorProto.INT64, ["T", "B"])]
    inputs.append(helper.make_tensor_value_info("lengths", onnx.TensorProto.INT32, ["B"]))
    outputs = [helper.make_tensor_value_info("scores", float32, None)]
    for i, layer in enumerate(subject.network.layers):
        parts = [layer.input_weight, layer.recurrent_weight]
        parts.append(np.concatenate([layer.input_bias, layer.recurrent_bias]))
        ordered = [np.concatenate([p.reshape(-1, 4, hidden, *p.shape[1:])[:, [0, 3, 1, 2]]]) for p in parts]
        for name, part in zip(("W", "R", "B"), ordered, strict=True):
            shape = (1, -1) if name == "B" else (1, 4 * hidden, -1)
            constants.append(onnx.numpy_helper.from_array(np.ascontiguousarray(part.reshape(shape)), f"{name}{i}"))
        node_inputs = [below, f"W{i}", f"R{i}", f"B{i}", "lengths", f"h{i}", f"c{i}"]
        nodes.append(helper.make_node("LSTM", node_inputs, [f"all{i}", f"H{i}", f"C{i}"], hidden_size=hidden))
        nodes.append(helper.make_node("Squeeze", [f"all{i}", "direction"], [below := f"below{i}"]))
        for state in "hc":
            inputs.append(helper.make_tensor_value_info(f"{state}{i}", float32, [1, "B", hidden]))
            outputs.append(helper.make_tensor_value_info(f"{state.upper()}{i}", float32, None))
    constants.append(onnx.numpy_helper.from_array(subject.network.head_weight.T.copy(), "head"))
    nodes.append(helper.make_node("MatMul", [below, "head"], ["scores"]))
    graph = helper.make_graph(nodes, "network", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def onnx_states(subject: Subject, rows: int) -> dict[str, np.ndarray]:
    hidden = subject.network.layers[0].hidden
    zeros = np.zeros((1, rows, hidden), dtype=np.float32)
    return {f"{state}{i}": zeros for i in range(len(subject.network.layers)) for state in "hc"}


def onnx_whole_words(subject: Subject, session: onnxruntime.InferenceSession, words: list[Codes]) -> Work:
    """All prefixes' scores in one call a batch; words of similar length stand together, so little is padded."""
    feeds = []
    by_length = sorted(words, key=len)
    for at in range(0, len(words), PACKED_BATCH):
        batch = by_length[at : at + PACKED_BATCH]
        letters = np.zeros((len(batch[-1]), len(batch)), dtype=np.int64)
        for column, word in enumerate(batch):
            letters[: len(word), column] = word
        lengths = np.array([len(word) for word in batch], dtype=np.int32)
        feeds.append({"letters": letters, "lengths": lengths, **onnx_states(subject, len(batch))})
    return lambda: [session.run(["scores"], feed) for feed in feeds]


def against_onnxruntime(table: Table, threads: int, rounds: int, scale: float) -> None:
    table.line(f"\n(d) onnxruntime's time over ours, {threads} thread(s); above 1 we are faster")
    table.line("    hidden layers    one step of 1, 16, 64, 256, 1024, 4096 rows                        whole words")
    for hidden, layers in SHAPES:
        rng = np.random.default_rng(5)
        subject = Subject.make(hidden, layers)
        model, session = CompiledNetwork(subject.network, threads=threads), onnx_session(subject, threads)

        def step(states: np.ndarray, letters: np.ndarray, model: CompiledNetwork = model) -> None:
            model.scores(model.step(states, letters))

        ratios = []
        for rows in (1, 16, 64, 256, 1024, 4096):
            letters = rng.integers(LETTERS, size=rows)
            feed = {"letters": letters[None], "lengths": np.ones(rows, dtype=np.int32), **onnx_states(subject, rows)}
            repeats = max(1, int(scale * 4096 / max(rows, 16)))
            contenders = {
                "ours": repeated(partial(step, model.initial(rows), letters), repeats),
                "onnx": repeated(partial(session.run, None, feed), repeats),
            }
            times = in_turns(contenders, 2 * rounds, threads)
            ratios.append(ratio(times["onnx"], times["ours"]))
        words = sampled_words(int(scale * 600), rng)
        contenders = {
            "ours": partial(model.prefix_scores, WordBatch.from_codes(words)),
            "onnx": onnx_whole_words(subject, session, words),
        }
        times = in_turns(contenders, rounds, threads)
        ratios.append(ratio(times["onnx"], times["ours"]))
        table.line(f"    {hidden:6d} {layers:6d}    " + "  ".join(f"{value:8.2f}" for value in ratios))


def provenance(table: Table) -> None:
    table.line(f"engine benchmark, {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC")
    table.line(f"{platform.platform()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    table.line("kernel: " + ("none, numpy" if usable_kernel(keep=True) is None else "compiled"))
    versions = {"numpy": np, "torch": torch, "onnxruntime": onnxruntime}
    table.line(
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {module.__version__}" for name, module in versions.items())
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, one round; figures are rough")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2], help="how many threads to measure with")
    parser.add_argument("--only", default="abcd", help="the tables to make, such as ac")
    parser.add_argument("--output", help="also write the tables to this file")
    arguments = parser.parse_args()
    rounds, scale = (1, 0.1) if arguments.quick else (5, 1.0)
    table = Table()
    provenance(table)
    for threads in arguments.threads:
        with limited_to(threads):
            for name, measure in zip("abcd", (whole_words, queries, bound, against_onnxruntime), strict=True):
                if name in arguments.only:
                    measure(table, threads, rounds, scale)
    table.line(f"\nload {os.getloadavg()[0]:.1f} at the end")
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write("\n".join(table.lines) + "\n")


if __name__ == "__main__":
    main()
