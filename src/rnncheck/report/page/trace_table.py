"""The counterexample letter by letter: the network's scores and answers, and the states of the automata."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rnncheck.automata.dfa import DFA
from rnncheck.errors import visible
from rnncheck.report.markup import Markup, letter, shortened, tag
from rnncheck.report.plots import gauge
from rnncheck.verdict.label_trace import pairs_along
from rnncheck.verdict.value import Verdict
from rnncheck.words import EPSILON

# A longer word is shown without its middle.
_MOST_COLUMNS = 400
_STATE_WIDTH = 10


def trace_table(verdict: Verdict, word: Sequence[str]) -> Markup:
    """One column for each prefix, the empty word first."""
    shown = _columns(len(word) + 1)
    letters = [tag("span", EPSILON, class_="empty"), *(letter(name, limit=16) for name in word)]
    rows = [
        _row("prefix", shown, lambda n: Markup(str(n)), class_="count", head=True),
        _row("letter", shown, lambda n: letters[n]),
    ]
    trace = verdict.trace
    if trace is not None and trace.scores is not None and len(trace.scores) == len(letters):
        scores = trace.scores
        largest = max((abs(score) for score in scores if score is not None), default=0.0)
        rows.append(
            _row(tag("span", "as a bar", class_="hidden"), shown, lambda n: gauge(scores[n], largest), class_="gauges")
        )
        named = "network’s score" if verdict.comparison is None else "above 0: they differ"
        rows.append(_row(named, shown, lambda n: Markup(score_text(scores[n])), class_="number"))
    question, pairs = verdict.label_question, pairs_along(verdict)
    if question is not None and question.said is not None:
        said = [EPSILON, *question.said]
        rows.append(_row("network says", shown, lambda n: tag("bdi", "–" if n == 0 else shortened(said[n], 16))))
    for name, each in _said(verdict):
        rows.append(_row(name, shown, lambda n, each=each: tag("bdi", shortened(each[n], 16))))  # type: ignore[misc]
    if trace is not None and len(trace.answers) == len(letters) and verdict.comparison is None:
        name = "network R" if question is None else "as specified"
        rows.append(_row(name, shown, lambda n: answer(trace.answers[n])))
    if question is not None and pairs is not None:
        rows.append(_state_row("specification A", question.automaton, pairs, shown))
    for name, dfa in (("specification A", verdict.specification), ("hypothesis H", verdict.hypothesis)):
        if dfa is not None:
            rows.append(_state_row(name, dfa, word, shown))
    return tag(
        "div",
        tag(
            "table", tag("caption", "Reading the counterexample", class_="hidden"), tag("tbody", *rows), class_="trace"
        ),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label="The counterexample letter by letter; scrolls sideways",
    )


def _said(verdict: Verdict) -> list[tuple[str, tuple[str, ...]]]:
    """The answers of each of two models to every prefix."""
    compared = verdict.comparison
    both = () if compared is None else (("old says", compared.old_said), ("new says", compared.new_said))
    return [(name, said) for name, said in both if said is not None]


def answer(accepted: bool) -> Markup:
    """Yes or no, as a sign and as a word for those who do not see the sign."""
    sign, word, class_ = ("✓", "accepts", "yes") if accepted else ("✗", "rejects", "no")
    return tag("span", tag("span", sign, aria_hidden="true"), tag("span", word, class_="hidden"), class_=class_)


def score_text(score: float | None) -> str:
    """A score with its sign, in few characters."""
    if score is None:
        return "–"
    digits = 0 if abs(score) >= 100 else 1 if abs(score) >= 10 else 2
    return f"{score:+.{digits}f}".replace("-", "−")


def _state_row(name: str, dfa: DFA, word: Sequence[str], shown: Sequence[int | None]) -> Markup:
    states = dfa.run(word)

    def cell(n: int) -> Markup:
        state = states[n]
        called = tag("span", shortened(visible(dfa.name(state)), _STATE_WIDTH), class_="called")
        return Markup(called + answer(bool(dfa.accepting[state])))

    return _row(name, shown, cell, class_="states")


def _row(
    name: str | Markup,
    shown: Sequence[int | None],
    cell: Callable[[int], Markup],
    *,
    class_: str | None = None,
    head: bool = False,
) -> Markup:
    cells = [
        tag("td", "…", class_="gap") if n is None
        else tag("th" if head else "td", cell(n), scope="col" if head else None, data_at=n)
        for n in shown
    ]  # fmt: skip
    return tag("tr", tag("th", name, scope="row"), *cells, class_=class_)


def _columns(count: int) -> list[int | None]:
    if count <= _MOST_COLUMNS:
        return list(range(count))
    half = _MOST_COLUMNS // 2
    return [*range(half), None, *range(count - half, count)]
