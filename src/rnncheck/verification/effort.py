"""How much work goes into explaining a violation: a shorter word, flows, the severity.

It is counted in letters that the model reads, relative to what was read until the violation was found, with a constant
that takes about as long as two seconds of one core. So the result depends on the question alone. Only the clock of a
time limit can cut it short, and no choice depends on a clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from rnncheck.models.protocol import Model, SteppingModel
from rnncheck.verification.verify_settings import VerifySettings

DEFAULT_SECONDS = 2.0
_PRODUCTS_PER_SECOND = 4e10  # multiplications of one core, with many words side by side
_OVERHEAD = 50_000  # of a letter, beyond its products, in products
_UNKNOWN = 800_000  # of a black-box model, where the cost of a letter is unknown
_RELATIVE = 2  # letters for each one that was read until the violation was found
_SHORTER, _FLOWS, _SEVERITY = 0.7, 0.1, 0.2  # the shares
# By default a search for shorter words, or for flows, ends after this many letters: more rarely find anything.
SHORTER_STEPS = 200_000
_FLOWS_STEPS, _FLOWS_SHARE = 10_000, 16


@dataclass(frozen=True)
class Effort:
    """How many letters may be read to find shorter words and flows, and to measure the severity.

    The severity's share does not depend on how the violation was found, so that all commands measure alike.
    """

    shorter: int
    flows: int
    severity: int

    @classmethod
    def of(cls, model: Model, spent: int, settings: VerifySettings) -> Effort:
        """The shares, where ``spent`` letters were read until the violation was found."""
        explain = settings.explain
        seconds = DEFAULT_SECONDS if explain is None else explain
        letters = seconds * _PRODUCTS_PER_SECOND / (_products(model) + _OVERHEAD)
        severity = int(_SEVERITY * letters)
        if explain is not None:
            return cls(int(_SHORTER * letters), int(_FLOWS * letters), severity)
        letters += _RELATIVE * spent
        shorter = min(int(_SHORTER * letters), max(SHORTER_STEPS, spent))
        return cls(shorter, min(int(_FLOWS * letters), max(_FLOWS_STEPS, spent // _FLOWS_SHARE)), severity)


def _products(model: Model) -> int:
    """About the multiplications of one step: those of an LSTM with this state."""
    return int(model.initial(1).size) ** 2 if isinstance(model, SteppingModel) else _UNKNOWN
