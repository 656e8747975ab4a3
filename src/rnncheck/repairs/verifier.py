"""Verify each property of a repaired model: with little effort while that finds violations, with more when it does not.

A round needs counterexamples, but not the shortest ones: these are searched for at the end, for the report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from rnncheck.learning.learning_task import Progress as VerifyProgress
from rnncheck.models.protocol import Model
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.repairs.repair_question import Question
from rnncheck.repairs.repair_report import Mass, Standing
from rnncheck.repairs.requirements import Requirement
from rnncheck.runtime.budget import Budget
from rnncheck.verdict.facts import Strength
from rnncheck.verdict.value import Verdict
from rnncheck.verification.label_questions import verify_labels
from rnncheck.verification.question import VerifyOptions
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Word

FIRST_STEPS, _GROWTH = 100_000, 10  # of the search, while violations are found
_COUNTEREXAMPLES = 4  # of different kinds, for each property in a round
_LARGEST_EPSILON = 0.05

Report = Callable[[str, dict[str, int]], None]  # the current work, and counts


class Verifier:
    """Verifies within the budget. ``latest`` has the last verdict of each property by name."""

    def __init__(self, question: Question, budget: Budget, report: Report) -> None:
        self._question, self._budget, self._report = question, budget, report
        self.latest: dict[str, Verdict] = {}

    def verdicts(self, model: Model, rounds: int) -> tuple[list[Verdict], int]:
        """A verdict for each property, and the search steps used: more, as long as nothing is found."""
        most = self._question.settings.search_steps
        steps = min(FIRST_STEPS, most)
        while True:
            found = self._verify_all(model, rounds, steps)
            if not all(verdict.satisfied for verdict in found) or steps >= most or all(map(is_proved, found)):
                return found, steps
            steps = min(steps * _GROWTH, most)

    def _verify_all(self, model: Model, rounds: int, steps: int) -> list[Verdict]:
        """Verify all properties with this many steps."""
        return [self._verdict(model, place, rounds, steps) for place in range(len(self._question.requirements))]

    def _verdict(self, model: Model, place: int, rounds: int, steps: int) -> Verdict:
        self._budget.check()
        requirement = self._question.requirements[place]
        # Another seed in every round finds other violations.
        seed = self._question.seed + 1 + rounds + 1_000 * int(math.log10(steps))
        verdict = self._verify(model, requirement, seed, steps, shorter=0, doing="verifying")
        self.latest[requirement.name] = verdict
        self._budget.check()
        return verdict

    def _verify(
        self, model: Model, requirement: Requirement, seed: int, steps: int, *, shorter: int | None, doing: str
    ) -> Verdict:
        """The verdict of one property; ``shorter`` limits the steps of the search for shorter counterexamples."""
        requirements, budget = self._question.requirements, self._budget
        place = f" ({requirements.index(requirement) + 1} of {len(requirements)})" if len(requirements) > 1 else ""

        def report(now: VerifyProgress | None) -> None:
            counts = {"search steps": steps, "membership queries": 0, "network steps": 0}
            if now is not None:
                counts |= {"membership queries": now.membership_queries, "network steps": now.network_steps}
            self._report(f"{doing} {requirement.name}{place}", counts)

        report(None)
        settings = VerifySettings(
            search_steps=steps,
            shorter_steps=shorter,
            counterexamples=_COUNTEREXAMPLES,
            severity_samples=0 if shorter == 0 else None,  # measured only for the report
            clock=budget.clock,
            cancelled=budget.cancelled,
        )
        options: VerifyOptions = {
            "distribution": self._question.distribution,
            "seed": seed,
            # A shorter search goes with fewer random words.
            "epsilon": min(_LARGEST_EPSILON, Confidence.epsilon * max(1.0, VerifySettings.search_steps / steps)),
            "timeout": budget.left,
            "progress": report,
            "settings": settings,
        }
        if requirement.kind is None:
            verdict = verify_labels(model, requirement.spec, **options)
        else:
            options["relation"] = requirement.kind
            verdict = verify(model, requirement.spec, **options)
        if verdict.interrupted:  # verify returns a verdict at Ctrl-C
            raise KeyboardInterrupt
        return verdict

    def with_shorter_counterexamples(self, model: Model, standings: Sequence[Standing]) -> list[Standing]:
        """The results for the report, with shorter counterexamples if there is time to search for them."""
        budget, shown = self._budget, list(standings)
        waiting = [place for place, standing in enumerate(shown) if standing.counterexamples]
        for place in waiting:
            if budget.remaining() <= 0.0 or budget.cancelled():
                break
            try:
                shown[place] = self._shorter(model, place, shown[place])
            except KeyboardInterrupt:
                break
        return shown

    def _shorter(self, model: Model, place: int, known: Standing) -> Standing:
        question = self._question
        doing = "looking for the shortest counterexample to"
        requirement = question.requirements[place]
        verdict = self._verify(model, requirement, question.seed, FIRST_STEPS, shorter=None, doing=doing)
        word = verdict.counterexample
        if word is None or len(word) > len(known.counterexamples[0]):
            return known
        mass = known.mass
        if mass is not None and verdict.severity is not None:  # the measure of all commands
            mass = msgspec.structs.replace(mass, interval=verdict.severity.interval)
        return standing_of(verdict, known.search_steps, mass, known.on_data, question.distribution)


def is_proved(verdict: Verdict) -> bool:
    """Whether the property is proved for every word."""
    return verdict.strength in (Strength.PROVED, Strength.EXHAUSTIVE)


def standing_of(
    verdict: Verdict, steps: int, mass: Mass | None, on_data: int | None, distribution: WordDistribution
) -> Standing:
    """The result to keep of a verdict; the probability of a violation is at least that of the known ones."""
    words: tuple[Word, ...] = ()
    if verdict.counterexample is not None:
        words = (verdict.counterexample, *verdict.other_counterexamples)
    known = math.fsum(distribution.probability(distribution.alphabet.encode(word)) for word in words)
    return Standing(
        outcome=verdict.outcome,
        proved=is_proved(verdict),
        counterexamples=words,
        flows=tuple(map(str, verdict.faulty_flows)),
        search_steps=steps,
        mass=None if mass is None else mass.at_least(known),
        on_data=on_data,
    )
