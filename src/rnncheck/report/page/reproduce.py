"""The commands that reproduce a verdict.

A document may come from anybody, and readers paste commands: nothing is copied unchecked from the document. Commands
are built from options and values that are known only to verify, each checked and quoted again. Code is named only where
the command is that of the run that writes the page, not of a document.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rnncheck.options.catalogue import options_of
from rnncheck.options.option import Choice, Flag, Number, Option, Whole, runs_code
from rnncheck.verdict.value import Verdict

_number = re.compile(r"[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?").fullmatch
_name = re.compile(r"[a-z][a-z0-9_-]*").fullmatch
_code = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*").fullmatch


def _check_of(option: Option) -> Callable[[str], object]:
    """What the value of an option must be, to be offered."""
    if isinstance(option.kind, Whole | Number):
        return _number
    return _name if isinstance(option.kind, Choice) else str.isprintable


# Options that choose the question, and the checks of their values. Those that write files, reach another machine or
# import code are not among them.
_ASKING = (
    *(option for option in options_of("verify") if option.repeated and not runs_code(option)),
    *(option for option in options_of("diff") if option.name in ("old_state", "new_state")),
)
_FLAGS = tuple(option.names[-1] for option in _ASKING if isinstance(option.kind, Flag))
_VALUES: Mapping[str, Callable[[str], object]] = {
    option.names[-1]: _check_of(option) for option in _ASKING if not isinstance(option.kind, Flag)
}
# The options with which ``replay`` reads the same model and the same files.
_READING = (
    *("--alphabet", "--before", "--after", "--threshold", "--label", "--labels", "--cell"),
    *("--words-like", "--on-data", "--column", "--separator"),
)
_READING_FLAGS = ("--float64",)
_KINDS = ("independent letters", "n-gram")
_SETTINGS = ("bound", "equivalence", "exhaustive", "explain", "extraction", "flows", "known_words", "learner",
             "mass_words", "max_query_length", "max_states", "on_data", "plain", "search_steps",
             "shrink", "suspects")  # fmt: skip

_NOW = {"mass_words": "severity_samples"}  # names in the schema that differ from the Python setting


def repeat_text(verdict: Verdict, *, ours: bool = False) -> str:
    """The command line of the verification, or, where it was called from Python, the call.

    ``ours``: the command is that of this very run.
    """
    words = _command(verdict, ours=ours)
    return python_call(verdict) if words is None else shlex.join(words)


def subject(verdict: Verdict) -> str:
    """The name of what was verified, as given by the user; empty where the verdict has none."""
    words = _command(verdict) or []
    if words[1:2] == ["check"]:
        return f"{words[6]}, property {words[4]}"
    files = _models(words)
    if verdict.comparison is not None:
        names = [verdict.comparison.old, verdict.comparison.new]
        return " and ".join(_last(name) for name in names if name)
    return _last(files[0]) if files else ""


def replay_text(verdict: Verdict, document: str = "verdict.json", *, ours: bool = False) -> str:
    """The command that checks the evidence again, with the options by which the same model is read."""
    words = _command(verdict, ours=ours) or []
    files = _models(words) if words[1:2] != ["check"] else []
    given = dict(itertools.pairwise(words))
    reading = [part for name in _READING if name in given for part in (name, given[name])]
    reading += [flag for flag in _READING_FLAGS if flag in words]
    named = _one(given, files) if verdict.comparison is None else _two(given, files)
    return shlex.join(["rnncheck", "replay", document, *named, *reading])


def _one(given: Mapping[str, str], files: list[str]) -> list[str]:
    """The options of ``replay`` that name the model."""
    if "--module" not in given:
        return ["--model", files[0] if files else "MODEL"]
    return ["--module", given["--module"], *(("--state", given["--state"]) if "--state" in given else ())]


def _two(given: Mapping[str, str], files: list[str]) -> list[str]:
    """The options of ``replay`` that name two models."""
    if "--against" in given:
        return [*_one(given, files), "--against", given["--against"]]
    left, named = list(files), []
    for side, prefix in (("old", "against-"), ("new", "")):
        code, weights = given.get(f"--{side}-module"), given.get(f"--{side}-state")
        if code is None:
            named.append([f"--{prefix.rstrip('-') or 'model'}", left.pop(0) if left else side.upper()])
        else:
            named.append([f"--{prefix}module", code, *((f"--{prefix}state", weights) if weights else ())])
    return [*named[1], *named[0]]


def _models(words: list[str]) -> list[str]:
    return list(itertools.takewhile(lambda word: not word.startswith("-"), words[2:4]))


def _last(name: str) -> str:
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _command(verdict: Verdict, *, ours: bool = False) -> list[str] | None:
    """The words of a command that repeats the run; None where the document has none, or an unsafe one."""
    try:
        words = shlex.split(verdict.command or "")
        if words[:2] == ["rnncheck", "check"]:
            return ["rnncheck", "check", *_choosing(words[2:])]
        known = words[:1] == ["rnncheck"] and words[1:2] in (["verify"], ["diff"])
        return [*words[:2], *_checked(words[2:], 2 if words[1] == "diff" else 1, ours)] if known else None
    except ValueError:
        return None


def _checked(words: list[str], models: int, ours: bool) -> Iterator[str]:
    """The same words, each one checked; ValueError where one may not be offered."""
    rest = iter(words)
    for place, word in enumerate(rest):
        if word in ("--module", "--old-module", "--new-module"):  # whose code would be run
            value = next(rest, "")
            yield from (word, value if ours and _code(value) else "MODULE:NAME")
        elif word in _VALUES:
            value = next(rest, "")
            if not _VALUES[word](value):
                raise ValueError(word)
            yield from (word, value)
        elif word in _FLAGS or (place < models and word.isprintable() and not word.startswith("-")):
            yield word
        else:
            raise ValueError(word)


def _choosing(words: list[str]) -> list[str]:
    """A property file, and which of its properties and models; ValueError where it is anything else."""
    names = words[1::2]
    if len(words) != 5 or names != ["--property", "--model"] or words[0].startswith("-"):
        raise ValueError(words)
    if not all(map(str.isprintable, words)):
        raise ValueError(words)
    return words


def python_call(verdict: Verdict) -> str:
    """The call of ``verify`` with everything that the verdict records of it."""
    settings = verdict.settings
    lines = [f"    method={verdict.method!r},"] if _name(verdict.method) else []
    lines.append(f"    relation={verdict.relation.value!r},")
    lines += [
        f"    {name}={settings[name]!r}," for name in ("epsilon", "gamma", "timeout") if _is_number(settings.get(name))
    ]
    lines.append(f"    seed={verdict.seed},")
    if verdict.assumption is not None and verdict.assumption.automaton is not None:
        lines.append("    assume=…,  # a language, see the table of facts")
    if verdict.assumption is not None and verdict.assumption.max_length is not None:
        lines.append(f"    max_length={verdict.assumption.max_length},")
    call = ["rnncheck.verify(", "    model,", "    written.specification,", *lines]
    before = [
        'written = rnncheck.Verdict.from_json(open("verdict.json", "rb").read())  # what to_json() gave',
        f"model = {_loading(verdict.model_facts)}",
        "",
    ]
    if verdict.specification is None:
        call[2] = "    spec,  # the specification is not in this verdict"
    if verdict.comparison is not None:
        lines[lines.index(f"    relation={verdict.relation.value!r},")] = (
            f"    relation={verdict.comparison.relation.value!r},"
        )
        call = ["rnncheck.diff(", "    old,", "    new,", *lines]
        sides = [(side, verdict.model_facts.get(side)) for side in ("old", "new")]
        loading = [f"{side} = {_loading(facts if isinstance(facts, Mapping) else {})}" for side, facts in sides]
        before = [before[0], *loading, ""]
    drawn = settings.get("distribution")
    if isinstance(drawn, Mapping) and not (drawn.get("weights") == "uniform" and drawn.get("stop") == 0.01):
        kind = next((known for known in _KINDS if known == drawn.get("kind")), "of an unknown kind")
        call.append(f"    distribution=…,  # {kind}, see the table of facts")
    changed = [
        _NOW.get(name, name)
        for name in _SETTINGS
        if name in settings and not (name == "bound" and settings[name] in (None, "exact"))
    ]
    if changed:
        call.append(f"    settings=…,  # changed: {', '.join(changed)}, see the table of facts")
    return "\n".join(["import rnncheck", "", *before, *call, ")"])


def _loading(facts: Mapping[str, Any]) -> str:
    """Python that loads the model, with a placeholder for its name."""
    inner = facts.get("facts")
    kind = str((inner if isinstance(inner, Mapping) else facts).get("kind", ""))
    if kind.endswith("module") or "function" in kind or "callable" in kind:
        return "rnncheck.wrap(MODEL, alphabet=written.alphabet)  # MODEL: yours, with the weights that were verified"
    return 'rnncheck.load_model("MODEL", alphabet=written.alphabet)  # the file that was verified'


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
