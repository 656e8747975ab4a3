"""The model's answers to the user's own sequences, by its reference: these words are queried first."""

from __future__ import annotations

import numpy as np

from rnncheck.verdict.violation import DataFacts, DataViolation
from rnncheck.verification.verification_task import Finding, Task, violated
from rnncheck.word_files import Sequences
from rnncheck.words import WordBatch, shortlex_key

_FIRST = 5


def query_data(task: Task, data: Sequences) -> tuple[DataFacts, Finding | None]:
    """How many of the sequences are violations, and the least one as a finding."""
    words = [task.spec.alphabet.encode(word) for word in data.words]
    distinct = list(dict.fromkeys(words))
    wrong = {
        word
        for word, broken in zip(distinct, task.violating(distinct, task.oracle.by_reference()), strict=True)
        if broken
    }
    counts = task.prop.counts
    ends = task.spec.end_states(WordBatch.from_codes(words))
    rows = [row for row, word in enumerate(words) if word in wrong]
    facts = DataFacts(
        source=data.source,
        sha256=data.sha256(),
        words=len(words),
        counted=len(words) if counts is None else int(np.sum(counts[ends])),
        violations=len(rows),
        first=tuple(DataViolation(data.lines[row], data.words[row]) for row in rows[:_FIRST]),
    )
    least = min(wrong, key=shortlex_key, default=None)
    if not task.confirmed(least):
        return facts, None
    return facts, violated(least, "a sequence of the data is a violation")
