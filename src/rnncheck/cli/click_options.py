"""From the catalogue of options to click's: their types, their help, and errors for names that they had before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from rnncheck.cli.output_files import OutputFile, OutputFolder
from rnncheck.errors import RnncheckError
from rnncheck.options import option as kinds
from rnncheck.options.catalogue import options_of, rejected_options
from rnncheck.options.option import Option
from rnncheck.words import Alphabet


class CatalogueOption(click.Option):
    """An option of the catalogue: its help shows the default, and no range; an error names the bounds."""

    def __init__(self, declared: Option) -> None:
        self.declared = declared
        flag = isinstance(declared.kind, kinds.Flag)
        default = declared.preset
        super().__init__(
            [*declared.names, declared.name],
            type=None if flag else click_type(declared.kind),
            help=declared.help + (f"  [default: {declared.otherwise}]" if declared.otherwise else ""),
            metavar=None if flag else declared.metavar or _METAVARS.get(type(declared.kind)),
            required=declared.required,
            multiple=declared.multiple,
            show_default=not declared.otherwise and not flag and default is not None,
            **({"is_flag": True} if flag else {} if default is None else {"default": default}),
        )

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


def click_options(command: str) -> Iterator[click.Option]:
    """The options of a command, and hidden ones whose use is an error that says what to do instead."""
    for option in options_of(command):
        yield CatalogueOption(option)
    for option in rejected_options(command):
        flag = option.names[-1]
        yield _rejecting(flag, f"{flag}: {option.rejected[command].format(flag=flag)}")
    for option in (*options_of(command), *rejected_options(command)):
        new = option.names[-1]
        for old in option.former:
            yield _rejecting(old, f"{old} is called {new} now; write {new}")


def _rejecting(flag: str, problem: str) -> click.Option:
    def reject(ctx: click.Context, param: click.Parameter, value: object) -> None:
        if value is not None:
            raise click.UsageError(problem)

    return click.Option([flag], hidden=True, expose_value=False, callback=reject)


class LettersType(click.ParamType):  # type: ignore[type-arg]
    """Letters separated by commas."""

    name = "letters"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Alphabet:
        if isinstance(value, Alphabet):
            return value
        try:
            return Alphabet.parse(value)
        except RnncheckError as error:
            self.fail(str(error), param, ctx)


class ClassWeightsType(click.ParamType):  # type: ignore[type-arg]
    """``balanced``, ``none``, or numbers of labels: ``no=1,yes=3``."""

    name = "weights"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or "=" not in value:
            return value
        weights = {}
        for item in value.split(","):
            label, _, number = item.rpartition("=")
            try:
                weights[label.strip()] = float(number)
            except ValueError:
                self.fail(f"{number!r} in {item!r} is not a number; write label=number,label=number", param, ctx)
        return weights


_METAVARS: dict[type, str] = {
    kinds.Whole: "N",
    kinds.Number: "NUMBER",
    kinds.Text: "TEXT",
    kinds.Letters: "LETTERS",
}


def click_type(kind: kinds.Kind) -> click.ParamType | None:  # type: ignore[type-arg]
    """What click calls a kind of value."""
    match kind:
        case kinds.Whole(least):
            return click.INT if least is None else click.IntRange(min=least)
        case kinds.Number():
            return _number(kind)
        case kinds.Choice():
            return click.Choice(kind.names)
        case kinds.InputFile():
            return click.Path(path_type=Path)
        case kinds.ModelFile():
            return click.Path()
        case kinds.OutputFile(dash):
            return OutputFile(dash=dash)
        case kinds.OutputFolder(names):
            return OutputFolder(*names)
        case kinds.Letters():
            return LettersType()
        case kinds.ClassWeights():
            return ClassWeightsType()
        case _:
            return click.STRING


def _number(kind: kinds.Number) -> click.ParamType:  # type: ignore[type-arg]
    if (kind.least, kind.most, kind.above, kind.below) == (None, None, None, None):
        return click.FLOAT
    return click.FloatRange(
        min=kind.least if kind.above is None else kind.above,
        max=kind.most if kind.below is None else kind.below,
        min_open=kind.above is not None,
        max_open=kind.below is not None,
    )
