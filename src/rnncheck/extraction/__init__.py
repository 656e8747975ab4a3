"""From a model to an automaton that stands for it: the line "Approximation(R)" of the paper's Algorithm 2, by name."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from rnncheck.errors import InputError, short_repr
from rnncheck.extraction.method import ExtractionMethod
from rnncheck.extraction.pac import bounded, pac
from rnncheck.extraction.quantisation import quantised
from rnncheck.extraction.weiss import weiss

ExtractionName = Literal["pac", "bounded", "weiss", "kmeans", "grid"]
DEFAULT_EXTRACTION: ExtractionName = "pac"

EXTRACTIONS: Mapping[str, ExtractionMethod] = MappingProxyType(
    {
        "pac": pac,
        "bounded": bounded,
        "weiss": weiss,
        "kmeans": functools.partial(quantised, kind="kmeans"),
        "grid": functools.partial(quantised, kind="grid"),
    }
)


def extraction_method(name: str) -> ExtractionMethod:
    """The extraction method of that name."""
    try:
        return EXTRACTIONS[name]
    except KeyError:
        known = ", ".join(get_args(ExtractionName))
        raise InputError(f"unknown extraction method {short_repr(name)}; known are {known}") from None
