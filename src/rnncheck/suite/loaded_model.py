"""One property of one model, and its verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rnncheck.errors import ModelError, RnncheckError
from rnncheck.learning.learning_task import Progress
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.protocol import Model
from rnncheck.options.catalogue import keys_of_properties
from rnncheck.options.option import fill
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.runtime.watchdog import guarded_for
from rnncheck.spec import Spec
from rnncheck.suite.check_results import Check
from rnncheck.suite.property_file import ModelEntry, PropertyEntry
from rnncheck.verdict.value import AnyVerdict
from rnncheck.verification.label_questions import label_spec, verify_labels
from rnncheck.verification.verify import never_started, verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.version import __version__
from rnncheck.words import Alphabet

ShowProgress = Callable[[Progress], None]


class LoadedModel:
    """A model of a property file, loaded when it is first needed and kept for all its properties."""

    def __init__(self, entry: ModelEntry, *, threads: int | None = None) -> None:
        self.entry = entry
        self._threads = threads
        self._loaded: dict[tuple[int | None, bool], Model] = {}

    def check(
        self, one: PropertyEntry, earlier: Mapping[str, AnyVerdict], progress: ShowProgress | None = None
    ) -> Check:
        """The check of one property; ``earlier`` verdicts, by their fingerprint, need not be found again."""
        limit = Budget.lasting(one.timeout)
        try:
            question = self._question(one, limit)
            verdict = None if question.fingerprint is None else earlier.get(question.fingerprint)
            verdict = verdict or question.verdict(limit, progress)
            return Check.of(self.entry, one, verdict=verdict, fingerprint=question.fingerprint)
        except BudgetExceeded as end:
            return self._never_started(one, str(end))
        except RnncheckError as error:
            return Check.of(self.entry, one, error=str(error))

    def _question(self, one: PropertyEntry, limit: Budget) -> _Question:
        model = guarded_for(limit.left, lambda: self._model(one), "the model was being loaded")
        return guarded_for(limit.left, lambda: _Question(model, one), "the specification was being compiled")

    def _model(self, one: PropertyEntry) -> Model:
        """The model; a function is not even tried out on words longer than those that count.

        If it has several labels, one of them must mean accept for properties of accepted words, and none for others.
        """
        longest = one.max_length if self.entry.module is not None else None
        any_label = one.about_labels and self.entry.label is None
        key = longest, any_label
        if key not in self._loaded:
            model = self.entry.load(max_length=longest, threads=self._threads, any_label=any_label)
            self._loaded[key] = model.with_cache() if isinstance(model, CompiledNetwork) else model
        return self._loaded[key]

    def _never_started(self, one: PropertyEntry, reason: str) -> Check:
        """The check where time was over before the first answer; there is no verdict where the letters are unknown."""
        loaded = next((model.alphabet for model in self._loaded.values()), None)
        letters = self.entry.alphabet or loaded or (None if one.about_labels else _letters_of(one))
        if letters is None:
            return Check.of(self.entry, one, error=f"{reason}; its letters are not known: name them (alphabet = […])")
        terms = {name: one.options[name] for name in ("method", "relation", "epsilon", "gamma", "seed")}
        verdict = never_started(reason, letters, **terms)
        return Check.of(self.entry, one, verdict=verdict)


class _Question:
    """A property over a model's letters, with all that it names read and compiled."""

    def __init__(self, model: Model, one: PropertyEntry) -> None:
        self._model = model
        self._property = one
        self._spec = _label_spec(model, one) if one.about_labels else one.spec(model.alphabet)
        self._assumption = one.assumption(model.alphabet)
        self._distribution = one.words_drawn(model.alphabet)
        self._data = one.sequences(model.alphabet)
        self.fingerprint = self._fingerprint()

    def verdict(self, limit: Budget, progress: ShowProgress | None) -> AnyVerdict:
        one = self._property
        declared = [option for option, _ in keys_of_properties().values()]
        names = ("method", "relation", "epsilon", "gamma", "seed", "max_length", "require")
        terms = {name: one.options[name] for name in names}
        if one.about_labels:
            terms["relation"] = "superset"
        return (verify_labels if one.about_labels else verify)(
            self._model,
            self._spec,
            **terms,
            distribution=self._distribution,
            timeout=limit.left,
            progress=progress,
            settings=fill(VerifySettings, declared, one.options, on_data=self._data),
            assume=self._assumption,
        )

    def _fingerprint(self) -> str | None:
        """A digest of everything that the verdict depends on; None where the model has none."""
        one = self._property
        try:
            model = self._model.fingerprint()
        except ModelError:
            return None
        question: dict[str, Any] = {
            "model": model,
            "alphabet": list(self._model.alphabet),
            "labels": one.about_labels,
            "specification": [self._spec.origin, self._spec.sha256()],
            "assumption": None if self._assumption is None else self._assumption.sha256(),
            "distribution": self._distribution.describe(),
            "data": None if self._data is None else self._data.describe(),
            "relation": one.relation.value,
            "version": __version__,
        }
        question |= {name: value for name, value in one.options.items() if name not in ("relation", "assume")}
        return hashlib.sha256(msgspec.json.encode(question, order="deterministic")).hexdigest()


def _label_spec(model: Model, one: PropertyEntry) -> Spec:
    ltlf, regex = (one.whole_text, None) if one.kind == "trace_ltlf" else (None, one.whole_text)
    return label_spec(model, ltlf=ltlf, regex=regex)


def _letters_of(one: PropertyEntry) -> Alphabet | None:
    """The letters that a property names, where it can be read in little time."""
    try:
        return guarded_for(1.0, lambda: one.spec().alphabet, "the specification was being compiled")
    except RnncheckError:
        return None
