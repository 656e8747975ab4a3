"""Verify recurrent neural networks against regular specifications.

Reading order of the source, from the bottom up: ``errors``, ``words``, ``automata/`` (the DFA and everything that
compiles to one), ``distributions``, ``spec``, ``models/``, ``oracle``, ``learning/``, ``training/``, ``report/``,
``cli/``.
"""

from rnncheck.automata.dfa import DFA
from rnncheck.distributions import WordDistribution
from rnncheck.errors import RnncheckError
from rnncheck.spec import Spec
from rnncheck.words import Alphabet, format_word, parse_word

__version__ = "0.1.0"

__all__ = [
    "DFA",
    "Alphabet",
    "RnncheckError",
    "Spec",
    "WordDistribution",
    "__version__",
    "format_word",
    "parse_word",
]
