"""Verification inside a test suite."""

from __future__ import annotations

from collections.abc import Callable

from rnncheck.automata.dfa import DFA
from rnncheck.learning.learning_task import Progress
from rnncheck.models.protocol import Model
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Relation, RelationName
from rnncheck.spec import Spec
from rnncheck.verdict.facts import MethodName, Strength, StrengthName
from rnncheck.verdict.value import AnyVerdict, Verdict
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import format_word


class NotSatisfiedError(AssertionError):
    """The model does not satisfy the specification, or this could not be shown; details are in ``verdict``."""

    __module__ = "rnncheck"  # the name that pytest shows is the one to import

    def __init__(self, message: str, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (str(self), self.verdict))


def assert_satisfies(
    model: Model,
    spec: Spec | DFA | str,
    *,
    method: MethodName = "auto",
    relation: RelationName | Relation = "subset",
    epsilon: float = Confidence.epsilon,
    gamma: float = Confidence.gamma,
    distribution: WordDistribution | None = None,
    seed: int = 0,
    timeout: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    settings: VerifySettings | None = None,
    assume: Spec | DFA | str | None = None,
    max_length: int | None = None,
    require: StrengthName | Strength | None = None,
) -> AnyVerdict:
    """Raise NotSatisfiedError unless the model satisfies the specification; the options are those of ``verify``.

    It is an AssertionError. The message has the counterexample, or why the verification is undecided, and
    ``verdict`` the verdict. Returns the verdict.
    """
    __tracebackhide__ = True  # pytest then shows the calling test
    verdict = verify(
        model,
        spec,
        method=method,
        relation=relation,
        epsilon=epsilon,
        gamma=gamma,
        distribution=distribution,
        seed=seed,
        timeout=timeout,
        progress=progress,
        settings=settings,
        assume=assume,
        max_length=max_length,
        require=require,
    )
    if verdict.exit_code == 0:
        return verdict
    origin = spec if isinstance(spec, str) else spec.origin if isinstance(spec, Spec) else "the specification"
    if verdict.counterexample is not None:
        word = format_word(verdict.counterexample)
        message = f"the model does not satisfy {origin!r}: the counterexample is {word!r} ({verdict.relation.formula})"
    elif verdict.shortfall is not None:
        message = f"what is known of {origin!r} is not enough: {verdict.shortfall}"
    else:
        known = verdict.guarantee or "nothing is known"
        message = f"it is open whether the model satisfies {origin!r}: {verdict.reason}; {known}"
    raise NotSatisfiedError(message, verdict)
