"""``rnncheck inspect``: what a model is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.model_request import MODEL_HELP, ModelRequest, model_argument
from rnncheck.cli.results import result_document, show_result
from rnncheck.words import Alphabet, letter_text

_LETTERS_SHOWN = 12


@make_command("inspect", model_argument(), epilog=MODEL_HELP)
def command(options: GivenOptions) -> None:
    """Show what a model is, and how its queries will be answered."""
    model = ModelRequest.of(options)
    loaded = model.load(options["alphabet"], any_label=True)
    chosen = model.module is None or model.label is not None  # of a module's labels none means accept by itself
    facts = {name: value for name, value in loaded.describe().items() if name != "label" or chosen}
    document = result_document(options, model=model.name, alphabet=list(loaded.alphabet), **facts)
    most = len(loaded.alphabet) if options["verbose"] else _LETTERS_SHOWN
    show_result(options, document, [model.name, *_lines(loaded.alphabet, facts, most)])


def _lines(letters: Alphabet, facts: Mapping[str, object], most: int) -> Iterator[str]:
    some = ", ".join(map(letter_text, letters[:most])) + (", …" if len(letters) > most else "")
    yield f"  {'alphabet':<22}{len(letters)}: {some}"
    for name, value in facts.items():
        yield from _fact_lines(name, value, indent=2)


def _fact_lines(name: str, value: object, indent: int) -> Iterator[str]:
    label = name.replace("_", " ")
    if isinstance(value, Mapping):
        yield f"{' ' * indent}{label}"
        for key, inner in value.items():
            yield from _fact_lines(str(key), inner, indent + 2)
    elif value is not None:
        shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
        yield f"{' ' * indent}{label + ' ':<{24 - indent}}{shown}"
