"""The progress and the report of a repair, as values and as a JSON document."""

from __future__ import annotations

import enum
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from rnncheck.display import Displayable, page_of
from rnncheck.errors import FormatError
from rnncheck.runtime.files import write_atomically
from rnncheck.verdict.facts import Count, Interval, Outcome
from rnncheck.verdict.value import encode_part
from rnncheck.words import Alphabet, Word


class Ending(enum.Enum):
    """Why a repair ended."""

    PROVED = "proved"
    NOTHING_FOUND = "nothing found"
    NOT_REPAIRED = "not repaired"
    ENDED_EARLY = "ended early"

    @property
    def exit_code(self) -> int:
        return {"proved": 0, "nothing found": 0, "not repaired": 1, "ended early": 3}[self.value]


class Mass(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The probability of a violation.

    ``possible`` is the probability of a word that could be a violation; of ``words`` such words, ``hits`` were one.
    ``interval`` contains the probability with 95 % confidence.
    """

    possible: float
    hits: Count
    words: Count
    interval: Interval

    def at_least(self, probability: float) -> Mass:
        """The same with this lower bound, the probability of the violations already known."""
        low, high = self.interval
        return Mass(self.possible, self.hits, self.words, (max(low, probability), max(high, probability)))


class Standing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The result of one property for a model.

    ``outcome`` is that of the last verification, with ``search_steps`` steps of search. ``on_data`` counts the
    violations among your own words.
    """

    outcome: Outcome
    proved: bool = False
    counterexamples: tuple[Word, ...] = ()
    flows: tuple[str, ...] = ()
    search_steps: Count = 0
    mass: Mass | None = None
    on_data: Count | None = None


class PropertyRepair(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The results of one property before and after."""

    name: str
    origin: str
    relation: str
    sha256: str
    before: Standing
    after: Standing


class RepairRound(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename={"added_words": "taught"}
):
    """One round: the violations found, the training, and measurements after it.

    ``violated`` names the properties, and ``counterexamples`` has a word for each. ``added_words`` counts new training
    words by kind. ``learned`` is the share of training answers that were right in the last epoch. ``mistakes`` of
    ``audited`` words that could be violations still are, and ``accuracy`` is that on validation words, both after the
    round.
    """

    number: int
    violated: tuple[str, ...]
    counterexamples: tuple[Word, ...]
    search_steps: Count
    added_words: dict[str, int]
    words: Count
    epochs: Count
    learned: float
    mistakes: Count
    audited: Count
    accuracy: float
    seconds: float


class HeldOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Words that were not trained on, and the share answered right before and after.

    ``source`` says where they and their right answers come from.
    """

    source: str
    words: Count
    before: float
    after: float


class ChangedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"required": "wanted"}):
    """A word whose answer changed; ``required`` if a property forbids the old answer.

    ``labelled`` if your own label of the word is the new answer.
    """

    word: Word
    before: str
    after: str
    required: bool
    labelled: bool = False

    @property
    def why(self) -> str:
        """The reason of the change."""
        if self.required:
            return "required by a property"
        return "your label" if self.labelled else "required by neither a property nor a label of yours"


class Changes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename={"required": "wanted"}):
    """Answers that changed among all ``words`` that were compared; ``shortest`` are some of them.

    ``required`` are those that a property requires, ``labelled`` the others that your own labels require.
    """

    words: Count
    changed: Count
    required: Count
    labelled: Count = 0
    shortest: tuple[ChangedAnswer, ...] = ()

    def reasons(self) -> str:
        """How many of the changes were required, and by what; without capital and full stop."""
        own = f", {self.labelled:,} by your labels" if self.labelled else ""
        return f"{self.required:,} of them required by a property{own}"


class HardeningFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The result of certified training: whether its network was ``taken``, and why not."""

    proved: bool
    taken: bool
    boxes: int | None = None
    seconds: float
    reason: str


class RepairReport(Displayable, msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The report of a repair.

    ``improved`` says whether the repaired model is better than the original; if it is not, the original is kept.
    """

    schema: Literal["rnncheck/repair/1"] = "rnncheck/repair/1"
    ending: Ending
    reason: str
    improved: bool
    properties: tuple[PropertyRepair, ...]
    rounds: tuple[RepairRound, ...]
    held_out: HeldOut
    changes: Changes
    own_words: Count = 0
    labelled: bool = False
    hardening: HardeningFacts | None = None
    notes: tuple[str, ...] = ()
    model_before: dict[str, Any] = {}
    sha256_after: str | None = None
    distribution: dict[str, Any] = {}
    alphabet: Alphabet
    seed: int
    settings: dict[str, Any] = {}
    seconds: float
    output: str | None = None  # the file that the model was written to
    command: str | None = None
    version: str

    @property
    def repaired(self) -> bool:
        return self.ending in (Ending.PROVED, Ending.NOTHING_FOUND)

    @property
    def proved(self) -> bool:
        return self.ending is Ending.PROVED

    @property
    def exit_code(self) -> int:
        return self.ending.exit_code

    def __str__(self) -> str:
        return f"{self.ending.value}: {self.reason}"

    def to_json(self) -> str:
        """The JSON document (schema ``rnncheck/repair/1``), indented."""
        encoded = msgspec.json.encode(self, enc_hook=encode_part)
        return msgspec.json.format(encoded, indent=2).decode() + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, source: str = "<json>") -> Self:
        """The report in a JSON document; ``source`` names it in errors."""
        try:
            return msgspec.json.decode(text, type=cls, dec_hook=lambda kind, value: kind(value))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise FormatError(f"not a report of a repair: {error}", source) from None

    def save_report(self, path: str | Path) -> None:
        """Write the report as one HTML page."""
        write_atomically(path, page_of(self))


class RepairProgress(msgspec.Struct, frozen=True):
    """Passed to the progress callback: the rounds done, the current work, and how far it is.

    ``counts`` has ``search steps`` (those to be made), ``membership queries`` and ``network steps`` while a property is
    verified, and ``words``, ``answers`` and ``right answers`` (those of the epoch) during training.
    """

    round: int
    doing: str
    seconds: float
    counts: dict[str, int] = {}

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in self.counts.items())
        return f"round {self.round}: {self.doing}{': ' if counts else ''}{counts}  {self.seconds:.0f} s"


Progress = Callable[[RepairProgress], None]
