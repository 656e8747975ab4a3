"""Health checks: what weakens a result, in numbers, with a remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rnncheck.relations import Relation
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.verdict.value import HealthNote
from rnncheck.verification.task import Task

_ALMOST_NOTHING = 0.01
_ENOUGH_WORDS = 200
_FAR_LONGER = 3.0


def health_notes(task: Task, *, violated: bool) -> Iterator[HealthNote]:
    """The notes that apply after a verification."""
    yield from _specification_mass(task)
    if not violated:
        yield from _one_sided_model(task)
    yield from _long_words(task)
    yield from _model_notes(task)


def _specification_mass(task: Task) -> Iterator[HealthNote]:
    """A sample is weak where the specification leaves almost no word that could be a violation."""
    if task.relation is Relation.EQUAL:
        return
    mass = task.distribution.mass(task.spec)
    matters = 1.0 - mass if task.relation is Relation.SUBSET else mass
    verb = "rejects" if task.relation is Relation.SUBSET else "accepts"
    one_answer = bool(task.spec.accepting.all() or not task.spec.accepting.any())  # then it was meant so
    if 1.0 - matters < _ALMOST_NOTHING and not one_answer:
        yield HealthNote(
            "specification mass",
            f"the specification {verb} all but {1.0 - matters:.3g} of the probability: nearly every word is a test, "
            f"and hardly any shows that the model {'accepts' if verb == 'rejects' else 'rejects'} what it should; "
            "check the formula, or look at the other relation too (--relation)",
        )
    if matters < _ALMOST_NOTHING:
        yield HealthNote(
            "specification mass",
            f"the specification {verb} only {matters:.3g} of the probability, so random words hardly test it; "
            "choose a distribution that draws more such words, or rely on the exact and guided searches",
        )


def _one_sided_model(task: Task) -> Iterator[HealthNote]:
    """A model that always gives one answer satisfies many properties for no good reason."""
    asked_for = task.spec.accepting if task.relation is Relation.SUPERSET else ~task.spec.accepting
    if asked_for.all() and task.relation is not Relation.EQUAL:  # one answer to every word is what it should give
        return
    try:
        share = float(task.oracle.answers(task.distribution.sample(task.rng("health"), _ENOUGH_WORDS)).mean())
    except (BudgetExceeded, KeyboardInterrupt):
        return
    if min(share, 1.0 - share) < _ALMOST_NOTHING:
        answer = "accepted" if share > 0.5 else "rejected"
        yield HealthNote(
            "one-sided model",
            f"the model {answer} {max(share, 1 - share):.1%} of {_ENOUGH_WORDS} random words; "
            "check that it was trained on words like these, and that its threshold and label are right",
        )


def _model_notes(task: Task) -> Iterator[HealthNote]:
    """What was noticed when the model was made, such as answers that depend on the batch."""
    notes = task.oracle.model.describe().get("notes")
    for note in notes if isinstance(notes, list | tuple) else ():
        yield HealthNote("model", str(note))


def _long_words(task: Task) -> Iterator[HealthNote]:
    """Words far longer than any the model was trained on say little about its use."""
    training = task.oracle.model.describe().get("training")
    longest = training.get("longest_word") if isinstance(training, Mapping) else None
    if isinstance(longest, int) and longest > 0 and task.sampler.longest > _FAR_LONGER * longest:
        yield HealthNote(
            "long words",
            f"sampled words had up to {task.sampler.longest} letters, the training words at most {longest}; "
            "raise the stop probability for shorter words (--stop), or train on longer ones",
        )
