"""What is known of words and their neighbours, as values and as a JSON document."""

from __future__ import annotations

from typing import Literal, Self

import msgspec

from rnncheck.errors import FormatError
from rnncheck.verdict.facts import Count, Outcome
from rnncheck.words import Alphabet, Word

Distance = int | float


class WordRobustness(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One word and the model's answers near it.

    Every word within ``certified`` has the word's own answer: each was queried, or it is proved; None if not even the
    word itself was queried. ``nearest`` is a nearest word with the other answer, and ``distance`` its distance. If
    there were too many words to query it need not be the nearest (``exact`` is false), or
    ``epsilon`` bounds the share of words with the other answer among all within the requested distance, or
    ``boxes`` of network states prove that there are none.
    """

    word: Word
    accepted: bool | None
    outcome: Outcome
    certified: Distance | None = None
    nearest: Word | None = None
    distance: Distance | None = None
    exact: bool = True
    words: Count | None = None
    epsilon: float | None = None
    boxes: Count | None = None
    reason: str

    def certified_at(self, distance: Distance) -> bool:
        """Whether all words within this distance are known to have the word's own answer."""
        return self.certified is not None and self.certified >= distance


class Robustness(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The result for all words: robust only where every one of them is.

    ``evaluator`` answered; ``compared`` words, drawn from the neighbourhoods, were queried on ``reference`` too.
    """

    schema: Literal["rnncheck/robustness/1"] = "rnncheck/robustness/1"
    distance: Distance
    distances: tuple[Distance, ...]  # that words can have, up to it
    edits: dict[str, object]
    spec: str | None = None
    gamma: float
    seed: int
    words: tuple[WordRobustness, ...]
    evaluator: str
    reference: str
    compared: Count
    notes: tuple[str, ...] = ()
    network_steps: Count
    seconds: float
    model_sha256: str | None = None
    alphabet: tuple[str, ...]
    version: str

    @property
    def outcome(self) -> Outcome:
        found = {word.outcome for word in self.words}
        return next((some for some in (Outcome.VIOLATED, Outcome.UNDECIDED) if some in found), Outcome.SATISFIED)

    @property
    def robust(self) -> bool:
        return self.outcome is Outcome.SATISFIED

    @property
    def exit_code(self) -> int:
        return self.outcome.exit_code

    def table(self) -> list[tuple[Distance, int, int]]:
        """For each distance: how many words are certified there, and how many have a flip within it."""
        rows: list[tuple[Distance, int, int]] = []
        for distance in (0, *self.distances):
            flipped = sum(word.distance is not None and word.distance <= distance for word in self.words)
            rows.append((distance, sum(word.certified_at(distance) for word in self.words), flipped))
        return rows

    def letters(self) -> Alphabet:
        return Alphabet(self.alphabet)

    def to_json(self) -> str:
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, source: str = "<json>") -> Self:
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise FormatError(f"not a document about robustness: {error}", source) from None
