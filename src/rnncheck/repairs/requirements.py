"""The properties of a repaired model, and the answers that they allow after each prefix.

A property of words forbids an answer at some words and allows any at others: ``subset`` restricts only words that A
rejects, ``superset`` only those that A accepts. A property of labels is a safety game: letters are arbitrary, and after
each of them the model gives a label, so that the trace stays in states from which every continuation can be answered
correctly. The labels that stay there are allowed.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.automata.label_specs import PairAlphabet
from rnncheck.automata.language import least_word
from rnncheck.automata.product import intersection, union
from rnncheck.errors import InputError, WrongTypeError, short_repr
from rnncheck.models.protocol import Scores
from rnncheck.relations import Property, Relation, RelationName
from rnncheck.spec import Spec
from rnncheck.words import Alphabet, IntArray, WordBatch, format_word

UNKNOWN = -1  # the answer at a prefix about which nothing is known
_NO, _YES = 0, 1

Table = npt.NDArray[np.int64]  # states × letters × labels


@dataclass(frozen=True)
class Requirement:
    """A property, and its relation to the model; one over letters and labels has no relation."""

    name: str
    spec: Spec
    relation: Relation | RelationName | None = Relation.SUBSET

    def __post_init__(self) -> None:
        if self.relation is not None:
            object.__setattr__(self, "relation", Relation.named(self.relation))

    @property
    def about_labels(self) -> bool:
        return self.relation is None

    @property
    def kind(self) -> Relation | None:
        """The relation as a value, also if it was given by name."""
        return None if self.relation is None else Relation.named(self.relation)

    @property
    def formula(self) -> str:
        return "labels" if self.kind is None else self.kind.formula

    def over(self, alphabet: Alphabet) -> Requirement:
        """The same with the letters in the model's order; the letters of a property of labels are pairs."""
        return self if self.about_labels else Requirement(self.name, self.spec.over(alphabet), self.relation)

    @property
    def as_property(self) -> Property:
        return Property(self.spec.dfa, self.kind or Relation.SUBSET)

    @functools.cached_property
    def forbids(self) -> dict[int, DFA]:
        """For each answer, no and yes, the words at which it is forbidden."""
        spec, found = self.spec.dfa, {}
        if self.relation in (Relation.SUBSET, Relation.EQUAL):
            found[_YES] = spec.complement()
        if self.relation in (Relation.SUPERSET, Relation.EQUAL):
            found[_NO] = spec
        return found


def assuming(requirement: Requirement, assumed: DFA | None) -> list[Requirement]:
    """The requirement restricted to the words that an automaton accepts: one, or one for each direction of equality."""
    if assumed is None or requirement.relation is None:
        return [requirement]
    found, spec = [], requirement.spec
    for relation, dfa in (
        (Relation.SUBSET, union(spec.dfa, assumed.complement())),
        (Relation.SUPERSET, intersection(spec.dfa, assumed)),
    ):
        if requirement.relation in (relation, Relation.EQUAL):
            name = requirement.name
            if requirement.relation is Relation.EQUAL:
                name += f" ({'no false positives' if relation is Relation.SUBSET else 'no false negatives'})"
            found.append(Requirement(name, Spec.from_dfa(dfa, origin=f"{spec.origin}, where it counts"), relation))
    return found


Specs = Spec | DFA | Requirement | Iterable["Spec | DFA | Requirement"] | Mapping[str, "Spec | DFA"]


def requirements_of(specs: Specs, relation: RelationName | Relation) -> tuple[Requirement, ...]:
    """The requirements given by the caller in any form; ``relation`` applies to those without one."""
    kind = Relation.named(relation)
    if isinstance(specs, Mapping):
        found = [_requirement(spec, kind, name) for name, spec in specs.items()]
    else:
        several = [specs] if isinstance(specs, Spec | DFA | Requirement) else list(specs)
        found = [_requirement(spec, kind, None) for spec in several]
    if not found:
        raise InputError("there is no property to repair the model for; give at least one specification")
    names = [each.name for each in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two properties are called {short_repr(twice)}; give each a name of its own")
    return tuple(found)


def _requirement(spec: Spec | DFA | Requirement, relation: Relation, name: str | None) -> Requirement:
    if isinstance(spec, Requirement):
        return spec
    if isinstance(spec, DFA):
        spec = Spec.from_dfa(spec)
    if not isinstance(spec, Spec):
        raise WrongTypeError(f"{short_repr(spec)} is not a specification; give a Spec, a DFA or a Requirement")
    return Requirement(name or spec.origin, spec, relation)


@dataclass(frozen=True, eq=False)
class _SafetyGame:
    """The labels that one automaton allows: ``allowed[q, a, l]`` is whether label l may follow letter a in state q."""

    initial: int
    successors: Table
    allowed: Mask
    at_start: Mask  # which labels the empty word may have


class Answers(NamedTuple):
    """At each prefix: the answer to learn, whether the model's own is forbidden, and whether only one is allowed."""

    answers: IntArray  # UNKNOWN if the model's own answer is unknown and several are allowed
    corrected: Mask
    bound: Mask


class AllowedOutputs:
    """The answers that all requirements together allow, for a model over an alphabet with these labels.

    ``yes`` is the position of the accepting label. Requirements that no model can satisfy are an InputError, with a
    word that shows it.
    """

    def __init__(
        self, requirements: Sequence[Requirement], alphabet: Alphabet, labels: Sequence[str], yes: int = _YES
    ) -> None:
        self._labels, self._yes = tuple(labels), yes
        of_words = [each for each in requirements if not each.about_labels]
        _check_compatible(of_words)
        self._games = [self._game_of_words(each) for each in of_words]
        if len(of_words) < len(requirements):
            pairs = PairAlphabet(alphabet, self._labels)
            automata = [self._traces(game, pairs) for game in self._games]
            automata += [each.spec.dfa.over(pairs.pairs) for each in requirements if each.about_labels]
            at_start = np.logical_and.reduce([game.at_start for game in self._games], axis=0, initial=True)
            at_start = np.broadcast_to(at_start, len(self._labels))
            self._games = [_game_of_traces(functools.reduce(intersection, automata), pairs, at_start)]

    def answers(self, words: WordBatch, scores: Scores) -> Answers:
        """For each prefix of each word the answer to learn.

        ``scores`` (prefixes × labels) are the model's own: the label with the largest score among those allowed is
        taken. They are NaN where the model's answer is unknown; there the answer is unknown too, unless only one is
        allowed.
        """
        answers = np.full(len(scores), UNKNOWN, dtype=np.int64)
        corrected, bound = np.zeros((2, len(scores)), dtype=np.bool_)
        starts = words.offsets[:-1] + np.arange(len(words))
        allowed = np.ones((len(words), len(self._labels)), dtype=np.bool_)
        for game in self._games:
            allowed &= game.at_start
        states = np.tile([game.initial for game in self._games], (len(words), 1))
        rows, letters = np.arange(len(words)), None
        for t in itertools.count():
            at = starts[rows] + t
            answers[at], corrected[at], bound[at] = self._choose(scores[at], allowed)
            if letters is not None:
                chosen = answers[at].clip(min=0)  # no game depends on an unknown answer
                for number, game in enumerate(self._games):
                    states[:, number] = game.successors[states[:, number], letters, chosen]
            going = words.lengths[rows] > t
            rows, states = rows[going], states[going]
            if not len(rows):
                break
            letters = words.codes[words.offsets[rows] + t]
            allowed = np.ones((len(rows), len(self._labels)), dtype=np.bool_)
            for number, game in enumerate(self._games):
                allowed &= game.allowed[states[:, number], letters]
        return Answers(answers, corrected, bound)

    def _choose(self, scores: Scores, allowed: Mask) -> Answers:
        """The answers for rows whose allowed labels are known."""
        known = np.logical_not(np.isnan(scores).any(axis=1))
        own = np.where(known[:, None], scores, 0.0)
        masked = np.where(allowed, own, -np.inf)
        best = masked.argmax(axis=1)
        only = allowed.sum(axis=1) == 1
        answers = np.where(known | only, best, UNKNOWN)
        corrected = np.where(known, ~allowed[np.arange(len(own)), own.argmax(axis=1)], only)
        return Answers(answers, corrected, only)

    def _game_of_words(self, requirement: Requirement) -> _SafetyGame:
        spec = requirement.spec.dfa
        labels = len(self._labels)
        at_state: Mask = np.ones((len(spec), labels), dtype=np.bool_)
        yes = np.arange(labels) == self._yes
        for answer, language in requirement.forbids.items():
            # The automaton of a forbidding language has the states of the specification.
            at_state[np.ix_(language.accepting, yes if answer == _YES else np.logical_not(yes))] = False
        successors = np.repeat(spec.transitions.astype(np.int64)[:, :, None], labels, axis=2)
        return _SafetyGame(spec.initial, successors, at_state[spec.transitions], at_state[spec.initial])

    def _traces(self, game: _SafetyGame, pairs: PairAlphabet) -> DFA:
        """The traces that a property of words allows, as an automaton over pairs."""
        states, letters, labels = game.successors.shape
        table = np.where(game.allowed, game.successors, states).reshape(states, letters * labels)
        dead = np.full((1, letters * labels), states)
        accepting = np.arange(states + 1) < states
        return DFA(pairs.pairs, np.concatenate([table, dead]), accepting, game.initial)


def _check_compatible(requirements: Sequence[Requirement]) -> None:
    """Raise an error if one property of words forbids yes and another forbids no at the same word."""
    for one, other in itertools.product(requirements, requirements):
        if one is other or _YES not in one.forbids or _NO not in other.forbids:
            continue
        word = least_word(intersection(one.forbids[_YES], other.forbids[_NO]))
        if word is not None:
            raise InputError(
                f"no model satisfies both properties: {short_repr(one.name)} ({one.formula}) forbids to accept the "
                f"word {short_repr(format_word(word))}, and {short_repr(other.name)} ({other.formula}) forbids to "
                "reject it; leave one of them out"
            )


def _game_of_traces(traces: DFA, pairs: PairAlphabet, at_start: Mask) -> _SafetyGame:
    """The safety game of a specification over letters and labels: play stays in the winning states."""
    letters, labels = len(pairs.letters), len(pairs.labels)
    successors = traces.transitions.astype(np.int64).reshape(len(traces), letters, labels)
    winning = traces.accepting.copy()
    while True:
        stays = winning & np.all(np.any(winning[successors], axis=2), axis=1)
        if np.array_equal(stays, winning):
            break
        winning = stays
    if not winning[traces.initial]:
        word = _losing_word(successors, traces.accepting, traces.initial)
        raise InputError(
            "no network satisfies the properties of labels: whatever labels it gives, the letters "
            f"{short_repr(format_word(pairs.letters.decode(word)))} lead to a violation; correct the properties"
        )
    return _SafetyGame(traces.initial, successors, winning[successors], at_start)


def _losing_word(successors: Table, accepting: Mask, initial: int) -> tuple[int, ...]:
    """Letters that lead to a violation whatever the labels are, here those that delay it longest."""
    ranks = np.where(accepting, np.inf, 0.0)  # letters until a violation, with the best labels
    for step in itertools.count(1):
        worst = ranks[successors].max(axis=2).min(axis=1)
        lost = np.isinf(ranks) & (worst == step - 1)
        if not lost.any():
            break
        ranks[lost] = step
    word: list[int] = []
    state = initial
    while ranks[state] > 0:
        after = ranks[successors[state]].max(axis=1)
        letter = int(after.argmin())
        word.append(letter)
        state = int(successors[state, letter, int(ranks[successors[state, letter]].argmax())])
    return tuple(word)


def contradictions(requirements: Sequence[Requirement], words: WordBatch, accepted: Mask) -> dict[str, list[int]]:
    """For each property of words, the positions of words with a label that it forbids."""
    found = {}
    for each in requirements:
        wrong = np.zeros(len(words), dtype=np.bool_)
        for answer, language in each.forbids.items():
            wrong |= language.accepts_batch(words) & (accepted == (answer == _YES))
        if wrong.any():
            found[each.name] = np.flatnonzero(wrong).tolist()
    return found
