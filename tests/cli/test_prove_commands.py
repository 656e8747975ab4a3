"""``rnncheck prove`` and the replay of its certificate, from arguments to exit code."""

from __future__ import annotations

import itertools
import json
import shlex
from pathlib import Path

import pytest

from rnncheck import Spec, zoo
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
    assert "this is proved" in page.read_text()
    replayed = run("replay", proof, "--model", model)
    assert replayed.code == 0, replayed
    assert "confirmed\tboxes" in replayed.out
    assert "the proof stands" in replayed.out
    assert run("replay", proof).code == 3
    other = tmp_path / "other.safetensors"
    save_network(robust_network(RESPONSE, Cell.GRU, gain=7.0), other)
    mistaken = run("replay", proof, "--model", other)
    assert mistaken.code == 2
    assert "give that model" in mistaken.err
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
    hardened = tmp_path / "unproved-hardened.safetensors"
    command = shlex.join(["rnncheck", "harden", str(unproved), *map(str, PROPERTY), "-o", str(hardened)])
    assert sorted(shlex.split(result.out.partition("keeps its answers: ")[2].splitlines()[0])) == sorted(
        shlex.split(command)
    )
    result = run("replay", tmp_path / "none.cert", "--model", unproved)
    assert result.code == 3  # a proof of a part is never taken for one of every word
    assert "are not proved" in result.out


def test_a_property_of_labels_is_sent_to_verify(run) -> None:
    for option in ("--trace-ltlf", "--trace-regex"):
        result = run("prove", zoo.path("tokens-gru"), option, "G label=integer")
        assert result.code == 2
        assert f"rnncheck verify {option}" in result.err
        assert "--label" in result.err
    assert "--moore" not in run("prove", "--help").out


def test_a_file_that_is_neither_verdict_nor_certificate(run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.cert"
    broken.write_text('{"schema":"rnncheck/proof/1"}')
    result = run("replay", broken)
    assert result.code == 2
    assert "not a certificate" in result.err


ASKED = ["--ltlf", "G(a -> F b)", "--alphabet", "a,b,c"]


def test_a_network_is_trained_with_its_proof(run, tmp_path) -> None:
    model, proof = tmp_path / "model.safetensors", tmp_path / "proof.cert"
    shape = ["--provable", "--cell", "rnn_tanh", "--hidden", 12]
    result = run("train", *ASKED, *shape, "-o", model, "--certificate", proof, "--quiet")
    assert result.code == 0, result
    assert "L(R) = L(A) is proved for every word" in result.out
    assert "100.00% of" in result.out
    assert run("replay", proof, "--model", model).code == 0
    assert run("prove", model, *ASKED, "--relation", "equal", "--quiet").code == 0


def test_a_network_that_is_not_proved_says_why_and_shows_a_wrong_word(run, tmp_path) -> None:
    model, proof = tmp_path / "model.safetensors", tmp_path / "proof.cert"
    short = ["--provable", "--hidden", 2, "--timeout", 0.001]
    result = run("train", *ASKED, *short, "-o", model, "--certificate", proof, "--quiet")
    assert result.code == 1, result
    assert "is not proved, and wrong on the word" in result.out
    assert "in the way:" in result.out
    assert model.exists()
    assert not proof.exists()


def test_a_network_of_the_zoo_is_hardened(run, tmp_path) -> None:
    hard, proof = tmp_path / "hard.safetensors", tmp_path / "proof.cert"
    even = ["--regex", "(b* a b* a)* b*"]
    result = run("harden", zoo.path("even-elman"), *even, "--relation", "equal", "-o", hard, "--certificate", proof)
    assert result.code == 0, result
    assert "before 100.00%, 0 changed" in result.out
    assert run("replay", proof, "--model", hard).code == 0


def test_words_with_labels_are_enough_for_a_proof(run, tmp_path) -> None:
    """The words have an even number of a; the automaton that they are merged to is in the certificate."""
    words, model, proof = tmp_path / "words.tsv", tmp_path / "model.safetensors", tmp_path / "proof.cert"
    drawn = ["".join(word) for length in range(6) for word in itertools.product("ab", repeat=length)]
    words.write_text("".join(f"{int(word.count('a') % 2 == 0)}\t{' '.join(word) or 'ε'}\n" for word in drawn))
    asked = ["--provable", "--words", words, "--cell", "gru", "--hidden", 8]
    result = run("train", *asked, "-o", model, "--certificate", proof, "--quiet")
    assert result.code == 0, result
    assert json.loads(proof.read_text())["origin"] == str(words)
    assert run("replay", proof, "--model", model).code == 0
    assert run("prove", model, "--regex", "(b* a b* a)* b*", "--relation", "equal", "--quiet").code == 0


@pytest.mark.parametrize(("formula", "words"), [("a & !a", "no word"), ("true", "every word")])
def test_a_specification_of_all_words_or_none_is_remarked_on(run, tmp_path, formula: str, words: str) -> None:
    hard = tmp_path / "hard.safetensors"
    result = run("harden", zoo.path("even-elman"), "--ltlf", formula, "-o", hard, "--iterations", 1, "--quiet")
    assert f"the specification accepts {words}; is that what was meant?" in result.err


@pytest.mark.slow
@pytest.mark.parametrize("source", ["--own-answers", "--words"])
def test_a_network_is_hardened_without_a_specification(run, tmp_path, source: str) -> None:
    words, hard, proof = tmp_path / "words.tsv", tmp_path / "hard.safetensors", tmp_path / "proof.cert"
    words.write_text("yes\ta a\nno\ta b\n")
    asked = [source] if source == "--own-answers" else [source, words]
    result = run("harden", zoo.path("even-elman"), *asked, "-o", hard, "--certificate", proof, "--quiet")
    assert result.code == 0, result
    assert "L(R) = L(A) is proved for every word" in result.out
    assert run("replay", proof, "--model", hard).code == 0


def test_a_network_that_would_be_worse_is_not_written(run, tmp_path, monkeypatch) -> None:
    from rnncheck.training.certified import certified_result as hardened

    monkeypatch.setattr(hardened.HardeningReport, "spoilt", True)
    hard = tmp_path / "hard.safetensors"
    result = run("harden", zoo.path("even-elman"), "--regex", "(b* a b* a)* b*", "-o", hard, "--iterations", 1)
    assert result.code == 3, result
    assert "nothing is written" in result.out
    assert not hard.exists()


def test_when_a_network_is_spoilt() -> None:
    from rnncheck.relations import Relation
    from rnncheck.training.certified.certified_result import HardeningEnding, HardeningReport

    def report(ending: HardeningEnding, accuracy: float, before: float | None) -> HardeningReport:
        return HardeningReport(ending, Relation.EQUAL, 1, 1, 1.0, accuracy, before, 0, 100, None, 0.0, None, None)

    given_up = next(ending for ending in HardeningEnding if ending is not HardeningEnding.PROVED)
    assert report(given_up, 0.9, 1.0).spoilt
    assert not report(given_up, 1.0, 1.0).spoilt
    assert not report(given_up, 0.5, None).spoilt  # trained from the start
    assert not report(HardeningEnding.PROVED, 0.9, 1.0).spoilt


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", *ASKED, "--provable", "-o", "x.safetensors", "--count", 50], "--count has no effect"),
        (["train", *ASKED, "-o", "x.safetensors", "--certificate", "x.cert"], "--certificate has no effect"),
        (["train", *ASKED, "--provable", "-o", "x.pt"], "must end in .safetensors"),
        (["harden", zoo.path("even-elman"), "--ltlf", "F a", "-o", "x.pt"], "must end in .safetensors"),
        (["harden", zoo.path("even-elman"), "-o", "x.safetensors"], "give one of these: a specification"),
        (
            ["harden", zoo.path("even-elman"), "--ltlf", "F a", "--own-answers", "-o", "x.safetensors"],
            "give one of these",
        ),
        (["harden", zoo.path("even-elman"), "--words", "absent", "-o", "x.safetensors"], "absent"),
        (
            ["harden", zoo.path("even-elman"), "--own-answers", "--relation", "subset", "-o", "x.safetensors"],
            "--relation has no effect with --own-answers",
        ),
        (
            ["harden", zoo.path("even-elman"), "--ltlf", "F a", "--column", "w", "-o", "x.safetensors"],
            "--column has no effect without a file of words",
        ),
        (["harden", "absent.pt", "--ltlf", "F a", "-o", "x.safetensors"], "absent.pt"),
        (["harden", zoo.path("even-elman"), "--ltlf", "F a", "--timeout", 0, "-o", "x.safetensors"], "timeout"),
        (["harden", zoo.path("even-elman"), "--ltlf", "F x", "-o", "x.safetensors"], "x"),
    ],
)
def test_bad_input_to_provable_training_is_one_clear_line(run, arguments, message, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.code == 2, result
    assert message in result.err
    assert "Traceback" not in result.err


def test_a_verdict_is_replayed_with_the_certificate_that_it_names(run, model: Path, tmp_path: Path) -> None:
    verdict, proof = tmp_path / "verdict.json", tmp_path / "proof.cert"
    asked = ["prove", model, *PROPERTY, "--quiet"]
    assert run(*asked, "--certificate", proof, "--json", verdict).code == 0
    replayed = run("replay", verdict, "--model", model)
    assert replayed.code == 0, replayed
    assert "confirmed\tproof: boxes" in replayed.out
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for file in (verdict, proof):
        file.rename(moved / file.name)
    assert run("replay", moved / "verdict.json", "--model", model).code == 0
    (moved / "proof.cert").rename(tmp_path / "other.cert")
    lost = run("replay", moved / "verdict.json", "--model", model)
    assert lost.code == 3
    assert "give it with --certificate FILE" in lost.out
    assert run("replay", moved / "verdict.json", "--model", model, "--certificate", tmp_path / "other.cert").code == 0


def test_a_certificate_of_another_question_confirms_no_verdict(run, model: Path, tmp_path: Path) -> None:
    verdict, other = tmp_path / "verdict.json", tmp_path / "other.cert"
    assert run("prove", model, *PROPERTY, "--quiet", "--json", verdict).code == 0
    assert run("prove", model, "--regex", ".*", "--quiet", "--certificate", other).code == 0
    digest = json.loads(other.read_text())["sha256"]
    document = json.loads(verdict.read_text())
    document["guarantee"]["invariant"] |= {"certificate": str(other), "sha256": digest}
    verdict.write_text(json.dumps(document))
    replayed = run("replay", verdict, "--model", model)
    assert replayed.code == 1, replayed
    assert "REFUTED\tproof: question" in replayed.out


def test_a_property_of_a_file_brings_its_terms(run, model: Path, tmp_path: Path) -> None:
    """Should prove what the file says, by its relation and assumption, unless an option says otherwise."""
    suite = tmp_path / "suite.toml"
    suite.write_text(
        '[properties.same]\nltlf = "G(a -> F b)"\nrelation = "equal"\n'
        '[properties.no-a]\nltlf = "false"\nassume = "F a & G(a -> F b)"\nrelation = "superset"\nmax_length = 7\n'
    )
    proved = run("prove", model, "--spec", suite, "--property", "same", "--json", "-")
    assert proved.code == 0, proved
    assert json.loads(proved.out)["relation"] == "equal"
    other = run("prove", model, "--spec", suite, "--property", "same", "--relation", "subset", "--json", "-")
    assert json.loads(other.out)["relation"] == "subset"
    assumed = json.loads(run("prove", model, "--spec", suite, "--property", "no-a", "--json", "-").out)
    assert (assumed["relation"], assumed["scope"]["assumption"]["max_length"]) == ("superset", 7)
    for wrong, reported in (
        (["--spec", suite], "there are 2 properties; choose one: same, no-a"),
        (["--spec", suite, "--property", "x"], "no property 'x'"),
        (["--spec", suite, "--property", "same", *PROPERTY], "got --ltlf and --spec"),
        ([*PROPERTY, "--property", "same"], "--property has no effect without --spec"),
    ):
        result = run("prove", model, *wrong)
        assert result.code == 2
        assert reported in result.err
