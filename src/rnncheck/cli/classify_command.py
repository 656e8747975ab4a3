"""``rnncheck classify``: query a model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rnncheck.cli.command import Command
from rnncheck.cli.options import (
    AlphabetType,
    ModelRequest,
    gather_words,
    model_options,
    word_format_options,
    words_options,
)
from rnncheck.cli.output import say
from rnncheck.models.label_names import LabelNeededError
from rnncheck.models.labelled import WordLabels, with_no_label
from rnncheck.word_files import WordFormat
from rnncheck.words import Alphabet, WordBatch, format_word

if TYPE_CHECKING:
    pass


_MODEL_HELP = "MODEL is a .safetensors, .pt or .onnx file, or a folder of the paper's released format."


@click.command("classify", cls=Command, epilog=_MODEL_HELP)
@click.option("--alphabet", type=AlphabetType(), help="The letters, for files that do not say them.")
@model_options
@words_options
@word_format_options
@click.pass_context
def command(
    ctx: click.Context,
    alphabet: Alphabet | None,
    model: ModelRequest,
    texts: tuple[str, ...],
    words_file: Path | None,
    word_format: WordFormat,
) -> None:
    """Ask a model; exit with 1 when it rejects a word. The score is positive on the accepting side.

    A model with several labels, of which none was chosen (--label), says one of each word; the score is how far it is
    ahead of the others.
    """
    try:
        loaded = model.load(alphabet)
    except LabelNeededError:
        _say_labels(WordLabels(model.load(alphabet, any_label=True)), texts, words_file, word_format)
        return
    words = gather_words(texts, words_file, loaded.alphabet, word_format)
    codes = [loaded.alphabet.encode(word) for word in words]
    answers = loaded.by_reference().accepts_batch(WordBatch.from_codes(codes))
    scores = loaded.scores_batch(words)
    for i, (word, accepted) in enumerate(zip(words, answers, strict=True)):
        own = loaded.reference_score(codes[i])
        score = "" if scores is None else f"{scores[i] if own is None else own:+.4f}\t"
        say(f"{'accepted' if accepted else 'rejected'}\t{score}{format_word(word)}")
    ctx.exit(0 if answers.all() else 1)


def _say_labels(model: WordLabels, texts: tuple[str, ...], words_file: Path | None, form: WordFormat) -> None:
    letters, names = model.model.alphabet, with_no_label(model.labels)
    words = gather_words(texts, words_file, letters, form)
    labels, leads = model.said(WordBatch.from_codes([letters.encode(word) for word in words]))
    for word, label, lead in zip(words, labels.tolist(), leads.tolist(), strict=True):
        say(f"{names[label]}\t{f'{lead:+.4f}' if math.isfinite(lead) else ''}\t{format_word(word)}")
