"""Pictures of contact sequences: well-formed, with everybody and every step in them, whatever people are called."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnncheck.contacts import SyntheticSettings, TemporalNetwork, synthetic_contacts
from rnncheck.report.contacts.contact_graph import contact_graph_svg, timeline_svg
from rnncheck.report.contacts.shapes import MOST_STEPS, PathStep
from support.contact_networks import FIGURE_3, networks
from support.strategies import ODD_LETTERS

SVG = "{http://www.w3.org/2000/svg}"
FIGURE = TemporalNetwork.from_contacts(FIGURE_3)
PICTURES = pytest.mark.parametrize("picture", [contact_graph_svg, timeline_svg])


def texts(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def arrows(svg: str) -> list[PathStep]:
    """What the steps are drawn as, in order."""
    ends = [path.get("marker-end") for path in ElementTree.fromstring(svg).iter(f"{SVG}path")]
    return [PathStep[end.removeprefix("url(#").removesuffix(")")] for end in ends if end]


@PICTURES
def test_a_broken_path_says_where_it_breaks(picture) -> None:
    """Should have the people and the broken step in its title."""
    shown = texts(picture(FIGURE, ("A", "B", "C", "D")))
    assert shown[0] == "A → B → C → D"
    assert shown[1].startswith("no time-respecting path: B → C, who met only before: last at 2")


def test_every_step_is_an_arrow() -> None:
    """Should tell apart contacts, people who never met, contacts that were too early, and what comes after."""
    assert arrows(contact_graph_svg(FIGURE, ("C", "D", "A", "B"))) == [PathStep.TIMED] * 3
    kinds = arrows(contact_graph_svg(FIGURE, ("A", "B", "C", "D", "B", "A", "C")))
    after = [PathStep.AFTER_BREAK] * 3
    assert kinds == [PathStep.TIMED, PathStep.ONLY_BEFORE, *after, PathStep.NEVER_MET]


def test_times_are_shown_on_the_arrows() -> None:
    """Should write the earliest times of the path."""
    assert {"1", "3", "4"} <= set(texts(contact_graph_svg(FIGURE, ("C", "D", "A", "B"))))


def test_the_timeline_has_a_row_for_each_pair_and_a_dot_for_each_contact_taken() -> None:
    """Should show the contacts of each pair, and say where there are none."""
    svg = timeline_svg(FIGURE, ("C", "D", "A", "C"))
    assert {"C → D", "D → A", "A → C", "never met"} <= set(texts(svg))
    assert len(list(ElementTree.fromstring(svg).iter(f"{SVG}circle"))) == 2


@PICTURES
def test_a_large_network_stays_readable(picture) -> None:
    """Should draw at most some twenty people of hundreds, and the steps around the break of a long word."""
    network = synthetic_contacts(np.random.default_rng(0), SyntheticSettings(people=403, days=1))
    codes = [0]
    for _ in range(40):
        codes.append(int(np.flatnonzero(network.met[codes[-1]])[len(codes) % 3]))
    stranger = int(np.flatnonzero(~network.met[codes[-1]])[-1])
    svg = picture(network, network.people.decode([*codes, stranger]), strict=False)
    assert len(svg) < 60_000
    assert len(list(ElementTree.fromstring(svg).iter(f"{SVG}circle"))) <= 25
    assert texts(svg)[0].count("→") == MOST_STEPS


@PICTURES
@given(network=networks(loops=True), data=st.data())
def test_any_word_can_be_drawn(picture, network: TemporalNetwork, data) -> None:
    """Should be well-formed for the empty word, single people, repetitions, self-contacts and long words."""
    word = tuple(data.draw(st.lists(st.sampled_from(network.people.letters), max_size=20)))
    svg = picture(network, word, strict=data.draw(st.booleans()))
    assert "nan" not in svg
    assert ElementTree.fromstring(svg).tag == f"{SVG}svg"


@PICTURES
def test_names_are_never_markup(picture) -> None:
    """Should show any name as text."""
    names = [*ODD_LETTERS, "<script>alert(1)</script>", "&amp;", "a long name that goes on", "]]>"]
    for name in names:
        network = TemporalNetwork.from_contacts([(1, name, "other"), (2, "other", "third")])
        network = TemporalNetwork(network.people, network.times, network.first, network.second, {name: "<b>" + name})
        svg = picture(network, (name, "other", "third", name))
        root = ElementTree.fromstring(svg)
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
            *("svg", "title", "defs", "marker", "path", "rect", "text", "line", "g", "circle", "polyline"),
        }
