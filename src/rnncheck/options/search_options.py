"""Options about how sure to be, how long to take, and how to search and learn."""

from __future__ import annotations

from rnncheck.options.command_sets import EXPERIMENTS, LEARNING
from rnncheck.options.option import (
    At,
    Choice,
    Flag,
    HelpGroup,
    InputFile,
    NoEffect,
    Number,
    Option,
    Values,
    Whole,
    beside,
    if_chosen,
    without,
)

_CERTAINTY, _METHOD, _FOUND, _PROOF = (
    HelpGroup.CERTAINTY,
    HelpGroup.METHOD,
    HelpGroup.COUNTEREXAMPLES,
    HelpGroup.PROOF,
)
LEARNING_SETTINGS = At("learning.learning_settings:LearningSettings")
VERIFY_SETTINGS = At("verification.verify_settings:VerifySettings")
FLOW_SETTINGS = At("search.flows:FlowSettings")
PROOF_SETTINGS = At("proofs.proof_search:ProofSettings")
REPLAY_SETTINGS = At("checker:ReplaySettings")
REPAIR_SETTINGS = At("repairs.repair_settings:RepairSettings")
EPSILON, GAMMA = At("probability.confidence:Confidence.epsilon"), At("probability.confidence:Confidence.gamma")
_BOUND = At("probability.confidence:Bound")
_METHODS, _EXTRACTIONS = At("verification.methods:METHODS"), At("extraction:EXTRACTIONS")
_DEFAULT_EXTRACTION = At("extraction:DEFAULT_EXTRACTION")
_COMPARED = At("verification.methods:COMPARED")

_METHODICAL = ("verify", "diff")
_HIDDEN_STATES = ("tree", "kmeans", "grid")
_NO_MODEL = without("--model", "--module", commands=("replay",))


def _extracted_by(*methods: str) -> NoEffect:
    """No effect where AAMC, or ``extract``, extracts in one of these ways."""
    return NoEffect(
        "with this --extraction",
        lambda values: values["method"] == "aamc" and values["extraction"] in methods,
        ("verify",),
    )


def _only_without(*methods: str, why: str) -> NoEffect:
    """No effect where methods of an experiment were chosen, and none of these."""
    return NoEffect(
        why, lambda values: bool(values["method"]) and not set(methods) & set(values["method"]), EXPERIMENTS
    )


def _not_by_aamc(values: Values) -> bool:
    return bool(values["method"] != "aamc")


def _not_by_auto(values: Values) -> bool:
    return bool(values["method"] != "auto")


_BY_SMC = if_chosen("--method", "smc", why="with --method smc", commands=_METHODICAL)
_BY_ERRORS = if_chosen("--method", "errors", why="with --method errors", commands=_METHODICAL)
_NO_LEARNER = (
    _BY_SMC,
    _extracted_by(*_HIDDEN_STATES),
    if_chosen("--method", *_HIDDEN_STATES, commands=("extract",)),
)
_NO_FLOWS = NoEffect("with --pumps 0", lambda values: not values["pumps"], ("verify",))

# fmt: off
SEARCH_OPTIONS = (
    Option(flags="--epsilon", kind=Number(), group=_CERTAINTY, default=EPSILON, key=Number(above=0.0, below=1.0),
           commands=(*LEARNING, "robust", *EXPERIMENTS),
           help="The probability of a violation, or of a difference, to stay below.",
           differences={"robust": {"help": "Where neighbours are too many: the share of flips to stay below."}}),
    Option(flags="--epsilon", kind=Number(least=0, below=1), group=_CERTAINTY, commands=("prove",),
           fills=PROOF_SETTINGS, otherwise="prove all",
           help="Accept a proof if unproved words have a lower probability than this."),
    Option(flags="--gamma", kind=Number(), group=_CERTAINTY, default=GAMMA, key=Number(above=0.0, below=1.0),
           commands=(*LEARNING, "robust", *EXPERIMENTS), help="One minus the confidence."),
    Option(flags="--bound", kind=Choice(_BOUND), group=_CERTAINTY, fills=LEARNING_SETTINGS,
           commands=(*LEARNING, *EXPERIMENTS), help="The statistical test; paper: the numbers of words of the paper."),
    Option(flags="--timeout", kind=Number(least=0), metavar="SECONDS", group=_CERTAINTY, key=Number(above=0.0),
           commands=(*LEARNING, "prove", "robust", "repair", "replay"),
           help="Stop after this time, loading and compiling included.",
           differences={"repair": {"help": "Stop after this time, with the best network so far."},
                        "replay": {"help": "Stop after this time; what is unchecked by then is undecided."},
                        "compare-surrogates": {"help": "Stop each method after this time.", "otherwise": "30"}}),
    Option(flags="--timeout", kind=Number(), metavar="SECONDS", group=_CERTAINTY, former=("--max-seconds",),
           commands=("train", "harden"), help="Stop after this time, with the best network so far.",
           differences={"harden": {"help": "Stop after this time, with the network as it is then."}}),
    Option(flags="--timeout", kind=Number(above=0), metavar="SECONDS", default=600.0, group=_CERTAINTY,
           commands=EXPERIMENTS, help="The time limit of each verification."),
    Option(flags="--timeout", kind=Number(least=0), metavar="SECONDS", default=60, group=_CERTAINTY,
           commands=("draw",), help="How long the layout may take."),
    Option(flags="--require", kind=Choice(At("verdict.facts:Strength")), group=_CERTAINTY, key=True,
           commands=("verify", "prove", "diff", "check"),
           help="The least that satisfied may rest on; the exit code is 3 where it rests on less.",
           differences={"check": {"otherwise": "as the file says"}}),
    Option(flags="--seed", kind=Whole(0), default=0, group=_CERTAINTY, key=True,
           commands=(*LEARNING, "robust", "repair", "train", "harden", "contacts dataset", "contacts generate",
                     *EXPERIMENTS),
           help="The seed of all randomness: the same seed gives the same result."),
    Option(flags="--seed", kind=Whole(0), group=_CERTAINTY, commands=("replay",), fills=REPLAY_SETTINGS,
           help="The seed of --words.", no_effect=(_NO_MODEL,)),
    Option(flags="--words", kind=Whole(0), group=_CERTAINTY, commands=("replay",), fills=REPLAY_SETTINGS,
           help="Draw N new words from the verdict's distribution.", no_effect=(_NO_MODEL,)),
    Option(flags="--steps", kind=Whole(0), group=_CERTAINTY, commands=("replay",), fills=REPLAY_SETTINGS,
           help="Take at most N network steps for each claim about many words.", no_effect=(_NO_MODEL,)),
    Option(flags="--exhaustive", kind=Whole(0), group=_CERTAINTY, commands=_METHODICAL, fills=VERIFY_SETTINGS, key=True,
           help="First query every word of up to N letters."),
    Option(flags="--search-steps", kind=Whole(0), group=_CERTAINTY, commands=_METHODICAL, fills=VERIFY_SETTINGS,
           key=True, help="Search with N network steps before --method auto reports satisfied.",
           no_effect=(NoEffect("without --method auto", _not_by_auto),)),
    Option(flags="--max-steps", kind=Whole(1), group=_CERTAINTY, commands=("robust",),
           default=At("neighbourhoods.neighbourhoods:Request.max_steps"),
           help="Query all neighbours of a word only if that takes at most N network steps."),
    Option(flags="--rounds", kind=Whole(1), group=_CERTAINTY, commands=("repair",), fills=REPAIR_SETTINGS,
           help="Train at most N times."),
    Option(flags="--effort", kind=Number(above=0), group=_CERTAINTY, commands=("repair",), fills=REPAIR_SETTINGS,
           help="For each property, the last search takes this many times the usual steps."),
    Option(flags="--max-loss", kind=Number(0, 1), group=_CERTAINTY, commands=("repair",), fills=REPAIR_SETTINGS,
           help="The share of held-out words that may become wrong."),

    Option(flags="--counterexamples", kind=Whole(1), group=_FOUND, commands=("verify",), fills=VERIFY_SETTINGS,
           help="Show at most N counterexamples, of different kinds."),
    Option(flags="--explain", kind=Number(0.0), metavar="SECONDS", group=_FOUND, commands=_METHODICAL,
           fills=VERIFY_SETTINGS, key=Number(above=0.0), otherwise="about 2, counted in steps",
           help="The time for a shorter counterexample, flows and severity."),
    Option(flags="--severity-samples", kind=Whole(0), group=_FOUND, commands=_METHODICAL, fills=VERIFY_SETTINGS,
           former=("--mass",), otherwise="as --explain allows",
           help="Measure the severity of a violation with N words."),
    Option(flags="--no-shrink", kind=Flag(negative=True), group=_FOUND, commands=(*_METHODICAL, *EXPERIMENTS),
           fills=VERIFY_SETTINGS, setting="shrink", help="Show the counterexample as it was found.",
           no_effect=(beside("--faithful", why="with --faithful, which shrinks nothing", commands=("verify",)),)),
    Option(flags="--pumps", kind=Whole(0), group=_FOUND, commands=("verify",), fills=FLOW_SETTINGS,
           help="Repeat each loop up to N times to find faulty flows; 0: look for none."),
    Option(flags="--min-hits", kind=Whole(0), group=_FOUND, commands=("verify", *EXPERIMENTS), fills=FLOW_SETTINGS,
           former=("--hits",), no_effect=(_NO_FLOWS,),
           help="Report a faulty flow if more than N of its pumped words violate the property."),
    Option(flags="--loops", kind=Whole(1), group=_FOUND, commands=("verify",), fills=FLOW_SETTINGS,
           no_effect=(_NO_FLOWS,), help="Try at most N loops at each place."),
    Option(flags="--longest-loop", kind=Whole(1), group=_FOUND, commands=("verify",), fills=FLOW_SETTINGS,
           no_effect=(_NO_FLOWS,), help="Try loops of at most N letters."),

    Option(flags="--context", kind=Whole(0), group=_PROOF, commands=("prove",), fills=PROOF_SETTINGS,
           help="Distinguish words by at most their last N letters."),
    Option(flags="--induction-depth", kind=Whole(0), group=_PROOF, commands=("prove",), fills=PROOF_SETTINGS,
           former=("--ahead",), help="If that is too coarse, follow small boxes for N letters (k-induction, to 16)."),
    Option(flags="--boxes", kind=Whole(1), group=_PROOF, commands=("prove",), fills=PROOF_SETTINGS, setting="classes",
           help="Stop if the proof needs more than N boxes."),
    Option(flags="--longest", kind=Whole(0), group=_PROOF, commands=("prove",), fills=PROOF_SETTINGS,
           help="If no proof closes, try one for words of up to N letters."),
    Option(flags="--no-harden", kind=Flag(negative=True), group=_PROOF, commands=("repair",), fills=REPAIR_SETTINGS,
           setting="harden", help="Do not train a small network further until it is proved."),
    Option(flags="--iterations", kind=Whole(1), group=_PROOF, commands=("repair",), fills=REPAIR_SETTINGS,
           help="Train at most N iterations for a proof.", no_effect=(beside("--no-harden"),)),
    Option(flags="--iterations", kind=Whole(1), group=_PROOF, commands=("train", "harden"),
           fills=At("training:HardeningSettings"), help="Train at most N iterations on boxes of states.",
           no_effect=(without("--provable", commands=("train",)),)),

    Option(flags="--method", kind=Choice(_METHODS), default="auto", group=_METHOD, commands=_METHODICAL, key=True,
           help="How to search and prove; auto combines the others."),
    Option(flags="--method", kind=Choice(_EXTRACTIONS), default=_DEFAULT_EXTRACTION, group=_METHOD,
           commands=("extract",), former=("--by",), help="How the automaton is extracted."),
    Option(flags="--method", kind=Choice(_EXTRACTIONS), multiple=True, group=_METHOD, commands=("compare-surrogates",),
           former=("--road",), otherwise="all but auto and cells",
           help="Only this extraction method; may be repeated."),
    Option(flags="--method", kind=Choice(_COMPARED), multiple=True, group=_METHOD, commands=EXPERIMENTS,
           help="Only this method; may be repeated.", otherwise="all"),
    Option(flags="--faithful", kind=Flag(), group=_METHOD, commands=("verify",),
           help="Paper mode: the algorithm as the paper prints it, with L* and its numbers of words."),
    Option(flags="--faithful", kind=Flag(), group=_METHOD, commands=EXPERIMENTS,
           help="Paper mode: also run smc, aamc and pdv exactly as the paper prints them.",
           no_effect=(_only_without("aamc", "pdv", "smc", why="with --method auto alone"),)),
    Option(flags="--extraction", kind=Choice(_EXTRACTIONS), group=_METHOD, commands=("verify", *EXPERIMENTS),
           fills=VERIFY_SETTINGS, former=("--by",), help="How --method aamc extracts its automaton.",
           no_effect=(NoEffect("without --method aamc", _not_by_aamc, ("verify",)),
                      _only_without("aamc", why="without --method aamc"))),
    Option(flags="--learner", kind=Choice(At("learning:LEARNERS")), group=_METHOD, fills=LEARNING_SETTINGS,
           commands=(*LEARNING, *EXPERIMENTS), help="The algorithm that learns automata.",
           no_effect=(*_NO_LEARNER, _extracted_by("bounded"), if_chosen("--method", "bounded", commands=("extract",)),
                      _only_without("aamc", "pdv", "auto", why="with --method smc alone"))),
    Option(flags="--equivalence", kind=Choice(At("learning:EQUIVALENCES")), group=_METHOD, fills=LEARNING_SETTINGS,
           commands=LEARNING, otherwise="sampling; for verify --method auto coverage",
           help="What looks for words on which a learned automaton is wrong, besides a sample.",
           no_effect=(_BY_SMC, _BY_ERRORS, _extracted_by("weiss", *_HIDDEN_STATES),
                      if_chosen("--method", "weiss", *_HIDDEN_STATES, commands=("extract",)))),
    Option(flags="--max-hypothesis", kind=Whole(2), group=_METHOD, fills=LEARNING_SETTINGS, setting="max_states",
           commands=LEARNING, help="Learn automata of at most N states.", no_effect=(_BY_SMC,),
           otherwise="2000; for extract with --timeout 65536; for verify --faithful no bound"),
    Option(flags="--max-query", kind=Whole(2), group=_METHOD, fills=LEARNING_SETTINGS, setting="max_query_length",
           commands=LEARNING, help="Let the learner query words of at most N letters.", no_effect=_NO_LEARNER),
    Option(flags="--known-words", kind=InputFile(), metavar="FILE", group=_METHOD, commands=LEARNING,
           help="Words for the learner to start with.", no_effect=_NO_LEARNER),
    Option(flags="--states", kind=Whole(1), group=_METHOD, commands=("extract",),
           help="Extract the best automaton of at most N states."),
    Option(flags="--moore", kind=Flag(), group=_METHOD, commands=("extract",),
           help="Extract one machine with all labels of the network."),
    Option(flags="--memory", kind=Number(0, 1 << 30), default=1024, metavar="MIB", group=_METHOD, commands=LEARNING,
           help="Memory of the process: its libraries, answers, states and searches."),
    Option(flags="--eta", kind=Number(), default=At("extraction.compare:DEFAULT_ETA"), group=_METHOD,
           commands=("compare-surrogates",), help="The probability that a small automaton may leave unexplained."),
    Option(flags="--words", kind=Whole(1), default=At("extraction.agreement:DEFAULT_WORDS"), group=_METHOD,
           commands=("compare-surrogates",), help="Measure agreement with N new words."),
)
# fmt: on
