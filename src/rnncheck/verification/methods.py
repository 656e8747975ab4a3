"""The methods of verification, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from rnncheck.verification.aamc import aamc
from rnncheck.verification.auto import auto
from rnncheck.verification.errors_method import errors
from rnncheck.verification.pdv import pdv
from rnncheck.verification.smc import smc
from rnncheck.verification.task import Algorithm, Task

MethodName = Literal["auto", "pdv", "smc", "aamc", "errors"]

METHODS: Mapping[MethodName, Callable[[Task], Algorithm]] = MappingProxyType(
    {"auto": auto, "pdv": pdv, "smc": smc, "aamc": aamc, "errors": errors}
)
