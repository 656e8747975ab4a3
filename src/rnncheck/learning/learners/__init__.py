"""Learners of regular languages behind one contract (:class:`~rnncheck.learning.learners.learner.Learner`), by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from rnncheck.errors import InputError, short_repr
from rnncheck.learning.learners.answers import Ask
from rnncheck.learning.learners.kearns_vazirani import KearnsVazirani
from rnncheck.learning.learners.learner import Learner
from rnncheck.learning.learners.observation_table import AngluinLStar, LStar
from rnncheck.learning.learners.ttt import TTT
from rnncheck.words import Alphabet

LearnerName = Literal["ttt", "kv", "lstar", "lstar-prefixes"]

LEARNERS: Mapping[str, type[Learner[Any]]] = MappingProxyType(
    {"ttt": TTT, "kv": KearnsVazirani, "lstar": LStar, "lstar-prefixes": AngluinLStar}
)


def make_learner(name: str, alphabet: Alphabet, ask: Ask, **options: Any) -> Learner[Any]:
    """The learner of that name; ``options`` are the keyword arguments of its class."""
    try:
        kind = LEARNERS[name]
    except KeyError:
        raise InputError(f"unknown learner {short_repr(name)}; known are {', '.join(LEARNERS)}") from None
    return kind(alphabet, ask, **options)
