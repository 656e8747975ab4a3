"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from rnncheck.automata.dfa import DEFAULT_MAX_STATES
from rnncheck.errors import RnncheckError
from rnncheck.spec import Spec
from rnncheck.wordfiles import read_words
from rnncheck.words import Alphabet, Word, parse_word

Command = TypeVar("Command", bound=Callable[..., Any])


class AlphabetType(click.ParamType):  # type: ignore[type-arg]
    """Letters separated by commas."""

    name = "letters"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Alphabet:
        if isinstance(value, Alphabet):
            return value
        try:
            return Alphabet.parse(value)
        except RnncheckError as error:
            self.fail(str(error), param, ctx)


@dataclass(frozen=True)
class SpecRequest:
    """What the specification options said; ``build`` makes the specification."""

    dfa: Path | None
    regex: str | None
    ltlf: str | None
    alphabet: Alphabet | None
    definitions: dict[str, str]
    complete: bool
    nonempty: bool
    max_states: int

    def build(self, alphabet: Alphabet | None = None) -> Spec:
        """The specification, over ``alphabet`` (a model's, say) where no ``--alphabet`` was given."""
        letters = self.alphabet or alphabet
        if self.dfa is not None:
            return Spec.from_file(self.dfa, letters, complete=self.complete)
        if self.regex is not None:
            return Spec.from_regex(self.regex, letters, definitions=self.definitions, max_states=self.max_states)
        return Spec.from_ltlf(self.ltlf or "", letters, nonempty=self.nonempty, max_states=self.max_states)


def spec_options(command: Command) -> Command:
    """Add the options that name a specification; the command receives them as one ``request``."""

    def with_request(*args: Any, **kwargs: Any) -> Any:
        return command(*args, request=_request(kwargs), **kwargs)

    with_request.__name__ = command.__name__
    with_request.__doc__ = command.__doc__
    with_request.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    options = [
        click.option("--dfa", type=click.Path(path_type=Path), metavar="FILE", help="An automaton: dot or JSON file."),
        click.option("--regex", metavar="TEXT", help="A regular expression over letters, such as '(a|b)* a'."),
        click.option("--ltlf", metavar="TEXT", help="An LTLf or LDLf formula, such as 'G(a -> F b)'."),
        click.option("--alphabet", type=AlphabetType(), help="The letters, with commas between: a,b,'<c d>'."),
        click.option("--define", multiple=True, metavar="NAME=REGEX", help="A name for use in --regex as $NAME."),
        click.option("--complete", is_flag=True, help="Send transitions that --dfa lacks to a rejecting sink."),
        click.option("--nonempty", is_flag=True, help="Let no formula hold of the empty word."),
        click.option(
            "--max-states",
            type=click.IntRange(min=1),
            default=DEFAULT_MAX_STATES,
            show_default=True,
            help="Give up when an automaton grows beyond this.",
        ),
    ]
    decorated: Any = with_request
    for option in reversed(options):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def _request(parameters: dict[str, Any]) -> SpecRequest:
    kinds = ("dfa", "regex", "ltlf")
    given = [kind for kind in kinds if parameters[kind] is not None]
    if len(given) != 1:
        found = "none was given" if not given else "got " + " and ".join(f"--{kind}" for kind in given)
        raise click.UsageError(f"give exactly one of --dfa, --regex, --ltlf ({found})")
    definitions = {}
    for definition in parameters.pop("define"):
        name, equals, text = definition.partition("=")
        if not equals or not name.strip().isidentifier():
            raise click.UsageError(f"--define {definition!r} is not NAME=REGEX")
        definitions[name.strip()] = text
    others = {name: parameters.pop(name) for name in (*kinds, "alphabet", "complete", "nonempty", "max_states")}
    return SpecRequest(definitions=definitions, **others)


def words_options(command: Command) -> Command:
    """Add ``--word`` and ``--words-file``."""
    command = click.option(
        "--words-file", type=click.Path(path_type=Path), metavar="FILE", help="A file with one word a line."
    )(command)
    return click.option(
        "--word", "texts", multiple=True, metavar="TEXT", help="A word: letters with spaces between; may be repeated."
    )(command)


def gather_words(texts: tuple[str, ...], words_file: Path | None) -> list[Word]:
    """The words that ``--word`` and ``--words-file`` name, in that order."""
    words = [parse_word(text) for text in texts]
    if words_file is not None:
        words += read_words(words_file)
    if not words:
        raise click.UsageError("no word to look at; give --word TEXT or --words-file FILE")
    return words
