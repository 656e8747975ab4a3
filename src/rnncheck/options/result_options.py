"""Options about results: files that are written, what is shown, and long runs."""

from __future__ import annotations

from rnncheck.options.command_sets import EXPERIMENTS
from rnncheck.options.option import (
    Choice,
    Flag,
    HelpGroup,
    InputFile,
    Option,
    OutputFile,
    OutputFolder,
    Text,
    Whole,
    beside,
    without,
)

_RESULTS, _RUNS, _SELECTION = HelpGroup.RESULTS, HelpGroup.RUNS, HelpGroup.SELECTION
_VERDICTS = ("verify", "prove", "diff", "robust", "repair")
_WITH_PROGRESS = (*_VERDICTS, "check", "train", "harden", "replay", "extract", "compare-surrogates", *EXPERIMENTS)
_WITH_RESULT = (
    *(*_VERDICTS, "check", "replay", "train", "harden", "inspect", "classify", "extract", "compare-surrogates"),
    *("spec show", "spec test", "spec compare", "contacts info", "contacts check"),
    *(*EXPERIMENTS, "bench summary", "bench merge"),
)
_WITH_DETAILS = (*_VERDICTS, "check", "inspect", "spec show", "contacts info", "train", "harden")
_RESUMABLE = ("verify", "check", "diff", "robust", "train", "repair")

# fmt: off
RESULT_OPTIONS = (
    Option(flags="-o --output", kind=OutputFile(), metavar="FILE", required=True, group=_RESULTS,
           commands=("repair", "harden", "train", "extract", "draw", "contacts spec", "contacts generate"),
           help="The network that is written.",
           differences={
               "train": {"help": "The network that is written, a .safetensors file."},
               "extract": {"help": "The automaton that is written, a .dot or .json file."},
               "draw": {"help": "The picture that is written, a .svg, .png, .pdf or .dot file."},
               "contacts spec": {"help": "The automaton that is written, a .json, .dot or .gv file."},
               "contacts generate": {"help": "The contacts that are written, a .csv file."}}),
    Option(flags="-o --output", kind=OutputFile(dash=True), metavar="FILE", default="suite.toml", group=_RESULTS,
           commands=("init",), help="The property file that is written; `-` prints it."),
    Option(flags="-o --output", kind=OutputFolder(("train.tsv", "test.tsv", "alphabet.txt")), metavar="FOLDER",
           required=True, group=_RESULTS, commands=("contacts dataset",), help="The folder of the data set."),
    Option(flags="--to", kind=OutputFile(dash=True), metavar="FILE", required=True, group=_RESULTS,
           commands=("spec convert", "spec near"), help="A .dot or .json file; `-` prints the text of a .dot file."),
    Option(flags="--out", kind=InputFile(), metavar="FOLDER", required=True, group=_RESULTS,
           commands=(*EXPERIMENTS, "bench merge"), help="The folder of the run."),
    Option(flags="--report", kind=OutputFile(), metavar="FILE.html", group=_RESULTS, repeated=False,
           commands=(*_VERDICTS, "check", "report", "compare-surrogates", *EXPERIMENTS, "bench summary", "bench merge"),
           help="Write the report, one HTML file that opens offline.",
           differences={
               "check": {"former": ("--html",), "help": "Write one page, and the report of each check beside it."},
               "compare-surrogates": {"former": ("--out",), "help": "Write the table as a page."},
               "report": {"former": ("-o", "--output"), "required": True}}),
    Option(flags="--json", kind=OutputFile(dash=True), metavar="FILE", group=_RESULTS, repeated=False,
           commands=_WITH_RESULT, help="Write the result as JSON; `-` prints it alone."),
    Option(flags="--junit", kind=OutputFile(), metavar="FILE", group=_RESULTS, commands=("check",),
           help="Write JUnit XML, for CI servers."),
    Option(flags="--sarif", kind=OutputFile(), metavar="FILE", group=_RESULTS, commands=("check",),
           help="Write SARIF 2.1.0, for code scanning."),
    Option(flags="--certificate", kind=OutputFile(), metavar="FILE", group=_RESULTS, repeated=False,
           commands=("verify", "prove", "repair", "train", "harden"),
           help="Write the proof, for `rnncheck replay`.",
           no_effect=(without("--provable", commands=("train",)),)),
    Option(flags="--certificate", kind=InputFile(), metavar="FILE", group=_RESULTS, commands=("replay",),
           help="The certificate of a proof.", otherwise="the one that the verdict names"),
    Option(flags="--svg", kind=OutputFile(), metavar="FILE", group=_RESULTS, commands=("spec show",),
           help="Draw the automaton (extra `draw`)."),
    Option(flags="--graph", kind=OutputFile(), metavar="FILE", group=_RESULTS, commands=("contacts check",),
           help="Draw the path on the graph of contacts (SVG)."),
    Option(flags="--timeline", kind=OutputFile(), metavar="FILE", group=_RESULTS, commands=("contacts check",),
           help="Draw its contacts in time (SVG)."),
    Option(flags="--curve", kind=Flag(), group=_RESULTS, commands=("extract",),
           help="Print the agreement of automata of other sizes, too."),
    Option(flags="--plot", kind=OutputFile(), metavar="FILE.png|svg", group=_RESULTS, commands=("compare-surrogates",),
           help="Write the plot."),
    Option(flags="--plots", kind=InputFile(), metavar="FOLDER", group=_RESULTS, commands=("bench summary",),
           help="Draw the plots into this folder."),
    Option(flags="--format", kind=Choice(("text", "csv", "json", "latex")), default="text", group=_RESULTS,
           commands=("bench summary",), help="The format of the table."),
    Option(flags="--part", kind=Choice(("auto", "hypothesis", "errors", "spec")), default="auto", group=_RESULTS,
           commands=("draw",), help="Which automaton of a verdict; auto: the first of these that it has."),
    Option(flags="--flow", kind=Whole(1), default=1, group=_RESULTS, commands=("draw",),
           help="Which faulty flow to colour."),
    Option(flags="--force", kind=Flag(), group=_RESULTS, commands=("init",), help="Overwrite an existing file."),
    Option(flags="-q --quiet", kind=Flag(), group=_RESULTS, commands=_WITH_PROGRESS, repeated=False,
           help="Show no progress."),
    Option(flags="-v --verbose", kind=Flag(), group=_RESULTS, commands=_WITH_DETAILS, repeated=False,
           help="Show in full what is cut short by default.",
           differences={"check": {"help": "Show every fact of each verdict, in full."},
                        "train": {"help": "Show all settings, too."}, "harden": {"help": "Show all settings, too."}}),

    Option(flags="--tag", kind=Text(), metavar="TAG", multiple=True, group=_SELECTION, commands=("check",),
           help="Only properties with this tag; may be repeated."),
    Option(flags="--property", kind=Text(), metavar="NAME", multiple=True, group=_SELECTION, commands=("check",),
           help="Only this property; may be repeated."),
    Option(flags="--model", kind=Text(), metavar="NAME", multiple=True, group=_SELECTION, commands=("check",),
           help="Only this model; may be repeated."),

    Option(flags="--checkpoint", kind=OutputFile(), metavar="FILE", group=_RUNS, commands=_RESUMABLE, repeated=False,
           help="Keep the answers of the model in a file, to resume from.",
           no_effect=(beside("--provable", commands=("train",)),),
           differences={"check": {"help": "Keep each finished check in a file, to resume from."},
                        "robust": {"help": "Keep the results in a file, to resume from."},
                        "train": {"help": "Save after every epoch, to resume from."},
                        "repair": {"help": "Save after every round, to resume from."}}),
    Option(flags="--resume", kind=Flag(), group=_RUNS, commands=_RESUMABLE, repeated=False,
           help="Resume from --checkpoint: the result is the same as without interruption.",
           no_effect=(without("--checkpoint", why="without the --checkpoint FILE to resume from"),
                      beside("--provable", commands=("train",))),
           differences={"check": {"help": "Take from --checkpoint what has not changed since."}}),
    Option(flags="--workers", kind=Whole(1), group=_RUNS, commands=("verify", "check", "robust", *EXPERIMENTS),
           repeated=False, no_effect=(beside("--cluster"),), help="Share the words among N processes.",
           differences={"check": {"help": "Share the checks among N processes."},
                        **{name: {"default": 1, "help": "Share the work among N processes."} for name in EXPERIMENTS}}),
    Option(flags="--cluster", kind=Text(), metavar="ADDRESS", group=_RUNS, repeated=False,
           commands=("verify", "check", "robust", *EXPERIMENTS),
           help="Share them on a Dask cluster: tcp://SCHEDULER:8786."),
    Option(flags="--shard", kind=Text(), metavar="I/N", group=_RUNS, commands=EXPERIMENTS,
           help="Do only every N-th network; `bench merge` joins the shards."),
)
# fmt: on
