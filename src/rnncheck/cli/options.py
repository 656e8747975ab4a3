"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import click

from rnncheck.automata.dfa import DEFAULT_MAX_STATES
from rnncheck.cli.output_files import OutputFile
from rnncheck.errors import RnncheckError
from rnncheck.models.cells import Cell
from rnncheck.models.protocol import Model
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Relation
from rnncheck.spec import Spec, parse_language
from rnncheck.suite.property_file import ModelEntry, PropertyEntry, Suite
from rnncheck.word_files import USUAL, Sequences, WordFormat, read_sequences, read_words
from rnncheck.words import Alphabet, Word, parse_word

Command = TypeVar("Command", bound=Callable[..., Any])


class AlphabetType(click.ParamType):  # type: ignore[type-arg]
    """Letters separated by commas."""

    name = "letters"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Alphabet:
        if isinstance(value, Alphabet):
            return value
        try:
            return Alphabet.parse(value)
        except RnncheckError as error:
            self.fail(str(error), param, ctx)


# Cells whose weights look like another's, so that a state dictionary does not tell which it is.
ALIKE_CELLS = [cell.value for cell in Cell if any(cell is not other and cell.gates == other.gates for other in Cell)]

TORCHSCRIPT_HELP = "The file is TorchScript, a program that you trust: it is run."

label_options = (
    click.option("--label", metavar="LABEL", help="The label that means yes, by name or number (several outputs)."),
    click.option("--labels", type=AlphabetType(), metavar="NAMES",
                 help="Names for several outputs, with commas between, where the model has none."),
)  # fmt: skip


def state_option(module: str = "--module", name: str = "--state") -> Callable[[Command], Command]:
    """The option that names the weights of a module."""
    return click.option(name, type=click.Path(path_type=Path), metavar="FILE",
                        help=f"The weights of {module}: a state dictionary (.pt, .pth or .safetensors).")  # fmt: skip


marker_options = (
    click.option("--before", metavar="MARKER", help="A letter, or several, that the model reads before every word; "
                 "--alphabet has it too, words have not."),
    click.option("--after", metavar="MARKER", help="The same after every word."),
)  # fmt: skip

cell_option = click.option(
    "--cell",
    type=click.Choice([cell.value for cell in Cell if cell.trainable]),
    default=Cell.LSTM.value,
    show_default=True,
)


def relation_option(meaning: str, default: Relation = Relation.SUBSET) -> Callable[[Command], Command]:
    """The option that names a relation between two languages."""
    names = [relation.value for relation in Relation]
    return click.option("--relation", type=click.Choice(names), default=default.value, show_default=True, help=meaning)


def verdict_files(command: Command) -> Command:
    """The options that name where a verdict is written."""
    as_json = click.option("--json", "json_file", metavar="FILE", type=OutputFile(dash=True),
                           help="Write the verdict as JSON; `-` prints it alone.")  # fmt: skip
    as_page = click.option("--report", metavar="FILE.html", type=OutputFile(),
                           help="Write the report: one HTML file that opens offline.")  # fmt: skip
    return as_json(as_page(command))


@dataclass(frozen=True)
class SpecRequest:
    """What the specification options said; ``build`` makes the specification."""

    dfa: Path | None
    regex: str | None
    ltlf: str | None
    word_list: Path | None
    alphabet: Alphabet | None
    definitions: dict[str, str]
    complete: bool
    nonempty: bool
    max_states: int
    named: PropertyEntry | None = None  # in a property file

    @property
    def given(self) -> bool:
        """Whether a specification was named at all."""
        return any(kind is not None for kind in (self.dfa, self.regex, self.ltlf, self.word_list, self.named))

    def build(self, alphabet: Alphabet | None = None) -> Spec:
        """The specification over the letters of a model's words, or over those of ``--alphabet``."""
        letters = alphabet or self.alphabet
        if self.named is not None:
            return self.named.spec(letters)
        if self.dfa is not None:
            return Spec.from_file(self.dfa, letters, complete=self.complete, max_states=self.max_states)
        if self.regex is not None:
            return Spec.from_regex(self.regex, letters, definitions=self.definitions, max_states=self.max_states)
        if self.word_list is not None:
            return Spec.from_word_file(self.word_list, letters, max_states=self.max_states)
        return Spec.from_ltlf(self.ltlf or "", letters, nonempty=self.nonempty, max_states=self.max_states)


def spec_options(command: Command) -> Command:
    """Add the options that name a specification; the command receives them as one ``request``."""
    return _with_spec_options(command, required=True)


def optional_spec_options(command: Command) -> Command:
    """As ``spec_options``, for a command that can do without: its ``request`` is then not ``given``."""
    return _with_spec_options(command, required=False)


def property_options(command: Command) -> Command:
    """Add ``--spec`` and ``--property``, above the options that name a specification otherwise."""

    def with_property(*args: Any, **kwargs: Any) -> Any:
        path, name = kwargs.pop("suite"), kwargs.pop("property_name")
        kwargs["named"] = None if path is None else Suite.read(path).property_named(name)
        return command(*args, **kwargs)

    options = [
        click.option("--spec", "suite", type=click.Path(path_type=Path), metavar="FILE.toml",
                     help="A property file, instead of --dfa, --regex or --ltlf."),
        click.option("--property", "property_name", metavar="NAME", help="Which of its properties, if it has several."),
    ]  # fmt: skip
    return _decorated(command, with_property, options)


def _with_spec_options(command: Command, *, required: bool) -> Command:
    def with_request(*args: Any, **kwargs: Any) -> Any:
        return command(*args, request=_request(kwargs, required), **kwargs)

    options = [
        click.option("--dfa", type=click.Path(path_type=Path), metavar="FILE", help="An automaton: dot or JSON file."),
        click.option("--regex", metavar="TEXT", help="A regular expression over letters, such as '(a|b)* a'."),
        click.option("--ltlf", metavar="TEXT", help="An LTLf or LDLf formula, such as 'G(a -> F b)'."),
        click.option(
            "--word-list",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="The words of a file, one a line, and no others.",
        ),
        click.option("--alphabet", type=AlphabetType(), help="The letters, with commas between: a,b,'<c d>'."),
        click.option("--define", multiple=True, metavar="NAME=REGEX", help="A name for use in --regex as $NAME."),
        click.option("--complete", is_flag=True, help="Send transitions that --dfa lacks to a rejecting sink."),
        click.option("--nonempty", is_flag=True, help="Let no formula hold of the empty word."),
        click.option(
            "--max-states",
            type=click.IntRange(min=1),
            default=DEFAULT_MAX_STATES,
            show_default=True,
            help="Give up when an automaton grows beyond this.",
        ),
    ]
    return _decorated(command, with_request, options)


def _decorated(command: Command, wrapper: Any, options: list[Callable[[Any], Any]]) -> Command:
    """``wrapper`` in the place of ``command``, with the command's own options and these."""
    functools.update_wrapper(wrapper, command)
    for option in reversed(options):
        wrapper = option(wrapper)
    return wrapper  # type: ignore[no-any-return]


def _request(parameters: dict[str, Any], required: bool) -> SpecRequest:
    kinds = ("dfa", "regex", "ltlf", "word_list")
    named = parameters.pop("named", None)
    given = [f"--{kind.replace('_', '-')}" for kind in kinds if parameters[kind] is not None] + ["--spec"] * (
        named is not None
    )
    if len(given) > 1 or (required and not given):
        found = "none was given" if not given else f"got {' and '.join(given)}"
        raise click.UsageError(f"give exactly one of --dfa, --regex, --ltlf, --word-list ({found})")
    definitions = {}
    for definition in parameters.pop("define"):
        name, equals, text = definition.partition("=")
        if not equals or not name.strip().isidentifier():
            raise click.UsageError(f"--define {definition!r} is not NAME=REGEX")
        definitions[name.strip()] = text
    others = {name: parameters.pop(name) for name in (*kinds, "alphabet", "complete", "nonempty", "max_states")}
    return SpecRequest(definitions=definitions, named=named, **others)


def model_options(command: Command) -> Command:
    """Add the argument and options that name a model; the command receives them as one ``model``."""
    names = [field.name for field in fields(ModelRequest)]

    def with_options(*args: Any, **kwargs: Any) -> Any:
        request = ModelRequest(**{name: kwargs.pop(name) for name in names})
        if (request.path is None) == (request.module is None):
            both = f", not both ({request.path} is taken for the MODEL)" if request.module else ""
            raise click.UsageError(f"give a MODEL file or folder, or --module package.module:function{both}")
        return command(*args, model=request, **kwargs)

    options = [
        click.argument("path", metavar="[MODEL]", required=False, type=click.Path()),
        click.option("--module", metavar="MODULE:NAME", help="Import a model from your own code, which is run."),
        state_option(),
        click.option("--threshold", type=float, help="Accept above this probability.  [default: the file's, or 0.5]"),
        *label_options,
        click.option(
            "--cell",
            type=click.Choice(ALIKE_CELLS),
            help="The activation of an Elman network whose file does not say it.",
        ),
        click.option("--threads", type=click.IntRange(min=1), help="Threads for the network.  [default: all cores]"),
        click.option("--float64", is_flag=True, help="Compute in double precision."),
        click.option("--no-cache", is_flag=True, help="Check the engine anew, and remember nothing of it."),
        click.option("--torchscript", is_flag=True, help=TORCHSCRIPT_HELP),
        *marker_options,
    ]
    return _decorated(command, with_options, options)


@dataclass(frozen=True)
class ModelRequest:
    """What the model options said; ``load`` makes the model."""

    path: str | None
    module: str | None
    threshold: float | None
    label: str | None
    cell: str | None
    threads: int | None
    float64: bool
    no_cache: bool = False
    torchscript: bool = False
    before: str | None = None
    after: str | None = None
    labels: Alphabet | None = None
    state: Path | None = None

    @property
    def name(self) -> str:
        """What the person called the model."""
        return self.path or self.module or ""

    def load(self, alphabet: Alphabet | None, max_length: int | None = None, *, any_label: bool = False) -> Model:
        """The model; ``alphabet`` is for files and code that do not say their letters.

        A function of ``--module`` is not even tried out on words of more than ``max_length`` letters. With
        ``any_label`` no label need be chosen.
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
            before=_marker("--before", self.before),
            after=_marker("--after", self.after),
        )

    @property
    def _label(self) -> int | str | None:
        """A number is one, unless it is a name."""
        named = self.labels is not None and self.label in tuple(self.labels)
        return int(self.label) if self.label is not None and self.label.isdecimal() and not named else self.label


def _marker(option: str, text: str | None) -> tuple[str, ...]:
    try:
        letters = parse_word(text or "")
    except RnncheckError as error:
        raise click.UsageError(f"{option}: {error}") from None
    if text is not None and not letters:
        raise click.UsageError(f"{option} {text!r} names no letter; give one, such as {option} '<s>', or leave it out")
    return letters


def distribution_options(command: Command) -> Command:
    """Add the options that say how random words are drawn; the command receives ``distribution``, made from letters."""

    def with_distribution(*args: Any, **kwargs: Any) -> Any:
        stop, weights = kwargs.pop("stop"), kwargs.pop("weights")
        like, order = kwargs.pop("words_like"), kwargs.pop("order")
        form = kwargs.get("word_format", USUAL)
        if like is not None and (stop is not None or weights is not None):
            raise click.UsageError("--words-like learns letters and length from words; leave out --stop and --weights")

        def distribution(alphabet: Alphabet) -> WordDistribution:
            if like is not None:
                return WordDistribution.fit(alphabet, read_words(like, alphabet, form), order=order)
            drawn = None if weights is None else _weights(weights, alphabet)
            return WordDistribution(alphabet, drawn, **({} if stop is None else {"stop": stop}))

        return command(*args, distribution=distribution, **kwargs)

    options = [
        click.option("--stop", type=float, help="A random word stops after each letter with this probability.  "
                     "[default: 0.01]"),
        click.option("--weights", metavar="LETTER=W,…",
                     help="How often letters are drawn; `*=W` for those not named.  [default: equally]"),
        click.option("--words-like", type=click.Path(path_type=Path), metavar="FILE",
                     help="Draw words like those of a file (an n-gram model)."),
        click.option("--order", type=click.IntRange(min=1), default=2, show_default=True, help="n, for --words-like."),
    ]  # fmt: skip
    return _decorated(command, with_distribution, options)


def assumption_options(command: Command) -> Command:
    """Add the options that say which words count; the command receives ``assume``, made from letters."""
    return _with_assumption(command, "Only words of up to N letters count; the network is never asked for longer ones.")


def counting_options(command: Command) -> Command:
    """The same for a command that trains, and that asks a network for longer words too."""
    return _with_assumption(command, "Only words of up to N letters count; longer ones may be answered as they are.")


def _with_assumption(command: Command, longest: str) -> Command:
    def with_assumption(*args: Any, **kwargs: Any) -> Any:
        text = kwargs.pop("assume")
        return command(
            *args, assume=lambda alphabet: None if text is None else parse_language(text, alphabet), **kwargs
        )

    options = [
        click.option("--assume", metavar="FORMULA",
                     help="Only words that satisfy it count: an LTLf formula, or regex:TEXT, or dfa:FILE."),
        click.option("--max-length", type=click.IntRange(min=2), metavar="N", help=longest),
    ]  # fmt: skip
    return _decorated(command, with_assumption, options)


def _weights(text: str, alphabet: Alphabet) -> dict[str, float]:
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


def renamed_option(old: str, new: str) -> Callable[[Command], Command]:
    """An option that has another name now: whoever gives the old one is told."""

    def refuse(ctx: click.Context, param: click.Parameter, value: object) -> None:
        if value is not None:
            raise click.UsageError(f"{old} is called {new} now; write {new}")

    return click.option(old, hidden=True, expose_value=False, callback=refuse)


def word_format_options(command: Command) -> Command:
    """Add the options that say how words stand in files; the command receives them as ``word_format``."""

    def with_format(*args: Any, **kwargs: Any) -> Any:
        return command(*args, word_format=WordFormat(kwargs.pop("column"), None, kwargs.pop("separator")), **kwargs)

    options = [
        click.option("--column", metavar="NAME", help="The column, or field, of a .csv or .jsonl file that words stand "
                     "in.  [default: word or sequence]"),
        click.option("--separator", metavar="TEXT", help="What stands between the letters of a word in a file.  "
                     "[default: blanks, with quotes where needed]"),
    ]  # fmt: skip
    return _decorated(command, with_format, options)


def own_sequences(choices: dict[str, Any], alphabet: Alphabet) -> Sequences | None:
    """The sequences that ``--on-data`` names."""
    path = choices["on_data"]
    return None if path is None else read_sequences(path, alphabet, choices["word_format"])


def words_options(command: Command) -> Command:
    """Add ``--word`` and ``--words-file``."""
    command = click.option(
        "--words-file", type=click.Path(path_type=Path), metavar="FILE", help="A file of words: text, .csv or .jsonl."
    )(command)
    return click.option(
        "--word", "texts", multiple=True, metavar="TEXT", help="A word: letters with spaces between; may be repeated."
    )(command)


def gather_words(
    texts: tuple[str, ...], words_file: Path | None, alphabet: Alphabet, form: WordFormat = USUAL
) -> list[Word]:
    """The words over an alphabet that ``--word`` and ``--words-file`` name, in that order."""
    words = [parse_word(text) for text in texts]
    if words_file is not None:
        words += read_words(words_file, alphabet, form)
    if not words:
        raise click.UsageError("no word to look at; give --word TEXT or --words-file FILE")
    return words
