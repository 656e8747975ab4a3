"""``rnncheck prove`` and the replay of its certificate, from arguments to exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rnncheck import Spec
from rnncheck.models.exact_network import exact_network
from rnncheck.models.files.safetensors_file import save_network
from rnncheck.models.network import Cell
from support.proofs import with_one_word_changed
from support.robust_networks import robust_network

PROPERTY = ["--ltlf", "G(a -> F b)"]
RESPONSE = Spec.from_ltlf("G(a -> F b)", ["a", "b", "c"]).dfa


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    save_network(robust_network(RESPONSE, Cell.GRU), path)
    return path


def test_proved_written_and_replayed(run, model: Path, tmp_path: Path) -> None:
    proof, page = tmp_path / "proof.cert", tmp_path / "page.html"
    result = run("prove", model, *PROPERTY, "--relation", "equal", "--certificate", proof, "--report", page)
    assert result.code == 0, result
    assert "holds for every word of any length" in result.out
    assert "it is proved" in page.read_text()
    replayed = run("replay", proof, "--model", model)
    assert replayed.code == 0, replayed
    assert "confirmed\tboxes" in replayed.out
    assert "the proof stands" in replayed.out
    assert run("replay", proof).code == 3
    other = tmp_path / "other.safetensors"
    save_network(robust_network(RESPONSE, Cell.GRU, gain=7.0), other)
    assert run("replay", proof, "--model", other).code == 1
    proof.write_text(proof.read_text().replace('"relation":"equal"', '"relation":"subset"'))
    changed = run("replay", proof, "--model", model)
    assert changed.code == 1
    assert "REFUTED\tdocument" in changed.out


def test_as_a_method_of_verify(run, model: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof.cert"
    result = run("verify", model, *PROPERTY, "--method", "prove", "--certificate", proof, "--json", "-")
    assert result.code == 0
    document = json.loads(result.out)
    assert document["guarantee"]["invariant"]["certificate"] == str(proof)
    assert proof.exists()


def test_violated_and_not_proved(run, tmp_path: Path) -> None:
    wrong, unproved = tmp_path / "wrong.safetensors", tmp_path / "unproved.safetensors"
    save_network(robust_network(with_one_word_changed(RESPONSE, (1, 2))), wrong)
    result = run("prove", wrong, *PROPERTY, "--relation", "equal")
    assert result.code == 1
    assert "counterexample  b c" in result.out
    save_network(exact_network(RESPONSE), unproved)
    result = run("prove", unproved, *PROPERTY, "--context", 2, "--certificate", tmp_path / "none.cert")
    assert result.code == 3
    assert "not proved" in result.out
    assert not (tmp_path / "none.cert").exists()


def test_a_file_that_is_neither_verdict_nor_certificate(run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.cert"
    broken.write_text('{"schema":"rnncheck/proof/1"}')
    result = run("replay", broken)
    assert result.code == 2
    assert "not a certificate" in result.err
