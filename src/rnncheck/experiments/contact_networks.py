"""The subjects of the paper's Table 2: networks that should recognise time-respecting paths of a temporal network.

The specification is weaker than what the network was trained on: it allows every path of the contact graph, whatever
the times. A counterexample is a path over a contact that never happened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.contacts import (
    BreakKind,
    ContactWords,
    DatasetSettings,
    SyntheticSettings,
    TemporalNetwork,
    contact_dataset,
    explain_path,
    graph_automaton,
    parse_columns,
    read_contacts,
    synthetic_contacts,
    time_automaton,
)
from rnncheck.contacts.contact_files import SelfContacts
from rnncheck.contacts.dataset import ONE_BREAK
from rnncheck.errors import InputError, RnncheckError, StateLimitError, short_repr
from rnncheck.experiments.folder import safe_name
from rnncheck.experiments.released_networks import ReleasedNetworks
from rnncheck.experiments.subjects import Recipe, Subject
from rnncheck.models.network import Cell
from rnncheck.training import LabelledWords, TrainingData, TrainingSettings, train

_VALIDATION = 0.1  # of the training words, to decide when training ends; the test words only measure
_SYNTHETIC = "synthetic"
_MOST_TARGET_CELLS = 20_000_000  # of an automaton's table, 4 bytes each
_DATA, _CONTACTS = range(2)  # what random numbers are for

# By the paper's recipe. A network learns 20 000 words by heart and answers others worse; drawing more costs nothing.
# With this many words few epochs are enough, one without progress lowers the rate, and beginning with the short
# ones would be to learn those by heart.
_WORDS = 300_000  # the authors' code: four a contact, 100 000 to 313 000
_LARGE_EPOCHS: Mapping[str, Any] = {
    "batch_size": 256,
    "embedding": 64,
    "patience": 1,
    "hold": 1,
    "first_length": DatasetSettings.longest,
}

# What the paper calls the data sets, by the names of the public files and of the released networks.
_CASES = {
    "scc2034_kilifi_all_contacts_across_households": "Across Kenyan Household",
    "scc2034_kilifi_all_contacts_within_households": "Within Kenyan Household",
    "tij_InVS": "Workplace",
    "tij_InVS15": "Workplace 2015",
    "highschool_2011": "Highschool 2011",
    "detailed_list_of_contacts_Hospital": "Hospital",
    "tij_SFHH": "Conference",
    "kenyan-across": "Across Kenyan Household",
    "highschool-2011": "Highschool 2011",
    "hospital": "Hospital",
}


class ContactNetworks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A network for each file of contacts; with ``synthetic``, for made-up contacts instead.

    With |V| people it has max(|V|, 100) dimensions and ⌊2 + |V| / 100⌋ layers by default, as in the paper.

    By the ``recipe`` "ours" a broken path breaks at one place, and a network learns from every prefix. By the paper's
    (its authors' code) every step of a broken path may break, a word has one label, and each person is a vector that is
    learned with the rest.
    """

    files: tuple[str, ...] = ()
    synthetic: bool = False
    people: int = 30
    columns: str | None = None  # what the columns of the files are, where that is not found from them
    self_contacts: SelfContacts = "auto"
    words: int | None = None  # training words; without it two for every contact, or 300 000 by the paper's recipe
    cell: str = "lstm"
    hidden: int | None = None
    layers: int | None = None
    target_accuracy: float = 0.99
    min_accuracy: float = 0.0  # of the test words; a network that is not above it is not verified
    training_seconds: float = 1800.0
    strict: bool = False  # whether times must increase along a path
    recipe: Recipe = "ours"
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.0 <= self.min_accuracy < 1.0:
            raise InputError(f"min_accuracy {self.min_accuracy} is not at least 0 and below 1")
        if bool(self.files) == self.synthetic:
            raise InputError("give files of contacts, or ask for synthetic ones, and not both")
        stems = [Path(file).stem for file in self.files]
        twice = [stem for stem in stems if stems.count(stem) > 1]
        if twice:
            raise InputError(
                f"two of the files have the same name, {short_repr(twice[0])}, by which a run distinguishes "
                "its networks; rename one, or leave it out"
            )
        # What is wrong is better known before a folder is begun than after.
        SyntheticSettings(people=self.people)
        DatasetSettings(train=self.words, strict=self.strict)
        self._settings(1)
        if self.columns is not None:
            parse_columns(self.columns)

    def names(self) -> Sequence[str]:
        return [_SYNTHETIC] if self.synthetic else [safe_name(Path(file).stem) for file in self.files]

    def make(self, name: str, checkpoint: str | None) -> Subject:
        contacts = self.contacts(name)
        size = len(contacts.people)
        settings = self._settings(size)
        trained = train(
            self._data(contacts),
            settings=settings,
            checkpoint=checkpoint,
            resume=checkpoint is not None and Path(checkpoint).exists(),
        )
        accuracy = trained.report.test_accuracy
        if accuracy <= self.min_accuracy > 0.0:
            raise InputError(
                f"{name}: {accuracy:.3f} of the test words are answered rightly, and more than {self.min_accuracy} is "
                "asked for; allow more training (--train-seconds, --words), or less accuracy (--min-accuracy)"
            )
        facts = {
            "case": case_of(name if self.synthetic else Path(self._file(name)).stem),
            "people": size,
            "contacts": len(contacts),
            "cell": self.cell,
            "hidden": settings.hidden,
            "layers": settings.layers,
            "accuracy": accuracy,
            "recipe": self.recipe,
            "training_seconds": trained.report.seconds,
        }
        return Subject(trained.network, {"graph": graph_automaton(contacts)}, facts)

    def contacts(self, name: str) -> TemporalNetwork:
        """The temporal network of a subject."""
        if self.synthetic:
            return synthetic_contacts(self._rng(_CONTACTS), SyntheticSettings(people=self.people))
        columns = None if self.columns is None else parse_columns(self.columns)
        return read_contacts(self._file(name), columns=columns, self_contacts=self.self_contacts)

    def _file(self, name: str) -> str:
        return self.files[self.names().index(name)]

    def _settings(self, people: int) -> TrainingSettings:
        return TrainingSettings(
            cell=Cell(self.cell),
            hidden=self.hidden or max(people, 100),
            layers=self.layers or 2 + people // 100,
            target_accuracy=self.target_accuracy,
            timeout=self.training_seconds,
            seed=self.seed,
            **(_LARGE_EPOCHS if self.recipe == "paper" else {}),
        )

    def _data(self, contacts: TemporalNetwork) -> TrainingData:
        rng = self._rng(_DATA)
        kinds, usual = (ONE_BREAK, None) if self.recipe == "ours" else ((BreakKind.MANY,), _WORDS)
        settings = DatasetSettings(train=self.words or usual, strict=self.strict, kinds=kinds)
        drawn = contact_dataset(contacts, rng, settings)
        words = _labelled(drawn.train)
        order = rng.permutation(len(words))
        held = max(1, round(_VALIDATION * len(words)))
        facts = {"people": len(contacts.people), "contacts": len(contacts), "broken": drawn.broken}
        training, held_out = words.take(order[held:]), words.take(order[:held])
        target = self._target(contacts) if self.recipe == "ours" else None
        return TrainingData(training, held_out, _labelled(drawn.test), target=target, facts=facts)

    def _target(self, contacts: TemporalNetwork) -> DFA | None:
        """The automaton of time-respecting paths, unless it is too large.

        A path is wrong from where it first breaks. The automaton knows that place, so a network learns from every
        prefix, and needs far fewer words than with one label per word.
        """
        try:
            return time_automaton(contacts, strict=self.strict, max_states=_MOST_TARGET_CELLS // len(contacts.people))
        except StateLimitError:
            return None

    def _rng(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, purpose])


class ReleasedContactNetworks(ReleasedNetworks, frozen=True, forbid_unknown_fields=True):
    """Contact networks that exist already, named as in the paper where they are its own.

    ``files`` are contacts, to say what counterexamples mean; a network's is the one of its name, or the paper's for it.
    """

    files: tuple[str, ...] = ()

    def make(self, name: str, checkpoint: str | None) -> Subject:
        subject = super().make(name, checkpoint)
        facts = {**subject.facts, "case": case_of(self.folder_of(name).name), "people": len(subject.network.alphabet)}
        return Subject(subject.network, subject.specs, facts)

    def contacts(self, name: str) -> TemporalNetwork:
        """The temporal network behind a subject."""
        case = case_of(self.folder_of(name).name)
        for file in self.files:
            if case_of(Path(file).stem) == case:
                return read_contacts(file)
        raise InputError(f"none of the files of contacts belongs to {case}")


def case_of(name: str) -> str:
    """What the paper calls a data set, or its own name."""
    return _CASES.get(name, name)


def contact_files(path: str | Path) -> tuple[str, ...]:
    """The file itself, or all files of a folder."""
    place = Path(path)
    files = sorted(place.glob("*.csv")) + sorted(place.glob("*.dat")) if place.is_dir() else [place]
    if not files:
        raise InputError(f"there are no .csv or .dat files in {place}; give the files themselves, or another folder")
    missing = [file for file in files if not file.is_file()]
    if missing:
        raise InputError(f"{missing[0]} is not a file of contacts, and no folder of such files")
    return tuple(str(file) for file in files)


def contacts_of(run_settings: Mapping[str, object], name: str) -> TemporalNetwork | None:
    """The contacts behind a subject of a run, where they are at hand."""
    source = run_settings.get("source")
    if not isinstance(source, dict):
        return None
    try:
        if "folder" in source:
            return msgspec.convert(source, ReleasedContactNetworks).contacts(name)
        return msgspec.convert(source, ContactNetworks).contacts(name)
    except (RnncheckError, ValueError):  # the file has gone or changed since, or there never was one
        return None


def explained(run_settings: Mapping[str, object], name: str, word: Sequence[str]) -> str | None:
    """What a counterexample means in words, where the contacts are at hand."""
    contacts = contacts_of(run_settings, name)
    try:
        return None if contacts is None else explain_path(contacts, word, strict=is_strict(run_settings))
    except RnncheckError:  # the file has changed since; the table stands without it
        return None


def is_strict(run_settings: Mapping[str, object]) -> bool:
    """Whether times must increase along the paths of a run."""
    source = run_settings.get("source")
    return isinstance(source, dict) and source.get("strict") is True


def _labelled(words: ContactWords) -> LabelledWords:
    return LabelledWords(words.alphabet, words.words, words.valid.astype(np.int64))
