"""How far simple rules come on the words of Table 2: python benchmarks/contact_rules.py WORDS FILES.

A network for contact sequences is measured by the share of test words that it answers rightly. What that share means,
three rules show that look at neighbours alone and know nothing of times: nobody stands twice in a row; besides, all
neighbours met at some time; all neighbours stand side by side in a valid training word, which is what could be learned
of their meetings. Words break at many places, as in ``bench contacts --recipe paper``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from rnncheck.contacts import BreakKind, DatasetSettings, contact_dataset, read_contacts
from rnncheck.contacts.dataset import ContactWords
from rnncheck.errors import RnncheckError
from rnncheck.words import IntArray


def accuracies(file: str, words: int) -> dict[str, float]:
    """The share of the test words that each rule answers rightly."""
    network = read_contacts(file)
    try:
        drawn = contact_dataset(network, np.random.default_rng(0), _settings(words, strict=True))
    except RnncheckError:  # hardly any path has times that increase
        drawn = contact_dataset(network, np.random.default_rng(0), _settings(words, strict=False))
    people = len(network.people)
    rows, pairs = _neighbours(drawn.train, people)
    seen = np.zeros(people * people, dtype=bool)
    seen[pairs[drawn.train.valid[rows]]] = True
    first, second = np.divmod(np.arange(people * people), people)
    rules = {"no repetition": first != second, "met": network.met.ravel(), "seen": seen}
    rows, pairs = _neighbours(drawn.test, people)
    broken = {rule: np.bincount(rows, ~allowed[pairs], minlength=len(drawn.test)) for rule, allowed in rules.items()}
    return {rule: float(((count == 0) == drawn.test.valid).mean()) for rule, count in broken.items()}


def _settings(words: int, *, strict: bool) -> DatasetSettings:
    return DatasetSettings(train=words, strict=strict, kinds=(BreakKind.MANY,))


def _neighbours(drawn: ContactWords, people: int) -> tuple[IntArray, IntArray]:
    """The word that each two neighbours are of, and the two as one number."""
    rows = np.repeat(np.arange(len(drawn)), drawn.words.lengths)
    codes = drawn.words.codes.astype(np.int64)
    inside = rows[1:] == rows[:-1]
    return rows[1:][inside], (codes[:-1] * people + codes[1:])[inside]


if __name__ == "__main__":
    for file in sys.argv[2:]:
        shares = ", ".join(f"{rule} {share:.1%}" for rule, share in accuracies(file, int(sys.argv[1])).items())
        print(f"{Path(file).stem}: {shares}")
