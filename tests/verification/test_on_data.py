"""The user's own sequences: read from three formats, queried first, counted, named by their lines, and replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rnncheck import Spec, verify
from rnncheck.checker import ReplaySettings, Status, replay
from rnncheck.errors import FormatError
from rnncheck.models.adapters import DFAModel
from rnncheck.verdict.value import Verdict
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.word_files import Sequences, read_sequences
from rnncheck.words import Alphabet

AB = Alphabet(["a", "b"])
WORDS = [("a",), ("b", "a"), (), ("b", "b", "a"), ("b", "a")]
MODEL = DFAModel(Spec.from_regex("a* | b .*", AB).dfa)
SPEC = Spec.from_regex("a*", AB)
QUICK: dict[str, Any] = {"epsilon": 0.05, "gamma": 0.05}
FILES = {
    "words.txt": "# mine\na\nb a\nε\n\nb b a\nb a\n",
    "cells.csv": "# mine\na\nb,a\nε\n\nb,b,a\nb,a\n",
    "column.csv": "id,Word\n1,a\n2,b a\n3,ε\n\n4,b b a\n5,b a\n",
    "words.jsonl": '# mine\n["a"]\n"b a"\n[]\n\n{"word": ["b", "b", "a"]}\n{"id": 3, "sequence": "b a"}\n',
}


def sequences() -> Sequences:
    return Sequences("mine.txt", tuple(WORDS), (2, 3, 4, 6, 7))


def verified(model: DFAModel = MODEL, **options: Any) -> Verdict:
    return verify(model, SPEC, settings=VerifySettings(on_data=sequences(), search_steps=0), **QUICK, **options)


@pytest.mark.parametrize("name", FILES)
def test_files_of_every_format_have_the_same_words(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(FILES[name])
    read = read_sequences(path, AB)
    assert read.words == sequences().words
    assert read.lines == (2, 3, 4, 6, 7)
    assert read.sha256() == sequences().sha256()


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("x.txt", "a\nq\n", "x.txt:2"),
        ("x.csv", "a,b\na,q\n", "x.csv:2"),
        ("x.csv", "id,word\n1\n", "no cell for the column"),
        ("x.jsonl", '["a"]\n[1]\n', "is not a word"),
        ("x.jsonl", "nonsense\n", "not JSON"),
        ("x.jsonl", '{"text": "a"}\n', "is not a word"),
        ("x.txt", "\n", "there are no words"),
        ("missing.csv", None, "cannot be read"),
    ],
)
def test_bad_files_are_refused_by_their_line(name: str, text: str | None, part: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(FormatError) as caught:
        read_sequences(path, AB)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_violations_are_counted_and_named() -> None:
    verdict = verified()
    assert verdict.violated
    assert verdict.reason == "a sequence of the data is a violation"
    assert (verdict.data.words, verdict.data.counted, verdict.data.violations) == (5, 5, 3)
    assert [(each.line, each.word) for each in verdict.data.first] == [(3, WORDS[1]), (6, WORDS[3]), (7, WORDS[4])]
    assert "3 of 5 sequences of mine.txt are violations, on line 3, 6, 7" in verdict.data.sentence()


def test_only_sequences_that_count_are_violations() -> None:
    verdict = verified(assume=Spec.from_regex(".* b b .* | a*", AB))
    assert (verdict.data.words, verdict.data.counted, verdict.data.violations) == (5, 3, 1)
    assert verdict.counterexample is not None
    assert verified(assume=Spec.from_regex("a*", AB)).data.violations == 0


def test_data_without_violations_are_told_too() -> None:
    verdict = verified(DFAModel(SPEC.dfa))
    assert verdict.satisfied
    assert verdict.data.violations == 0
    assert not verdict.data.first


def test_replay_asks_the_sequences_again() -> None:
    document = verified().to_json()
    assert replay(document, MODEL).status is Status.OPEN
    assert replay(document, MODEL, ReplaySettings(on_data=sequences())).status is Status.CONFIRMED
    others = Sequences("mine.txt", tuple(WORDS[:1] * 5), sequences().lines)
    assert replay(document, MODEL, ReplaySettings(on_data=others)).status is Status.REFUTED


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("violations", 2),
        ("violations", 9),
        ("counted", 4),
        ("words", 6),
        ("sha256", "0"),
        ("first", [{"line": 2, "word": ["a"]}]),
    ],
)
def test_changed_counts_are_refuted(field: str, value: Any) -> None:
    document = json.loads(verified().to_json())
    document["data"][field] = value
    result = replay(json.dumps(document), MODEL, ReplaySettings(on_data=sequences()))
    assert "data" in {check.name for check in result.having(Status.REFUTED)}


def test_violations_beside_satisfied_are_refuted() -> None:
    document = json.loads(verified(DFAModel(SPEC.dfa)).to_json())
    document["data"]["violations"] = 1
    assert replay(json.dumps(document), DFAModel(SPEC.dfa)).status is Status.REFUTED
