"""``verify``: one question, one verdict, whatever happens. Prepare, find, conclude."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError
from rnncheck.learning.learning_task import Progress
from rnncheck.models.protocol import Model
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Relation, RelationName
from rnncheck.runtime.watchdog import watchdog
from rnncheck.spec import Spec
from rnncheck.verdict.facts import MethodName, Strength, StrengthName, TotalCost
from rnncheck.verdict.value import AnyVerdict, Undecided
from rnncheck.verification.conclusion import conclude
from rnncheck.verification.question import VerifyOptions, prepare
from rnncheck.verification.run import Run
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.version import __version__
from rnncheck.words import Alphabet


def verify(
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
    """Does the model satisfy the specification?

    ``spec`` is a ``Spec``, a DFA, or a text: an LTLf formula such as "G(a -> F b)", or "regex:…", or "dfa:FILE".
    ``relation`` is ``subset`` (L(R) ⊆ L(A), no false positives), ``superset`` (no false negatives) or ``equal``.
    ``method`` is ``auto``, ``pdv``, ``smc``, ``aamc``, ``errors`` or ``prove``. A counterexample is always real: it was
    confirmed by the model's reference. "Satisfied" means that the probability of a violation under ``distribution`` is
    below ``epsilon`` with confidence 1 − ``gamma``; where ``guarantee.proof`` is set, that there is none. When
    ``timeout`` seconds are over, or the work is cancelled (Ctrl-C), the verdict is undecided and has the facts so far.
    The same inputs and seed give the same verdict.

    With ``assume``, a language, only its words count: others are no violations, and probabilities are those given that
    a word is in it. With ``max_length`` only words of at most that many letters count, and the model is never
    queried for longer ones.

    With ``require`` ("proved", "exhaustive", "bounded" or "statistical") the verdict's ``exit_code`` is 3 where
    "satisfied" rests on less than that, and its ``shortfall`` says why.
    """
    question = prepare(
        model,
        spec,
        method,
        relation,
        epsilon,
        gamma,
        distribution,
        seed,
        timeout,
        settings,
        assume,
        max_length,
        require,
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


def prove(model: Model, spec: Spec | DFA | str, **options: Unpack[VerifyOptions]) -> AnyVerdict:
    """Does the model satisfy the specification for every word, of any length?

    ``verify`` with the method "prove": a satisfied verdict is proved, or bounds what is left. ``options`` are those of
    ``verify`` but for ``method``; ``VerifySettings(certificate=…)`` names the file for the certificate.
    """
    if options.setdefault("method", "prove") != "prove":
        raise InputError(f"prove has one method, and method={options['method']!r} is another; call verify for that")
    return verify(model, spec, **options)


def never_started(
    reason: str,
    alphabet: Alphabet,
    *,
    method: str = "auto",
    relation: RelationName | Relation = "subset",
    epsilon: float = Confidence.epsilon,
    gamma: float = Confidence.gamma,
    seed: int = 0,
) -> AnyVerdict:
    """The verdict where the time was over before the first query, as with a model that hangs."""
    return Undecided(
        reason=reason,
        method=method,
        relation=Relation.named(relation),
        cost=TotalCost(0.0, 0, 0, 0),
        alphabet=alphabet,
        seed=seed,
        settings={"epsilon": epsilon, "gamma": gamma},
        version=__version__,
    )
