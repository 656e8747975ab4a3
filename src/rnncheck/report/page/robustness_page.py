"""The page about words and their neighbours."""

from __future__ import annotations

from rnncheck.automata.edits import KINDS, Edits
from rnncheck.neighbourhoods.alignment import aligned
from rnncheck.neighbourhoods.robustness_result import Robustness, WordRobustness
from rnncheck.report.markup import Markup, count, section, tag
from rnncheck.report.page.shell import grid, page
from rnncheck.verdict.facts import Outcome
from rnncheck.words import format_word, letter_text

_TITLES = {
    Outcome.SATISFIED: "Robust",
    Outcome.VIOLATED: "Not robust",
    Outcome.UNDECIDED: "Undecided",
}
_FLIPS = 200  # shown, nearest first


def robustness_page(found: Robustness, edits: Edits) -> str:
    """One HTML file: how many words are certified at each distance, and the nearest flips letter by letter."""
    kinds = ", ".join(f"{name} {found.edits[name]}" for name in KINDS if name in found.edits)
    about = [f"{count(len(found.words), 'word')}, distance {found.distance}. Edits and their costs: {kinds or 'none'}."]
    about += [f"Locked letters: {', '.join(map(letter_text, sorted(edits.locked)))}."] if edits.locked else []
    about += ["Some letters may be replaced only by certain others."] if edits.replacements else []
    about += [] if found.model_sha256 is None else [f"The model's sha256: {found.model_sha256}"]
    about += [] if found.spec is None else [f"Only words that satisfy {found.spec} count as neighbours."]
    compared = f" {found.compared} words were compared with the reference: {found.reference}." if found.compared else ""
    about += [f"Answers: {found.evaluator}.{compared}"]
    about += list(found.notes)
    top = tag(
        "header",
        tag("p", "rnncheck", tag("span", " robustness"), class_="brand"),
        tag("h1", _TITLES[found.outcome]),
        *(tag("p", line) for line in about),
    )
    parts = [
        ("table", "Distances", section("table", "Share of the words", _shares(found))),
        ("flips", "Nearest flips", _flips(found, edits)),
        ("undecided", "Undecided", _undecided(found)),
    ]
    return page(f"{_TITLES[found.outcome]} · rnncheck", top, parts, version=found.version)


def _shares(found: Robustness) -> Markup:
    total = len(found.words)
    rows = [
        [str(distance), f"{certified} ({certified / total:.1%})", f"{flipped} ({flipped / total:.1%})"]
        for distance, certified, flipped in found.table()
    ]
    return grid(["distance", "certified: every word this near was queried", "a flip is known"], rows)


def _flips(found: Robustness, edits: Edits) -> Markup | None:
    flips = sorted((one for one in found.words if one.distance is not None), key=lambda one: (one.distance, one.word))
    if not flips:
        return None
    shown = [_flip(one, found, edits) for one in flips[:_FLIPS]]
    more = tag("p", f"{len(flips) - _FLIPS} more are in the JSON document.") if len(flips) > _FLIPS else None
    return section("flips", "The nearest words with the other answer", *shown, more)


def _flip(one: WordRobustness, found: Robustness, edits: Edits) -> Markup:
    """The two words under one another; what differs is marked."""
    pairs = aligned(one.word, one.nearest or (), edits, found.letters())
    answers = ("accepted", "rejected") if one.accepted else ("rejected", "accepted")
    rows = [
        tag("tr", tag("th", answer, scope="row"), *(_cell(pair, row) for pair in pairs))
        for row, answer in enumerate(answers)
    ]
    nearer = "no word nearer flips" if one.exact else "a nearer one may flip"
    return tag(
        "figure",
        tag("figcaption", f"Distance {one.distance}; {nearer}"),
        tag("div", tag("table", *rows, class_="aligned"), class_="scroll"),
    )


def _cell(pair: tuple[str | None, str | None], row: int) -> Markup:
    letter = pair[row]
    text = "·" if letter is None else letter_text(letter)
    return tag("td", text if pair[0] == pair[1] else tag("strong", text))


def _undecided(found: Robustness) -> Markup | None:
    left = [one for one in found.words if one.outcome is Outcome.UNDECIDED]
    if not left:
        return None
    rows = [
        [format_word(one.word), "–" if one.certified is None else str(one.certified), one.reason]
        for one in left[:_FLIPS]
    ]
    return section("undecided", "Undecided", grid(["word", "certified up to", "why"], rows))
