"""Questions other than "does R satisfy A": about the labels that a network says, and about two models side by side."""

from __future__ import annotations

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.relations import Relation
from rnncheck.verdict.facts import Outcome
from rnncheck.words import Word


class LabelQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A specification over letters and labels: its text, and its automaton over the pairs of both.

    Such a verdict is about the model that says yes to the words along which the network says what it should, and about
    the property of all words. ``said`` are the labels after each letter of the counterexample.
    """

    text: str
    labels: tuple[str, ...]
    automaton: DFA
    said: tuple[str, ...] | None = None


class PropertyChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What became of one property: the verdicts on the old and on the new model, and the words that break it."""

    text: str
    old: Outcome
    new: Outcome
    old_word: Word | None = None
    new_word: Word | None = None

    @property
    def changed(self) -> bool:
        return self.old is not self.new


class Comparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Two models side by side: how the new one is to stand to the old one, and what each says.

    Such a verdict is about the model that says yes to the words on which the two break the relation, and about the
    property that there are none. ``old_said`` and ``new_said`` are what they say of each prefix of the counterexample,
    the empty word first: one of ``labels``.
    """

    relation: Relation
    labels: tuple[str, ...]
    by_label: bool = False  # by which of several labels they say, and not by yes and no
    old: str | None = None  # what a person calls them
    new: str | None = None
    old_said: tuple[str, ...] | None = None
    new_said: tuple[str, ...] | None = None
    properties: tuple[PropertyChange, ...] = ()

    def sentence(self) -> str:
        """What was to be shown, without capital and full stop."""
        return {
            Relation.EQUAL: "the two models answer every word alike",
            Relation.SUBSET: "every word that the new model accepts is accepted by the old one",
            Relation.SUPERSET: "every word that the old model accepts is accepted by the new one",
        }[self.relation]
