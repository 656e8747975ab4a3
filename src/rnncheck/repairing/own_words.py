"""A person's own words: labelled or not, split into those to learn from and those to measure with."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rnncheck.automata.moore import NO_YES
from rnncheck.errors import FormatError, InputError, short_repr
from rnncheck.repairing.requirements import UNKNOWN, Requirement, contradictions
from rnncheck.training.datasets import LabelledWords
from rnncheck.training.labelled_files import read_labelled_words
from rnncheck.word_files import Sequences, content_lines, read_sequences
from rnncheck.words import Alphabet, IntArray, Word, WordBatch, format_word

_SHOWN = 5  # words that contradict a property
_LABEL = "label"  # the name of a column, or of a field
_HELD_OUT = 0.2  # of the words, half of it to choose by and half to measure with

OwnWords = LabelledWords | Sequences | Iterable[Iterable[str]]


@dataclass(frozen=True, eq=False)
class Collection:
    """Distinct words, and the label of each where there are labels (UNKNOWN where not)."""

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
        """Positions to learn from, to choose by and to measure with, at random."""
        order = rng.permutation(len(self.words))
        held = int(_HELD_OUT * len(order)) // 2
        return np.sort(order[2 * held :]), np.sort(order[:held]), np.sort(order[held : 2 * held])


def read_own_words(path: Path, alphabet: Alphabet) -> LabelledWords | Sequences:
    """The words of a file: with labels where it has them, without otherwise.

    Labels stand before a tab, in a column called label (.csv), or in a field called label (.jsonl).
    """
    kind = path.suffix.lower()
    if kind not in (".csv", ".jsonl", ".ndjson"):
        first = next(iter(content_lines(path)), None)
        if first is not None and "\t" in first[1]:
            return read_labelled_words(path, alphabet)
    sequences = read_sequences(path, alphabet)
    labels = _column(path) if kind == ".csv" else _fields(path) if kind in (".jsonl", ".ndjson") else {}
    if not labels:
        return sequences
    missing = next((line for line in sequences.lines if line not in labels), None)
    if missing is not None:
        raise FormatError("there is no label here, and there is one elsewhere; give all, or none", str(path), missing)
    pairs = [(word, labels[line]) for word, line in zip(sequences.words, sequences.lines, strict=True)]
    try:
        return LabelledWords.from_pairs(pairs, alphabet)
    except InputError as error:
        raise FormatError(str(error), str(path)) from None


def _column(path: Path) -> dict[int, str]:
    """The label on each line of a CSV file; none where no column is called so."""
    lines = list(content_lines(path))
    rows = list(csv.reader((text for _, text in lines), skipinitialspace=True))
    names = [name.strip().lower() for name in rows[0]]
    if _LABEL not in names or not {"word", "sequence"} & set(names):
        return {}
    column = names.index(_LABEL)
    numbered = zip([line for line, _ in lines[1:]], rows[1:], strict=True)
    return {line: row[column].strip() for line, row in numbered if len(row) > column and row[column].strip()}


def _fields(path: Path) -> dict[int, str]:
    """The label on each line of a JSON Lines file."""
    found = {}
    for line, text in content_lines(path):
        label = value.get(_LABEL) if isinstance(value := json.loads(text), dict) else None
        if label is not None:
            found[line] = NO_YES[label] if isinstance(label, bool) else str(label)
    return found


def collected(words: OwnWords | None, alphabet: Alphabet, labels: Sequence[str]) -> Collection:
    """The words over the model's alphabet, each once, and their labels as positions among the model's."""
    if words is None:
        return Collection(WordBatch.from_codes([]), np.zeros(0, dtype=np.int64), "")
    if isinstance(words, LabelledWords):
        unknown = next((label for label in words.labels if label not in labels), None)
        if unknown is not None:
            raise InputError(
                f"the words are labelled {short_repr(unknown)}, and the model says {', '.join(labels)}; "
                "label them as it does"
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
    """Refuse to choose between a property and labels that contradict it: the person must."""
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
    told = "; ".join(f"{_text(alphabet.decode(word))} is labelled {label[word]}" for word in shown)
    more = f"; and {len(places) - len(shown)} more" if len(places) > len(shown) else ""
    raise InputError(
        f"the property {short_repr(name)} contradicts {len(places)} of {len(rows)} labels: {told}{more}. Nothing was "
        "changed; correct the property, or the labels, or leave these words out"
    )


def _text(word: Word) -> str:
    return short_repr(format_word(word), 120)
