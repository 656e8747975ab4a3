"""Nothing that is asked for is ignored: options given twice or without effect, letters without weight."""

from __future__ import annotations

import dataclasses
import itertools

import click
import numpy as np
import pytest

from rnncheck import Alphabet, InputError, WordDistribution, load_model, zoo
from rnncheck.cli.word_requests import letter_weights
from rnncheck.options.catalogue import CATALOGUE, options_of
from support.commands import every_command

MODEL = str(zoo.entry("even-elman").path)
SPEC = ["--regex", "a*"]
FAST = ["--epsilon", "0.05", "--gamma", "0.05"]


COMMANDS = every_command()
SINGLE = [
    (name, option.opts[0])
    for name, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option) and not (option.multiple or option.is_flag)
]


@pytest.mark.parametrize(("command", "option"), SINGLE, ids=" ".join)
def test_an_option_for_one_value_is_refused_the_second_time(run, command: str, option: str) -> None:
    result = run(*command.split(), option, "1", option, "2")
    assert (result.code, result.out) == (2, "")
    assert result.err == f"rnncheck: {option} is given 2 times; give it once (see rnncheck {command} --help)\n"


def test_options_for_many_values_and_flags_may_come_again(run) -> None:
    words = ["--word", "a", "--word", "a a"]
    assert run("spec", "test", *SPEC, "--alphabet", "a,b", *words).code == 0
    assert run("verify", MODEL, "--regex", ".*", *FAST, "--quiet", "--quiet").code == 0


IDLE = [
    ["verify", MODEL, *SPEC, "--order", "3"],
    ["verify", MODEL, *SPEC, "--complete"],
    ["verify", MODEL, *SPEC, "--nonempty"],
    ["verify", MODEL, "--ltlf", "a", "--define", "x=a"],
    ["verify", MODEL, *SPEC, "--extraction", "grid"],
    ["verify", MODEL, *SPEC, "--method", "pdv", "--search-steps", "5"],
    ["verify", MODEL, *SPEC, "--method", "smc", "--learner", "ttt"],
    ["verify", MODEL, *SPEC, "--method", "smc", "--equivalence", "coverage"],
    ["verify", MODEL, *SPEC, "--method", "smc", "--max-hypothesis", "5"],
    ["verify", MODEL, *SPEC, "--method", "errors", "--equivalence", "coverage"],
    ["verify", MODEL, *SPEC, "--method", "aamc", "--extraction", "grid", "--learner", "ttt"],
    ["verify", MODEL, *SPEC, "--method", "aamc", "--extraction", "bounded", "--learner", "ttt"],
    ["verify", MODEL, *SPEC, "--method", "aamc", "--extraction", "weiss", "--equivalence", "coverage"],
    ["verify", MODEL, *SPEC, "--pumps", "0", "--min-hits", "5"],
    ["verify", MODEL, *SPEC, "--pumps", "0", "--loops", "5"],
    ["verify", MODEL, *SPEC, "--pumps", "0", "--longest-loop", "5"],
    ["verify", MODEL, *SPEC, "--resume"],
    ["verify", MODEL, *SPEC, "--cluster", "tcp://localhost:1", "--workers", "2"],
    ["verify", "--module", "a:b", *SPEC, "--cell", "rnn_relu"],
    ["extract", MODEL, "-o", "x.dot", "--method", "kmeans", "--known-words", "w.txt"],
    ["extract", MODEL, "-o", "x.dot", "--method", "bounded", "--learner", "ttt"],
    ["extract", MODEL, "-o", "x.dot", "--method", "weiss", "--equivalence", "coverage"],
    ["compare-surrogates", MODEL, "--relation", "equal"],
    ["replay", "v.json", "--words", "5"],
    ["replay", "v.json", "--module", "a:b", "--cell", "rnn_tanh"],
    ["report", "v.json", "--report", "r.html", "--threshold", "0.3"],
    ["train", "--words", "w.tsv", "-o", "n.safetensors", "--pumped", "0.1"],
    ["train", *SPEC, "--alphabet", "a", "-o", "n.safetensors", "--label", "1"],
    ["train", *SPEC, "--alphabet", "a", "-o", "n.safetensors", "--resume"],
    ["bench", "random", "--out", "run", "--models", "m", "--hidden", "5"],
    ["bench", "contacts", "c.txt", "--out", "run", "--people", "5"],
    ["bench", "contacts", "--synthetic", "--out", "run", "--columns", "time"],
    ["bench", "contacts", "--models", "m", "--out", "run", "--cell", "gru"],
    ["spec", "show", *SPEC, "--alphabet", "a", "--complete"],
]


@pytest.mark.parametrize("command", IDLE, ids=lambda command: " ".join(command).replace(MODEL, "MODEL"))
def test_an_option_without_effect_is_refused(run, tmp_path, monkeypatch, command: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*command)
    assert (result.code, result.out) == (2, "")
    assert "has no effect with" in result.err
    assert result.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_catalogue_names_commands_that_there_are() -> None:
    """Should let every rule look at the values of every command that it is about."""
    for option in CATALOGUE:
        assert set(option.commands) | set(option.differences) | set(option.rejected) <= set(COMMANDS)
        assert set(option.differences) <= set(option.commands)
        for rule in option.no_effect:
            assert set(rule.commands) <= set(COMMANDS)
            for command in set(rule.commands or option.commands) & set(option.commands):
                rule.when({parameter.name or "": None for parameter in COMMANDS[command].params})


def test_no_command_has_two_options_of_a_name() -> None:
    for name in COMMANDS:
        flags = [flag for option in options_of(name) for flag in (*option.names, *option.former)]
        assert len(flags) == len(set(flags))


def test_options_fill_fields_that_there_are() -> None:
    """Should let an option have the default of the field, where it has none of its own."""
    for option in CATALOGUE:
        if option.fills is not None:
            assert option.filled_field in {field.name for field in dataclasses.fields(option.fills.value)}
            assert option.preset is None or option.default is None


def test_a_cell_that_the_file_names_is_not_asked_for_again(run) -> None:
    assert "has no effect" in run("inspect", MODEL, "--cell", "rnn_relu").err
    with pytest.raises(InputError, match="the file itself names its cells"):
        load_model(MODEL, cell="rnn_tanh")


@pytest.mark.parametrize("chosen", [["--part", "spec"], ["--flow", "2"]])
def test_parts_are_chosen_from_verdicts_alone(run, tmp_path, chosen: list[str]) -> None:
    file = tmp_path / "a.json"
    assert run("spec", "convert", *SPEC, "--alphabet", "a,b", "--to", file).code == 0
    result = run("draw", file, "-o", tmp_path / "a.dot", *chosen)
    assert (result.code, "choose from a verdict" in result.err) == (2, True)


class TestWeights:
    def test_every_letter_needs_one(self, run) -> None:
        result = run("verify", MODEL, *SPEC, "--weights", "a=2")
        assert result.code == 2
        assert "1 of 2 letters have no weight, 'b' among them" in result.err
        assert "*=1" in result.err

    def test_a_star_is_all_others(self, run) -> None:
        result = run("verify", MODEL, "--regex", ".*", *FAST, "--weights", "a=3,*=1", "--json", "-")
        assert '"a": 0.75' in result.out
        assert '"b": 0.25' in result.out

    def test_nobody_is_named_twice(self, run) -> None:
        for weights in ("a=1,a=2,b=1", "a=1,*=1,*=2"):
            assert "more than one weight" in run("verify", MODEL, *SPEC, "--weights", weights).err

    def test_a_star_in_quotes_is_a_letter(self) -> None:
        assert letter_weights("'*'=2,*=1", Alphabet(["*", "a"])) == {"*": 2.0, "a": 1.0}

    def test_in_python_too(self) -> None:
        letters = Alphabet(["a", "b", "c"])
        for size in range(3):
            for named in itertools.combinations("abc", size):
                with pytest.raises(InputError, match="have no weight"):
                    WordDistribution(letters, dict.fromkeys(named, 1.0))
        drawn = WordDistribution(letters, {"a": 1.0, "b": 0.0, "c": 1.0})
        assert np.allclose(drawn.continuing[0], [0.495, 0.0, 0.495])
