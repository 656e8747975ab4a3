"""``verify``: one question, one verdict, whatever happens. Prepare, find, conclude."""

from __future__ import annotations

from collections.abc import Callable

from rnncheck.automata.dfa import DFA
from rnncheck.learning.learning_task import Progress
from rnncheck.models.protocol import Model
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Relation, RelationName
from rnncheck.runtime.watchdog import watchdog
from rnncheck.spec import Spec
from rnncheck.verdict.facts import MethodName, Outcome, TotalCost
from rnncheck.verdict.value import Verdict
from rnncheck.verification.conclusion import conclude
from rnncheck.verification.question import prepare
from rnncheck.verification.run import Run
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.version import __version__
from rnncheck.words import Alphabet


def verify(
    model: Model,
    spec: Spec | DFA,
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
    assume: Spec | DFA | None = None,
    max_length: int | None = None,
) -> Verdict:
    """Does the model satisfy the specification?

    ``relation`` is ``subset`` (L(R) ⊆ L(A), no false positives), ``superset`` (no false negatives) or ``equal``.
    ``method`` is ``auto``, ``pdv``, ``smc``, ``aamc``, ``errors`` or ``prove``. A counterexample is always real: it was
    confirmed by the model's reference. "Satisfied" means that the probability of a violation under ``distribution`` is
    below ``epsilon`` with confidence 1 − ``gamma``; where ``guarantee.proof`` is set, that there is none. When
    ``timeout`` seconds are over, or the work is cancelled (Ctrl-C), the verdict is undecided and has the facts so far.
    The same inputs and seed give the same verdict.

    With ``assume``, a language, only its words count: others are no violations, and probabilities are those given that
    a word is in it. With ``max_length`` only words of at most that many letters count, and the model is never
    queried for longer ones.
    """
    question = prepare(
        model, spec, method, relation, epsilon, gamma, distribution, seed, timeout, settings, assume, max_length
    )
    run = Run(question, progress)
    with watchdog(lambda: run.oracle.budget.remaining()):
        finding = run.find()
        if run.difference is not None:  # the evaluator is wrong: verify again with the slow reference
            run = run.by_reference(run.difference)
            finding = run.find()
    grace = run.grace()
    with watchdog(lambda: max(run.oracle.budget.remaining(), grace.remaining())):
        return conclude(run, finding)


def never_started(
    reason: str,
    alphabet: Alphabet,
    *,
    method: str = "auto",
    relation: RelationName | Relation = "subset",
    epsilon: float = Confidence.epsilon,
    gamma: float = Confidence.gamma,
    seed: int = 0,
) -> Verdict:
    """The verdict where the time was over before the first query, as with a model that hangs."""
    return Verdict(
        schema="rnncheck/verdict/1",
        outcome=Outcome.UNDECIDED,
        reason=reason,
        method=method,
        relation=Relation.named(relation),
        cost=TotalCost(0.0, 0, 0, 0),
        alphabet=alphabet,
        seed=seed,
        settings={"epsilon": epsilon, "gamma": gamma},
        version=__version__,
    )
