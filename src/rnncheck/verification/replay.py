"""Check the evidence of a verdict again, sharing as little code as can be with what produced it.

Automata are walked here as plain tables, one word at a time; the model is asked by its own definition, alone.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rnncheck.errors import FormatError, RnncheckError
from rnncheck.models.protocol import Model
from rnncheck.verdict import VerdictDocument
from rnncheck.words import format_word


@dataclass(frozen=True)
class Check:
    """One piece of evidence: what was looked at, whether it holds, and what was seen."""

    name: str
    holds: bool
    seen: str


def replay(document: VerdictDocument, model: Model | None, source: str = "verdict") -> list[Check]:
    """Check everything that a verdict's document says and that can be checked without sampling again."""
    try:
        return list(_checks(document, model))
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise FormatError(f"the evidence is not as it should be: {type(error).__name__} {error}", source) from None


def _checks(document: VerdictDocument, model: Model | None) -> Iterator[Check]:
    spec = _Table(document.spec["automaton"]) if document.spec.get("automaton") else None
    hypothesis = _Table(document.hypothesis["automaton"]) if document.hypothesis else None
    if model is not None and "sha256" in document.model:
        same = model.describe().get("sha256") == document.model["sha256"]
        yield Check("model", same, "the same network" if same else "another network than the one verified")
    if document.verdict == "violated":
        yield from _counterexample(document, spec, model)
    tested = (document.guarantee or {}).get("hypothesis_epsilon") is not None
    if spec is not None and hypothesis is not None and tested:
        yield _inclusion(document, hypothesis, spec)
    if document.guarantee is not None and document.guarantee.get("samples"):
        yield _sample(document.guarantee)
    if spec is not None and model is not None:
        yield from _flows(document, spec, model)


def _counterexample(document: VerdictDocument, spec: _Table | None, model: Model | None) -> Iterator[Check]:
    word = document.counterexample
    if word is None:
        yield Check("counterexample", False, "violated, but there is no word")
        return
    if spec is None or model is None:
        return
    accepted, wanted = model.definition(model.alphabet.encode(word)), spec.accepts(word)
    seen = f"{format_word(word)}: the model {_verb(accepted)} it, the specification {_verb(wanted)} it"
    yield Check("counterexample", _broken(document.relation, accepted, wanted), seen)


def _inclusion(document: VerdictDocument, hypothesis: _Table, spec: _Table) -> Check:
    word = _first_broken(hypothesis, spec, document.relation)
    name = f"hypothesis ({document.relation})"
    if word is None:
        return Check(name, True, f"the automaton of {len(hypothesis.rows)} states satisfies the specification")
    return Check(name, False, f"the automaton breaks the property on {format_word(word)}")


def _sample(guarantee: Mapping[str, Any]) -> Check:
    samples, gamma = int(guarantee["samples"]), float(guarantee["gamma"])
    if guarantee.get("bound") == "hoeffding":
        epsilon = math.sqrt(math.log(2 / gamma) / (2 * samples))
    else:
        epsilon = 1 - math.exp(math.log(gamma) / samples)
    claimed = float(guarantee["epsilon"])
    holds = claimed >= min(1.0, epsilon) * (1 - 1e-9)
    return Check("sample", holds, f"{samples} words show a probability below {epsilon:.4g}; {claimed:.4g} is claimed")


def _flows(document: VerdictDocument, spec: _Table, model: Model) -> Iterator[Check]:
    for flow in document.faulty_flows:
        prefix, loop, suffix = flow["prefix"], flow["loop"], flow["suffix"]
        hits = 0
        for n in range(1, int(flow["pumps"]) + 1):
            word = [*prefix, *(loop * n), *suffix]
            accepted = model.definition(model.alphabet.encode(word))
            hits += _broken(document.relation, accepted, spec.accepts(word))
        shown = f"{format_word(prefix)} · ({format_word(loop)})ⁿ · {format_word(suffix)}"
        yield Check(
            "faulty flow", hits == int(flow["hits"]), f"{shown}: {hits} of {flow['pumps']} pumps are violations"
        )


class _Table:
    """An automaton as its document has it, walked letter by letter."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.letters: list[str] = document["alphabet"]
        self.rows: list[list[int]] = document["transitions"]
        self.initial: int = document["initial"]
        self.accepting = set(document["accepting"])

    def step(self, state: int, letter: str) -> int:
        return self.rows[state][self.letters.index(letter)]

    def accepts(self, word: Sequence[str]) -> bool:
        state = self.initial
        for letter in word:
            state = self.step(state, letter)
        return state in self.accepting


def _first_broken(first: _Table, second: _Table, relation: str) -> list[str] | None:
    """A shortest word on which the relation breaks, by a plain search over pairs of states."""
    if set(first.letters) != set(second.letters):
        raise RnncheckError("hypothesis and specification have different alphabets")
    start = (first.initial, second.initial)
    came_from: dict[tuple[int, int], tuple[tuple[int, int], str] | None] = {start: None}
    queue = deque([start])
    while queue:
        pair = queue.popleft()
        if _broken(relation, pair[0] in first.accepting, pair[1] in second.accepting):
            word: list[str] = []
            while (step := came_from[pair]) is not None:
                pair, letter = step
                word.append(letter)
            return word[::-1]
        for letter in first.letters:
            successor = (first.step(pair[0], letter), second.step(pair[1], letter))
            if successor not in came_from:
                came_from[successor] = (pair, letter)
                queue.append(successor)
    return None


def _broken(relation: str, model: bool, other: bool) -> bool:
    if relation == "subset":
        return model and not other
    if relation == "superset":
        return other and not model
    return model != other


def _verb(accepted: bool) -> str:
    return "accepts" if accepted else "refuses"
