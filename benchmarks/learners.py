"""How much the learners ask, beside AALpy's on the same targets with the same counterexamples.

Run: python benchmarks/learners.py [--seeds 3]

Columns, averages over the targets of a size:
  words    different words asked for, one answer each; an AALpy query returns the answers to all prefixes as well
  runs     words that are no prefix of an earlier one, which is how AALpy counts its queries
  nodes    different prefixes of all words: the answers that were seen where prefixes come along, and the letters that
           a network would read if every state it was ever in were kept
  steps    letters that a network reads with our oracle, which keeps the states after access words only and shares
           prefixes inside a batch
  rounds   equivalence queries
  batches  calls of ask (AALpy asks one word at a time)
Counterexamples: the shortlex-least word; or a sampled word of about 100 letters, whole or cut to the shortest prefix
that is wrong. "prefixes": the learner asks for all prefixes of a suffix, which cost a stepped network nothing.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from aalpy.base import SUL, Oracle
from aalpy.learning_algs import run_KV, run_Lsharp, run_Lstar

from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import canonical, minimise
from rnncheck.automata.product import difference_witness
from rnncheck.learning import Learner, Query, Search, make_learner
from rnncheck.words import Alphabet, Codes, WordBatch

COLUMNS = ("words", "runs", "nodes", "steps", "rounds", "batches")
COMPARED = ("words", "runs", "nodes", "rounds")

Figures = dict[str, float]
Teacher = Callable[[DFA], Codes | None]

OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "TTT": ("ttt", {}),
    "TTT, prefixes": ("ttt", {"prefixes": True}),
    "KV": ("kv", {}),
    "KV, prefixes": ("kv", {"prefixes": True}),
    "L* (R-S)": ("lstar", {}),
    "L* (R-S), prefixes": ("lstar", {"prefixes": True}),
}
AALPY: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "AALpy KV": (run_KV, {}),
    "AALpy KV, linear": (run_KV, {"cex_processing": "linear_bwd"}),
    "AALpy L* (R-S)": (run_Lstar, {"all_prefixes_in_obs_table": False}),
    "AALpy L* (R-S), prefixes": (run_Lstar, {}),
    "AALpy L#": (run_Lsharp, {}),
    "AALpy L#, adaptive": (run_Lsharp, {"extension_rule": "ADS", "separation_rule": "ADS"}),
}


class Meter:
    """Counts what is asked about a target."""

    def __init__(self, dfa: DFA) -> None:
        self.table, self.accepting, self.initial = dfa.transitions.tolist(), dfa.accepting.tolist(), dfa.initial
        self.words: set[Codes] = set()
        self.met: set[Codes] = {()}
        self.held: set[Codes] = {()}
        self.runs = self.steps = self.batches = 0

    def answer(self, word: Codes) -> bool:
        state = self.initial
        for letter in word:
            state = self.table[state][letter]
        return bool(self.accepting[state])

    def ask(self, queries: Sequence[Query]) -> list[bool]:
        self.batches += 1
        read = {access + suffix[:n] for access, suffix in queries for n in range(1, len(suffix) + 1)}
        for access in sorted({access for access, _ in queries}, key=len):
            reached = next(n for n in range(len(access), -1, -1) if access[:n] in self.held or access[:n] in read)
            read |= {access[:n] for n in range(reached + 1, len(access) + 1)}
            self.held.add(access)
        self.steps += len(read)
        words = [access + suffix for access, suffix in queries]
        for word in sorted(words, key=len, reverse=True):
            self.note(word)
        return [self.answer(word) for word in words]

    def note(self, word: Codes) -> None:
        self.words.add(word)
        self.runs += word not in self.met
        self.met |= {word[:n] for n in range(len(word) + 1)}


class AalpyTarget(SUL):
    def __init__(self, dfa: DFA) -> None:
        super().__init__()
        self.meter = Meter(dfa)
        self.state, self.word = 0, ()

    def pre(self) -> None:
        self.state, self.word = self.meter.initial, ()

    def post(self) -> None:
        self.meter.note(self.word)

    def step(self, letter: int | None) -> bool:
        if letter is not None:
            self.state = self.meter.table[self.state][letter]
            self.word = (*self.word, letter)
        return bool(self.meter.accepting[self.state])


class AalpyTeacher(Oracle):
    def __init__(self, sul: SUL, alphabet: Alphabet, teacher: Teacher) -> None:
        super().__init__(list(range(len(alphabet))), sul)
        self.letters, self.teacher, self.rounds = alphabet, teacher, 0

    def find_cex(self, hypothesis: Any) -> Codes | None:
        self.rounds += 1
        number = {id(state): i for i, state in enumerate(hypothesis.states)}
        table = [[number[id(state.transitions[a])] for a in self.alphabet] for state in hypothesis.states]
        accepting = [bool(state.is_accepting) for state in hypothesis.states]
        return self.teacher(DFA(self.letters, table, accepting, number[id(hypothesis.initial_state)]))


def random_dfa(states: int, letters: int, seed: int) -> DFA:
    """A random automaton that is nearly minimal, as the paper's are."""
    rng = np.random.default_rng([states, letters, seed])
    alphabet = Alphabet([f"t{i}" for i in range(letters)])
    while True:
        dfa = minimise(DFA(alphabet, rng.integers(0, states, (states, letters)), rng.random(states) < 0.5))
        if len(dfa) >= 0.9 * states:
            return dfa


def keylock(length: int, letters: int) -> DFA:
    """Opens after the right letters in a row; any wrong one starts anew."""
    key = np.random.default_rng(length).integers(0, letters, length)
    table = np.zeros((length + 1, letters), dtype=np.int64)
    table[np.arange(length), key] = np.arange(1, length + 1)
    table[length] = length
    return DFA([f"t{i}" for i in range(letters)], table, np.arange(length + 1) == length)


def sampled(rng: np.random.Generator, letters: int, count: int) -> WordBatch:
    lengths = rng.geometric(0.01, count) - 1
    return WordBatch(rng.integers(0, letters, lengths.sum()), np.concatenate([[0], np.cumsum(lengths)]))


def shortest_wrong_prefix(word: Codes, dfa: DFA, hypothesis: DFA) -> Codes:
    prefixes = WordBatch.from_codes([word[:n] for n in range(len(word) + 1)])
    return prefixes[int(np.argmax(dfa.accepts_batch(prefixes) != hypothesis.accepts_batch(prefixes)))]


def teacher_of(kind: str, dfa: DFA, seed: int) -> Teacher:
    rng = np.random.default_rng(seed)

    def find(hypothesis: DFA) -> Codes | None:
        if kind != "shortest":
            for _ in range(3):
                words = sampled(rng, len(dfa.alphabet), 500)
                wrong = np.flatnonzero(dfa.accepts_batch(words) != hypothesis.accepts_batch(words))
                if len(wrong):
                    word = words[int(wrong[0])]
                    return word if kind == "sampled" else shortest_wrong_prefix(word, dfa, hypothesis)
        witness = difference_witness(dfa, hypothesis)
        return None if witness is None else dfa.alphabet.encode(witness)

    return find


def learn(name: str, options: dict[str, Any], dfa: DFA, teacher: Teacher) -> Figures:
    meter = Meter(dfa)
    learner: Learner[Any] = make_learner(name, dfa.alphabet, meter.ask, **options)
    rounds, start = 1, time.process_time()
    while (word := teacher(learner.hypothesis)) is not None:
        learner.refine(word)
        rounds += 1
    check(learner.hypothesis, dfa)
    return figures(meter, rounds) | {"batches": meter.batches, "steps": meter.steps, "s": time.process_time() - start}


def learn_by_aalpy(run: Callable[..., Any], options: dict[str, Any], dfa: DFA, teacher: Teacher) -> Figures:
    target = AalpyTarget(dfa)
    oracle = AalpyTeacher(target, dfa.alphabet, teacher)
    start = time.process_time()
    # The meter sees every question before any cache, and counts different words only.
    run(oracle.alphabet, target, oracle, "dfa", cache_and_non_det_check=False, print_level=0, **options)
    return figures(target.meter, oracle.rounds) | {"s": time.process_time() - start}


def figures(meter: Meter, rounds: int) -> Figures:
    return {"words": len(meter.words), "runs": meter.runs, "nodes": len(meter.met) - 1, "rounds": rounds}


def check(hypothesis: DFA, dfa: DFA) -> None:
    if canonical(hypothesis) != canonical(dfa):
        raise SystemExit("a learner ended at the wrong automaton")


def mean(rows: Iterable[Figures]) -> Figures:
    rows = list(rows)
    return {key: sum(row[key] for row in rows) / len(rows) for key in rows[0]}


def line(label: str, row: Figures) -> str:
    cells = [f"{row[key]:8.0f}" if key in row else " " * 8 for key in COLUMNS]
    return f"  {label:28}" + "".join(cells) + f"{row['s']:8.2f}"


def heading() -> str:
    return " " * 30 + "".join(f"{key:>8}" for key in (*COLUMNS, "s"))


def compare(title: str, targets: Sequence[DFA], kinds: Sequence[str], totals: dict[str, dict[str, float]]) -> None:
    for kind in kinds:
        print(f"{title}, {kind} counterexamples")
        print(heading())
        for label in (*OURS, *AALPY):
            rows = []
            for seed, dfa in enumerate(targets):
                teacher = teacher_of(kind, dfa, seed)
                if label in OURS:
                    rows.append(learn(*OURS[label], dfa, teacher))
                else:
                    rows.append(learn_by_aalpy(*AALPY[label], dfa, teacher))
            row = mean(rows)
            print(line(label, row), flush=True)
            for key in COMPARED:
                totals[label][key] += np.log(row[key])
            totals[label]["count"] += 1


def same_algorithm(totals: dict[str, dict[str, float]]) -> None:
    print("geometric means of the ratios, ours to AALpy's (below 1: we ask less)")
    print(" " * 48 + "".join(f"{key:>8}" for key in COMPARED))
    for ours, theirs in (
        ("KV", "AALpy KV"),
        ("KV", "AALpy KV, linear"),
        ("KV, prefixes", "AALpy KV, linear"),
        ("L* (R-S)", "AALpy L* (R-S)"),
        ("L* (R-S), prefixes", "AALpy L* (R-S)"),
        ("L* (R-S), prefixes", "AALpy L* (R-S), prefixes"),
        ("TTT", "AALpy KV"),
        ("TTT", "AALpy L#"),
        ("TTT, prefixes", "AALpy L#"),
        ("TTT, prefixes", "AALpy L#, adaptive"),
    ):
        ratios = [np.exp((totals[ours][key] - totals[theirs][key]) / totals[ours]["count"]) for key in COMPARED]
        print(f"  {ours + ' : ' + theirs:46}" + "".join(f"{ratio:8.2f}" for ratio in ratios))


class Sampler:
    """Draws batches of words until some are wrong; with ``keep`` it first looks at those drawn before."""

    def __init__(self, dfa: DFA, seed: int, keep: bool) -> None:
        self.dfa, self.keep = dfa, keep
        self.rng = np.random.default_rng(seed)
        self.drawn: list[tuple[Codes, list[bool]]] = []
        self.words = self.steps = 0

    def wrong(self, hypothesis: DFA) -> list[Codes]:
        """Words cut to their shortest wrong prefix, the shortest first; none when the hypothesis is right."""
        found = self._look(hypothesis, self.drawn) if self.keep else []
        while not found and difference_witness(self.dfa, hypothesis) is not None:
            words = list(sampled(self.rng, len(self.dfa.alphabet), 64))
            self.words += len(words)
            self.steps += sum(map(len, words))
            new = [(word, outputs(self.dfa, word)) for word in words]
            self.drawn += new
            found = self._look(hypothesis, new)
        return found

    def _look(self, hypothesis: DFA, drawn: list[tuple[Codes, list[bool]]]) -> list[Codes]:
        found = set()
        for word, truth in drawn:
            answers = outputs(hypothesis, word)
            if answers != truth:
                found.add(
                    word[: next(n for n, pair in enumerate(zip(answers, truth, strict=True)) if pair[0] != pair[1])]
                )
        return sorted(found, key=len)


def outputs(dfa: DFA, word: Codes) -> list[bool]:
    table, accepting = dfa.transitions.tolist(), dfa.accepting.tolist()
    states = [dfa.initial]
    for letter in word:
        states.append(table[states[-1]][letter])
    return [accepting[state] for state in states]


def with_sampling(targets: Sequence[DFA]) -> None:
    """The whole cost where sampled words are the equivalence queries, in steps of the network."""
    print("learning with sampled words (64 at a time, cut to the shortest wrong prefix), 50 states, 3 letters")
    print(f"  {'':44}{'sampled':>8}{'steps':>9}{'asked':>7}{'steps':>7}{'batches':>8}{'all steps':>10}")
    for label, keep, several in (
        ("words of a round used once", False, 1),
        ("all drawn words kept, one a time", True, 1),
        ("all drawn words kept, 16 a time", True, 16),
    ):
        for name in ("ttt", "kv", "lstar"):
            rows = []
            for seed, dfa in enumerate(targets):
                meter, sampler = Meter(dfa), Sampler(dfa, seed, keep)
                learner: Learner[Any] = make_learner(name, dfa.alphabet, meter.ask)
                while words := sampler.wrong(learner.hypothesis):
                    learner.refine_all(words[:several])
                rows.append((sampler.words, sampler.steps, len(meter.words), meter.steps, meter.batches))
            sampled_words, sampled_steps, asked, steps, batches = np.mean(rows, axis=0)
            print(
                f"  {name + ', ' + label:44}{sampled_words:8.0f}{sampled_steps:9.0f}{asked:7.0f}{steps:7.0f}"
                f"{batches:8.0f}{sampled_steps + steps:10.0f}",
                flush=True,
            )


def knobs(targets: Sequence[DFA]) -> None:
    print("TTT by the search for the wrong transition, 50 states, 3 letters, sampled counterexamples")
    print(heading())
    for kind in ("cut", "sampled"):
        for strategy in ("exponential", "binary"):
            for probes in (1, 3):
                search = Search(strategy, probes=probes)
                rows = [
                    learn("ttt", {"search": search}, dfa, teacher_of(kind, dfa, seed))
                    for seed, dfa in enumerate(targets)
                ]
                print(line(f"{kind}, {strategy}, {probes} probes", mean(rows)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="targets of each size")
    seeds = parser.parse_args().seeds
    totals: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    kinds = ("shortest", "cut", "sampled")
    for states, letters in ((20, 2), (50, 3), (100, 3)):
        targets = [random_dfa(states, letters, seed) for seed in range(seeds)]
        compare(f"{states} states, {letters} letters", targets, kinds, totals)
    compare("30 states, 10 letters", [random_dfa(30, 10, seed) for seed in range(seeds)], ("cut",), totals)
    compare("keylock of 12, 3 letters", [keylock(12, 3)], ("shortest",), totals)
    same_algorithm(totals)
    targets = [random_dfa(50, 3, seed) for seed in range(seeds)]
    with_sampling(targets)
    knobs(targets)


if __name__ == "__main__":
    main()
