"""Labelled words: the value, its file, its split; and words drawn for a specification."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.errors import AlphabetError, FormatError, InputError
from rnncheck.probability.distributions import WordDistribution
from rnncheck.training import (
    NO_YES,
    LabelledWords,
    TrainingData,
    data_from_automaton,
    data_from_words,
    format_labelled_words,
    read_labelled_words,
    write_labelled_words,
)
from rnncheck.training.datasets import split_positions
from rnncheck.training.from_automaton import ConditionedSampler
from rnncheck.words import Alphabet, WordBatch
from support.strategies import ODD_LETTERS, ONE_LINE, all_words, dfas, letters

AB = Alphabet(["a", "b"])
EVEN_AS = DFA(AB, [[1, 0], [0, 1]], [True, False])
ONLY_AB_PAIRS = DFA(AB, [[1, 2], [2, 0], [2, 2]], [True, False, False])  # (ab)*
JUST_AB = DFA(AB, [[1, 3], [3, 2], [3, 3], [3, 3]], [False, False, True, False])  # the one word ab


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def as_dict(words: LabelledWords) -> dict[tuple[str, ...], str]:
    decoded = map(words.alphabet.decode, words.words)
    return dict(zip(decoded, (words.labels[answer] for answer in words.answers), strict=True))


# The value


def test_pairs_with_booleans_names_or_digits_are_the_same() -> None:
    by_bool = LabelledWords.from_pairs([(("b", "a"), True), ((), False)])
    by_digit = LabelledWords.from_pairs([(("b", "a"), "1"), ((), "0")])
    by_name = LabelledWords.from_pairs([(("b", "a"), "yes"), ((), "no")])
    assert as_dict(by_bool) == as_dict(by_digit) == as_dict(by_name) == {("b", "a"): "yes", (): "no"}
    assert by_bool.alphabet == AB
    assert by_bool.labels == NO_YES
    assert by_bool.sha256() == by_digit.sha256()


def test_other_names_are_classes_in_sorted_order() -> None:
    words = LabelledWords.from_pairs([(["a"], "noun"), (["b"], "verb"), ([], "article")])
    assert words.labels == ("article", "noun", "verb")
    assert words.counts() == {"article": 1, "noun": 1, "verb": 1}
    assert not words.is_yes_no


def test_repetitions_are_counted_and_contradictions_refused() -> None:
    words = LabelledWords.from_pairs([(["a"], True), (["b"], False), (["a"], True), (["a"], True)])
    assert (len(words), words.duplicates) == (2, 2)
    with pytest.raises(InputError, match=r"'a b' is labelled 'yes' as item 1 and 'no' as item 3; keep one"):
        LabelledWords.from_pairs([(["a", "b"], True), (["a"], True), (["a", "b"], False)])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((AB, WordBatch.from_codes([(0,), (0,)]), np.array([0, 1])), "occurs twice"),
        ((AB, WordBatch.from_codes([(0,)]), np.array([0, 1])), "give one each"),
        ((AB, WordBatch.from_codes([(0,)]), np.array([2])), "outside 0 to 1"),
        ((AB, WordBatch.from_codes([(2,)]), np.array([0])), "outside an alphabet of 2"),
        ((AB, WordBatch.from_codes([(0,)]), np.array([0]), ("x",)), "two different names"),
        ((AB, WordBatch.from_codes([(0,)]), np.array([0]), ("x", "x")), "two different names"),
        ((AB, WordBatch.from_codes([(0,)]), np.array([0]), ("yes", "no")), "mean yes and no"),
    ],
)
def test_bad_parts_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(InputError, match=message):
        LabelledWords(*arguments)


def test_one_label_alone_is_refused() -> None:
    with pytest.raises(InputError, match="every word is labelled 'noun'"):
        LabelledWords.from_pairs([(["a"], "noun"), (["b"], "noun")])
    only_yes = LabelledWords.from_pairs([((letter,) * n, True) for letter in "ab" for n in range(1, 20)])
    with pytest.raises(InputError, match="no word is labelled 'no'"):
        data_from_words(only_yes, rng())


def test_the_alphabet_cannot_come_from_the_empty_word_alone() -> None:
    with pytest.raises(InputError, match="give the alphabet"):
        LabelledWords.from_pairs([((), True)])


# Files


LABEL_SETS = st.just(NO_YES) | st.lists(
    letters().filter(lambda name: name not in ("0", "1", *NO_YES)), min_size=2, max_size=4, unique=True
)


@given(st.data())
def test_files_round_trip_any_letter_and_any_label(tmp_path_factory: pytest.TempPathFactory, data) -> None:
    alphabet = data.draw(st.lists(letters(), min_size=1, max_size=4, unique=True))
    names = data.draw(LABEL_SETS)
    some_words = st.lists(st.sampled_from(alphabet), max_size=5).map(tuple)
    words = data.draw(st.dictionaries(some_words, st.sampled_from(names), max_size=8))
    words |= {(alphabet[0],) * n: name for n, name in enumerate(names, start=6)}  # every label is in use
    given = LabelledWords.from_pairs(words.items(), Alphabet(alphabet))
    path = tmp_path_factory.mktemp("words") / "words.tsv"
    write_labelled_words(given, path)
    read = read_labelled_words(path, Alphabet(alphabet))
    assert as_dict(read) == as_dict(given) == words
    assert read.sha256() == given.sha256()


def test_odd_letters_are_the_sorted_alphabet_of_their_file(tmp_path: Path) -> None:
    words = LabelledWords.from_pairs([((letter,), i % 2 == 0) for i, letter in enumerate(ODD_LETTERS)])
    path = tmp_path / "odd.tsv"
    write_labelled_words(words, path)
    assert read_labelled_words(path).alphabet.letters == tuple(sorted(ODD_LETTERS))


def test_comments_blank_lines_windows_line_ends_and_marks_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_bytes("\ufeff# a comment\r\n\r\n1\ta b\r\n 0 \t ε \r\n0\t\t \r\n1\t'#' a\r\n".encode())
    words = read_labelled_words(path)
    assert as_dict(words) == {("a", "b"): "yes", (): "no", ("#", "a"): "yes"}
    assert words.duplicates == 1


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 0, "there are no words"),
        ("# only a comment\n", 0, "there are no words"),
        ("yes\ta\nno b\n", 2, "'no b' is not a label, a tab and a word"),
        ("\ta b\n", 1, "not a label, a tab and a word"),
        ("\t'a'\tb\n", 1, "not a label, a tab and a word"),
        ("'yes' a\n", 1, "not a label, a tab and a word"),
        ("'yes\ta\n", 1, "quote ' is not closed"),
        ("yes\ta\n\nno\t'b\n", 3, "quote ' is not closed"),
        ("yes\ta b\n# x\nno\tb\nno\ta  b\n", 4, "'a b' is labelled 'no' here and 'yes' on line 1; keep one of them"),
        ("noun\ta\nnoun\tb\n", 0, "every word is labelled 'noun'"),
    ],
)
def test_bad_files_are_refused_with_file_and_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = tmp_path / "words.tsv"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        read_labelled_words(path)
    assert (caught.value.source, caught.value.line) == (str(path), line)
    with pytest.raises(FormatError, match=ONE_LINE):
        read_labelled_words(path)


def test_unknown_letters_foreign_bytes_and_missing_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("yes\ta\nno\tc\n")
    with pytest.raises(FormatError, match=r"words.tsv:2: unknown letter 'c'"):
        read_labelled_words(path, AB)
    path.write_bytes(b"yes\ta\nno\t\xff\n")
    with pytest.raises(FormatError, match=r"words.tsv:2: byte 0xff is not UTF-8"):
        read_labelled_words(path)
    with pytest.raises(FormatError, match="cannot be read"):
        read_labelled_words(tmp_path / "nowhere.tsv")


def test_the_text_form_is_what_the_documentation_says() -> None:
    words = LabelledWords.from_pairs([(["a", "<b>"], "very good"), ([], "#1"), (["x y"], "bad")])
    assert format_labelled_words(words) == "very good\ta <b>\n'#1'\tε\nbad\t'x y'\n"


# Splits


@given(
    st.lists(st.integers(0, 2), min_size=10, max_size=200).filter(lambda answers: len(answers) >= 10),
    st.floats(0.05, 0.4),
    st.floats(0.05, 0.4),
    st.integers(0, 5),
)
def test_a_split_has_every_position_once_and_every_label_in_proportion(
    answers: list[int], validation: float, test: float, seed: int
) -> None:
    given_answers = np.array(answers)
    parts = split_positions(given_answers, rng(seed), validation=validation, test=test)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(answers)))
    for label, count in Counter(answers).items():
        held = [int((given_answers[part] == label).sum()) for part in parts[1:]]
        for share, size in zip((validation, test), held, strict=True):
            assert abs(size - share * count) <= 1.0
        assert sum(held) < count
        if count >= 3:
            assert min(held) >= 1


def test_too_few_words_and_bad_shares_are_refused() -> None:
    with pytest.raises(InputError, match="2 words are too few"):
        split_positions(np.array([0, 1]), rng(), validation=0.1, test=0.1)
    with pytest.raises(InputError, match=r"test share 0\.5"):
        split_positions(np.zeros(10, dtype=int), rng(), validation=0.1, test=0.5)


def test_data_from_words_tells_what_it_dropped_and_what_is_rare() -> None:
    pairs = [((letter,) * n, letter == "a") for letter in "ab" for n in range(1, 30)]
    data = data_from_words(LabelledWords.from_pairs([*pairs, pairs[0]]), rng(), source="x.tsv")
    assert data.notes == ("1 repeated words were dropped",)
    assert data.facts == {"words": 58, "labels": {"no": 29, "yes": 29}, "source": "x.tsv"}
    assert data.sizes == {"train": 46, "validation": 6, "test": 6}
    few = LabelledWords.from_pairs([*pairs[:29], ((), False), (("b",), False), (("b", "b"), False)])
    assert "only 3 words are labelled 'no'" in data_from_words(few, rng()).notes[0]


def test_training_data_with_a_word_in_two_parts_is_refused() -> None:
    words = LabelledWords.from_pairs([((letter,) * n, letter == "a") for letter in "ab" for n in range(1, 30)])
    with pytest.raises(InputError, match="in two of the"):
        TrainingData(words, words.take([3]), words.take([4]))
    with pytest.raises(InputError, match="not the target automaton's answers"):
        TrainingData(words.take([0, 1]), words.take([2]), words.take([3]), target=EVEN_AS)
    with pytest.raises(InputError, match="there are no test words"):
        TrainingData(words.take([0, 1]), words.take([2]), words.take([]))


# Words of one label, drawn as the distribution does


@given(dfas(max_states=5), st.integers(0, 6), st.integers(0, 100), st.booleans())
@settings(max_examples=60)
def test_conditioned_words_are_accepted_and_as_long_as_asked(dfa: DFA, length: int, seed: int, fitted: bool) -> None:
    words_of_length = {n: [w for w in itertools.product(dfa.alphabet, repeat=n) if dfa.accepts(w)] for n in range(7)}
    possible = [n for n, found in words_of_length.items() if found]
    distribution = WordDistribution(dfa.alphabet, stop=0.2)
    if fitted:
        distribution = WordDistribution.fit(dfa.alphabet, distribution.sample(rng(seed), 30), order=3)
    if not possible:
        with pytest.raises(InputError, match="no word of at most 6 letters"):
            ConditionedSampler(dfa, distribution, 6).sample(rng(seed), np.full(20, length))
        return
    nearest = min(abs(n - length) for n in possible)
    drawn = ConditionedSampler(dfa, distribution, 6).sample(rng(seed), np.full(20, length))
    assert dfa.accepts_batch(drawn).all()
    assert set(np.abs(drawn.lengths - length).tolist()) == {nearest}


@pytest.mark.parametrize("kind", ["uniform", "weighted", "n-gram"])
def test_conditioned_words_have_the_conditional_probabilities(kind: str) -> None:
    """Against every word of five letters, weighed by hand."""
    alphabet = Alphabet(["a", "b", "c"])
    distribution = {
        "uniform": WordDistribution(alphabet, stop=0.1),
        "weighted": WordDistribution(alphabet, [0.6, 0.3, 0.1], stop=0.1),
        "n-gram": WordDistribution.fit(alphabet, [["a", "b"], ["a", "c", "c"], ["b", "b", "b", "a"]], order=3),
    }[kind]
    dfa = DFA(alphabet, [[1, 0, 0], [2, 0, 1], [2, 2, 3], [0, 2, 3]], [False, True, False, True])
    words = [codes for codes in itertools.product(range(3), repeat=5) if dfa.accepts(alphabet.decode(codes))]
    chances = np.array([distribution.probability(codes) for codes in words])
    chances /= chances.sum()
    count = 40_000
    drawn = Counter(ConditionedSampler(dfa, distribution, 9).sample(rng(1), np.full(count, 5)))
    assert set(drawn) <= set(words)
    found = np.array([drawn[codes] for codes in words])
    # Five standard deviations on each of a hundred-odd words: a sound sampler fails one time in ten thousand.
    assert (np.abs(found - count * chances) <= 5 * np.sqrt(count * chances) + 1).all()


def test_conditioned_words_of_mixed_lengths_keep_their_order() -> None:
    lengths = np.array([7, 0, 300, 2, 2, 901, 0])
    drawn = ConditionedSampler(ONLY_AB_PAIRS, WordDistribution(AB), 901).sample(rng(), lengths)
    assert drawn.lengths.tolist() == [6, 0, 300, 2, 2, 900, 0]
    assert all(codes == (0, 1) * (len(codes) // 2) for codes in drawn)


# Data for a specification


def test_balanced_languages_are_drawn_as_they_come() -> None:
    data = data_from_automaton(EVEN_AS, rng(), count=2_000)
    assert data.notes == ()
    assert 0.4 < data.train.answers.mean() < 0.6
    assert data.facts["distribution"] == WordDistribution(AB).describe()


@pytest.mark.parametrize("complemented", [False, True])
def test_lopsided_languages_get_both_labels_and_near_misses(complemented: bool) -> None:
    dfa = ONLY_AB_PAIRS.complement() if complemented else ONLY_AB_PAIRS
    data = data_from_automaton(dfa, rng(), count=3_000)
    rare = 0 if complemented else 1
    for part in (data.train, data.validation, data.test):
        assert (part.answers == rare).sum() >= len(part) // 25
    long_and_rare = data.train.words.take((data.train.answers == rare) & (data.train.words.lengths > 50))
    assert len(long_and_rare) > 20
    live = [any(ONLY_AB_PAIRS.accepts(AB.decode(codes[:n])) for n in range(30, 200)) for codes in data.test.words]
    near_misses = np.array(live) & (data.test.answers != rare)
    assert near_misses.sum() > 10
    assert "more and near misses were added" in data.notes[-1]


def test_one_sided_and_finite_languages_say_so() -> None:
    everything = DFA(AB, [[0, 0]], [True])
    data = data_from_automaton(everything, rng(), count=500)
    assert data.notes == ("the specification rejects no word: every label is yes",)
    assert data.train.answers.all()
    nothing = data_from_automaton(everything.complement(), rng(), count=500)
    assert nothing.notes == ("the specification accepts no word: every label is no",)
    finite = data_from_automaton(JUST_AB, rng(), count=500)
    assert "accepts only finitely many words" in finite.notes[0]
    cofinite = data_from_automaton(JUST_AB.complement(), rng(), count=500)
    assert "rejects only finitely many words" in cofinite.notes[0]
    only_a = WordDistribution(AB, {"a": 1.0, "b": 0.0})
    out_of_reach = data_from_automaton(DFA(AB, [[0, 1], [1, 1]], [False, True]), rng(), distribution=only_a, count=500)
    assert out_of_reach.notes == (
        "no word that the distribution draws is labelled yes: all drawn have the other label",
    )


@given(dfas(max_states=6), st.integers(0, 1_000), st.sampled_from([0.01, 0.1, 0.4]))
@settings(max_examples=40)
def test_labels_are_the_automatons_and_parts_share_no_word(dfa: DFA, seed: int, stop: float) -> None:
    """The value itself refuses anything else; this asks whether it can always be built."""
    distribution = WordDistribution(dfa.alphabet, stop=stop)
    data = data_from_automaton(dfa, rng(seed), distribution=distribution, count=200)
    assert sum(data.sizes.values()) <= 200 + 200
    again = data_from_automaton(dfa, rng(seed), distribution=distribution, count=200)
    assert again.sha256() == data.sha256()


def test_pumped_words_repeat_a_loop_to_the_length_drawn() -> None:
    def repeats(codes: tuple[int, ...]) -> bool:
        inside = codes[3:-3]
        return any(inside[loop:] == inside[:-loop] for loop in (1, 2, 3))

    lengths = []
    for pumped, least, most in ((0.0, 0, 5), (0.3, 150, 400)):
        data = data_from_automaton(EVEN_AS, rng(), count=1_000, pumped=pumped)
        words = [codes for part in (data.train, data.validation, data.test) for codes in part.words if len(codes) > 20]
        assert least <= sum(map(repeats, words)) <= most
        lengths.append(np.mean([len(codes) for codes in words]))
    assert lengths[0] == pytest.approx(lengths[1], rel=0.2)


def test_all_short_words_are_training_words() -> None:
    data = data_from_automaton(EVEN_AS, rng(), count=5_000)
    trained = set(map(AB.decode, data.train.words))
    assert set(all_words(AB, 7)) <= trained
    crowded = data_from_automaton(EVEN_AS, rng(), distribution=WordDistribution(AB, stop=0.3), count=5_000)
    assert () in set(map(AB.decode, [*crowded.train.words, *crowded.validation.words, *crowded.test.words]))
    assert min(crowded.sizes.values()) >= 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 9}, "9 words are too few"),
        ({"balance": 0.6}, r"balance 0\.6"),
        ({"pumped": -0.1}, r"pumped -0\.1"),
        ({"distribution": WordDistribution(Alphabet(["a", "c"]))}, "over other letters"),
        ({"distribution": WordDistribution(AB, stop=1.0)}, "1 words are too few"),
        ({"validation": 0.0}, "validation share 0"),
    ],
)
def test_bad_requests_for_data_are_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        data_from_automaton(EVEN_AS, rng(), **options)


def test_unknown_letters_in_pairs_are_refused() -> None:
    with pytest.raises(AlphabetError, match="unknown letter 'c'"):
        LabelledWords.from_pairs([(["c"], True)], AB)
