"""``rnncheck spec``: look at, test, compare and convert specifications."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.edits import within
from rnncheck.automata.language import is_finite, least_word
from rnncheck.automata.minimisation import minimise
from rnncheck.cli.automaton_files import automaton_text
from rnncheck.cli.command import Group
from rnncheck.cli.edit_options import edit_options, edits_of
from rnncheck.cli.options import AlphabetType, SpecRequest, gather_words, relation_option, spec_options, words_options
from rnncheck.cli.output import say, say_document, say_lines
from rnncheck.cli.output_files import OutputFile
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Relation
from rnncheck.runtime.files import write_atomically
from rnncheck.spec import parse_spec
from rnncheck.words import Alphabet, Word, format_word, letter_text

# A larger table is no longer read by people; the command says how to get it.
_MOST_STATES_SHOWN = 40
_MOST_LETTERS_SHOWN = 16
# A longer word is shown by its first and last letters.
_LONGEST_WORD_SHOWN = 200
_ENDS_SHOWN = 20


@click.group("spec", cls=Group)
def command() -> None:
    """Look at, test, compare and convert specifications."""


@command.command()
@spec_options
@click.option("--svg", type=OutputFile(), metavar="FILE", help="Draw the automaton (extra `draw`).")
def show(request: SpecRequest, svg: Path | None) -> None:
    """Describe a specification and its minimal automaton."""
    specification = request.build()
    if svg is not None:
        from rnncheck.report.automaton.pictures import draw

        write_atomically(svg, draw(specification.dfa, "svg"))
        say(f"picture written to {svg}", err=True)
    say(specification.origin)
    for name, value in _facts(specification.dfa):
        say(f"  {name:<24}{value}")
    say("")
    say_lines(_table(specification.dfa))


@command.command()
@spec_options
@words_options
@click.pass_context
def test(ctx: click.Context, request: SpecRequest, texts: tuple[str, ...], words_file: Path | None) -> None:
    """Say which words a specification accepts; exit with 1 when it rejects one."""
    specification = request.build()
    words = gather_words(texts, words_file, specification.alphabet)
    answers = specification.accepts_batch(words)
    for word, accepted in zip(words, answers, strict=True):
        say(f"{'accepted' if accepted else 'rejected'}\t{format_word(word)}")
    ctx.exit(0 if answers.all() else 1)


@command.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@relation_option("What A must be to B.")
@click.option("--alphabet", type=AlphabetType(), help="The letters, with commas between.")
@click.option("--complete", is_flag=True, help="Send missing transitions to a rejecting sink.")
@click.pass_context
def compare(
    ctx: click.Context, first: str, second: str, relation: str, alphabet: Alphabet | None, complete: bool
) -> None:
    """Compare the languages of A and B, each a file, or `regex:…`, or `ltlf:…`.

    Exits with 0 when the relation holds, else with 1 and the shortest word that breaks it.
    """
    a = parse_spec(first, alphabet, complete=complete).dfa
    b = parse_spec(second, alphabet or a.alphabet, complete=complete).dfa
    sign = {"subset": "⊆", "superset": "⊇", "equal": "="}[relation]
    witness = Relation(relation).witness(a, b)
    if witness is None:
        say(f"holds: L(A) {sign} L(B)")
        ctx.exit(0)
    only = "A" if a.accepts(witness) else "B"
    say(f"does not hold: L(A) {sign} L(B)")
    say(f"shortest witness, accepted by {only} alone: {format_word(witness)}")
    ctx.exit(1)


@command.command()
@spec_options
@click.option(
    "--to", required=True, type=OutputFile(dash=True), metavar="FILE", help="A .dot or .json file; `-` prints dot text."
)
def convert(request: SpecRequest, to: Path) -> None:
    """Write the minimal automaton of a specification as dot or JSON."""
    _write(to, lambda: request.build().dfa)


@command.command()
@spec_options
@edit_options
@click.option(
    "--to", required=True, type=OutputFile(dash=True), metavar="FILE", help="A .dot or .json file; `-` prints dot text."
)
def near(request: SpecRequest, to: Path, distance: str, **choices: Any) -> None:
    """Write the automaton of all words within a distance of a specification's words.

    `rnncheck verify MODEL --dfa FILE --relation superset` then asks: are they all accepted?
    """
    edits = edits_of(choices)
    _write(to, lambda: minimise(within(request.build().dfa, distance, edits, max_states=request.max_states)))


def _write(to: Path, build: Callable[[], DFA]) -> None:
    printed = str(to) == "-"
    render = automaton_text("text.dot" if printed else str(to))
    dfa = build()
    if printed:
        say_document(render(dfa))
    else:
        write_atomically(to, render(dfa))
        say(f"{len(dfa)} states written to {to}", err=True)


def _facts(dfa: DFA) -> list[tuple[str, str]]:
    letters = ", ".join(map(letter_text, dfa.alphabet[:_MOST_LETTERS_SHOWN]))
    more = ", …" if len(dfa.alphabet) > _MOST_LETTERS_SHOWN else ""
    accepted, rejected = least_word(dfa), least_word(dfa.complement())
    if accepted is None:
        size = "no word at all"
    elif rejected is None:
        size = "every word"
    elif is_finite(dfa):
        size = "finitely many words"
    elif is_finite(dfa.complement()):
        size = "all but finitely many words"
    else:
        size = "infinitely many words, and infinitely many not"
    mass = WordDistribution(dfa.alphabet).mass(dfa)
    tiny = accepted is not None and mass < sys.float_info.min
    chance = f"below {sys.float_info.min:.0e}" if tiny else f"{mass:.6g}"
    return [
        ("letters", f"{len(dfa.alphabet)}: {letters}{more}"),
        ("states", f"{len(dfa)}, {int(dfa.accepting.sum())} accepting"),
        ("accepts", size),
        ("probability", f"{chance} that a random word is accepted (uniform letters, mean length 99)"),
        ("shortest accepted word", _shown(accepted)),
        ("shortest rejected word", _shown(rejected)),
    ]


def _shown(word: Word | None) -> str:
    if word is None:
        return "none"
    if len(word) <= _LONGEST_WORD_SHOWN:
        return format_word(word)
    return f"{len(word)} letters: {format_word(word[:_ENDS_SHOWN])} … {format_word(word[-_ENDS_SHOWN:])}"


def _table(dfa: DFA) -> str:
    if len(dfa) > _MOST_STATES_SHOWN:
        return f"(a table of {len(dfa)} states is not shown; `rnncheck spec convert --to FILE` writes it)"
    if len(dfa.alphabet) > _MOST_LETTERS_SHOWN:
        return "\n".join(_folded_edges(dfa))
    header = ["state", *map(letter_text, dfa.alphabet)]
    rows = [[_state(dfa, q), *map(str, row)] for q, row in enumerate(dfa.transitions.tolist())]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [[cell.rjust(width) for cell, width in zip(row, widths, strict=True)] for row in (header, *rows)]
    legend = "  (→ initial, ◎ accepting)"
    return "\n".join("  " + "  ".join(line) for line in lines) + "\n" + legend


def _state(dfa: DFA, state: int) -> str:
    return f"{'→ ' if state == dfa.initial else ''}{state}{' ◎' if dfa.accepting[state] else '  '}"


def _folded_edges(dfa: DFA) -> list[str]:
    """One line for each state and successor, with the letters between them: the commonest successor as «else»."""
    lines = []
    for state, row in enumerate(dfa.transitions):
        targets, counts = np.unique(row, return_counts=True)
        usual = int(targets[np.argmax(counts)])
        for target in targets[targets != usual].tolist():
            letters = ", ".join(letter_text(dfa.alphabet[a]) for a in np.flatnonzero(row == target)[:12])
            more = ", …" if np.count_nonzero(row == target) > 12 else ""
            lines.append(f"  {_state(dfa, state):<8} {letters}{more} → {target}")
        lines.append(f"  {_state(dfa, state):<8} {'else' if len(targets) > 1 else 'any letter'} → {usual}")
    return lines
