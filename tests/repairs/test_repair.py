"""Repairs of a small network with a planted fault, and what must never happen."""

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save as safetensors_bytes

import rnncheck
from rnncheck import InputError, ModelError, RepairReport, RepairSettings, Requirement, Spec, zoo
from rnncheck.models.files.safetensors_file import read_safetensors
from rnncheck.models.labelled import answers_of
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.models.protocol import Model
from rnncheck.probability.distributions import WordDistribution
from rnncheck.repairs.repair_conclusion import Proof, Repaired
from rnncheck.repairs.repair_question import Question
from rnncheck.repairs.repair_report import Ending, HardeningFacts, RepairProgress
from rnncheck.repairs.repaired_models import RepairedNetwork
from rnncheck.repairs.verifier import Verifier
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.training.datasets import LabelledWords
from rnncheck.training.fine_tuning import FineTuned, FineTuning, fine_tune
from rnncheck.verdict.facts import Outcome
from rnncheck.verdict.value import Verdict
from rnncheck.verification.label_questions import label_spec
from rnncheck.words import Alphabet, WordBatch
from support.clocks import Standing
from support.networks import random_network

pytest.importorskip("torch")

QUICK = RepairSettings(effort=0.01, harden=False, letters=4_000, held_out=1_000)


@pytest.fixture(scope="module")
def faulty() -> zoo.Entry:
    return zoo.entry("response-faulty-lstm")


@pytest.fixture(scope="module")
def progress() -> list[RepairProgress]:
    """All that the repair below told on its way."""
    return []


@pytest.fixture(scope="module")
def repaired(faulty: zoo.Entry, progress: list[RepairProgress]) -> rnncheck.Repaired:
    return rnncheck.repair(faulty.network(), faulty.spec(), settings=QUICK, progress=progress.append)


def test_the_fault_is_gone_and_other_answers_are_kept(faulty: zoo.Entry, repaired: rnncheck.Repaired) -> None:
    report = repaired.report
    assert report.ending is Ending.NOTHING_FOUND
    assert report.improved
    assert repaired.network is not None
    word = faulty.violation
    assert word is not None
    before, after = (rnncheck.CompiledNetwork(net, threads=1) for net in (faulty.network(), repaired.network))
    assert before.accepts(word)
    assert not after.accepts(word)
    assert report.held_out.after >= report.held_out.before - QUICK.max_loss
    assert all(after.accepts(each.word) == (each.after == "yes") for each in report.changes.shortest)
    assert all(before.accepts(each.word) == (each.before == "yes") for each in report.changes.shortest)
    fresh = rnncheck.verify(after, faulty.spec(), seed=99)
    assert not fresh.violated or len(fresh.counterexample or ()) > 11  # nothing as short as the fault was


def test_a_known_violation_has_some_probability(faulty: zoo.Entry, repaired: rnncheck.Repaired) -> None:
    """Should say no less than the probability of the words that it shows."""
    before = repaired.report.properties[0].before
    assert before.mass is not None
    random = rnncheck.WordDistribution(faulty.alphabet)
    known = sum(random.probability(faulty.alphabet.encode(word)) for word in before.counterexamples)
    assert 0.0 < known <= before.mass.interval[0] <= before.mass.interval[1]
    assert before.counterexamples[0] == faulty.violation  # the shortest, though rounds do not look for it


def test_progress_is_told_inside_a_round(repaired: rnncheck.Repaired, progress: list[RepairProgress]) -> None:
    assert repaired.report.rounds
    verifying = [now for now in progress if now.doing.startswith("verifying") and now.counts["network steps"]]
    training = [now for now in progress if now.doing.startswith("training for round 1, epoch 2 of at most 10")]
    assert verifying
    assert training
    assert all(now.counts["words"] == repaired.report.rounds[0].words for now in training)
    assert training[-1].counts["right answers"] <= training[-1].counts["answers"]
    assert str(training[0]).startswith("round 0: training for round 1, epoch 2 of at most 10: ")
    seconds = [now.seconds for now in progress]
    assert seconds == sorted(seconds)


def test_training_that_has_had_its_time_keeps_what_it_learned() -> None:
    from rnncheck.repairs.repaired_models import RepairedNetwork
    from rnncheck.training.batches import Stage

    network = zoo.entry("even-elman").network()
    words = WordBatch.from_codes([(0,) * length for length in range(64)])
    stage = Stage(words, np.concatenate([np.arange(length + 1) % 2 for length in range(64)]), every_prefix=True)
    how, seen = FineTuning(epochs=5, min_batches=4), []
    candidate = RepairedNetwork(network)

    def go_on(now: FineTuned) -> bool:
        seen.append(now)
        return len(seen) <= 10

    tuned = fine_tune(candidate, stage, 2, np.random.default_rng(0), how, go_on)
    assert tuned.epochs == 2  # whole ones, of four batches each
    assert tuned.answers == 2 * len(stage.answers)
    assert any(
        not np.array_equal(candidate.arrays()[name], array) for name, array in RepairedNetwork(network).arrays().items()
    )


def test_the_report_survives_json_and_has_a_page(repaired: rnncheck.Repaired, tmp_path: Path) -> None:
    text = repaired.report.to_json()
    assert RepairReport.from_json(text) == repaired.report
    assert json.loads(text)["schema"] == "rnncheck/repair/1"
    repaired.report.save_report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Before and after" in page
    assert "G(a -&gt; F b)" in page


def test_the_same_seed_gives_the_same_network_and_so_does_a_resumed_run(
    faulty: zoo.Entry, repaired: rnncheck.Repaired, tmp_path: Path
) -> None:
    file = tmp_path / "run.checkpoint"

    def stop_after_training() -> bool:
        return file.exists()

    stopped = rnncheck.repair(
        faulty.network(), faulty.spec(), settings=QUICK, checkpoint=file, budget=Budget(cancelled=stop_after_training)
    )
    assert stopped.report.ending is Ending.ENDED_EARLY
    assert stopped.report.improved  # the best so far is that of the round that ended
    whole = rnncheck.repair(faulty.network(), faulty.spec(), settings=QUICK, checkpoint=file, resume=True)
    assert whole.network is not None
    assert repaired.network is not None
    assert whole.network.sha256() == repaired.network.sha256()
    other = dataclasses.replace(QUICK, max_loss=0.5)
    with pytest.raises(InputError, match="max_loss"):
        rnncheck.repair(faulty.network(), faulty.spec(), settings=other, checkpoint=file, resume=True)


def test_no_time_means_nothing_changes(faulty: zoo.Entry) -> None:
    made = rnncheck.repair(faulty.network(), faulty.spec(), settings=QUICK, budget=0)
    assert made.report.ending is Ending.ENDED_EARLY
    assert not made.report.improved
    assert made.network is not None
    assert made.network.sha256() == faulty.network().sha256()


def test_labels_that_contradict_the_property_are_named_and_nothing_is_done(faulty: zoo.Entry) -> None:
    words = LabelledWords.from_pairs([(("a", "b"), "yes"), (("a",), "yes"), (("c",), "no")], faulty.alphabet)
    with pytest.raises(InputError, match=r"contradicts 1 of 3 labels: 'a' is labelled yes.*Nothing was changed"):
        rnncheck.repair(faulty.network(), faulty.spec(), words=words, settings=QUICK)


def test_a_network_that_holds_stays_as_it_is() -> None:
    entry = zoo.entry("even-provable-elman")
    made = rnncheck.repair(entry.network(), entry.spec(), settings=QUICK)
    assert made.report.ending is Ending.PROVED
    assert not made.report.rounds
    assert not made.report.improved
    assert made.network is not None
    assert made.network.sha256() == entry.network().sha256()
    assert made.certificate is not None


def test_a_network_that_cannot_learn_it_is_not_given_back_as_repaired() -> None:
    """One unit cannot count; whatever comes of it, a violation must be owned up to."""
    from rnncheck.training import TrainingSettings, train_on_automaton

    spec = Spec.from_regex("(b* a b* a b* a b* a b* a)* b*", ["a", "b"])
    settings = TrainingSettings(hidden=1, cell=rnncheck.Cell.RNN_TANH, epochs=1, min_batches=5)
    network = train_on_automaton(spec.dfa, settings=settings, words=200).network
    few = dataclasses.replace(QUICK, rounds=1, fine_tuning=FineTuning(epochs=3, min_batches=20))
    made = rnncheck.repair(network, spec, relation="equal", settings=few)
    assert made.report.ending is Ending.NOT_REPAIRED
    assert made.report.exit_code == 1
    assert made.report.properties[0].after.outcome.value != "satisfied"


def test_a_network_with_several_labels_is_repaired_for_a_property_of_labels() -> None:
    """Should keep "once malformed, always malformed" on every short word, and every answer that this leaves alone."""
    network = zoo.entry("tokens-gru").network()
    before = rnncheck.CompiledNetwork(network, threads=1)
    spec = label_spec(before, ltlf="G(label=malformed -> G label=malformed)")
    few = dataclasses.replace(QUICK, effort=0.001, letters=1_000, held_out=200, fine_tuning=FineTuning(min_batches=20))
    made = rnncheck.repair(network, Requirement("for ever", spec, None), settings=few)
    assert made.report.repaired
    assert made.report.properties[0].before.outcome is Outcome.VIOLATED
    assert made.network is not None
    assert made.network.labels == network.labels
    words = [word for length in range(1, 7) for word in itertools.product(range(3), repeat=length)]
    batch, models = WordBatch.from_codes(words), (before, rnncheck.CompiledNetwork(made.network, threads=1))
    then, now = (dict(zip(words, answers_of(model, batch).tolist(), strict=True)) for model in models)
    malformed = (network.labels or ()).index("malformed")
    for word in words:
        was_malformed = any(now[word[:end]] == malformed for end in range(1, len(word)))
        assert now[word] == (malformed if was_malformed else then[word])


def test_what_cannot_be_trained_is_refused() -> None:
    model = rnncheck.wrap(lambda words: [True] * len(words), ["a", "b"])
    with pytest.raises(ModelError):
        rnncheck.repair(model, Spec.from_regex("a*", ["a", "b"]))
    with pytest.raises(ModelError, match="neither a network nor a PyTorch module"):
        rnncheck.repair("model.pt", Spec.from_regex("a*", ["a", "b"]))


@pytest.mark.slow  # test_a_module_comes_back_with_its_own_layout does the same from the command line
def test_a_module_keeps_its_class_and_its_layout() -> None:
    import torch

    class Mine(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.letters = torch.nn.Embedding(2, 4)
            self.memory = torch.nn.GRU(4, 6, batch_first=True)
            self.decide = torch.nn.Linear(6, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            states, _ = self.memory(self.letters(x))
            return torch.sigmoid(self.decide(states[:, -1]))

    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = Mine()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    spec = Spec.from_regex("(a|b)* b", ["a", "b"])
    few = dataclasses.replace(
        QUICK, rounds=1, max_loss=1.0, letters=300, fine_tuning=FineTuning(epochs=4, min_batches=20)
    )
    made = rnncheck.repair(
        module, Requirement("last", spec, "equal"), alphabet=["a", "b"], settings=few,
        distribution=rnncheck.WordDistribution(spec.alphabet, stop=0.2),
    )  # fmt: skip
    assert type(made.module) is Mine
    assert made.module is not module
    assert list(made.module.state_dict()) == list(before)
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, before[name])  # the person's own object
    after = rnncheck.wrap(made.module, ["a", "b"])
    assert made.report.improved
    words = [tuple(np.random.default_rng(i).choice(["a", "b"], size=5)) for i in range(50)]
    assert np.mean([after.accepts(word) == (word[-1] == "b") for word in words]) > 0.9


def test_a_violation_that_was_found_is_told_whatever_ends_the_work(faulty: zoo.Entry) -> None:
    """Should name the first property's counterexample where time is up while the second one is verified."""
    over = False

    def watch(progress: RepairProgress) -> None:
        nonlocal over
        over = over or progress.doing.startswith("verifying second")

    spec = faulty.spec()
    made = rnncheck.repair(
        faulty.network(), [Requirement("first", spec, "subset"), Requirement("second", spec, "subset")], settings=QUICK,
        progress=watch, budget=Budget(cancelled=lambda: over),
    )  # fmt: skip
    assert made.report.ending is Ending.ENDED_EARLY
    first, second = (each.before for each in made.report.properties)
    assert first.outcome is Outcome.VIOLATED
    assert first.counterexamples
    assert second.outcome is not Outcome.SATISFIED


def test_a_network_that_turns_out_worse_does_not_take_the_place_of_a_better_one(
    faulty: zoo.Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should go back to the network that came where the trained one violates more, as verification shows."""
    honest = Verifier.verdicts
    calls: list[tuple[list[Verdict], int]] = []

    def worse(verifier: Verifier, model: Model, number: int) -> tuple[list[Verdict], int]:
        verdicts, steps = honest(verifier, model, number) if not calls else calls[0]
        calls.append((verdicts, steps))
        return (verdicts if len(calls) == 1 else [verdicts[0], verdicts[0]]), steps

    monkeypatch.setattr(Verifier, "verdicts", worse)
    requirements = [Requirement("first", faulty.spec()), Requirement("second", Spec.from_regex(".*", faulty.alphabet))]
    settings = dataclasses.replace(QUICK, rounds=1)
    made = rnncheck.repair(faulty.network(), requirements, settings=settings)
    assert made.report.ending is Ending.NOT_REPAIRED
    assert not made.report.improved
    assert all((each.before.outcome is each.after.outcome) for each in made.report.properties)


def test_a_proved_network_that_forgets_does_not_cost_the_repaired_one(
    faulty: zoo.Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should keep what was repaired where the proved network answers held-out words worse."""

    def proved(question: Question, *_: object) -> Proof:
        always = dataclasses.replace(faulty.network(), head_bias=np.full(1, -99.0, np.float32))
        hardening = HardeningFacts(proved=True, taken=True, seconds=0.0, reason="proved")
        return Proof(network=always, hardening=hardening)

    monkeypatch.setattr("rnncheck.repairs.rounds.prove_or_harden", proved)
    made = rnncheck.repair(faulty.network(), faulty.spec(), settings=QUICK)
    assert made.report.ending is Ending.NOTHING_FOUND
    assert made.report.improved
    assert made.report.hardening is not None
    assert not made.report.hardening.taken
    assert made.report.held_out.after >= made.report.held_out.before - QUICK.max_loss


def test_a_network_in_which_nothing_is_changed_comes_back_number_by_number() -> None:
    """Should judge, and give back, the network itself: rounded to float32, as it would be trained, it is another."""
    layer = Layer(np.array([[1.0, 0.0]]), np.zeros((1, 1)), np.zeros(1), np.zeros(1))
    letters, head = Alphabet(["a", "b"]), np.array([-(1 - 1e-10)])
    network = RecurrentNetwork(letters, Cell.RNN_RELU, np.eye(2), (layer,), np.array([[1.0]]), head)
    assert RepairedNetwork(network).model().accepts(["a"])
    few = dataclasses.replace(QUICK, effort=0.01, held_out=100)
    made = rnncheck.repair(network, Spec.from_regex("(a|b)*", letters), settings=few)
    assert not made.report.improved
    assert made.network is not None
    assert made.network.sha256() == network.sha256()


def one_letter(**options: Any) -> Repaired:
    network = random_network(Cell.RNN_TANH, (4,), alphabet=Alphabet(["a"]))
    few = dataclasses.replace(
        QUICK, effort=0.01, rounds=1, held_out=200, letters=500, fine_tuning=FineTuning(epochs=1, min_batches=1)
    )
    spec, drawn = Spec.from_regex("(a a)*", ["a"]), WordDistribution(network.alphabet, stop=0.3)
    return rnncheck.repair(network, spec, relation="equal", settings=few, distribution=drawn, **options)


@pytest.fixture
def one_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for others takes long where every search has one word to go on with."""
    monkeypatch.setattr("rnncheck.repairs.verifier._COUNTEREXAMPLES", 1)


@pytest.mark.usefixtures("one_counterexample")
def test_held_out_words_that_were_trained_on_are_reported() -> None:
    """Over one letter each word begins a longer one: accuracy is not told of no words at all."""
    report = one_letter().report
    assert report.rounds
    assert report.held_out.words > 0
    assert "was also trained on" in report.held_out.source


@pytest.mark.usefixtures("one_counterexample")
def test_ctrl_c_while_it_measures_loses_nothing(tmp_path: Path) -> None:
    def interrupted(progress: RepairProgress) -> None:
        if progress.doing == "measuring before and after":
            raise KeyboardInterrupt

    file = tmp_path / "run.checkpoint"
    assert one_letter(progress=interrupted, checkpoint=file).report.rounds
    metadata, arrays = read_safetensors(file)
    for missing in ("codes/errors", "now/head.weight"):
        kept = {name: array for name, array in arrays.items() if name != missing}
        file.write_bytes(safetensors_bytes(kept, metadata))
        with pytest.raises(ModelError, match="start again without --resume"):
            one_letter(checkpoint=file, resume=True)


@pytest.mark.slow
def test_where_rounds_do_not_help_a_proof_may(faulty: zoo.Entry) -> None:
    """Should be trained for a proof after the last round too, though a violation is left, and then be proved."""
    hardly = FineTuning(epochs=1, min_batches=1, learning_rate=1e-9)
    few = dataclasses.replace(QUICK, effort=0.01, rounds=1, held_out=300, letters=300, harden=True, fine_tuning=hardly)
    made = rnncheck.repair(faulty.network(), faulty.spec(), settings=few)
    assert made.report.rounds[-1].violated
    assert made.report.ending is Ending.PROVED
    assert made.certificate is not None
    assert made.network is not None
    assert not rnncheck.CompiledNetwork(made.network).accepts(["a", *["c"] * 10])
    given_up = rnncheck.repair(faulty.network(), faulty.spec(), settings=dataclasses.replace(few, harden=False))
    assert given_up.report.ending is Ending.NOT_REPAIRED
    assert given_up.certificate is None


def test_verifications_of_a_repair_have_all_the_time_that_is_left(faulty, monkeypatch) -> None:
    """Should let the time limit end the work, and not share it out: shares would make the result depend on the load."""
    limits = []

    def ended(*_, timeout, **__):
        limits.append(timeout)
        raise BudgetExceeded("the time limit was reached")

    monkeypatch.setattr("rnncheck.repairs.verifier.verify", ended)
    rnncheck.repair(faulty.network(), faulty.spec(), settings=QUICK, budget=Budget.lasting(100.0, clock=Standing()))
    assert limits == [100.0]
