"""Verdicts for the tests of reports: some verified, some put together by hand."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import rnncheck
from rnncheck import zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import all_words
from rnncheck.models.adapters import DFAModel
from rnncheck.relations import Relation
from rnncheck.verdict.facts import AutomatonFacts, Round, SpecFacts, TotalCost
from rnncheck.verdict.value import Undecided, Verdict, Violated
from rnncheck.verdict.violation import FaultyFlow, Trace
from rnncheck.verification.label_questions import label_spec, verify_labels
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet, Word

QUICK = VerifySettings(search_steps=20_000)

# Letters that try to become markup, to end the script, or to disturb the text around them.
HOSTILE = (
    "<script>alert(1)</script>",
    "</script>",
    "</script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "'onmouseover='alert(4)",
    "<!--",
    "]]>",
    "&lt;b&gt;",
    "\u2028",
    "\u202eevil",
    "\u05d0\u05d1\u05d2",
    "${alert(5)}",
    "\\",
    "",
    " ",
    ",",
    "\x00",
    "\ud800",
    "漢字",
    "x" * 3000,
)


@functools.cache
def faulty() -> Verdict:
    """Violated, with scores and several flows."""
    entry = zoo.entry("response-faulty-lstm")
    return rnncheck.verify(rnncheck.load_model(entry.path), entry.spec(), timeout=60, settings=QUICK)


@functools.cache
def satisfied() -> Verdict:
    """Satisfied by learning, with several rounds."""
    entry = zoo.entry("tomita4-gru")
    model = rnncheck.load_model(entry.path)
    return rnncheck.verify(
        model, entry.spec(), method="pdv", relation="equal", epsilon=0.05, gamma=0.05, settings=QUICK, timeout=60
    )


@functools.cache
def undecided() -> Verdict:
    """The time limit was reached at once."""
    entry = zoo.entry("response-lstm")
    return rnncheck.verify(rnncheck.load_model(entry.path), entry.spec(), method="smc", timeout=0)


@functools.cache
def labels() -> Verdict:
    """Violated, about what a network says along words."""
    model = rnncheck.load_model(zoo.path("tokens-gru"))
    spec = label_spec(model, ltlf="G(label=malformed -> G label=malformed)")
    return verify_labels(model, spec, method="pdv", epsilon=0.05, gamma=0.05, settings=QUICK, timeout=60)


@functools.cache
def mistakes() -> Verdict:
    """Violated, with the language of the mistakes."""
    model = DFA(["a", "<b>"], [[1, 0], [1, 0]], [False, True])
    spec = DFA(["a", "<b>"], [[0, 1], [1, 1]], [True, False])
    return rnncheck.verify(DFAModel(model), spec, method="errors", epsilon=0.05, gamma=0.05, settings=QUICK, timeout=60)


def huge() -> Verdict:
    """Automata whose tables are too large for a page."""
    alphabet = Alphabet(["a", "b"])
    dfa = DFA(alphabet, np.tile(np.arange(400_000)[:, None], (1, 2)), np.zeros(400_000, dtype=bool))
    return by_hand(dfa, dfa, None)


def by_hand(
    model: DFA,
    spec: DFA,
    word: Word | None,
    flows: tuple[FaultyFlow, ...] = (),
    *,
    trace: bool = True,
    **parts: Any,
) -> Verdict:
    """A verdict about an automaton that plays the network, which is its own hypothesis."""
    answers = None
    if word is not None and trace:
        said = [bool(model.accepting[state]) for state in model.run(word)]
        answers = Trace(tuple(said), tuple(1.5 if yes else -2.25 for yes in said))
    facts: dict[str, Any] = {
        "reason": "made by hand",
        "method": "pdv",
        "relation": Relation.SUBSET,
        "cost": TotalCost(1.0, 2, 3, 4),
        "seed": 0,
        "alphabet": spec.alphabet,
        "learned": AutomatonFacts.of(model),
        "history": (Round(1, 10, 100, 0), Round(3, 20, 300, 64)),
        "spec_facts": spec_facts(spec, "by hand"),
        "version": "0",
    }
    if word is None:
        return Undecided(**{**facts, **parts})
    return Violated(**{"counterexample": word, "faulty_flows": flows, "trace": answers, **facts, **parts})


def changed(verdict: Verdict, **parts: Any) -> Any:
    """The verdict with other parts, or, with ``kind``, as another result."""
    kind = parts.pop("kind", type(verdict))
    known = {name: getattr(verdict, name) for name in verdict.__struct_fields__ if name in kind.__struct_fields__}
    fixed = {} if kind is type(verdict) else dict.fromkeys(set(known) - set(Verdict.__struct_fields__))
    return kind(**{name: value for name, value in {**known, **parts}.items() if name not in fixed or name in parts})


def spec_facts(spec: DFA | None, origin: str) -> SpecFacts:
    return SpecFacts(origin=origin, states=None if spec is None else len(spec), automaton=spec)


def hostile() -> Verdict:
    """A violation spelled with every hostile letter, and a flow that loops through all of them."""
    alphabet = Alphabet(HOSTILE)
    model = all_words(alphabet)
    spec = DFA(alphabet, [[1] * len(alphabet), [1] * len(alphabet)], [True, False], names=["<b>0</b>", "\u202e1"])
    flow = FaultyFlow(
        prefix=(HOSTILE[0],),
        loop=HOSTILE,
        suffix=(HOSTILE[1],),
        hits=3,
        pumps=3,
        violating_pumps=(1, 2, 3),
        scores=(1.0, None, 2.0),
    )
    return by_hand(model, spec, HOSTILE, (flow,), reason="</script><b>why</b>", spec_facts=spec_facts(spec, HOSTILE[0]))


@functools.cache
def large() -> Verdict:
    """A hypothesis of 300 states over 100 letters, violated by a word of 30 letters with a flow."""
    rng = np.random.default_rng(7)
    alphabet = Alphabet([f"op-{i}" for i in range(100)])
    table = rng.integers(300, size=(300, 100))
    model = DFA(alphabet, table, rng.random(300) < 0.5)
    word = alphabet.decode(rng.integers(100, size=30).tolist())
    states = model.run(word)
    accepting = model.accepting.copy()
    accepting[states[-1]] = True
    model = DFA(alphabet, table, accepting)
    refusing = accepting.copy()
    refusing[states[-1]] = False
    loop = next((alphabet[code],) for code in range(100) if any(table[state, code] == state for state in states[:-1]))
    at = next(i for i, state in enumerate(states[:-1]) if table[state, alphabet.index(loop[0])] == state)
    flow = FaultyFlow(
        prefix=word[:at],
        loop=loop,
        suffix=word[at:],
        hits=100,
        pumps=100,
        violating_pumps=tuple(range(1, 101)),
        scores=tuple([1.0] * 100),
    )
    history = tuple(Round(n, 1000 * n, 9000 * n, 64 * n) for n in range(1, 300))
    return by_hand(model, DFA(alphabet, table, refusing), word, (flow,), history=history)
