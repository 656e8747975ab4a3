"""What a self-check decides does not depend on whether it was made before."""

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest

from rnncheck import load_model as load
from rnncheck import zoo
from rnncheck.models.cells.cell_type import row_products
from rnncheck.models.engine import check_words as check_words_module
from rnncheck.models.engine import compiled
from rnncheck.models.engine.check_words import check_words, grows
from rnncheck.models.engine.compiled import CompiledNetwork, SelfCheckError
from rnncheck.models.engine.reference import reference_prefix_scores
from rnncheck.models.engine.threads import single_threaded_blas
from rnncheck.models.network import Cell
from rnncheck.words import WordBatch
from support.networks import random_network

MODEL = zoo.path("response-faulty-lstm")


def load_model(path: Path, **options) -> CompiledNetwork:
    model = load(path, **options)
    assert isinstance(model, CompiledNetwork)
    return model


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "rnncheck" / "self-checks"


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each self-check that is really made."""
    made: list[str] = []
    really = CompiledNetwork._compare_with_reference

    def counted(self, reference):
        made.append("made")
        return really(self, reference)

    monkeypatch.setattr(CompiledNetwork, "_compare_with_reference", counted)
    return made


def test_a_check_is_made_once_and_decides_the_same(cache: Path, checks: list[str]) -> None:
    first, second, third = load_model(MODEL), load_model(MODEL), load_model(MODEL, cache=False)
    assert len(checks) == 2  # the first, and the one that wants no cache
    assert first.self_check == second.self_check == third.self_check
    assert first.margin == second.margin == third.margin
    assert first.fingerprint() == second.fingerprint() == third.fingerprint()
    assert dict(first.describe()) == dict(second.describe())
    (file,) = cache.iterdir()
    assert file.stat().st_mode & 0o077 == 0


def test_what_one_process_compares_twice_it_compares_once(cache: Path, checks: list[str]) -> None:
    """Should know the very network again, and no other: not other weights, another label or another arithmetic."""
    network = random_network(Cell.GRU, (4,), outputs=3, seed=11)
    first, second = CompiledNetwork(network), CompiledNetwork(dataclasses.replace(network))
    assert len(checks) == 1
    assert first.self_check == second.self_check
    assert first.margin == second.margin
    CompiledNetwork(network, cache=False)
    CompiledNetwork(network, dtype="float64")
    second.for_label(2)
    CompiledNetwork(dataclasses.replace(network, head_bias=network.head_bias + 1))
    assert len(checks) == 5
    assert not cache.exists()


def test_no_more_checks_are_remembered_than_there_is_room_for(monkeypatch, checks: list[str]) -> None:
    monkeypatch.setattr("rnncheck.models.engine.self_check_cache._MOST_OF_THIS_PROCESS", 0)
    network = random_network(Cell.GRU, (4,), seed=13)
    assert CompiledNetwork(network).self_check == CompiledNetwork(network).self_check
    assert len(checks) == 2


def test_a_check_that_was_passed_elsewhere_is_measured_by_what_is_allowed_here(monkeypatch) -> None:
    network = random_network(Cell.GRU, (4,), seed=12)
    CompiledNetwork(network)
    monkeypatch.setattr(compiled, "TOLERANCE", -1.0)
    with pytest.raises(SelfCheckError):
        CompiledNetwork(network)


def test_without_a_cache_nothing_is_written(cache: Path) -> None:
    load_model(MODEL, cache=False)
    assert not cache.exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"\xff\x00"),
        lambda file: file.write_bytes(file.read_bytes()[:-20]),
        lambda file: file.write_bytes(b"[" * 60_000),
        lambda file: file.write_bytes(b" " * 100_000),
        lambda file: _change(file, "largest_difference", 0.0),
        lambda file: _change(file, "words", 10**6),
        lambda file: _change(file, "key", "0" * 64),
        lambda file: _change(file, "schema", "rnncheck/self-check/2"),
        lambda file: file.chmod(0o666),
        lambda file: (file.unlink(), file.mkdir()),
    ],
)
def test_what_is_not_as_it_should_be_is_as_if_it_were_not_there(cache: Path, checks: list[str], damage) -> None:
    first = load_model(MODEL)
    (file,) = cache.iterdir()
    damage(file)
    again = load_model(MODEL)
    assert len(checks) == 2
    assert again.self_check == first.self_check


def _change(file: Path, name: str, value: object) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), name: value}))
    file.chmod(0o600)


def test_a_place_that_cannot_be_written_costs_nothing(tmp_path: Path, monkeypatch, checks: list[str]) -> None:
    (tmp_path / "file").write_text("no folder")
    for told in (str(tmp_path / "file"), "relative/path", ""):
        monkeypatch.setenv("XDG_CACHE_HOME", told)
        monkeypatch.setenv("HOME", str(tmp_path / "file"))
        load_model(MODEL)
    assert len(checks) == 3


@pytest.mark.parametrize("other", ["processor", "version", "dtype", "network"])
def test_another_machine_version_or_network_is_another_check(monkeypatch, cache: Path, checks, other: str) -> None:
    load_model(MODEL)
    options = {}
    if other in ("processor", "version"):
        monkeypatch.setattr("rnncheck.models.engine.self_check_cache._machine", lambda: (other,))
    if other == "dtype":
        options["dtype"] = "float64"
    load_model(zoo.path("tomita4-gru") if other == "network" else MODEL, **options)
    assert len(checks) == 2
    assert len(list(cache.iterdir())) == 2


def test_a_check_that_fails_is_not_remembered(monkeypatch, cache: Path) -> None:
    monkeypatch.setattr(compiled, "TOLERANCE", -1.0)
    network = random_network(Cell.GRU, (4,))
    with pytest.raises(SelfCheckError):
        CompiledNetwork(network, cache=True)
    assert not cache.exists()


@pytest.mark.parametrize("at_once", [1 << 16, 24])
@pytest.mark.parametrize("cell", Cell)
def test_the_plain_evaluation_side_by_side_is_that_of_each_word_alone(cell: Cell, at_once: int, monkeypatch) -> None:
    monkeypatch.setattr("rnncheck.models.engine.stepped_reference._GATE_VALUES", at_once)
    network = random_network(cell, (5, 4))
    rng = np.random.default_rng(0)
    words = [tuple(rng.integers(3, size=size).tolist()) for size in (1, 7, 3, 12, 1)]
    ours = CompiledNetwork(network)._reference_scores(WordBatch.from_codes(words))
    assert ours == [reference_prefix_scores(network, word) for word in words]


def test_the_file_of_another_user_is_not_read(cache: Path, checks: list[str], monkeypatch) -> None:
    load_model(MODEL)
    if hasattr(os, "getuid"):
        mine = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: mine + 1)
        load_model(MODEL)
        assert len(checks) == 2


def test_matrices_that_no_cache_holds_are_multiplied_as_if_alone() -> None:
    """Bit by bit, whatever is multiplied beside it and in however many parts."""
    rng = np.random.default_rng(0)
    for rows, columns in ((2100, 520), (1111, 1030)):
        weight = rng.normal(size=(rows, columns)).astype(np.float32)
        x = rng.normal(size=(5, columns)).astype(np.float32)
        with single_threaded_blas:
            assert np.array_equal(row_products(weight, x), [weight @ row for row in x])


def test_of_a_large_network_fewer_words_are_read_and_long_ones_where_differences_grow() -> None:
    everything, none = check_words(3, 1, 16, bounded=True, longest=None)
    assert sorted(map(len, everything))[-3:] == [100, 250, 500]
    assert none == []
    some, far = check_words(3, 1 << 24, 16, bounded=True, longest=None)
    assert [len(word) for word in some] == [100, 67, 34, 1, 100, 100]
    assert [len(word) for word in far] == [250, 500]
    assert {*some, *far} <= set(everything)
    assert check_words(3, 1 << 40, 64, bounded=False, longest=None)[1] == []
    some, far = check_words(3, 1 << 40, 64, bounded=True, longest=7)
    assert {*map(len, some + far)} == {7}


@pytest.mark.parametrize(("factor", "seen"), [(1.0, False), (1.01, True), (0.99, False)])
def test_growth_of_differences_is_seen_within_a_hundred_letters(factor: float, seen: bool) -> None:
    lengths = np.tile(np.arange(1, 101), 3)
    assert grows(lengths, 1e-8 * factor**lengths) is seen
    assert grows(lengths, np.where(lengths < 60, 0.0, 1e-9))
    assert not grows(lengths, np.zeros(300))


@pytest.mark.parametrize("growing", [False, True])
def test_long_words_of_a_large_network_are_compared_where_differences_grow(monkeypatch, growing: bool) -> None:
    monkeypatch.setattr(check_words_module, "_MOST_PRODUCTS", 1 << 17)
    monkeypatch.setattr(compiled, "grows", lambda *_: growing)
    assert CompiledNetwork(random_network(hidden=(6,)), cache=False).self_check.words == 402 + 750 * growing
