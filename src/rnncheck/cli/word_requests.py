"""Words that options name: given ones, those of files, how random ones are drawn, and which are near others."""

from __future__ import annotations

import tomllib

import click

from rnncheck.automata.edits import Edits
from rnncheck.cli.given_options import GivenOptions
from rnncheck.errors import InputError
from rnncheck.probability.distributions import WordDistribution
from rnncheck.runtime.files import read_limited
from rnncheck.word_files import Sequences, WordFormat, read_sequences, read_words
from rnncheck.words import Alphabet, Word, parse_word

_USUAL_EDITS = "substitute,insert,delete"


def word_format(options: GivenOptions) -> WordFormat:
    """How words stand in files."""
    return WordFormat(options.get("column"), None, options.get("separator"))


def given_words(options: GivenOptions, alphabet: Alphabet) -> list[Word]:
    """The words over an alphabet that --word and --words-file name, in that order."""
    words = [parse_word(text) for text in options["word"]]
    if options["words_file"] is not None:
        words += read_words(options["words_file"], alphabet, word_format(options))
    if not words:
        raise click.UsageError("there is no word; give --word TEXT or --words-file FILE")
    return words


def own_sequences(options: GivenOptions, alphabet: Alphabet) -> Sequences | None:
    """The sequences that --on-data names."""
    path = options["on_data"]
    return None if path is None else read_sequences(path, alphabet, word_format(options))


def check_distribution(options: GivenOptions) -> None:
    """Raise UsageError, before any work, for options of random words that exclude each other."""
    if options["words_like"] is not None and (options["stop"] is not None or options["weights"] is not None):
        raise click.UsageError("--words-like learns letters and length from words; leave out --stop and --weights")


def distribution(options: GivenOptions, alphabet: Alphabet) -> WordDistribution:
    """How random words over an alphabet are drawn."""
    like, stop, weights = options["words_like"], options["stop"], options["weights"]
    if like is not None:
        words = read_words(like, alphabet, word_format(options))
        return WordDistribution.fit(alphabet, words, order=options["order"])
    drawn = None if weights is None else letter_weights(weights, alphabet)
    return WordDistribution(alphabet, drawn, **({} if stop is None else {"stop": stop}))


def letter_weights(text: str, alphabet: Alphabet) -> dict[str, float]:
    """The weight of each letter that is named, and of the others where there is one for `*`."""
    weights: dict[str, float] = {}
    others: float | None = None
    for part in text.split(","):
        letter, _, number = part.rpartition("=")
        try:
            weight, (name,) = float(number), parse_word(letter)
        except ValueError:
            raise click.UsageError(f"--weights: {part!r} is not LETTER=NUMBER, nor *=NUMBER for all others") from None
        if letter.strip() == "*" and others is None:  # in quotes it is a letter
            others = weight
        elif letter.strip() != "*" and name not in weights:
            weights[name] = weight
        else:
            raise click.UsageError(f"--weights gives {letter.strip()} more than one weight; give it one")
    return weights if others is None else dict.fromkeys(alphabet, others) | weights


def allowed_edits(options: GivenOptions) -> Edits:
    """The edits between words: those of --edits, or of the file that --weights names, but none of --locked letters."""
    kinds, path, locked = options["edits"], options["weights"], frozenset(parse_word(options["locked"] or ""))
    if path is None:
        names = (_USUAL_EDITS if kinds is None else kinds).split(",")
        return Edits.of((kind.strip() for kind in names if kind.strip()), locked=locked)
    if kinds is not None:
        raise click.UsageError("--weights says which edits there are; leave out --edits")
    try:
        return Edits.from_tables(tomllib.loads(read_limited(path, "edits").decode()), locked)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, InputError) as error:
        raise InputError(f"{path}: {error}") from None
