r"""Labelled words as text.

One line per word: the label, a tab, the word in the text form of :mod:`rnncheck.words`. Empty lines and lines that
begin with ``#`` are skipped::

    # label  word
    yes	a b <book>
    no	ε

Labels ``0`` and ``1``, or ``no`` and ``yes``, are a yes/no classifier; any other names, one class each. A label that
could be misread is written in quotes, with the escapes of letters.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import numpy as np

from rnncheck.errors import ExpressionError, FormatError, InputError, short_repr
from rnncheck.runtime.files import write_atomically
from rnncheck.training.datasets import (
    Contradiction,
    LabelledWords,
    alphabet_of,
    first_of_each,
    majority_of_each,
    number_labels,
    times_of_each,
)
from rnncheck.word_files import USUAL, Row, WordFormat, content_lines, encode_line, is_table, read_rows
from rnncheck.words import Alphabet, WordBatch, format_word, quoted, read_quoted

Conflicts = Literal["error", "majority", "weight"]


def read_labelled_words(
    path: str | os.PathLike[str],
    alphabet: Alphabet | None = None,
    form: WordFormat = USUAL,
    *,
    conflicts: Conflicts = "error",
) -> LabelledWords:
    """Read a file of labelled words; without an alphabet the letters that occur are taken, sorted.

    A .csv, .tsv or .jsonl file has its labels in a column, or field, called label or class, or named by ``form``.
    Repetitions are dropped and counted. One word with two labels is an error, or (``majority``) has the label that it
    has most often; if two are equally frequent, it is dropped. With ``weight`` nothing is dropped: each line counts,
    so that a word is learned with each of its labels, as often as it has it. Any other problem is a FormatError that
    names the line.
    """
    source = os.fspath(path)
    rows = _labelled_rows(Path(path), form)
    if not rows:
        raise FormatError("there are no words in it; write one line per word: label, tab, word", source)
    names = [row.label or "" for row in rows]
    try:
        labels, answers = number_labels(names)
        alphabet = alphabet_of([row.word for row in rows]) if alphabet is None else alphabet
    except InputError as error:
        raise FormatError(str(error), source) from None
    codes = [encode_line(alphabet, row.word, source, row.line) for row in rows]
    if conflicts == "majority":
        kept, contradicting = majority_of_each(codes, answers)
        distinct = WordBatch.from_codes([codes[i] for i in kept])
        dropped = len(rows) - len(kept)
        return LabelledWords(alphabet, distinct, answers[kept], labels, duplicates=dropped, contradicting=contradicting)
    if conflicts == "weight":
        places, times = times_of_each(codes, answers, len(labels))
        distinct = WordBatch.from_codes([codes[i] for i in places])
        several = int((np.count_nonzero(times, axis=1) > 1).sum())
        return LabelledWords(alphabet, distinct, times.argmax(axis=1), labels, contradicting=several, times=times)
    first = first_of_each(codes, answers)
    if isinstance(first, Contradiction):
        one, other = rows[first.first], rows[first.second]
        raise FormatError(
            f"word {short_repr(format_word(other.word))} is labelled {short_repr(other.label)} here and "
            f"{short_repr(one.label)} on line {one.line}; keep one of them (train, not repair, can choose: "
            "--conflicts majority or weight)",
            source,
            other.line,
        )
    distinct = WordBatch.from_codes([codes[i] for i in first])
    return LabelledWords(alphabet, distinct, answers[first], labels, duplicates=len(rows) - len(first))


def _labelled_rows(path: Path, form: WordFormat) -> list[Row]:
    if is_table(path, form):
        rows = read_rows(path, form)
        for row in rows:
            if not row.label:
                raise FormatError(
                    "there is no label; name its column or field label, or say which it is (--label-column)",
                    str(path),
                    row.line,
                )
        return rows
    parts = [(number, *_parts(line, str(path), number)) for number, line in content_lines(path)]
    return [Row(number, form.word(text, str(path), number), name) for number, name, text in parts]


def write_labelled_words(words: LabelledWords, path: str | os.PathLike[str]) -> None:
    """Write a file that ``read_labelled_words`` reads as the same words with the same label names."""
    write_atomically(os.fspath(path), format_labelled_words(words))


def format_labelled_words(words: LabelledWords) -> str:
    """The text of such a file."""
    names = [_label_text(label) for label in words.labels]
    lines = [
        f"{names[answer]}\t{format_word(words.alphabet.decode(codes))}\n"
        for codes, answer in zip(words.words, words.answers.tolist(), strict=True)
    ]
    return "".join(lines)


def _parts(line: str, source: str, number: int) -> tuple[str, str]:
    """The label and the text of the word."""
    start = len(line) - len(line.lstrip(" "))
    if line[start] not in "'\"":
        name, tab, rest = line.partition("\t")
        name = name.strip()
        well_formed = bool(name and tab)
    else:
        try:
            name, end = read_quoted(line, start)
        except ExpressionError as error:
            raise FormatError(str(error), source, number) from None
        between, tab, rest = line[end:].partition("\t")
        well_formed = bool(tab) and not between.strip()
    if not well_formed:
        raise FormatError(f"{short_repr(line)} is not a label, a tab and a word", source, number)
    return name, rest


def _label_text(label: str) -> str:
    plain = label and label == label.strip() and label[0] not in "#'\"" and label.isprintable()
    return label if plain else quoted(label)
