"""Options that name a specification, and that say what it means."""

from __future__ import annotations

from rnncheck.options.command_sets import CONTACT_FILES, ONE_MODEL, ONE_SPEC
from rnncheck.options.option import (
    At,
    Choice,
    Flag,
    HelpGroup,
    InputFile,
    Letters,
    ModelFile,
    Option,
    Text,
    Whole,
    beside,
    without,
)

_SPEC, _ABOUT = HelpGroup.SPECIFICATION, HelpGroup.ABOUT
_SPECS_IN_REPAIR = without(
    "--dfa", "--regex", "--ltlf", "--word-list",
    why="without --dfa, --regex, --ltlf or --word-list; the properties of a file have their own", commands=("repair",),
)  # fmt: skip
_TRACES = ("verify", "diff", "repair")
_NO_TRACE_PROOFS = {
    "prove": "a proof follows the specification by letters, and not the labels on the way; verify it (rnncheck verify "
    "{flag} …), or prove a property of one label (--label NAME --ltlf …)"
}
_READS_A_MODEL = without("--model", "--module", commands=("replay", "report"))

# fmt: off
SPECIFICATION_OPTIONS = (
    Option(flags="--ltlf", kind=Text(), metavar="FORMULA", group=_SPEC, commands=(*ONE_SPEC, "diff", "repair"),
           help="An LTLf or LDLf formula, such as 'G(a -> F b)'.",
           differences={
               "diff": {"multiple": True, "help": "A property to verify on both networks; may be repeated."},
               "repair": {"multiple": True, "help": "An LTLf or LDLf formula; may be repeated, as all of these."}}),
    Option(flags="--regex", kind=Text(), metavar="REGEX", group=_SPEC, commands=(*ONE_SPEC, "diff", "repair"),
           help="A regular expression over letters, such as '(a|b)* a'.",
           differences={"diff": {"multiple": True, "help": "The same as a regular expression."},
                        "repair": {"multiple": True}}),
    Option(flags="--dfa", kind=InputFile(), metavar="FILE", group=_SPEC, commands=(*ONE_SPEC, "diff", "repair"),
           help="An automaton: a .dot or .json file.",
           differences={"diff": {"multiple": True, "help": "The same as an automaton."},
                        "repair": {"multiple": True}}),
    Option(flags="--word-list", kind=InputFile(), metavar="FILE", group=_SPEC, commands=(*ONE_SPEC, "diff", "repair"),
           help="The words of a file, one per line, and no others.",
           differences={"diff": {"multiple": True, "help": "The same as a file of words: these and no others."},
                        "repair": {"multiple": True}}),
    Option(flags="--trace-ltlf", kind=Text(), metavar="FORMULA", group=_SPEC, commands=_TRACES,
           former=("--moore-ltlf",), rejected=_NO_TRACE_PROOFS,
           help="A formula over letters and labels: 'G(a -> F label=alarm)'.",
           differences={"diff": {"multiple": True}, "repair": {"multiple": True}}),
    Option(flags="--trace-regex", kind=Text(), metavar="REGEX", group=_SPEC, commands=_TRACES,
           former=("--moore-regex",), rejected=_NO_TRACE_PROOFS,
           help="An expression over pairs: \"$label_idle* 'a/alarm'\".",
           differences={"diff": {"multiple": True}, "repair": {"multiple": True}}),
    Option(flags="--against", kind=ModelFile(), metavar="MODEL", group=_SPEC, commands=("verify",),
           help="Another model instead of a specification; see also `rnncheck diff`."),
    Option(flags="--spec", kind=InputFile(), metavar="FILE.toml", group=_SPEC,
           commands=("prove", "robust", "diff", "repair"),
           help="A property file, instead of --ltlf, --regex or --dfa.",
           differences={"diff": {"help": "All properties of a property file."},
                        "repair": {"help": "All properties of a property file, beside those of other options."}}),
    Option(flags="--property", kind=Text(), metavar="NAME", group=_SPEC, commands=("prove", "robust", "repair"),
           help="Which property of --spec, if it has several.", no_effect=(without("--spec"),),
           differences={"repair": {"multiple": True, "help": "Only this property of --spec; may be repeated."}}),
    Option(flags="--own-answers", kind=Flag(), group=_SPEC, commands=("harden",),
           help="Instead of a specification, the automaton of the network's answers."),

    Option(flags="--relation", kind=Choice(At("relations:Relation")), default="subset", group=_ABOUT, key=True,
           commands=("verify", "prove", "diff", "repair", "harden", "compare-surrogates", "spec compare"),
           help="subset: no false positives; superset: no false negatives.",
           no_effect=(
               beside("--words", why="with --words, whose labels the network is to equal", commands=("harden",)),
               beside("--own-answers", why="with --own-answers, which the network is to equal"),
               without("--dfa", "--regex", "--ltlf", "--word-list", why="without a specification",
                       commands=("compare-surrogates",)),
           ),
           differences={
               "diff": {"default": "equal",
                        "help": "Of the new to the old network. subset: the new one accepts nothing more; superset: "
                                "nothing less."},
               "repair": {"help": "Of --dfa, --regex, --ltlf and --word-list. subset: no false positives; superset: "
                                  "no false negatives."},
               "spec compare": {"help": "What A must be to B."}}),
    Option(flags="--assume", kind=Text(), metavar="FORMULA", group=_ABOUT, key=True,
           commands=("verify", "prove", "diff", "repair"), no_effect=(_SPECS_IN_REPAIR,),
           help="Only words that satisfy it count: an LTLf formula, regex:TEXT or dfa:FILE."),
    Option(flags="--max-length", kind=Whole(2), group=_ABOUT, key=True, commands=("verify", "prove", "diff", "repair"),
           help="Only words of up to N letters count; the network is not queried for longer ones.",
           no_effect=(_SPECS_IN_REPAIR,),
           differences={"repair": {"help": "Only words of up to N letters count; longer ones keep their answers."}}),
    Option(flags="--alphabet", kind=Letters(), group=_ABOUT, no_effect=(_READS_A_MODEL,),
           commands=(*dict.fromkeys((*ONE_SPEC, *ONE_MODEL)), "diff", "replay", "report", "draw", "spec compare"),
           help="The letters, with commas between: a,b,'<c d>'.",
           differences={
               **{name: {"group": HelpGroup.MODEL, "help": "The letters, for files and code without their own."}
                  for name in ("init", "inspect", "classify", "diff", "extract", "draw", "report")},
               "replay": {"group": HelpGroup.MODEL, "otherwise": "the model's, or the verdict's"}}),
    Option(flags="--define", kind=Text(), metavar="NAME=REGEX", multiple=True, group=_ABOUT, commands=ONE_SPEC,
           help="A name to use in --regex as $NAME.", no_effect=(without("--regex"),)),
    Option(flags="--complete", kind=Flag(), group=_ABOUT, commands=(*ONE_SPEC, "repair"),
           help="Send transitions that --dfa lacks to a rejecting state.", no_effect=(without("--dfa"),)),
    Option(flags="--complete", kind=Flag(), group=_ABOUT, commands=("spec compare", "draw"),
           help="Send transitions that an automaton lacks to a rejecting state."),
    Option(flags="--nonempty", kind=Flag(), group=_ABOUT, commands=(*ONE_SPEC, "repair"),
           help="Let no formula accept the empty word.", no_effect=(without("--ltlf"),)),
    Option(flags="--max-states", kind=Whole(1), group=_ABOUT, default=At("automata.dfa:DEFAULT_MAX_STATES"),
           commands=(*ONE_SPEC, "contacts spec"), help="Stop with an error if an automaton has more than N states."),
    Option(flags="--time", kind=Flag(), group=_ABOUT, commands=("contacts spec",),
           help="The time-respecting paths themselves."),
    Option(flags="--gap", kind=Whole(1), group=_ABOUT, commands=("contacts spec",),
           help="Nobody comes again within N steps."),
    Option(flags="--strict", kind=Flag(), group=_ABOUT, commands=CONTACT_FILES[1:],
           help="Times must increase from step to step; by default they may stay equal."),
)
# fmt: on
