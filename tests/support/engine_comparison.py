"""The compiled engine against the reference, word by word, in every way that a word can be asked.

Every prefix of a random word is a word of its own: the reference reads it letter by letter, alone, and gives the score
after each. The engine answers the same words in float32 and float64, with one thread and two, in a large batch and
alone. Run as a program, it goes on for a while and prints the counts:

    cd tests && python -m support.engine_comparison --seconds 180
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from rnncheck import zoo
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.reference import reference_judgement, reference_prefix_scores
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.protocol import resolve_near_threshold
from rnncheck.words import Codes, WordBatch
from support.paths import RELEASED

# Nearer to the threshold than this, a score's sign and the decision of the network's own arithmetic may differ.
_ROUNDING = 1e-5


@dataclass
class Counts:
    """Words compared, answers of the engine to them, and how many were wrong before and after the margin rule."""

    words: int = 0
    answers: int = 0
    inside_margin: int = 0
    wrong_signs: int = 0
    wrong: int = 0
    examples: list[tuple[str, Codes]] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.words} words, {self.answers} answers compared, {self.inside_margin} within the margin, "
            f"{self.wrong_signs} signs wrong before the margin rule, {self.wrong} answers wrong after it"
        )


class Comparison:
    """One network, compiled in every way."""

    def __init__(self, name: str, network: RecurrentNetwork) -> None:
        self.name = name
        self.network = network
        self.models = {
            (number_type.__name__, threads): CompiledNetwork(network, dtype=number_type, threads=threads)
            for number_type in (np.float32, np.float64)
            for threads in (1, 2)
        }

    def run(self, rng: np.random.Generator, words: int, longest: int, counts: Counts) -> None:
        """Compare the prefixes of some random words."""
        lengths = rng.integers(1, longest + 1, size=words)
        drawn = [tuple(rng.integers(len(self.network.alphabet), size=length).tolist()) for length in lengths.tolist()]
        batch = WordBatch.from_codes(drawn)
        expected = np.concatenate([self._expected(word) for word in drawn])
        counts.words += len(expected)
        for (number_type, threads), model in self.models.items():
            self._compare(f"{number_type}, {threads} threads, batch", model, batch, expected, counts)
            if threads == 1:
                for row, word in enumerate(drawn):
                    part = expected[batch.offsets[row] : batch.offsets[row + 1]]
                    self._compare(f"{number_type}, alone", model, WordBatch.from_codes([word]), part, counts)

    def _expected(self, word: Codes) -> np.ndarray:
        scores = np.array(reference_prefix_scores(self.network, word))
        accepted = scores > 0
        for at in np.flatnonzero(np.abs(scores) < _ROUNDING).tolist():
            accepted[at] = reference_judgement(self.network, word[: at + 1]).accepted
        return accepted

    def _compare(
        self, way: str, model: CompiledNetwork, batch: WordBatch, expected: np.ndarray, counts: Counts
    ) -> None:
        scores = model.prefix_scores(batch)

        def prefix(at: int) -> Codes:
            row = int(np.searchsorted(batch.offsets, at, side="right")) - 1
            return tuple(batch.codes[batch.offsets[row] : at + 1].tolist())

        answers = resolve_near_threshold(scores, model.margin, prefix, model.reference_answer)
        counts.answers += len(answers)
        counts.inside_margin += int((~(np.abs(scores) > model.margin)).sum())
        counts.wrong_signs += int(((scores > 0) != expected).sum())
        wrong = np.flatnonzero(answers != expected)
        counts.wrong += len(wrong)
        counts.examples += [(f"{self.name}, {way}", prefix(int(at))) for at in wrong[:3]]


def shipped() -> Iterator[Comparison]:
    for entry in zoo.entries():
        yield Comparison(entry.name, entry.network())


def released() -> Iterator[Comparison]:
    """The networks of the paper, where they are at hand."""
    from rnncheck.models.files.released_folder import load_released

    for folder in sorted(RELEASED.glob("*/*")):
        yield Comparison(folder.name, load_released(folder))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=int, default=200)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    comparisons = [*shipped(), *(released() if RELEASED.is_dir() else ())]
    counts = {comparison.name: Counts() for comparison in comparisons}
    end = time.monotonic() + options.seconds
    for comparison in itertools.cycle(comparisons):
        comparison.run(rng, 8, options.longest, counts[comparison.name])
        if time.monotonic() > end:
            break
    for name, count in counts.items():
        sys.stdout.write(f"{name}: {count}\n")
    wrong = sum(count.wrong for count in counts.values())
    words, answers = (sum(getattr(count, part) for count in counts.values()) for part in ("words", "answers"))
    sys.stdout.write(f"all: {words} words, {answers} answers compared, {wrong} wrong\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
