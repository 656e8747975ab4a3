"""Health notes: what weakens a result, in numbers, with a remedy."""

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
    if not violated:  # last, since it queries the model, which may fail
        yield from _one_sided_model(task)


def _specification_mass(task: Task) -> Iterator[HealthNote]:
    """A sample is weak where the specification leaves almost no word that could be a violation."""
    if task.relation is Relation.EQUAL or not task.prop.open_states[task.spec.initial]:
        return
    mass = task.may_violate.mass
    verb = "rejects" if task.relation is Relation.SUBSET else "accepts"
    one_answer = bool(task.spec.accepting.all() or not task.spec.accepting.any())  # then it is intended
    if one_answer:
        return
    if 1.0 - mass < _ALMOST_NOTHING:
        yield HealthNote(
            "specification mass",
            f"the specification {verb} all but {1.0 - mass:.3g} of the probability: nearly every word is a test, "
            f"and hardly any tests whether the model {'accepts' if verb == 'rejects' else 'rejects'} what it should; "
            "check the formula, or verify the other relation too (--relation)",
        )
    if mass < _ALMOST_NOTHING:
        yield HealthNote(
            "specification mass",
            f"the specification {verb} only {mass:.3g} of the probability, so random words hardly test it; "
            "choose a distribution that draws more such words, or rely on the exact and guided searches",
        )


def vacuity(task: Task, assumption: Assumption | None) -> Iterator[HealthNote]:
    """A verdict about hardly any word, or about none that could be a violation, means little."""
    if assumption is None:
        return
    facts = assumption.facts
    if not task.prop.open_states[task.spec.initial]:
        yield HealthNote(
            "vacuous",
            f"whatever the model answers, no word{facts.scope} can be a violation: the property follows from the "
            "assumption; check both, or verify the other relation too (--relation)",
        )
    elif facts.mass < _VACUOUS:
        yield HealthNote(
            "vacuous",
            f"a random word is one{facts.scope} with probability {facts.mass:.3g}: the verdict is about these words "
            "only and covers hardly any others; check the assumption, or choose a distribution that draws "
            "more such words",
        )


def _one_sided_model(task: Task) -> Iterator[HealthNote]:
    """A model that always gives one answer satisfies many properties for no good reason."""
    specified = task.spec.accepting if task.relation is Relation.SUPERSET else ~task.spec.accepting
    if specified.all() and task.relation is not Relation.EQUAL:  # then one answer to every word is correct
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
    """Assumptions made to read the model, and observations such as answers that depend on the batch."""
    for name, note in dict.fromkeys(_notes_in(task.oracle.model.describe())):  # each once, if two models share them
        yield HealthNote("model", f"assumed: {note}" if name == "assumptions" else note)


def _notes_in(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The notes of a model and of its parts, without those of its training."""
    for name, value in facts.items():
        if name in ("notes", "assumptions") and isinstance(value, list | tuple):
            yield from ((name, str(one)) for one in value)
        elif isinstance(value, Mapping) and name != "training":
            yield from _notes_in(value)


def _long_words(task: Task) -> Iterator[HealthNote]:
    """Words far longer than any the model was trained on say little about its practical use."""
    training = task.oracle.model.describe().get("training")
    longest = training.get("longest_word") if isinstance(training, Mapping) else None
    if isinstance(longest, int) and longest > 0 and task.sampler.longest > _FAR_LONGER * longest:
        yield HealthNote(
            "long words",
            f"sampled words had up to {task.sampler.longest} letters, the training words at most {longest}; "
            "raise the stop probability for shorter words (--stop), or train on longer ones",
        )
