"""Options that name a model, and that say how it is read."""

from __future__ import annotations

from rnncheck.options.command_sets import ONE_MODEL, WITH_MODEL
from rnncheck.options.option import (
    At,
    Choice,
    Flag,
    HelpGroup,
    InputFile,
    Letters,
    ModelFile,
    Number,
    Option,
    Text,
    Whole,
    beside,
    never,
    without,
)

_MODEL = HelpGroup.MODEL
_NO_MODULE = beside("--module")
_READS_A_MODEL = without("--model", "--module", commands=("replay", "report"))
_ALL_THAT_IS_READ = (
    _READS_A_MODEL,
    never("here: a proof is about all that the network reads; assume the delimiters "
          "(--assume 'regex:\"<s>\" .* \"</s>\"')", ("prove",)),
    never("here: a network is trained on all that it reads; write a specification of words with their delimiters",
          ("harden", "repair")),
)  # fmt: skip

# fmt: off
MODEL_OPTIONS = (
    Option(flags="--model", kind=ModelFile(), metavar="MODEL", group=_MODEL, commands=("replay", "report"),
           help="The network, to query it again: a file or folder.",
           differences={"report": {"help": "The network, to add its scores where the verdict has none."}}),
    Option(flags="--module", kind=Text(code=True), metavar="MODULE:NAME", group=_MODEL, commands=(*ONE_MODEL, "replay"),
           help="Import the model from your own code, which is run."),
    Option(flags="--state", kind=InputFile(), metavar="FILE", group=_MODEL, commands=(*ONE_MODEL, "replay"),
           help="The weights of --module: a state dictionary (.pt, .pth, .safetensors).",
           no_effect=(without("--module"),)),
    Option(flags="--old-module", kind=Text(code=True), metavar="MODULE:NAME", group=_MODEL, commands=("diff",),
           help="Import the old model from your own code, which is run."),
    Option(flags="--new-module", kind=Text(code=True), metavar="MODULE:NAME", group=_MODEL, commands=("diff",),
           help="Import the new model from your own code, which is run."),
    Option(flags="--old-state", kind=InputFile(), metavar="FILE", group=_MODEL, commands=("diff",),
           help="The weights of --old-module: a state dictionary.", no_effect=(without("--old-module"),)),
    Option(flags="--new-state", kind=InputFile(), metavar="FILE", group=_MODEL, commands=("diff",),
           help="The weights of --new-module: a state dictionary.", no_effect=(without("--new-module"),)),
    Option(flags="--against", kind=ModelFile(), metavar="MODEL", group=_MODEL, commands=("replay",),
           help="The old network, if the verdict compares two; --model is the new one.",
           no_effect=(_READS_A_MODEL,)),
    Option(flags="--against-module", kind=Text(code=True), metavar="MODULE:NAME", group=_MODEL, commands=("replay",),
           help="Import the old model from your own code, which is run.", no_effect=(_READS_A_MODEL,)),
    Option(flags="--against-state", kind=InputFile(), metavar="FILE", group=_MODEL, commands=("replay",),
           help="The weights of --against-module: a state dictionary.", no_effect=(without("--against-module"),)),
    Option(flags="--label", kind=Text(), metavar="LABEL", group=_MODEL, commands=(*WITH_MODEL, "report"),
           help="The label that means accept, by name or number (several outputs).", no_effect=(_READS_A_MODEL,),
           differences={"diff": {"help": "Compare the answers for one label.", "otherwise": "for all"}}),
    Option(flags="--labels", kind=Letters(), metavar="NAMES", group=_MODEL, commands=(*WITH_MODEL, "report"),
           help="Names for several outputs, with commas between.", no_effect=(_READS_A_MODEL,)),
    Option(flags="--threshold", kind=Number(), group=_MODEL, commands=(*WITH_MODEL, "report"),
           help="Accept above this probability.", otherwise="the file's, or 0.5", no_effect=(_READS_A_MODEL,)),
    Option(flags="--cell", kind=Choice(At("options.cell_names:ALIKE_CELLS")), group=_MODEL, commands=WITH_MODEL,
           help="The activation of an Elman network whose file does not name it.",
           no_effect=(_READS_A_MODEL, _NO_MODULE)),
    Option(flags="--float64", kind=Flag(), group=_MODEL, commands=WITH_MODEL, help="Compute in double precision.",
           no_effect=(_READS_A_MODEL, never("here: networks are trained in single precision", ("repair",)))),
    Option(flags="--before", kind=Text(), metavar="LETTERS", group=_MODEL, commands=(*WITH_MODEL, "report"),
           help="Delimiters: letters that the model reads before every word (BOS). --alphabet has them, words do not.",
           no_effect=_ALL_THAT_IS_READ),
    Option(flags="--after", kind=Text(), metavar="LETTERS", group=_MODEL, commands=(*WITH_MODEL, "report"),
           help="Delimiters after every word (EOS).", no_effect=_ALL_THAT_IS_READ),
    Option(flags="--threads", kind=Whole(1), group=_MODEL, commands=(*WITH_MODEL, "check"), repeated=False,
           help="Threads for each network.", otherwise="all cores", no_effect=(_READS_A_MODEL,),
           differences={"check": {"otherwise": "all cores, or 1 with --workers"}}),
    Option(flags="--no-cache", kind=Flag(), group=_MODEL, commands=(*ONE_MODEL, "diff"), repeated=False,
           help="Check the engine anew, and keep nothing of the check.", no_effect=(_NO_MODULE,)),
    Option(flags="--torchscript", kind=Flag(runs_code=True), group=_MODEL, commands=WITH_MODEL,
           help="The file is TorchScript, a program that you trust: it is run.",
           no_effect=(_READS_A_MODEL, _NO_MODULE)),
)
# fmt: on
