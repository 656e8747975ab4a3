"""Your own words: labelled or not, split into those to train on and those to measure with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rnncheck.errors import InputError, short_repr
from rnncheck.repairs.requirements import UNKNOWN, Requirement, contradictions
from rnncheck.training.datasets import LabelledWords
from rnncheck.training.labelled_files import read_labelled_words
from rnncheck.word_files import USUAL, Sequences, WordFormat, content_lines, is_table, read_rows, read_sequences
from rnncheck.words import Alphabet, IntArray, Word, WordBatch, format_word

_SHOWN = 5  # words that contradict a property
_HELD_OUT = 0.2  # the share of the words to select by (half of it) and to measure with (the other half)

OwnWords = LabelledWords | Sequences | Iterable[Iterable[str]]


@dataclass(frozen=True, eq=False)
class Collection:
    """Distinct words, each with its label, or UNKNOWN without one."""

    words: WordBatch
    answers: IntArray
    source: str

    @property
    def labelled(self) -> bool:
        return bool((self.answers != UNKNOWN).any())

    def __len__(self) -> int:
        return len(self.words)

    def sha256(self) -> str:
        """A digest of words and labels."""
        digest = hashlib.sha256()
        for array in (self.words.codes, self.words.offsets, self.answers):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def split(self, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
        """Positions to train on, to select by and to measure with, at random."""
        order = rng.permutation(len(self.words))
        held = int(_HELD_OUT * len(order)) // 2
        return np.sort(order[2 * held :]), np.sort(order[:held]), np.sort(order[held : 2 * held])


def read_own_words(path: Path, alphabet: Alphabet, form: WordFormat = USUAL) -> LabelledWords | Sequences:
    """The words of a file, with labels if it has them.

    A label comes before a tab, or is in a column (.csv) or field (.jsonl) called label or class, or as ``form`` says.
    """
    if is_table(path, form):
        labelled = any(row.label for row in read_rows(path, form))
    else:
        labelled = any("\t" in text for _, text in content_lines(path))
    return (read_labelled_words if labelled else read_sequences)(path, alphabet, form)


def collect_words(words: OwnWords | None, alphabet: Alphabet, labels: Sequence[str]) -> Collection:
    """The words over the model's alphabet, each once, and their labels as positions among the model's."""
    if words is None:
        return Collection(WordBatch.from_codes([]), np.zeros(0, dtype=np.int64), "")
    if isinstance(words, LabelledWords):
        unknown = next((label for label in words.labels if label not in labels), None)
        if unknown is not None:
            raise InputError(
                f"the words are labelled {short_repr(unknown)}, and the model's labels are {', '.join(labels)}; "
                "use the model's labels"
            )
        position = np.array([labels.index(label) for label in words.labels])
        codes = [alphabet.encode(words.alphabet.decode(word)) for word in words.words]
        return Collection(WordBatch.from_codes(codes), position[words.answers], "the labelled words")
    plain = words.words if isinstance(words, Sequences) else words
    source = words.source if isinstance(words, Sequences) else "the words given"
    codes = list(dict.fromkeys(alphabet.encode(word) for word in plain))
    return Collection(WordBatch.from_codes(codes), np.full(len(codes), UNKNOWN), source)


def check_labels(
    own: Collection, requirements: Sequence[Requirement], alphabet: Alphabet, labels: Sequence[str], yes: int
) -> None:
    """Raise an error if labels contradict a property: the user must choose between them."""
    rows = np.flatnonzero(own.answers != UNKNOWN)
    if not len(rows):
        return
    words, accepted = own.words.take(rows), own.answers[rows] == yes
    found = contradictions([each for each in requirements if not each.about_labels], words, accepted)
    if not found:
        return
    name, places = next(iter(found.items()))
    shown = sorted((words[place] for place in places), key=lambda word: (len(word), word))[:_SHOWN]
    label = {words[place]: labels[own.answers[rows[place]]] for place in places}
    examples = "; ".join(f"{_text(alphabet.decode(word))} is labelled {label[word]}" for word in shown)
    more = f"; and {len(places) - len(shown)} more" if len(places) > len(shown) else ""
    raise InputError(
        f"the property {short_repr(name)} contradicts {len(places)} of {len(rows)} labels: {examples}{more}. Nothing "
        "was changed; correct the property, or the labels, or leave these words out"
    )


def _text(word: Word) -> str:
    return short_repr(format_word(word), 120)
