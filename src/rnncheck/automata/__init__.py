"""Regular languages: automata on integer tables, compilers to them, and queries of them."""

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dfa_json import read_json, write_json
from rnncheck.automata.formats.dot import read_dot, write_dot
from rnncheck.automata.formats.libraries import from_aalpy, from_automata_lib, to_aalpy, to_automata_lib
from rnncheck.automata.language import (
    all_words,
    count_words,
    empty_language,
    is_empty,
    is_finite,
    is_universal,
    least_word,
    short_words,
    words_up_to,
)
from rnncheck.automata.ltlf.ltlf_compiler import compile_ltlf
from rnncheck.automata.minimisation import canonical, minimise
from rnncheck.automata.moore import MooreMachine, difference_of
from rnncheck.automata.product import (
    difference,
    difference_witness,
    inclusion_witness,
    intersection,
    symmetric_difference,
    union,
)
from rnncheck.automata.regex.regex_compiler import compile_regex
from rnncheck.automata.regex.state_elimination import regular_expression

__all__ = [
    "DFA",
    "MooreMachine",
    "all_words",
    "canonical",
    "compile_ltlf",
    "compile_regex",
    "count_words",
    "difference",
    "difference_of",
    "difference_witness",
    "empty_language",
    "from_aalpy",
    "from_automata_lib",
    "inclusion_witness",
    "intersection",
    "is_empty",
    "is_finite",
    "is_universal",
    "least_word",
    "minimise",
    "read_dot",
    "read_json",
    "regular_expression",
    "short_words",
    "symmetric_difference",
    "to_aalpy",
    "to_automata_lib",
    "union",
    "words_up_to",
    "write_dot",
    "write_json",
]
