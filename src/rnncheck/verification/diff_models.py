"""Two models side by side: is there a word on which they differ, how often do they differ, and which properties
changed?
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, Unpack

import msgspec

from rnncheck.automata.language import empty_language
from rnncheck.errors import InputError, short_repr
from rnncheck.models.protocol import Model
from rnncheck.models.word_difference import DifferenceModel, difference
from rnncheck.relations import Relation
from rnncheck.runtime.budget import Budget
from rnncheck.spec import Spec
from rnncheck.verdict.facts import HealthNote
from rnncheck.verdict.questions import Comparison, PropertyChange
from rnncheck.verdict.value import AnyVerdict
from rnncheck.verdict.violation import DataFacts
from rnncheck.verification.effort import SHORTER_STEPS
from rnncheck.verification.explanation.best_effort import BestEffort
from rnncheck.verification.label_questions import verify_labels
from rnncheck.verification.question import VerifyOptions
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Word

_Question: TypeAlias = tuple[Callable[..., AnyVerdict], Spec]  # the function that verifies, and the specification

# For two versions of a network the shortest word matters; finding no difference costs about as many steps.
_SHORTER_STEPS = 2  # for each step of the guided search

_EMPTY_WORD = HealthNote(
    "empty word",
    "they differ on the empty word, which models treat differently: a module that cannot read it rejects "
    "it, a file of weights reads the initial state; to compare all other words, assume at least one letter "
    "(--assume 'regex:. .*')",
)


def diff(
    old: Model,
    new: Model,
    *,
    properties: Iterable[Spec] = (),
    label_properties: Iterable[Spec] = (),
    labels: bool = True,
    names: tuple[str | None, str | None] = (None, None),
    **options: Unpack[VerifyOptions],
) -> AnyVerdict:
    """Do two models agree on every word? Satisfied if no difference was found, else violated with such a word.

    Both read every word together, with everything that ``verify`` does: every method, the shortest word it can find,
    how often they differ under the distribution, and on data. ``options`` are those of ``verify``; ``relation`` is of
    the new model to the old one, by default ``equal`` (``subset``: the new one accepts nothing that the old one
    rejects). Models with several labels are compared by their labels, or, with ``labels`` false, by the label that
    means yes. ``properties`` are verified on each of the two afterwards, and so are ``label_properties``, of the labels
    along a word (``label_spec`` makes them). ``names`` are the names of the two in the verdict.
    """
    for name, model in (("old", old), ("new", new)):
        if not isinstance(model, Model):
            raise InputError(f"the {name} model is {short_repr(model)}; read a file by rnncheck.load_model(path)")
    relation = Relation.named(options.pop("relation", Relation.EQUAL))
    questions: list[_Question] = [(verify, spec.over(old.alphabet)) for spec in properties]
    questions += [(verify_labels, spec) for spec in label_properties]
    timeout, settings = options.get("timeout"), options.get("settings") or VerifySettings()
    budget = Budget.lasting(timeout, clock=settings.clock, cancelled=settings.cancelled)
    pair = difference(old, new, relation, labels=labels)
    comparison = Comparison(
        relation=relation, labels=pair.pair.labels, by_label=pair.by_label, old=names[0], new=names[1]
    )
    alike = Spec.from_dfa(empty_language(pair.alphabet), origin=comparison.sentence())
    question: VerifyOptions = {**options, "settings": _with_more_steps(settings)}
    verdict = verify(pair, alike, **question)
    best_effort = BestEffort(interrupted=verdict.interrupted)
    answers = _answers_along(pair, verdict.counterexample, best_effort)
    changes = () if best_effort.interrupted else tuple(_changes(old, new, questions, budget, options, best_effort))
    data = best_effort.attempt("the two models' answers on your data", lambda: _with_answers(pair, verdict.data))
    comparison = msgspec.structs.replace(comparison, old_said=answers[0], new_said=answers[1], properties=changes)
    used = {**verdict.settings, "timeout": timeout}
    health = (*verdict.health, *best_effort.notes, *([_EMPTY_WORD] if verdict.counterexample == () else []))
    return msgspec.structs.replace(
        verdict, comparison=comparison, data=data or verdict.data, health=health, settings=used
    )


def _with_more_steps(settings: VerifySettings) -> VerifySettings:
    """The settings with more steps for a shorter word, unless these are set."""
    if settings.shorter_steps is not None or settings.explain is not None:
        return settings
    return dataclasses.replace(settings, shorter_steps=max(SHORTER_STEPS, _SHORTER_STEPS * settings.search_steps))


def _answers_along(
    pair: DifferenceModel, word: Word | None, best_effort: BestEffort
) -> tuple[tuple[str, ...] | None, ...]:
    """The answers of both models to every prefix of the word, the empty one first."""
    if word is None:
        return None, None
    codes, names = pair.alphabet.encode(word), pair.pair.labels
    found = best_effort.attempt(
        "the two models' answers along the counterexample",
        lambda: [pair.answers_of_both(codes[:length]) for length in range(len(codes) + 1)],
    )
    return (None, None) if found is None else tuple(tuple(names[each[side]] for each in found) for side in (0, 1))


def _with_answers(pair: DifferenceModel, data: DataFacts | None) -> DataFacts | None:
    """The facts with the answers of both models to the shown sequences."""
    if data is None:
        return None
    shown = []
    for each in data.first:
        old, new = pair.answers_of_both(pair.alphabet.encode(each.word))
        names = pair.pair.labels
        shown.append(msgspec.structs.replace(each, old=names[old], new=names[new]))
    return msgspec.structs.replace(data, first=tuple(shown))


def _changes(
    old: Model, new: Model, questions: list[_Question], budget: Budget, options: VerifyOptions, best_effort: BestEffort
) -> Iterator[PropertyChange]:
    """Each property on both models, one after the other, while there is time."""
    plain: VerifyOptions = {**options}
    settings = options.get("settings") or VerifySettings()
    plain["settings"] = dataclasses.replace(
        settings, flows=None, severity_samples=0, on_data=None, checkpoint=None, resume=False, certificate=None
    )
    for verify_one, spec in questions:
        both = best_effort.attempt(
            spec.origin, functools.partial(_verify_both, old, new, verify_one, spec, plain, budget)
        )
        if both is not None:
            before, after = both
            yield PropertyChange(
                text=spec.origin,
                old=before.outcome,
                new=after.outcome,
                old_word=before.counterexample,
                new_word=after.counterexample,
            )
        if best_effort.interrupted:
            return


def _verify_both(
    old: Model, new: Model, verify_one: Callable[..., AnyVerdict], spec: Spec, options: VerifyOptions, budget: Budget
) -> tuple[AnyVerdict, AnyVerdict]:
    verdicts = []
    for model in (old, new):
        verdict = verify_one(model, spec, **{**options, "timeout": budget.left})
        if verdict.interrupted:
            raise KeyboardInterrupt
        verdicts.append(verdict)
    return verdicts[0], verdicts[1]
