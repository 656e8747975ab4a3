"""What verdicts claim of small automata, held against what is true of them, word by word and exactly.

    python scripts/claims.py --cases 2000 --seed 0          exit 1 where a claim is false, or bounds fail too often

Models are random automata, most of them the specification with a few changes, so that violations are rare, common or
none. They are asked letter by letter, or as functions of whole words; with and without something assumed, a greatest
length, and other distributions. Truth comes from a plain walk through both tables at once, over lengths from 0 on: how
many letters the shortest violation has, and the probability of violations among all words that count and among those
that could be violations. ``differential.py`` has networks, other methods, and what this one leaves out.

A claim for certain (a counterexample, ``shortest``, ``no_violation_up_to``, ``exact_length``, a proof, the mass of the
words that could be violations) must be true each time. Of the bounds, each may fail with its own probability: the share
of failures is reported, and must not be above what that probability explains.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from rnncheck import DFA, Verdict, VerifySettings, WordDistribution, verify
from rnncheck.checker import Status, replay
from rnncheck.errors import InputError
from rnncheck.models.adapters import DFAModel
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.probability.clopper_pearson import clopper_pearson
from rnncheck.relations import Relation
from rnncheck.words import Alphabet

GAMMA, LEVEL = 0.05, 0.95
_LENGTHS = 4_000  # at this length the remaining probability is 0


def random_dfa(rng: np.random.Generator, alphabet: Alphabet, states: int) -> DFA:
    return DFA(alphabet, rng.integers(states, size=(states, len(alphabet))), rng.random(states) < rng.random())


def changed(rng: np.random.Generator, dfa: DFA) -> DFA:
    """The same automaton behind a copy of itself, with a few edges and answers of the copy moved."""
    size = len(dfa)
    table = np.vstack([dfa.transitions, dfa.transitions])
    table[size:][rng.random(dfa.transitions.shape) < 0.5] += size
    table[rng.integers(size), rng.integers(len(dfa.alphabet))] += size * bool(rng.random() < 0.8)
    accepting = np.concatenate([dfa.accepting, dfa.accepting])
    accepting[size + rng.integers(size)] ^= True
    return DFA(dfa.alphabet, table % (2 * size), accepting)


@dataclass(frozen=True)
class Case:
    """A question to which everything is known."""

    target: DFA
    spec: DFA
    relation: Relation
    assumed: DFA | None
    max_length: int | None
    stop: float
    stepping: bool
    seed: int

    @classmethod
    def of(cls, seed: int) -> Case:
        rng = np.random.default_rng(seed)
        alphabet = Alphabet(list("abc")[: 2 + rng.integers(2)])
        spec = random_dfa(rng, alphabet, int(rng.integers(1, 7)))
        close = rng.random() < 0.7
        return cls(
            target=changed(rng, spec) if close else random_dfa(rng, alphabet, int(rng.integers(1, 9))),
            spec=spec,
            relation=list(Relation)[rng.integers(3)],
            assumed=random_dfa(rng, alphabet, int(rng.integers(2, 5))) if rng.random() < 0.4 else None,
            max_length=int(rng.integers(2, 13)) if rng.random() < 0.3 else None,
            stop=float(rng.choice([0.05, 0.1, 0.2])),
            stepping=bool(rng.random() < 0.75),
            seed=seed,
        )

    def verdict(self) -> Verdict:
        model = DFAModel(self.target) if self.stepping else CallableModel(self.target.accepts_batch, self.spec.alphabet)
        verdict = verify(
            model,
            self.spec,
            relation=self.relation,
            epsilon=0.02,
            gamma=GAMMA,
            distribution=WordDistribution(self.spec.alphabet, stop=self.stop),
            seed=self.seed,
            settings=VerifySettings(search_steps=2_000, max_states=40),
            assume=self.assumed,
            max_length=self.max_length,
        )
        if replay(verdict, model).status is Status.REFUTED:
            raise AssertionError("replay refutes the verdict")
        return verdict

    def counts(self, word: tuple[str, ...]) -> bool:
        longest = self.max_length
        return (self.assumed is None or self.assumed.accepts(word)) and (longest is None or len(word) <= longest)

    def violates(self, word: tuple[str, ...]) -> bool:
        answers = np.array([self.target.accepts(word)]), np.array([self.spec.accepts(word)])
        return self.counts(word) and bool(self.relation.broken(*answers)[0])

    @functools.cached_property
    def truth(self) -> Truth:
        everything = DFA(self.spec.alphabet, np.zeros((1, len(self.spec.alphabet)), dtype=int), np.array([True]))
        parts = self.target, self.spec, self.assumed or everything
        numbers = np.indices([len(part) for part in parts]).reshape(3, -1)
        answers = [part.accepting[number] for part, number in zip(parts, numbers, strict=True)]
        counting = answers[2]
        broken = self.relation.broken(answers[0], answers[1]) & counting
        possible = self.relation.may_violate(answers[1]) & counting
        shape, letters = [len(part) for part in parts], len(self.spec.alphabet)
        goes_to = np.ravel_multi_index(
            [part.transitions[number] for part, number in zip(parts, numbers, strict=True)], shape
        )
        met = np.zeros(len(counting))
        met[np.ravel_multi_index([part.initial for part in parts], shape)] = 1.0
        sums, shortest = np.zeros(3), None
        longest = _LENGTHS if self.max_length is None else self.max_length
        for length in range(min(_LENGTHS, longest) + 1):
            sums += [self.stop * met[kind].sum() for kind in (counting, possible, broken)]
            if shortest is None and (met[broken] > 0).any():
                shortest = length
            after = np.zeros_like(met)
            np.add.at(after, goes_to, met[:, None] * (1 - self.stop) / letters)
            met = np.where(after > 1e-300, after, 0.0)
        return Truth(shortest, *sums.tolist())


@dataclass(frozen=True)
class Truth:
    """Letters of the shortest violation, and probabilities: that a word counts, could be a violation, and is one."""

    shortest: int | None
    counting: float
    possible: float
    violating: float

    @property
    def mass(self) -> float:
        return self.violating / self.counting

    @property
    def mass_of_possible(self) -> float:
        return self.violating / self.possible if self.possible else 0.0


@dataclass
class Tally:
    """What was claimed how often, and how often it was false."""

    claims: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def certain(self, claim: str, holds: bool, case: Case) -> None:
        self.claims[claim] += 1
        if not holds:
            self.false[claim] += 1
            self.wrong.append(f"case {case.seed}: {claim}: {case.truth}")

    def bound(self, claim: str, holds: bool) -> None:
        self.claims[claim] += 1
        self.false[claim] += not holds

    def look(self, case: Case) -> None:
        try:
            verdict = case.verdict()
        except InputError as error:
            self.certain("nothing to verify", "nothing to verify" in str(error) and case.truth.counting == 0.0, case)
            return
        except AssertionError as error:
            self.certain(str(error), False, case)
            return
        truth, word, known = case.truth, verdict.counterexample, verdict.guarantee
        self.claims[f"verdict: {verdict.outcome.value}"] += 1
        none_up_to = verdict.no_violation_up_to
        if word is not None:
            self.certain("counterexample", case.violates(word), case)
            self.certain("others", all(map(case.violates, verdict.other_counterexamples)), case)
        if verdict.shortest and word is not None:
            self.certain("shortest", len(word) == truth.shortest, case)
        if none_up_to is not None:
            self.certain("no_violation_up_to", truth.shortest is None or truth.shortest > none_up_to, case)
        if verdict.severity is not None:
            low, high = verdict.severity.interval
            self.bound("severity", low * (1 - 1e-9) <= truth.mass <= high * (1 + 1e-9))
        if known is None:
            return
        if known.proof:
            self.certain("proof", truth.shortest is None, case)
        if known.exact_length is not None:
            self.certain("exact_length", truth.shortest is None or truth.shortest > known.exact_length, case)
        if verdict.outcome.value == "satisfied" and not known.proof:
            if known.epsilon is not None:
                self.bound("epsilon", truth.mass < known.epsilon)
            if known.possible is not None:
                same = np.isclose(known.possible.mass, truth.possible / truth.counting, rtol=1e-6, atol=1e-12)
                self.certain("mass of possible words", bool(same), case)
                self.bound("epsilon of possible words", truth.mass_of_possible <= known.possible.epsilon)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    tally = Tally()
    for number in range(chosen.cases):
        tally.look(Case.of(chosen.seed * 1_000_000 + number))
    say = sys.stdout.write
    for claim, count in sorted(tally.claims.items()):
        say(f"{claim:<32}{count:>8}  false {tally.false[claim]}\n")
    too_often = [
        claim
        for claim in ("severity", "epsilon", "epsilon of possible words")
        if tally.claims[claim] and clopper_pearson(tally.false[claim], tally.claims[claim], 0.999)[0] > 1 - LEVEL
    ]
    for line in [*tally.wrong, *(f"{claim} fails too often" for claim in too_often)]:
        say(f"{line}\n")
    sys.exit(1 if tally.wrong or too_often else 0)


if __name__ == "__main__":
    main()
