"""What is known about words that were not queried, which words that covers, and whose answers it rests on."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.errors import visible
from rnncheck.verdict.facts import Count


class AssumptionFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which words count: those of a language, where there is one, and of at most ``max_length`` letters.

    ``origin`` is the text or file of the language, ``sha256`` its digest. ``mass`` is the probability, under the
    distribution of all words, of a word that counts.
    """

    origin: str | None = None
    sha256: str | None = None
    states: int | None = None
    automaton: DFA | None = None
    max_length: Count | None = None
    mass: float

    def given(self) -> dict[str, Any]:
        """The entry that names it in the facts of the distribution of these words."""
        facts = {"assume": self.origin, "sha256": self.sha256, "max_length": self.max_length}
        return {name: value for name, value in facts.items() if value is not None}

    @property
    def scope(self) -> str:
        """As the end of "a word"."""
        return scope_of(self.given())

    def sentence(self) -> str:
        """In words, without capital and full stop."""
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
    """The assumption in the facts of a distribution, as the end of "a word"; empty where all words count."""
    if not isinstance(given, dict):
        return ""
    longest = given.get("max_length")
    length = f" of at most {longest} letters" if isinstance(longest, int) else ""
    return length + (" that satisfies the assumption" if "sha256" in given else "")


_LEAST_SHOWN = 1e-300  # of upper bounds of probabilities: floats hardly represent less


def at_most(probability: float) -> str:
    """An upper bound of a probability with a few digits, never rounded down."""
    if not 0.0 < probability < 1.0:
        return f"{probability:g}"
    probability = max(probability, _LEAST_SHOWN)
    digits = 2 - math.floor(math.log10(probability))
    return f"{math.ceil(probability * 10.0**digits) / 10.0**digits:.3g}"


class ShownBox(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A box of a proof in two directions, for pictures: bounds of the score, zero at the decision, and ``across`` it.

    It contains the states after words that end in ``letters``. ``open``: it reaches the decision where it must not.
    """

    score: tuple[float, float]
    across: tuple[float, float]
    letters: str
    open: bool = False


def about_weights(covers_reference: bool) -> str:
    """The subject of a proof, as the end of "proved"; empty where it is the model itself."""
    return "" if covers_reference else " for the weights read from the module"


class ProofFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The evidence of a proof for words of any length.

    It has ``boxes`` of network states, and covers every evaluation in ``arithmetic``. Without ``covers_reference`` it
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
        """The subject of the proof, as the end of "proved"; empty where it is the model itself."""
        return about_weights(self.covers_reference)

    def sentences(self, scope: str = "") -> list[str]:
        """One sentence per claim, without capital and full stop; ``scope`` names the words that count."""
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
    """Why no word up to a length is a violation, where not all were queried: boxes of the states after each length.

    Words of one length are distinguished by their last ``context`` letters and the specification's state before them.
    It covers every evaluation in ``arithmetic``; without ``covers_reference`` it is about the weights read from a
    module.
    """

    context: Count
    arithmetic: str
    covers_reference: bool = True

    def sentence(self) -> str:
        """The proof in words, as the end of a claim."""
        of = about_weights(self.covers_reference)
        return f"this is proved{of}, by boxes of its states after each number of letters"


class PossibleWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words that could be violations, for some answer of the model: the relevant side of the specification.

    ``mass`` is their exact probability. With confidence 1 − ``gamma`` one of them is a violation with probability below
    ``epsilon``, shown by ``samples`` of them; so a random word is one with probability below the product. Without a
    sample ``epsilon`` is 1, and the mass alone is a certain bound.
    """

    mass: float
    samples: Count
    epsilon: float
    gamma: float

    @property
    def bound(self) -> float:
        """The bound of the probability that a random word is a violation."""
        return self.mass * self.epsilon

    def sentence(self) -> str:
        """In words, without capital and full stop."""
        if not self.samples:
            return f"a random word could be a violation with probability {self.mass:.3g}, whatever the model answers"
        return (
            f"a word that could violate the specification (probability {self.mass:.3g}) does so with "
            f"probability below {at_most(self.epsilon)}, with confidence {1 - self.gamma:.6g} ({self.samples} drawn); "
            f"so a random word does with probability below {at_most(self.bound)}"
        )


class Guarantee(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is known about words that were not queried.

    With confidence 1 − ``gamma`` the probability of a violation is below ``epsilon``, shown by ``samples`` independent
    words of ``distribution``; and no word of at most ``exact_length`` letters is a violation, for certain. With
    ``proof`` no word at all is a violation. With an assumption, all of this is about the words that count.
    """

    epsilon: float | None = None
    gamma: float | None = None
    samples: int = 0
    bound: str = "exact"
    possible: PossibleWords | None = None  # the same, of the words that could be violations
    hypothesis_epsilon: float | None = None  # P(R and H break the relation), where a round's own test was passed
    exact_length: int | None = None
    lengths: LengthProof | None = None  # the evidence, where not all these words were queried
    proof: bool = False  # it holds for all words, for certain
    invariant: ProofFacts | None = None  # the evidence, where the specification alone is not enough
    distribution: dict[str, Any] | None = None

    @property
    def error_probability(self) -> float:
        """The γ of the claim about violations, if it rests on a sample; otherwise 0."""
        if self.proof:
            return 0.0
        if self.epsilon is not None:
            return self.gamma or 0.0
        return self.possible.gamma if self.possible is not None and self.possible.samples else 0.0

    def sentences(self) -> list[str]:
        """One sentence per claim, without capital and full stop."""
        scope = self.scope
        if self.proof and self.invariant is not None:
            of_module = [] if self.invariant.covers_reference else self._of_sample()
            return [*self.invariant.sentences(scope), *of_module]
        if self.proof:
            return [f"no word{scope or ' at all'} violates the specification, for certain"]
        claims = [] if self.epsilon is not None or self.possible is None else [self.possible.sentence()]
        if self.invariant is not None:
            claims += self.invariant.sentences(scope)
        if self.exact_length is not None:
            which = "that counts and has" if scope else "of"
            why = "all were queried" if self.lengths is None else self.lengths.sentence()
            claims.append(f"no word {which} at most {self.exact_length} letters violates the specification, {why}")
        claims += self._of_sample()
        return claims or ["nothing is known about words that were not queried"]

    def _of_sample(self) -> list[str]:
        if self.epsilon is None or self.gamma is None:
            return []
        claim = f"a random word{self.scope} violates it with probability below {at_most(self.epsilon)}"
        return [f"{claim}, with confidence {1 - self.gamma:.6g} ({self.samples} words, {self.bound} bound)"]

    @property
    def scope(self) -> str:
        """The words that it covers, as the end of "a word"; empty where it covers all."""
        return scope_of((self.distribution or {}).get("given"))

    def __str__(self) -> str:
        return "; ".join(self.sentences())


class Evaluation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The evaluator whose answers the claims rest on, and how far it was compared with the model's reference.

    Both gave the same answers to ``words`` random words and ``searched_words`` that searches found: with confidence 1 −
    ``gamma`` a random word gets another answer from the reference with probability below ``epsilon``. ``reference`` is
    None where the reference itself gave all answers.
    """

    evaluator: str
    reference: str | None = None
    words: Count = 0
    searched_words: Count = 0
    epsilon: float | None = None
    gamma: float | None = None
    exact_length: int | None = None  # the reference was queried for every word up to this length
    largest_difference: float | None = None  # of the scores of words that both were queried for

    def sentence(self) -> str:
        """In words, without capital and full stop."""
        if self.reference is None:
            return f"every answer is the model's own ({self.evaluator})"
        answers = f"answers are those of the fast evaluator ({self.evaluator})"
        if self.exact_length is not None and self.epsilon is None:
            return f"{answers}; the reference ({self.reference}) was queried for {self._every()}"
        if self.epsilon is None or self.gamma is None:
            return f"{answers}; there was no time to compare them with the reference ({self.reference})"
        return (
            f"{answers}; the reference ({self.reference}) gave the same for {self.words} random words and "
            f"{self.searched_words} that searches found, so it differs on a random word with probability below "
            f"{at_most(self.epsilon)}, with confidence {1 - self.gamma:.6g}{self._exactly()}"
        )

    def _exactly(self) -> str:
        return "" if self.exact_length is None else f"; it was queried for {self._every()}"

    def _every(self) -> str:
        return f"every word of at most {self.exact_length} letters"


class Searched(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How far the search for violations went beyond random words, or why it did not.

    For a black-box model ``guided_steps`` are the letters of ``changed_words``. Loops of the property's automaton were
    repeated for ``loop_steps`` network steps, in words of up to ``loop_length`` letters.
    """

    guided_steps: Count = 0
    changed_words: Count = 0
    loop_steps: Count = 0
    loop_length: Count = 0
    exact_length: int | None = None
    reason: str | None = None

    def sentence(self) -> str:
        """In words, without capital and full stop."""
        parts = []
        if self.changed_words:
            parts.append(f"{self.changed_words} changed random words were queried ({self.guided_steps} network steps)")
        elif self.guided_steps:
            parts.append(f"promising words were followed for {self.guided_steps} network steps")
        if self.loop_steps:
            parts.append(
                f"loops of the property were repeated in words of up to {self.loop_length} letters "
                f"({self.loop_steps} network steps)"
            )
        if self.exact_length is not None:
            parts.append(f"every word of at most {self.exact_length} letters was queried")
        if self.reason is not None:
            parts.append(self.reason)
        return "; ".join(parts)
