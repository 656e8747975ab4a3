"""Statistical model checking (the paper's Algorithm 1): sample words, ask R and A."""

from __future__ import annotations

from rnncheck.verdict.value import Outcome
from rnncheck.verification.task import Algorithm, Finding, Task, violated


def smc(task: Task) -> Algorithm:
    """Draw words until one is a violation, or enough of them are none."""
    sampler, needed = task.sampler, task.confidence.words
    while sampler.words < needed:
        drawn = sampler.draw(needed - sampler.words)
        if task.confirmed(drawn.violation):
            return violated(drawn.violation, "a sampled word (or a prefix of one) is a violation")
        yield
    return Finding(Outcome.SATISFIED, f"none of {sampler.words} sampled words is a violation")
