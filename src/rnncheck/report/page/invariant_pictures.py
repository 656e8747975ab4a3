"""The boxes of a proof, drawn: how far each is from the decision."""

from __future__ import annotations

from collections.abc import Sequence

from rnncheck.report import palette
from rnncheck.report.markup import Attribute, Markup, join, section, shortened, tag
from rnncheck.report.plots import Frame, plot_of, signed, upright
from rnncheck.verdict.guarantee import ShownBox
from rnncheck.verdict.text import capital
from rnncheck.verdict.value import Verdict

_LEAST = 3.0  # of a rectangle's side, so that a point can be seen
_NAMED = 3  # open boxes, in words and in the picture
_LARGEST = 1e12  # a document may have any number
_KINDS = {"open": (palette.LOOP, palette.LOOP_STATE), "accept": (palette.PATH, palette.PATH_STATE),
          "reject": (palette.SOFT, palette.STATE)}  # fmt: skip


def boxes(verdict: Verdict) -> Markup | None:
    """The section of the report; None where there are no boxes."""
    facts = None if verdict.guarantee is None else verdict.guarantee.invariant
    shown = [] if facts is None else [each for each in facts.shown if _drawable(each)]
    if facts is None or not shown:
        return None
    about = (
        f"Each rectangle holds the network’s states after a class of words ({facts.boxes:,} classes in all). From left "
        "to right is its score, and the line is the decision; from bottom to top is the direction in which they differ "
        "most."
    )
    lines = [about, "A proof needs every rectangle on its own side of the line."]
    if facts.unproved is not None:
        lines[1] = (
            f"Dashed rectangles cross the line and must not: words that end there are not proved{_named(shown)}."
            if any(each.open for each in shown)
            else "The classes of words that are not proved have no rectangle: their states have no bounds."
        )
    if verdict.undecided:
        lines.append(f"{capital(verdict.reason)}.")
    missing = facts.boxes - len(shown)
    if missing:
        lines.append(f"{missing:,} are not shown: left open without bounds, or one of very many.")
    return section("boxes", "The boxes", tag("p", " ".join(lines)), _picture(shown))


def _named(shown: Sequence[ShownBox]) -> str:
    """The first open boxes by the words that end in them."""
    names = [each.letters for each in shown if each.open]
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f" (words that end in {'; or in '.join(names[:_NAMED])}{more})" if names else ""


def _drawable(each: ShownBox) -> bool:
    return all(abs(value) < _LARGEST for value in (*each.score, *each.across))


def _picture(shown: Sequence[ShownBox]) -> Markup:
    frame = Frame(640, 340, _range([each.score for each in shown], zero=True), _range([each.across for each in shown]))
    # The widest first, so that the others are seen on them.
    drawn = sorted(shown, key=lambda each: each.score[0] - each.score[1])
    title = f"{len(shown)} boxes of network states by score; {sum(each.open for each in shown)} reach the decision"
    return plot_of(
        frame,
        title,
        frame.axes("network’s score: rejects ← | → accepts", "across", signed),
        join([_rectangle(frame, each) for each in drawn]),
        upright(frame, 0.0),
        join([_name(frame, each, place) for place, each in enumerate([one for one in shown if one.open][:_NAMED])]),
    )


def _name(frame: Frame, each: ShownBox, place: int) -> Markup:
    """The name of an open box, above its rectangle where there is room, one below the other."""
    x = min(max(frame.x(sum(each.score) / 2), frame.left + 4), frame.width - frame.right - 4)
    y = max(frame.top + 11 + 13 * place, frame.y(each.across[1]) - 5)
    anchor = "end" if x > frame.width / 2 else "start"
    return tag("text", f"… {shortened(each.letters, 60)}", x=x, y=y, text_anchor=anchor, class_="box-name",
               font_size=11, fill=palette.INK)  # fmt: skip


def _rectangle(frame: Frame, each: ShownBox) -> Markup:
    (left, right), (low, high) = each.score, each.across
    x, y = frame.x(left), frame.y(high)
    kind = "open" if each.open else "accept" if left > 0 else "reject" if right < 0 else "open"
    line, fill = _KINDS[kind]
    answer = {"open": "open", "accept": "accepts", "reject": "rejects"}[kind]
    about = f"words that end in {each.letters}: score {left:.4g} to {right:.4g}, {answer}"
    shape: dict[str, Attribute] = {
        "x": x,
        "y": y,
        "width": max(_LEAST, frame.x(right) - x),
        "height": max(_LEAST, frame.y(low) - y),
        "fill": fill,
        "fill_opacity": 0.5,
        "stroke": line,
        "stroke_dasharray": "4 2" if kind == "open" else None,
    }
    return tag("rect", tag("title", about), class_=f"box {kind}", stroke_width=1.2, **shape)


def _range(pairs: Sequence[tuple[float, float]], *, zero: bool = False) -> tuple[float, float]:
    low, high = min(low for low, _ in pairs), max(high for _, high in pairs)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = 0.06 * ((high - low) or 1.0)
    return low - room, high + room
