"""``verify``: one question, one verdict, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InconsistentAnswersError, InputError, shown
from rnncheck.extraction.registry import ROADS
from rnncheck.models.protocol import Model
from rnncheck.oracle import Oracle
from rnncheck.probability.distributions import WordDistribution
from rnncheck.probability.statistics import check_probability, shown_epsilon
from rnncheck.relations import Relation
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.runtime.watchdog import patience
from rnncheck.search.flows import Flow
from rnncheck.spec import Spec
from rnncheck.verdict.value import FaultyFlow, Guarantee, HealthNote, Outcome, TotalCost, Verdict
from rnncheck.verification.aamc import aamc
from rnncheck.verification.auto import auto
from rnncheck.verification.errors_method import ErrorsFinding, errors
from rnncheck.verification.evidence import History, gather
from rnncheck.verification.health import health_notes
from rnncheck.verification.pdv import pdv
from rnncheck.verification.polish import polished, violation_mass
from rnncheck.verification.resuming import Checkpoint, Keeper
from rnncheck.verification.searches import exhaustive
from rnncheck.verification.settings import Progress, VerifySettings
from rnncheck.verification.smc import smc
from rnncheck.verification.task import Algorithm, Finding, Task
from rnncheck.version import __version__
from rnncheck.words import Codes, format_word

METHODS: dict[str, Callable[[Task], Algorithm]] = {
    "auto": auto,
    "pdv": pdv,
    "smc": smc,
    "aamc": aamc,
    "errors": errors,
}
DEFAULT_METHOD = "auto"

# After a violation is found, shrinking and flows may take this share of the time limit beyond what is left of it.
_GRACE = 0.1


def verify(
    model: Model,
    spec: Spec | DFA,
    *,
    method: str = DEFAULT_METHOD,
    relation: str | Relation = Relation.SUBSET,
    epsilon: float = 5e-4,
    gamma: float = 5e-4,
    distribution: WordDistribution | None = None,
    seed: int = 0,
    timeout: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    settings: VerifySettings | None = None,
) -> Verdict:
    """Does the model satisfy the specification?

    ``relation`` is ``subset`` (L(R) ⊆ L(A), no false positives), ``superset`` (no false negatives) or ``equal``.
    ``method`` is ``auto``, ``pdv``, ``smc`` or ``aamc``. A counterexample is always real: it was confirmed on the model
    by its own definition. "Satisfied" means that the probability of a violation under ``distribution`` is below
    ``epsilon`` with confidence 1 − ``gamma``. When ``timeout`` seconds are over, or the work is cancelled (Ctrl-C), the
    verdict is undecided and says what is known. The same inputs and seed give the same verdict.
    """
    settings = settings or VerifySettings()
    run = _Run(model, spec, method, Relation.named(relation), settings)
    return run.verdict(epsilon, gamma, distribution, seed, timeout, progress)


class _Run:
    """One call of ``verify``."""

    def __init__(
        self, model: Model, spec: Spec | DFA, method: str, relation: Relation, settings: VerifySettings
    ) -> None:
        if method not in METHODS:
            raise InputError(f"unknown method {shown(method)}; known are {', '.join(METHODS)}")
        if settings.by not in ROADS:
            raise InputError(f"unknown way {shown(settings.by)} to an automaton; known are {', '.join(ROADS)}")
        if not isinstance(model, Model):
            raise InputError(
                f"{shown(model)} is not a model; read a file by rnncheck.load_model(path), or make a model of a module "
                "or function by rnncheck.wrap(…, alphabet=[…])"
            )
        if not isinstance(spec, Spec | DFA):
            raise InputError(
                f"{shown(spec)} is not a specification; make one by Spec.from_ltlf, from_regex, from_dfa or from_file, "
                "with alphabet=model.alphabet"
            )
        self._model = model
        self._spec = spec if isinstance(spec, Spec) else Spec.from_dfa(spec)
        self._dfa = _over_the_models_letters(self._spec, model).dfa
        self._method = method
        self._relation = relation
        self._settings = settings

    def verdict(
        self,
        epsilon: float,
        gamma: float,
        distribution: WordDistribution | None,
        seed: int,
        timeout: float | None,
        progress: Callable[[Progress], None] | None,
    ) -> Verdict:
        check_probability("epsilon", epsilon)
        check_probability("gamma", gamma)
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InputError(f"seed {shown(seed)} is not a whole number of at least 0")
        settings = self._settings
        self._began = settings.clock()
        budget = Budget.lasting(timeout, clock=settings.clock, cancelled=settings.cancelled)
        distribution = (distribution or WordDistribution(self._model.alphabet)).over(self._model.alphabet)
        self._asked = {
            "epsilon": epsilon,
            "gamma": gamma,
            "bound": settings.bound.value,
            "distribution": distribution.describe(),
            **settings.describe(),
        }
        self._kept = self._keeper(seed)
        journal = None if self._kept is None else self._kept.checkpoint.journal
        self._oracle = Oracle(self._model, memory_limit=settings.memory_limit, budget=budget, journal=journal)
        self._task = Task(
            oracle=self._oracle,
            spec=self._dfa,
            relation=self._relation,
            distribution=distribution,
            epsilon=epsilon,
            gamma=gamma,
            bound=settings.bound,
            seed=seed,
            learner_name=settings.learner,
            max_states=settings.max_states,
            max_query_length=settings.max_query_length,
            search_steps=settings.search_steps,
            road=settings.by,
            known_words=[self._model.alphabet.encode(word) for word in settings.known_words],
        )
        self._history = History()
        with patience(lambda: self._oracle.budget.remaining()):
            return self._concluded(budget, timeout, progress)

    def _concluded(self, budget: Budget, timeout: float | None, progress: Callable[[Progress], None] | None) -> Verdict:
        """Find, polish what was found, and put it down."""
        settings = self._settings
        finding = self._find(progress)
        self._history.look(self._task)
        self._asked["timeout"] = timeout
        word = finding.word
        flows: tuple[Flow, ...] = ()
        if word is not None:
            grace = None if timeout is None else budget.remaining() + _GRACE * timeout
            self._oracle.budget = Budget.lasting(grace, clock=settings.clock, cancelled=settings.cancelled)
            word, flows = polished(self._task, word, settings, search=self._method == "auto")
        verdict = self._assemble(finding, word, flows)
        trouble = None if self._kept is None else self._kept.save()
        if trouble is None:
            return verdict
        return replace(verdict, health=(*verdict.health, HealthNote("checkpoint", trouble)))

    def _keeper(self, seed: int) -> Keeper | None:
        settings = self._settings
        if settings.checkpoint is None:
            if settings.resume:
                raise InputError("there is nothing to resume from; name the checkpoint's file too (--checkpoint)")
            return None
        model = self._model.describe()
        question = {
            **self._asked,
            "model": model.get("sha256") or {name: model.get(name) for name in ("kind", "name")},
            "alphabet": list(self._model.alphabet),
            "spec": self._spec.sha256(),
            "method": self._method,
            "relation": self._relation.value,
            "seed": seed,
            "version": __version__,
            "known_words": [list(word) for word in settings.known_words],
        }
        checkpoint = Checkpoint(settings.checkpoint, question, resume=settings.resume)
        return Keeper(checkpoint, settings.checkpoint_seconds, settings.clock)

    def _find(self, progress: Callable[[Progress], None] | None) -> Finding:
        """Run the algorithm to its end, or to the end of the budget."""
        try:
            if self._settings.exhaustive is not None:
                finding = self._to_the_end(exhaustive(self._task, self._settings.exhaustive), progress)
                if finding.outcome is not Outcome.UNDECIDED:
                    return finding
            return self._to_the_end(METHODS[self._method](self._task), progress)
        except BudgetExceeded as end:
            return self._task.state.earned or Finding(Outcome.UNDECIDED, end.reason)
        except KeyboardInterrupt:
            self._oracle.budget = Budget.lasting(0.0, clock=self._settings.clock)  # nobody waits for more answers
            return self._task.state.earned or Finding(Outcome.UNDECIDED, "interrupted")
        except InconsistentAnswersError as error:
            word = format_word(self._model.alphabet.decode(error.word))
            before, now = ("accepted", "refused") if error.before else ("refused", "accepted")
            return Finding(
                Outcome.UNDECIDED,
                f"the model's answers change: the word {word} was first {before} and then {now}; "
                "a model must give each word one answer",
            )

    def _to_the_end(self, algorithm: Algorithm, progress: Callable[[Progress], None] | None) -> Finding:
        while True:
            try:
                next(algorithm)
            except StopIteration as stop:
                finding: Finding = stop.value
                return finding
            self._history.look(self._task)
            if self._kept is not None:
                self._kept.save_now_and_then()
            self._oracle.budget.check()
            if progress is not None:
                progress(self._progress())

    def _progress(self) -> Progress:
        task, cost = self._task, self._oracle.cost
        return Progress(
            method=self._method,
            seconds=self._settings.clock() - self._began,
            remaining=self._oracle.budget.remaining(),
            rounds=task.state.rounds,
            states=None if task.state.hypothesis is None else len(task.state.hypothesis),
            membership_queries=cost.membership_queries,
            network_steps=cost.network_steps,
            words=task.sampler.words,
            words_needed=task.words_needed,
            exact_length=task.state.exact_length,
        )

    def _assemble(self, finding: Finding, word: Codes | None, flows: tuple[Flow, ...]) -> Verdict:
        task, decode = self._task, self._model.alphabet.decode
        mass = None
        if word is not None and self._settings.mass_words:
            mass = violation_mass(task, self._settings.mass_words)
        health = tuple(health_notes(task, violated=word is not None))
        evidence = gather(self._oracle, word, flows)
        cost = self._oracle.cost
        return Verdict(
            outcome=finding.outcome,
            reason=finding.reason,
            method=self._method,
            relation=self._relation,
            cost=TotalCost(
                seconds=self._settings.clock() - self._began,
                membership_queries=cost.membership_queries,
                network_steps=cost.network_steps,
                rounds=task.state.rounds,
            ),
            seed=task.seed,
            alphabet=self._model.alphabet,
            counterexample=None if word is None else decode(word),
            guarantee=None if word is not None else self._guarantee(finding),
            hypothesis=None if self._method == "errors" else task.state.hypothesis,
            error_language=finding.description.facts()
            if isinstance(finding, ErrorsFinding) and finding.description
            else None,
            specification=self._dfa,
            faulty_flows=tuple(
                FaultyFlow(
                    prefix=decode(flow.prefix),
                    loop=decode(flow.loop),
                    suffix=decode(flow.suffix),
                    hits=len(flow.hits),
                    pumps=flow.pumps,
                    which=flow.hits,
                    settles_at=flow.settles_at,
                    forever=flow.forever,
                    scores=scores,
                )
                for flow, scores in zip(flows, evidence.flow_scores, strict=True)
            ),
            health=health,
            model_facts=dict(self._model.describe()),
            spec_facts={"origin": self._spec.origin, "sha256": self._spec.sha256()},
            violation_mass=mass,
            version=__version__,
            trace=evidence.trace,
            history=self._history.rounds,
            settings=self._asked,
        )

    def _guarantee(self, finding: Finding) -> Guarantee | None:
        task = self._task
        words = task.sampler.words
        if not words and task.state.exact_length is None and finding.outcome is not Outcome.SATISFIED:
            return None
        return Guarantee(
            proof=finding.proof,
            epsilon=shown_epsilon(words, task.gamma, task.bound) if words else None,
            gamma=task.gamma,
            samples=words,
            bound=task.bound.value,
            hypothesis_epsilon=finding.hypothesis_epsilon,
            exact_length=task.state.exact_length,
            distribution=task.distribution.describe(),
        )


def _over_the_models_letters(spec: Spec, model: Model) -> Spec:
    theirs, ours = set(spec.alphabet), set(model.alphabet)
    if theirs != ours:
        odd = sorted(theirs ^ ours)[0]
        owner, other = ("specification", "model") if odd in theirs else ("model", "specification")
        raise InputError(
            f"the letter {shown(odd)} is in the {owner}'s alphabet and not in the {other}'s; make the specification "
            "with alphabet=model.alphabet (--alphabet)"
        )
    return spec.over(model.alphabet)
