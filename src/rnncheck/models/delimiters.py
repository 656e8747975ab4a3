"""Words between delimiters: a model that reads delimiters around every word, as a model of the words alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.errors import InputError, short_repr
from rnncheck.models.black_box import BlackBoxModel
from rnncheck.models.fingerprint import digest_of
from rnncheck.models.protocol import Labeller, Letters, Model, Scores, States, SteppingModel
from rnncheck.words import Alphabet, Codes, IntArray, WordBatch, encode_batch, format_word

Delimiter: TypeAlias = str | Iterable[str] | None  # a letter, or several, one after another


def with_delimiters(model: Model, before: Delimiter, after: Delimiter) -> Model:
    """The model of the words that ``model`` reads between these delimiters, which are letters of its alphabet.

    Words are made of the other letters. The result is stateful if the model is: the letters before a word are read
    once, and those after it are read for each answer, in a copy of the state, so that the word can be continued.
    """
    delimiters = _Delimiters(model.alphabet, delimiter_letters(before), delimiter_letters(after))
    return (
        DelimitedSteppingModel(model, delimiters)
        if isinstance(model, SteppingModel)
        else DelimitedBlackBox(model, delimiters)
    )


def delimiter_letters(delimiter: Delimiter) -> tuple[str, ...]:
    """The letters of a delimiter, one after another."""
    return () if delimiter is None else (delimiter,) if isinstance(delimiter, str) else tuple(delimiter)


def letters_read(model: Model) -> Alphabet:
    """The letters that a model reads, delimiters included."""
    return model.inner.alphabet if isinstance(model, _DelimitedModel) else model.alphabet


class _Delimiters:
    """The letters around a word, and how a word becomes a word of the inner model."""

    def __init__(self, letters: Alphabet, before: tuple[str, ...], after: tuple[str, ...]) -> None:
        for letter in (*before, *after):
            if letter not in letters.letters:
                raise InputError(
                    f"the delimiter {short_repr(letter)} is not among the model's letters {short_repr(str(letters))}; "
                    "give the alphabet with the delimiters, in the order of the model's numbers (--alphabet)"
                )
        self.before, self.after = letters.encode(before), letters.encode(after)
        rest = [letter for letter in letters if letter not in (*before, *after)]
        if not rest:
            raise InputError("every letter of the alphabet is a delimiter; a word needs letters of its own")
        self.alphabet = Alphabet(rest)
        self.places = np.array(letters.encode(rest), dtype=np.int64)
        self.text = f"{format_word(before)} … {format_word(after)}" if before and after else (
            f"{format_word(before)} …" if before else f"… {format_word(after)}"
        )  # fmt: skip

    def surround(self, codes: Codes) -> Codes:
        return (*self.before, *(int(self.places[code]) for code in codes), *self.after)

    def surround_all(self, words: WordBatch) -> WordBatch:
        return WordBatch.from_codes([self.surround(word) for word in words])

    def facts(self, inner: Model, note: str) -> dict[str, Any]:
        """The facts of the model, without those on its empty word, which is not ours."""
        ours = {"letters": len(self.alphabet), "words": f"between delimiters: {self.text}{note}"}
        facts = without_the_empty_word(inner.describe()) | ours
        if facts.get("sha256") is not None:  # the same network between other delimiters is another model
            facts["sha256"] = digest_of("between markers", facts["sha256"], self.fingerprint())
        return facts

    def fingerprint(self) -> list[object]:
        return [list(self.alphabet), list(self.before), list(self.after)]


def without_the_empty_word(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a model, except those about the empty word."""
    kept = {name: value for name, value in facts.items() if name != "empty_word"}
    if isinstance(kept.get("facts"), Mapping):
        kept["facts"] = without_the_empty_word(kept["facts"])
    for name in ("notes", "assumptions"):
        if name in kept:
            kept[name] = [note for note in kept[name] if "empty word" not in note]
    return kept


class _DelimitedModel(Model):
    """What stateful and black-box models have in common; ``note`` says how the delimiters are read."""

    note = ""

    def __init__(self, inner: Model, delimiters: _Delimiters) -> None:
        self.inner = inner
        self.alphabet = delimiters.alphabet
        self.label_names = inner.label_names
        self.margin: float = getattr(inner, "margin", 0.0)
        self._delimiters = delimiters

    def for_label(self, label: int) -> Model:
        other = type(self)(self.inner.for_label(label), self._delimiters)
        other.max_length = self.max_length
        return other

    def reference_answer(self, codes: Codes) -> bool:
        return self.inner.reference_answer(self._delimiters.surround(codes))

    def reference_score(self, codes: Codes) -> float | None:
        return self.inner.reference_score(self._delimiters.surround(codes))

    def describe(self) -> Mapping[str, Any]:
        return self._delimiters.facts(self.inner, self.note)

    def fingerprint(self) -> str:
        return digest_of("between markers", self.inner.fingerprint(), self._delimiters.fingerprint())


class DelimitedBlackBox(_DelimitedModel):
    """A black-box model between delimiters."""

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        return self.inner.accepts_batch(self._delimiters.surround_all(encode_batch(self.alphabet, words)))

    def scores_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Scores | None:
        return self.inner.scores_batch(self._delimiters.surround_all(encode_batch(self.alphabet, words)))

    def label_scores_batch(self, words: WordBatch) -> Scores:
        """The same as that of the inner model, which must have several labels."""
        assert isinstance(self.inner, BlackBoxModel | DelimitedBlackBox)
        return self.inner.label_scores_batch(self._delimiters.surround_all(words))


class DelimitedSteppingModel(_DelimitedModel, SteppingModel):
    """A stateful model between delimiters."""

    note = "; reading these is not counted as steps"
    inner: SteppingModel

    def __init__(self, inner: SteppingModel, delimiters: _Delimiters) -> None:
        super().__init__(inner, delimiters)
        alone = WordBatch.from_codes([delimiters.surround(())])
        self.accepts_empty = bool(inner.accepts_batch(alone)[0])
        self.empty_score = float(inner.scores_batch(alone)[0])

    def initial(self, rows: int) -> States:
        return self._read(self.inner.initial(rows), self._delimiters.before)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        return self.inner.step(states, self._delimiters.places[letters], rows)

    def scores(self, states: States) -> Scores:
        return self.inner.scores(self._read(states, self._delimiters.after))

    def labeller(self, *, together: bool = False) -> Labeller | None:
        inner = self.inner.labeller(together=together)
        return None if inner is None else lambda words: inner(self._delimiters.surround_all(words))

    def _read(self, states: States, delimiter: Codes) -> States:
        for letter in delimiter:
            states = self.inner.step(states, np.full(len(states), letter, dtype=np.int64))
        return states
