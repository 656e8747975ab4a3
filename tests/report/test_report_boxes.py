"""The picture of a proof's boxes: open ones are named, and what is in the way is said."""

from __future__ import annotations

from typing import Any

import msgspec

from rnncheck import Verdict, load_model, verify, zoo
from rnncheck.report.page.invariant_pictures import boxes
from rnncheck.verdict.guarantee import ShownBox
from rnncheck.verdict.value import Undecided
from support import samples


def proved() -> Verdict:
    entry = zoo.entry("even-provable-elman")
    return verify(load_model(zoo.path("even-provable-elman")), entry.spec(), method="prove")


def shown_with(shown: list[ShownBox], **changes: Any) -> str:
    verdict = proved()
    assert verdict.guarantee is not None
    assert verdict.guarantee.invariant is not None
    facts = msgspec.structs.replace(verdict.guarantee.invariant, shown=tuple(shown), boxes=len(shown), unproved=0.1)
    guarantee = msgspec.structs.replace(verdict.guarantee, invariant=facts)
    return str(boxes(samples.changed(verdict, guarantee=guarantee, **changes)))


def box(letters: str, *, opened: bool) -> ShownBox:
    return ShownBox(score=(-1.0, 1.0) if opened else (1.0, 2.0), across=(0.0, 1.0), open=opened, letters=letters)


def test_open_boxes_are_named_in_words_and_in_the_picture() -> None:
    names = ["a a", "b a", "a b", "b b"]
    html = shown_with([box("a", opened=False), *(box(name, opened=True) for name in names)])
    assert "words that end in a a; or in b a; or in a b and 1 more" in html
    assert html.count('class="box-name"') == 3
    assert ">… b a</text>" in html
    assert ">… a</text>" not in html


def test_what_is_in_the_way_is_said() -> None:
    why = "not proved: the box of the words that end in a a reaches the decision"
    html = shown_with([box("a", opened=False)], kind=Undecided, reason=why)
    assert f"N{why[1:]}." in html
    assert "have no rectangle" in html
    assert "Dashed" not in html


def test_a_proof_names_none() -> None:
    html = str(boxes(proved()))
    assert "box-name" not in html
    assert "A proof needs every rectangle on its own side" in html
