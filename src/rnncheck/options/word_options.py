"""Options about words: those that are given, those in files, those that are drawn, and those near others."""

from __future__ import annotations

from rnncheck.options.command_sets import DRAWING_WORDS, LEARNING
from rnncheck.options.option import (
    Choice,
    HelpGroup,
    InputFile,
    Number,
    Option,
    Text,
    Whole,
    beside,
    without,
)

_WORDS, _RANDOM, _DISTANCE = HelpGroup.WORDS, HelpGroup.RANDOM, HelpGroup.DISTANCE
_READING_WORDS = ("classify", "robust", "repair", "train", "harden", "replay", "verify", "diff")
_FORMAT_OF = tuple(dict.fromkeys((*_READING_WORDS, *LEARNING)))
_NO_FILE = without("--words", "--words-file", "--words-like", "--on-data", "--known-words",
                   why="without a file of words")  # fmt: skip
_NO_LABELLED_WORDS = without("--words")
_NEAR = ("robust", "spec near")

# fmt: off
WORD_OPTIONS = (
    Option(flags="--word", kind=Text(), metavar="WORD", multiple=True, group=_WORDS,
           commands=("classify", "spec test", "robust"), help="A word: letters with spaces between; may be repeated."),
    Option(flags="--words-file", kind=InputFile(), metavar="FILE", group=_WORDS,
           commands=("classify", "spec test", "robust"), help="A file of words: text, .csv or .jsonl."),
    Option(flags="--path", kind=Text(), metavar="PEOPLE", required=True, group=_WORDS, commands=("contacts check",),
           help="People with spaces between."),
    Option(flags="--words", kind=InputFile(), metavar="FILE", group=_WORDS, commands=("train", "harden", "repair"),
           help="Labelled words: lines of label, tab, word; or a .csv or .jsonl file.",
           differences={
               "harden": {"help": "Labelled words instead of a specification: lines of label, tab, word; or a .csv or "
                                  ".jsonl file."},
               "repair": {"help": "Your own words, with or without labels, so that nothing is forgotten (text, .csv, "
                                  ".jsonl)."}}),
    Option(flags="--on-data", kind=InputFile(), metavar="FILE", group=_WORDS, commands=("verify", "diff", "replay"),
           help="Report which of your own sequences are violations (text, .csv, .jsonl).",
           no_effect=(without("--model", "--module", commands=("replay",)),),
           differences={"replay": {"help": "The file that --on-data of verify was given."},
                        "diff": {"help": "Report on which of your own sequences they differ (text, .csv, .jsonl)."}}),
    Option(flags="--column", kind=Text(), metavar="NAME", group=_WORDS, commands=_FORMAT_OF,
           otherwise="word or sequence",
           help="The column, or field, of words in a .csv or .jsonl file.", no_effect=(_NO_FILE,)),
    Option(flags="--separator", kind=Text(), group=_WORDS, commands=_FORMAT_OF, otherwise="blanks, with quotes",
           help="The text between the letters of a word in a file.", no_effect=(_NO_FILE,)),
    Option(flags="--label-column", kind=Text(), metavar="NAME", group=_WORDS, commands=("train", "harden", "repair"),
           help="The column, or field, of the label.", otherwise="label or class", no_effect=(_NO_LABELLED_WORDS,)),
    Option(flags="--conflicts", kind=Choice(("error", "majority", "weight")), default="error", group=_WORDS,
           commands=("train",), no_effect=(_NO_LABELLED_WORDS,),
           help="A word with several labels is an error, gets the most frequent one, or counts as often as it has "
                "each."),
    Option(flags="--label", kind=Text(), metavar="LABEL", group=_WORDS, commands=("train",), otherwise="the first",
           help="The label that means accept, if there are several.",
           no_effect=(without("--words", why="without --words; a specification has only yes and no"),
                      beside("--provable"))),

    Option(flags="--words-like", kind=InputFile(), metavar="FILE", group=_RANDOM, commands=(*DRAWING_WORDS, "replay"),
           help="Draw words like those of a file (an n-gram model).",
           no_effect=(without("--model", "--module", commands=("replay",)),),
           differences={"replay": {"group": _WORDS, "help": "The file that --words-like of verify was given."}}),
    Option(flags="--order", kind=Whole(1), default=2, group=_RANDOM, commands=DRAWING_WORDS,
           help="The n of --words-like.", no_effect=(without("--words-like"),)),
    Option(flags="--stop", kind=Number(), group=_RANDOM, commands=DRAWING_WORDS, otherwise="0.01",
           help="End a random word after each letter with this probability."),
    Option(flags="--weights", kind=Text(), metavar="LETTER=W,…", group=_RANDOM, commands=DRAWING_WORDS,
           help="How often letters are drawn; `*=W` for all others.", otherwise="equally"),

    Option(flags="--distance", kind=Text(), default="1", metavar="D", group=_DISTANCE, commands=_NEAR,
           help="The largest distance of a neighbour."),
    Option(flags="--edits", kind=Text(), metavar="KINDS", group=_DISTANCE, commands=_NEAR,
           help="Which edits there are, each of distance 1: substitute, insert, delete, swap.",
           otherwise="substitute,insert,delete"),
    Option(flags="--weights", kind=InputFile(), metavar="FILE.toml", group=_DISTANCE, commands=_NEAR,
           help="The distance of each edit, and which letters may replace which; instead of --edits."),
    Option(flags="--locked", kind=Text(), metavar="LETTERS", group=_DISTANCE, commands=_NEAR,
           help="Letters that may not change, with spaces between."),
)
# fmt: on
