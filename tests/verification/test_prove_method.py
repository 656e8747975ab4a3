"""``verify`` with the method ``prove``: what the verdict says, and what ``auto`` makes of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from rnncheck import wrap
from rnncheck.checker import ReplaySettings, Status, replay
from rnncheck.cli.verdict_text import verdict_lines
from rnncheck.errors import FormatError, InputError
from rnncheck.learning.learning_task import Progress
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.exact_network import exact_network
from rnncheck.models.network import Cell
from rnncheck.proofs.proof_search import ProofSettings
from rnncheck.spec import Spec
from rnncheck.verdict.certificate import Certificate
from rnncheck.verdict.text import headline
from rnncheck.verdict.value import Verdict
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from support.proofs import with_one_word_changed
from support.robust_networks import robust_network
from support.rotating_network import rotating_network

RESPONSE = Spec.from_ltlf("G(a -> F b)", ["a", "b", "c"])
QUICK = {"epsilon": 0.05, "gamma": 0.05}


@pytest.mark.parametrize("cell", [Cell.RNN_TANH, Cell.GRU, Cell.LSTM])
@pytest.mark.parametrize("relation", ["subset", "superset", "equal"])
def test_a_proof_is_a_kind_of_guarantee_of_its_own(cell: Cell, relation: str, tmp_path: Path) -> None:
    model = CompiledNetwork(robust_network(RESPONSE.dfa, cell))
    path = tmp_path / "proof.cert"
    verdict = verify(model, RESPONSE, method="prove", relation=relation, settings=VerifySettings(certificate=str(path)))
    assert verdict.satisfied
    assert verdict.guarantee is not None
    assert verdict.guarantee.proof
    assert verdict.guarantee.epsilon is None
    facts = verdict.guarantee.invariant
    assert facts is not None
    assert facts.certificate == str(path)
    assert facts.covers_reference
    assert "holds for every word of any length" in str(verdict.guarantee)
    certificate = Certificate.from_json(path.read_bytes())
    assert certificate.sha256 == facts.sha256
    assert certificate.origin == "G(a -> F b)"
    assert replay(certificate, model).status is Status.CONFIRMED
    again = Verdict.from_json(verdict.to_json())
    assert again == verdict
    reported = {check.name: check.status for check in replay(verdict, model).checks}
    assert reported["proof"] is Status.OPEN
    assert Status.REFUTED not in reported.values()


def test_a_violation_in_the_way_is_shown() -> None:
    everything = Spec.from_regex("(a|b)*", ["a", "b"])
    model = CompiledNetwork(robust_network(with_one_word_changed(everything.dfa, (0, 1, 1, 0))))
    verdict = verify(model, everything, method="prove", relation="superset")
    assert verdict.violated
    assert verdict.counterexample == ("a", "b", "b", "a")
    empty = CompiledNetwork(robust_network(with_one_word_changed(everything.dfa, ())))
    assert verify(empty, everything, method="prove", relation="equal").counterexample == ()


def test_what_is_not_proved_is_undecided_and_says_where() -> None:
    verdict = verify(CompiledNetwork(exact_network(RESPONSE.dfa)), RESPONSE, method="prove")
    assert verdict.undecided
    assert verdict.guarantee is not None
    assert not verdict.guarantee.proof
    assert verdict.reason.startswith("not proved: the box of the words that end in ")
    assert "reaches the decision; contexts of 6 letters, the longest allowed, are too short" in verdict.reason
    few = VerifySettings(proof=ProofSettings(classes=1))
    verdict = verify(CompiledNetwork(exact_network(RESPONSE.dfa)), RESPONSE, method="prove", settings=few)
    assert verdict.reason == "not proved: contexts of 0 letters need more than 1 boxes"
    none = verify(DFAModel(RESPONSE.dfa), RESPONSE, method="prove")
    assert none.undecided
    assert "needs the weights of a network" in none.reason


def test_time_and_cancelling_end_it() -> None:
    model = CompiledNetwork(exact_network(RESPONSE.dfa))
    verdict = verify(model, RESPONSE, method="prove", timeout=0.0)
    assert verdict.undecided
    asked = iter([False] * 8)
    settings = VerifySettings(cancelled=lambda: next(asked, True))
    assert verify(model, RESPONSE, method="prove", settings=settings).reason == "cancelled"


def test_progress_tells_boxes() -> None:
    seen: list[Progress] = []
    verify(CompiledNetwork(robust_network(RESPONSE.dfa)), RESPONSE, method="prove", progress=seen.append)
    assert any(progress.boxes == (2, 3) for progress in seen)
    assert seen[-1].boxes == (0, 7)


def test_auto_ends_with_a_proof_where_it_costs_little() -> None:
    settings = VerifySettings(search_steps=1_000)
    verdict = verify(CompiledNetwork(robust_network(RESPONSE.dfa)), RESPONSE, settings=settings, **QUICK)
    assert verdict.satisfied
    assert verdict.guarantee is not None
    assert verdict.guarantee.proof
    assert verdict.guarantee.invariant is not None
    assert verdict.guarantee.epsilon is not None  # what the sample showed stands beside it
    other = verify(CompiledNetwork(exact_network(RESPONSE.dfa)), RESPONSE, settings=settings, **QUICK)
    assert other.satisfied
    assert other.guarantee is not None
    assert not other.guarantee.proof


def test_a_certificate_that_cannot_be_written_takes_no_verdict_away(tmp_path: Path) -> None:
    settings = VerifySettings(certificate=str(tmp_path / "nowhere" / "proof.cert"))
    verdict = verify(CompiledNetwork(robust_network(RESPONSE.dfa)), RESPONSE, method="prove", settings=settings)
    assert verdict.satisfied
    assert verdict.guarantee is not None
    assert verdict.guarantee.invariant is not None
    assert verdict.guarantee.invariant.certificate is None
    assert [note.check for note in verdict.health if "not written" in note.message] == ["certificate"]


class Module(torch.nn.Module):
    """A user's own module, with the weights of a robust network."""

    def __init__(self) -> None:
        super().__init__()
        network = robust_network(RESPONSE.dfa)
        layer = network.layers[0]
        self.rnn = torch.nn.RNN(3, layer.hidden, batch_first=True)
        self.out = torch.nn.Linear(layer.hidden, 1)
        with torch.no_grad():
            parts = (layer.input_weight, layer.recurrent_weight, layer.input_bias, layer.recurrent_bias)
            for parameter, part in zip(self.rnn.parameters(), parts, strict=True):
                parameter.copy_(torch.from_numpy(np.asarray(part)))
            self.out.weight.copy_(torch.from_numpy(network.head_weight))
            self.out.bias.copy_(torch.from_numpy(network.head_bias))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.rnn(x)
        return self.out(hidden[:, -1])[:, 0]


def test_of_a_module_the_weights_are_proved_and_the_verdict_says_so(tmp_path: Path) -> None:
    model = wrap(Module().eval(), alphabet=["a", "b", "c"], empty=True)
    verdict = verify(model, RESPONSE, method="prove", relation="equal")
    assert verdict.satisfied, verdict.reason
    assert verdict.guarantee is not None
    assert verdict.guarantee.invariant is not None
    assert not verdict.guarantee.invariant.covers_reference
    assert '"covers_reference": false' in verdict.to_json()
    for text in (str(verdict.guarantee), str(verdict), str(verdict_lines(verdict)[0]), headline(verdict)):
        assert "proved for the weights read from the module" in text
    assert Verdict.from_json(verdict.to_json()) == verdict
    path = tmp_path / "proof.cert"
    certified = verify(
        model, RESPONSE, method="prove", relation="equal", settings=VerifySettings(certificate=str(path))
    )
    certificate = Certificate.from_json(path.read_text())
    replayed = replay(certified, model, ReplaySettings(certificate=certificate))
    assert replayed.status is Status.CONFIRMED
    assert any("for the weights read from the module" in check.seen for check in replayed.checks)
    more = Verdict.from_json(certified.to_json().replace('"covers_reference": false', '"covers_reference": true'))
    assert replay(more, model, ReplaySettings(certificate=certificate)).status is Status.REFUTED
    assert not certified.proved
    required = verify(model, RESPONSE, method="prove", relation="equal", require="proved")
    assert required.exit_code == 3
    assert "weights read from the module, whose code may compute something else" in str(required.shortfall)
    half = certified.to_json().replace('"covers_reference": false', '"covers_reference": true', 1)
    with pytest.raises(FormatError, match="whose weights"):
        Verdict.from_json(half)
    assert replay(half, model, ReplaySettings(certificate=certificate)).status is Status.REFUTED


def test_an_unknown_method_is_still_an_error() -> None:
    with pytest.raises(InputError, match="prove"):
        verify(CompiledNetwork(robust_network(RESPONSE.dfa)), RESPONSE, method="proof")


def test_a_proof_that_looks_ahead_says_so() -> None:
    network = rotating_network()
    spec = Spec.from_regex("(a|b)*", network.alphabet)
    verdict = verify(CompiledNetwork(network), spec, method="prove", relation="equal")
    assert verdict.satisfied
    assert verdict.guarantee is not None
    assert verdict.guarantee.proof
    assert "every word leads into one again within 4 letters, and the network answers" in verdict.reason
    boxes = VerifySettings(proof=ProofSettings(context=1, induction_depth=0))
    assert verify(CompiledNetwork(network), spec, method="prove", relation="equal", settings=boxes).undecided
