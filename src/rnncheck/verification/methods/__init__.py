"""The methods of verification, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from rnncheck.verdict.facts import MethodName
from rnncheck.verification.methods.aamc import aamc
from rnncheck.verification.methods.auto import auto
from rnncheck.verification.methods.error_learning import errors
from rnncheck.verification.methods.pdv import pdv
from rnncheck.verification.methods.proof_method import prove
from rnncheck.verification.methods.smc import smc
from rnncheck.verification.verification_task import Algorithm, Task

METHODS: Mapping[MethodName, Callable[[Task], Algorithm]] = MappingProxyType(
    {"auto": auto, "pdv": pdv, "smc": smc, "aamc": aamc, "errors": errors, "prove": prove}
)
# The paper's own, which can run as printed.
PRINTED: tuple[MethodName, ...] = ("smc", "aamc", "pdv")
# What the paper's experiments compare, in the order of its tables.
COMPARED: tuple[MethodName, ...] = (*PRINTED, "auto")
