"""Two models side by side: brute force over all short words is the judge."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rnncheck
from rnncheck import zoo
from rnncheck.automata.product import symmetric_difference
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.exact_network import exact_network
from rnncheck.models.labelled import LabelledNetwork
from rnncheck.models.protocol import SteppingModel
from rnncheck.models.word_difference import difference
from rnncheck.relations import Relation
from rnncheck.verification.effort import SHORTER_STEPS
from rnncheck.words import Alphabet
from support.clocks import Ticking
from support.networks import random_network
from support.strategies import dfas

AB = ("a", "b")


def all_words(letters: Any, longest: int) -> list[tuple[str, ...]]:
    return [word for length in range(longest + 1) for word in itertools.product(letters, repeat=length)]


def breaks(relation: Relation, old: bool, new: bool) -> bool:
    return {"equal": old != new, "subset": new and not old, "superset": old and not new}[relation.value]


@given(st.data())
@settings(deadline=None, max_examples=25)
def test_it_says_yes_where_the_two_break_the_relation(data: Any) -> None:
    """Should agree with brute force, stepped and by whole words, whatever the order of the new one's letters."""
    old = data.draw(dfas(alphabet=Alphabet(list("abc")), max_states=4))
    new = data.draw(dfas(alphabet=Alphabet(list("cab")), max_states=4))
    relation = data.draw(st.sampled_from(list(Relation)))
    words = all_words("abc", 4)
    expected = [breaks(relation, old.accepts(word), new.accepts(word)) for word in words]
    network = rnncheck.CompiledNetwork(exact_network(new))
    for other in (
        rnncheck.DFAModel(new),
        network,
        rnncheck.wrap(lambda batch: [new.accepts(w) for w in batch], list("cab")),
    ):
        pair = difference(rnncheck.DFAModel(old), other, relation)
        assert isinstance(pair, SteppingModel) == isinstance(other, SteppingModel)
        assert pair.accepts_batch(words).tolist() == expected
        assert pair.by_reference().accepts_batch(words).tolist() == expected
        assert [pair.reference_answer(pair.alphabet.encode(word)) for word in words] == expected
        scores = pair.scores_batch(words)
        assert scores is None or [score > 0 for score in scores] == expected


@given(dfas(alphabet=Alphabet(list("ab")), max_states=4), dfas(alphabet=Alphabet(list("ab")), max_states=4))
@settings(deadline=None, max_examples=15)
def test_diff_finds_the_least_difference(old: Any, new: Any) -> None:
    verdict = rnncheck.diff(rnncheck.DFAModel(old), rnncheck.DFAModel(new), epsilon=0.05,
                            settings=rnncheck.VerifySettings(exhaustive=8, search_steps=1000))  # fmt: skip
    least = next((word for word in all_words("ab", 8) if old.accepts(word) != new.accepts(word)), None)
    assert verdict.violated == (least is not None)
    if verdict.counterexample is not None:
        assert least is not None
        assert len(verdict.counterexample) == len(least)
        assert verdict.comparison is not None
        assert verdict.comparison.old_said is not None
        yes = [old.accepts(verdict.counterexample[:length]) for length in range(len(least) + 1)]
        assert list(verdict.comparison.old_said) == ["yes" if answer else "no" for answer in yes]


def test_networks_that_differ_in_one_word_of_nine_letters() -> None:
    """Should find it, show that nothing is shorter, and be confirmed by a replay of both."""
    word = tuple("abbabaaba")
    language = rnncheck.Spec.from_regex("(a b* a | b)*", alphabet=AB).dfa
    one = rnncheck.Spec.from_regex(" ".join(word), alphabet=AB).dfa
    old, new = (rnncheck.CompiledNetwork(exact_network(dfa)) for dfa in (language, symmetric_difference(language, one)))
    verdict = rnncheck.diff(old, new, timeout=60)
    assert verdict.counterexample == word
    assert verdict.shortest
    assert verdict.exit_code == 1
    assert rnncheck.replay(verdict, new, against=old).exit_code == 0
    with pytest.raises(rnncheck.InputError, match="about the model with the sha256"):
        rnncheck.replay(verdict, old, against=old)
    with pytest.raises(rnncheck.InputError, match="against"):
        rnncheck.replay(verdict, new)


def rounded(network: rnncheck.RecurrentNetwork, kind: str) -> rnncheck.RecurrentNetwork:
    def change(array: Any) -> Any:
        if array is None:
            return None
        if kind == "float16":
            return array.astype(np.float16).astype(np.float32)
        unit = np.abs(array).max() / 7
        return (np.round(array / unit) * unit).astype(np.float32)

    layers = tuple(
        dataclasses.replace(
            layer, **{part.name: change(getattr(layer, part.name)) for part in dataclasses.fields(layer)}
        )
        for layer in network.layers
    )
    return dataclasses.replace(network, layers=layers, head_weight=change(network.head_weight))


def test_a_coarse_copy_differs_and_a_fine_one_does_not() -> None:
    network = zoo.entry("response-lstm").network()
    old = rnncheck.CompiledNetwork(network)
    fast = rnncheck.VerifySettings(search_steps=20_000, exhaustive=5)
    fine = rnncheck.diff(old, rnncheck.CompiledNetwork(rounded(network, "float16")), epsilon=0.01, settings=fast)
    assert fine.satisfied
    assert fine.exit_code == 0
    coarse = rnncheck.CompiledNetwork(rounded(network, "4 bits"))
    verdict = rnncheck.diff(old, coarse, epsilon=0.01, settings=fast, properties=[zoo.entry("response-lstm").spec()])
    assert verdict.violated
    assert verdict.counterexample is not None
    assert old.reference_answer(old.alphabet.encode(verdict.counterexample)) != coarse.reference_answer(
        coarse.alphabet.encode(verdict.counterexample)
    )
    assert verdict.severity is not None
    assert verdict.comparison is not None
    assert [change.old.value for change in verdict.comparison.properties] == ["satisfied"]
    assert rnncheck.Verdict.from_json(verdict.to_json()) == verdict


def test_labels_are_compared_by_what_is_said() -> None:
    """Should find a word with another label, though neither is the one that means yes."""
    path = zoo.path("tokens-gru")
    old = rnncheck.load_model(path, label="integer")
    assert isinstance(old, rnncheck.CompiledNetwork)
    network = old.network
    swap = [0, 2, 1] if network.label == 0 else [2, 1, 0] if network.label == 1 else [1, 0, 2]
    swapped = dataclasses.replace(network, head_weight=network.head_weight[swap], head_bias=network.head_bias[swap])
    new = rnncheck.CompiledNetwork(swapped)
    fast = rnncheck.VerifySettings(search_steps=1000)
    verdict = rnncheck.diff(old, new, epsilon=0.05, settings=fast)
    assert verdict.violated
    compared = verdict.comparison
    assert compared is not None
    assert compared.old_said is not None
    assert compared.new_said is not None
    assert compared.old_said[-1] != compared.new_said[-1]
    assert rnncheck.diff(old, new, epsilon=0.05, labels=False, settings=fast).satisfied
    assert network.labels is not None  # the same network with its labels in another order answers alike
    names = tuple(network.labels[place] for place in swap)
    renamed = rnncheck.CompiledNetwork(dataclasses.replace(swapped, labels=names))
    assert rnncheck.diff(old, renamed, epsilon=0.05, settings=fast).satisfied


def test_other_alphabets_are_refused_with_both_named() -> None:
    old, new = (rnncheck.wrap(lambda words: [True] * len(words), alphabet) for alphabet in (["a", "b"], ["a", "c"]))
    with pytest.raises(
        rnncheck.InputError, match=r"letter 'b' belongs to the old model \(a, b\) .* new model \(a, c\)"
    ):
        rnncheck.diff(old, new)
    with pytest.raises(rnncheck.InputError, match="the new model is 3"):
        rnncheck.diff(old, 3)


def test_a_difference_on_the_empty_word_is_told_with_its_remedy() -> None:
    old, new = (
        rnncheck.wrap(lambda words, yes=yes: [bool(word) or yes for word in words], AB) for yes in (True, False)
    )
    fast = rnncheck.VerifySettings(search_steps=1000)
    verdict = rnncheck.diff(old, new, epsilon=0.1, settings=fast)
    assert verdict.counterexample == ()
    assert "assume at least one letter" in verdict.health[-1].message
    rest = rnncheck.Spec.from_regex(". .*", alphabet=AB)
    assert rnncheck.diff(old, new, epsilon=0.1, settings=fast, assume=rest).satisfied


def test_only_words_that_count_are_compared() -> None:
    old = rnncheck.wrap(lambda words: [len(word) > 5 for word in words], AB)
    new = rnncheck.wrap(lambda words: [False] * len(words), AB)
    fast = rnncheck.VerifySettings(search_steps=1000)
    assert rnncheck.diff(old, new, max_length=5, epsilon=0.1, settings=fast).satisfied
    assert rnncheck.diff(old, new, max_length=6, epsilon=0.1, settings=fast).violated
    assume = rnncheck.Spec.from_regex("b{0,9}", alphabet=AB)
    assert rnncheck.diff(old, new, assume=assume, settings=fast).counterexample == ("b",) * 6


@pytest.mark.parametrize("yes", [0, 1])
def test_labels_called_no_and_yes_are_replayed_as_labels(yes: int) -> None:
    """Should hold whichever of the two labels means yes to the model."""
    networks = [random_network(hidden=(5,), seed=seed, outputs=2, label=yes, scale=2.0) for seed in (3, 4)]
    named = [CompiledNetwork(dataclasses.replace(each, labels=("no", "yes")), threads=1) for each in networks]
    verdict = rnncheck.diff(*named, epsilon=0.05, gamma=0.05, settings=rnncheck.VerifySettings(search_steps=1000))
    assert verdict.violated
    assert verdict.comparison is not None
    assert verdict.comparison.by_label
    result = rnncheck.replay(verdict, named[1], against=named[0])
    assert not [check for check in result.checks if check.status.value == "refuted"]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_labels_in_another_order_are_compared_by_name(order: tuple[int, ...]) -> None:
    """Should say of every word, stepped and by reference, whether the names of the two labels differ."""
    old = random_network(hidden=(5,), seed=3, outputs=3, label=0, scale=2.0)
    old = dataclasses.replace(old, labels=("x", "y", "z"))
    other = random_network(hidden=(5,), seed=4, outputs=3, label=0, scale=2.0)
    shuffled = dataclasses.replace(other, labels=tuple("xyz"[place] for place in order))
    models = [CompiledNetwork(network, threads=1) for network in (old, shuffled)]
    both = difference(*models)
    first, second = map(LabelledNetwork.of, models)
    words = all_words(old.alphabet, 4)
    expected = []
    for word in words:
        codes = old.alphabet.encode(word)
        says = [side.labels[side.reference_label(codes)] for side in (first, second)]
        expected.append(says[0] != says[1])
        assert both.reference_answer(codes) == expected[-1]
    assert both.accepts_batch(words).tolist() == expected
    assert True in expected


def test_a_property_over_other_letters_is_refused_before_the_work() -> None:
    model = DFAModel(rnncheck.Spec.from_regex("a*", ["a", "b"]).dfa)
    with pytest.raises(rnncheck.InputError, match="letter"):
        rnncheck.diff(
            model,
            model,
            properties=[rnncheck.Spec.from_ltlf("F z", ["a", "z"])],
            progress=lambda _: pytest.fail("began"),
        )


def test_a_property_that_fails_does_not_cost_the_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = (DFAModel(rnncheck.Spec.from_regex(text, ["a", "b"]).dfa) for text in ("a*", "a* b?"))
    spec = rnncheck.Spec.from_ltlf("F b", ["a", "b"])

    def failing(*_: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr("rnncheck.verification.diff_models._verify_both", failing)
    verdict = rnncheck.diff(old, new, properties=[spec])
    assert verdict.counterexample == ("b",)
    assert verdict.comparison.properties == ()
    assert any("broken" in note.message for note in verdict.health)


@pytest.mark.parametrize("seconds", [5, 20, 60, 10**6])
def test_properties_take_no_time_from_the_comparison(seconds: int) -> None:
    """Should do the same work within a time limit, whether or not properties are verified afterwards."""
    old, new = (DFAModel(rnncheck.Spec.from_regex(text, AB).dfa) for text in ("a*", "a* | b b a b a b b b"))

    def compared(*properties: rnncheck.Spec) -> rnncheck.Verdict:
        settings = rnncheck.VerifySettings(clock=Ticking(), search_steps=5_000, shorter_steps=5_000)
        asked = {"epsilon": 0.05, "gamma": 0.05, "timeout": float(seconds), "settings": settings}
        return rnncheck.diff(old, new, properties=properties, **asked)

    alone, beside = compared(), compared(rnncheck.Spec.from_regex("a*", AB))
    assert beside.counterexample == alone.counterexample
    assert beside.cost.network_steps == alone.cost.network_steps


def test_more_short_words_are_asked_than_a_verification_asks() -> None:
    """One word of 6 letters over ten beside a tenth of all words of 11 letters; then these alone."""
    letters, one, many = list("abcdefghij"), "j i j i j i", "a .{10} .*"
    old, both, long = (
        DFAModel(rnncheck.Spec.from_regex(text, letters).dfa) for text in ("!(.*)", f"{one} | {many}", many)
    )
    settings = rnncheck.VerifySettings(flows=None, severity_samples=0)
    verdict = rnncheck.diff(old, both, epsilon=0.05, settings=settings)
    assert verdict.counterexample == tuple(one.split())
    assert verdict.shortest
    verdict = rnncheck.diff(old, long, epsilon=0.05, settings=settings)
    assert verdict.no_violation_up_to == 6
    assert not verdict.shortest
    few = dataclasses.replace(settings, shorter_steps=SHORTER_STEPS)
    assert rnncheck.diff(old, long, epsilon=0.05, settings=few).no_violation_up_to == 5
