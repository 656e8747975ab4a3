"""Reports in a real browser: what a reader sees, and what a page must never do."""

import itertools
import json
import random

import pytest

from rnncheck.errors import ExpressionError
from rnncheck.verdict.text import outcome_name
from rnncheck.words import format_word, letter_text, parse_word
from support import samples
from support.browser import Browser, Page

KINDS = ("faulty", "satisfied", "undecided", "hostile", "large", "labels", "mistakes")
SAMPLES = {name: getattr(samples, name) for name in KINDS}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The sample reports as files."""
    folder = tmp_path_factory.mktemp("reports")
    for name, make in SAMPLES.items():
        make().save_report(folder / f"{name}.html")
    return folder


@pytest.fixture
def show(browser: Browser, reports):
    """``show(name)`` opens a report, which is closed at the end."""
    pages: list[Page] = []

    def open_page(name: str, **options) -> Page:
        pages.append(browser.open(reports / f"{name}.html", **options))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()


def quiet(page: Page) -> bool:
    """Whether the browser had nothing to say, and the page asked for nothing but itself."""
    assert page.complaints == []
    assert page.dialogs == []
    assert all(url.startswith("file:") and url.endswith(".html") for url in page.requests)
    return len(page.requests) == 1


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_loads_quietly_and_asks_for_nothing(show, tmp_path, name: str) -> None:
    """Should show the verdict, light or dark, without a console message, an error, or a request."""
    page = show(name)
    assert page.run("document.querySelector('.badge').innerText").lower().endswith(outcome_name(SAMPLES[name]()))
    for dark, paper in ((False, "rgb(255, 255, 255)"), (True, "rgb(20, 23, 28)")):
        page.theme(dark)
        assert page.run("getComputedStyle(document.body).backgroundColor") == paper
        page.screenshot(tmp_path / f"{'dark' if dark else 'light'}.png")
    assert quiet(page)


def test_the_policy_lets_nothing_out(show, browser: Browser) -> None:
    """Should refuse scripts, pictures and requests that something smuggles in; the quiet tests would hear of it."""
    page = show("faulty")
    page.run("fetch('http://127.0.0.1:9/').catch(() => 0)")
    page.run("document.body.append(Object.assign(document.createElement('img'), {src: 'http://127.0.0.1:9/x.png'}))")
    page.run("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.bad = 1'}))")
    page.run("document.body.insertAdjacentHTML('beforeend', '<p onclick=\"window.bad = 1\" id=smuggled>x</p>')")
    page.run("document.getElementById('smuggled').click()")
    browser.pump(0.3)

    assert page.run("window.bad") is None
    assert any("Content Security Policy" in complaint for complaint in page.complaints)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_narrow_page_does_not_scroll_sideways(show, tmp_path, name: str) -> None:
    """Should fit the width of a telephone; wide things scroll inside themselves."""
    page = show(name, width=400, height=800)
    page.screenshot(tmp_path / "narrow.png")
    for width in (400, 320, 700):
        page.size(width, 800)
        assert page.run("document.documentElement.scrollWidth") <= width
        assert page.run("document.querySelector('#word').getBoundingClientRect().right") <= width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_path_and_the_loop_are_coloured(show, dark: bool) -> None:
    """Should colour exactly the transitions of the counterexample, and the first flow's loop, in both drawings."""
    verdict = samples.faulty()
    page = show("faulty", dark=dark)
    colour = page.run(
        "Object.fromEntries([...document.querySelectorAll('.edge')].map(e => [e.closest('.stage').dataset.automaton +"
        " ':' + e.dataset.from + ':' + e.dataset.letters, getComputedStyle(e.querySelector('.line')).stroke]))"
    )
    path, loop, other = {
        False: ("rgb(0, 90, 156)", "rgb(168, 67, 0)", "rgb(107, 117, 128)"),
        True: ("rgb(124, 192, 255)", "rgb(255, 176, 102)", "rgb(141, 151, 163)"),
    }[dark]

    for key, dfa in (("spec", verdict.specification), ("hypothesis", verdict.hypothesis)):
        codes = dfa.alphabet.encode(verdict.counterexample)
        on_path = set(zip(dfa.run(verdict.counterexample), codes, strict=False))
        flow = verdict.faulty_flows[0]
        states = dfa.run((*flow.prefix, *flow.loop))[len(flow.prefix) :]
        in_loop = set(zip(states, dfa.alphabet.encode(flow.loop), strict=False))
        assert on_path
        assert in_loop
        for state in range(len(dfa)):
            for code in range(len(dfa.alphabet)):
                (drawn,) = [
                    stroke
                    for name, stroke in colour.items()
                    if name.startswith(f"{key}:{state}:") and str(code) in name.split(":")[2].split()
                ]
                wanted = loop if (state, code) in in_loop else path if (state, code) in on_path else other
                assert drawn == wanted, (key, state, code)


def test_plots_are_as_dark_as_the_page(show) -> None:
    """Should lay no sheet of white under plots whose lines and figures are made for the dark."""
    page = show("faulty", dark=True)
    sheets = page.run("[...document.querySelectorAll('svg.plot')].map(e => getComputedStyle(e).backgroundColor)")
    assert sheets
    assert set(sheets) == {"rgba(0, 0, 0, 0)"}


def test_another_flow_can_be_chosen(show) -> None:
    """Should show the plot of the chosen flow and colour its loop."""
    page = show("faulty")
    verdict = samples.faulty()
    page.run("document.querySelectorAll('input[name=flow]')[1].click()")
    shown = page.run("[...document.querySelectorAll('.flow-panel')].map(p => !p.hidden)")
    looped = page.run(
        "[...document.querySelectorAll('[data-automaton=spec] .edge.in-loop')]"
        ".map(e => [+e.dataset.from, e.dataset.letters])"
    )

    assert shown == [False, True] + [False] * (len(shown) - 2)
    flow, dfa = verdict.faulty_flows[1], verdict.specification
    states = dfa.run((*flow.prefix, *flow.loop))[len(flow.prefix) : -1]
    steps = set(zip(states, dfa.alphabet.encode(flow.loop), strict=True))
    assert {(state, int(code)) for state, letters in looped for code in letters.split()} == steps


def test_a_word_can_be_tried_by_keyboard(show) -> None:
    """Should run specification and hypothesis on what is typed, and step through it."""
    page = show("faulty")
    verdict = samples.faulty()
    page.run("document.getElementById('word').focus(); document.getElementById('word').select()")
    page.type("a b  'c' a")
    page.press("Enter")
    word = ("a", "b", "c", "a")
    answer = page.run("document.getElementById('try-answer').textContent")
    cells = page.run(
        "[...document.querySelectorAll('#try-trace tr')].slice(1).map(r => [...r.querySelectorAll('.called')]"
        ".map(c => +c.textContent))"
    )

    assert answer == "Specification A rejects this word. Hypothesis H rejects this word."
    assert cells == [verdict.specification.run(word), verdict.hypothesis.run(word)]
    assert page.run("document.querySelector('[data-automaton=spec] .state.now').dataset.state") == str(
        verdict.specification.run(word)[-1]
    )

    page.run("document.querySelector('[data-step=first]').focus()")
    page.press("Enter")
    assert page.run("document.getElementById('try-where').textContent") == "after 0 of 4 letters"
    assert page.run("document.querySelector('[data-automaton=spec] .state.now').dataset.state") == "0"
    assert quiet(page)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a x", 'unknown letter "x" (letter 2 of the word); the alphabet has 3: a, b, c'),
        ("abc", "letters are separated by spaces: write a b c"),
        ("a 'b", "quote ' is not closed (column 3)"),
        ("a ε", "ε is the empty word and cannot stand among letters (column 3)"),
    ],
)
def test_a_word_that_does_not_parse_is_explained(show, text: str, message: str) -> None:
    """Should say what is wrong as the command line does, and take down the last result."""
    page = show("faulty")
    page.run(f"document.getElementById('word').value = {json.dumps(text)}; "
             "document.getElementById('try-form').requestSubmit()")  # fmt: skip

    assert message in page.run("document.getElementById('try-answer').textContent")
    assert page.run("document.getElementById('try-trace').hidden")


def test_words_are_read_as_the_command_line_reads_them(show) -> None:
    """Should give the letters, or the column of the error, that parse_word gives, on thousands of odd texts."""
    rng = random.Random(0)
    pieces = ["a", "b", "ε", " ", "  ", "\t", "\n", "\u3000", "\x1c", "\x85", "\ufeff", "'", '"', "\\", "\\n", "\\'",
              '\\"', "\\\\", "\\u{41}", "\\u{1f600}", "\\u{110000}", "\\u{}", "\\x", ",", "<b>", "😀", "é"]  # fmt: skip
    texts = ["".join(rng.choices(pieces, k=rng.randint(0, 7))) for _ in range(4000)]

    def expected(text: str) -> object:
        try:
            return list(parse_word(text))
        except ExpressionError as error:
            return error.column

    page = show("faulty")
    found = page.run(
        f"{json.dumps(texts)}.map(text => {{ try {{ return rnncheckReport.parseWord(text); }} catch (error) "
        "{ return +/\\(column (\\d+)\\)$/.exec(error.message)[1]; } })"
    )

    assert found == [expected(text) for text in texts]
    assert sum(isinstance(answer, list) and len(answer) > 1 for answer in found) > 300
    assert sum(isinstance(answer, int) for answer in found) > 300


def test_hostile_letters_are_text(show, browser: Browser) -> None:
    """Should show every letter as itself, run none of them, and try words with them."""
    page = show("hostile")
    letters = page.run("[...document.querySelectorAll('#counterexample .trace .letter')].map(e => e.textContent)")
    titles = page.run("[...document.querySelectorAll('#counterexample .trace .letter')].map(e => e.title)")

    assert len(letters) == len(samples.HOSTILE)
    for letter, seen, title in zip(samples.HOSTILE, letters, titles, strict=True):
        text = letter_text(letter)
        assert seen == text or ("…" in seen and seen.split("…")[0] == text[: len(seen.split("…")[0])] and title)
    assert page.run("document.querySelectorAll('script').length") == 2
    assert page.run("document.querySelectorAll('img, iframe, object, embed, link').length") == 0
    assert page.run(
        "[...document.querySelectorAll('*')].every(e => !e.getAttributeNames().some(n => n.startsWith('on')))"
    )
    assert page.run("document.querySelector('.property code').textContent") == samples.HOSTILE[0]
    assert "alert(1)" in page.run("document.title")

    words = [letter for letter in samples.HOSTILE if letter != "\ud800"]  # a half pair cannot be sent to the browser
    page.run("document.getElementById('word').value = ''; document.getElementById('word').focus()")
    page.type(format_word(words))
    page.press("Enter")
    browser.pump(0.2)
    assert "rejects this word" in page.run("document.getElementById('try-answer').textContent")
    assert quiet(page)


def test_a_drawing_moves_zooms_and_fits_by_keyboard(show) -> None:
    """Should change the view with the keys that its label names, and back."""
    page = show("faulty")
    view = "document.querySelector('[data-automaton=spec] svg').getAttribute('viewBox').split(' ').map(Number)"
    page.run("document.querySelector('[data-automaton=spec] .canvas').focus()")
    page.press("0")
    start = page.run(view)
    page.press("+")
    zoomed = page.run(view)
    page.press("ArrowRight")
    moved = page.run(view)
    page.press("0")

    assert zoomed[2] < start[2]
    assert moved[0] > zoomed[0]
    assert moved[2] == zoomed[2]
    assert page.run(view) == start


def test_pointing_at_a_state_reads_it(show) -> None:
    """Should tell the state and where its letters lead."""
    page = show("faulty")
    page.point("#spec-state-0 .disc")
    summary = page.run("document.querySelector('[data-automaton=spec] .reading').textContent")

    assert summary.startswith("state 0, initial, accepting")
    assert "0 → 1: a" in summary


def test_without_scripts_the_page_still_tells_all(browser: Browser, reports) -> None:
    """Should show verdict, drawings and plot; only trying words needs scripts, and says so."""
    page = browser.open(reports / "faulty.html")
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.go((reports / "faulty.html").as_uri())
    text = page.call("DOM.getDocument", depth=-1)
    page.call("Emulation.setScriptExecutionDisabled", value=False)

    assert "Specification A" in json.dumps(text)
    assert page.run("document.querySelector('[data-automaton=spec] svg').getBoundingClientRect().height") > 50
    assert page.run("document.querySelector('noscript') !== null")
    page.close()


def test_a_printed_page_is_light_and_has_no_controls(browser: Browser, reports, tmp_path) -> None:
    """Should print on white paper whatever the theme, without what only a screen can use."""
    page = browser.open(reports / "faulty.html", dark=True)
    page.call("Emulation.setEmulatedMedia", media="print",
              features=[{"name": "prefers-color-scheme", "value": "dark"}])  # fmt: skip
    hidden = page.run("['nav', '#try', '.controls', '.copy'].every(s => getComputedStyle(document.querySelector(s))"
                      ".display === 'none')")  # fmt: skip
    ink = page.run("getComputedStyle(document.body).color")
    page.pdf(tmp_path / "report.pdf")

    assert hidden
    assert ink == "rgb(27, 31, 36)"
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    page.close()


@pytest.mark.parametrize("name", SAMPLES)
def test_everything_has_a_name_for_those_who_do_not_see(show, name: str) -> None:
    """Should name controls, pictures and scrolling regions, and keep headings in order."""
    page = show(name)
    nameless = page.run("""
        [...document.querySelectorAll('button, input, [tabindex], svg[role=img], nav, [role=region]')]
        .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length)
                       || e.querySelector('title'))).map(e => e.outerHTML.slice(0, 80))""")
    levels = page.run("[...document.querySelectorAll('h1, h2, h3')].map(h => +h.tagName[1])")
    unlabelled = page.run(
        "[...document.querySelectorAll('[aria-labelledby], [aria-describedby], label[for]')].filter(e =>"
        " !document.getElementById(e.getAttribute('aria-labelledby') || e.getAttribute('aria-describedby')"
        " || e.htmlFor)).length"
    )
    ids = page.run("[...document.querySelectorAll('[id]')].map(e => e.id)")

    assert nameless == []
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))
    assert unlabelled == 0
    assert len(ids) == len(set(ids))
    assert page.run("document.documentElement.lang") == "en"


def test_a_large_automaton_opens_quickly_and_stays_small(browser: Browser, reports) -> None:
    """Should take few elements and under 5 MB with 300 states and 100 letters, the path drawn whole."""
    path = reports / "large.html"
    assert path.stat().st_size < 5_000_000
    page = browser.open(path)
    assert page.run("document.getElementsByTagName('*').length") < 20_000

    verdict = samples.large()
    marked = page.run(
        "[...document.querySelectorAll('[data-automaton=hypothesis] .edge.on-path')]"
        ".map(e => [+e.dataset.from, +e.dataset.to])"
    )
    states = verdict.hypothesis.run(verdict.counterexample)
    assert {tuple(edge) for edge in marked} == set(itertools.pairwise(states))
    assert "of 300 states are drawn" in page.run("document.getElementById('automata').textContent")
    page.run(f"document.getElementById('word').value = {json.dumps(format_word(verdict.counterexample))}; "
             "document.getElementById('try-form').requestSubmit()")  # fmt: skip
    assert page.run("document.getElementById('try-answer').textContent").startswith("Specification A rejects")
    assert quiet(page)
    page.close()
