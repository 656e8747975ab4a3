"""Text never becomes markup, whatever it is."""

import json
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from rnncheck.report.markup import Markup, count, escape, letter, number, script_json, shortened, tag
from rnncheck.words import letter_text
from support import strategies


class Seen(HTMLParser):
    """What a parser finds in a piece of markup."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


@given(strategies.letters(), strategies.letters())
def test_text_and_attributes_come_out_as_they_went_in(text: str, attribute: str) -> None:
    """Should parse as one element with that text; characters that cannot be seen show as escapes."""
    seen = Seen(tag("p", text, title=attribute))

    assert seen.tags == ["p"]
    if text.isprintable() and attribute.isprintable():
        assert seen.text == text
        assert seen.attributes == [("title", attribute)]


@given(st.text())
def test_escaped_text_is_well_formed_xml(text: str) -> None:
    """Should be readable by a strict parser, control characters and half pairs included."""
    found = ElementTree.fromstring(tag("text", text, title=text).encode("utf-8"))

    assert found.tag == "text"
    assert len(found) == 0


@given(st.text())
def test_markup_is_not_escaped_twice(text: str) -> None:
    """Should keep what is markup already."""
    assert tag("p", escape(text)) == tag("p", text)
    assert isinstance(tag("p"), Markup)


@given(
    st.recursive(st.text() | st.integers() | st.none(), lambda part: st.lists(part) | st.dictionaries(st.text(), part))
)
def test_json_in_a_script_survives_and_cannot_end_it(value: object) -> None:
    """Should read back as the same value, and hold no character that means something to HTML."""
    text = script_json(value)

    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029")
    assert text.isascii()


@given(strategies.letters())
def test_a_letter_shows_its_text_form(name: str) -> None:
    """Should show the text form that words have everywhere, isolated from the direction of what is around it."""
    seen = Seen(letter(name))

    assert seen.tags == ["bdi"]
    assert seen.text == letter_text(name)


def test_a_long_letter_is_cut_and_keeps_a_tooltip() -> None:
    """Should show both ends of a long letter."""
    seen = Seen(letter("x" * 100 + "y"))

    assert len(seen.text) == 40
    assert seen.text.endswith("xy")
    assert dict(seen.attributes)["title"] == "x" * 100 + "y"


@given(st.text(), st.integers(3, 50))
def test_shortened_text_fits(text: str, limit: int) -> None:
    """Should never be longer than the limit, and be the text itself where that fits."""
    assert len(shortened(text, limit)) <= max(limit, 0)
    assert len(text) > limit or shortened(text, limit) == text


def test_numbers_are_short() -> None:
    """Should write coordinates without noise, and counts with their noun."""
    assert [number(value) for value in (1.0, 2.5, 1 / 3, -0.001, -1.5, 1200.0)] == [
        "1",
        "2.5",
        "0.33",
        "0",
        "-1.5",
        "1200",
    ]
    assert [count(n, "letter") for n in (0, 1, 1234)] == ["0 letters", "1 letter", "1,234 letters"]
    assert count(2, "query", "queries") == "2 queries"
