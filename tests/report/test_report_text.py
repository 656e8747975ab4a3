"""The page as text: sections, sentences, security policy, colours; and how values show themselves in notebooks."""

import base64
import hashlib
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from rnncheck import Spec
from rnncheck.automata.language import all_words
from rnncheck.errors import InputError
from rnncheck.relations import Relation
from rnncheck.report import palette
from rnncheck.report.automaton import graphviz
from rnncheck.report.page import page_of
from rnncheck.report.page.reproduce import python_call, replay_text
from rnncheck.report.page.verdict_page import report_page
from rnncheck.report.plots import gauge, pumping_plot, rounds_plot, ticks
from rnncheck.search.flows import FlowSettings
from rnncheck.verdict import text as sentences
from rnncheck.verdict.facts import HealthNote, SpecFacts, Strength
from rnncheck.verdict.guarantee import Guarantee
from rnncheck.verdict.value import Satisfied
from rnncheck.verdict.violation import FaultyFlow, ViolationProbability
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet
from support import samples, strategies
from support.samples import changed as replace


def sections(page: str) -> list[str]:
    return re.findall(r'<section id="(\w+)"', page)


def test_a_violated_report_has_all_sections() -> None:
    """Should tell everything in the order in which a reader asks."""
    assert sections(report_page(samples.faulty())) == [
        "meaning", "counterexample", "flows", "automata", "try", "rounds", "facts", "repeat"]  # fmt: skip


def test_reports_leave_out_what_there_is_not() -> None:
    """Should have no counterexample, flow or round where none was found."""
    assert sections(report_page(samples.undecided())) == ["meaning", "automata", "try", "facts", "repeat"]
    bare = replace(samples.undecided(), spec_facts=SpecFacts())
    assert sections(report_page(bare)) == ["meaning", "facts", "repeat"]
    assert "No automaton was learned" in report_page(samples.undecided())


def test_elements_are_closed_in_order() -> None:
    """Should be well nested, which browsers forgive and printers do not."""

    class Nesting(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open = []

        def handle_starttag(self, tag, attrs):
            if tag not in ("meta", "input", "br", "hr"):
                self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    for make in (samples.faulty, samples.satisfied, samples.hostile):
        nesting = Nesting()
        nesting.feed(report_page(make()))
        assert nesting.open == []


def test_the_policy_names_the_page_s_own_style_and_script() -> None:
    """Should allow exactly these two by their digests, and nothing by address."""
    page = report_page(samples.faulty())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1].replace("&#x27;", "'")
    style, script = (
        re.search(r"<style>(.*?)</style>", page, re.S)[1],
        re.findall(r"<script>(.*?)</script>", page, re.S)[-1],
    )

    for kind, text in (("style", style), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert not re.search(r' style="| on\w+="', page)


def test_the_page_names_no_address() -> None:
    """Should hold no link but those to its own sections; the name of SVG's language is one in form only."""
    page = report_page(samples.faulty()).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//[a-z]+\.", page)
    assert set(re.findall(r' (?:href|src)="(.)', page)) == {"#"}


def test_without_graphviz_tables_stand_for_drawings(monkeypatch) -> None:
    """Should say why, and give every transition."""
    monkeypatch.setattr(graphviz, "available", lambda: False)
    page = report_page(samples.faulty())

    assert "pip install" in page
    assert (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox' not in page.split('id="automata"')[1].split("</section>")[0]
    )
    assert "b, c → 0" in page or "b → 0" in page
    assert sections(page) == sections(report_page(samples.faulty()))


def test_a_layout_that_fails_leaves_a_table(monkeypatch) -> None:
    """Should finish the report when Graphviz does not."""
    monkeypatch.setattr(graphviz, "_CHILD", "raise SystemExit('out of order')")
    page = report_page(samples.faulty())
    assert "Not drawn: " in page
    assert "out of order" in page


def test_a_saved_report_is_the_page(tmp_path) -> None:
    """Should write one file, whole or not at all."""
    verdict = samples.undecided()
    verdict.save_report(tmp_path / "report.html")

    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report_page(verdict)
    with pytest.raises(InputError, match="cannot be written"):
        verdict.save_report(tmp_path / "absent" / "report.html")
    with pytest.raises(InputError, match="has no page"):
        page_of(3)


def test_a_large_table_is_left_out_and_told() -> None:
    """Should not fill the page with millions of numbers."""
    alphabet = Alphabet([str(i) for i in range(700_000)])
    verdict = samples.by_hand(all_words(alphabet), all_words(alphabet).complement(), ("5",))
    page = report_page(
        replace(verdict, spec_facts=samples.spec_facts(all_words(Alphabet(["5"])), ""), alphabet=Alphabet(["5"]))
    )
    assert '"hypothesis":null' in page
    assert len(page) < 300_000


# ---- sentences -------------------------------------------------------------------------------------------------------


def test_headlines_say_who_errs() -> None:
    """Should follow the relation, and never call "ran out" a success."""
    verdict = samples.faulty()
    assert sentences.headline(verdict) == "the network accepts a sequence that the property forbids"
    other = replace(verdict, relation=Relation.SUPERSET, counterexample=("a", "b"))
    assert sentences.headline(other) == "the network rejects a sequence that the property requires it to accept"
    assert "it is open" in sentences.headline(samples.undecided())
    assert "(confidence 0.95)" in sentences.headline(samples.satisfied())
    proof = replace(verdict, kind=Satisfied, strength=Strength.PROVED, guarantee=Guarantee(proof=True))
    assert sentences.headline(proof) == "no sequence can violate the property, whatever the network answers"
    exact = replace(proof, strength=Strength.STATISTICAL, guarantee=Guarantee(exact_length=7))
    assert sentences.headline(exact) == "no violation was found; no sequence of at most 7 letters is a violation"


@pytest.mark.parametrize("make", [samples.faulty, samples.satisfied, samples.undecided])
def test_every_outcome_has_limits(make) -> None:
    """Should say what the verdict does not mean, each time."""
    verdict = make()
    assert sentences.meaning(verdict)
    assert sentences.limits(verdict)
    assert all(text.endswith(".") for text in sentences.meaning(verdict) + sentences.limits(verdict))


def test_notes_and_mass_are_told() -> None:
    """Should show what weakens a result, and its severity."""
    notes = (HealthNote("long words", "sampled words had up to 900 letters"),)
    page = report_page(replace(samples.faulty(), health=notes, severity=ViolationProbability(interval=(0.25, 0.5))))
    assert "sampled words had up to 900 letters" in page
    assert "bout 35% of all random words are violations (95 % interval of the probability: 0.25 to 0.5)" in page


def test_distributions_are_described() -> None:
    """Should say how words were drawn, whatever the kind."""
    sentence = sentences.distribution_sentence
    assert "mean length 99" in sentence({"kind": "independent letters", "stop": 0.01, "weights": "uniform"})
    assert "a 0.25, b 0.75" in sentence({"kind": "independent letters", "stop": 0.5, "weights": {"a": 0.25, "b": 0.75}})
    assert "order 3" in sentence({"kind": "n-gram", "order": 3, "words": 10, "words_sha256": "0" * 64})
    assert sentence(None) == "not recorded"


def test_the_call_can_be_repeated() -> None:
    """Should be Python that parses, with the numbers of the run; or the command line where there was one."""
    verdict = samples.satisfied()
    call = python_call(verdict)
    compile(call.replace("…", "None"), "call", "exec")
    assert "epsilon=0.05" in call
    assert "relation='equal'" in call
    assert "changed: search_steps" in call
    commanded = replace(verdict, command="rnncheck verify my.pt --ltlf 'F a'")
    assert "rnncheck verify my.pt --ltlf &#x27;F a&#x27;" in report_page(commanded)
    assert replay_text(commanded) == "rnncheck replay verdict.json --model my.pt"
    assert replay_text(verdict) == "rnncheck replay verdict.json --model MODEL"


def test_settings_that_were_changed_are_recorded() -> None:
    """Should name what is not at its default, and nothing else."""
    flows = FlowSettings(pumps=3)
    changed = VerifySettings(learner="kv", flows=flows, known_words=(("a",), ()), memory_limit=1, shrink=False)
    assert changed.describe() == {"learner": "kv", "flows": asdict(flows), "known_words": 2, "shrink": False}
    assert VerifySettings(flows=None).describe() == {"flows": None}
    assert VerifySettings().describe() == {}


# ---- plots and colours -----------------------------------------------------------------------------------------------


def points(svg: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)
    return [part for part in root.iter() if part.get("class", "").startswith("point")]


def test_a_pumping_plot_has_a_point_for_every_n() -> None:
    """Should fill the violations, place higher scores higher, and skip a score that is not finite."""
    found = points(pumping_plot([1.0, -1.0, None, 3.0], {1, 4}, 4, "title"))
    assert [part.get("class") for part in found] == ["point hit", "point", "point hit"]
    heights = [float(part.get("cy")) for part in found]
    assert heights[2] < heights[0] < heights[1]
    only_hits = points(pumping_plot(None, {2}, 3, "title"))
    assert [part.get("class") for part in only_hits] == ["point", "point hit", "point"]


@pytest.mark.parametrize("scores", [[0.2, 0.5], [-0.2, -0.5], [1.0, -1.0]])
def test_what_the_sides_of_the_decision_mean_stands_clear_of_the_axis(scores: list[float]) -> None:
    """Should leave room for it under the line of the decision and above it, also where all scores are on one side."""
    root = ElementTree.fromstring(pumping_plot(scores, {1}, 2, "title"))
    axis = max(float(part.get("y1")) for part in root.iter() if part.get("class") == "axis")
    sides = [float(part.get("y")) for part in root.iter() if part.get("class") == "tick side"]
    assert len(sides) == 2
    assert 12 < min(sides) < max(sides) < axis - 5  # a rim of 2, and letters that reach under their line


def test_rounds_are_plotted_whatever_their_number() -> None:
    """Should draw one round, and thousands in few points."""
    for count in (1, 2, 5000):
        svg = rounds_plot(list(range(count)), "title")
        ElementTree.fromstring(svg)
        assert len(svg) < 30_000


def test_gauges_point_up_for_accepted_prefixes() -> None:
    """Should put the bar above the line for positive scores and below for negative ones."""
    up, down = (ElementTree.fromstring(gauge(score, 2.0))[0] for score in (2.0, -1.0))
    assert float(up.get("y")) + float(up.get("height")) == float(down.get("y")) == 30
    assert float(up.get("height")) == 2 * float(down.get("height"))


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.7, 12.2), (0, 1e-9), (1, 300), (5, 5), (-1e6, 1e6)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    """Should give one to eight round numbers between the bounds."""
    found = ticks(low, high)
    assert 1 <= len(found) <= 8
    slack = 1e-6 * (high - low)
    assert all(low - slack <= value <= high + slack for value in found)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def themes() -> list[dict[str, str]]:
    css = (files("rnncheck.report.page") / "assets" / "report.css").read_text(encoding="utf-8")
    return [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in re.findall(r":root \{(.*?)\}", css, re.S)
    ]


@pytest.mark.parametrize("number", [0, 1], ids=["light", "dark"])
def test_text_is_readable_in_both_themes(number: int) -> None:
    """Should reach 4.5 for text and 3 for lines, as WCAG's level AA asks."""
    theme = themes()[number]
    text = ("ink", "soft", "path", "loop", "yes", "no", "link", "violated", "satisfied", "undecided")
    for name in text:
        assert contrast(theme[name], theme["paper"]) >= 4.5, name
        assert contrast(theme[name], theme["panel"]) >= 4.5, name
    for name in ("violated", "satisfied", "undecided"):
        assert contrast(theme["on-badge"], theme[name]) >= 4.5, name
    for name in ("path-state", "loop-state", "mark"):
        assert contrast(theme["ink"], theme[name]) >= 4.5, name
    assert contrast(theme["edge"], theme["paper"]) >= 3


def test_the_page_and_the_pictures_have_the_same_colours() -> None:
    """Should not drift apart: a picture in a page looks like the picture in a file."""
    light = themes()[0]
    assert (light["path"], light["loop"], light["ink"]) == (palette.PATH, palette.LOOP, palette.INK)
    assert themes()[0].keys() == themes()[1].keys()


# ---- notebooks -------------------------------------------------------------------------------------------------------


def test_values_show_themselves_in_notebooks() -> None:
    """Should give text always, a picture of automata, and HTML without scripts of verdicts and flows."""
    verdict = samples.faulty()
    spec = Spec.from_ltlf("G(a -> F b)", ["a", "b", "c"])
    forms = {
        type(value).__name__: value._repr_mimebundle_() for value in (spec, spec.dfa, verdict, verdict.faulty_flows[0])
    }

    assert all("text/plain" in form for form in forms.values())
    if graphviz.available():
        for name in ("Spec", "DFA"):
            ElementTree.fromstring(forms[name]["image/svg+xml"])
        assert palette.PATH in forms["Violated"]["text/html"]
    for name in ("Violated", "FaultyFlow"):
        html = forms[name]["text/html"]
        assert "<script" not in html
        assert "<style" not in html
        assert "<svg" in html
    assert "VIOLATED" in forms["Violated"]["text/html"]


def test_a_notebook_falls_back_to_text(monkeypatch) -> None:
    """Should show text where nothing can be drawn, and raise nothing."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    dfa = all_words(Alphabet(["a"]))
    assert dfa._repr_mimebundle_() == {"text/plain": repr(dfa)}
    assert "<svg" not in samples.undecided()._repr_mimebundle_()["text/html"]


def test_a_notebook_can_choose_forms() -> None:
    """Should heed what a notebook wants and does not want."""
    verdict = samples.undecided()
    assert set(verdict._repr_mimebundle_(include={"text/plain"})) == {"text/plain"}
    assert set(verdict._repr_mimebundle_(exclude={"text/html"})) == {"text/plain"}


def test_hostile_letters_are_text_in_notebooks_too() -> None:
    """Should escape letters in HTML and in SVG."""
    html = samples.hostile()._repr_mimebundle_()["text/html"]
    assert "<script" not in html
    assert "<img" not in html
    flow = FaultyFlow(prefix=("<b>",), loop=("</b>",), suffix=("&",), hits=1, pumps=2, violating_pumps=(1,))
    assert "<b>" not in flow._repr_mimebundle_()["text/html"]
    dfa = strategies.chain(3, 1)
    assert "image/svg+xml" in dfa._repr_mimebundle_() or not graphviz.available()
