"""The one door upwards: values that show themselves.

Automata, specifications, flows and verdicts stand at the bottom of the package; what draws them stands at its top, in
``rnncheck.report``. It is imported here alone, and only when something is to be shown.
"""

from __future__ import annotations

from collections.abc import Container


class Displayable:
    """A value that a notebook shows richly: as a picture or a page where that is possible, else as text."""

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
