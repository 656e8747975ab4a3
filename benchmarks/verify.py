"""Whole verifications against two baselines, side by side on the same networks in one run.

    python benchmarks/verify.py [--data ../shared/data/released/random] [--limit 30] [--only jun03-13 …]

All on one thread; times and limits are processor time. Baselines, with the same limit unless --aalpy-limit is given:
  plain   PDV written plainly: one word a query through torch.nn.LSTM in inference mode, Kearns-Vazirani that re-sifts
          everything after each counterexample and remembers nothing
  aalpy   AALpy's Kearns-Vazirani with a random-word equivalence oracle on the same torch network, then the model check

Beside the time of each run stands that until its first violation, and beside its letters whether they are proved to be
the fewest; for the baselines, which end with the first violation, the two times are one.

A run that ends undecided, or in a "satisfied" that another contender refutes, is weaker than a counterexample. Ratios
are taken over instances; a baseline cut off by the limit enters with the limit, so its ratio is a lower bound.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from aalpy.base import SUL
from aalpy.learning_algs import run_KV
from aalpy.oracles import RandomWordEqOracle

import rnncheck
from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.libraries import from_aalpy
from rnncheck.automata.product import inclusion_witness
from rnncheck.models.files.released_folder import load_released
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.verification.verify_settings import VerifySettings

EPSILON = GAMMA = 5e-4


class OutOfTimeError(Exception):
    pass


class TorchClassifier:
    """The released network as its authors run it: embedding, nn.LSTM, linear, sigmoid; one word a call."""

    def __init__(self, folder: Path, limit: float) -> None:
        network = load_released(folder)
        self.alphabet = network.alphabet
        hidden = network.layers[0].hidden
        self._inputs = torch.from_numpy(np.array(network.inputs))
        self._padding = torch.from_numpy(np.array(network.padding))
        self._lstm = torch.nn.LSTM(network.inputs.shape[1], hidden, len(network.layers), batch_first=True)
        for number, layer in enumerate(network.layers):
            for name, value in (
                ("weight_ih", layer.input_weight),
                ("weight_hh", layer.recurrent_weight),
                ("bias_ih", layer.input_bias),
                ("bias_hh", layer.recurrent_bias),
            ):
                getattr(self._lstm, f"{name}_l{number}").data = torch.from_numpy(np.array(value))
        self._head = torch.from_numpy(np.array(network.head_weight)), torch.from_numpy(np.array(network.head_bias))
        self._end = time.process_time() + limit
        self.queries = self.steps = 0

    @torch.inference_mode()
    def accepts(self, word: tuple[int, ...]) -> bool:
        if time.process_time() > self._end:
            raise OutOfTimeError
        self.queries += 1
        self.steps += max(1, len(word))
        rows = self._inputs[list(word)] if word else self._padding[None]
        out, _ = self._lstm(rows[None])
        return bool(out[0, -1] @ self._head[0][0] + self._head[1][0] > 0)


class PlainKearnsVazirani:
    """A discrimination tree as a nested tuple; every hypothesis is built from nothing."""

    def __init__(self, letters: int, member) -> None:
        self.letters, self.member = letters, member
        self.access: list[tuple[int, ...]] = [()]
        self.tree = ("leaf", 0)

    def sift(self, word):
        node = self.tree
        while node[0] == "split":
            node = node[3] if self.member(word + node[1]) else node[2]
        return node[1]

    def hypothesis(self, alphabet) -> DFA:
        table = [[self.sift((*word, a)) for a in range(self.letters)] for word in self.access]
        return DFA(alphabet, table, np.array([self.member(word) for word in self.access]))

    def refine(self, hypothesis: DFA, word) -> None:
        # The first position where the access word stops to behave like the prefix tells two states apart.
        states = [0]
        for letter in word:
            states.append(int(hypothesis.transitions[states[-1], letter]))
        target = self.member(word)
        for i in range(len(word)):
            before = self.member(self.access[states[i]] + word[i:])
            after = self.member(self.access[states[i + 1]] + word[i + 1 :])
            if before == target and after != target:
                new, old, suffix = (*self.access[states[i]], word[i]), states[i + 1], word[i + 1 :]
                self.access.append(new)
                number = len(self.access) - 1
                pair = (
                    (("leaf", old), ("leaf", number))
                    if self.member(new + suffix)
                    else (("leaf", number), ("leaf", old))
                )
                self.tree = _replace(self.tree, old, ("split", suffix, *pair))
                return


def _replace(node, leaf, by):
    if node[0] == "leaf":
        return by if node[1] == leaf else node
    return (node[0], node[1], _replace(node[2], leaf, by), _replace(node[3], leaf, by))


def plain_pdv(folder: Path, spec: DFA, limit: float):
    model = TorchClassifier(folder, limit)
    rng = np.random.default_rng(0)
    words = WordDistribution(model.alphabet)
    learner = PlainKearnsVazirani(len(model.alphabet), model.accepts)
    try:
        while True:
            hypothesis = learner.hypothesis(model.alphabet)
            suspect = inclusion_witness(hypothesis, spec)
            if suspect is not None:
                word = model.alphabet.encode(suspect)
                if model.accepts(word):
                    return "violated", len(word), model.steps
            else:
                word = None
                for _ in range(Confidence(EPSILON, GAMMA).words):
                    drawn = words.sample(rng, 1)[0]
                    letters = model.alphabet.decode(drawn)
                    if model.accepts(drawn) and not hypothesis.accepts(letters):
                        word = drawn
                        if not spec.accepts(letters):
                            return "violated", len(word), model.steps
                        break
                if word is None:
                    return "satisfied", None, model.steps
            learner.refine(hypothesis, word)
    except OutOfTimeError:
        return "undecided", None, model.steps


class NetworkSUL(SUL):
    """AALpy's view of a network: a word is a walk, and every step asks for the whole prefix."""

    def __init__(self, model: TorchClassifier) -> None:
        super().__init__()
        self._model, self._word = model, ()

    def pre(self):
        self._word = ()

    def post(self):
        pass

    def step(self, letter):
        if letter is not None:
            self._word = (*self._word, self._model.alphabet.index(letter))
        return self._model.accepts(self._word)


def aalpy_kv(folder: Path, spec: DFA, limit: float):
    model = TorchClassifier(folder, limit)
    sul = NetworkSUL(model)
    letters = list(model.alphabet)
    oracle = RandomWordEqOracle(letters, sul, num_walks=1000, min_walk_len=1, max_walk_len=198)
    try:
        learned = run_KV(letters, sul, oracle, automaton_type="dfa", print_level=0)
        hypothesis = from_aalpy(learned, alphabet=model.alphabet)
        suspect = inclusion_witness(hypothesis, spec)
        if suspect is None:
            return "satisfied", None, model.steps
        real = model.accepts(model.alphabet.encode(suspect))
        return ("violated" if real else "undecided"), len(suspect), model.steps
    except OutOfTimeError:
        return "undecided", None, model.steps


def ours(method: str):
    def run(folder: Path, spec: DFA, limit: float):
        begin = time.process_time()
        model = rnncheck.load_model(folder, threads=1, cache=False)
        loading = time.process_time() - begin
        settings = VerifySettings(shrink=method == "auto", flows=None, severity_samples=0, clock=time.process_time)
        verdict = rnncheck.verify(
            model, spec, method=method, epsilon=EPSILON, gamma=GAMMA, timeout=limit, settings=settings
        )
        word = verdict.counterexample
        length = None if word is None else f"{len(word)}{'!' if verdict.shortest else ''}"
        first = verdict.cost.first_violation_seconds
        return verdict.outcome.value, length, verdict.cost.network_steps, None if first is None else loading + first

    return run


CONTENDERS = {"auto": ours("auto"), "pdv": ours("pdv"), "plain": plain_pdv, "aalpy": aalpy_kv}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/released/random"))
    parser.add_argument("--limit", type=float, default=30.0)
    parser.add_argument("--aalpy-limit", type=float, help="a limit of its own  [default: --limit]")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of paths, such as jun03-13/spec_second_1")
    parser.add_argument("--contenders", nargs="*", default=list(CONTENDERS), choices=list(CONTENDERS))
    arguments = parser.parse_args()
    specs = sorted(
        path for path in arguments.data.glob("*/spec_*.dot") if any(part in str(path) for part in arguments.only)
    )
    if not specs:
        print(f"no networks in {arguments.data}: nothing to measure")
        return
    torch.set_num_threads(1)
    contenders = {name: CONTENDERS[name] for name in arguments.contenders}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    steps: dict[str, list[int]] = {name: [] for name in contenders}
    to_first: dict[str, list[float]] = {name: [] for name in contenders}
    print(f"{'instance':<12}" + "".join(f"{name:>34}" for name in contenders))
    for path in specs:
        spec = rnncheck.Spec.from_file(path).dfa
        cells = []
        for name, run in contenders.items():
            begin = time.process_time()
            limit = arguments.aalpy_limit if name == "aalpy" and arguments.aalpy_limit else arguments.limit
            outcome, length, used, *first = run(path.parent, spec, limit)
            seconds = time.process_time() - begin
            times[name].append(seconds)
            steps[name].append(used)
            until = first[0] if first and first[0] is not None else seconds
            to_first[name].append(until)
            shown = f"{until:.2f}/{seconds:.2f}s" if first else f"{seconds:.2f}s"
            cells.append(f"{outcome} {'' if length is None else length} {shown} {used / 1e3:.0f}k")
        instance = f"{path.parent.name[-5:]}/{path.stem[-1]}"
        print(f"{instance:<12}" + "".join(f"{cell:>34}" for cell in cells), flush=True)
    for name in [name for name in contenders if name in ("auto", "pdv")]:
        for base in [name for name in contenders if name not in ("auto", "pdv")]:
            by_time = [b / a for a, b in zip(times[name], times[base], strict=True)]
            by_steps = [b / max(1, a) for a, b in zip(steps[name], steps[base], strict=True)]
            soon = [b / a for a, b in zip(to_first[name], to_first[base], strict=True)]
            print(
                f"{base} / {name}: to the first violation, geometric mean {statistics.geometric_mean(soon):.1f}; "
                f"time median {statistics.median(by_time):.1f}, "
                f"geometric mean {statistics.geometric_mean(by_time):.1f}; "
                f"steps median {statistics.median(by_steps):.1f}, "
                f"geometric mean {statistics.geometric_mean([max(x, 1e-9) for x in by_steps]):.2f}"
            )


if __name__ == "__main__":
    main()
