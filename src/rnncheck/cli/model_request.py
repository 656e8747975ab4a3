"""The model that options name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rnncheck.cli.given_options import GivenOptions
from rnncheck.errors import RnncheckError
from rnncheck.models.protocol import Model
from rnncheck.suite.property_file import ModelEntry
from rnncheck.words import Alphabet, parse_word

MODEL_HELP = "MODEL is a .safetensors, .pt or .onnx file, or a folder of the paper's released format."


def model_argument() -> click.Argument:
    """The argument MODEL, instead of which --module may be given."""
    return click.Argument(["model"], metavar="[MODEL]", required=False, type=click.Path())


@dataclass(frozen=True)
class ModelRequest:
    """What the options say about a model; ``load`` makes it."""

    path: str | None
    module: str | None = None
    threshold: float | None = None
    label: str | None = None
    cell: str | None = None
    threads: int | None = None
    float64: bool = False
    no_cache: bool = False
    torchscript: bool = False
    before: str | None = None
    after: str | None = None
    labels: Alphabet | None = None
    state: Path | None = None

    @classmethod
    def of(cls, options: GivenOptions) -> ModelRequest:
        """The model of a command that needs one: either MODEL or --module."""
        request = cls.reading(options, path=options["model"], module=options["module"], state=options["state"])
        if (request.path is None) == (request.module is None):
            both = f", not both ({request.path} is taken for the MODEL)" if request.module else ""
            raise click.UsageError(f"give a MODEL file or folder, or --module package.module:function{both}")
        return request

    @classmethod
    def reading(
        cls, options: GivenOptions, *, path: str | None, module: str | None = None, state: Path | None = None
    ) -> ModelRequest:
        """A model of that place, read as the other options say."""
        flags = ("float64", "no_cache", "torchscript")
        read: dict[str, Any] = {name: bool(options.get(name)) for name in flags}
        read |= {name: options.get(name) for name in ("threshold", "label", "cell", "threads", "before", "after")}
        return cls(path, module, state=state, labels=options.get("labels"), **read)

    @property
    def name(self) -> str:
        """What the user called the model."""
        return self.path or self.module or ""

    def load(self, alphabet: Alphabet | None, max_length: int | None = None, *, any_label: bool = False) -> Model:
        """The model; ``alphabet`` is for files and code without their own letters.

        A function of ``--module`` is not even tried with words of more than ``max_length`` letters. With
        ``any_label`` no label has to be chosen.
        """
        cache = not self.no_cache
        return self.entry.load(alphabet, max_length=max_length, threads=self.threads, cache=cache, any_label=any_label)

    @property
    def entry(self) -> ModelEntry:
        """The model as a property file would name it."""
        return ModelEntry(
            name=self.name,
            path=None if self.path is None else Path(self.path),
            module=self.module,
            threshold=self.threshold,
            label=self._label,
            labels=None if self.labels is None else tuple(self.labels),
            state=self.state,
            cell=self.cell,
            float64=self.float64,
            torchscript=self.torchscript,
            before=_delimiters("--before", self.before),
            after=_delimiters("--after", self.after),
        )

    @property
    def _label(self) -> int | str | None:
        """A number is one, unless it is a name."""
        named = self.labels is not None and self.label in tuple(self.labels)
        return int(self.label) if self.label is not None and self.label.isdecimal() and not named else self.label


def _delimiters(option: str, text: str | None) -> tuple[str, ...]:
    try:
        letters = parse_word(text or "")
    except RnncheckError as error:
        raise click.UsageError(f"{option}: {error}") from None
    if text is not None and not letters:
        raise click.UsageError(f"{option} {text!r} names no letter; give one, such as {option} '<s>', or leave it out")
    return letters
