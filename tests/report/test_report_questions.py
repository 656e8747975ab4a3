"""Reports and pictures of verdicts about labels, with the mistakes learned, and too large for a page."""

import json
import re

import pytest

import rnncheck
from rnncheck import zoo
from rnncheck.automata.formats.dot import read_dot
from rnncheck.automata.formats.moore_files import machine_text, read_moore_json
from rnncheck.automata.moore import MooreMachine
from rnncheck.cli.draw_command import command as draw_command
from rnncheck.cli.extract_command import command as extract
from rnncheck.display import page_of
from rnncheck.errors import FormatError, InputError
from rnncheck.extraction.compare import compare_surrogates
from rnncheck.models.adapters import DFAModel
from rnncheck.models.traces import trace_model
from rnncheck.report.automaton import graphviz
from rnncheck.report.notebook import rich_forms
from rnncheck.report.page.verdict_page import report_page
from rnncheck.verdict.value import Verdict
from rnncheck.verification.explanation.evidence import with_scores
from support import samples
from support.samples import changed as replace

needs_graphviz = pytest.mark.skipif(not graphviz.available(), reason="the extra `draw` is not installed")


def part(page: str, key: str) -> str:
    """The text of a section, without markup."""
    (content,) = re.findall(rf'<section id="{key}".*?</section>', page, re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", content))


def read(verdict: Verdict) -> Verdict:
    return Verdict.from_json(verdict.to_json())


def draw(source, *arguments: object) -> None:
    draw_command.main([str(source), *map(str, arguments)], standalone_mode=False)


def test_a_verdict_about_labels_tells_of_labels() -> None:
    """Should show the formula and what the network says after each letter, not the property of all words."""
    page = report_page(samples.labels())
    assert "The network&#x27;s labels along a sequence break the property." in page
    assert "G(label=malformed -&gt; G label=malformed)" in page
    assert "network says – malformed decimal" in part(page, "counterexample").replace("  ", " ")
    assert "network’s score" not in page
    assert "⊇" not in page
    assert "over pairs of a letter and the label" in part(page, "automata")
    assert report_page(read(samples.labels())) == page


def test_labels_are_added_to_a_document_that_lacks_them() -> None:
    """Should ask the network for its labels, and judge it by them, where a verdict was written without."""
    verdict = samples.labels()
    unsaid = replace(verdict.label_question, said=None)
    bare = replace(verdict, label_question=unsaid, trace=None)
    assert ">network says<" not in report_page(bare)
    assert ">network says<" in report_page(verdict)
    model = rnncheck.load_model(zoo.path("tokens-gru"))
    assert report_page(with_scores(bare, model)) == report_page(verdict)
    judged = trace_model(model, verdict.label_question.automaton)
    assert not judged.accepts(verdict.counterexample)
    assert judged.accepts(verdict.counterexample[:-1])
    assert trace_model(judged, verdict.label_question.automaton) is judged


@pytest.mark.parametrize(
    ("name", "value"),
    [("said", ["decimal"]), ("said", ["decimal", "colour"]), ("labels", ["x", "y"]), ("automaton", None), ("text", 7)],
)
def test_labels_that_do_not_fit_are_refused(name: str, value: object) -> None:
    document = json.loads(samples.labels().to_json())
    document["label_question"][name] = value
    with pytest.raises(FormatError, match="verdict"):
        Verdict.from_json(json.dumps(document))


def test_the_language_of_the_mistakes_is_shown() -> None:
    """Should have expression, precision and automaton, and the automaton should know the counterexample."""
    verdict = samples.mistakes()
    page = report_page(verdict)
    shown = part(page, "mistakes")
    assert "as an expression" in shown
    assert "precision" in shown
    assert "not in E" not in shown
    assert "this method learns only the mistakes" in part(page, "automata")
    assert "states of E" in page or "1 round of" in page
    assert report_page(read(verdict)) == page


def test_a_mistake_that_the_language_lacks_is_told() -> None:
    verdict = samples.mistakes()
    other = ("a", "a")
    assert not verdict.specification.accepts(verdict.counterexample)
    assert "not in E" in part(report_page(replace(verdict, counterexample=other, trace=None)), "mistakes")


@needs_graphviz
def test_notebooks_show_what_was_asked_and_learned() -> None:
    """Should draw the specification over pairs, and the mistakes, and no scores where there are none."""
    about = rich_forms(samples.labels())["text/html"]
    assert "labels along a sequence break" in about
    assert "point/malformed" in about
    assert "network’s score" not in about
    assert "Mistakes E" in rich_forms(samples.mistakes())["text/html"]
    assert "Mistakes E" not in rich_forms(samples.faulty())["text/html"]


def test_a_verdict_too_large_to_try_says_so() -> None:
    """Should not leave a reader looking for the field that other reports have."""
    assert "too large to be in this page" in part(report_page(samples.huge()), "try")


@needs_graphviz
def test_mistakes_and_labels_are_drawn(tmp_path) -> None:
    """Should draw what was learned, or the specification that was given, and colour the counterexample in it."""
    for name, parts in (("mistakes", ("auto", "errors", "spec")), ("labels", ("auto", "hypothesis", "spec"))):
        document = tmp_path / f"{name}.json"
        document.write_text(getattr(samples, name)().to_json())
        for which in parts:
            draw(document, "-o", tmp_path / f"{name}-{which}.dot", "--part", which)
    learned = read_dot((tmp_path / "mistakes-errors.dot").read_text())
    assert learned.accepts(samples.mistakes().counterexample)
    assert "digit/malformed" in (tmp_path / "labels-spec.dot").read_text()
    with pytest.raises(InputError, match="no hypothesis automaton, only errors and spec"):
        draw(tmp_path / "mistakes.json", "-o", tmp_path / "x.dot", "--part", "hypothesis")


@needs_graphviz
@pytest.mark.parametrize("suffix", [".dot", ".json"])
def test_a_moore_machine_is_drawn_with_its_labels(tmp_path, suffix: str) -> None:
    """Should name what each state says, and speak neither of accepting nor of traps."""
    sink = [[4, 0], [4, 1], [4, 2], [4, 3], [4, 4]]
    machine = MooreMachine(["a", "<b>"], ["idle", "<alarm>"], sink, [0, 1, 0, 1, 0])
    path = tmp_path / f"m{suffix}"
    path.write_text(machine_text(machine, str(path)))
    draw(path, "-o", tmp_path / "m.svg")
    text = (tmp_path / "m.svg").read_text()
    assert "1: &lt;alarm&gt;" in text
    assert "4: idle" in text
    assert "refusing" not in text
    assert "trap" not in text


def test_a_moore_machine_is_read_back() -> None:
    machine = MooreMachine(["a", "<b>"], ["idle", "<alarm>"], [[1, 0], [0, 1]], [0, 1], 1)
    assert read_moore_json(machine_text(machine, "m.json").encode(), "m.json") == machine
    for broken in (
        b"{}",
        b'{"schema": "rnncheck/moore/1"}',
        machine_text(machine, "m.json").replace("1", "7").encode(),
    ):
        with pytest.raises(FormatError, match=r"m\.json: not a Moore machine"):
            read_moore_json(broken, "m.json")


def test_a_machine_is_not_extracted_from_hidden_states() -> None:
    """Should not take --method weiss and then learn in its own way."""
    with pytest.raises(InputError, match=r"learned from answers, and weiss .*; choose pac or bounded"):
        extract.main(
            [str(zoo.path("tokens-gru")), "--moore", "--method", "weiss", "-o", "m.dot"], standalone_mode=False
        )


def test_a_comparison_of_surrogates_fits_a_telephone(browser, tmp_path) -> None:
    """Should scroll its table sideways inside itself, with words that stay in one piece, and follow a dark system."""
    comparison = compare_surrogates(
        DFAModel(samples.mistakes().specification),
        methods=["pac"],
        epsilon=0.05,
        gamma=0.05,
        words=100,
        timeout=120,
    )
    path = tmp_path / "table.html"
    path.write_text(page_of(comparison))
    page = browser.open(path, width=400, height=800, dark=True)
    assert page.run("document.documentElement.scrollWidth") <= 400
    assert page.run("document.querySelector('td').getBoundingClientRect().height") < 80
    bright = re.findall(r"\d+", page.run("getComputedStyle(document.body).color"))
    assert min(map(int, bright)) > 200
    assert page.run("document.querySelector('img').naturalWidth") > 100
    assert page.complaints == []
    page.close()
