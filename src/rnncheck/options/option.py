"""What the declaration of an option has. The command line, its help and property files are made from it."""

from __future__ import annotations

import dataclasses
import enum
import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar


class HelpGroup(enum.Enum):
    """The headings in the help of a command, in their order: what is used most comes first."""

    SPECIFICATION = "Specification"
    ABOUT = "About the specification"
    SELECTION = "Selection"
    WORDS = "Words and data"
    DISTANCE = "Distance between words"
    RESULTS = "Results"
    CERTAINTY = "Certainty and time"
    TRAINING = "Training"
    PROOF = "Proof"
    NETWORKS = "Networks"
    CONTACTS = "Contacts"
    MODEL = "Model"
    RANDOM = "Random words"
    COUNTEREXAMPLES = "Counterexamples and flows"
    METHOD = "Method"
    RUNS = "Long runs"


@dataclass(frozen=True)
class At:
    """A value by its place, ``package.module:name``, which is imported only when the value is needed."""

    place: str

    @property
    def name(self) -> str:
        """The name within its module."""
        return self.place.partition(":")[2]

    @functools.cached_property
    def value(self) -> Any:
        module, _, path = self.place.partition(":")
        return functools.reduce(getattr, path.split("."), importlib.import_module(f"rnncheck.{module}"))


@dataclass(frozen=True)
class Flag:
    """Given or not; a ``negative`` one switches its setting off."""

    negative: bool = False
    runs_code: bool = False


@dataclass(frozen=True)
class Text:
    """Any text; ``code`` names code that is imported and run."""

    code: bool = False


@dataclass(frozen=True)
class Whole:
    """A whole number of at least ``least``."""

    least: int | None = None


@dataclass(frozen=True)
class Number:
    """A number within bounds: at least ``least``, at most ``most``, or strictly between ``above`` and ``below``."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None


@dataclass(frozen=True)
class Choice:
    """One of some names: a list, the keys of a registry, or the values of an enumeration."""

    of: At | tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        values: Iterable[Any] = self.of.value if isinstance(self.of, At) else self.of
        return tuple(value.value if isinstance(value, enum.Enum) else value for value in values)

    def value(self, name: str) -> Any:
        """What a settings object has for a name: the member of the enumeration, if it is one."""
        members = self.of.value if isinstance(self.of, At) else ()
        return next((one for one in members if isinstance(one, enum.Enum) and one.value == name), name)


@dataclass(frozen=True)
class InputFile:
    """A file that is read."""


@dataclass(frozen=True)
class ModelFile:
    """A file or folder of a model, which is read."""


@dataclass(frozen=True)
class OutputFile:
    """A file that is written; with ``dash`` it may be `-`, which prints it."""

    dash: bool = False


@dataclass(frozen=True)
class OutputFolder:
    """A folder in which files of these names are written."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Letters:
    """An alphabet, or names, with commas between."""


@dataclass(frozen=True)
class ClassWeights:
    """``balanced``, ``none``, or numbers of labels: ``no=1,yes=3``."""


Kind: TypeAlias = (
    Flag | Text | Whole | Number | Choice | InputFile | ModelFile | OutputFile | OutputFolder | Letters | ClassWeights
)
Values: TypeAlias = Mapping[str, Any]  # of all options of a command, by their names


def runs_code(option: Option) -> bool:
    """Whether giving the option makes the user's code run."""
    return (isinstance(option.kind, Flag) and option.kind.runs_code) or (
        isinstance(option.kind, Text) and option.kind.code
    )


def is_given(values: Values, flag: str) -> bool:
    """Whether an option, or an argument, of the command has a value; False where the command does not have it."""
    return values.get(name_of(flag)) not in (None, False, ())


def name_of(flag: str) -> str:
    """The name of the value of an option or argument: ``max_length`` of ``--max-length``, ``paths`` of ``PATHS``."""
    return flag.lstrip("-").replace("-", "_").lower()


@dataclass(frozen=True)
class NoEffect:
    """A rule: the option has no effect if ``when`` holds; ``why`` ends the sentence. For some commands, or for all."""

    why: str
    when: Callable[[Values], bool]
    commands: tuple[str, ...] = ()


def without(*flags: str, why: str = "", commands: tuple[str, ...] = ()) -> NoEffect:
    """No effect unless one of these is given; of no concern to a command that has none of them."""
    return NoEffect(
        why or f"without {' or '.join(flags)}",
        lambda values: (
            any(name_of(flag) in values for flag in flags) and not any(is_given(values, flag) for flag in flags)
        ),
        commands,
    )


def beside(*flags: str, why: str = "", commands: tuple[str, ...] = ()) -> NoEffect:
    """No effect where one of these is given."""
    return NoEffect(
        why or f"with {' or '.join(flags)}", lambda values: any(is_given(values, flag) for flag in flags), commands
    )


def if_chosen(flag: str, *names: str, why: str = "", commands: tuple[str, ...] = ()) -> NoEffect:
    """No effect where another option has one of these values."""
    return NoEffect(why or f"with this {flag}", lambda values: values.get(name_of(flag)) in names, commands)


def never(why: str, commands: tuple[str, ...]) -> NoEffect:
    """No effect in some commands at all, which say what to do instead."""
    return NoEffect(why, lambda _: True, commands)


Settings = TypeVar("Settings")


def fill(kind: type[Settings], options: Iterable[Option], values: Values, **others: Any) -> Settings:
    """A settings object with the values of all options that fill a field of it, and ``others`` as they are."""
    names = {base.__name__ for base in kind.__mro__}
    fields = {each.name for each in dataclasses.fields(kind)}  # type: ignore[arg-type]
    filled = {
        option.filled_field: option.setting_value(values[option.name])
        for option in options
        if option.fills is not None and option.fills.name in names and option.filled_field in fields
    }
    return kind(**{**filled, **others})


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option. Everything that is known of it is here; one that fills a settings field needs no other code.

    ``flags``: ``--name``, or ``-n --name``. ``commands`` that have it, with their ``differences`` by field.
    ``otherwise``: the default in words, for the help. ``fills``: the settings class of which it sets the field
    ``setting`` (by default its name), whose default is then its own. ``key``: whether property files have it, or the
    kind that their value is of. ``repeated``: whether the command that repeats a run has it. ``former``: names that it
    had; giving one is an error that names the new one. ``rejected``: commands that do not have it, and why: giving it
    there is an error that says what to do instead.
    """

    flags: str
    kind: Kind
    help: str = ""
    group: HelpGroup
    commands: tuple[str, ...]
    differences: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    metavar: str | None = None
    default: Any = None
    otherwise: str = ""
    required: bool = False
    multiple: bool = False
    fills: At | None = None
    setting: str = ""
    no_effect: tuple[NoEffect, ...] = ()
    key: bool | Kind = False
    repeated: bool = True
    former: tuple[str, ...] = ()
    rejected: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Its flags; the last is the whole name."""
        return tuple(self.flags.split())

    @property
    def name(self) -> str:
        """The name of its value: ``max_length`` of ``--max-length``."""
        return name_of(self.names[-1])

    @property
    def filled_field(self) -> str:
        """The field of the settings that it fills."""
        return self.setting or self.name

    @property
    def preset(self) -> Any:
        """The value where it is not given."""
        if self.default is not None or self.fills is None or isinstance(self.kind, Flag):
            return self.default.value if isinstance(self.default, At) else self.default
        fields = {each.name: each.default for each in dataclasses.fields(self.fills.value)}
        default = fields[self.filled_field]
        return default.value if isinstance(default, enum.Enum) else default

    @property
    def key_kind(self) -> Kind | None:
        """What property files have as its value; None where they do not have it."""
        return (self.kind if self.key else None) if isinstance(self.key, bool) else self.key

    def setting_value(self, value: Any) -> Any:
        """The value as the field of the settings has it."""
        if isinstance(self.kind, Flag) and self.kind.negative:
            return not value
        if isinstance(self.kind, Choice) and isinstance(value, str):
            return self.kind.value(value)
        return value

    def of(self, command: str) -> Option:
        """The option as one command has it."""
        return dataclasses.replace(self, **self.differences.get(command, {}))

    def why_without_effect(self, command: str, values: Values) -> str | None:
        """Why it has no effect beside the other values, or None where it has one."""
        rules = (rule for rule in self.no_effect if not rule.commands or command in rule.commands)
        return next((rule.why for rule in rules if rule.when(values)), None)
