"""Two models side by side: is there a word that they answer differently, how often, and which properties changed?"""

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
from rnncheck.verification.explanation.best_effort import Extras
from rnncheck.verification.label_questions import verify_labels
from rnncheck.verification.question import VerifyOptions
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Word

_Question: TypeAlias = tuple[Callable[..., AnyVerdict], Spec]  # who answers, and about what

# Whoever compares two versions of a network wants the shortest word; to say "alike" costs about as many steps.
_SHORTER_STEPS = 2  # for each step of the guided search

_EMPTY_WORD = HealthNote(
    "empty word",
    "they differ on the empty word, which models mean in their own ways: a module that cannot be asked for it rejects "
    "it, a file of weights judges it on the initial state; to compare all other words, assume a letter at least "
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
    """Do two models answer every word alike? Satisfied where no difference was found, violated with a word of one.

    Both read every word together, and all that ``verify`` does is done: every method, the shortest word it can find,
    how often they differ under the distribution, and on data. ``options`` are those of ``verify``; ``relation`` is of
    the new model to the old one, ``equal`` unless told (``subset``: the new one accepts nothing that the old one
    rejects). Models with several labels are compared by what they say, or, with ``labels`` false, by the label that
    means yes. ``properties`` are verified on each of the two afterwards, and so are ``label_properties``, of the labels
    along a word (``label_spec`` makes them). ``names`` are what a person calls the two.
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
    question: VerifyOptions = {**options, "settings": _seeking_longer(settings)}
    verdict = verify(pair, alike, **question)
    extras = Extras(interrupted=verdict.interrupted)
    said = _said(pair, verdict.counterexample, extras)
    changes = () if extras.interrupted else tuple(_changes(old, new, questions, budget, options, extras))
    data = extras.attempt("what the two say of your data", lambda: _said_of_data(pair, verdict.data))
    comparison = msgspec.structs.replace(comparison, old_said=said[0], new_said=said[1], properties=changes)
    asked = {**verdict.settings, "timeout": timeout}
    health = (*verdict.health, *extras.notes, *([_EMPTY_WORD] if verdict.counterexample == () else []))
    return msgspec.structs.replace(
        verdict, comparison=comparison, data=data or verdict.data, health=health, settings=asked
    )


def _seeking_longer(settings: VerifySettings) -> VerifySettings:
    """The settings with more steps for a shorter word, unless they say how many."""
    if settings.shorter_steps is not None or settings.explain is not None:
        return settings
    return dataclasses.replace(settings, shorter_steps=max(SHORTER_STEPS, _SHORTER_STEPS * settings.search_steps))


def _said(pair: DifferenceModel, word: Word | None, extras: Extras) -> tuple[tuple[str, ...] | None, ...]:
    """What each of the two says of every prefix of the word, the empty one first."""
    if word is None:
        return None, None
    codes, names = pair.alphabet.encode(word), pair.pair.labels
    found = extras.attempt(
        "what the two say along the counterexample",
        lambda: [pair.said(codes[:length]) for length in range(len(codes) + 1)],
    )
    return (None, None) if found is None else tuple(tuple(names[each[side]] for each in found) for side in (0, 1))


def _said_of_data(pair: DifferenceModel, data: DataFacts | None) -> DataFacts | None:
    """The facts with what each of the two says of the sequences that are shown."""
    if data is None:
        return None
    shown = []
    for each in data.first:
        old, new = pair.said(pair.alphabet.encode(each.word))
        names = pair.pair.labels
        shown.append(msgspec.structs.replace(each, old=names[old], new=names[new]))
    return msgspec.structs.replace(data, first=tuple(shown))


def _changes(
    old: Model, new: Model, questions: list[_Question], budget: Budget, options: VerifyOptions, extras: Extras
) -> Iterator[PropertyChange]:
    """Each property on both models, one after the other, while time is left."""
    asked: VerifyOptions = {**options}
    settings = options.get("settings") or VerifySettings()
    asked["settings"] = dataclasses.replace(
        settings, flows=None, severity_samples=0, on_data=None, checkpoint=None, resume=False, certificate=None
    )
    for ask, spec in questions:
        both = extras.attempt(spec.origin, functools.partial(_of_both, old, new, ask, spec, asked, budget))
        if both is not None:
            before, after = both
            yield PropertyChange(
                text=spec.origin,
                old=before.outcome,
                new=after.outcome,
                old_word=before.counterexample,
                new_word=after.counterexample,
            )
        if extras.interrupted:
            return


def _of_both(
    old: Model, new: Model, ask: Callable[..., AnyVerdict], spec: Spec, options: VerifyOptions, budget: Budget
) -> tuple[AnyVerdict, AnyVerdict]:
    verdicts = []
    for model in (old, new):
        verdict = ask(model, spec, **{**options, "timeout": budget.left})
        if verdict.interrupted:
            raise KeyboardInterrupt
        verdicts.append(verdict)
    return verdicts[0], verdicts[1]
