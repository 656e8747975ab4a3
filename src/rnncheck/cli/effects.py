"""When an option has no effect: one table for all commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from rnncheck.verification.methods import PRINTED

Choices: TypeAlias = Mapping[str, Any]


class Rule(NamedTuple):
    """Options that have no effect in some commands where ``idle`` says so; ``why`` ends a sentence."""

    commands: tuple[str, ...]
    options: tuple[str, ...]
    idle: Callable[[Choices], bool]
    why: str


def without_effect(command: str, option: str, choices: Choices) -> str | None:
    """Why an option of a command has no effect, or None where it has one. ``choices`` are all values, by name."""
    rules = (rule for rule in _RULES if option in rule.options and command in rule.commands)
    return next((rule.why for rule in rules if rule.idle(choices)), None)


def _missing(*names: str) -> Callable[[Choices], bool]:
    """Neither of these was given."""
    return lambda choices: not any(choices[name] not in (None, False, ()) for name in names)


def _given(name: str) -> Callable[[Choices], bool]:
    return lambda choices: choices[name] not in (None, False, ())


def _one_of(name: str, *values: str) -> Callable[[Choices], bool]:
    return lambda choices: choices[name] in values


def _extracted_by(*methods: str) -> Callable[[Choices], bool]:
    """By ``verify --method aamc --extraction`` one of these."""
    return lambda choices: choices["method"] == "aamc" and choices["extraction"] in methods


def _without_method(*methods: str) -> Callable[[Choices], bool]:
    """Some methods of an experiment were chosen, and none of these."""
    return lambda choices: bool(choices["methods"]) and not set(methods) & set(choices["methods"])


_BENCHES = ("bench random", "bench contacts")
_DRAWING_WORDS = ("verify", "diff", "repair", "extract", "compare-surrogates")
_WITH_SPEC = ("verify", "prove", "compare-surrogates", "train", "harden", "spec show", "spec test", "spec convert")
_WITH_MODEL = ("verify", "prove", "harden", "repair", "extract", "compare-surrogates", "inspect", "classify")
_METHODICAL = ("verify", "diff")
_LEARNER = ("learner", "max_query", "known_words")
_FORMAT = ("column", "separator")
_HIDDEN_STATES = ("tree", "kmeans", "grid")
_TRAINING = ("cell", "hidden", "layers", "words", "target_accuracy", "train_seconds")
_ON_WORDS = (
    *("epochs", "patience", "accuracy", "hold", "learning_rate", "count", "balance", "pumped", "stop"),
    *("max_length", "class_weights"),
)
_RANDOM = ("count", "states", "min_states", "letters", "specs", "accuracy", "draws", "recipe")
_READING = ("alphabet", "threshold", "label", "labels", "before", "after")
_ASKING = (*_READING, "cell", "threads", "float64", "torchscript", "words", "seed", "steps", "words_like", "on_data")

_RULES = (
    Rule(_DRAWING_WORDS, ("order",), _missing("words_like"), "without --words-like"),
    Rule(_WITH_SPEC, ("complete",), _missing("dfa"), "without --dfa"),
    Rule(_WITH_SPEC, ("define",), _missing("regex"), "without --regex"),
    Rule(_WITH_SPEC, ("nonempty",), _missing("ltlf"), "without --ltlf"),
    Rule(_WITH_MODEL, ("cell", "no_cache", "torchscript"), _given("module"), "with --module"),
    Rule((*_WITH_MODEL, "robust", "init", "replay"), ("state",), _missing("module"), "without --module"),
    Rule(("diff",), ("old_state",), _missing("old_module"), "without --old-module"),
    Rule(("diff",), ("new_state",), _missing("new_module"), "without --new-module"),
    Rule(("verify",), ("extraction",), lambda choices: choices["method"] != "aamc", "without --method aamc"),
    Rule(_METHODICAL, ("search_steps",), lambda choices: choices["method"] != "auto", "without --method auto"),
    Rule(_METHODICAL, (*_LEARNER, "equivalence", "max_hypothesis"), _one_of("method", "smc"), "with --method smc"),
    Rule(_METHODICAL, ("equivalence",), _one_of("method", "errors"), "with --method errors"),
    Rule(("verify",), _LEARNER, _extracted_by(*_HIDDEN_STATES), "with this --extraction"),
    Rule(("verify",), ("learner",), _extracted_by("bounded"), "with this --extraction"),
    Rule(("verify",), ("equivalence",), _extracted_by("weiss", *_HIDDEN_STATES), "with this --extraction"),
    Rule(("verify",), ("min_hits", "loops", "longest_loop"), lambda choices: not choices["pumps"], "with --pumps 0"),
    Rule(
        ("verify", "check", "diff", "train", "repair"),
        ("resume",),
        _missing("checkpoint"),
        "without the --checkpoint FILE to go on from",
    ),
    Rule(_BENCHES, ("extraction",), _without_method("aamc"), "without --method aamc"),
    Rule(_BENCHES, ("learner",), _without_method("aamc", "pdv", "auto"), "with --method smc alone"),
    Rule(_BENCHES, ("faithful",), _without_method(*PRINTED), "with --method auto alone"),
    Rule(("verify",), ("no_shrink",), _given("faithful"), "with --faithful, which shrinks nothing"),
    Rule(("verify", "check", *_BENCHES), ("workers",), _given("cluster"), "with --cluster"),
    Rule(("extract",), _LEARNER, _one_of("method", *_HIDDEN_STATES), "with this --method"),
    Rule(("extract",), ("learner",), _one_of("method", "bounded"), "with this --method"),
    Rule(("extract",), ("equivalence",), _one_of("method", "weiss", *_HIDDEN_STATES), "with this --method"),
    Rule(
        ("compare-surrogates",), ("relation",), _missing("dfa", "regex", "ltlf", "word_list"), "without a specification"
    ),
    Rule(("prove", "robust"), ("property_name",), _missing("suite"), "without --spec"),
    Rule(("repair",), ("complete",), _missing("dfa"), "without --dfa"),
    Rule(
        ("repair",),
        ("assume", "max_length"),
        _missing("dfa", "regex", "ltlf", "word_list"),
        "without --dfa, --regex, --ltlf or --word-list; the properties of a file have their own",
    ),
    Rule(("repair",), ("nonempty",), _missing("ltlf"), "without --ltlf"),
    Rule(("repair",), ("property_names",), _missing("suite"), "without --spec"),
    Rule(("repair",), ("label_column",), _missing("words"), "without --words"),
    Rule(("repair",), _FORMAT, _missing("words", "words_like"), "without a file of words"),
    Rule(
        ("prove",),
        ("before", "after"),
        lambda _: True,
        'here: a proof is about all that the network reads; assume the markers (--assume \'regex:"<s>" .* "</s>"\')',
    ),
    Rule(
        ("harden", "repair"),
        ("before", "after"),
        lambda _: True,
        "here: a network is trained on all that it reads; write a specification of words with their markers",
    ),
    Rule(("repair",), ("float64",), lambda _: True, "here: networks are trained in single precision"),
    Rule(("repair",), ("iterations",), _given("no_harden"), "with --no-harden"),
    Rule(("replay",), _ASKING, _missing("path", "module"), "without --model or --module"),
    Rule(("replay",), ("against", "against_module"), _missing("path", "module"), "without --model or --module"),
    Rule(("replay",), ("against_state",), _missing("against_module"), "without --against-module"),
    Rule(("replay",), ("cell", "torchscript"), _given("module"), "with --module"),
    Rule(("report",), _READING, _missing("model"), "without --model"),
    Rule(("train",), ("stop", "count", "balance", "pumped"), _given("words"), "with --words"),
    Rule(("train", "harden"), (*_FORMAT, "label_column", "conflicts"), _missing("words"), "without --words"),
    Rule(("harden",), ("relation",), _given("words"), "with --words, whose labels the network is to equal"),
    Rule(("harden",), ("relation",), _given("own_answers"), "with --own-answers, which the network is to equal"),
    Rule(("classify", "robust"), _FORMAT, _missing("words_file"), "without --words-file"),
    Rule(
        ("verify",),
        ("column", "separator"),
        _missing("on_data", "words_like", "known_words"),
        "without a file of words",
    ),
    Rule(("train",), ("label",), _missing("words"), "without --words; a specification has only yes and no"),
    Rule(("train",), (*_ON_WORDS, "label", "checkpoint", "resume"), _given("provable"), "with --provable"),
    Rule(("train",), ("certificate", "iterations", "no_rules"), _missing("provable"), "without --provable"),
    Rule(("bench random",), (*_RANDOM, *_TRAINING), _given("models"), "with --models"),
    Rule(("bench contacts",), (*_TRAINING, "min_accuracy", "strict", "recipe"), _given("models"), "with --models"),
    Rule(("bench contacts",), ("people",), _missing("synthetic"), "without --synthetic"),
    Rule(("bench contacts",), ("columns", "self_contacts"), _missing("paths"), "without files of contacts"),
    Rule(("bench contacts",), ("columns", "self_contacts"), _given("models"), "with --models"),
)
