"""What a repair tells: while it runs, and at the end, as a value and as a JSON document."""

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
    """The probability of a violation: ``hits`` of ``words`` that could be violations were, and these have ``possible``.

    ``interval`` holds the probability with 95 % confidence.
    """

    possible: float
    hits: Count
    words: Count
    interval: Interval

    def at_least(self, probability: float) -> Mass:
        """The same, where so much is known of violations."""
        low, high = self.interval
        return Mass(self.possible, self.hits, self.words, (max(low, probability), max(high, probability)))


class Standing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a model stands to one property.

    ``outcome`` is that of the last verification, with so many ``search_steps`` and so far. ``on_data`` counts the
    violations among the person's own words.
    """

    outcome: Outcome
    proved: bool = False
    counterexamples: tuple[Word, ...] = ()
    flows: tuple[str, ...] = ()
    search_steps: Count = 0
    mass: Mass | None = None
    on_data: Count | None = None


class PropertyRepair(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A property before and after."""

    name: str
    origin: str
    relation: str
    sha256: str
    before: Standing
    after: Standing


class RepairRound(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One round: what was found at first, what was taught, and what was measured then.

    ``violated`` names the properties, and ``counterexamples`` shows a word for each. ``taught`` counts new words by
    kind. ``learned`` is the share of taught answers that were right in the last epoch. ``mistakes`` of ``audited``
    words that could be violations still are, and ``accuracy`` is that on validation words, both after the round.
    """

    number: int
    violated: tuple[str, ...]
    counterexamples: tuple[Word, ...]
    search_steps: Count
    taught: dict[str, int]
    words: Count
    epochs: Count
    learned: float
    mistakes: Count
    audited: Count
    accuracy: float
    seconds: float


class HeldOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Words that nothing was learned from, and the share that was and is answered right.

    ``source`` says where they and their right answers are from.
    """

    source: str
    words: Count
    before: float
    after: float


class ChangedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A word that is answered otherwise; ``wanted`` where a property forbids the answer of before.

    ``labelled`` where the person's own label of the word is the answer of after.
    """

    word: Word
    before: str
    after: str
    wanted: bool
    labelled: bool = False

    @property
    def why(self) -> str:
        """Who asked for the change."""
        if self.wanted:
            return "as a property asks for"
        return "as your label says" if self.labelled else "neither a property nor a label of yours asks for it"


class Changes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Answers that changed among all ``words`` that were compared; ``shortest`` are some of them.

    ``wanted`` are those that a property asks for, ``labelled`` the others that the person's own labels ask for.
    """

    words: Count
    changed: Count
    wanted: Count
    labelled: Count = 0
    shortest: tuple[ChangedAnswer, ...] = ()

    def asked_for(self) -> str:
        """How many of the changes were asked for, and by whom; without capital and full stop."""
        own = f", {self.labelled:,} by your labels" if self.labelled else ""
        return f"{self.wanted:,} of them asked for by a property{own}"


class HardeningFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What training for a proof came to: whether its network was ``taken``, and why not."""

    proved: bool
    taken: bool
    boxes: int | None = None
    seconds: float
    reason: str


class RepairReport(Displayable, msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a repair went.

    ``improved`` says whether the model that came of it is better than the one that was given: one that is not never
    takes its place.
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
        """Write the page: one HTML file, for people."""
        write_atomically(path, page_of(self))


class RepairProgress(msgspec.Struct, frozen=True):
    """Passed to the progress callback now and then: what is being done after so many rounds, and how far it is.

    ``counts`` has ``search steps`` (those that are to be made), ``membership queries`` and ``network steps`` while a
    property is verified, and ``words``, ``answers`` and ``right answers`` (those of the epoch) while words are taught.
    """

    round: int
    doing: str
    seconds: float
    counts: dict[str, int] = {}

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in self.counts.items())
        return f"round {self.round}: {self.doing}{': ' if counts else ''}{counts}  {self.seconds:.0f} s"


Progress = Callable[[RepairProgress], None]
