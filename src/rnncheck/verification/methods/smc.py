"""Statistical model checking (the paper's Algorithm 1): sample words, query R and A."""

from __future__ import annotations

from rnncheck.verdict.facts import Outcome
from rnncheck.verification.verification_task import Algorithm, Finding, Task, violated


def smc(task: Task) -> Algorithm:
    """Draw words until one is a violation, or enough were drawn.

    Where all words that could be violations together are rarer than ε, only these are drawn: others show nothing.
    """
    if task.may_violate.below_epsilon and not task.settings.plain:
        finding = yield from sample_may_violate(task)
        if finding.outcome is Outcome.VIOLATED:
            return finding
        return by_mass(task)
    sampler, needed = task.sampler, task.confidence.words
    letters = task.distribution.mean_length() * task.may_violate.mass  # of a word, on average, that are read
    yield int(sampler.batch * letters)
    while sampler.words < needed:
        drawn = sampler.draw(needed - sampler.words)
        if task.confirmed(drawn.violation):
            return violated(drawn.violation, "a sampled word (or a prefix of one) is a violation")
        yield int(sampler.batch * letters)
    return Finding(Outcome.SATISFIED, f"none of {sampler.words} sampled words is a violation")


def by_mass(task: Task) -> Finding:
    """Satisfied, because all words that could be violations are rarer than ε; reports how many of them were drawn."""
    drawn = task.may_violate.drawn
    sampled = f", and none of {drawn} that were drawn is one" if drawn else ""
    return Finding(
        Outcome.SATISFIED,
        f"all words that could be violations have probability {task.may_violate.mass:.3g}, which is below epsilon "
        f"whatever the model answers{sampled}",
    )


def sample_may_violate(task: Task) -> Algorithm:
    """Draw only words that could be violations, until one is, or enough were drawn."""
    sampler, needed = task.may_violate.sampler, task.confidence.words
    letters = task.distribution.mean_length()
    if sampler is not None:
        yield int(sampler.batch * letters)
    while sampler is not None and sampler.words < needed:
        drawn = sampler.draw(needed - sampler.words)
        if task.confirmed(drawn.violation):
            return violated(
                drawn.violation, "a word drawn from those that could be violations, or a prefix of it, is one"
            )
        yield int(sampler.batch * letters)
    words = task.may_violate.drawn
    return Finding(Outcome.UNDECIDED, f"none of {words} words drawn from those that could be violations is one")
