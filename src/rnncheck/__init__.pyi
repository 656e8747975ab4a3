"""The public names of rnncheck. ``__init__.py`` imports each when it is first used."""

from rnncheck import automata as automata
from rnncheck import contacts as contacts
from rnncheck import errors as errors
from rnncheck import learning as learning
from rnncheck import report as report
from rnncheck import training as training
from rnncheck import zoo as zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.edits import Edits
from rnncheck.automata.moore import MooreMachine
from rnncheck.checker import Replay, ReplaySettings, replay
from rnncheck.errors import (
    AlphabetError,
    AutomatonError,
    ExpressionError,
    FormatError,
    InconsistentAnswersError,
    InputError,
    LearningBoundReached,
    MissingExtraError,
    ModelError,
    ResourceLimitError,
    RnncheckError,
    StateLimitError,
    WrongTypeError,
)
from rnncheck.extraction.compare import compare_surrogates
from rnncheck.extraction.extract import extract
from rnncheck.extraction.method import Extraction
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.models.adapters import DFAModel, complement
from rnncheck.models.cells import Cell
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.files.loading import load_model
from rnncheck.models.files.safetensors_file import save_network
from rnncheck.models.foreign.steps.step_wrapping import wrap_steps
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.wrapping import wrap
from rnncheck.neighbourhoods.robustness import robust
from rnncheck.neighbourhoods.robustness_result import Robustness, WordRobustness
from rnncheck.probability.confidence import Bound, Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.proofs.proof_search import ProofSettings
from rnncheck.repairs.repair import repair
from rnncheck.repairs.repair_conclusion import Repaired
from rnncheck.repairs.repair_report import RepairReport
from rnncheck.repairs.repair_settings import RepairSettings
from rnncheck.repairs.requirements import Requirement
from rnncheck.search.flows import FlowSettings
from rnncheck.spec import Spec
from rnncheck.suite.check import check
from rnncheck.suite.check_results import Check, SuiteResult
from rnncheck.suite.property_file import Suite
from rnncheck.verdict.certificate import Certificate
from rnncheck.verdict.facts import Strength
from rnncheck.verdict.guarantee import Evaluation, Guarantee, Searched
from rnncheck.verdict.value import Satisfied, Undecided, Verdict, Violated
from rnncheck.verdict.violation import FaultyFlow
from rnncheck.verification.assertion import NotSatisfiedError, assert_satisfies
from rnncheck.verification.diff_models import diff
from rnncheck.verification.label_questions import label_spec, verify_labels
from rnncheck.verification.verify import prove, verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.version import __version__
from rnncheck.word_files import read_words
from rnncheck.words import Alphabet, format_word, parse_word

__all__ = [
    "DFA",
    "Alphabet",
    "AlphabetError",
    "AutomatonError",
    "Bound",
    "Cell",
    "Certificate",
    "Check",
    "CompiledNetwork",
    "Confidence",
    "DFAModel",
    "Edits",
    "Evaluation",
    "ExpressionError",
    "Extraction",
    "FaultyFlow",
    "FlowSettings",
    "FormatError",
    "Guarantee",
    "InconsistentAnswersError",
    "InputError",
    "LearningBoundReached",
    "LearningSettings",
    "MissingExtraError",
    "ModelError",
    "MooreMachine",
    "NotSatisfiedError",
    "ProofSettings",
    "RecurrentNetwork",
    "RepairReport",
    "RepairSettings",
    "Repaired",
    "Replay",
    "ReplaySettings",
    "Requirement",
    "ResourceLimitError",
    "RnncheckError",
    "Robustness",
    "Satisfied",
    "Searched",
    "Spec",
    "StateLimitError",
    "Strength",
    "Suite",
    "SuiteResult",
    "Undecided",
    "Verdict",
    "VerifySettings",
    "Violated",
    "WordDistribution",
    "WordRobustness",
    "WrongTypeError",
    "__version__",
    "assert_satisfies",
    "check",
    "compare_surrogates",
    "complement",
    "diff",
    "extract",
    "format_word",
    "label_spec",
    "load_model",
    "parse_word",
    "prove",
    "read_words",
    "repair",
    "replay",
    "robust",
    "save_network",
    "verify",
    "verify_labels",
    "wrap",
    "wrap_steps",
]
