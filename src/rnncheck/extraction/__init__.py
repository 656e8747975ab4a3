"""From a model to an automaton that stands for it: the line "Approximation(R)" of the paper's Algorithm 2, by name."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from rnncheck.errors import InputError, ModelError, short_repr
from rnncheck.extraction.auto import auto
from rnncheck.extraction.merging import merging
from rnncheck.extraction.method import Extracting, ExtractionMethod
from rnncheck.extraction.pac import bounded, pac
from rnncheck.extraction.quantisation import quantised
from rnncheck.extraction.weiss import weiss
from rnncheck.learning.task import LearningTask

ExtractionName = Literal["pac", "bounded", "merging", "auto", "weiss", "kmeans", "grid"]
DEFAULT_EXTRACTION: ExtractionName = "pac"

EXTRACTIONS: Mapping[str, ExtractionMethod] = MappingProxyType(
    {
        "pac": ExtractionMethod(pac, black_box=True),
        "bounded": ExtractionMethod(bounded, black_box=True),
        "merging": ExtractionMethod(merging, black_box=True),
        "auto": ExtractionMethod(auto, black_box=True),
        "weiss": ExtractionMethod(weiss),
        "kmeans": ExtractionMethod(functools.partial(quantised, kind="kmeans")),
        "grid": ExtractionMethod(functools.partial(quantised, kind="grid")),
    }
)
BLACK_BOX = tuple(name for name, method in EXTRACTIONS.items() if method.black_box)


def extraction_method(name: str) -> ExtractionMethod:
    """The extraction method of that name."""
    try:
        return EXTRACTIONS[name]
    except KeyError:
        known = ", ".join(get_args(ExtractionName))
        raise InputError(f"unknown extraction method {short_repr(name)}; known are {known}") from None


def extracting(name: str, task: LearningTask) -> Extracting:
    """The extraction by the method of that name, if the task's model shows what the method looks at."""
    method = extraction_method(name)
    if not (method.black_box or task.oracle.stepping):
        model = task.oracle.model
        kind = model.describe().get("kind", type(model).__name__)
        raise ModelError(
            f"the extraction method {name} looks at the hidden states of a network, and this model ({kind}) shows "
            f"none; choose {' or '.join(BLACK_BOX)}, which need its answers alone"
        )
    return method.run(task)
