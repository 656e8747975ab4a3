"""From a model to an automaton that stands for it: the line "Approximation(R)" of the paper's Algorithm 2, by name."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, get_args

from rnncheck.errors import InputError, ModelError, short_repr
from rnncheck.extraction.auto_extraction import auto
from rnncheck.extraction.decision_tree import tree
from rnncheck.extraction.invariant_cells import cells
from rnncheck.extraction.merging import merging
from rnncheck.extraction.method import Extracting, ExtractionMethod
from rnncheck.extraction.pac import bounded, pac
from rnncheck.extraction.quantisation import quantise
from rnncheck.extraction.weiss import weiss
from rnncheck.learning.learning_task import LearningTask
from rnncheck.words import Word, format_word

ExtractionName = Literal["pac", "bounded", "merging", "auto", "weiss", "tree", "kmeans", "grid", "cells"]
DEFAULT_EXTRACTION: ExtractionName = "pac"

EXTRACTIONS: Mapping[str, ExtractionMethod] = MappingProxyType(
    {
        "pac": ExtractionMethod(pac, black_box=True),
        "bounded": ExtractionMethod(bounded, black_box=True),
        "merging": ExtractionMethod(merging, black_box=True),
        "auto": ExtractionMethod(auto, black_box=True),
        "weiss": ExtractionMethod(weiss),
        "tree": ExtractionMethod(tree),
        "kmeans": ExtractionMethod(functools.partial(quantise, kind="kmeans")),
        "grid": ExtractionMethod(functools.partial(quantise, kind="grid")),
        "cells": ExtractionMethod(cells, contains=True),
    }
)
# The methods that are compared by default: auto consists of others, and cells aims to contain the language.
COMPARED: tuple[ExtractionName, ...] = ("pac", "bounded", "merging", "weiss", "tree", "kmeans", "grid")
BLACK_BOX = tuple(name for name, method in EXTRACTIONS.items() if method.black_box)


def extraction_method(name: str) -> ExtractionMethod:
    """The extraction method of that name."""
    try:
        return EXTRACTIONS[name]
    except KeyError:
        known = ", ".join(get_args(ExtractionName))
        raise InputError(f"unknown extraction method {short_repr(name)}; known are {known}") from None


def check_lengths(longest: int, name: str, known_words: Iterable[Word]) -> None:
    """Raise an error for what would query a model for words of more than ``longest`` letters."""
    if not extraction_method(name).black_box:
        raise InputError(
            f"the extraction method {name} follows hidden states to words of any length, but queries are limited to "
            f"{longest} letters; choose {' or '.join(BLACK_BOX)}"
        )
    for word in known_words:
        if len(word) > longest:
            raise InputError(
                f"a known word has {len(word)} letters, but queries are limited to {longest}: "
                f"{short_repr(format_word(word))}; leave it out"
            )


def extracting(name: str, task: LearningTask) -> Extracting:
    """The extraction by the method of that name, if the task's model shows what the method needs."""
    method = extraction_method(name)
    if task.max_length is not None:
        check_lengths(task.max_length, name, task.settings.known_words)
    if not (method.black_box or task.oracle.stepping):
        model = task.oracle.model
        kind = model.describe().get("kind", type(model).__name__)
        raise ModelError(
            f"the extraction method {name} needs the hidden states of a network, and this model ({kind}) shows "
            f"none; choose {' or '.join(BLACK_BOX)}, which need only its answers"
        )
    return method.run(task)
