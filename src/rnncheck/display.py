"""Values that show themselves in notebooks: the only import upwards in the package.

Automata, specifications, flows and verdicts are low in the package; ``rnncheck.report``, which draws them, is at the
top. It is imported only here, and only when something is shown.
"""

from __future__ import annotations

from collections.abc import Container


class Displayable:
    """A value that a notebook shows as a picture or a page where possible, else as text."""

    __slots__ = ()

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, str]:
        from rnncheck.report.notebook import rich_forms

        forms = rich_forms(self)
        return {
            kind: form
            for kind, form in forms.items()
            if (not include or kind in include) and not (exclude and kind in exclude)
        }


def page_of(value: object, *, date: str = "", document: str | None = None, ours: bool = False) -> str:
    """The self-contained HTML page that shows a value in full."""
    from rnncheck.report.page import page_of as page

    return page(value, date=date, document=document, ours=ours)
