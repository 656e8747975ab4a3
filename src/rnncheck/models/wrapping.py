"""Python objects as models: ``wrap``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy.typing as npt

from rnncheck.errors import InputError, ModelError, short_repr
from rnncheck.models.delimiters import Delimiter, delimiter_letters, with_delimiters
from rnncheck.models.fingerprint import check_fingerprint
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.foreign.input_layouts import token_ids
from rnncheck.models.label_names import check_label_names, label_number
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
    before: Delimiter = None,
    after: Delimiter = None,
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

    A **callable** takes a list of words (tuples of letters) and returns one answer for each: ``True``, ``False``, or a
    number that accepts if it is greater than ``threshold``. Of the other options it takes only ``batch_size`` (the most
    words per call, 1024), ``seed``, ``timeout``, ``max_length`` and ``fingerprint``.

    A **module** is called on tensors of letter numbers or one-hot vectors, whichever it takes. ``alphabet`` may be a
    dict from tokens to these numbers, as a tokenizer has it. With one output per word
    is accepted when the probability is greater than ``threshold`` (``output`` says whether the output is a
    ``"probability"`` or a ``"logit"`` if that cannot be seen); with several, when ``label`` is the largest.
    ``labels`` are names for these, unless the module has them as its attribute ``labels``; ``label`` may then be one.
    ``first_row`` is the number of the first letter (if the embedding has more rows than there are letters),
    ``empty`` the answer to the empty word (if the module does not take it; by default it is rejected), ``encode`` a
    function from words of equal length to the module's argument, or a tuple of arguments. ``dtype`` and ``threads``
    are for the compiled engine; ``batch_size`` (256) is for modules that have to be called on whole words.

    ``before`` and ``after`` are delimiters that the model reads around every word: a letter of the alphabet each, or
    several. Words have the other letters, and the empty word is the delimiters alone.

    The model is never queried with a word of more than ``max_length`` letters, nor is a callable tried out on one.

    The model is tried out on some words. If it hangs, ``timeout`` (in seconds) ends that with a ResourceLimitError.

    ``fingerprint`` is a text that you change whenever the model, its code or anything it reads changes: a checkpoint
    can be resumed while it is the same, and not without it. It may be an attribute of the module or callable instead.
    """
    options = WrapOptions(
        threshold,
        label,
        check_label_names(labels),
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
    return wrap_with_options(model, alphabet, options, before, after)


def wrap_with_options(
    model: object,
    alphabet: Iterable[str] | Mapping[str, int] | None,
    options: WrapOptions,
    before: Delimiter,
    after: Delimiter,
) -> Model:
    """The model, between delimiters if there are any."""
    if before is None and after is None:
        return _without_delimiters(model, alphabet, options)
    if options.empty is not None:
        raise InputError(
            f"empty={options.empty} was given, but between delimiters the model takes the empty word; leave it out"
        )
    inner = _without_delimiters(model, alphabet, options.with_delimiters(model, before, after))
    delimited = with_delimiters(inner, before, after)
    delimited.max_length = options.max_length
    return delimited


class WrapOptions(NamedTuple):
    """The arguments of ``wrap``, except letters and delimiters; ``notes`` are added to the model's own."""

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

    def with_delimiters(self, model: object, before: Delimiter, after: Delimiter) -> WrapOptions:
        """The options for the model that reads the delimiters too: its words are never empty."""
        around = len(delimiter_letters(before)) + len(delimiter_letters(after))
        longest = None if self.max_length is None else self.max_length + around
        return self._replace(max_length=longest, empty=False if is_module(model) else None)

    def check(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"batch size {self.batch_size} is less than 1")
        if self.max_length is not None and self.max_length < 2:
            raise InputError(f"max_length {self.max_length} is less than 2")

    def reject_module_options(self, why: str) -> None:
        """Raise an error for options of PyTorch modules where there is no such module."""
        for name in ("label", "labels", "encode", "first_row", "empty"):
            if getattr(self, name) is not None:
                raise InputError(f"{name}={short_repr(getattr(self, name))} is for PyTorch modules; {why}")


def _without_delimiters(
    model: object, alphabet: Iterable[str] | Mapping[str, int] | None, options: WrapOptions
) -> Model:
    """The model, without delimiters."""
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
        options.reject_module_options("this is a model already; give it where the module is wrapped")
        if options.fingerprint is not None:
            raise InputError("this is a model already; give the fingerprint where it is wrapped")
        return model
    named = getattr(model, "fingerprint", None)
    if options.fingerprint is None and isinstance(named, str):
        options = options._replace(fingerprint=named)
    check_fingerprint(options.fingerprint)
    if is_module(model):
        return _of_module(model, letters, options, ids)
    if not callable(model):
        raise ModelError(f"{short_repr(model)} is neither a PyTorch module nor a callable")
    options.reject_module_options("a callable gets the words as they are")
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


def _of_module(module: object, letters: Alphabet, given: WrapOptions, ids: tuple[int, ...] | None) -> Model:
    from rnncheck.models.foreign.torch.module import ModuleOptions, wrap_module
    from rnncheck.models.self_check import OutputMeaning

    try:
        labels = meaning_of_outputs(module, given.label, given.labels)
    except ModelError:
        if given.labels is not None and given.label != 0:  # first of all there must be a name for each output
            _of_module(module, letters, given._replace(label=0), ids)
        raise
    meaning = OutputMeaning(given.threshold, output=given.output, dtype=given.dtype, threads=given.threads, **labels)
    options = ModuleOptions(
        meaning,
        given.encode,
        given.first_row,
        given.empty,
        seed=given.seed,
        notes=given.notes,
        ids=ids,
        longest=given.max_length,
        fingerprint=given.fingerprint,
        **given.sizes,
    )
    model = guarded_for(given.timeout, lambda: wrap_module(module, letters, options), "the module was being tried out")
    model.max_length = given.max_length
    return model


def meaning_of_outputs(module: object, label: int | str | None, labels: Iterable[str] | None) -> dict[str, Any]:
    """The accepting label and the names of all, given or the module's attribute ``labels``, for an OutputMeaning."""
    names, own = check_label_names(labels), getattr(module, "labels", None)
    if names is None and isinstance(own, list | tuple) and len(own) > 1 and all(isinstance(name, str) for name in own):
        return {
            "label": label_number(label, check_label_names(own)),
            "labels": check_label_names(own),
            "own_labels": True,
        }
    return {"label": label_number(label, names), "labels": names}


def is_module(model: object) -> bool:
    """Whether an object is a PyTorch module. If it is, PyTorch has been imported already."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def letters_of(model: object, alphabet: Iterable[str] | Mapping[str, int] | None) -> Alphabet:
    """The alphabet given, or the model's own attribute ``alphabet``; both must agree."""
    own = getattr(model, "alphabet", None)
    known = Alphabet(own) if isinstance(own, list | tuple | Mapping | Alphabet) else None
    given = known if alphabet is None else alphabet if isinstance(alphabet, Alphabet) else Alphabet(alphabet)
    if given is None:
        raise InputError(
            "the alphabet is missing, so the letters and their order are unknown: give alphabet=[…] "
            "(--alphabet a,b,c), or set the model's attribute alphabet"
        )
    if known is not None and given != known:
        raise InputError(
            f"the model has the alphabet {short_repr(str(known))}, and {short_repr(str(given))} was given; leave it out"
        )
    return given
