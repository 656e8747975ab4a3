"""What requirements say of single words, beside brute force over all short ones."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from rnncheck import Alphabet, InputError, Spec
from rnncheck.automata.dfa import DFA
from rnncheck.relations import Relation
from rnncheck.repairs.own_words import read_own_words
from rnncheck.repairs.requirements import (
    UNKNOWN,
    AllowedOutputs,
    Requirement,
    assuming,
    contradictions,
    requirements_of,
)
from rnncheck.training.datasets import LabelledWords
from rnncheck.verification.label_questions import label_spec_over
from rnncheck.word_files import Sequences, WordFormat
from rnncheck.words import WordBatch

AB = Alphabet(["a", "b"])
WORDS = [word for length in range(6) for word in itertools.product(range(2), repeat=length)]
BATCH = WordBatch.from_codes(WORDS)
ENDS = BATCH.offsets[1:] + np.arange(len(BATCH))


def random_dfa(seed: int, states: int = 4) -> DFA:
    rng = np.random.default_rng(seed)
    return DFA(AB, rng.integers(states, size=(states, 2)), rng.random(states) < 0.5, 0)


def own_scores(seed: int) -> tuple[np.ndarray, dict[tuple[int, ...], bool]]:
    """A model's answers to all short words, at every prefix of each."""
    rng = np.random.default_rng(seed)
    says = {word: bool(rng.random() < 0.5) for word in WORDS}
    prefixes = [word[:end] for word in WORDS for end in range(len(word) + 1)]
    yes = np.array([1.0 if says[prefix] else -1.0 for prefix in prefixes])
    return np.stack([-yes, yes], axis=1), says


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("seed", range(5))
def test_only_forbidden_answers_change(relation: Relation, seed: int) -> None:
    spec = random_dfa(seed)
    scores, says = own_scores(seed)
    answers, corrected, bound = AllowedOutputs(
        [Requirement("p", Spec.from_dfa(spec), relation)], AB, ("no", "yes")
    ).answers(BATCH, scores)
    for place, word in enumerate(WORDS):
        accepted = spec.accepts(AB.decode(word))
        broken = bool(relation.broken(np.array([says[word]]), np.array([accepted]))[0])
        assert bool(answers[ENDS[place]]) == (says[word] != broken)
        assert bool(corrected[ENDS[place]]) == broken
        other = bool(relation.broken(np.array([not says[word]]), np.array([accepted]))[0])
        assert bool(bound[ENDS[place]]) == (broken or other)


def test_several_requirements_all_hold() -> None:
    first, second = random_dfa(1), random_dfa(2)
    scores, _ = own_scores(3)
    allowed_outputs = AllowedOutputs(
        [Requirement("one", Spec.from_dfa(first)), Requirement("two", Spec.from_dfa(second))], AB, ("no", "yes")
    )
    answers = allowed_outputs.answers(BATCH, scores).answers
    yes = answers[ENDS] == 1
    assert not (yes & ~first.accepts_batch(BATCH)).any()
    assert not (yes & ~second.accepts_batch(BATCH)).any()


def test_unknown_answers_stay_unknown_unless_forced() -> None:
    spec = Spec.from_regex("a*", AB)
    scores = np.full((len(BATCH.codes) + len(BATCH), 2), np.nan)
    answers = AllowedOutputs([Requirement("p", spec)], AB, ("no", "yes")).answers(BATCH, scores).answers
    inside = spec.accepts_batch(BATCH)
    assert (answers[ENDS][inside] == UNKNOWN).all()
    assert (answers[ENDS][~inside] == 0).all()


def test_requirements_that_exclude_each_other_are_refused_with_the_shortest_word() -> None:
    never = Requirement("never b", Spec.from_regex("a*", AB))
    always = Requirement("ends in b", Spec.from_regex("(a|b)* b", AB), "superset")
    with pytest.raises(InputError, match=r"no model satisfies both .*'b'"):
        AllowedOutputs([never, always], AB, ("no", "yes"))


@pytest.mark.parametrize("relation", list(Relation))
def test_an_assumption_leaves_other_words_free(relation: Relation) -> None:
    spec, assumed = random_dfa(5), random_dfa(6)
    scores, says = own_scores(7)
    made = assuming(Requirement("p", Spec.from_dfa(spec), relation), assumed)
    answers = AllowedOutputs(made, AB, ("no", "yes")).answers(BATCH, scores).answers
    for place, word in enumerate(WORDS):
        letters = AB.decode(word)
        broken = bool(relation.broken(np.array([says[word]]), np.array([spec.accepts(letters)]))[0])
        assert bool(answers[ENDS[place]]) == (says[word] != (broken and assumed.accepts(letters)))


def test_labels_are_chosen_so_that_every_trace_is_right() -> None:
    labels = ("idle", "busy", "alarm")
    spec = label_spec_over(AB, labels, ltlf="G(a -> label=alarm) & G(label=alarm -> WX label=busy)")
    with pytest.raises(InputError, match="no network satisfies"):  # a a needs alarm and busy at once
        AllowedOutputs([Requirement("p", spec, None)], AB, labels, yes=0)
    spec = label_spec_over(AB, labels, ltlf="G(b -> !label=alarm) & G(label=alarm -> WX !label=alarm)")
    allowed_outputs = AllowedOutputs([Requirement("p", spec, None)], AB, labels, yes=0)
    rng = np.random.default_rng(0)
    told: dict[tuple[int, ...], np.ndarray] = {word: rng.normal(size=3) for word in WORDS}
    scores = np.array([told[word[:end]] for word in WORDS for end in range(len(word) + 1)])
    answers = allowed_outputs.answers(BATCH, scores).answers
    starts = BATCH.offsets[:-1] + np.arange(len(BATCH))
    said = {word: int(answers[start + len(word)]) for word, start in zip(WORDS, starts.tolist(), strict=True)}
    for word, start in zip(WORDS, starts.tolist(), strict=True):
        along = answers[start : start + len(word) + 1]
        assert along.tolist() == [said[word[:end]] for end in range(len(word) + 1)]  # one answer for each prefix
        for before, now, letter in zip([0, *along[1:]], along[1:], word, strict=False):
            assert not (letter == 1 and labels[now] == "alarm")
            assert not (labels[before] == labels[now] == "alarm")


def test_contradictions_are_the_words_whose_label_is_forbidden() -> None:
    spec = random_dfa(9)
    accepted = np.random.default_rng(1).random(len(WORDS)) < 0.5
    for relation in Relation:
        found = contradictions([Requirement("p", Spec.from_dfa(spec), relation)], BATCH, accepted)
        broken = np.flatnonzero(relation.broken(accepted, spec.accepts_batch(BATCH)))
        assert found.get("p", []) == broken.tolist()


def test_names_must_differ() -> None:
    spec = Spec.from_regex("a*", AB)
    with pytest.raises(InputError, match="two properties are called"):
        requirements_of([spec, spec], "subset")
    assert [each.name for each in requirements_of({"x": spec, "y": spec}, "equal")] == ["x", "y"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("words.tsv", "yes\ta b\nno\ta\n"),
        ("words.csv", "label,word\nyes,a b\nno,a\n"),
        ("words.jsonl", '{"word": ["a", "b"], "label": "yes"}\n{"word": "a", "label": false}\n'),
    ],
)
def test_own_words_have_their_labels_in_every_format(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    read = read_own_words(tmp_path / name, AB)
    assert isinstance(read, LabelledWords)
    assert list(read.words) == [(0, 1), (0,)]
    assert [read.labels[answer] for answer in read.answers] == ["yes", "no"]


def test_labels_are_all_there_or_none(tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_text('["a"]\n{"word": "b", "label": "yes"}\n')
    with pytest.raises(InputError, match=r"some.jsonl:1:"):
        read_own_words(tmp_path / "some.jsonl", AB)
    (tmp_path / "none.jsonl").write_text('["a"]\n["b"]\n')
    assert isinstance(read_own_words(tmp_path / "none.jsonl", AB), Sequences)


def test_own_words_of_a_table_with_names_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "sessions.csv").write_text("user;fine;clicks\n7;yes;a>b\n8;no;a\n")
    read = read_own_words(tmp_path / "sessions.csv", AB, WordFormat("clicks", "fine", ">"))
    assert isinstance(read, LabelledWords)
    assert list(read.words) == [(0, 1), (0,)]
    assert [read.labels[answer] for answer in read.answers] == ["yes", "no"]
