"""What is known of words that were not looked at, which words that is about, and whose answers it rests on."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.errors import visible
from rnncheck.verdict.facts import Count


class AssumptionFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which words count: those of a language, where there is one, and of at most ``max_length`` letters.

    ``origin`` is what the language was made of, ``sha256`` its digest. ``mass`` is the probability, under the
    distribution of all words, of a word that counts.
    """

    origin: str | None = None
    sha256: str | None = None
    states: int | None = None
    automaton: DFA | None = None
    max_length: Count | None = None
    mass: float

    def given(self) -> dict[str, Any]:
        """What names it among the facts of the distribution of these words."""
        told = {"assume": self.origin, "sha256": self.sha256, "max_length": self.max_length}
        return {name: value for name, value in told.items() if value is not None}

    @property
    def scope(self) -> str:
        """As the end of "a word"."""
        return scope_of(self.given())

    def sentence(self) -> str:
        """For a person, without capital and full stop."""
        length = "" if self.max_length is None else f" of at most {self.max_length} letters"
        language = "" if self.origin is None else f" that satisfy {visible(self.origin)}"
        return f"only words{length}{language} count; a random word is one of them with probability {self.mass:.3g}"


class Scope(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a result is about: the words that count, and, without ``covers_reference``, only the weights that were read
    from a module, whose code may compute something else.
    """

    assumption: AssumptionFacts | None = None
    covers_reference: bool = True


def scope_of(given: object) -> str:
    """What the facts of a distribution say of its words, as the end of "a word"; empty where they are all words."""
    if not isinstance(given, dict):
        return ""
    length = f" of at most {given['max_length']} letters" if "max_length" in given else ""
    return length + (" that satisfies the assumption" if "sha256" in given else "")


_LEAST_TOLD = 1e-300  # of probabilities that are bounded from above: whatever is less, floats hardly hold


def at_most(probability: float) -> str:
    """A bound of a probability in a few digits, never below it."""
    if not 0.0 < probability < 1.0:
        return f"{probability:g}"
    probability = max(probability, _LEAST_TOLD)
    digits = 2 - math.floor(math.log10(probability))
    return f"{math.ceil(probability * 10.0**digits) / 10.0**digits:.3g}"


class ShownBox(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A box of a proof in a plane, for people: bounds of the score, zero at the decision, and ``across`` it.

    It holds the states after words that end in ``letters``. ``open``: it reaches the decision where it must not.
    """

    score: tuple[float, float]
    across: tuple[float, float]
    letters: str
    open: bool = False


def about_weights(covers_reference: bool) -> str:
    """What a proof is about, as the end of "proved", where that is not the model itself."""
    return "" if covers_reference else " for the weights read from the module"


class ProofFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a proof for words of any length rests on.

    It has ``boxes`` of network states, and is about every evaluation in ``arithmetic``. Without ``covers_reference`` it
    is about the weights that were read from a module, whose code may compute something else. ``sha256`` is the digest
    of its certificate, and ``certificate`` the file, where it was written to one. A proof of a part leaves words
    ``unproved`` whose probability is at most this; ``open`` of its boxes are why. Some boxes are ``shown``.
    """

    boxes: Count
    arithmetic: str
    covers_reference: bool = True
    sha256: str
    certificate: str | None = None
    unproved: float | None = None
    open: Count = 0
    shown: tuple[ShownBox, ...] = ()

    @property
    def about(self) -> str:
        """What it is about, as the end of "proved", where that is not the model itself."""
        return about_weights(self.covers_reference)

    def sentences(self, scope: str = "") -> list[str]:
        """In words, a claim each, without capital and full stop; ``scope`` says which words count."""
        of = self.about or " of the network"
        where = f"the certificate is {self.certificate}" if self.certificate else "its certificate was not kept"
        proved = f"the specification holds for every word{scope or ' of any length'}: this is proved{of}"
        if self.unproved is not None:
            proved = (
                f"a random word{scope} violates the specification with probability {at_most(self.unproved)} at most: "
                f"of all other words, of any length, it is proved that they do not, without a sample{self.about}"
            )
        return [
            proved,
            f"it is assumed that the network is evaluated in {self.arithmetic}",
            f"{where}; its sha256 begins {self.sha256[:12]}",
        ]


class LengthProof(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Why no word up to a length is a violation, where they were not all asked: boxes of the states after each length.

    Words of one length are told apart by their last ``context`` letters and the specification's state before them. It
    is about every evaluation in ``arithmetic``, and without ``covers_reference`` about the weights read from a module.
    """

    context: Count
    arithmetic: str
    covers_reference: bool = True

    def sentence(self) -> str:
        """As the end of a claim."""
        of = about_weights(self.covers_reference)
        return f"this is proved{of}, by boxes of its states after each number of letters"


class PossibleWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words that could be violations, whatever the model says: the side of the specification that matters.

    ``mass`` is their probability, exactly. With confidence 1 − ``gamma`` one of them is a violation with probability
    below ``epsilon``, shown by ``samples`` of them; so a random word is with probability below the product. Without a
    sample ``epsilon`` is 1: the mass alone is the bound, for certain.
    """

    mass: float
    samples: Count
    epsilon: float
    gamma: float

    @property
    def bound(self) -> float:
        """What a random word is a violation with at most."""
        return self.mass * self.epsilon

    def sentence(self) -> str:
        """For a person, without capital and full stop."""
        if not self.samples:
            return f"a random word could be a violation with probability {self.mass:.3g}, whatever the model says"
        return (
            f"a random one of the words that could be violations (probability {self.mass:.3g}) is one with "
            f"probability below {self.epsilon:.3g}, with confidence {1 - self.gamma:.6g} ({self.samples} drawn), so a "
            f"random word is one with probability below {self.bound:.3g}"
        )


class Guarantee(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is known of words that were not looked at.

    With confidence 1 − ``gamma`` the probability of a violation is below ``epsilon``, shown by ``samples`` independent
    words of ``distribution``; and no word of at most ``exact_length`` letters is a violation, for certain. With
    ``proof`` no word at all is. Where something is assumed, all of this is about the words that count.
    """

    epsilon: float | None = None
    gamma: float | None = None
    samples: int = 0
    bound: str = "exact"
    possible: PossibleWords | None = None  # the same, of the words that could be violations
    hypothesis_epsilon: float | None = None  # P(R and H break the relation), where a round's own test was passed
    exact_length: int | None = None
    lengths: LengthProof | None = None  # what shows that, where the words were not all asked
    proof: bool = False  # it holds of all words, for certain
    invariant: ProofFacts | None = None  # what shows that, where the specification alone does not
    distribution: dict[str, Any] | None = None

    @property
    def error_probability(self) -> float:
        """The γ of the claim about violations that rests on a sample; 0 where none does."""
        if self.proof:
            return 0.0
        if self.epsilon is not None:
            return self.gamma or 0.0
        return self.possible.gamma if self.possible is not None and self.possible.samples else 0.0

    def sentences(self) -> list[str]:
        """The guarantee in words, a claim each, without capital and full stop."""
        scope = self.scope
        if self.proof and self.invariant is not None:
            return self.invariant.sentences(scope)
        if self.proof:
            return [f"no word{scope or ' at all'} violates the specification, for certain"]
        claims = [] if self.epsilon is not None or self.possible is None else [self.possible.sentence()]
        if self.invariant is not None:
            claims += self.invariant.sentences(scope)
        if self.exact_length is not None:
            which = "that counts and has" if scope else "of"
            why = "all were asked" if self.lengths is None else self.lengths.sentence()
            claims.append(f"no word {which} at most {self.exact_length} letters violates the specification, {why}")
        if self.epsilon is not None and self.gamma is not None:
            claims.append(
                f"a random word{scope} violates it with probability below {self.epsilon:.3g}, with confidence "
                f"{1 - self.gamma:.6g} ({self.samples} words, {self.bound} bound)"
            )
        return claims or ["nothing is known of words that were not asked"]

    @property
    def scope(self) -> str:
        """Which words it is about, as the end of "a word"; empty where it is about all."""
        return scope_of((self.distribution or {}).get("given"))

    def __str__(self) -> str:
        return "; ".join(self.sentences())


class Evaluation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who gave the answers that the claims rest on, and how far they were compared with the model's reference.

    ``words`` random words and ``searched_words`` that searches met were asked of both, and the answers were the same:
    with confidence 1 − ``gamma`` a random word gets another answer from the reference with probability below
    ``epsilon``. ``reference`` is None where the reference itself gave all answers.
    """

    evaluator: str
    reference: str | None = None
    words: Count = 0
    searched_words: Count = 0
    epsilon: float | None = None
    gamma: float | None = None
    exact_length: int | None = None  # up to so many letters the reference was asked for every word
    largest_difference: float | None = None  # of the scores of words that were asked of both

    def sentence(self) -> str:
        """For a person, without capital and full stop."""
        if self.reference is None:
            return f"every answer is the model's own ({self.evaluator})"
        told = f"answers are those of the fast evaluator ({self.evaluator})"
        if self.exact_length is not None and self.epsilon is None:
            return f"{told}; the reference ({self.reference}) was asked for {self._every()}"
        if self.epsilon is None or self.gamma is None:
            return f"{told}; there was no time to compare them with the reference ({self.reference})"
        return (
            f"{told}; the reference ({self.reference}) gave the same for {self.words} random words and "
            f"{self.searched_words} that searches met, so it differs on a random word with probability below "
            f"{self.epsilon:.3g}, with confidence {1 - self.gamma:.6g}{self._exactly()}"
        )

    def _exactly(self) -> str:
        return "" if self.exact_length is None else f"; it was asked for {self._every()}"

    def _every(self) -> str:
        return f"every word of at most {self.exact_length} letters"


class Searched(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How far violations were looked for beyond random words, or why they were not.

    Where the model only knows whole words, ``guided_steps`` are the letters of ``changed_words``. Loops of the
    property's automaton were repeated for ``loop_steps`` network steps, in words of up to ``loop_length`` letters.
    """

    guided_steps: Count = 0
    changed_words: Count = 0
    loop_steps: Count = 0
    loop_length: Count = 0
    exact_length: int | None = None
    reason: str | None = None

    def sentence(self) -> str:
        """For a person, without capital and full stop."""
        parts = []
        if self.changed_words:
            parts.append(f"{self.changed_words} changed random words were asked ({self.guided_steps} network steps)")
        elif self.guided_steps:
            parts.append(f"promising words were followed for {self.guided_steps} network steps")
        if self.loop_steps:
            parts.append(
                f"loops of the property were repeated in words of up to {self.loop_length} letters "
                f"({self.loop_steps} network steps)"
            )
        if self.exact_length is not None:
            parts.append(f"every word of at most {self.exact_length} letters was asked")
        if self.reason is not None:
            parts.append(self.reason)
        return "; ".join(parts)
