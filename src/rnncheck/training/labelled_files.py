r"""Labelled words as text.

One line per word: the label, a tab, the word in the text form of :mod:`rnncheck.words`. Empty lines and lines that
begin with ``#`` are passed over::

    # label  word
    yes	a b <book>
    no	ε

Labels ``0`` and ``1``, or ``no`` and ``yes``, are a yes/no classifier; any other names, one class each. A label that
could be misread is written in quotes, with the escapes of letters.
"""

from __future__ import annotations

import os
from pathlib import Path

from rnncheck.errors import ExpressionError, FormatError, InputError, short_repr
from rnncheck.runtime.files import write_atomically
from rnncheck.training.datasets import (
    Contradiction,
    LabelledWords,
    alphabet_of,
    first_of_each,
    number_labels,
)
from rnncheck.word_files import content_lines, encode_line, parse_line
from rnncheck.words import Alphabet, Word, WordBatch, format_word, quoted, read_quoted


def read_labelled_words(path: str | os.PathLike[str], alphabet: Alphabet | None = None) -> LabelledWords:
    """Read a file of labelled words; without an alphabet the letters that occur are taken, sorted.

    Repetitions are dropped and counted. Whatever else is wrong, one word with two labels included, is a FormatError
    that names the line.
    """
    source = os.fspath(path)
    lines: list[int] = []
    words: list[Word] = []
    names: list[str] = []
    for number, line in content_lines(Path(path)):
        name, text = _parts(line, source, number)
        lines.append(number)
        names.append(name)
        words.append(parse_line(text, source, number))
    if not words:
        raise FormatError("there are no words in it; write one line per word: label, tab, word", source)
    try:
        labels, answers = number_labels(names)
        alphabet = alphabet_of(words) if alphabet is None else alphabet
    except InputError as error:
        raise FormatError(str(error), source) from None
    codes = [encode_line(alphabet, word, source, line) for word, line in zip(words, lines, strict=True)]
    kept = first_of_each(codes, answers)
    if isinstance(kept, Contradiction):
        raise FormatError(
            f"word {short_repr(format_word(words[kept.second]))} is labelled {short_repr(names[kept.second])} here and "
            f"{short_repr(names[kept.first])} on line {lines[kept.first]}; keep one of them",
            source,
            lines[kept.second],
        )
    distinct = WordBatch.from_codes([codes[i] for i in kept])
    return LabelledWords(alphabet, distinct, answers[kept], labels, duplicates=len(words) - len(kept))


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
