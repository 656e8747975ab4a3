"""Two models side by side, as one model that accepts the words on which they answer differently.

Both read a word together, so its states are pairs of theirs. Its score is the smaller of their distances from the
threshold: positive where they differ, negative where they agree, and near 0 where one of them is about to change its
answer. Searches for a high score therefore look where a difference is near.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.errors import InputError, short_repr
from rnncheck.models.fingerprint import digest_of
from rnncheck.models.foreign.steps.packing import Packing
from rnncheck.models.labelled import UNLABELLED, LabelledNetwork, with_no_label
from rnncheck.models.protocol import (
    ByReference,
    Letters,
    Model,
    Scores,
    States,
    SteppingModel,
    Tick,
    check_letters,
    no_tick,
)
from rnncheck.models.sides import (
    Answers,
    BlackBoxLabels,
    BlackBoxSide,
    BlackBoxYesNo,
    SteppedLabels,
    SteppedSide,
    SteppedYesNo,
    yes_or_no,
)
from rnncheck.relations import Relation
from rnncheck.words import Alphabet, Codes, IntArray, WordBatch, encode_batch, letter_text

DifferenceModel: TypeAlias = "WordDifference | SteppingDifference"


def difference(old: Model, new: Model, relation: Relation = Relation.EQUAL, *, labels: bool = True) -> DifferenceModel:
    """The model that accepts the words on which ``new`` and ``old`` violate the relation; stateful if both are.

    ``equal`` is violated where the answers differ. Networks with several labels are compared by their labels, unless
    ``labels`` is false: then, as always with the other relations, only the accepting label counts.
    """
    by_label = relation is Relation.EQUAL and labels and None not in (old.label_names, new.label_names)
    if isinstance(old, SteppingModel) and isinstance(new, SteppingModel):
        if by_label:
            first, second = LabelledNetwork.of(old), LabelledNetwork.of(new)
            return SteppingDifference(SteppedLabels(first), SteppedLabels(second), relation)
        return SteppingDifference(SteppedYesNo(old), SteppedYesNo(new), relation)
    side = BlackBoxLabels if by_label else BlackBoxYesNo
    return WordDifference(side(old), side(new), relation)


class _Pair:
    """Two models over the same letters and labels, stateful or not."""

    def __init__(
        self,
        old: SteppedSide | BlackBoxSide,
        new: SteppedSide | BlackBoxSide,
        relation: Relation,
        empty: tuple[int, int],
    ) -> None:
        """``empty`` has the answer of each to the empty word."""
        self.old, self.new, self.relation = old.model, new.model, relation
        self.by_label = isinstance(old, SteppedLabels | BlackBoxLabels)
        self.alphabet: Alphabet = self.old.alphabet
        self.codes = _places("letter", self.alphabet, self.new.alphabet, self.alphabet, self.new.alphabet)
        # UNLABELLED is the last position of all.
        self._label_codes = np.append(_places("label", new.labels, old.labels, old.labels, new.labels), UNLABELLED)
        self.labels = with_no_label(old.labels) if UNLABELLED in empty else old.labels

    @property
    def max_length(self) -> int | None:
        longest = [model.max_length for model in (self.old, self.new) if model.max_length is not None]
        return min(longest, default=None)

    def translate(self, words: WordBatch) -> WordBatch:
        """Words in the new model's letter positions, from those of the old one."""
        return WordBatch(self.codes[words.codes].astype(words.codes.dtype), words.offsets)

    def new_codes(self, codes: Codes) -> Codes:
        return tuple(self.codes[list(codes)].tolist())

    def as_old(self, answers: Answers) -> Answers:
        """Answers of the new model as positions among the old one's labels."""
        return self._label_codes[answers]

    def scores(self, old: tuple[Answers, Scores], new: tuple[Answers, Scores]) -> Scores:
        """The distance of a word from satisfying the relation, above 0 where it violates it."""
        if self.relation is Relation.EQUAL:
            nearer = np.minimum(old[1], new[1])
            return np.asarray(np.where(old[0] != self.as_old(new[0]), nearer, -nearer))
        signed_old, signed_new = (np.where(answers, leads, -leads) for answers, leads in (old, new))
        if self.relation is Relation.SUBSET:
            return np.asarray(np.minimum(signed_new, -signed_old))
        return np.asarray(np.minimum(signed_old, -signed_new))

    def violated(self, old: Answers, new: Answers) -> Mask:
        if self.relation is Relation.EQUAL:
            return np.asarray(old != self.as_old(new))
        yes_old, yes_new = old.astype(np.bool_), new.astype(np.bool_)
        return yes_new & ~yes_old if self.relation is Relation.SUBSET else yes_old & ~yes_new

    def describe(self) -> dict[str, Any]:
        old, new = self.old.describe(), self.new.describe()
        known = [facts.get("sha256") for facts in (old, new)]
        both = {} if None in known else {"sha256": digest_of("two models", self.relation.value, *known)}
        return {
            "kind": "two models side by side",
            "letters": len(self.alphabet),
            "reference": "each model's own reference, on the word alone",
            **both,
            "old": dict(old),
            "new": dict(new),
        }

    def queries(self, how: str) -> str:
        each = [str(model.describe().get("queries")) for model in (self.old, self.new)]
        return f"{how}; the old one: {each[0]}; the new one: {each[1]}"

    def fingerprint(self) -> str:
        return digest_of("difference", self.relation.value, self.labels, self.old.fingerprint(), self.new.fingerprint())


class WordDifference(Model):
    """Two models of which at least one is a black box."""

    def __init__(self, old: BlackBoxSide, new: BlackBoxSide, relation: Relation) -> None:
        self._old, self._new = old, new
        self.pair = _Pair(old, new, relation, (old.reference(()), new.reference(())))
        self.by_label = self.pair.by_label
        self.alphabet, self.max_length = self.pair.alphabet, self.pair.max_length

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        batch = encode_batch(self.alphabet, words)
        return self.pair.violated(self._old.answers(batch), self._new.answers(self.pair.translate(batch)))

    def scores_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Scores | None:
        batch = encode_batch(self.alphabet, words)
        old, new = self._old.read(batch), self._new.read(self.pair.translate(batch))
        return None if old is None or new is None else self.pair.scores(old, new)

    def reference_answer(self, codes: Codes) -> bool:
        return bool(self.pair.violated(*map(np.array, self._own_answers(codes))))

    def answers_of_both(self, codes: Codes) -> tuple[int, int]:
        """The answers of both to a word, each by its own reference, as positions in ``pair.labels``."""
        old, new = self._own_answers(codes)
        return old, int(self.pair.as_old(np.array(new)))

    def _own_answers(self, codes: Codes) -> tuple[int, int]:
        """The answers of both, each as a position among its own labels."""
        return self._old.reference(codes), self._new.reference(self.pair.new_codes(codes))

    def describe(self) -> Mapping[str, Any]:
        return {**self.pair.describe(), "queries": self.pair.queries("both are queried with each word")}

    def fingerprint(self) -> str:
        return self.pair.fingerprint()

    def by_reference(self) -> Model:
        if self.by_label:
            return ByReference(self)
        old, new = self.pair.old.by_reference(), self.pair.new.by_reference()
        same = old is self.pair.old and new is self.pair.new
        return self if same else difference(old, new, self.pair.relation, labels=False)


class SteppingDifference(SteppingModel):
    """Two stateful models that read every word together."""

    def __init__(self, old: SteppedSide, new: SteppedSide, relation: Relation) -> None:
        self._old, self._new = old, new
        self.pair = _Pair(old, new, relation, (old.empty[0], new.empty[0]))
        self.by_label = self.pair.by_label
        self.alphabet, self.max_length = self.pair.alphabet, self.pair.max_length
        self.margin = max(old.model.margin, new.model.margin)
        two, three = ((old.model.initial(rows), new.model.initial(rows)) for rows in (2, 3))
        self._packing = Packing(two, three)
        self.accepts_empty = bool(self.pair.violated(np.array(old.empty[0]), np.array(new.empty[0])))
        first, second = ((np.array(answer), np.array(lead)) for answer, lead in (old.empty, new.empty))
        self.empty_score = float(self.pair.scores(first, second))

    def initial(self, rows: int) -> States:
        return self._packing.pack((self._old.model.initial(rows), self._new.model.initial(rows)), rows)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        letters = np.asarray(letters)
        old, new = self._packing.unpack(states if rows is None else states[rows])
        check_letters(letters, self.alphabet)
        after = self._old.model.step(old, letters), self._new.model.step(new, self.pair.codes[letters])
        return self._packing.pack(after, len(letters))

    def scores(self, states: States) -> Scores:
        old, new = self._packing.unpack(states)
        return self.pair.scores(self._old.read(old), self._new.read(new))

    def prefix_scores(self, words: WordBatch, tick: Tick = no_tick) -> Scores:
        """Each model reads the words its own way; a step of both counts as one."""
        words.check_codes(len(self.alphabet))
        old = self._old.along(words, tick)
        return self.pair.scores(old, self._new.along(self.pair.translate(words), lambda rows: tick(0)))

    def reference_answer(self, codes: Codes) -> bool:
        return bool(self.pair.violated(*map(np.array, self._own_answers(codes))))

    def answers_of_both(self, codes: Codes) -> tuple[int, int]:
        """The answers of both to a word, each by its own reference, as positions in ``pair.labels``."""
        old, new = self._own_answers(codes)
        return old, int(self.pair.as_old(np.array(new)))

    def _own_answers(self, codes: Codes) -> tuple[int, int]:
        """The answers of both, each as a position among its own labels."""
        return self._old.reference(codes), self._new.reference(self.pair.new_codes(codes))

    def reference_score(self, codes: Codes) -> float | None:
        if self.by_label:
            return None  # the references of labels give no distances
        old = self.pair.old.reference_score(codes)
        new = self.pair.new.reference_score(self.pair.new_codes(codes))
        if old is None or new is None:
            return None
        return float(self.pair.scores(yes_or_no(np.array(old)), yes_or_no(np.array(new))))

    def describe(self) -> Mapping[str, Any]:
        return {**self.pair.describe(), "queries": self.pair.queries("both read every word together"),
                "margin": self.margin}  # fmt: skip

    def fingerprint(self) -> str:
        return self.pair.fingerprint()

    def by_reference(self) -> Model:
        old, new = self._old.by_reference(), self._new.by_reference()
        if old is self.pair.old and new is self.pair.new:
            return self
        if not self.by_label:
            return difference(old, new, self.pair.relation, labels=False)
        if isinstance(old, LabelledNetwork) and isinstance(new, LabelledNetwork):
            return SteppingDifference(SteppedLabels(old), SteppedLabels(new), self.pair.relation)
        return ByReference(self)


def _places(what: str, of: Sequence[str], among: Sequence[str], old: Sequence[str], new: Sequence[str]) -> IntArray:
    """The position of each of ``of`` in ``among``; an InputError if the old and the new model's are not the same."""
    odd = sorted(set(old) ^ set(new))
    if odd:
        (owner, theirs), (other, others) = (
            (("old", old), ("new", new)) if odd[0] in old else (("new", new), ("old", old))
        )
        raise InputError(
            f"the {what} {short_repr(odd[0])} belongs to the {owner} model ({_some(theirs)}) and not to the {other} "
            f"model ({_some(others)}); two models are compared over the same {what}s"
        )
    place = {name: position for position, name in enumerate(among)}
    return np.array([place[name] for name in of], dtype=np.int64)


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(letter_text, names[:8])) + (f", … {len(names)} in all" if len(names) > 8 else "")
