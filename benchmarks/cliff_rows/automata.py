"""Rows 3, 4 and 15: learning ten thousand states, deep automata, and large specifications.

``curve(subject)`` gives (states, processor seconds) for a growth curve of each of ``CURVES``.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from aalpy.base import SUL, Oracle
from aalpy.learning_algs import run_Lstar

from cliff_rows.row import Curve, Measured, Row, processor_seconds, seconds_of
from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dfa_json import write_json
from rnncheck.automata.formats.libraries import to_automata_lib
from rnncheck.automata.ltlf.ltlf_compiler import compile_ltlf
from rnncheck.automata.minimisation import canonical, minimise
from rnncheck.automata.product import difference_witness, inclusion_witness, intersection
from rnncheck.automata.regex.regex_compiler import compile_regex
from rnncheck.errors import ResourceLimitError, StateLimitError
from rnncheck.learning import Query, make_learner
from rnncheck.verdict.facts import SpecFacts
from rnncheck.verification.verify import never_started
from rnncheck.words import Alphabet, Codes, WordBatch

POOL, WORD_LENGTH = 2_000, 50


def alphabet(letters: int) -> Alphabet:
    return Alphabet([f"l{i}" for i in range(letters)])


def random_dfa(states: int, letters: int, seed: int = 0) -> DFA:
    rng = np.random.default_rng([states, letters, seed])
    return DFA(alphabet(letters), rng.integers(0, states, (states, letters)), rng.random(states) < 0.5)


def chain(states: int, letters: int = 2) -> DFA:
    ahead = np.minimum(np.arange(1, states + 1), states - 1)
    return DFA(alphabet(letters), np.repeat(ahead[:, None], letters, axis=1), np.arange(states) == states - 2)


# -- row 3: learners --------------------------------------------------------------------------------------------------


class Pool:
    """The first word of a pool on which a hypothesis is wrong, else the least of all; ``seconds`` is its own time."""

    def __init__(self, dfa: DFA) -> None:
        codes = np.random.default_rng(1).integers(0, len(dfa.alphabet), POOL * WORD_LENGTH)
        self.words = WordBatch(codes, np.arange(POOL + 1) * WORD_LENGTH)
        self.dfa, self.truth, self.seconds = dfa, dfa.accepts_batch(self.words), 0.0

    def __call__(self, hypothesis: DFA) -> Codes | None:
        begin = processor_seconds()
        wrong = np.flatnonzero(hypothesis.accepts_batch(self.words) != self.truth)
        word = self.words[int(wrong[0])] if len(wrong) else None
        if word is None and (witness := difference_witness(self.dfa, hypothesis)) is not None:
            word = self.dfa.alphabet.encode(witness)
        self.seconds += processor_seconds() - begin
        return word


class Target(SUL):
    """A target for both libraries. ``words`` are what was asked for where ``counting``."""

    def __init__(self, dfa: DFA, counting: bool) -> None:
        super().__init__()
        self.table, self.accepting, self.initial = dfa.transitions.tolist(), dfa.accepting.tolist(), dfa.initial
        self.counting, self.words, self.batches = counting, list[Codes](), list[Sequence[Query]]()
        self.state, self.word = 0, list[int]()

    def ask(self, queries: Sequence[Query]) -> list[bool]:
        answers = []
        for access, suffix in queries:
            state = self.initial
            for letter in access + suffix:
                state = self.table[state][letter]
            answers.append(self.accepting[state])
        if self.counting:
            self.words += [access + suffix for access, suffix in queries]
        return answers

    def pre(self) -> None:
        self.state, self.word = self.initial, []

    def post(self) -> None:
        if self.counting:
            self.words.append(tuple(self.word))

    def step(self, letter: int | None) -> bool:
        if letter is not None:
            self.state = self.table[self.state][letter]
            if self.counting:
                self.word.append(letter)
        return bool(self.accepting[self.state])

    def counts(self) -> tuple[int, int]:
        """Words that are no prefix of an earlier one, and letters read where every state is kept (their prefixes)."""
        met, runs = {()}, 0
        for word in self.words:
            runs += word not in met
            length = len(word)
            while word[:length] not in met:
                met.add(word[:length])
                length -= 1
        return runs, len(met) - 1


class PoolOracle(Oracle):
    def __init__(self, target: Target, pool: Pool) -> None:
        super().__init__(list(range(len(pool.dfa.alphabet))), target)
        self.pool = pool

    def find_cex(self, hypothesis: Any) -> Codes | None:
        begin, before = processor_seconds(), self.pool.seconds
        found = self.pool(self.translated(hypothesis))
        self.pool.seconds = before + processor_seconds() - begin  # with the translation, which is not AALpy's work
        return found

    def translated(self, hypothesis: Any) -> DFA:
        number = {id(state): i for i, state in enumerate(hypothesis.states)}
        table = [[number[id(state.transitions[a])] for a in self.alphabet] for state in hypothesis.states]
        accepting = [bool(state.is_accepting) for state in hypothesis.states]
        return DFA(self.pool.dfa.alphabet, table, accepting, number[id(hypothesis.initial_state)])


def learn(dfa: DFA, name: str, target: Target, pool: Pool) -> DFA:
    learner = make_learner(name, dfa.alphabet, target.ask, max_states=len(dfa) + 1)
    while (word := pool(learner.hypothesis)) is not None:
        learner.refine(word)
    return learner.hypothesis


def learn_by_aalpy(target: Target, pool: Pool) -> DFA:
    oracle = PoolOracle(target, pool)
    return oracle.translated(run_Lstar(oracle.alphabet, target, oracle, "dfa", print_level=0))  # type: ignore[no-untyped-call]


def counts(dfa: DFA, run: Callable[[Target, Pool], DFA]) -> tuple[int, ...]:
    """Different words asked for; words that are no prefix of another one, or of an earlier one; letters."""
    target = Target(dfa, counting=True)
    if canonical(run(target, Pool(dfa))) != canonical(dfa):
        raise SystemExit("a learner ended at the wrong automaton")
    words = set(target.words)
    ordered = sorted(words)  # a prefix comes just before a word that begins with it
    whole = sum(later[: len(word)] != word for word, later in itertools.pairwise([*ordered, (-1,)]))
    return len(words), whole, *target.counts()


def learning_seconds(dfa: DFA, run: Callable[[Target, Pool], DFA]) -> float:
    """Processor seconds without those of the pool."""
    pool = Pool(dfa)
    return seconds_of(lambda: run(Target(dfa, counting=False), pool)) - pool.seconds


LEARNING_UNITS = ("s", "words", "words that are no prefix", "queries", "letters")


def learners(quick: bool) -> Iterator[Measured]:
    """A query is a word that is no prefix of an earlier one: AALpy counts so, since one answers all its prefixes."""
    runs_of = {100: 15, 1_000: 5, 10_000: 3}
    for states in (100, 1_000) if quick else tuple(runs_of):
        dfa = minimise(random_dfa(states, 2))
        runs = [learn_by_aalpy, *(functools.partial(learn, dfa, name) for name in ("ttt", "lstar"))]
        # In turn, because the machine is shared.
        rows = [[learning_seconds(dfa, run) for run in runs] for _ in range(runs_of[states])]
        theirs, *ours = [
            (min(column), *counts(dfa, run)) for column, run in zip(zip(*rows, strict=True), runs, strict=True)
        ]
        for name, mine in zip(("ttt", "lstar"), ours, strict=True):
            own, peers, ratios = (
                ", ".join(f"{value:.3g} {unit}" if unit == "s" else f"{value} {unit}" for value, unit in row)
                for row in (
                    zip(mine, LEARNING_UNITS, strict=True),
                    zip(theirs, LEARNING_UNITS, strict=True),
                    ((round(a / b, 2), unit) for a, b, unit in zip(mine, theirs, LEARNING_UNITS, strict=True)),
                )
            )
            yield Measured(f"{name}, {len(dfa)} states, 2 letters", own, f"AALpy's L*: {peers}", ratios)


# -- row 4: deep automata ---------------------------------------------------------------------------------------------


def race(what: str, ours: Callable[[], object], theirs: Callable[[], object]) -> Measured:
    """The least of three, in turn."""
    pairs = [(seconds_of(ours), seconds_of(theirs)) for _ in range(3)]
    mine, peer = (min(column) for column in zip(*pairs, strict=True))
    return Measured(what, f"{mine:.4f} s", f"automata-lib: {peer:.4f} s", f"{mine / peer:.2f}")


def regex_of_automata_lib(text: str) -> object:
    import automata.fa.dfa as theirs
    from automata.fa.nfa import NFA

    return theirs.DFA.from_nfa(NFA.from_regex(text))


def chain_races(states: int) -> Iterator[Measured]:
    dfa, twin = chain(states), chain(states)
    them, their_twin = to_automata_lib(dfa), to_automata_lib(twin)
    label = f"chain of {states}, 2 letters"
    yield race(f"minimise, {label}", lambda: minimise(dfa), lambda: them.minify(retain_names=False))
    yield race(f"compare, {label}", lambda: difference_witness(dfa, twin), lambda: them == their_twin)
    yield race(f"inclusion, {label}", lambda: inclusion_witness(dfa, twin), lambda: them.issubset(their_twin))


def deep(quick: bool) -> Iterator[Measured]:
    for states in (100, 1_000) if quick else (100, 1_000, 10_000):
        yield from chain_races(states)
    text = "a{1,100}" if quick else "a{1,1000}"
    yield race(text, lambda: minimise(compile_regex(text, Alphabet(["a"]))), lambda: regex_of_automata_lib(text))
    dfa, spec = random_dfa(300 if quick else 3_000, 5), random_dfa(10, 5)
    both = intersection(dfa, spec)
    them, small, their_both = (to_automata_lib(each) for each in (dfa, spec, both))
    label = f"random {len(dfa)}, 5 letters"
    yield race(f"minimise, {label}", lambda: minimise(dfa), lambda: them.minify(retain_names=False))
    yield race(f"inclusion, {label}", lambda: inclusion_witness(both, spec), lambda: their_both.issubset(small))


# -- row 15: large specifications -------------------------------------------------------------------------------------


def run_cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rnncheck", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"})


def show(dfa: DFA) -> tuple[float, int]:
    """Processor seconds of ``spec show``, and how many characters it prints."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "automaton.json"
        file.write_text(write_json(dfa))
        begin = processor_seconds()
        shown = run_cli("spec", "show", "--dfa", str(file))
        seconds = processor_seconds() - begin
    if shown.returncode:
        raise SystemExit(shown.stderr)
    return seconds, len(shown.stdout)


def specifications(quick: bool) -> Iterator[Measured]:
    least, _ = show(chain(10))
    for states in (1_000,) if quick else (1_000, 100_000):
        seconds, printed = show(chain(states))
        yield Measured(
            f"spec show, chain of {states}", f"{seconds:.2f} s, {printed} characters", f"10 states: {least:.2f} s",
            f"{seconds / least:.1f}",
        )  # fmt: skip
    yield document(10_000 if quick else 1_000_000)
    for pairs in (10, 20):
        seconds = seconds_of(lambda pairs=pairs: responses(pairs))
        yield Measured(f"{pairs} responses in one formula, or their limit", f"{seconds:.2f} s", "", "")


def document(states: int) -> Measured:
    """How large the JSON of a verdict with this automaton is, and how large with the automaton in a file."""
    dfa = chain(states + 1)
    verdict = never_started("measured", dfa.alphabet)
    verdict = msgspec.structs.replace(verdict, spec_facts=SpecFacts(states=len(dfa), automaton=dfa))
    inside = len(verdict.to_json())
    document, beside = map(len, verdict.to_files(Path("verdict.json")).values())
    sizes = f"{document / 1e6:.3f} MB, {beside / 1e6:.1f} MB beside it"
    return Measured(
        f"JSON with {len(dfa)} states", sizes, f"inside: {inside / 1e6:.1f} MB", f"{(document + beside) / inside:.2f}"
    )


def responses(pairs: int) -> None:
    text = " & ".join(f"G(l{i} -> F l{i + pairs})" for i in range(pairs))
    with contextlib.suppress(StateLimitError, ResourceLimitError):
        compile_ltlf(text, alphabet(2 * pairs))


# -- growth -----------------------------------------------------------------------------------------------------------


def _learning(states: int) -> float:
    dfa = minimise(random_dfa(states, 2))
    pool = Pool(dfa)
    return seconds_of(lambda: learn(dfa, "ttt", Target(dfa, counting=False), pool)) - pool.seconds


def _minimising(make: Callable[[int, int], DFA], states: int) -> float:
    dfa = make(states, 2)
    return seconds_of(lambda: minimise(dfa))


def _including(states: int) -> float:
    dfa, twin = chain(states), chain(states)
    return seconds_of(lambda: inclusion_witness(dfa, twin))


def over_states(work: Callable[[int], float], sizes: Sequence[int]) -> list[tuple[int, float]]:
    """States, and processor seconds."""
    return [(states, work(states)) for states in sizes]


_SIZES = (10, 100, 1_000, 10_000, 100_000)
CURVES = [
    Curve(f"states-{name}", what, "states", sizes, partial(over_states, work))
    for name, what, sizes, work in (
        ("minimise-random", "A random automaton, made minimal", _SIZES, partial(_minimising, random_dfa)),
        ("minimise-chain", "A chain, made minimal", _SIZES, partial(_minimising, chain)),
        ("inclusion-chain", "Inclusion of one chain in another", _SIZES, _including),
        ("learning", "A random automaton, learned by TTT", _SIZES[:-1], _learning),
        ("spec-show", "`spec show` of a chain", _SIZES, lambda states: show(chain(states))[0]),
    )
]


ROWS = [
    Row(3, "seconds and letters below AALpy's L*", learners),
    Row(4, "at most 1; wide ones far below", deep),
    Row(15, "2 s and a summary", specifications),
]
