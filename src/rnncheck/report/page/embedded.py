"""What the page's script works with: the automata as tables, the letters, and the flows."""

from __future__ import annotations

from rnncheck.automata.dfa import DFA
from rnncheck.errors import visible
from rnncheck.report.markup import shortened
from rnncheck.report.page.cluster_section import mistakes_automaton
from rnncheck.verdict.value import Verdict
from rnncheck.words import letter_text

# A page with a larger table would no longer open quickly.
MOST_CELLS = 600_000
_LONGEST_TEXT = 60


def embedded(verdict: Verdict) -> dict[str, object]:
    """The data of the script, ready for JSON."""
    letters = list(verdict.alphabet)
    texts = {code: shortened(letter_text(letter), _LONGEST_TEXT) for code, letter in enumerate(letters)}
    return {
        "letters": letters,
        "texts": {code: text for code, text in texts.items() if text != letters[code]},
        "automata": {
            "spec": _table(verdict.specification, verdict),
            "hypothesis": _table(verdict.hypothesis, verdict),
            "errors": _table(mistakes_automaton(verdict), verdict),
        },
        "cuts": [len(flow.prefix) for flow in verdict.faulty_flows],
    }


def can_run(dfa: DFA | None) -> bool:
    """Whether the page holds the automaton's table, so that words can be tried on it."""
    return dfa is not None and dfa.transitions.size <= MOST_CELLS


def _table(dfa: DFA | None, verdict: Verdict) -> dict[str, object] | None:
    if dfa is None or not can_run(dfa):
        return None
    ordered = dfa.over(verdict.alphabet)
    names = None if dfa.names is None else [visible(name) for name in dfa.names]
    return {
        "initial": ordered.initial,
        "accepting": "".join("1" if accepted else "0" for accepted in ordered.accepting.tolist()),
        "table": ordered.transitions.ravel().tolist(),
        "names": names,
    }
