"""Other questions than "does R satisfy A": about the labels that a network outputs, and about two models."""

from __future__ import annotations

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.relations import Relation
from rnncheck.verdict.facts import Outcome
from rnncheck.words import Word


class LabelQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A specification over letters and labels: its text, and its automaton over the pairs of both.

    Such a verdict is about the model that accepts the words along which the network's labels satisfy the specification,
    and about the property that it accepts all words. ``said`` are the labels after each letter of the counterexample.
    """

    text: str
    labels: tuple[str, ...]
    automaton: DFA
    said: tuple[str, ...] | None = None


class PropertyChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One property: the verdicts on the old and on the new model, and the words that violate it."""

    text: str
    old: Outcome
    new: Outcome
    old_word: Word | None = None
    new_word: Word | None = None

    @property
    def changed(self) -> bool:
        return self.old is not self.new


class Comparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Two models compared: the required relation of the new one to the old one, and their answers.

    Such a verdict is about the model that accepts the words on which the two break the relation, and about the property
    that there are none. ``old_said`` and ``new_said`` are their answers to each prefix of the counterexample, the empty
    word first: one of ``labels`` each.
    """

    relation: Relation
    labels: tuple[str, ...]
    by_label: bool = False  # by labels, not by accept and reject
    old: str | None = None  # the names that the user gave them
    new: str | None = None
    old_said: tuple[str, ...] | None = None
    new_said: tuple[str, ...] | None = None
    properties: tuple[PropertyChange, ...] = ()

    def sentence(self, scope: str = "") -> str:
        """The property in words, without capital and full stop; ``scope`` names the words that count."""
        return {
            Relation.EQUAL: f"the two models answer every word{scope} alike",
            Relation.SUBSET: f"every word{scope} that the new model accepts is accepted by the old one",
            Relation.SUPERSET: f"every word{scope} that the old model accepts is accepted by the new one",
        }[self.relation]
