"""Python objects as models: ``wrap`` for what the caller has in hand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy.typing as npt

from rnncheck.errors import InputError, ModelError, short_repr
from rnncheck.models.delimiters import Marker, between_markers, marker_letters
from rnncheck.models.fingerprint import checked_fingerprint
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.foreign.input_layouts import token_ids
from rnncheck.models.label_names import checked_names, label_number
from rnncheck.models.protocol import Model
from rnncheck.runtime.watchdog import guarded_for
from rnncheck.words import Alphabet, Word


def wrap(
    model: object,
    alphabet: Iterable[str] | Mapping[str, int] | None = None,
    *,
    threshold: float = 0.5,
    label: int | str | None = None,
    labels: Iterable[str] | None = None,
    encode: Callable[[list[Word]], Any] | None = None,
    before: Marker = None,
    after: Marker = None,
    first_row: int | None = None,
    empty: bool | None = None,
    output: str = "auto",
    batch_size: int | None = None,
    dtype: npt.DTypeLike | None = None,
    threads: int | None = None,
    seed: int = 0,
    timeout: float | None = None,
    max_length: int | None = None,
    fingerprint: str | None = None,
) -> Model:
    """Make a model of a PyTorch module or of a Python callable.

    A **callable** takes a list of words (tuples of letters) and returns one answer each: ``True``, ``False``, or a
    number that means yes when it is greater than ``threshold``. Of the other options it takes ``batch_size`` (the most
    words a call, 1024), ``seed`` and ``max_length`` alone.

    A **module** is called on tensors of letter numbers or one-hot vectors, whichever it takes. ``alphabet`` may be a
    dict from tokens to these numbers, as a tokenizer has it. With one output per word
    is accepted when the probability is greater than ``threshold`` (``output`` says whether the output is a
    ``"probability"`` or a ``"logit"`` where that cannot be seen); with several, when ``label`` is the largest.
    ``labels`` are names for these, unless the module has them as its attribute ``labels``; ``label`` may then be one.
    ``first_row`` is the number of the first letter (where the embedding has more rows than there are letters),
    ``empty`` the answer to the empty word (where the module cannot be asked; it is rejected unless told), ``encode`` a
    function from words of equal length to the module's argument, or a tuple of arguments. ``dtype`` and ``threads``
    are for the compiled engine; ``batch_size`` (256) is for modules that have to be called on whole words.

    ``before`` and ``after`` are markers that the model reads around every word: a letter of the alphabet each, or
    several. Words have the other letters, and the empty word is the markers alone.

    It is never asked for a word of more than ``max_length`` letters; a callable is not tried out on one either.

    The model is tried out on some words. Where it hangs, ``timeout`` (in seconds) ends that by a ResourceLimitError.

    ``fingerprint`` is a text that you change whenever the model, its code or anything it reads changes: a checkpoint
    can be resumed while it is the same, and not without it. It may be an attribute of the module or callable instead.
    """
    options = WrapOptions(
        threshold,
        label,
        checked_names(labels),
        encode,
        first_row,
        empty,
        output,
        batch_size,
        dtype,
        threads,
        seed,
        timeout,
        max_length,
        fingerprint=fingerprint,
    )
    return wrapped(model, alphabet, options, before, after)


def wrapped(
    model: object,
    alphabet: Iterable[str] | Mapping[str, int] | None,
    options: WrapOptions,
    before: Marker,
    after: Marker,
) -> Model:
    """The model, between markers where there are any."""
    if before is None and after is None:
        return _without_markers(model, alphabet, options)
    if options.empty is not None:
        raise InputError(f"empty={options.empty} was given, but between markers the empty word is asked; leave it out")
    inner = _without_markers(model, alphabet, options.with_markers(model, before, after))
    marked = between_markers(inner, before, after)
    marked.max_length = options.max_length
    return marked


class WrapOptions(NamedTuple):
    """What ``wrap`` was told of a model, beside its letters and markers; ``notes`` are told of it, with its own."""

    threshold: float = 0.5
    label: int | str | None = None
    labels: tuple[str, ...] | None = None
    encode: Callable[[list[Word]], Any] | None = None
    first_row: int | None = None
    empty: bool | None = None
    output: str = "auto"
    batch_size: int | None = None
    dtype: npt.DTypeLike | None = None
    threads: int | None = None
    seed: int = 0
    timeout: float | None = None
    max_length: int | None = None
    notes: tuple[str, ...] = ()
    fingerprint: str | None = None

    @property
    def sizes(self) -> dict[str, int]:
        return {} if self.batch_size is None else {"batch_size": self.batch_size}

    def with_markers(self, model: object, before: Marker, after: Marker) -> WrapOptions:
        """For the model that reads the markers too: it is never asked for a word without letters."""
        around = len(marker_letters(before)) + len(marker_letters(after))
        longest = None if self.max_length is None else self.max_length + around
        return self._replace(max_length=longest, empty=False if is_module(model) else None)

    def check(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"batch size {self.batch_size} is less than 1")
        if self.max_length is not None and self.max_length < 2:
            raise InputError(f"max_length {self.max_length} is less than 2")

    def refuse_those_of_modules(self, why: str) -> None:
        """Refuse what says how a PyTorch module is read, where there is none."""
        for name in ("label", "labels", "encode", "first_row", "empty"):
            if getattr(self, name) is not None:
                raise InputError(f"{name}={short_repr(getattr(self, name))} is for PyTorch modules; {why}")


def _without_markers(model: object, alphabet: Iterable[str] | Mapping[str, int] | None, options: WrapOptions) -> Model:
    """The model, without markers."""
    letters = letters_of(model, alphabet)
    own = getattr(model, "alphabet", None)
    ids = token_ids(own if alphabet is None else alphabet)
    if is_module(model) and options.encode is None and isinstance(own, Mapping):
        if ids is not None and ids != token_ids(own):
            raise InputError("alphabet= gives letters other ids than the module's own attribute alphabet; leave it out")
        ids = token_ids(own)
    if ids is not None and (not is_module(model) or options.encode is not None):
        raise InputError(
            "alphabet= is a dict from tokens to ids, which are for modules without encode=; give list(alphabet)"
        )
    options.check()
    if isinstance(model, Model):
        options.refuse_those_of_modules("this is a model already; say it where the module is wrapped")
        if options.fingerprint is not None:
            raise InputError("this is a model already; give the fingerprint where it is wrapped")
        return model
    named = getattr(model, "fingerprint", None)
    if options.fingerprint is None and isinstance(named, str):
        options = options._replace(fingerprint=named)
    checked_fingerprint(options.fingerprint)
    if is_module(model):
        return _of_module(model, letters, options, ids)
    if not callable(model):
        raise ModelError(f"{short_repr(model)} is neither a PyTorch module nor a callable")
    options.refuse_those_of_modules("a callable gets the words as they are")
    function, (threshold, seed, longest) = model, (options.threshold, options.seed, options.max_length)
    return guarded_for(
        options.timeout,
        lambda: CallableModel(
            function,
            letters,
            threshold=threshold,
            seed=seed,
            max_length=longest,
            fingerprint=options.fingerprint,
            **options.sizes,
        ),
        "the function was being tried out",
    )


def _of_module(module: object, letters: Alphabet, told: WrapOptions, ids: tuple[int, ...] | None) -> Model:
    from rnncheck.models.foreign.torch.module import ModuleOptions, wrap_module
    from rnncheck.models.self_check import Reading

    try:
        meaning = meaning_of_outputs(module, told.label, told.labels)
    except ModelError:
        if told.labels is not None and told.label != 0:  # first of all there must be a name for each output
            _of_module(module, letters, told._replace(label=0), ids)
        raise
    reading = Reading(told.threshold, output=told.output, dtype=told.dtype, threads=told.threads, **meaning)
    options = ModuleOptions(
        reading,
        told.encode,
        told.first_row,
        told.empty,
        seed=told.seed,
        notes=told.notes,
        ids=ids,
        longest=told.max_length,
        fingerprint=told.fingerprint,
        **told.sizes,
    )
    wrapped = guarded_for(told.timeout, lambda: wrap_module(module, letters, options), "the module was being tried out")
    wrapped.max_length = told.max_length
    return wrapped


def meaning_of_outputs(module: object, label: int | str | None, labels: Iterable[str] | None) -> dict[str, Any]:
    """The label that means yes and the names of all, given or the module's own attribute ``labels``; for a Reading."""
    names, own = checked_names(labels), getattr(module, "labels", None)
    if names is None and isinstance(own, list | tuple) and len(own) > 1 and all(isinstance(name, str) for name in own):
        return {"label": label_number(label, checked_names(own)), "labels": checked_names(own), "own_labels": True}
    return {"label": label_number(label, names), "labels": names}


def is_module(model: object) -> bool:
    """Whether it is a PyTorch module. If it is, PyTorch has been imported already."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def letters_of(model: object, alphabet: Iterable[str] | Mapping[str, int] | None) -> Alphabet:
    """The alphabet given, or the one that the model itself has as its attribute ``alphabet``; both must agree."""
    own = getattr(model, "alphabet", None)
    told = Alphabet(own) if isinstance(own, list | tuple | Mapping | Alphabet) else None
    given = told if alphabet is None else alphabet if isinstance(alphabet, Alphabet) else Alphabet(alphabet)
    if given is None:
        raise InputError(
            "the alphabet is missing, and nothing else says the letters and their order: give alphabet=[…] "
            "(--alphabet a,b,c), or let the model have them as its attribute alphabet"
        )
    if told is not None and given != told:
        raise InputError(
            f"the model has the alphabet {short_repr(str(told))}, and {short_repr(str(given))} was given; leave it out"
        )
    return given
