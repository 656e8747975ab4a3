"""From the tables of a property file to its values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rnncheck.automata.dfa import DEFAULT_MAX_STATES
from rnncheck.errors import FormatError, InputError
from rnncheck.options.catalogue import keys_of_properties, options_of
from rnncheck.options.option import name_of
from rnncheck.suite.definitions import Definitions
from rnncheck.suite.property_file import KINDS, DistributionEntry, ModelEntry, PropertyEntry, Suite, Terms, WordFile
from rnncheck.suite.tables import Document, Table
from rnncheck.word_files import WordFormat
from rnncheck.words import Alphabet

_FORMER = {  # keys of earlier versions, and the new ones
    name_of(old): option.name
    for option in options_of("verify")
    for old in option.former
    if option.key or option.name in KINDS
}
_TABLES = ("title", "defaults", "definitions", "distributions", "models", "properties")


def read_suite(path: str | Path) -> Suite:
    """The suite in a file."""
    document = Document.read(path)
    for name in document.content:
        if name not in _TABLES:
            raise FormatError(f"[{name}] means nothing here; known are {', '.join(_TABLES)}", str(path))
    title = document.content.get("title", "")
    if not isinstance(title, str):
        raise FormatError(f'title = {title!r}: write a text in quotes, such as "…"', str(path))
    reader = _Reader(document)
    properties = tuple(reader.property(name, table) for name, table in document.tables("properties"))
    if not properties:
        raise FormatError('there is no property in it; write [properties.NAME] with ltlf = "…"', str(path))
    return Suite(
        path=Path(path),
        models=tuple(reader.models.values()),
        properties=properties,
        title=title,
    )


class _Reader:
    """Reads one document; what several properties share is read first."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._distributions = {name: _distribution(table) for name, table in document.tables("distributions")}
        self.models = {name: _model(name, table) for name, table in document.tables("models")}
        self._definitions = _definitions(document.table("definitions"))
        defaults = document.table("defaults")
        self._defaults = self._terms(defaults, Terms())
        defaults.finish()

    def property(self, name: str, table: Table) -> PropertyEntry:
        table.check_renamed(_FORMER)
        kind, text = table.one_of(KINDS, "which is the specification")
        models = table.texts("models") if table.has("models") else None
        for model in models or ():
            if model not in self.models:
                known = ", ".join(self.models) or "none"
                raise table.error(f"there is no [models.{model}]; there are: {known}", "models")
        terms = vars(self._terms(table, self._defaults))
        terms["tags"] = tuple(dict.fromkeys((*self._defaults.tags, *terms["tags"])))
        read = PropertyEntry(
            **terms,
            name=name,
            kind=kind,
            text=text,
            description=table.text("description", "").strip(),
            models=models,
            complete=table.flag("complete", False),
            nonempty=table.flag("nonempty", False),
            max_states=table.whole("max_states", DEFAULT_MAX_STATES, least=1),
            definitions=self._definitions,
            folder=self._document.path.parent,
            line=table.line,
        )
        self._check(read, table)
        table.finish()
        return read

    def _check(self, read: PropertyEntry, table: Table) -> None:
        """Refuse what has no effect, and names that are not defined."""
        for key, kind in (("complete", "dfa"), ("nonempty", "ltlf")):
            if table.has(key) and read.kind != kind:
                raise table.error(f"it has no effect without {kind}; leave it out", key)
        if read.about_labels and table.has("relation"):
            raise table.error(f"{read.kind} holds of all words or not; leave it out", "relation")
        for key in (read.kind, "assume"):
            try:
                _ = read.whole_text if key == read.kind else read.assumed_text
            except InputError as error:
                raise table.error(str(error), key) from None

    def _terms(self, table: Table, base: Terms) -> Terms:
        return Terms(
            severity=table.choice("severity", base.severity),
            allow_undecided=table.flag("allow_undecided", base.allow_undecided),
            tags=table.texts("tags", base.tags),
            options={
                key: table.option(key, kind, base.options[key]) for key, (_, kind) in keys_of_properties().items()
            },
            distribution=self._named_distribution(table, base.distribution),
            data=_word_file(table, "data") or base.data,
        )

    def _named_distribution(self, table: Table, base: DistributionEntry | None) -> DistributionEntry | None:
        inner = table.inner("distribution")
        if inner is not None:
            return _distribution(inner)
        name = table.text("distribution", None)
        if name is None:
            return base
        if name not in self._distributions:
            known = ", ".join(self._distributions) or "none"
            raise table.error(f"there is no [distributions.{name}]; there are: {known}", "distribution")
        return self._distributions[name]


def _model(name: str, table: Table) -> ModelEntry:
    which, text = table.one_of(("path", "module"), "where the model comes from")
    alphabet = _alphabet(table)
    read = ModelEntry(
        name=name,
        path=table.path("path"),
        module=text if which == "module" else None,
        alphabet=alphabet,
        threshold=table.number("threshold", None, above=-float("inf")),
        label=_label(table),
        labels=table.texts("labels") or None,
        state=None if which == "path" else table.path("state"),
        fingerprint=None if which == "path" else table.text("fingerprint", None),
        cell=table.text("cell", None),
        float64=table.flag("float64", False),
        torchscript=table.flag("torchscript", False),
        before=_marker(table, "before"),
        after=_marker(table, "after"),
        description=table.text("description", "").strip(),
        line=table.line,
    )
    for key in ("state", "fingerprint"):
        if which == "path" and table.has(key):
            raise table.error("it has no effect without module; leave it out", key)
    for key in ("cell", "torchscript"):
        if which == "module" and table.has(key):
            raise table.error("it has no effect with module; leave it out", key)
    table.finish()
    return read


def _alphabet(table: Table) -> Alphabet | None:
    letters = table.texts("alphabet") if not isinstance(table.content.get("alphabet"), str) else None
    try:
        if letters is None:
            return Alphabet.parse(table.text("alphabet", ""))
        return Alphabet(letters) if letters else None
    except InputError as error:
        raise table.error(str(error), "alphabet") from None


def _marker(table: Table, key: str) -> tuple[str, ...]:
    """A letter, or a list of letters that follow one another."""
    return (table.text(key, ""),) if isinstance(table.content.get(key), str) else table.texts(key)


def _label(table: Table) -> int | str | None:
    if isinstance(table.content.get("label"), str):
        return table.text("label", None)
    return table.whole("label", None, least=0)


def _distribution(table: Table) -> DistributionEntry:
    weights = table.inner("weights")
    given: dict[str, Any] = {} if weights is None else dict(weights.content)
    if weights is not None:
        for letter in given:
            weights.number(letter, None, above=-1e-300)
    read = DistributionEntry(
        stop=table.number("stop", None, above=0.0, below=1.0),
        weights=given,
        words_like=_word_file(table, "words_like"),
        order=table.whole("order", 2, least=1),
    )
    if read.words_like is not None and (read.stop is not None or given):
        raise table.error("it learns letters and length from words; leave out stop and weights", "words_like")
    if read.words_like is None and table.has("order"):
        raise table.error("it has no effect without words_like; leave it out", "order")
    table.finish()
    return read


def _word_file(table: Table, key: str) -> WordFile | None:
    """A file of words: its name, or a table with its path and how words stand in it."""
    inner = table.inner(key)
    if inner is None:
        path = table.path(key)
        return None if path is None else WordFile(path)
    path = inner.path("path")
    if path is None:
        raise inner.error('write its name: path = "…"')
    form = WordFormat(inner.text("column", None), None, inner.text("separator", None, blank=True))
    inner.finish()
    return WordFile(path, form)


def _definitions(table: Table) -> Definitions:
    texts = {name: table.text(name, "") for name in table.content}
    for name in texts:
        if not name.isidentifier():
            raise table.error("a name has letters, digits and _ alone, and begins with none of the digits", name)
    try:
        return Definitions(texts)
    except InputError as error:
        raise table.error(str(error)) from None
