"""The content of a property file: models, properties, and the terms on which they are verified."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rnncheck.automata.dfa import DEFAULT_MAX_STATES
from rnncheck.errors import InputError, short_repr
from rnncheck.models.files.loading import load_model
from rnncheck.models.importing import import_model
from rnncheck.models.label_names import LabelNeededError
from rnncheck.models.protocol import Model
from rnncheck.models.wrapping import wrap
from rnncheck.options.catalogue import keys_of_properties
from rnncheck.probability.distributions import WordDistribution
from rnncheck.spec import Spec, language_file, parse_language
from rnncheck.suite.definitions import Definitions
from rnncheck.word_files import USUAL, Sequences, WordFormat, read_sequences, read_words
from rnncheck.words import Alphabet

KINDS = (
    "ltlf",
    "regex",
    "dfa",
    "word_list",
    "trace_ltlf",
    "trace_regex",
)  # the keys that a specification can be written under
FILES = ("dfa", "word_list")  # of these, those that name a file


class Severity(enum.Enum):
    """What it means that a property does not hold: a failure, or something to know."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    """A model by where it comes from: a file or folder, or ``module`` (package.module:name), which is run."""

    name: str
    path: Path | None = None
    module: str | None = None
    alphabet: Alphabet | None = None
    threshold: float | None = None
    label: int | str | None = None
    labels: tuple[str, ...] | None = None  # names for several outputs
    state: Path | None = None  # the weights of a module
    fingerprint: str | None = None  # of a module: a text that its owner changes with it
    cell: str | None = None
    float64: bool = False
    torchscript: bool = False  # the file is a program, which is run
    before: tuple[str, ...] = ()  # delimiters that it reads around every word, letters of the alphabet
    after: tuple[str, ...] = ()
    description: str = ""
    line: int = 0

    def __post_init__(self) -> None:
        if (self.path is None) == (self.module is None):
            raise InputError(f"the model {short_repr(self.name)} needs either a path or a module")
        if self.state is not None and self.module is None:
            raise InputError(f"the model {short_repr(self.name)} has a state, which is for a module; leave it out")

    @property
    def source(self) -> str:
        """Where it comes from, to be shown."""
        weights = "" if self.state is None else f" with the weights of {self.state}"
        return f"{self.path or self.module}{weights}"

    def load(
        self,
        alphabet: Alphabet | None = None,
        *,
        max_length: int | None = None,
        threads: int | None = None,
        cache: bool = True,
        any_label: bool = False,
    ) -> Model:
        """The model; ``alphabet`` is for files and code that do not say their letters.

        A function of a module is not even tried out on words of more than ``max_length`` letters. With ``any_label``
        all labels are of interest, so that the first of several means accept where none was chosen.
        """
        try:
            return self._load(alphabet, max_length, threads, cache)
        except LabelNeededError:
            if not any_label:
                raise
            return dataclasses.replace(self, label=0)._load(alphabet, max_length, threads, cache)

    def _load(self, alphabet: Alphabet | None, max_length: int | None, threads: int | None, cache: bool) -> Model:
        letters = self.alphabet or alphabet
        dtype = "float64" if self.float64 else "float32"
        if self.path is not None:
            inner = load_model(
                self.path,
                alphabet=letters,
                threshold=self.threshold,
                label=self.label,
                labels=self.labels,
                cell=self.cell,
                dtype=dtype,
                threads=threads,
                cache=cache,
                torchscript=self.torchscript,
            )
            return wrap(inner, before=self.before or None, after=self.after or None)
        options: dict[str, Any] = {"threshold": self.threshold, "label": self.label, "threads": threads, "dtype": dtype}
        options |= {"max_length": max_length, "before": self.before or None, "after": self.after or None}
        options |= {"labels": self.labels, "state": self.state, "fingerprint": self.fingerprint}
        given = {name: value for name, value in options.items() if value is not None}
        return import_model(self.module or "", letters, **given)


@dataclass(frozen=True)
class WordFile:
    """A file of words, and how they stand in it."""

    path: Path
    form: WordFormat = USUAL


@dataclass(frozen=True, kw_only=True)
class DistributionEntry:
    """How random words are drawn: letters by ``weights`` until ``stop``, or like the words of a file.

    A weight of ``*`` is for the letters that are not named.
    """

    stop: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    words_like: WordFile | None = None
    order: int = 2

    def over(self, alphabet: Alphabet) -> WordDistribution:
        """The distribution of words over an alphabet."""
        if self.words_like is not None:
            words = read_words(self.words_like.path, alphabet, self.words_like.form)
            return WordDistribution.fit(alphabet, words, order=self.order)
        weights = dict(self.weights)
        if "*" in weights and "*" not in alphabet:
            weights = dict.fromkeys(alphabet, weights.pop("*")) | weights
        return WordDistribution(alphabet, weights or None, **({} if self.stop is None else {"stop": self.stop}))


def default_options() -> Mapping[str, Any]:
    """The options of a property by their keys, where a file sets none."""
    return {key: option.setting_value(option.preset) for key, (option, _) in keys_of_properties().items()}


@dataclass(frozen=True, kw_only=True)
class Terms:
    """On which terms a property is verified; ``options`` are those of ``verify`` that property files have, by key."""

    severity: Severity = Severity.ERROR
    allow_undecided: bool = False
    tags: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=default_options)
    distribution: DistributionEntry | None = None
    data: WordFile | None = None

    def __getattr__(self, name: str) -> Any:
        """The value of an option, such as ``epsilon``."""
        if name == "options" or name not in self.options:
            raise AttributeError(name)
        return self.options[name]


@dataclass(frozen=True, kw_only=True)
class PropertyEntry(Terms):
    """A named specification, written under one of the KINDS, of some models or all (None)."""

    name: str
    kind: str
    text: str
    description: str = ""
    models: tuple[str, ...] | None = None
    complete: bool = False
    nonempty: bool = False
    max_states: int = DEFAULT_MAX_STATES
    definitions: Definitions = field(default_factory=Definitions)
    folder: Path = Path()  # that files are named relative to
    line: int = 0

    @property
    def about_labels(self) -> bool:
        """Whether it is about the labels of a network, and not about accepted words."""
        return self.kind.startswith("trace_")

    @property
    def whole_text(self) -> str:
        """The formula or expression with its definitions, or the name of the file of the automaton or of the words."""
        if self.kind in FILES:
            return str(self.folder / self.text)
        if self.kind.endswith("regex"):
            return self.definitions.in_expression(self.text)
        return self.definitions.in_formula(self.text)

    def spec(self, alphabet: Alphabet | None = None) -> Spec:
        """The specification over an alphabet (a model's, say); an error names the property."""
        try:
            return self._compile(alphabet)
        except InputError as error:
            raise InputError(f"property {short_repr(self.name)}: {error}") from None

    def _compile(self, alphabet: Alphabet | None) -> Spec:
        if self.about_labels:
            raise InputError(
                f"{self.kind} is about labels, and a language is needed here; write ltlf, regex, dfa or word_list"
            )
        if self.kind == "dfa":
            return Spec.from_file(self.whole_text, alphabet, complete=self.complete, max_states=self.max_states)
        if self.kind == "word_list":
            return Spec.from_word_file(self.whole_text, alphabet, max_states=self.max_states)
        if self.kind == "regex":
            return Spec.from_regex(self.whole_text, alphabet, max_states=self.max_states)
        return Spec.from_ltlf(self.whole_text, alphabet, nonempty=self.nonempty, max_states=self.max_states)

    @property
    def assumed_text(self) -> str | None:
        """The assumption with its definitions, as ``parse_language`` reads it."""
        if self.assume is None:
            return None
        kind, _, rest = self.assume.partition(":")
        if kind == "regex":
            return f"regex:{self.definitions.in_expression(rest)}"
        return f"dfa:{self.folder / rest}" if kind == "dfa" else self.definitions.in_formula(self.assume)

    def assumption(self, alphabet: Alphabet) -> Spec | None:
        """The words that count, where not all do."""
        text = self.assumed_text
        try:
            return None if text is None else parse_language(text, alphabet)
        except InputError as error:
            raise InputError(f"property {short_repr(self.name)}: assume: {error}") from None

    def words_drawn(self, alphabet: Alphabet) -> WordDistribution:
        """The distribution that probabilities are about."""
        return WordDistribution(alphabet) if self.distribution is None else self.distribution.over(alphabet)

    def sequences(self, alphabet: Alphabet) -> Sequences | None:
        """The user's own sequences, where there are any."""
        return None if self.data is None else read_sequences(self.data.path, alphabet, self.data.form)


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A property file."""

    path: Path
    models: tuple[ModelEntry, ...]
    properties: tuple[PropertyEntry, ...]
    title: str = ""

    @classmethod
    def read(cls, path: str | Path) -> Suite:
        """Read a property file; a FormatError names the table, the key and the value that is wrong."""
        from rnncheck.suite.reading import read_suite

        return read_suite(path)

    def files(self) -> tuple[Path, ...]:
        """Every file or folder that it names."""
        named = [path for model in self.models for path in (model.path, model.state)]
        for one in self.properties:
            named.append(Path(one.whole_text) if one.kind in FILES else None)
            assumed = None if one.assume is None else language_file(one.assume)
            named.append(None if assumed is None else one.folder / assumed)
            named.append(None if one.data is None else one.data.path)
            words = None if one.distribution is None else one.distribution.words_like
            named.append(None if words is None else words.path)
        return tuple(path for path in named if path is not None)

    def property_named(self, name: str | None) -> PropertyEntry:
        """The property of that name; without a name, the only one."""
        known = [one.name for one in self.properties]
        if name is None and len(known) == 1:
            return self.properties[0]
        if name is None:
            raise InputError(f"{self.path}: there are {len(known)} properties; choose one: {', '.join(known)}")
        if name not in known:
            raise InputError(f"{self.path}: no property {short_repr(name)}; there are {', '.join(known)}")
        return self.properties[known.index(name)]

    def selected(
        self, *, tags: Iterable[str] = (), properties: Iterable[str] = (), models: Iterable[str] = ()
    ) -> tuple[tuple[ModelEntry, PropertyEntry], ...]:
        """What is to be verified, model after model: properties with one of the tags, of these names, of these models.

        Without tags, without names: all.
        """
        chosen_tags, names = set(tags), {self.property_named(name).name for name in properties}
        chosen = {self.model_named(name).name for name in models}
        unknown = chosen_tags - {tag for one in self.properties for tag in one.tags}
        if unknown:
            known = ", ".join(sorted({tag for one in self.properties for tag in one.tags})) or "none"
            raise InputError(f"{self.path}: no property has the tag {short_repr(min(unknown))}; tags are: {known}")
        return tuple(
            (model, one)
            for model in self.models
            for one in self.properties
            if (not chosen or model.name in chosen)
            and (not names or one.name in names)
            and (not chosen_tags or chosen_tags & set(one.tags))
            and (one.models is None or model.name in one.models)
        )

    def model_named(self, name: str) -> ModelEntry:
        """The model of that name."""
        for model in self.models:
            if model.name == name:
                return model
        raise InputError(
            f"{self.path}: no model {short_repr(name)}; there are {', '.join(m.name for m in self.models)}"
        )
