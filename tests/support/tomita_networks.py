"""Networks trained on Tomita's seven grammars, once a session."""

from __future__ import annotations

import functools

from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.automata.regex.regex_compiler import compile_regex
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import Cell
from rnncheck.probability.distributions import WordDistribution
from rnncheck.training import TrainingSettings, train_on_automaton
from rnncheck.words import Alphabet

GRAMMARS = {
    1: "1*",
    2: "(1 0)*",
    3: "!((.* 0)? 1 (1 1)* 0 (0 0)* (1 .*)?)",
    4: "!(.* 0 0 0 .*)",
    5: "(0 0 | 1 1 | (0 1 | 1 0) (0 0 | 1 1)* (0 1 | 1 0))*",
    6: "(0 1 | (0 0 | 1) (1 0)* (0 | 1 1))*",
    7: "0* 1* 0* 1*",
}


@functools.cache
def trained_on(number: int) -> tuple[CompiledNetwork, DFA]:
    """A network that was trained on a grammar, and the grammar's automaton."""
    grammar = minimise(compile_regex(GRAMMARS[number], Alphabet(["0", "1"])))
    trained = train_on_automaton(
        grammar,
        settings=TrainingSettings(cell=Cell.GRU, hidden=16, hold=5),
        distribution=WordDistribution(grammar.alphabet, stop=0.02),
        pumped=0.2,
    )
    return CompiledNetwork(trained.network), grammar
