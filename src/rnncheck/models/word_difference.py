"""Two models side by side, as one: it says yes to the words on which they answer differently.

Both read a word together, so that the one model's states are the pairs of theirs. Its score is the distance of the
nearer of the two from its decision: positive where they differ, negative where they agree, and near 0 where one of them
is about to change its mind. Searches that look for a high score therefore look where a difference is near.
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
    SteppedLabels,
    SteppedSide,
    SteppedYesNo,
    WholeLabels,
    WholeSide,
    WholeYesNo,
    yes_or_no,
)
from rnncheck.relations import Relation
from rnncheck.words import Alphabet, Codes, IntArray, WordBatch, encode_batch, letter_text

DifferenceModel: TypeAlias = "WordDifference | SteppingDifference"


def difference(old: Model, new: Model, relation: Relation = Relation.EQUAL, *, labels: bool = True) -> DifferenceModel:
    """The model that says yes where ``new`` and ``old`` break the relation; it steps if both do.

    With ``equal`` they break it where they answer differently. Networks with several labels are compared by what they
    say, unless ``labels`` is false: then, as always with the other relations, by the label that means yes.
    """
    by_label = relation is Relation.EQUAL and labels and None not in (old.label_names, new.label_names)
    if isinstance(old, SteppingModel) and isinstance(new, SteppingModel):
        if by_label:
            first, second = LabelledNetwork.of(old), LabelledNetwork.of(new)
            return SteppingDifference(SteppedLabels(first), SteppedLabels(second), relation)
        return SteppingDifference(SteppedYesNo(old), SteppedYesNo(new), relation)
    side = WholeLabels if by_label else WholeYesNo
    return WordDifference(side(old), side(new), relation)


class _Pair:
    """What two models have in common, whichever way they are asked."""

    def __init__(
        self, old: SteppedSide | WholeSide, new: SteppedSide | WholeSide, relation: Relation, empty: tuple[int, int]
    ) -> None:
        """``empty`` is what each of the two says of the empty word."""
        self.old, self.new, self.relation = old.model, new.model, relation
        self.by_label = isinstance(old, SteppedLabels | WholeLabels)
        self.alphabet: Alphabet = self.old.alphabet
        self.codes = _places("letter", self.alphabet, self.new.alphabet, self.alphabet, self.new.alphabet)
        # UNLABELLED is the last position of all.
        self._label_codes = np.append(_places("label", new.labels, old.labels, old.labels, new.labels), UNLABELLED)
        self.labels = with_no_label(old.labels) if UNLABELLED in empty else old.labels

    @property
    def max_length(self) -> int | None:
        longest = [model.max_length for model in (self.old, self.new) if model.max_length is not None]
        return min(longest, default=None)

    def translated(self, words: WordBatch) -> WordBatch:
        """Words of the old model's letter positions in the new one's."""
        return WordBatch(self.codes[words.codes].astype(words.codes.dtype), words.offsets)

    def new_codes(self, codes: Codes) -> Codes:
        return tuple(self.codes[list(codes)].tolist())

    def as_old(self, answers: Answers) -> Answers:
        """What the new one says, in the old one's numbers of labels."""
        return self._label_codes[answers]

    def scores(self, old: tuple[Answers, Scores], new: tuple[Answers, Scores]) -> Scores:
        """How far a word is from being answered alike, above 0 where it breaks the relation."""
        if self.relation is Relation.EQUAL:
            nearer = np.minimum(old[1], new[1])
            return np.asarray(np.where(old[0] != self.as_old(new[0]), nearer, -nearer))
        signed_old, signed_new = (np.where(answers, leads, -leads) for answers, leads in (old, new))
        if self.relation is Relation.SUBSET:
            return np.asarray(np.minimum(signed_new, -signed_old))
        return np.asarray(np.minimum(signed_old, -signed_new))

    def broken(self, old: Answers, new: Answers) -> Mask:
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
        return f"{how}; the old one {each[0]}, the new one {each[1]}"

    def identity(self) -> str:
        return digest_of("difference", self.relation.value, self.labels, self.old.identity(), self.new.identity())


class WordDifference(Model):
    """Two models, of which one at least is asked for whole words."""

    def __init__(self, old: WholeSide, new: WholeSide, relation: Relation) -> None:
        self._old, self._new = old, new
        self.pair = _Pair(old, new, relation, (old.reference(()), new.reference(())))
        self.by_label = self.pair.by_label
        self.alphabet, self.max_length = self.pair.alphabet, self.pair.max_length

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        batch = encode_batch(self.alphabet, words)
        return self.pair.broken(self._old.answers(batch), self._new.answers(self.pair.translated(batch)))

    def scores_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Scores | None:
        batch = encode_batch(self.alphabet, words)
        old, new = self._old.read(batch), self._new.read(self.pair.translated(batch))
        return None if old is None or new is None else self.pair.scores(old, new)

    def reference_answer(self, codes: Codes) -> bool:
        return bool(self.pair.broken(*map(np.array, self._said(codes))))

    def said(self, codes: Codes) -> tuple[int, int]:
        """What each of the two says of a word, by its own reference; both as positions in ``pair.labels``."""
        old, new = self._said(codes)
        return old, int(self.pair.as_old(np.array(new)))

    def _said(self, codes: Codes) -> tuple[int, int]:
        """What each says, in its own numbers of labels."""
        return self._old.reference(codes), self._new.reference(self.pair.new_codes(codes))

    def describe(self) -> Mapping[str, Any]:
        return {**self.pair.describe(), "queries": self.pair.queries("each word put to both")}

    def identity(self) -> str:
        return self.pair.identity()

    def by_reference(self) -> Model:
        if self.by_label:
            return ByReference(self)
        old, new = self.pair.old.by_reference(), self.pair.new.by_reference()
        same = old is self.pair.old and new is self.pair.new
        return self if same else difference(old, new, self.pair.relation, labels=False)


class SteppingDifference(SteppingModel):
    """Two stepping models that read every word together."""

    def __init__(self, old: SteppedSide, new: SteppedSide, relation: Relation) -> None:
        self._old, self._new = old, new
        self.pair = _Pair(old, new, relation, (old.empty[0], new.empty[0]))
        self.by_label = self.pair.by_label
        self.alphabet, self.max_length = self.pair.alphabet, self.pair.max_length
        self.margin = max(old.model.margin, new.model.margin)
        two, three = ((old.model.initial(rows), new.model.initial(rows)) for rows in (2, 3))
        self._packing = Packing(two, three)
        (says_old, far_old), (says_new, far_new) = old.empty, new.empty
        self.accepts_empty = bool(self.pair.broken(np.array(says_old), np.array(says_new)))
        first, second = ((np.array(says), np.array(far)) for says, far in ((says_old, far_old), (says_new, far_new)))
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
        return self.pair.scores(old, self._new.along(self.pair.translated(words), lambda rows: tick(0)))

    def reference_answer(self, codes: Codes) -> bool:
        return bool(self.pair.broken(*map(np.array, self._said(codes))))

    def said(self, codes: Codes) -> tuple[int, int]:
        """What each of the two says of a word, by its own reference; both as positions in ``pair.labels``."""
        old, new = self._said(codes)
        return old, int(self.pair.as_old(np.array(new)))

    def _said(self, codes: Codes) -> tuple[int, int]:
        """What each says, in its own numbers of labels."""
        return self._old.reference(codes), self._new.reference(self.pair.new_codes(codes))

    def reference_score(self, codes: Codes) -> float | None:
        if self.by_label:
            return None  # the references of labels tell no distance
        old = self.pair.old.reference_score(codes)
        new = self.pair.new.reference_score(self.pair.new_codes(codes))
        if old is None or new is None:
            return None
        return float(self.pair.scores(yes_or_no(np.array(old)), yes_or_no(np.array(new))))

    def describe(self) -> Mapping[str, Any]:
        return {**self.pair.describe(), "queries": self.pair.queries("both read every word together"),
                "margin": self.margin}  # fmt: skip

    def identity(self) -> str:
        return self.pair.identity()

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
    """Where each of these stands among those; an InputError where the old and the new model's are not the same."""
    odd = sorted(set(old) ^ set(new))
    if odd:
        (owner, theirs), (other, others) = (
            (("old", old), ("new", new)) if odd[0] in old else (("new", new), ("old", old))
        )
        raise InputError(
            f"the {what} {short_repr(odd[0])} is one of the {owner} model's ({_some(theirs)}) and none of the {other} "
            f"model's ({_some(others)}); two models are compared over the same {what}s"
        )
    place = {name: position for position, name in enumerate(among)}
    return np.array([place[name] for name in of], dtype=np.int64)


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(letter_text, names[:8])) + (f", … {len(names)} in all" if len(names) > 8 else "")
