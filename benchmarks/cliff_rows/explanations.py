"""What follows a verdict: the word made shorter, the severity, and the comparison with the reference."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

import rnncheck
import rnncheck.zoo
from cliff_rows.row import Measured, Row, seconds_of
from rnncheck.models.protocol import Model
from rnncheck.oracle import MembershipOracle
from rnncheck.search.shrinking import shrink
from rnncheck.words import Codes, WordBatch

LETTERS = "abc"


class Classifier(torch.nn.Module):
    """An LSTM as it was initialised."""

    def __init__(self, units: int, layers: int = 1) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.letters = torch.nn.Embedding(len(LETTERS), 8)
        self.lstm = torch.nn.LSTM(8, units, layers, batch_first=True)
        self.head = torch.nn.Linear(units, 1)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.letters(words))[0][:, -1])


def network(units: int, layers: int = 1) -> Model:
    return rnncheck.wrap(Classifier(units, layers), alphabet=list(LETTERS), threads=1)


def shrinking(quick: bool) -> Iterator[Measured]:
    """A word of which no letter can be left out; the baseline asks once for as many words as it has letters."""
    length = 300 if quick else 1_000
    word = tuple(np.random.default_rng(0).integers(3, size=length).tolist())
    function = rnncheck.wrap(lambda words: [len(each) >= length for each in words], alphabet=list(LETTERS))
    for name, model in (("LSTM of 64 units", network(64)), ("function", function)):
        once = seconds_of(lambda model=model: model.accepts_batch(WordBatch.from_codes([word] * length)))
        before = peak_memory()
        took = seconds_of(lambda model=model: shrink(word, 3, keeping(length, MembershipOracle(model))))
        figures = f"{took:.2f} s, {peak_memory() - before:.0f} MiB"
        what = f"shrink {length} letters, {name}"
        yield Measured(what, figures, f"{once:.2f} s: {length} such words", f"{took / once:.1f}")


def keeping(length: int, oracle: MembershipOracle) -> Callable[[Sequence[Codes]], list[bool]]:
    """A predicate that reads every word, and holds from a length on."""

    def holds(words: Sequence[Codes]) -> list[bool]:
        oracle.answers(words)
        return [len(word) >= length for word in words]

    return holds


def peak_memory() -> float:
    """The most that this process has held, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << (20 if sys.platform == "darwin" else 10))


def severity(quick: bool) -> Iterator[Measured]:
    """Whole verdicts of networks with a violation; the baseline is the time until it was found."""
    entry = rnncheck.zoo.entry("response-faulty-lstm")
    cases = [(entry.name, rnncheck.load_model(entry.path), entry.spec())]
    for units, layers in ((280, 1),) if quick else ((64, 1), (280, 2), (1_024, 1)):
        model = network(units, layers)
        cases.append((f"LSTM {units} × {layers}", model, rnncheck.Spec.from_regex("(. .)*", model.alphabet)))
    for name, model, spec in cases:
        settings = rnncheck.VerifySettings(clock=time.process_time)
        verdict = rnncheck.verify(model, spec, relation="equal", settings=settings)
        first = verdict.cost.first_violation_seconds
        if first is not None:
            took = f"{verdict.cost.seconds:.2f} s, {len(verdict.counterexample or ())} letters"
            over = f"{(verdict.cost.seconds - 2.0) / first:.1f} beyond 2 s"
            yield Measured(f"violated verdict, {name}", took, f"{first:.2f} s: first violation", over)


ROWS = [Row(1, "3, beyond 2 s", severity), Row(5, "2 s, 150 MiB", shrinking)]
