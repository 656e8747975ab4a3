"""What is asked of ``verify``: checked once, and complete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError, WrongTypeError, short_repr
from rnncheck.extraction import extraction_method
from rnncheck.learning.task import Progress
from rnncheck.models.protocol import Model
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Property, Relation, RelationName
from rnncheck.spec import Spec
from rnncheck.verdict.value import MethodName
from rnncheck.verification.methods import METHODS
from rnncheck.verification.settings import VerifySettings


class VerifyOptions(TypedDict, total=False):
    """The options of ``verify``, for functions that hand them on."""

    method: MethodName
    relation: RelationName | Relation
    epsilon: float
    gamma: float
    distribution: WordDistribution | None
    seed: int
    timeout: float | None
    progress: Callable[[Progress], None] | None
    settings: VerifySettings | None


@dataclass(frozen=True)
class Question:
    """One verification: what is verified, in what sense, how sure to be, and by which means."""

    model: Model
    spec: Spec
    method: MethodName
    relation: Relation
    confidence: Confidence
    distribution: WordDistribution
    seed: int
    timeout: float | None
    settings: VerifySettings

    @property
    def wanted(self) -> Property:
        """The property, over the model's letters."""
        return Property(self.spec.dfa, self.relation)

    def asked(self) -> dict[str, Any]:
        """The numbers of the question, for the record."""
        return {
            "epsilon": self.confidence.epsilon,
            "gamma": self.confidence.gamma,
            "bound": self.confidence.bound.value,
            "distribution": self.distribution.describe(),
            **self.settings.describe(),
        }


def prepare(
    model: Model,
    spec: Spec | DFA,
    method: MethodName,
    relation: RelationName | Relation,
    epsilon: float,
    gamma: float,
    distribution: WordDistribution | None,
    seed: int,
    timeout: float | None,
    settings: VerifySettings | None,
) -> Question:
    """The question, or an InputError that says what is wrong with it."""
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
    if not isinstance(spec, Spec | DFA):
        raise InputError(
            f"{short_repr(spec)} is not a specification; make one by Spec.from_ltlf, from_regex, from_dfa or "
            "from_file, with alphabet=model.alphabet"
        )
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed {short_repr(seed)} is not a whole number of at least 0")
    return Question(
        model=model,
        spec=_over_the_models_letters(spec if isinstance(spec, Spec) else Spec.from_dfa(spec), model),
        method=method,
        relation=Relation.named(relation),
        confidence=Confidence(epsilon, gamma, settings.bound),
        distribution=(distribution or WordDistribution(model.alphabet)).over(model.alphabet),
        seed=seed,
        timeout=timeout,
        settings=settings,
    )


def _over_the_models_letters(spec: Spec, model: Model) -> Spec:
    theirs, ours = set(spec.alphabet), set(model.alphabet)
    if theirs != ours:
        odd = sorted(theirs ^ ours)[0]
        owner, other = ("specification", "model") if odd in theirs else ("model", "specification")
        raise InputError(
            f"the letter {short_repr(odd)} is in the {owner}'s alphabet and not in the {other}'s; make the "
            "specification with alphabet=model.alphabet (--alphabet)"
        )
    return spec.over(model.alphabet)
