"""The arguments of ``verify``: complete, and checked once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError, WrongTypeError, short_repr
from rnncheck.extraction import check_lengths, extraction_method
from rnncheck.learning.learning_settings import check_least
from rnncheck.learning.learning_task import Progress
from rnncheck.models.engine.stepped_reference import SteppedReference
from rnncheck.models.protocol import Model
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution, distribution_over
from rnncheck.relations import Property, Relation, RelationName
from rnncheck.spec import Spec, parse_language
from rnncheck.verdict.facts import MethodName, SpecFacts, Strength, StrengthName
from rnncheck.verification.assumption import Assumption
from rnncheck.verification.methods import METHODS
from rnncheck.verification.verify_settings import VerifySettings


class VerifyOptions(TypedDict, total=False):
    """The options of ``verify``, for functions that pass them on."""

    method: MethodName
    relation: RelationName | Relation
    epsilon: float
    gamma: float
    distribution: WordDistribution | None
    seed: int
    timeout: float | None
    progress: Callable[[Progress], None] | None
    settings: VerifySettings | None
    assume: Spec | DFA | str | None
    max_length: int | None
    require: StrengthName | Strength | None


@dataclass(frozen=True)
class Question:
    """One verification: model, specification, relation, confidence and settings."""

    model: Model
    spec: Spec
    method: MethodName
    relation: Relation
    confidence: Confidence
    distribution: WordDistribution
    seed: int
    timeout: float | None
    settings: VerifySettings
    assumption: Assumption | None
    required: Strength | None = None

    @functools.cached_property
    def prop(self) -> Property:
        """The property, over the model's letters, of the words that count."""
        return Property.assuming(self.spec.dfa, self.relation, None if self.assumption is None else self.assumption.dfa)

    @property
    def unbounded(self) -> Property:
        """The property without a limit on the length, under which its automaton would have no loops."""
        if self.max_length is None or self.assumption is None:
            return self.prop
        assumed = self.assumption.spec
        return Property.assuming(self.spec.dfa, self.relation, None if assumed is None else assumed.dfa)

    @property
    def max_length(self) -> int | None:
        """The most letters of a word that the model may be queried for."""
        return None if self.assumption is None else self.assumption.max_length

    @property
    def reference_has_these_weights(self) -> bool:
        """Whether the reference computes with the weights that a proof encloses; a user's own model may not."""
        return isinstance(self.model.by_reference(), SteppedReference)

    @property
    def covers_reference(self) -> bool:
        """Whether a proof about the weights is one about the model: all that it computes was read."""
        return self.reference_has_these_weights or self.model.covers_reference

    def spec_facts(self) -> SpecFacts:
        """The verdict's facts about the specification; with many states its digest takes long."""
        spec = self.spec
        return SpecFacts(origin=spec.origin, sha256=spec.sha256(), states=len(spec.dfa), automaton=spec.dfa)

    def facts(self) -> dict[str, Any]:
        """The numbers of the question, for the verdict."""
        return {
            "epsilon": self.confidence.epsilon,
            "gamma": self.confidence.gamma,
            "bound": self.confidence.bound.value,
            "distribution": self.distribution.describe(),
            **({} if self.assumption is None else {"assumption": self.assumption.facts.given()}),
            **self.settings.describe(),
        }


def prepare(
    model: Model,
    spec: Spec | DFA | str,
    method: MethodName,
    relation: RelationName | Relation,
    epsilon: float,
    gamma: float,
    distribution: WordDistribution | None,
    seed: int,
    timeout: float | None,
    settings: VerifySettings | None,
    assume: Spec | DFA | str | None,
    max_length: int | None,
    require: StrengthName | Strength | None,
) -> Question:
    """Check the arguments; raises InputError for invalid ones."""
    settings = VerifySettings() if settings is None else settings
    if not isinstance(settings, VerifySettings):
        raise WrongTypeError(
            f"settings={short_repr(settings)} is a {type(settings).__name__}; give VerifySettings(name=value, …)"
        )
    if method not in METHODS:
        raise InputError(f"unknown method {short_repr(method)}; known are {', '.join(METHODS)}")
    extraction_method(settings.extraction)
    if not isinstance(model, Model):
        raise InputError(
            f"{short_repr(model)} is not a model; read a file by rnncheck.load_model(path), or make a model of a "
            "module or function by rnncheck.wrap(…, alphabet=[…])"
        )
    spec = _language(spec, model, "")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed {short_repr(seed)} is not a whole number of at least 0")
    words = distribution_over(model.alphabet, distribution)
    assumption = _assumption(model, words, assume, max_length, settings)
    return Question(
        model=model,
        spec=_over_model_alphabet(spec, model),
        method=method,
        relation=Relation.named(relation),
        confidence=Confidence(epsilon, gamma, settings.bound),
        distribution=words if assumption is None else assumption.words(),
        seed=seed,
        timeout=timeout,
        settings=settings,
        assumption=assumption,
        required=None if require is None else Strength.named(require),
    )


def _assumption(
    model: Model,
    words: WordDistribution,
    assume: Spec | DFA | str | None,
    max_length: int | None,
    settings: VerifySettings,
) -> Assumption | None:
    """Which words count, if that is assumed or the model limits their length; None where all do."""
    check_least("max_length", max_length, 2)  # a learner needs at least 2
    longest = min((length for length in (max_length, model.max_length) if length is not None), default=None)
    if assume is None and longest is None:
        return None
    if longest is not None:
        check_lengths(longest, settings.extraction, settings.known_words)
    spec = None if assume is None else _language(assume, model, "assume=")
    return Assumption(words, None if spec is None else _over_model_alphabet(spec, model, "assumption"), longest)


def _language(given: Spec | DFA | str, model: Model, name: str) -> Spec:
    if isinstance(given, str):
        return parse_language(given, model.alphabet)
    if not isinstance(given, Spec | DFA):
        what = "language" if name else "specification"
        raise InputError(
            f"{name}{short_repr(given)} is not a {what}; give an LTLf formula as text, or make one by Spec.from_ltlf, "
            "from_regex, from_dfa or from_file, with alphabet=model.alphabet"
        )
    return given if isinstance(given, Spec) else Spec.from_dfa(given)


def _over_model_alphabet(spec: Spec, model: Model, name: str = "specification") -> Spec:
    theirs, ours = set(spec.alphabet), set(model.alphabet)
    if theirs != ours:
        odd = sorted(theirs ^ ours)[0]
        owner, other = (name, "model") if odd in theirs else ("model", name)
        raise InputError(
            f"the letter {short_repr(odd)} is in the {owner}'s alphabet and not in the {other}'s; make the "
            f"{name} with alphabet=model.alphabet (--alphabet)"
        )
    return spec.over(model.alphabet)
