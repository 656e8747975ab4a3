"""Small trained networks that come with rnncheck, each with a property and what is true of it.

They serve examples, tests and first tries. How each was made stands in ``README.md`` beside the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from rnncheck.errors import InputError, short_repr
from rnncheck.models.files.safetensors_file import load_network
from rnncheck.models.network import RecurrentNetwork
from rnncheck.spec import Spec
from rnncheck.words import Alphabet, Word

__all__ = ["Entry", "entries", "entry", "names", "path"]


@dataclass(frozen=True)
class Entry:
    """One network, its property (a formula, or else an expression), and whether L(R) ⊆ L(A).

    ``satisfied`` was tried, and where ``proved`` it is proved for every word, even L(R) = L(A): see the README. Where
    it is False, ``violation`` is a word that R accepts and A rejects.
    """

    name: str
    description: str
    alphabet: Alphabet
    satisfied: bool
    ltlf: str | None = None
    regex: str | None = None
    violation: Word | None = None
    proved: bool = False

    @property
    def path(self) -> Path:
        """The model file."""
        return Path(str(files(__package__) / f"{self.name}.safetensors"))

    @property
    def property_text(self) -> str:
        return self.ltlf or self.regex or ""

    @property
    def expected_verdict(self) -> str:
        return "satisfied" if self.satisfied else "violated"

    def network(self) -> RecurrentNetwork:
        return load_network(self.path)

    def spec(self) -> Spec:
        if self.ltlf is not None:
            return Spec.from_ltlf(self.ltlf, self.alphabet)
        return Spec.from_regex(self.property_text, self.alphabet)


_ENTRIES = (
    Entry(
        "response-lstm",
        "every request a is answered by a b later on",
        Alphabet(["a", "b", "c"]),
        satisfied=True,
        ltlf="G(a -> F b)",
    ),
    Entry(
        "response-faulty-lstm",
        "the same property, learned from short words alone: forgets a request while it reads c after c",
        Alphabet(["a", "b", "c"]),
        satisfied=False,
        ltlf="G(a -> F b)",
        violation=("a", *("c",) * 10),
    ),
    Entry(
        "tomita4-gru",
        "no three 0 in a row (Tomita's fourth grammar)",
        Alphabet(["0", "1"]),
        satisfied=True,
        regex="!(.* 0 0 0 .*)",
    ),
    Entry(
        "even-elman",
        "an even number of a",
        Alphabet(["a", "b"]),
        satisfied=True,
        regex="(b* a b* a)* b*",
    ),
    Entry(
        "xml-lstm",
        "a list of books, each with a title and at least one author",
        Alphabet(["<book>", "</book>", "<title>", "</title>", "<author>", "</author>", "text"]),
        satisfied=False,
        violation=("<book>", "<book>", "text", "</title>", "<author>", "text", "text", "text", "</author>", "</book>"),
        regex="('<book>' '<title>' text '</title>' ('<author>' text '</author>')+ '</book>')*",
    ),
    Entry(
        "tokens-gru",
        "three labels, decimal, integer (the one that means yes) and malformed: what a row of characters spells",
        Alphabet(["digit", "point", "sign"]),
        satisfied=True,
        regex="sign? digit+",
    ),
    Entry(
        "response-provable-lstm",
        "every request a is answered by a b later on, proved for every word",
        Alphabet(["a", "b", "c"]),
        satisfied=True,
        ltlf="G(a -> F b)",
        proved=True,
    ),
    Entry(
        "tomita4-provable-gru",
        "no three 0 in a row, proved for every word",
        Alphabet(["0", "1"]),
        satisfied=True,
        regex="!(.* 0 0 0 .*)",
        proved=True,
    ),
    Entry(
        "even-provable-elman",
        "an even number of a, proved for every word",
        Alphabet(["a", "b"]),
        satisfied=True,
        regex="(b* a b* a)* b*",
        proved=True,
    ),
)


def entries() -> tuple[Entry, ...]:
    """All networks, with what is known of them."""
    return _ENTRIES


def names() -> tuple[str, ...]:
    """The names of all networks."""
    return tuple(entry.name for entry in _ENTRIES)


def entry(name: str) -> Entry:
    """The network of this name."""
    for known in _ENTRIES:
        if known.name == name:
            return known
    raise InputError(f"no network is called {short_repr(name)}; there are {', '.join(names())}")


def path(name: str) -> Path:
    """The file of the network of this name."""
    return entry(name).path
