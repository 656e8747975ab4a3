"""``rnncheck classify``: query a model with words."""

from __future__ import annotations

import math

from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.model_request import MODEL_HELP, ModelRequest, model_argument
from rnncheck.cli.results import result_document, show_result
from rnncheck.cli.word_requests import given_words
from rnncheck.models.label_names import LabelNeededError
from rnncheck.models.labelled import WordLabels, with_no_label
from rnncheck.words import WordBatch, format_word


@make_command("classify", model_argument(), epilog=MODEL_HELP)
def command(options: GivenOptions) -> int:
    """Query a model; exit with 1 if it rejects a word. The score is positive on the accepting side.

    For a model with several labels, and without --label, the label of each word is shown; the score is its lead over
    the other labels.
    """
    model, alphabet = ModelRequest.of(options), options["alphabet"]
    try:
        loaded = model.load(alphabet)
    except LabelNeededError:
        _show_labels(WordLabels(model.load(alphabet, any_label=True)), options)
        return 0
    words = given_words(options, loaded.alphabet)
    codes = [loaded.alphabet.encode(word) for word in words]
    answers = loaded.by_reference().accepts_batch(WordBatch.from_codes(codes)).tolist()
    near = loaded.scores_batch(words)
    own = [loaded.reference_score(each) for each in codes]
    scores = [None if near is None else float(near[i] if exact is None else exact) for i, exact in enumerate(own)]
    rows = list(zip(words, answers, scores, strict=True))
    found = [{"word": word, "accepted": accepted, "score": score} for word, accepted, score in rows]
    lines = []
    for word, accepted, score in rows:
        parts = ["accepted" if accepted else "rejected", *([] if score is None else [f"{score:+.4f}"])]
        lines.append("\t".join([*parts, format_word(word)]))
    show_result(options, result_document(options, words=found), lines)
    return 0 if all(answers) else 1


def _show_labels(model: WordLabels, options: GivenOptions) -> None:
    letters, names = model.model.alphabet, with_no_label(model.labels)
    words = given_words(options, letters)
    labels, leads = model.labels_and_leads(WordBatch.from_codes([letters.encode(word) for word in words]))
    rows = [
        (word, names[label], lead if math.isfinite(lead) else None)
        for word, label, lead in zip(words, labels.tolist(), leads.tolist(), strict=True)
    ]
    found = [{"word": word, "label": label, "lead": lead} for word, label, lead in rows]
    lines = [f"{label}\t{'' if lead is None else f'{lead:+.4f}'}\t{format_word(word)}" for word, label, lead in rows]
    show_result(options, result_document(options, words=found), lines)
