"""Files that a command writes: before the work it is checked that none is an input or another output."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from rnncheck.errors import InputError, RnncheckError
from rnncheck.runtime.files import check_writable
from rnncheck.spec import language_file
from rnncheck.suite.property_file import Suite


class OutputFile(click.ParamType):  # type: ignore[type-arg]
    """A file that can be written; `-` where the command allows it."""

    name = "file"

    def __init__(self, *, dash: bool = False) -> None:
        self._dash = dash

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(value)
        if not (self._dash and str(path) == "-"):
            try:
                check_writable(path)
            except InputError as error:
                self.fail(str(error), param, ctx)
        return path


class OutputFolder(click.ParamType):  # type: ignore[type-arg]
    """A folder in which files of known names are written."""

    name = "folder"

    def __init__(self, *names: str) -> None:
        self.names = names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        return Path(value)


@contextlib.contextmanager
def collect_errors(troubles: list[str]) -> Iterator[None]:
    """Collect errors about files, to be reported after the result: they must not hide it."""
    try:
        yield
    except RnncheckError as error:
        troubles.append(str(error))


def write_or_rescue(path: Path, write: Callable[[Path], None], troubles: list[str]) -> Path | None:
    """Write what took long to make. Gives its place: the one named or, if that fails, one among temporary files."""
    try:
        write(path)
        return path
    except InputError as error:
        trouble = str(error)
    other = Path(tempfile.gettempdir()) / f"{path.stem}-{os.getpid()}{path.suffix}"
    try:
        write(other)
    except InputError:
        troubles.append(f"{trouble}; it cannot be written to {other.parent} either, so it is lost")
        return None
    troubles.append(f"{trouble}; it is kept as {other}")
    return other


def raise_troubles(troubles: list[str]) -> None:
    """Raise everything that went wrong with files as one error, after the result was shown."""
    if troubles:
        raise InputError("; ".join(troubles))


_MAY_BE_MODELS = {"models", "model", "against", "source", "suite", "spec"}  # which read the letters beside them


class _File(NamedTuple):
    given_as: str  # the option, or the argument
    path: Path


def check_outputs(ctx: click.Context) -> None:
    """Raise UsageError where an output of the command is one of its inputs, or another output."""
    inputs, outputs = list(_inputs(ctx)), list(_outputs(ctx))
    for output in outputs:
        for given in inputs:
            if _same(output.path, given.path) or _is_part(output.path, given.path):
                raise click.UsageError(
                    f"{output.given_as} {output.path} would overwrite the file of {given.given_as}; give another file"
                )
    for first, second in itertools.combinations([*outputs, *_redirected_stdout()], 2):
        if _same(first.path, second.path):
            raise click.UsageError(f"{first.given_as} and {second.given_as} are one file, {first.path}; give two")


def _inputs(ctx: click.Context) -> Iterator[_File]:
    for parameter in ctx.command.params:
        name, value = parameter.name or "", ctx.params.get(parameter.name or "")
        if value is None:
            continue
        given_as = parameter.opts[0] if isinstance(parameter, click.Option) else parameter.make_metavar(ctx).strip("[]")
        paths: list[Path] = []
        if isinstance(parameter.type, click.Path):
            paths += map(Path, value if isinstance(value, tuple) else (value,))
        if name == "assume" and (file := language_file(value)) is not None:
            paths.append(file)
        if name in ("suite", "spec"):
            paths += _named_in(*paths)
        for path in paths:
            yield _File(given_as, path)
            yield from (_File(given_as, Path(f"{path}.{suffix}")) for suffix in ("alphabet", "data"))
            letters = path.with_name("alphabet.txt")
            if name in _MAY_BE_MODELS and letters.is_file():
                yield _File(given_as, letters)


def _named_in(suite: Path) -> tuple[Path, ...]:
    """The files that a property file names; none where it cannot be read, which the command itself reports."""
    try:
        return Suite.read(suite).files()
    except InputError:
        return ()


def _outputs(ctx: click.Context) -> Iterator[_File]:
    for parameter in ctx.command.params:
        value = ctx.params.get(parameter.name or "")
        if value is None:
            continue
        if isinstance(parameter.type, OutputFile) and str(value) != "-":
            yield _File(parameter.opts[0], value)
        elif isinstance(parameter.type, OutputFolder):
            yield from (_File(parameter.opts[0], value / name) for name in parameter.type.names)


def _redirected_stdout() -> Iterator[_File]:
    """Where stdout goes, if that is a file: what is written there has its place taken."""
    try:
        if stat.S_ISREG(os.fstat(1).st_mode):
            yield _File("stdout", Path("/dev/stdout"))
    except OSError:  # it is closed
        return


def _same(first: Path, second: Path) -> bool:
    """Whether both are one file, by whatever name; a device or a pipe is not a file."""
    try:
        one, other = os.stat(first), os.stat(second)
    except (OSError, ValueError):
        return os.path.normcase(os.path.realpath(first)) == os.path.normcase(os.path.realpath(second))
    return stat.S_ISREG(one.st_mode) and os.path.samestat(one, other)


def _is_part(file: Path, folder: Path) -> bool:
    """Whether a file is one that makes a folder a released network or a run."""
    try:
        inner = Path(os.path.realpath(file)).relative_to(os.path.realpath(folder))
    except ValueError:
        return False
    network = len(inner.parts) == 1 and (inner.name == "meta" or inner.suffix in (".pt", ".pth", ".safetensors"))
    return network or inner.parts[:1] in (("run.json",), ("subjects",), ("verdicts",))


def today() -> str:
    """The date of a report; SOURCE_DATE_EPOCH, where it is set, makes reports that can be made again."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC) if epoch.isdecimal() else datetime.datetime.now()
    return f"{now:%Y-%m-%d %H:%M}"
