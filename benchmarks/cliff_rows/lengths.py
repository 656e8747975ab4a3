"""How costs grow with the length of words, and with the number of properties in a file."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

import rnncheck
from cliff_rows.pages import property_file
from cliff_rows.row import Curve, seconds_of
from rnncheck import Spec, VerifySettings, zoo
from rnncheck.cli.check_pages import write_pages
from rnncheck.suite.check import check
from rnncheck.word_files import read_sequences

_WORDS = 20
_LETTERS = "abc"


def own_sequences(lengths: Sequence[int]) -> list[tuple[int, float]]:
    """``verify --on-data --report`` with 20 random words of each length; the property holds, so that all are read."""
    model = rnncheck.load_model(zoo.path("response-lstm"))
    spec = Spec.from_ltlf("G(a -> F b)", model.alphabet)
    rng, found = np.random.default_rng(0), []
    with tempfile.TemporaryDirectory() as made:
        words, page = Path(made) / "words.txt", Path(made) / "report.html"
        for length in lengths:
            words.write_text("".join(" ".join(rng.choice(list(_LETTERS), length)) + "\n" for _ in range(_WORDS)))

            def work() -> None:
                settings = VerifySettings(on_data=read_sequences(words, model.alphabet))
                verdict = rnncheck.verify(model, spec, method="smc", epsilon=0.1, gamma=0.1, settings=settings)
                verdict.save_report(page)

            found.append((length, seconds_of(work)))
    return found


def long_specification(lengths: Sequence[int]) -> list[tuple[int, float]]:
    """A specification with one required beginning of each length, compiled from a regular expression and verified."""
    model = rnncheck.load_model(zoo.path("response-lstm"))
    rng, found = np.random.default_rng(0), []
    for length in lengths:
        text = " ".join(rng.choice(list(_LETTERS), length)) + " .*"

        def work(text: str = text) -> None:
            spec = Spec.from_regex(text, model.alphabet)
            rnncheck.verify(model, spec, method="smc", relation="superset", epsilon=0.1, gamma=0.1)

        found.append((length, seconds_of(work)))
    return found


def _checked_and_reported(path: Path) -> None:
    write_pages(check(path, threads=1), path.with_suffix(".html"))


def properties(counts: Sequence[int]) -> list[tuple[int, float]]:
    """``check --report`` of many different properties, most of them violated."""
    forms = ["G({x} -> F {y}) & {end}", "G({x} -> X !{y}) & {end}", "F {x} & G !{y} & {end}", "!({x} & X {y}) & {end}"]
    texts = [
        form.format(x=x, y=y, end=f"F({'X ' * steps}{y})")
        for steps in range(1, 43)
        for form in forms
        for x in _LETTERS
        for y in _LETTERS
        if x != y
    ]
    found = []
    for count in counts:
        with tempfile.TemporaryDirectory() as made:
            path = property_file(Path(made), "response-faulty-lstm", texts[:: len(texts) // count][:count])
            found.append((count, seconds_of(partial(_checked_and_reported, path))))
    return found


CURVES = [
    Curve(
        "word-length",
        "20 sequences of your own, verified and reported",
        "letters of a word",
        (10, 100, 1_000, 10_000),
        own_sequences,
    ),
    Curve(
        "specification-length",
        "A property that requires one beginning, compiled and verified",
        "letters of the beginning",
        (10, 100, 1_000, 10_000),
        long_specification,
    ),
    Curve(
        "properties",
        "A property file, checked, with a report for each property",
        "properties",
        (1, 10, 100, 1_000),
        properties,
    ),
]
