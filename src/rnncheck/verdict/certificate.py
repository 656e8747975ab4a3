"""The certificate of a proof: everything needed to check it, in one file.

For each class of words it has a box of network states. It is a proof when the boxes are closed under every letter, and
no box in which a violation would be visible reaches the network's decision. Checking that needs no search and no trust
in the code that found the boxes; ``replay`` does it with separate code.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.errors import FormatError, InputError, visible
from rnncheck.models.evaluator_assumption import FUNCTION_UNITS, UNIT
from rnncheck.relations import Relation
from rnncheck.verdict.value import decode_part, encode_part
from rnncheck.words import Alphabet, Word

_State = Annotated[int, msgspec.Meta(ge=0)]


class Arithmetic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is assumed of every evaluator of the network: docs/evaluator-assumption.md has it with its reasons.

    Every operation has a relative error of at most ``unit`` (2⁻²⁴: IEEE float32, or better), in any order of summation.
    The computed tanh and sigmoid are within ``tanh`` and ``sigmoid`` units of the exact values.
    """

    unit: float
    tanh: float
    sigmoid: float

    def sentence(self) -> str:
        """The assumption in words."""
        return (
            "float32 or float64 arithmetic (IEEE 754) in any order of summation, with tanh and sigmoid within "
            f"{max(self.tanh, self.sigmoid) * self.unit:.2g} of the exact values"
        )


ASSUMED = Arithmetic(UNIT, FUNCTION_UNITS, FUNCTION_UNITS)


class ProvedNetwork(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The network: the digest of everything that determines its answers, and its cell and sizes for readers."""

    sha256: str
    cell: str
    hidden: tuple[int, ...]


class ProofCell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A class of words, and bounds of all network states after them.

    ``state`` is the specification's state after them, ``successors`` their classes with one more letter: None where no
    violation can follow. ``letters`` are the last ones read, for readers. The numbers of a network state are h of every
    layer, then c of every layer. A class left open has neither successors nor bounds.

    Where it ``follows`` another class, it has no bounds: its states are the images of the other's states under one
    letter, and it is the successor of that class alone.
    """

    state: _State
    letters: Word
    successors: tuple[_State | None, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    follows: _State | msgspec.UnsetType = msgspec.UNSET


class Certificate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The proof that a network and a specification are in a relation, on every word of any length.

    The first of the ``cells`` is that of the empty word, on which the network's answer is ``accepts_empty``. ``sha256``
    is the digest of the document without it.

    A partial proof claims nothing about words that pass a class of ``left`` or end in one of ``undecided``; both are
    absent from a proof of every word.
    """

    schema: Literal["rnncheck/proof/1"] = "rnncheck/proof/1"
    relation: Relation
    alphabet: Alphabet
    network: ProvedNetwork
    spec: DFA
    ignored: tuple[_State, ...] = ()  # states of it whose words do not count
    origin: str | None = None  # the text or file of the specification
    accepts_empty: bool
    arithmetic: Arithmetic
    cells: tuple[ProofCell, ...]
    left: tuple[_State, ...] | msgspec.UnsetType = msgspec.UNSET
    undecided: tuple[_State, ...] | msgspec.UnsetType = msgspec.UNSET
    version: str = ""
    sha256: str = ""

    @property
    def of_a_part(self) -> bool:
        """Whether it leaves some words unproved."""
        return self.left is not msgspec.UNSET or self.undecided is not msgspec.UNSET

    @property
    def boxes(self) -> int:
        """The number of classes with their own box, or left open; the others follow those."""
        return sum(cell.follows is msgspec.UNSET for cell in self.cells)

    def sealed(self) -> Certificate:
        """The same with its digest."""
        bare = msgspec.json.encode(msgspec.structs.replace(self, sha256=""), enc_hook=encode_part)
        return msgspec.structs.replace(self, sha256=hashlib.sha256(bare).hexdigest())

    def to_json(self) -> str:
        """The JSON document, with one cell per line."""
        bare = msgspec.structs.replace(self, cells=())
        head, tail = _encoded(bare).split('"cells":[]')
        cells = ",\n".join(map(_encoded, self.cells))
        return f'{head}"cells":[\n{cells}\n]{tail}\n'

    @classmethod
    def from_json(cls, text: str | bytes, source: str = "certificate") -> Certificate:
        """The certificate in a JSON document; ``source`` names it in errors."""
        try:
            return msgspec.json.decode(text, type=cls, dec_hook=decode_part)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, InputError) as error:
            raise FormatError(f"not a certificate: {visible(str(error))}", source) from None


def is_certificate(text: str | bytes) -> bool:
    """Whether a document says, at its beginning, that it is a certificate."""
    head = text[:200] if isinstance(text, str) else text[:200].decode("utf-8", "replace")
    return '"schema":"rnncheck/proof/' in "".join(head.split())


def _encoded(value: object) -> str:
    return msgspec.json.encode(value, enc_hook=encode_part).decode()
