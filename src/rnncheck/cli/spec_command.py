"""``rnncheck spec``: look at, test, compare and convert specifications."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.edits import within
from rnncheck.automata.language import is_finite, least_word
from rnncheck.automata.minimisation import minimise
from rnncheck.cli.automaton_files import automaton_text
from rnncheck.cli.command import Group
from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.output import say, say_document
from rnncheck.cli.results import result_document, show_result
from rnncheck.cli.spec_request import SpecRequest
from rnncheck.cli.word_requests import allowed_edits, given_words
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Relation
from rnncheck.runtime.files import write_atomically
from rnncheck.spec import parse_spec
from rnncheck.words import Word, format_word, letter_text

# A larger table is unreadable; the command shows how to get it.
_MOST_STATES_SHOWN = 40
_MOST_LETTERS_SHOWN = 16
# A longer word is shown by its first and last letters.
_LONGEST_WORD_SHOWN = 200
_ENDS_SHOWN = 20


@make_command("spec show")
def show(options: GivenOptions) -> None:
    """Describe a specification and its minimal automaton."""
    specification = SpecRequest.of(options).build()
    if options["svg"] is not None:
        from rnncheck.report.automaton.pictures import draw

        write_atomically(options["svg"], draw(specification.dfa, "svg"))
        say(f"picture written to {options['svg']}", err=True)
    facts = _facts(specification.dfa)
    document = result_document(options, origin=specification.origin, **{name.replace(" ", "_"): v for name, v in facts})
    table = _table(specification.dfa, in_full=options["verbose"])
    lines = [specification.origin, *(f"  {name:<24}{value}" for name, value in facts), "", *table.split("\n")]
    show_result(options, document, lines)


@make_command("spec test")
def test(options: GivenOptions) -> int:
    """Show which words a specification accepts; exit with 1 if it rejects one."""
    specification = SpecRequest.of(options).build()
    words = given_words(options, specification.alphabet)
    rows = list(zip(words, specification.accepts_batch(words).tolist(), strict=True))
    document = result_document(options, words=[{"word": word, "accepted": accepted} for word, accepted in rows])
    lines = [f"{'accepted' if accepted else 'rejected'}\t{format_word(word)}" for word, accepted in rows]
    show_result(options, document, lines)
    return 0 if all(accepted for _, accepted in rows) else 1


@make_command("spec compare", click.Argument(["first"], metavar="A"), click.Argument(["second"], metavar="B"))
def compare(options: GivenOptions) -> int:
    """Compare the languages of A and B, each a file, or `regex:…`, or `ltlf:…`.

    Exit codes: 0 the relation holds, 1 it does not; the shortest word that shows it is printed.
    """
    alphabet, complete, relation = options["alphabet"], options["complete"], options["relation"]
    a = parse_spec(options["first"], alphabet, complete=complete).dfa
    b = parse_spec(options["second"], alphabet or a.alphabet, complete=complete).dfa
    sign = {"subset": "⊆", "superset": "⊇", "equal": "="}[relation]
    witness = Relation(relation).witness(a, b)
    lines = [f"holds: L(A) {sign} L(B)"]
    if witness is not None:
        only = "A" if a.accepts(witness) else "B"
        lines = [
            f"does not hold: L(A) {sign} L(B)",
            f"shortest witness, accepted by {only} alone: {format_word(witness)}",
        ]
    document = result_document(options, relation=relation, holds=witness is None, witness=witness)
    show_result(options, document, lines)
    return 0 if witness is None else 1


@make_command("spec convert")
def convert(options: GivenOptions) -> None:
    """Write the minimal automaton of a specification as dot or JSON."""
    request = SpecRequest.of(options)
    _write(options["to"], lambda: request.build().dfa)


@make_command("spec near")
def near(options: GivenOptions) -> None:
    """Write the automaton of all words within a distance of a specification's words.

    `rnncheck verify MODEL --dfa FILE --relation superset` then checks whether all of them are accepted.
    """
    request, edits = SpecRequest.of(options), allowed_edits(options)
    bounds = {"max_states": request.max_states}
    _write(options["to"], lambda: minimise(within(request.build().dfa, options["distance"], edits, **bounds)))


_HELP = "Look at, test, compare and convert specifications."
command = Group("spec", commands=[show, test, compare, convert, near], help=_HELP)


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


def _table(dfa: DFA, *, in_full: bool) -> str:
    if len(dfa) > _MOST_STATES_SHOWN and not in_full:
        return f"(a table of {len(dfa)} states is not shown; --verbose shows it, `rnncheck spec convert` writes it)"
    if len(dfa.alphabet) > _MOST_LETTERS_SHOWN and not in_full:
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
