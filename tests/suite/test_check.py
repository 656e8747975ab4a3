"""A property file, verified: the verdicts are those of verify, wherever they are found; files can be read."""

import dataclasses
import functools
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rnncheck import Spec, Suite, SuiteResult, VerifySettings, check, load_model, verify, zoo
from rnncheck.errors import InputError
from rnncheck.models.adapters import DFAModel
from rnncheck.models.files.safetensors_file import save_network
from rnncheck.report.checks.junit import junit_xml
from rnncheck.report.checks.sarif import sarif_json
from rnncheck.report.checks.summary_page import report_names, summary_page
from rnncheck.runtime.budget import INTERRUPTED
from rnncheck.suite.check_results import Check
from rnncheck.suite.property_file import Severity
from rnncheck.verdict.facts import Strength
from rnncheck.verdict.guarantee import Guarantee
from rnncheck.verdict.value import Undecided, Verdict, Violated
from support import samples
from support.robust_networks import robust_network

LETTERS = ["a", "b", "c"]
SUITE = """
title = "Requests <and> answers"
[defaults]
epsilon = 0.05
gamma = 0.05
search_steps = 2000
[models.good]
path = "good.safetensors"
[models.faulty]
path = "faulty.safetensors"
[properties.answered]
description = "Every request is answered & more."
ltlf = "G(a -> F b)"
tags = ["safety"]
[properties.ends]
regex = ".* b"
severity = "warning"
[properties.no-c]
ltlf = "G(!c)"
models = ["good"]
severity = "note"
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    save_network(robust_network(Spec.from_ltlf("G(a -> F b)", LETTERS).dfa), tmp_path / "good.safetensors")
    save_network(robust_network(Spec.from_ltlf("F b", LETTERS).dfa), tmp_path / "faulty.safetensors")
    path = tmp_path / "suite.toml"
    path.write_text(SUITE)
    return path


def facts(document: str) -> Any:
    """A document without what a clock has a say in."""
    reported = json.loads(document)

    def cleaned(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: cleaned(one) for name, one in value.items() if "seconds" not in name and name != "command"}
        return [cleaned(one) for one in value] if isinstance(value, list) else value

    return cleaned(reported)


def test_every_property_of_every_model_has_the_verdict_of_verify(suite: Path) -> None:
    """Should be what single calls say, counts included, though computations are shared."""
    result = check(suite)
    pairs = [(one.model, one.name) for one in result.checks]
    assert pairs == [
        ("good", "answered"),
        ("good", "ends"),
        ("good", "no-c"),
        ("faulty", "answered"),
        ("faulty", "ends"),
    ]
    for one in result.checks:
        model = load_model(suite.parent / f"{one.model}.safetensors")
        make = Spec.from_regex if one.kind == "regex" else Spec.from_ltlf
        alone = verify(
            model, make(one.text, model.alphabet), epsilon=0.05, gamma=0.05, settings=VerifySettings(search_steps=2000)
        )
        assert one.verdict is not None
        assert facts(one.verdict.to_json()) == facts(alone.to_json())
    assert [one.outcome for one in result.checks] == ["satisfied", "violated", "violated", "violated", "violated"]
    assert [one.allowed for one in result.checks] == [True, True, True, False, True]
    assert (result.exit_code, result.passed) == (1, False)
    assert facts(SuiteResult.from_json(result.to_json()).to_json()) == facts(result.to_json())


def test_a_network_that_remembers_answers_as_before() -> None:
    """Should give the same verdict and counts with a memory that is empty, and with one that is full."""
    plain = load_model(zoo.path("response-faulty-lstm"))
    remembering = plain.with_cache()  # type: ignore[attr-defined]
    for text in ("G(a -> F b)", "G(c -> F b)", "G(a -> F b)"):
        spec = Spec.from_ltlf(text, plain.alphabet)
        ours, theirs = (verify(model, spec, epsilon=0.05, gamma=0.05) for model in (plain, remembering))
        assert facts(ours.to_json()) == facts(theirs.to_json())


def test_workers_and_resuming_change_nothing(suite: Path, tmp_path: Path) -> None:
    """Should be the same result; what is kept is not done again, and what has changed is."""
    kept = tmp_path / "kept.json"
    alone = check(suite, checkpoint=kept)
    assert facts(check(suite, workers=2).to_json()) == facts(alone.to_json())
    again = check(suite, checkpoint=kept, resume=True)
    assert [one.verdict.cost.seconds for one in again.checks if one.verdict] == [
        one.verdict.cost.seconds for one in alone.checks if one.verdict
    ]
    suite.write_text(SUITE.replace('regex = ".* b"', 'regex = ".*"'))
    changed = check(suite, checkpoint=kept, resume=True)
    assert [one.outcome for one in changed.checks if one.name == "ends"] == ["satisfied", "satisfied"]
    with pytest.raises(InputError, match="there is no checkpoint"):
        check(suite, checkpoint=tmp_path / "none.json", resume=True)
    kept.write_text("{}")
    with pytest.raises(InputError, match="not a checkpoint"):
        check(suite, checkpoint=kept, resume=True)


def test_what_is_wrong_with_one_check_is_told_of_that_one(suite: Path) -> None:
    """Should go on with the others, and exit with 2."""
    suite.write_text(
        SUITE + '[properties.broken]\nltlf = "G("\nmodels = ["good"]\n[models.lost]\npath = "none.safetensors"\n'
    )
    result = check(suite)
    errors = {(one.model, one.name): one.error for one in result.checks if one.outcome == "error"}
    assert set(errors) == {("good", "broken"), ("lost", "answered"), ("lost", "ends")}
    assert "property 'broken'" in str(errors["good", "broken"])
    assert "no such file" in str(errors["lost", "ends"])
    assert result.exit_code == 2
    root = ET.fromstring(junit_xml(result))
    assert root.get("errors") == "3"
    assert json.loads(sarif_json(result))["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_undecided_is_a_failure_unless_it_is_allowed(suite: Path) -> None:
    """Should exit with 3, and with 0 where the file says that it may be open."""
    text = SUITE.replace('[models.faulty]\npath = "faulty.safetensors"', "")
    text = text.replace("[defaults]", "[defaults]\ntimeout = 1e-9")
    suite.write_text(text)
    assert check(suite, properties=["answered"]).exit_code == 3
    suite.write_text(text.replace("[defaults]", "[defaults]\nallow_undecided = true"))
    assert check(suite, properties=["answered"]).exit_code == 0


def test_junit_has_a_test_for_each_check(suite: Path) -> None:
    """Should count as its readers do, and show the word and the flow."""
    root = ET.fromstring(junit_xml(check(suite)))
    assert root.tag == "testsuites"
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "1",
        "errors": "0",
        "skipped": "3",
    }
    assert root.get("name") == "Requests <and> answers"
    assert [inner.get("name") for inner in root] == ["good", "faulty"]
    (failure,) = root.iter("failure")
    assert "counterexample: b a (2 letters; the network accepts it, the specification rejects it)" in str(failure.text)
    assert "Every request is answered & more." in str(failure.text)
    assert "Traceback" not in str(failure.text)
    for case in root.iter("testcase"):
        assert case.get("classname")
        assert case.get("name")
        assert float(case.get("time") or "x") >= 0


@functools.cache
def _satisfied() -> Verdict:
    spec = Spec.from_regex("a*", ["a", "b"])
    return verify(DFAModel(spec.dfa), spec)


def judged(name: str, gamma: float | None) -> Check:
    """A check that is satisfied by a sample, or proved where γ is None."""
    guarantee = Guarantee(proof=True) if gamma is None else Guarantee(epsilon=0.01, gamma=gamma, samples=500)
    strength = Strength.PROVED if gamma is None else Strength.STATISTICAL
    verdict = msgspec.structs.replace(_satisfied(), guarantee=guarantee, strength=strength)
    return Check(model="m", name=name, kind="regex", text="a*", source="m", verdict=verdict)


def test_what_all_statistical_verdicts_say_together() -> None:
    """Should add up their γ, and theirs alone: proofs and violations are certain."""
    few = tuple(judged(f"p{number}", 0.01) for number in range(3))
    violated = judged("violated", 0.01)
    certain = msgspec.structs.replace(violated, verdict=samples.changed(
        violated.verdict, kind=Violated, counterexample=("b",)
    ))  # fmt: skip
    result = SuiteResult(suite="s", checks=(*few, judged("proved", None), certain), seconds=0.0)
    assert result.joint_confidence == pytest.approx(0.97)
    sentence = "the 3 statistical verdicts at γ = 0.01 each are all right with confidence at least 0.97"
    assert sentence in str(result.joint_sentence())
    assert sentence in junit_xml(result)
    assert sentence[4:] in summary_page(result, {})
    assert json.loads(result.to_json())["joint_confidence"] == pytest.approx(0.97)
    assert SuiteResult.from_json(result.to_json()) == result
    other = SuiteResult(suite="s", checks=(*few, judged("other", 0.02)), seconds=0.0)
    assert "the 4 statistical verdicts are all right with confidence at least 0.95" in str(other.joint_sentence())
    alone = SuiteResult(suite="s", checks=(few[0], judged("proved", None)), seconds=0.0)
    assert alone.joint_confidence is None
    assert alone.joint_sentence() is None
    many = SuiteResult(suite="s", checks=tuple(judged(f"p{number}", 0.5) for number in range(2)), seconds=0.0)
    assert many.joint_confidence == 0.0
    assert "have no joint confidence" in str(many.joint_sentence())


def test_sarif_has_the_shape_of_2_1_0(suite: Path) -> None:
    """Should have a rule for each property, and a result for each check that is not satisfied."""
    document = json.loads(sarif_json(check(suite)))
    assert document["version"] == "2.1.0"
    assert set(document) == {"$schema", "version", "runs"}
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["answered", "ends", "no-c"]
    assert run["tool"]["driver"]["name"] == "rnncheck"
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].endswith("suite.toml")
        assert place["region"]["startLine"] >= 1
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [
        ("ends", "warning"), ("no-c", "note"), ("answered", "error"), ("ends", "warning"),
    ]  # fmt: skip


def test_names_never_become_markup(tmp_path: Path, suite: Path) -> None:
    """Should escape names, titles and texts in every file; no control character breaks the XML."""
    evil = '<script>alert(1)</script>\\u0001\\"&'
    suite.write_text(
        SUITE.replace('title = "Requests <and> answers"', f'title = "{evil}"').replace(
            "[properties.ends]", f'[properties."{evil}"]'
        )
    )
    result = check(suite)
    root = ET.fromstring(junit_xml(result))
    assert any("<script>" in str(case.get("name")) for case in root.iter("testcase"))
    json.loads(sarif_json(result))
    names = report_names(result)
    assert len(set(names.values())) == len(result.checks)
    assert all(name.isascii() and "/" not in name and "<" not in name for name in names.values())
    page = summary_page(result, names, "2026-01-01")
    assert "<script>alert" not in page
    assert "2026-01-01" in page


def test_the_command_line(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should write every file, print one table, and exit with the worst that is not allowed."""
    from rnncheck.cli import main

    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(["check", *map(str, arguments)])
        reported = capsys.readouterr()
        return int(caught.value.code or 0), reported.out, reported.err

    files = {name: tmp_path / f"out.{name}" for name in ("junit", "sarif", "report", "json")}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    code, out, _ = run(suite, *options, "--quiet")
    assert code == 1
    assert "(allowed)" in out
    assert (
        out.rstrip()
        .split("\n")[-1]
        .startswith("FAILED: 3 properties of 2 models: 4 violated (3 of these allowed), 1 satisfied")
    )
    assert all(path.exists() for path in files.values())
    assert "1970-01-01" in files["report"].read_text()
    reports = sorted((tmp_path / "out-reports").glob("*.html"))
    assert len(reports) == 5
    assert all(f"out-reports/{path.name}" in files["report"].read_text() for path in reports)
    assert "rnncheck check" in reports[0].read_text()
    assert run(suite, "--tag", "safety", "--model", "good", "--quiet")[0] == 0
    for wrong, reported in (
        (["--tag", "x"], "no property has the tag 'x'"),
        (["--model", "x"], "no model 'x'"),
        (["--resume"], "--resume has no effect without"),
        (["--model", "faulty", "--property", "no-c"], "no property is left to verify"),
    ):
        code, _, err = run(suite, *wrong)
        assert (code, reported in err) == (2, True), err
    suite.write_text('[properties.p]\nltlf = "F a"\n')
    assert "there is no model in it" in run(suite)[2]


def test_what_was_not_begun_or_interrupted_is_never_allowed(suite: Path) -> None:
    """Should not pass a run that Ctrl-C ended, whatever the file allows."""
    entry, one = next(iter(Suite.read(suite).models)), next(iter(Suite.read(suite).properties))
    one = dataclasses.replace(one, allow_undecided=True, severity=Severity.WARNING)
    verdict = next(each.verdict for each in check(suite, properties=["answered"]).checks if each.verdict is not None)
    interrupted = samples.changed(verdict, kind=Undecided, reason=INTERRUPTED, guarantee=None)
    for reported in (Check.of(entry, one), Check.of(entry, one, verdict=interrupted)):
        assert not reported.allowed
        assert SuiteResult(suite="s", checks=(reported,), seconds=0.0).exit_code == 3


def test_a_checkpoint_that_cannot_be_written_costs_no_check(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise InputError("the disk is full")

    monkeypatch.setattr("rnncheck.suite.suite_checkpoint.write_checkpoint", full)
    found = check(suite, checkpoint=tmp_path / "kept")
    assert [one.outcome for one in found.checks] == [one.outcome for one in check(suite).checks]
    assert found.notes == ("the disk is full; the work went on, but cannot be resumed from there",)
    assert "disk is full" in summary_page(found, {})


@pytest.mark.parametrize("kind", ["ltlf", "trace_ltlf"])
def test_a_model_that_hangs_while_it_is_loaded_costs_its_own_checks_alone(
    kind: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should be undecided where letters are known, and an error where nobody can say them; others are done."""
    monkeypatch.syspath_prepend(suite.parent)
    (suite.parent / "slow_model.py").write_text("import time\n\ndef build():\n    time.sleep(60)\n")
    suite.write_text(
        '[models.slow]\nmodule = "slow_model:build"\n[models.good]\npath = "good.safetensors"\n'
        '[properties.p]\nltlf = "G(a -> F b)"\nmodels = ["good"]\nepsilon = 0.05\nsearch_steps = 2000\n'
        f'[properties.q]\n{kind} = "G(a -> F b)"\nmodels = ["slow"]\ntimeout = 0.2\n'
    )
    outcomes = {one.name: one.outcome for one in check(suite).checks}
    assert outcomes == {"p": "satisfied", "q": "undecided" if kind == "ltlf" else "error"}
