"""``--before`` and ``--after``: models that read markers around every word, as options and in property files."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest

from rnncheck import save_network
from rnncheck.models.exact_network import exact_network
from rnncheck.spec import Spec

READ = ["<s>", "a", "b", "</s>"]
MARKERS = ("--before", "<s>", "--after", "</s>")
QUICK = ("--quiet", "--epsilon", "0.1", "--gamma", "0.1", "--search-steps", "100")


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file, and the same as code: accepts what stands between the markers and has an even number of b."""
    monkeypatch.chdir(tmp_path)
    spec = Spec.from_regex("'<s>' a* (b a* b a*)* '</s>'", READ)
    save_network(exact_network(spec.dfa), "network.safetensors")
    (tmp_path / "between.py").write_text(
        "def model(words):\n"
        "    return [w[:1] == ('<s>',) and w[-1:] == ('</s>',) and w.count('b') % 2 == 0 for w in words]\n\n\n"
        f"model.alphabet = {READ}\n"
    )
    return "network.safetensors"


@pytest.mark.parametrize("model", [("network.safetensors",), ("--module", "between:model")])
def test_words_are_read_between_markers(run: Any, network: str, model: tuple[str, ...]) -> None:
    """Should be about the letters that are no markers, written, repeated and replayed so."""
    asked = ("verify", *model, *MARKERS, *QUICK, "--max-length", 6)
    assert run(*asked, "--regex", "a* (b a* b a*)*", "--relation", "equal").code == 0
    found = run(*asked, "--regex", "a*", "--json", "v.json", "--report", "v.html")
    assert found.code == 1
    written = json.loads(Path("v.json").read_text())
    assert written["counterexample"] == ["b", "b"]
    assert "--before '<s>' --after '</s>'" in written["command"]
    reported = html.unescape(Path("v.html").read_text())
    assert "--before '<s>' --after '</s>'" in reported
    again = ("replay", "v.json", *(("--model", *model) if len(model) == 1 else model))
    assert run(*again, *MARKERS).code == 0
    assert run(*again, "--before", "</s>", "--after", "<s>").code == (
        2 if len(model) == 1 else 1  # another model, of the same letters; a function has no digest
    )
    answers = run("classify", *model, *MARKERS, "--word", "a b", "--word", "").out.splitlines()
    assert [line.split("\t")[0] for line in answers] == ["rejected", "accepted"]
    assert run("robust", *model, *MARKERS, "--word", "b").code == 1


def test_two_models_between_the_same_markers(run: Any, network: str) -> None:
    both = (network, "--new-module", "between:model")
    assert run("diff", *both, *MARKERS, *QUICK).code == 0
    assert run("verify", "--module", "between:model", "--against", network, *MARKERS, *QUICK).code == 0
    differing = run("diff", *both, "--before", "<s>", *QUICK, "--max-length", 2)  # what is no marker is a letter
    assert "counterexample  </s> </s>" in differing.out


def test_property_files_have_markers(run: Any, network: str) -> None:
    """Should be written by init, a letter or a list of them, and named in the errors."""
    assert run("init", network, *MARKERS).code == 0
    written = Path("suite.toml").read_text()
    assert 'before = ["<s>"]\nafter = ["</s>"]' in written
    asked = written.replace("ltlf = \"F 'a'\"", 'regex = "a* (b a* b a*)*"').replace('["<s>"]', '"<s>"')
    Path("suite.toml").write_text(asked.replace("[defaults]", "[defaults]\nsearch_steps = 100"))
    assert run("check", "suite.toml", "--quiet").code == 0
    Path("suite.toml").write_text(asked.replace('"<s>"', "3"))
    assert 'write a list of texts, such as ["a", "b"]' in run("check", "suite.toml").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("verify", "--before", "", "--ltlf", "F a"), "--before '' names no letter"),
        (("verify", "--after", "'x", "--ltlf", "F a"), "--after: "),
        (("verify", "--after", "<e>", "--ltlf", "F a"), "the delimiter '<e>' is not among the model's letters"),
        (("prove", "--before", "<s>", "--ltlf", "F a"), "--before has no effect here: a proof is about"),
        (("harden", "--after", "</s>", "--ltlf", "F a", "-o", "h.safetensors"), "--after has no effect here"),
        (("repair", "--after", "</s>", "--ltlf", "F a", "-o", "h.safetensors"), "--after has no effect here"),
    ],
)
def test_markers_that_mean_nothing_are_refused(run: Any, network: str, arguments: tuple[str, ...], said: str) -> None:
    command, *rest = arguments
    result = run(command, network, *rest)
    assert result.code == 2
    assert said in result.err
