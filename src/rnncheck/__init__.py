"""Verify recurrent neural networks against regular specifications.

Reading order of the source, from the bottom up: ``errors``, ``words``, ``runtime/`` (budgets, executors, files),
``automata/`` (the DFA and everything that compiles to one), ``probability/``, ``spec`` and ``relations``, ``models/``,
``oracle/`` (the one door to a model), ``search/``, ``learning/``, ``extraction/``, ``verification/``, ``verdict/``,
``training/``, ``contacts/``, ``experiments/``, ``report/``, ``cli/``.
"""

from rnncheck.automata.dfa import DFA
from rnncheck.errors import RnncheckError
from rnncheck.extraction.extract import extract_automaton
from rnncheck.models.adapters import DFAModel, complement
from rnncheck.models.files.loading import load_model
from rnncheck.models.wrapping import wrap
from rnncheck.probability.distributions import WordDistribution
from rnncheck.spec import Spec
from rnncheck.verdict.value import Verdict
from rnncheck.verification.assertion import assert_satisfies
from rnncheck.verification.settings import VerifySettings
from rnncheck.verification.verify import verify
from rnncheck.version import __version__
from rnncheck.words import Alphabet, format_word, parse_word

__all__ = [
    "DFA",
    "Alphabet",
    "DFAModel",
    "RnncheckError",
    "Spec",
    "Verdict",
    "VerifySettings",
    "WordDistribution",
    "__version__",
    "assert_satisfies",
    "complement",
    "extract_automaton",
    "format_word",
    "load_model",
    "parse_word",
    "verify",
    "wrap",
]
