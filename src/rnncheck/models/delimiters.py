"""Words between markers: a model that reads them before and after every word, asked for the words alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.errors import InputError, short_repr
from rnncheck.models.black_box import WholeWords
from rnncheck.models.fingerprint import digest_of
from rnncheck.models.protocol import Labeller, Letters, Model, Scores, States, SteppingModel
from rnncheck.words import Alphabet, Codes, IntArray, WordBatch, encode_batch, format_word

Marker: TypeAlias = str | Iterable[str] | None  # a letter, or several, one after another


def between_markers(model: Model, before: Marker, after: Marker) -> Model:
    """The model of words that ``model`` reads between these markers, which are letters of its alphabet.

    The letters of words are the others. It steps if the model does: what stands before is read once, and what stands
    after is read for an answer, in a copy of the state, from which the word goes on undisturbed.
    """
    markers = _Markers(model.alphabet, marker_letters(before), marker_letters(after))
    return SteppedBetween(model, markers) if isinstance(model, SteppingModel) else WholeBetween(model, markers)


def marker_letters(marker: Marker) -> tuple[str, ...]:
    """The letters of a marker, one after another."""
    return () if marker is None else (marker,) if isinstance(marker, str) else tuple(marker)


def letters_read(model: Model) -> Alphabet:
    """The letters that a model reads, with the markers around its words."""
    return model.inner.alphabet if isinstance(model, _Between) else model.alphabet


class _Markers:
    """The letters around a word, and words with them as words of the model."""

    def __init__(self, letters: Alphabet, before: tuple[str, ...], after: tuple[str, ...]) -> None:
        for letter in (*before, *after):
            if letter not in letters.letters:
                raise InputError(
                    f"the marker {short_repr(letter)} is not among the model's letters {short_repr(str(letters))}; "
                    "give the alphabet with the markers, in the order of the model's numbers (--alphabet)"
                )
        self.before, self.after = letters.encode(before), letters.encode(after)
        rest = [letter for letter in letters if letter not in (*before, *after)]
        if not rest:
            raise InputError("every letter of the alphabet is a marker; a word needs letters of its own")
        self.alphabet = Alphabet(rest)
        self.places = np.array(letters.encode(rest), dtype=np.int64)
        self.text = f"{format_word(before)} … {format_word(after)}" if before and after else (
            f"{format_word(before)} …" if before else f"… {format_word(after)}"
        )  # fmt: skip

    def around(self, codes: Codes) -> Codes:
        return (*self.before, *(int(self.places[code]) for code in codes), *self.after)

    def around_all(self, words: WordBatch) -> WordBatch:
        return WordBatch.from_codes([self.around(word) for word in words])

    def told(self, inner: Model, more: str) -> dict[str, Any]:
        """The facts of the model; what it says of the empty word is not about ours."""
        ours = {"letters": len(self.alphabet), "words": f"between markers: {self.text}{more}"}
        facts = without_the_empty_word(inner.describe()) | ours
        if facts.get("sha256") is not None:  # the same network between other markers answers otherwise
            facts["sha256"] = digest_of("between markers", facts["sha256"], self.identity())
        return facts

    def identity(self) -> list[object]:
        return [list(self.alphabet), list(self.before), list(self.after)]


def without_the_empty_word(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a model but for what is said of the empty word."""
    kept = {name: value for name, value in facts.items() if name != "empty_word"}
    if isinstance(kept.get("facts"), Mapping):
        kept["facts"] = without_the_empty_word(kept["facts"])
    for name in ("notes", "assumptions"):
        if name in kept:
            kept[name] = [note for note in kept[name] if "empty word" not in note]
    return kept


class _Between(Model):
    """What both kinds have in common; ``more`` is to be known of how they read."""

    more = ""

    def __init__(self, inner: Model, markers: _Markers) -> None:
        self.inner = inner
        self.alphabet = markers.alphabet
        self.label_names = inner.label_names
        self.margin: float = getattr(inner, "margin", 0.0)
        self._markers = markers

    def saying_yes_for(self, label: int) -> Model:
        other = type(self)(self.inner.saying_yes_for(label), self._markers)
        other.max_length = self.max_length
        return other

    def reference_answer(self, codes: Codes) -> bool:
        return self.inner.reference_answer(self._markers.around(codes))

    def reference_score(self, codes: Codes) -> float | None:
        return self.inner.reference_score(self._markers.around(codes))

    def describe(self) -> Mapping[str, Any]:
        return self._markers.told(self.inner, self.more)

    def identity(self) -> str:
        return digest_of("between markers", self.inner.identity(), self._markers.identity())


class WholeBetween(_Between):
    """Of a model that is asked for whole words."""

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        return self.inner.accepts_batch(self._markers.around_all(encode_batch(self.alphabet, words)))

    def scores_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Scores | None:
        return self.inner.scores_batch(self._markers.around_all(encode_batch(self.alphabet, words)))

    def label_scores_batch(self, words: WordBatch) -> Scores:
        """As that of the inner model, which must have several labels."""
        assert isinstance(self.inner, WholeWords | WholeBetween)
        return self.inner.label_scores_batch(self._markers.around_all(words))


class SteppedBetween(_Between, SteppingModel):
    """Of a stepping model."""

    more = "; reading these is not counted as steps"
    inner: SteppingModel

    def __init__(self, inner: SteppingModel, markers: _Markers) -> None:
        super().__init__(inner, markers)
        alone = WordBatch.from_codes([markers.around(())])
        self.accepts_empty = bool(inner.accepts_batch(alone)[0])
        self.empty_score = float(inner.scores_batch(alone)[0])

    def initial(self, rows: int) -> States:
        return self._read(self.inner.initial(rows), self._markers.before)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        return self.inner.step(states, self._markers.places[letters], rows)

    def scores(self, states: States) -> Scores:
        return self.inner.scores(self._read(states, self._markers.after))

    def labeller(self, *, together: bool = False) -> Labeller | None:
        inner = self.inner.labeller(together=together)
        return None if inner is None else lambda words: inner(self._markers.around_all(words))

    def _read(self, states: States, marker: Codes) -> States:
        for letter in marker:
            states = self.inner.step(states, np.full(len(states), letter, dtype=np.int64))
        return states
