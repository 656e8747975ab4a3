"""Words with labels: the value, and its split into training, validation and test words."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.automata.moore import NO_YES
from rnncheck.errors import InputError, short_repr
from rnncheck.words import Alphabet, Codes, IntArray, Word, WordBatch, format_word

_YES_NO_NAMES = {"0", "1", *NO_YES}


@dataclass(frozen=True, eq=False)
class LabelledWords:
    """Distinct words, each with one label: ``labels[answers[i]]`` is the label of word ``i``.

    The labels ``("no", "yes")`` mean a yes/no classifier; any others, one class each. ``duplicates`` is how many
    repetitions were dropped on the way here, and ``contradicting`` how many words had several labels. Where repetitions
    count, ``times[i, k]`` says how often word ``i`` had label ``k``; its answer is then one of the most frequent.
    """

    alphabet: Alphabet
    words: WordBatch
    answers: IntArray
    labels: tuple[str, ...] = NO_YES
    duplicates: int = 0
    contradicting: int = 0
    times: IntArray | None = None

    def __post_init__(self) -> None:
        self.words.check_codes(len(self.alphabet))
        if len(set(self.labels)) != len(self.labels) or len(self.labels) < 2:
            raise InputError(f"labels {short_repr(self.labels)} must be at least two different names")
        if self.labels != NO_YES and set(self.labels) <= _YES_NO_NAMES:
            raise InputError(f"labels {short_repr(self.labels)} mean yes and no; write them {NO_YES}")
        if self.answers.shape != (len(self.words),):
            raise InputError(f"{self.answers.size} labels for {len(self.words)} words; give one each")
        if len(self.answers) and not 0 <= self.answers.min() <= self.answers.max() < len(self.labels):
            raise InputError(f"an answer is outside 0 to {len(self.labels) - 1}, the positions of the labels")
        if len(set(word_keys(self.words))) != len(self.words):
            raise InputError("a word occurs twice; LabelledWords.from_pairs drops repetitions")
        if self.times is not None and not (
            self.times.shape == (len(self.words), len(self.labels))
            and bool((self.times >= 0).all())
            and bool((self.times.max(axis=1, initial=0) > 0).all())
            and bool(self.are_right(self.answers).all())
        ):
            raise InputError("times must count the labels of each word, and its answer be one of the most frequent")

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable[tuple[Iterable[str], str | bool]],
        alphabet: Alphabet | None = None,
    ) -> LabelledWords:
        """From pairs of a word and its label.

        Labels are booleans, or names; ``0`` and ``1`` as well as ``no`` and ``yes`` (and nothing else besides them)
        mean a yes/no classifier. Without an alphabet the letters that occur are taken, sorted. A repeated pair is
        dropped and counted; one word with two labels is an error.
        """
        words: list[Word] = []
        names: list[str] = []
        for word, label in pairs:
            words.append(tuple(word))
            names.append(NO_YES[label] if isinstance(label, bool) else label)
        alphabet = alphabet_of(words) if alphabet is None else alphabet
        labels, answers = number_labels(names)
        codes = [alphabet.encode(word) for word in words]
        kept = first_of_each(codes, answers)
        if isinstance(kept, Contradiction):
            raise InputError(
                f"word {short_repr(format_word(words[kept.first]))} is labelled {short_repr(names[kept.first])} as "
                "item "
                f"{kept.first + 1} and {short_repr(names[kept.second])} as item {kept.second + 1}; keep one of them"
            )
        distinct = WordBatch.from_codes([codes[i] for i in kept])
        return cls(alphabet, distinct, answers[kept], labels, duplicates=len(words) - len(kept))

    def __len__(self) -> int:
        return len(self.words)

    @property
    def is_yes_no(self) -> bool:
        return self.labels == NO_YES

    def counts(self) -> dict[str, int]:
        """How many words have each label."""
        numbers = np.bincount(self.answers, minlength=len(self.labels))
        return dict(zip(self.labels, numbers.tolist(), strict=True))

    def are_right(self, answers: IntArray) -> npt.NDArray[np.bool_]:
        """Which of these answers to the words are right: the label, or one of the most frequent where they count."""
        if self.times is None:
            return np.asarray(answers == self.answers)
        return np.asarray(self.times[np.arange(len(self)), answers] == self.times.max(axis=1))

    def take(self, indices: npt.ArrayLike) -> LabelledWords:
        """The words at these positions."""
        picked = np.asarray(indices, dtype=np.int64)
        times = None if self.times is None else self.times[picked]
        return LabelledWords(self.alphabet, self.words.take(picked), self.answers[picked], self.labels, times=times)

    def sha256(self) -> str:
        """A digest of alphabet, words and labels."""
        digest = hashlib.sha256(repr((self.alphabet.letters, self.labels)).encode())
        counted = () if self.times is None else (self.times,)
        for array in (self.words.codes, self.words.offsets, self.answers, *counted):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What a network is trained on, chosen by and measured with: three sets of words, none in two of them.

    Where ``target`` is given, its answers are the labels, and every prefix of a training word is learned from, except
    those that are validation or test words themselves. ``notes`` are for people; ``facts`` say where the words are
    from.
    """

    train: LabelledWords
    validation: LabelledWords
    test: LabelledWords
    target: DFA | None = None
    notes: tuple[str, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        parts = {"training": self.train, "validation": self.validation, "test": self.test}
        for name, part in parts.items():
            if not len(part):
                raise InputError(f"there are no {name} words; give more words")
            if (part.alphabet, part.labels) != (self.train.alphabet, self.train.labels):
                raise InputError(f"the {name} words have another alphabet or other labels than the training words")
            if self.target is not None and not self._agrees_with_target(part):
                raise InputError(f"the labels of the {name} words are not the target automaton's answers")
        keys = [key for part in parts.values() for key in word_keys(part.words)]
        if len(set(keys)) != len(keys):
            raise InputError("a word is in two of the training, validation and test words; split them by word")

    def _agrees_with_target(self, part: LabelledWords) -> bool:
        return (
            self.target is not None
            and self.target.alphabet == part.alphabet
            and part.is_yes_no
            and np.array_equal(self.target.accepts_batch(part.words), part.answers == 1)
        )

    @property
    def sizes(self) -> dict[str, int]:
        return {"train": len(self.train), "validation": len(self.validation), "test": len(self.test)}

    def sha256(self) -> str:
        """A digest of all three parts: equal data, equal training."""
        parts = [part.sha256() for part in (self.train, self.validation, self.test)]
        return hashlib.sha256(" ".join([*parts, str(self.target is not None)]).encode()).hexdigest()


def data_from_words(
    words: LabelledWords,
    rng: np.random.Generator,
    *,
    validation: float = 0.1,
    test: float = 0.1,
    source: str | None = None,
) -> TrainingData:
    """Split labelled words at random, each label in the same proportion (see ``split_positions``)."""
    missing = [label for label, count in words.counts().items() if not count]
    if missing:
        raise InputError(
            f"no word is labelled {short_repr(missing[0])}; training needs words of every label "
            f"({', '.join(words.labels)})"
        )
    parts = split_positions(words.answers, rng, validation=validation, test=test)
    notes = []
    if words.duplicates:
        notes.append(f"{words.duplicates} repeated words were dropped")
    if words.contradicting:
        resolved = (
            "each has its most frequent one, or none" if words.times is None else "each counts as often as it stands"
        )
        notes.append(f"{words.contradicting} words had several labels; {resolved}")
    rare = min(words.counts(), key=words.counts().__getitem__)
    if words.counts()[rare] < 10:
        notes.append(
            f"only {words.counts()[rare]} words are labelled {short_repr(rare)}: its accuracy will be uncertain"
        )
    facts = {"words": len(words), "labels": words.counts()} | ({} if source is None else {"source": source})
    train, chosen_by, measured_with = map(words.take, parts)
    return TrainingData(train, chosen_by, measured_with, notes=tuple(notes), facts=facts)


def split_positions(
    answers: IntArray, rng: np.random.Generator, *, validation: float, test: float
) -> tuple[IntArray, IntArray, IntArray]:
    """Positions of training, validation and test words, at random and in the same proportion for every label.

    Every label is among the training words; one with three words or more is in all three parts.
    """
    for name, share in (("validation", validation), ("test", test)):
        if not 0.0 < share < 0.5:
            raise InputError(f"{name} share {share} is not between 0 and 0.5; 0.1 is usual")
    parts: tuple[list[IntArray], list[IntArray], list[IntArray]] = ([], [], [])
    for label in np.unique(answers):
        members = rng.permutation(np.flatnonzero(answers == label))
        least = 1 if len(members) >= 3 else 0
        held = [max(least, round(share * len(members))) for share in (validation, test)]
        if sum(held) >= len(members):  # rounded up twice, so that nothing is left to learn from
            held = [max(least, int(share * len(members))) for share in (validation, test)]
        for part, piece in zip(
            parts, np.split(members, [len(members) - sum(held), len(members) - held[1]]), strict=True
        ):
            part.append(piece)
    train, chosen_by, measured_with = (np.sort(np.concatenate(part)) for part in parts)
    if not (len(train) and len(chosen_by) and len(measured_with)):
        raise InputError(f"{len(answers)} words are too few for training, validation and test words; give more words")
    return train, chosen_by, measured_with


@dataclass(frozen=True)
class Contradiction:
    """Two positions with the same word and different labels."""

    first: int
    second: int


def first_of_each(words: Iterable[Codes], answers: IntArray) -> list[int] | Contradiction:
    """The position of the first occurrence of each word, or the first contradiction among labels."""
    seen: dict[Codes, int] = {}
    for position, word in enumerate(words):
        first = seen.setdefault(word, position)
        if answers[first] != answers[position]:
            return Contradiction(first, position)
    return list(seen.values())


def majority_of_each(words: Iterable[Codes], answers: IntArray) -> tuple[list[int], int]:
    """A position of each word with the label that it has most often, and how many words have several labels.

    A word with two labels that are as often is left out.
    """
    places: dict[Codes, list[int]] = {}
    for position, word in enumerate(words):
        places.setdefault(word, []).append(position)
    kept, contradicting = [], 0
    for found in places.values():
        counts = Counter(int(answers[position]) for position in found).most_common(2)
        contradicting += len(counts) > 1
        if len(counts) == 1 or counts[0][1] > counts[1][1]:
            kept.append(next(position for position in found if answers[position] == counts[0][0]))
    return kept, contradicting


def times_of_each(words: Iterable[Codes], answers: IntArray, labels: int) -> tuple[list[int], IntArray]:
    """The position of the first occurrence of each word, and how often it has each label."""
    rows: dict[Codes, int] = {}
    first: list[int] = []
    row_of = []
    for position, word in enumerate(words):
        row = rows.setdefault(word, len(rows))
        if row == len(first):
            first.append(position)
        row_of.append(row)
    times = np.zeros((len(first), labels), dtype=np.int64)
    np.add.at(times, (np.array(row_of, dtype=np.int64), answers), 1)
    return first, times


def number_labels(names: Iterable[str]) -> tuple[tuple[str, ...], IntArray]:
    """Label names in use (``no``, ``yes``; or all names, sorted) and the position of each given one among them."""
    names = list(names)
    used = set(names)
    if used <= _YES_NO_NAMES:
        return NO_YES, np.array([name in ("1", "yes") for name in names], dtype=np.int64)
    if len(used) == 1:
        raise InputError(f"every word is labelled {short_repr(names[0])}; training needs at least two labels")
    labels = tuple(sorted(used))
    number = {label: position for position, label in enumerate(labels)}
    return labels, np.array([number[name] for name in names], dtype=np.int64)


def alphabet_of(words: Iterable[Word]) -> Alphabet:
    """The letters that occur, sorted."""
    letters = sorted({letter for word in words for letter in word})
    if not letters:
        raise InputError("the words have no letters to take an alphabet from; give the alphabet")
    return Alphabet(letters)


def word_keys(words: WordBatch) -> list[bytes]:
    """One bytes key a word, equal exactly where the words are."""
    codes = words.codes.tobytes()
    width = words.codes.itemsize
    offsets = (words.offsets * width).tolist()
    return [codes[offsets[i] : offsets[i + 1]] for i in range(len(words))]
