"""How often do intervals for rare violations hold, and how wide are they?

    .venv/bin/python benchmarks/severity.py [--runs 1000] [--words 20000]

Words that begin with k times a could be violations, and about a quarter of these are: the probability p of one is
known exactly. Each run measures it again with that many words. The second table has the lower bound where half of all
words could be violations, and only those that end in k times a are.
"""

from __future__ import annotations

import argparse
import statistics
import sys

from rnncheck import Spec, WordDistribution
from rnncheck.automata.dfa import DFA
from rnncheck.models.adapters import DFAModel
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.confidence import Confidence
from rnncheck.relations import Property, Relation
from rnncheck.verdict.facts import Outcome
from rnncheck.verification.explanation.severity import violation_probability
from rnncheck.verification.verification_task import Finding, Task
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet, Codes

AB = Alphabet(["a", "b"])


def interval(violations: DFA, possible: DFA, word: Codes, words: int, seed: int) -> tuple[float, float]:
    """The interval of one run."""
    wanted = Property(possible.complement(), Relation.SUBSET)
    oracle = MembershipOracle(DFAModel(violations))
    task = Task(oracle, wanted, WordDistribution(AB), Confidence(), seed, VerifySettings(severity_samples=words))
    return violation_probability(task, Finding(Outcome.VIOLATED, "", word), word, [], 0).interval or (0.0, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--words", type=int, default=20_000)
    chosen = parser.parse_args()
    say = sys.stdout.write
    say("p, share of runs that cover p, median of high / low\n")
    for letters in (11, 17, 24, 31, 37):
        violations = Spec.from_regex(f"a{{{letters}}} a b .*", AB).dfa
        possible = Spec.from_regex(f"a{{{letters}}} .*", AB).dfa
        truth = WordDistribution(AB).mass(violations)
        word = (0,) * (letters + 1) + (1,)
        found = [interval(violations, possible, word, chosen.words, seed) for seed in range(chosen.runs)]
        covered = sum(low <= truth <= high for low, high in found) / len(found)
        width = statistics.median(high / low for low, high in found)
        say(f"{truth:.2e}  {covered:.3f}  {width:.3f}\n")
    say("p, lower bound over p, upper bound\n")
    for letters in (10, 20, 37):
        violations, possible = Spec.from_regex(f".* b a{{{letters}}}", AB).dfa, Spec.from_regex(".* a", AB).dfa
        truth = WordDistribution(AB).mass(violations)
        low, high = interval(violations, possible, (1, *(0,) * letters), chosen.words, 0)
        say(f"{truth:.2e}  {low / truth:.3f}  {high:.2e}\n")


if __name__ == "__main__":
    main()
