"""Moore machines and their learners, labelled networks, and specifications over letters and labels."""

import dataclasses
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck import zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.moore_files import machine_text, write_moore_dot
from rnncheck.automata.label_specs import PairAlphabet, compile_label_ltlf, compile_label_regex
from rnncheck.automata.moore import MooreMachine, difference_of
from rnncheck.checker import Status, replay
from rnncheck.errors import AutomatonError, ExpressionError, InconsistentAnswersError, InputError, ModelError
from rnncheck.extraction.extract import extract
from rnncheck.learning import LEARNERS, make_learner
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.models.delimiters import with_delimiters
from rnncheck.models.engine.compiled import CompiledNetwork, compiled_or_stepped
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.labelled import LabelledNetwork
from rnncheck.models.network import Cell
from rnncheck.models.traces import TraceModel
from rnncheck.oracle import MembershipOracle
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.verdict.label_trace import pairs_along
from rnncheck.verification.label_questions import label_spec, verify_labels
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet, WordBatch
from support.moore_teachers import Teacher, learned, learned_by_aalpy, random_machine
from support.networks import random_network

QUICK = {"epsilon": 0.02, "gamma": 0.02}
seeds = st.integers(0, 10**6)


def codes_up_to(letters: int, length: int) -> list[tuple[int, ...]]:
    return [word for n in range(length + 1) for word in itertools.product(range(letters), repeat=n)]


# -- machines ---------------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(seeds, seeds)
def test_the_difference_of_two_machines_is_the_least_one(one: int, other: int) -> None:
    """Should be the first word, shortest first, that gets two labels; None where no word of 2n letters does."""
    a, b = random_machine(one, states=4), random_machine(other, states=4)
    words = codes_up_to(2, 8)
    differs = np.flatnonzero(a.output_batch(WordBatch.from_codes(words)) != b.output_batch(WordBatch.from_codes(words)))
    expected = a.alphabet.decode(words[int(differs[0])]) if len(differs) else None
    assert difference_of(a, b) == expected


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_minimising_keeps_the_labels_and_joins_equal_states(seed: int) -> None:
    rng = np.random.default_rng(seed)
    machine = MooreMachine(["a", "b"], ["x", "y", "z"], rng.integers(6, size=(6, 2)), rng.integers(3, size=6), 2)
    least = machine.minimised()
    words = WordBatch.from_codes(codes_up_to(2, 7))
    assert np.array_equal(machine.output_batch(words), least.output_batch(words))
    assert least.minimised() == least
    for one, other in itertools.combinations(range(len(least)), 2):
        starts = [MooreMachine(least.alphabet, least.labels, least.transitions, least.outputs, q) for q in (one, other)]
        assert difference_of(*starts) is not None


def test_a_machine_says_the_label_of_a_word() -> None:
    machine = MooreMachine(["a", "b"], ["idle", "busy", "alarm"], [[1, 0], [2, 0], [2, 2]], [0, 1, 2])
    assert [machine.label(word) for word in ((), ("a",), ("a", "a"), ("a", "b"))] == ["idle", "busy", "alarm", "idle"]
    assert machine.words_labelled("alarm").accepts(("a", "a", "b"))
    assert pickle.loads(pickle.dumps(machine)) == machine
    assert len({machine, pickle.loads(pickle.dumps(machine))}) == 1
    with pytest.raises(AttributeError, match="immutable"):
        machine.labels = ("x", "y")
    with pytest.raises(AutomatonError, match="unknown label 'fire'"):
        machine.words_labelled("fire")


@pytest.mark.parametrize(
    ("labels", "outputs", "message"),
    [
        (["x"], [0], "two or more"),
        (["x", "x"], [0], "each once"),
        (["x", "y"], [2], "0 to 1"),
        (["x", "y"], [-1], "0 to 1"),
    ],
)
def test_machines_that_make_no_sense_are_refused(labels: list[str], outputs: list[int], message: str) -> None:
    with pytest.raises(AutomatonError, match=message):
        MooreMachine(["a"], labels, [[0]], outputs)


def test_machines_become_files() -> None:
    """Should name labels and letters in dot, whatever they are made of, and hold every part in JSON."""
    machine = MooreMachine(["a", 'q"\\'], ["x", "<y>"], [[1, 0], [1, 1]], [0, 1])
    text = write_moore_dot(machine)
    assert '"1: <y>"' in text
    assert '0 -> 0 [label="\'q\\"\\\\\\\\\'"];' in text
    assert '"outputs"' in machine_text(machine, "m.json")
    with pytest.raises(InputError, match=r"\.dot or \.json"):
        machine_text(machine, "m.svg")


# -- learners ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("prefixes", [False, True])
def test_every_learner_learns_random_machines(name: str, prefixes: bool) -> None:
    """Should end with the minimal machine itself and ask for no word twice, whatever the number of labels."""
    for seed in range(12):
        machine = random_machine(seed, states=3 + seed, letters=1 + seed % 3, labels=2 + seed % 4)
        found, teacher = learned(name, machine, prefixes=prefixes)
        assert found.minimised() == machine
        assert len(found) == len(machine)
        assert len(teacher.words) == len(set(teacher.words))


def test_learners_agree_with_aalpy_and_ask_no_more() -> None:
    """Should find the same minimal machines as AALpy's learners, with at most as many runs, on 100 machines.

    A machine of one state is left out: AALpy's tree asks nothing about it and leaves it to the equivalence query.
    """
    seeds = itertools.count()
    machines = (random_machine(seed, states=4 + seed % 12, letters=2 + seed % 3, labels=2 + seed % 4) for seed in seeds)
    for machine in itertools.islice((machine for machine in machines if len(machine) > 1), 100):
        for name in ("kv", "lstar"):
            ours, teacher = learned(name, machine, prefixes=True)
            theirs, runs = learned_by_aalpy(name, machine)
            assert ours.minimised() == theirs.minimised() == machine
            assert teacher.runs <= runs


@pytest.mark.parametrize("name", LEARNERS)
def test_a_language_is_the_case_of_two_labels(name: str) -> None:
    """Should ask the same questions and find the same states as the learner of the language does."""
    for seed in range(5):
        machine = random_machine(seed, states=6, labels=2)
        teachers = Teacher(machine), Teacher(machine)
        with_labels = make_learner(name, machine.alphabet, teachers[0].ask, labels=machine.labels)
        plain = make_learner(name, machine.alphabet, teachers[1].ask)
        while (word := difference_of(machine, with_labels.machine)) is not None:
            assert with_labels.refine(machine.alphabet.encode(word))
            assert plain.refine(machine.alphabet.encode(word))
        assert plain.hypothesis == with_labels.machine.support == with_labels.hypothesis
        assert teachers[0].words == teachers[1].words


def test_a_learner_of_labels_says_what_is_wrong() -> None:
    machine = random_machine(0, labels=3)
    teacher = Teacher(machine)
    learner = make_learner("ttt", machine.alphabet, teacher.ask, labels=machine.labels)
    with pytest.raises(InputError, match="ask for its machine"):
        _ = learner.hypothesis
    with pytest.raises(InputError, match="give two or more"):
        make_learner("ttt", machine.alphabet, teacher.ask, labels=["one"])
    with pytest.raises(InputError, match="7 is not an answer; there are 3, 0 to 2"):
        make_learner("ttt", machine.alphabet, lambda queries: [7] * len(queries), labels=machine.labels).start()
    wrong = (teacher.answer((0,)) + 1) % 3
    mistaken = make_learner("ttt", machine.alphabet, teacher.ask, labels=machine.labels, known={(0,): wrong})
    with pytest.raises(InconsistentAnswersError, match=f"first given label {wrong} and is now given label") as caught:
        mistaken.refine((0,))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


# -- labelled networks ------------------------------------------------------------------------------------------------


def labelled(seed: int, outputs: int = 3, cell: Cell = Cell.GRU) -> LabelledNetwork:
    return LabelledNetwork(
        compiled_or_stepped(random_network(cell, hidden=(6,), outputs=outputs, scale=3.0, seed=seed))
    )


@pytest.mark.parametrize("outputs", [1, 2, 4])
def test_labels_are_what_the_network_says(outputs: int) -> None:
    """Should be the label whose own model accepts the word, for all short words, however they are asked."""
    network = labelled(1, outputs)
    words = codes_up_to(3, 5)
    batch = WordBatch.from_codes(words)
    if outputs == 1:
        expected = CompiledNetwork(network.network).accepts_batch(batch).astype(int)
    else:
        models = [CompiledNetwork(dataclasses.replace(network.network, label=i)) for i in range(outputs)]
        expected = np.stack([model.accepts_batch(batch) for model in models]).argmax(axis=0)
    oracle = MembershipOracle(network, labels=True)
    assert oracle.ask([((), word) for word in words]).tolist() == expected.tolist()
    assert oracle.ask([(word[:2], word[2:]) for word in words]).tolist() == expected.tolist()
    assert [network.reference_label(word) for word in words] == expected.tolist()
    prefixes = oracle.prefix_answers(batch)
    ends = batch.offsets[1:][batch.lengths > 0] - 1
    assert prefixes[ends].tolist() == expected[batch.lengths > 0].tolist()


def test_labels_too_close_to_call_are_settled_by_the_definition() -> None:
    """Should answer the same when every score is in doubt."""
    network, doubtful = labelled(2), labelled(2)
    doubtful.margin = 1e9
    words = [((), word) for word in codes_up_to(3, 4)]
    batch = WordBatch.from_codes(codes_up_to(3, 4))
    assert np.array_equal(
        MembershipOracle(network, labels=True).ask(words), MembershipOracle(doubtful, labels=True).ask(words)
    )
    assert np.array_equal(
        MembershipOracle(network, labels=True).prefix_answers(batch),
        MembershipOracle(doubtful, labels=True).prefix_answers(batch),
    )
    spec = compile_label_ltlf("G(label=0 -> X label=1)", network.alphabet, network.labels)
    one, other = TraceModel(network, spec), TraceModel(doubtful, spec)
    assert np.array_equal(one.accepts_batch(batch), other.accepts_batch(batch))


def test_a_question_is_paid_for_once() -> None:
    oracle = MembershipOracle(labelled(3), labels=True)
    oracle.ask([((0, 1), (2,)), ((0, 1), (0,))])
    steps = oracle.cost.network_steps
    oracle.ask([((), (0, 1, 2))])
    assert oracle.cost.network_steps == steps == 4
    assert oracle.cost.membership_queries == 2


def test_a_spent_budget_ends_questions_about_labels() -> None:
    oracle = MembershipOracle(labelled(3), labels=True, budget=Budget.lasting(0))
    with pytest.raises(BudgetExceeded):
        oracle.ask([((), (0, 1))])
    with pytest.raises(BudgetExceeded):
        oracle.prefix_answers(WordBatch.from_codes([(0, 1)]))


@pytest.mark.parametrize("learner", ["ttt", "lstar"])
def test_the_machine_of_a_network_is_extracted(learner: str) -> None:
    """Should give the network's label to all words up to seven letters, with the six states that the labels need."""
    model = CompiledNetwork(zoo.entry("tokens-gru").network())
    found = extract(model, labels=True, settings=LearningSettings(learner=learner), **QUICK)
    assert found.passed
    assert found.epsilon < 0.02
    assert len(found.automaton) == 6
    assert isinstance(found.automaton, MooreMachine)
    assert found.automaton.labels == ("decimal", "integer", "malformed")
    words = codes_up_to(3, 7)
    labels = MembershipOracle(LabelledNetwork.of(model), labels=True).ask([((), word) for word in words])
    assert np.array_equal(found.automaton.output_batch(WordBatch.from_codes(words)), labels)


def test_extraction_of_a_machine_honours_time_states_and_seed() -> None:
    model = CompiledNetwork(zoo.entry("tokens-gru").network())
    with pytest.raises(BudgetExceeded, match="time limit"):
        extract(model, labels=True, timeout=0)
    small = extract(model, labels=True, settings=LearningSettings(max_states=3), **QUICK)
    assert not small.passed
    assert len(small.automaton) <= 3
    assert "max_states = 3" in small.sentence
    first, second = (extract(model, labels=True, seed=4, **QUICK) for _ in range(2))
    assert first.automaton == second.automaton


def test_a_model_without_outputs_has_no_labels() -> None:
    model = CallableModel(lambda words: [True] * len(words), Alphabet(["a"]))
    with pytest.raises(ModelError, match="is a black box; give a network file"):
        extract(model, labels=True)


def test_a_machine_of_words_between_markers() -> None:
    """Should say what the network says of the words with their marker: all of up to five letters."""
    plain = LabelledNetwork.of(CompiledNetwork(zoo.entry("tokens-gru").network()))
    machine = extract(with_delimiters(plain, "sign", None), labels=True, **QUICK).automaton
    assert isinstance(machine, MooreMachine)
    for word in itertools.chain(*(itertools.product(machine.alphabet, repeat=length) for length in range(6))):
        said = plain.labels[plain.reference_label(plain.alphabet.encode(("sign", *word)))]
        assert machine.label(word) == said


# -- specifications over letters and labels ---------------------------------------------------------------------------

LETTERS, LABELS = Alphabet(["a", "b"]), ("idle", "alarm", "it's/so")


def alarm_before_a(trace) -> bool:
    return all("a" in [letter for letter, _ in trace[i:]] for i, (_, label) in enumerate(trace) if label == "alarm")


def a_then_idle(trace) -> bool:
    letters, labels = [letter for letter, _ in trace[::2]], [label for _, label in trace[1::2]]
    return len(letters) == len(labels) and set(letters) <= {"a"} and set(labels) <= {"idle"}


@pytest.mark.parametrize(
    ("formula", "holds"),
    [
        ("G(label=alarm -> F a)", alarm_before_a),
        ("F label = 'it\\'s/so'", lambda trace: any(label == "it's/so" for _, label in trace)),
        ("b & label=idle", lambda trace: trace[:1] == [("b", "idle")]),
        ("G {a, label=alarm}", lambda trace: all(letter == "a" or label == "alarm" for letter, label in trace)),
        ("absence2(label=alarm)", lambda trace: sum(label == "alarm" for _, label in trace) <= 1),
        ("<(a; label=idle)*> ε", a_then_idle),
        ("G !'label=alarm'", lambda trace: all(label != "alarm" for _, label in trace)),
    ],
)
def test_formulas_speak_of_letters_and_labels(formula: str, holds) -> None:
    """Should mean what a plain reading of the trace says, for all traces of up to three letters."""
    dfa = compile_label_ltlf(formula, LETTERS, LABELS)
    pairs = PairAlphabet(LETTERS, LABELS)
    for length in range(4):
        for trace in itertools.product(itertools.product(LETTERS, LABELS), repeat=length):
            assert dfa.accepts([pairs.name(*pair) for pair in trace]) == holds(list(trace)), trace


def test_expressions_speak_of_letters_and_labels() -> None:
    dfa = compile_label_regex("$letter_a* 'b/alarm' $label_idle", LETTERS, LABELS)
    assert dfa.accepts(["a/idle", "a/alarm", "b/alarm", "b/idle"])
    assert not dfa.accepts(["b/alarm", "b/alarm"])


@pytest.mark.parametrize("formula", ["G label=fire", "F c", "label=", "G {a d}"])
def test_unknown_letters_and_labels_are_refused(formula: str) -> None:
    with pytest.raises(ExpressionError):
        compile_label_ltlf(formula, LETTERS, LABELS)


def test_pairs_have_names_of_their_own() -> None:
    """Should keep pairs apart whose parts hold the slash themselves."""
    assert len(PairAlphabet(Alphabet(["a/b", "a"]), ("c", "b/c")).pairs) == 4


@settings(max_examples=3, deadline=None)
@given(seeds)
def test_a_trace_model_judges_the_trace(seed: int) -> None:
    """Should say yes exactly where the automaton accepts the labels of all prefixes, one by one."""
    network = labelled(seed)
    rng = np.random.default_rng(seed)
    pairs = PairAlphabet(network.alphabet, network.labels).pairs
    spec = DFA(pairs, rng.integers(4, size=(4, len(pairs))), rng.random(4) < 0.5)
    model = TraceModel(network, spec)
    words = codes_up_to(3, 4)
    for word, answer in zip(words, model.accepts_batch(WordBatch.from_codes(words)), strict=True):
        labels = [network.reference_label(word[:length]) for length in range(1, len(word) + 1)]
        trace = [pairs[letter * 3 + label] for letter, label in zip(word, labels, strict=True)]
        assert answer == spec.accepts(trace) == model.reference_answer(word)


def test_verdicts_about_labels() -> None:
    """Should find the shortest trace that breaks a formula, and none where there is none."""
    model = LabelledNetwork(compiled_or_stepped(zoo.entry("tokens-gru").network()))
    options = {**QUICK, "settings": VerifySettings(search_steps=10_000, flows=None)}
    broken = verify_labels(model, label_spec(model, ltlf="G(label=malformed -> G label=malformed)"), **options)
    assert broken.violated
    assert broken.counterexample == ("point", "digit")
    assert broken.label_question.said == ("malformed", "decimal")
    assert pairs_along(broken) == ("point/malformed", "digit/decimal")
    assert replay(broken, CompiledNetwork(model.network)).status is Status.CONFIRMED
    holds = verify_labels(model, label_spec(model, ltlf="G(point -> !label=integer)"), method="pdv", **options)
    assert holds.satisfied
    assert holds.label_question.said is None
    never = verify_labels(model, label_spec(model, regex="!(.* 'sign/integer' .*)"), method="smc", **options)
    assert never.satisfied


def test_labels_are_computed_as_the_model_was_asked_to() -> None:
    """Should keep the precision that the model was loaded with."""
    model = CompiledNetwork(zoo.entry("tokens-gru").network(), dtype=np.float64, threads=1)
    labelled = LabelledNetwork.of(model)
    assert labelled.initial(1).dtype == np.float64
    assert LabelledNetwork.of(labelled) is labelled
