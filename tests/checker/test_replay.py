"""Replaying verdicts: honest documents are confirmed, and whatever is changed in one is found out or named as open."""

import copy
import dataclasses
import functools
import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rnncheck
from rnncheck import Spec, zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import all_words as universal
from rnncheck.checker import Replay, ReplaySettings, Status, replay
from rnncheck.checker.product_table import Table, first_broken, may_violate
from rnncheck.checker.word_tree import Reach
from rnncheck.cli import main
from rnncheck.errors import InputError, RnncheckError
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.network import Cell
from rnncheck.models.protocol import Model
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Relation
from rnncheck.search.flows import FlowSettings
from rnncheck.verification.methods import METHODS
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet
from support.networks import random_network
from support.strategies import all_words, dfas, far_enough

LETTERS = Alphabet(["a", "b"])
QUICK = {"epsilon": 0.02, "gamma": 0.05}
FLOWS = FlowSettings(pumps=30, min_hits=10, loops=2)
SETTINGS = VerifySettings(search_steps=5_000, max_states=40, flows=FLOWS)
Document = dict[str, Any]


@functools.cache
def zoo_model(name: str) -> Model:
    return rnncheck.load_model(zoo.path(name))


def interrupting(after: int) -> Callable[[object], None]:
    """A progress callback that behaves like a user who loses patience."""
    calls = itertools.count(1)

    def tell(_: object) -> None:
        if next(calls) == after:
            raise KeyboardInterrupt

    return tell


@functools.cache
def _honest(kind: str) -> tuple[str, Model]:
    """A verdict's JSON text and the model it is about."""
    faulty, good = zoo.entry("response-faulty-lstm"), zoo.entry("tomita4-gru")
    if kind == "violated":
        model, settings = zoo_model(faulty.name), VerifySettings(search_steps=20_000, flows=FLOWS, severity_samples=200)
        verdict = verify(model, faulty.spec(), settings=settings, **QUICK)
        assert verdict.faulty_flows
    elif kind == "undecided":
        model = zoo_model(good.name)
        verdict = verify(model, good.spec(), method="smc", progress=interrupting(3))
        assert verdict.guarantee is not None
    elif kind == "anything goes":
        model = zoo_model(good.name)
        verdict = verify(model, Spec.from_regex(".*", good.alphabet), method="smc", **QUICK)
    elif kind == "proof":
        model = zoo_model(good.name)
        spec = Spec.from_regex("!(0 0 0 1?)", good.alphabet)
        verdict = verify(model, spec, method="smc", settings=VerifySettings(exhaustive=9), **QUICK)
        assert verdict.guarantee.proof
    else:
        model = zoo_model(good.name)
        verdict = verify(model, good.spec(), method=kind, settings=SETTINGS, **QUICK)
    expected = kind if kind in ("violated", "undecided") else "satisfied"
    assert verdict.outcome.value == expected
    return verdict.to_json(), model


KINDS = ["violated", "smc", "pdv", "aamc", "auto", "undecided", "anything goes", "proof"]


def honest(kind: str) -> tuple[Document, Model]:
    text, model = _honest(kind)
    return json.loads(text), model


def replayed(document: Document, model: Model | None, **options: Any) -> Replay:
    return replay(json.dumps(document), model, ReplaySettings(**options))


def names(result: Replay, status: Status) -> set[str]:
    return {check.name for check in result.having(status)}


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_document_is_confirmed_by_its_model(kind: str) -> None:
    """Should confirm what was not touched, and say what it took on trust."""
    document, model = honest(kind)
    result = replayed(document, model)
    assert result.status is Status.CONFIRMED, result
    assert result.exit_code == 0
    assert names(result, Status.CONFIRMED) >= {"document", "specification", "model"}
    assert result.having(Status.UNCHECKED)


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_model_nothing_about_it_is_confirmed(kind: str) -> None:
    """Should stay undecided and name what the network would have to be asked."""
    document, _ = honest(kind)
    result = replayed(document, None)
    assert result.status is Status.OPEN, result
    assert result.exit_code == 3
    assert any("give --model" in check.seen for check in result.having(Status.OPEN))


def test_a_proof_by_the_specification_alone_needs_no_model() -> None:
    """Should confirm that no word can be a violation of a specification that accepts them all."""
    model = zoo_model("tomita4-gru")
    settings = VerifySettings(exhaustive=3)
    verdict = verify(model, Spec.from_regex(".*", model.alphabet), method="smc", settings=settings, **QUICK)
    assert verdict.guarantee.proof
    result = replayed(json.loads(verdict.to_json()), None)
    assert "proof" in names(result, Status.CONFIRMED)
    assert result.status is Status.CONFIRMED


@pytest.mark.parametrize("seed", [2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 1, 3))])
@pytest.mark.parametrize("relation", Relation)
def test_documents_of_random_networks_are_never_refuted(seed: int, relation: Relation) -> None:
    """Should refute nothing that any method says of networks nobody has trained."""
    model = CompiledNetwork(random_network(Cell.GRU, seed=seed, alphabet=LETTERS, hidden=(6,), scale=4.0))
    rng = np.random.default_rng(seed)
    spec = DFA(LETTERS, rng.integers(3, size=(3, 2)), rng.random(3) < 0.5)
    for method in METHODS:
        verdict = verify(model, spec, method=method, relation=relation, settings=SETTINGS, **QUICK)
        result = replayed(json.loads(verdict.to_json()), model)
        assert not result.having(Status.REFUTED), result
        if verdict.violated:
            assert result.status is Status.CONFIRMED, result


# Each case: the honest document, what is changed in it, and what must come of it with the model at hand.


def put(*path: Any, value: Any) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        place = document
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


def remove(*path: Any) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        place = document
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


def both(*changes: Callable[[Document], None]) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        for each in changes:
            each(document)

    return change


def of_flow(change: Callable[[dict[str, Any]], None]) -> Callable[[Document], None]:
    return lambda document: change(document["faulty_flows"][0])


def empty_hypothesis(document: Document) -> None:
    alphabet = document["alphabet"]
    automaton = {"schema": "rnncheck/dfa/1", "alphabet": alphabet, "initial": 0, "accepting": [],
                 "transitions": [[0] * len(alphabet)]}  # fmt: skip
    document["hypothesis"] = {"states": 1, "automaton": automaton}


def spec_with_other_acceptance(document: Document) -> None:
    automaton = document["spec"]["automaton"]
    states = range(len(automaton["transitions"]))
    automaton["accepting"] = [state for state in states if state not in automaton["accepting"]]


def spec_exchanged_with_its_digest(document: Document) -> None:
    """A specification that refuses everything, so that the digest is right and the claim is not."""
    alphabet = Alphabet(document["alphabet"])
    nothing = Spec.from_dfa(universal(alphabet).complement())
    verdict = verify(DFAModel(nothing.dfa), nothing, method="smc", **QUICK)
    document["spec"] = json.loads(verdict.to_json())["spec"]


def drop_first_hit(flow: dict[str, Any]) -> None:
    flow["violating_pumps"] = flow["violating_pumps"][1:]


def other_hits(flow: dict[str, Any]) -> None:
    """As many hits as before, and the last one further on: only the model can tell."""
    flow["pumps"] += 1
    flow["violating_pumps"] = [*flow["violating_pumps"][:-1], flow["pumps"]]
    flow["forever"], flow["settles_at"] = False, None


def settles_elsewhere(by: int) -> Callable[[Document], None]:
    def change(flow: dict[str, Any]) -> None:
        flow["settles_at"] += by

    return of_flow(change)


def without_the_asked_numbers(document: Document) -> None:
    document["settings"] = {}
    for name in ("asked_epsilon", "asked_gamma", "possible"):
        document["guarantee"].pop(name, None)


def satisfied(document: Document) -> None:
    document["verdict"] = "satisfied"


EMPTY_GUARANTEE = {"epsilon": None, "gamma": 0.05, "samples": 0, "bound": "exact", "distribution": None}

REFUTED = [
    # the verdict itself
    ("undecided", satisfied, "settings"),
    ("undecided", both(satisfied, put("settings", "epsilon", value=1e-5)), "settings"),
    ("undecided", both(satisfied, put("guarantee", "epsilon", value=5e-4)), "sample"),
    ("undecided", both(satisfied, put("guarantee", "proof", value=True)), "proof"),
    ("undecided", put("guarantee", "proof", value=True), "document"),
    ("violated", satisfied, "document"),
    ("violated", both(satisfied, put("counterexample", value=None)), "document"),
    ("violated", both(satisfied, put("guarantee", value=EMPTY_GUARANTEE)), "document"),
    ("violated", put("verdict", value="undecided"), "document"),
    ("violated", put("confirmed", value=False), "document"),
    ("violated", put("counterexample", value=None), "document"),
    ("violated", put("counterexample", value=["a", "b"]), "counterexample"),
    ("violated", put("counterexample", value=["a", "z"]), "document"),
    ("violated", put("guarantee", value=EMPTY_GUARANTEE), "document"),
    ("violated", put("relation", value="superset"), "counterexample"),
    ("violated", put("severity", "interval", value=[0.9, 0.95]), "severity"),
    ("violated", put("severity", "interval", value=[0.5, 0.1]), "severity"),
    ("violated", put("trace", "answers", 0, value=None), "trace"),
    ("violated", put("trace", "answers", 1, value=True), "trace"),
    ("violated", put("trace", "answers", value=[True]), "trace"),
    ("smc", put("verdict", value="violated"), "document"),
    ("smc", put("confirmed", value=True), "document"),
    ("smc", put("counterexample", value=["0"]), "document"),
    ("smc", put("guarantee", value=None), "document"),
    ("smc", put("guarantee", "epsilon", value=None), "document"),
    # the numbers
    *((kind, put("guarantee", "proof", value=True), "proof") for kind in ("smc", "pdv", "aamc", "auto")),
    *((kind, put("guarantee", "exact_length", value=1000), "exact length") for kind in ("smc", "pdv", "auto")),
    ("smc", both(put("cost", "network_steps", value=10**400), put("guarantee", "exact_length", value=5000)),
     "exact length"),
    ("smc", put("guarantee", "exact_length", value=-1), "guarantee"),
    ("proof", put("guarantee", "proof", value="yes"), "guarantee"),
    *((kind, put("guarantee", "gamma", value=2), "guarantee") for kind in ("smc", "pdv", "undecided")),
    ("smc", put("guarantee", "gamma", value=0.5), "gamma"),
    ("smc", both(put("guarantee", "gamma", value=0.5), put("guarantee", "samples", value=36)), "gamma"),
    ("smc", both(put("guarantee", "samples", value=-5), put("guarantee", "epsilon", value=0)), "guarantee"),
    ("smc", put("guarantee", "samples", value=0), "guarantee"),
    ("smc", put("guarantee", "samples", value=10**400), "guarantee"),
    ("smc", put("guarantee", "samples", value="many"), "guarantee"),
    ("smc", put("guarantee", "epsilon", value=1e-4), "sample"),
    ("smc", put("guarantee", "epsilon", value=0.5), "settings"),
    ("smc", put("guarantee", "bound", value="magic"), "guarantee"),
    ("smc", put("guarantee", "bound", value="hoeffding"), "bound"),
    ("pdv", both(put("guarantee", "samples", value=10**6), put("guarantee", "epsilon", value=1e-5)), "history"),
    ("pdv", put("guarantee", "hypothesis_epsilon", value=1e-9), "hypothesis test"),
    ("aamc", put("guarantee", "hypothesis_epsilon", value=1e-9), "hypothesis test"),
    ("pdv", put("guarantee", "hypothesis_epsilon", value=0.3), "settings"),
    ("pdv", put("guarantee", "hypothesis_epsilon", value=None), "document"),
    ("smc", put("guarantee", "hypothesis_epsilon", value=0.3), "document"),
    ("smc", put("guarantee", "claim", value="everything"), "guarantee"),  # there is no such field
    ("smc", put("settings", "epsilon", value=7.0), "settings"),
    ("smc", put("settings", "epsilon", value=1e-5), "settings"),
    # the distribution
    ("smc", put("guarantee", "distribution", "stop", value=0.5), "distribution"),
    ("smc", put("guarantee", "distribution", value=None), "distribution"),
    ("smc", both(*(put(at, "distribution", "stop", value=7) for at in ("guarantee", "settings"))), "distribution"),
    ("smc", both(*(put(at, "distribution", "weights", value={"z": 1}) for at in ("guarantee", "settings"))),
     "distribution"),
    # the automata
    *((kind, spec_with_other_acceptance, "specification") for kind in KINDS),
    *((kind, put("spec", "automaton", "transitions", 0, 0, value=-1), "specification") for kind in KINDS),
    ("smc", put("spec", "automaton", "transitions", 0, value=[]), "specification"),
    ("smc", put("spec", "states", value=77), "specification"),
    ("smc", put("spec", "automaton", "alphabet", value=["x", "y"]), "specification"),
    ("smc", put("spec", "sha256", value="0" * 64), "specification"),
    ("smc", spec_exchanged_with_its_digest, "fresh words"),
    ("violated", remove("spec", "automaton"), "document"),
    ("pdv", put("hypothesis", "automaton", "transitions", 0, 0, value=-1), "hypothesis"),
    ("pdv", put("hypothesis", "automaton", "accepting", value=[99]), "hypothesis"),
    ("pdv", put("hypothesis", value=None), "document"),
    ("pdv", remove("hypothesis", "automaton"), "document"),
    ("pdv", empty_hypothesis, "fresh words, hypothesis"),
    ("aamc", empty_hypothesis, "fresh words, hypothesis"),
    ("smc", empty_hypothesis, "document"),
    ("anything goes", put("relation", value="superset"), "fresh words"),
    ("anything goes", put("relation", value="equal"), "fresh words"),
    # the model
    ("smc", put("model", "threshold", value=0.9), "model"),
    ("smc", put("alphabet", value=["1", "0"]), "model"),
    ("smc", put("alphabet", value=["0", "0"]), "alphabet"),
    # the flows
    ("violated", of_flow(drop_first_hit), "faulty flow"),
    ("violated", of_flow(other_hits), "faulty flow"),
    ("violated", of_flow(put("violating_pumps", value=[0, 1])), "faulty flow"),
    ("violated", of_flow(put("hits", value=10**9)), "faulty flow"),
    ("violated", of_flow(put("pumps", value=-3)), "faulty flow"),
    ("violated", of_flow(put("hits", value="all")), "faulty flow"),
    ("violated", of_flow(put("loop", value=[])), "faulty flow"),
    ("violated", of_flow(put("loop", value=["z"])), "faulty flow"),
    ("violated", of_flow(put("suffix", value=["b"])), "faulty flow"),
    ("violated", of_flow(put("settles_at", value=None)), "faulty flow"),
    ("violated", of_flow(put("forever", value=False)), "settling"),
]  # fmt: skip

OPEN = [
    ("violated", settles_elsewhere(1), "settling"),
    ("violated", settles_elsewhere(-20), "settling"),
    ("violated", of_flow(put("settles_at", value=10**9)), "settling"),
    ("violated", of_flow(both(put("pumps", value=10**9), put("forever", value=False))), "faulty flow"),
    ("violated", remove("spec", "sha256"), "specification"),
    ("violated", remove("model", "sha256"), "model"),
    ("violated", put("settings", value={}), "fresh words"),
    ("smc", remove("spec", "automaton"), "specification"),
    ("smc", remove("spec", "sha256"), "specification"),
    ("smc", without_the_asked_numbers, "settings"),
    ("smc", both(put("cost", "network_steps", value=10**30), put("guarantee", "exact_length", value=40)),
     "exact length"),
    ("smc", both(put("cost", "network_steps", value=10**400), put("guarantee", "exact_length", value=10**400)),
     "exact length"),
    ("smc", put("method", value="divination"), "method"),
    ("smc", both(*(put(at, "distribution", "kind", value="dice") for at in ("guarantee", "settings"))), "fresh words"),
    ("undecided", put("guarantee", value=None), "guarantee"),
]  # fmt: skip


def numbered(cases: list[Any]) -> list[Any]:
    return [pytest.param(*case, id=f"{number}-{case[0]}-{case[2]}") for number, case in enumerate(cases)]


@pytest.mark.parametrize(("kind", "tamper", "name"), numbered(REFUTED))
def test_a_tampered_document_is_refuted(kind: str, tamper: Callable[[Document], None], name: str) -> None:
    """Should refute what was changed, by the check that is there for it."""
    document, model = honest(kind)
    before = copy.deepcopy(document)
    tamper(document)
    assert document != before
    result = replayed(document, model, words=100)
    assert name in names(result, Status.REFUTED), result
    assert result.exit_code == 1


@pytest.mark.parametrize(("kind", "tamper", "name"), numbered(OPEN))
def test_what_cannot_be_settled_is_named_and_not_confirmed(
    kind: str, tamper: Callable[[Document], None], name: str
) -> None:
    """Should say what stays open where a change cannot be distinguished from an honest document."""
    document, model = honest(kind)
    before = copy.deepcopy(document)
    tamper(document)
    assert document != before
    result = replayed(document, model)
    assert name in names(result, Status.OPEN), result
    assert result.exit_code == 3


@pytest.mark.parametrize(("kind", "tamper", "name"), numbered(REFUTED + OPEN))
def test_no_tampering_is_confirmed_without_the_model(kind: str, tamper: Callable[[Document], None], name: str) -> None:
    """Should exit with something else than 0 for every change, the model absent."""
    document, _ = honest(kind)
    tamper(document)
    assert replayed(document, None).exit_code in (1, 3)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(leaf for step, each in inner for leaf in leaves(each, (*path, step)))]


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([10**30, -(10**30), 0.0, 1e-320, "", "a", [], {}, [[]], [None]]),
)


@settings(max_examples=30)
@given(data=st.data(), kind=st.sampled_from(["violated", "pdv", "auto", "undecided"]), value=SCALARS)
def test_whatever_stands_anywhere_there_is_an_answer(data: st.DataObject, kind: str, value: Any) -> None:
    """Should read any document to its end, or refuse it on purpose; never fall over."""
    document, model = honest(kind)
    path = data.draw(st.sampled_from(leaves(document)[1:]))
    put(*path, value=value)(document)
    try:
        result = replayed(document, model, words=20, steps=20_000)
    except RnncheckError:
        return
    assert result.exit_code in (0, 1, 3)


NEWER = ("severity", "trace", "history", "settings", "command")


@pytest.mark.parametrize(("kind", "code"), [("violated", 0), ("proof", 0), ("smc", 3), ("undecided", 3)])
def test_documents_of_earlier_versions_are_read(kind: str, code: int) -> None:
    """Should do without later fields: a counterexample needs none of them, and a sample does not say what was asked."""
    document, model = honest(kind)
    for name in NEWER:
        document.pop(name, None)
    for name in ("asked_epsilon", "asked_gamma"):
        (document["guarantee"] or {}).pop(name, None)
    for flow in document["faulty_flows"]:
        del flow["scores"]
    result = replayed(document, model)
    assert not result.having(Status.REFUTED), result
    assert result.exit_code == code


def test_another_network_is_an_error_that_names_both_digests() -> None:
    """Its answers say nothing about the verdict, which may well be right: it is not refuted."""
    document, model = honest("smc")
    other = CompiledNetwork(random_network(Cell.GRU, seed=1, alphabet=zoo.entry("tomita4-gru").alphabet))
    digests = [str(each.describe()["sha256"]) for each in (model, other)]
    with pytest.raises(InputError, match=f"{digests[0]}.*{digests[1]}.*give that model"):
        replayed(document, other)
    document["model"]["sha256"] = "0" * 64
    with pytest.raises(InputError, match=f"{'0' * 64}.*{digests[0]}"):
        replayed(document, model)


def test_a_model_without_a_digest_is_not_the_one_with() -> None:
    document, _ = honest("smc")
    with pytest.raises(InputError, match="this one has no digest"):
        replayed(document, DFAModel(zoo.entry("tomita4-gru").spec().dfa))


def test_another_threshold_is_named_with_its_option() -> None:
    """The digest has the threshold in it, and the file may well be the right one."""
    document, _ = honest("smc")
    network = dataclasses.replace(zoo.entry("tomita4-gru").network(), threshold=0.75)
    with pytest.raises(InputError, match=r"threshold is 0\.75 here and 0\.5 in the document; give --threshold"):
        replayed(document, CompiledNetwork(network))


def test_violations_that_the_claim_leaves_room_for_are_shown_and_not_confirmed() -> None:
    """Should neither refute an honest sample nor call a property satisfied that a fresh word breaks."""
    rare = Spec.from_regex("a a a .*", LETTERS).dfa  # one word in eight or so
    nothing = universal(LETTERS).complement()
    document = json.loads(verify(DFAModel(nothing), nothing, method="smc", epsilon=0.3, gamma=0.3).to_json())
    document["guarantee"]["epsilon"] = 0.3
    result = replayed(document, DFAModel(rare))
    assert "fresh words" in names(result, Status.OPEN)
    assert "fresh words" not in names(result, Status.REFUTED)
    document["guarantee"]["epsilon"] = document["settings"]["epsilon"] = 0.05
    document["guarantee"]["samples"] = 10_000
    assert "fresh words" in names(replayed(document, DFAModel(rare)), Status.REFUTED)


def test_as_many_fresh_words_leave_nothing_to_be_believed_about_the_sample() -> None:
    """Should list the size of the sample as not checked, unless as many words were drawn again."""
    document, model = honest("smc")
    samples = document["guarantee"]["samples"]
    assert "sample size" in names(replayed(document, model, words=samples - 1), Status.UNCHECKED)
    assert "sample size" not in names(replayed(document, model, words=samples), Status.UNCHECKED)
    assert "fresh words" in names(replayed(document, model, words=0), Status.OPEN)


def test_steps_bound_what_is_walked() -> None:
    """Should leave an exact length open where walking it costs more steps than allowed."""
    document, model = honest("auto")
    assert "exact length" in names(replayed(document, model), Status.CONFIRMED)
    assert "exact length" in names(replayed(document, model, steps=100), Status.OPEN)


def test_words_like_those_of_a_file_are_drawn_again_from_that_file() -> None:
    """Should need the words that the distribution was fitted to, and no others."""
    entry = zoo.entry("tomita4-gru")
    model = zoo_model(entry.name)
    words = (("0", "1"), ("1", "1", "0"), ())
    like = WordDistribution.fit(entry.alphabet, words, order=2)
    document = json.loads(verify(model, entry.spec(), method="smc", distribution=like, **QUICK).to_json())
    assert "--words-like" in replayed(document, model).having(Status.OPEN)[0].seen
    assert replayed(document, model, words_like=words).status is Status.CONFIRMED
    assert replayed(document, model, words_like=words[:2]).status is Status.OPEN


def test_a_callable_is_replayed_though_it_has_no_digest() -> None:
    """Should confirm verdicts on whole-word models, the exact length among them."""
    model = CallableModel(lambda words: [word.count("a") % 2 == 0 for word in words], LETTERS)
    settings = VerifySettings(exhaustive=4)
    verdict = verify(model, Spec.from_regex("(b* a b* a)* b*", LETTERS), method="smc", settings=settings, **QUICK)
    result = replayed(json.loads(verdict.to_json()), model)
    assert result.status is Status.CONFIRMED, result
    assert "exact length" in names(result, Status.CONFIRMED)
    assert "model" in names(result, Status.UNCHECKED)
    wrong = CallableModel(lambda words: [word == ("a", "b") for word in words], LETTERS)
    assert "exact length" in names(replayed(json.loads(verdict.to_json()), wrong), Status.REFUTED)


def test_settings_that_make_no_sense_are_named() -> None:
    with pytest.raises(InputError, match="words -1"):
        ReplaySettings(words=-1)


# Tables against brute force.


def table_of(dfa: DFA) -> Table:
    return Table(dfa.transitions.tolist(), dfa.initial, frozenset(np.flatnonzero(dfa.accepting).tolist()))


@given(dfa=dfas())
def test_the_digest_is_that_of_the_specification(dfa: DFA) -> None:
    """Should recompute the digest from the document's automaton, whatever the order of letters there."""
    spec = Spec.from_dfa(dfa)
    over = spec.over(Alphabet(reversed(dfa.alphabet.letters)))
    assert table_of(over.dfa).digest(over.alphabet.letters) == spec.sha256()


@given(first=dfas(alphabet=LETTERS), second=dfas(alphabet=LETTERS), relation=st.sampled_from(list(Relation)))
def test_the_first_broken_word_is_a_shortest_one(first: DFA, second: DFA, relation: Relation) -> None:
    """Should find a word that breaks the relation exactly where there is one, and none that is longer than needed."""
    word = first_broken(table_of(first), table_of(second), relation.value)
    expected = relation.witness(first, second)
    assert (word is None) == (expected is None)
    if word is not None:
        assert len(word) == len(expected)
        assert table_of(second).breaks(relation.value, word, table_of(first).accepts(word))


@given(dfa=dfas(alphabet=LETTERS), relation=st.sampled_from(list(Relation)), length=st.integers(0, 7))
def test_the_words_to_query_are_counted_before_they_are_asked(dfa: DFA, relation: Relation, length: int) -> None:
    """Should count the prefixes of all words up to a length that can be violations."""
    reach = Reach.of(table_of(dfa), relation.value)
    words = [word for word in all_words(LETTERS, length) if may_violate(relation.value, dfa.accepts(word))]
    prefixes = {word[:end] for word in words for end in range(1, len(word) + 1)}
    assert reach.words_to_query(length, at_most=10**9) == len(prefixes)


@given(dfa=dfas(alphabet=LETTERS, max_states=5), relation=st.sampled_from(list(Relation)))
def test_the_longest_possible_violation(dfa: DFA, relation: Relation) -> None:
    """Should know the longest word that can be a violation, and when there is no longest one."""
    longest = Reach.of(table_of(dfa), relation.value).longest()
    lengths = [len(word) for word in all_words(LETTERS, 2 * len(dfa)) if may_violate(relation.value, dfa.accepts(word))]
    if max(lengths, default=-1) >= len(dfa):
        assert longest is None
    else:
        assert longest == max(lengths, default=-1)


@given(model=dfas(alphabet=LETTERS), spec=dfas(alphabet=LETTERS), relation=st.sampled_from(list(Relation)))
@settings(max_examples=30)
def test_walking_the_tree_finds_a_violation_exactly_where_there_is_one(
    model: DFA, spec: DFA, relation: Relation
) -> None:
    """Should agree with trying all words, stepping or not."""
    length = far_enough(LETTERS) - 2
    words = list(all_words(LETTERS, length))
    wrong = relation.broken(model.accepts_batch(words), spec.accepts_batch(words)).any()
    document = json.loads(verify(DFAModel(spec), spec, method="smc", relation=relation, **QUICK).to_json())
    document["guarantee"]["exact_length"] = length
    document["cost"]["network_steps"] = 10**6
    for asked in (DFAModel(model), CallableModel(model.accepts_batch, LETTERS)):
        checks = [check for check in replayed(document, asked, words=1).checks if check.name == "exact length"]
        assert [check.status for check in checks] == [Status.REFUTED if wrong else Status.CONFIRMED]


@pytest.mark.parametrize("states", [0, 3])
def test_a_table_must_be_whole(states: int) -> None:
    document, _ = honest("smc")
    document["spec"] |= {"states": states, "automaton": {**document["spec"]["automaton"], "transitions": []}}
    assert "specification" in names(replayed(document, None), Status.REFUTED)


# The command.


@pytest.fixture
def command(capsys):
    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(["replay", *map(str, arguments)])
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return call


@pytest.mark.parametrize("kind", ["violated", "auto"])
def test_the_command_tells_what_it_checked(command, tmp_path, kind: str) -> None:
    """Should print one line for each claim, the result last, and exit by it."""
    path = tmp_path / "verdict.json"
    document, _ = honest(kind)
    path.write_text(json.dumps(document))
    name = {"violated": "response-faulty-lstm", "auto": "tomita4-gru"}[kind]
    code, out, err = command(path, "--model", zoo.path(name), "--words", 50, "--seed", 3)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].startswith("CONFIRMED: the verdict stands")
    assert "not checked\tspecification text" in out
    code, out, _ = command(path)
    assert code == 3
    assert out.splitlines()[-1].startswith("UNDECIDED: the verdict is open; claims that matter")
    document["confirmed"] = not document["confirmed"]
    path.write_text(json.dumps(document))
    code, out, _ = command(path, "--model", zoo.path(name))
    assert code == 1
    assert "REFUTED\tdocument" in out


def test_the_command_replays_a_module_over_the_letters_of_the_verdict(command, tmp_path, monkeypatch) -> None:
    """Should import the model as verify does, and need no --alphabet where the verdict has it."""
    (tmp_path / "even_letters.py").write_text("def model(words):\n    return [len(word) % 2 == 0 for word in words]\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        main(["verify", "--module", "even_letters:model", "--alphabet", "a,b", "--regex", "((a|b)(a|b))*", "--json",
              "verdict.json", "--epsilon", "0.02", "--gamma", "0.05", "--method", "pdv", "--quiet"])  # fmt: skip
    assert caught.value.code in (0, None)
    code, out, _ = command("verdict.json", "--module", "even_letters:model")
    assert code == 0, out
    code, out, _ = command("verdict.json", "--module", "even_letters:model", "--threshold", 0.7)
    assert code == 1
    assert "threshold is 0.7 here and 0.5 in the document" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "x", "--module", "y:z"], "not both"),
        (["--model", "absent.safetensors"], "absent.safetensors"),
        (["--words-like", "absent.txt"], "no effect without --model"),
        (["--cell", "lstm"], "--cell"),
        (["--steps", "-1"], "--steps"),
    ],
)
def test_bad_usage_exits_with_2(command, tmp_path, arguments: list[str], message: str) -> None:
    path = tmp_path / "verdict.json"
    path.write_text(json.dumps(honest("smc")[0]))
    code, _, err = command(path, *arguments)
    assert code == 2
    assert message in err


def test_a_folder_is_no_verdict(command, tmp_path) -> None:
    code, _, err = command(tmp_path)
    assert code == 2
    assert "is a folder" in err


@pytest.mark.parametrize(
    ("mass", "why"),
    [([0, 0], "no sample shows a probability of 0"), ([0.5, 0.2], "not an interval"), ([-0.1, 0.5], "not an interval")],
)
def test_a_mass_that_no_sample_shows_is_refuted_without_the_model(mass: list[float], why: str) -> None:
    """Should not let 0 to 0 stand beside a counterexample."""
    model = DFAModel(Spec.from_regex("a*", LETTERS).dfa)
    verdict = verify(model, Spec.from_regex("(a a)*", LETTERS), **QUICK)
    document = {**json.loads(verdict.to_json()), "severity": {"interval": mass}}
    for asked in (None, model):
        result = replay(json.dumps(document), asked)
        assert result.status is Status.REFUTED
        assert any(check.name == "severity" and why in check.seen for check in result.having(Status.REFUTED))


def test_a_mass_below_the_counterexample_s_own_probability_is_refuted() -> None:
    """Should see that the word a alone, drawn with probability 0.4975 · 0.01, is more than what is claimed."""
    model = DFAModel(Spec.from_regex("a*", LETTERS).dfa)
    verdict = verify(model, Spec.from_regex("(a a)*", LETTERS), **QUICK)
    document = {**json.loads(verdict.to_json()), "severity": {"interval": [0.0, 0.0001]}}
    wrong = replay(json.dumps(document), model).having(Status.REFUTED)
    assert {check.name for check in wrong} == {"severity"}
    assert "the counterexample alone has 0.00495" in wrong[0].seen


def test_the_last_sentence_says_what_is_only_told() -> None:
    model = DFAModel(Spec.from_regex("(a a)*", LETTERS).dfa)
    verdict = verify(model, Spec.from_regex("a*", LETTERS), method="smc", **QUICK)
    few, all_of_them = (
        replay(verdict, model, ReplaySettings(words=words)) for words in (10, verdict.guarantee.samples)
    )
    assert few.sentence().endswith("; sample size not checked")
    assert "not checked" not in all_of_them.sentence()
    for result in (few, all_of_them, replay(verdict)):
        assert "everything" not in result.sentence()
