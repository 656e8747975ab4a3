"""Health checks: what weakens a result, in numbers, with a remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rnncheck.relations import Relation
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.verdict.facts import HealthNote
from rnncheck.verification.assumption import Assumption
from rnncheck.verification.verification_task import Task

_ALMOST_NOTHING = 0.01
_ENOUGH_WORDS = 200
_FAR_LONGER = 3.0
_VACUOUS = 1e-3


def health_notes(task: Task, *, violated: bool) -> Iterator[HealthNote]:
    """The notes that apply after a verification."""
    yield from _specification_mass(task)
    yield from _long_words(task)
    yield from _model_notes(task)
    if not violated:  # last, since it asks the model, which may fail
        yield from _one_sided_model(task)


def _specification_mass(task: Task) -> Iterator[HealthNote]:
    """A sample is weak where the specification leaves almost no word that could be a violation."""
    if task.relation is Relation.EQUAL or not task.wanted.open_states[task.spec.initial]:
        return
    matters = task.may_violate.mass
    verb = "rejects" if task.relation is Relation.SUBSET else "accepts"
    one_answer = bool(task.spec.accepting.all() or not task.spec.accepting.any())  # then it was meant so
    if one_answer:
        return
    if 1.0 - matters < _ALMOST_NOTHING:
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


def vacuity(task: Task, assumption: Assumption | None) -> Iterator[HealthNote]:
    """A verdict about hardly any word, or about none that could be a violation, says little."""
    if assumption is None:
        return
    facts = assumption.facts
    if not task.wanted.open_states[task.spec.initial]:
        yield HealthNote(
            "vacuous",
            f"whatever the model says, no word{facts.scope} can be a violation: the property follows from what is "
            "assumed; check both, or look at the other relation too (--relation)",
        )
    elif facts.mass < _VACUOUS:
        yield HealthNote(
            "vacuous",
            f"a random word is one{facts.scope} with probability {facts.mass:.3g}: the verdict is about these words "
            "alone and says nothing of nearly all others; check what is assumed, or choose a distribution that draws "
            "more such words",
        )


def _one_sided_model(task: Task) -> Iterator[HealthNote]:
    """A model that always gives one answer satisfies many properties for no good reason."""
    asked_for = task.spec.accepting if task.relation is Relation.SUPERSET else ~task.spec.accepting
    if asked_for.all() and task.relation is not Relation.EQUAL:  # one answer to every word is what it should give
        return
    try:
        share = float(task.oracle.answers(task.distribution.sample(task.rng("health"), _ENOUGH_WORDS)).mean())
    except (BudgetExceeded, MemoryError):
        return
    if min(share, 1.0 - share) < _ALMOST_NOTHING:
        answer = "accepted" if share > 0.5 else "rejected"
        yield HealthNote(
            "one-sided model",
            f"the model {answer} {max(share, 1 - share):.1%} of {_ENOUGH_WORDS} random words; "
            "check that it was trained on words like these, and that its threshold and label are right",
        )


def _model_notes(task: Task) -> Iterator[HealthNote]:
    """What had to be assumed to read the model, and what was noticed, such as answers that depend on the batch."""
    for name, told in dict.fromkeys(_notes_in(task.oracle.model.describe())):  # of two models alike, once
        yield HealthNote("model", f"assumed: {told}" if name == "assumptions" else told)


def _notes_in(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The notes of a model and of what it was made of; those of its training are another matter."""
    for name, value in facts.items():
        if name in ("notes", "assumptions") and isinstance(value, list | tuple):
            yield from ((name, str(one)) for one in value)
        elif isinstance(value, Mapping) and name != "training":
            yield from _notes_in(value)


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
