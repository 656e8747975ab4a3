"""How fast the automata layer is, and against automata-lib in the same run: python benchmarks/automata.py

Every ratio is the median over interleaved repetitions (ours, theirs, ours, …), so that a busy machine troubles both
alike. Where automata-lib does not follow within a few seconds it is left out, and the table says so.
"""

from __future__ import annotations

import contextlib
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.libraries import to_automata_lib
from rnncheck.automata.language import is_finite
from rnncheck.automata.minimisation import breadth_first_order, minimise
from rnncheck.automata.product import inclusion_witness, intersection
from rnncheck.probability.distributions import WordDistribution
from rnncheck.words import Alphabet, WordBatch

SIZES = [(states, letters) for letters in (5, 100) for states in (30, 300, 3_000, 30_000)]
PATIENCE = 3.0  # seconds that one call of automata-lib may be expected to take
REPETITIONS = 5


def random_dfa(rng: np.random.Generator, states: int, letters: int) -> DFA:
    alphabet = Alphabet(f"l{i}" for i in range(letters))
    return DFA(alphabet, rng.integers(states, size=(states, letters)), rng.random(states) < 0.5)


def chain(states: int, letters: int) -> DFA:
    ahead = np.minimum(np.arange(1, states + 1), states - 1)
    alphabet = Alphabet(f"l{i}" for i in range(letters))
    return DFA(alphabet, np.repeat(ahead[:, None], letters, axis=1), np.arange(states) == states - 2)


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def shown(value: float) -> str:
    return f"{value * 1e3:9.2f} ms" if value < 1 else f"{value:9.2f} s "


class Race:
    """One operation over growing automata. Their time is foreseen from the last size, and too long a call skipped."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._last: tuple[int, float] | None = None

    def run(self, cells: int, ours: Callable[[], object], theirs: Callable[[], object] | None) -> None:
        expected = 0.0 if self._last is None else self._last[1] * cells / self._last[0]
        if theirs is None or expected > PATIENCE:
            mine = statistics.median(seconds(ours) for _ in range(3))
            self._report(cells, mine, "        – " if theirs is None else f"   (≈{expected:.0f} s, left out)")
            return
        both = [(seconds(ours), seconds(theirs))]
        while len(both) < REPETITIONS and sum(map(sum, both)) < PATIENCE:
            both.append((seconds(ours), seconds(theirs)))
        their_time = statistics.median(b for _, b in both)
        self._last = cells, their_time
        ratio = statistics.median(b / a for a, b in both)
        self._report(cells, statistics.median(a for a, _ in both), f"{shown(their_time)}  {ratio:8.0f}×  ({len(both)})")

    def _report(self, cells: int, mine: float, rest: str) -> None:
        print(f"  {self.name:<14}{shown(mine)}  {mine / cells * 1e9:8.1f} ns a cell   {rest}", flush=True)


def operations() -> None:
    rng = np.random.default_rng(0)
    races: dict[int, dict[str, Race]] = {}
    for states, letters in SIZES:
        print(f"{states} states × {letters} letters")
        race = races.setdefault(letters, {name: Race(name) for name in ("minimise", "inclusion", "accepts_batch")})
        dfa, spec = random_dfa(rng, states, letters), random_dfa(rng, 10, letters)
        both = intersection(dfa, spec, max_states=10 * states)
        cells = states * letters
        may_follow = cells <= 300_000
        a, s, ab = (to_automata_lib(x) if may_follow else None for x in (dfa, spec, both))
        race["minimise"].run(
            cells, lambda d=dfa: minimise(d), None if a is None else lambda x=a: x.minify(retain_names=False)
        )
        race["inclusion"].run(
            both.transitions.size,
            lambda b=both, t=spec: _none(inclusion_witness(b, t)),
            None if ab is None else lambda x=ab, y=s: _true(x.issubset(y)),
        )
        batch = WordDistribution(dfa.alphabet).sample(rng, 2_000)
        words = [dfa.alphabet.decode(codes) for codes in batch]
        race["accepts_batch"].run(
            len(batch.codes),
            lambda d=dfa, w=batch: d.accepts_batch(w),
            None if a is None else lambda x=a, w=words: _all(x, w),
        )


def _none(witness: object) -> None:
    if witness is not None:
        raise RuntimeError("a witness against an inclusion that holds")


def _true(answer: bool) -> None:
    if not answer:
        raise RuntimeError("automata-lib finds a word against an inclusion that holds")


def _all(theirs: Any, words: list[tuple[str, ...]]) -> list[bool]:
    return [theirs.accepts_input(word) for word in words]


def timed(call: Callable[[], object]) -> str:
    """Wall time and, for busy machines, processor time: the median of three, or of one that takes long."""
    times = []
    while len(times) < 3 and sum(wall for wall, _ in times) < 2:
        started = time.perf_counter(), time.process_time()
        call()
        times.append((time.perf_counter() - started[0], time.process_time() - started[1]))
    wall, cpu = (statistics.median(column) for column in zip(*times, strict=True))
    return f"{shown(wall).strip()} (processor {shown(cpu).strip()})"


def words() -> None:
    rng = np.random.default_rng(1)
    dfa = random_dfa(rng, 30, 5)
    distribution = WordDistribution(dfa.alphabet)
    batch: WordBatch = distribution.sample(rng, 100_000)
    print(f"100 000 words of mean length {batch.lengths.mean():.1f}")
    print(f"  draw them                    {timed(lambda: distribution.sample(rng, 100_000))}")
    print(f"  classify them by 30 states   {timed(lambda: dfa.accepts_batch(batch))}")
    for states in (30, 3_000, 30_000):
        large = random_dfa(rng, states, 5)
        print(f"  exact mass of {states:>6} states  {timed(lambda d=large: distribution.mass(d))}")
    few = batch.take(np.arange(10_000))
    print(f"  fit 3-grams to 10 000 words  {timed(lambda: WordDistribution.fit(dfa.alphabet, few, order=3))}")


def deep_chains() -> None:
    for states in (3_000, 30_000):
        dfa = chain(states, 2)
        print(f"chain of {states} states")
        print(f"  minimise                     {timed(lambda d=dfa: minimise(d))}")
        print(f"  is_finite                    {timed(lambda d=dfa: is_finite(d))}")


def product_of_3000(letters: int) -> None:
    """In a process of its own, so that the peak of its memory is the product's."""
    rng = np.random.default_rng(2)
    a, b = (random_dfa(rng, 3_000, letters) for _ in range(2))
    # A word against the inclusion must reach one of the three deepest states of each: it stands deep among the pairs.
    a = DFA(a.alphabet, a.transitions, np.isin(np.arange(3_000), breadth_first_order(a)[-3:]))
    b = DFA(b.alphabet, b.transitions, ~np.isin(np.arange(3_000), breadth_first_order(b)[-3:]))
    everything = DFA(b.alphabet, b.transitions, np.ones(3_000, dtype=bool))
    before = peak_mebibytes()
    word = inclusion_witness(a, b)
    witness = "none" if word is None else f"{len(word)} letters"
    print(f"3 000 × 3 000 states, {letters} letters")
    print(f"  shortest witness: {witness:<10} {timed(lambda: inclusion_witness(a, b))}")
    print(f"  none, all pairs searched     {timed(lambda: _none(inclusion_witness(a, everything)))}")
    print(f"  peak memory                  {peak_mebibytes()} MiB, of which {before} MiB before", flush=True)


def peak_mebibytes() -> int:
    """Since this program began; the figure of getrusage would include the process that started it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) >> 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def main() -> None:
    if len(sys.argv) > 1:
        product_of_3000(int(sys.argv[1]))
        return
    started = time.perf_counter()
    # This script's own folder stands first in the path, where its name hides the package of automata-lib.
    sys.path.remove(str(Path(__file__).resolve().parent))
    print(
        f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; ours, per cell, automata-lib, ratio (runs)"
    )
    operations()
    words()
    deep_chains()
    sys.stdout.flush()
    for letters in ("5", "20"):
        subprocess.run([sys.executable, __file__, letters], check=True)
    print(f"{time.perf_counter() - started:.0f} s in all; load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
