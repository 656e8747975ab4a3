"""The specification that options name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from rnncheck.cli.given_options import GivenOptions
from rnncheck.spec import Spec, parse_language
from rnncheck.suite.property_file import PropertyEntry, Suite
from rnncheck.words import Alphabet

SPEC_OPTIONS = ("dfa", "regex", "ltlf", "word_list")


@dataclass(frozen=True)
class SpecRequest:
    """What the options say about a specification; ``build`` makes it."""

    dfa: Path | None
    regex: str | None
    ltlf: str | None
    word_list: Path | None
    alphabet: Alphabet | None
    definitions: dict[str, str]
    complete: bool
    nonempty: bool
    max_states: int
    named: PropertyEntry | None = None  # in a property file

    @classmethod
    def of(cls, options: GivenOptions, *, required: bool = True) -> SpecRequest:
        """The specification of a command; one that is not ``required`` may be left out, and is then not ``given``."""
        path = options.get("spec")
        named = None if path is None else Suite.read(path).property_named(options["property"])
        given = [f"--{kind.replace('_', '-')}" for kind in SPEC_OPTIONS if options[kind] is not None]
        given += ["--spec"] * (named is not None)
        if len(given) > 1 or (required and not given):
            found = "none was given" if not given else f"got {' and '.join(given)}"
            raise click.UsageError(f"give exactly one of --dfa, --regex, --ltlf, --word-list ({found})")
        same = options.pick(*SPEC_OPTIONS, "alphabet", "complete", "nonempty", "max_states")
        return cls(definitions=_definitions(options["define"]), named=named, **same)

    @property
    def given(self) -> bool:
        """Whether a specification was named at all."""
        return any(kind is not None for kind in (self.dfa, self.regex, self.ltlf, self.word_list, self.named))

    def build(self, alphabet: Alphabet | None = None) -> Spec:
        """The specification over the letters of a model's words, or over those of ``--alphabet``."""
        letters = alphabet or self.alphabet
        if self.named is not None:
            return self.named.spec(letters)
        if self.dfa is not None:
            return Spec.from_file(self.dfa, letters, complete=self.complete, max_states=self.max_states)
        if self.regex is not None:
            return Spec.from_regex(self.regex, letters, definitions=self.definitions, max_states=self.max_states)
        if self.word_list is not None:
            return Spec.from_word_file(self.word_list, letters, max_states=self.max_states)
        return Spec.from_ltlf(self.ltlf or "", letters, nonempty=self.nonempty, max_states=self.max_states)


def assumption(options: GivenOptions, alphabet: Alphabet) -> Spec | None:
    """The language of the words that count, where --assume names one."""
    text = options["assume"]
    return None if text is None else parse_language(text, alphabet)


def _definitions(texts: tuple[str, ...]) -> dict[str, str]:
    definitions = {}
    for definition in texts:
        name, equals, text = definition.partition("=")
        if not equals or not name.strip().isidentifier():
            raise click.UsageError(f"--define {definition!r} is not NAME=REGEX")
        definitions[name.strip()] = text
    return definitions
