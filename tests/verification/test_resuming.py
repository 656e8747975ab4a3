"""An interrupted verification goes on from its checkpoint and ends as if nothing had happened."""

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rnncheck import Spec, VerifySettings, verify, zoo
from rnncheck.errors import FormatError, InputError
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.oracle import MembershipOracle
from rnncheck.oracle.journal import Journal
from support.killing import STAGES, kill_inside_writes
from support.networks import random_network

METHODS = ["smc", "pdv", "aamc", "auto"]
NETWORK = zoo.entry("even-elman").network()
OPTIONS = {"epsilon": 0.02, "gamma": 0.02, "seed": 3}
FEW = {"search_steps": 100_000}


def reported(verdict) -> tuple[object, ...]:
    """What must not depend on the interruption."""
    return (
        verdict.outcome, verdict.reason, verdict.counterexample, verdict.guarantee, verdict.hypothesis,
        verdict.cost.membership_queries, verdict.cost.rounds, [str(flow) for flow in verdict.faulty_flows],
    )  # fmt: skip


class Counting(CompiledNetwork):
    """Counts the letters that it reads, and ends the run after a given number."""

    def __init__(self, *arguments, most: float = np.inf, **options) -> None:
        self.letters, self.most = 0, np.inf
        super().__init__(*arguments, **options)
        self.letters, self.most = 0, most

    def prefix_scores(self, words, tick=lambda rows: None):
        self.count(len(words.codes))
        return super().prefix_scores(words, tick)

    def step(self, states, letters, rows=None):
        self.count(len(letters))
        return super().step(states, letters, rows)

    def count(self, letters: int) -> None:
        self.letters += letters
        if self.letters > self.most:
            raise KeyboardInterrupt


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "regex", ["(b* a b* a)* b*", "b*", pytest.param("(b* a b* a b* a b* a)* b*", marks=pytest.mark.slow)]
)
def test_an_interrupted_run_ends_like_an_uninterrupted_one(tmp_path, method, regex) -> None:
    spec = Spec.from_regex(regex, NETWORK.alphabet)
    whole = Counting(NETWORK, threads=1)
    expected = reported(verify(whole, spec, method=method, settings=VerifySettings(**FEW), **OPTIONS))
    file = str(tmp_path / "run.checkpoint")
    for part, share in enumerate((0.2, 0.5, 0.8)):
        broken = Counting(NETWORK, threads=1, most=share * whole.letters)
        settings = VerifySettings(checkpoint=file, checkpoint_seconds=0.0, resume=part > 0, **FEW)
        verify(broken, spec, method=method, settings=settings, **OPTIONS)
    settings = VerifySettings(checkpoint=file, resume=True, **FEW)
    assert reported(verify(Counting(NETWORK, threads=1), spec, method=method, settings=settings, **OPTIONS)) == expected


@pytest.mark.parametrize("method", ["smc", "pdv", "aamc"])
def test_what_was_answered_is_not_asked_again(tmp_path, method) -> None:
    spec = Spec.from_regex("(b* a b* a)* b*", NETWORK.alphabet)
    settings = {"checkpoint": str(tmp_path / "run.checkpoint"), "checkpoint_seconds": 0.0}
    first = Counting(NETWORK, threads=1)
    verdict = verify(first, spec, method=method, relation="equal", settings=VerifySettings(**settings), **OPTIONS)
    again = Counting(NETWORK, threads=1)
    resumed = verify(
        again, spec, method=method, relation="equal", settings=VerifySettings(**settings, resume=True), **OPTIONS
    )
    assert reported(resumed) == reported(verdict)
    assert again.letters < 0.5 * first.letters


@pytest.mark.parametrize(
    "changed",
    [{"seed": 4}, {"epsilon": 0.01}, {"method": "smc"}, {"relation": "equal"}],
    ids=lambda changed: next(iter(changed)),
)
def test_a_checkpoint_belongs_to_one_question(tmp_path, changed) -> None:
    spec = Spec.from_regex("(b* a b* a)* b*", NETWORK.alphabet)
    model = CompiledNetwork(NETWORK, threads=1)
    file = str(tmp_path / "run.checkpoint")
    verify(model, spec, method="pdv", settings=VerifySettings(checkpoint=file), **OPTIONS)
    before = Path(file).read_bytes()
    options = {"method": "pdv", **OPTIONS, **changed}
    with pytest.raises(InputError, match=next(iter(changed))):
        verify(model, spec, **options, settings=VerifySettings(checkpoint=file, resume=True))
    assert Path(file).read_bytes() == before


def test_another_network_or_property_is_refused(tmp_path) -> None:
    spec = Spec.from_regex("(b* a b* a)* b*", NETWORK.alphabet)
    file = str(tmp_path / "run.checkpoint")
    verify(CompiledNetwork(NETWORK), spec, method="smc", settings=VerifySettings(checkpoint=file), **OPTIONS)
    resume = VerifySettings(checkpoint=file, resume=True)
    with pytest.raises(InputError, match="its model is"):
        verify(
            CompiledNetwork(random_network(hidden=(10,), seed=1, alphabet=NETWORK.alphabet)),
            spec,
            method="smc",
            settings=resume,
            **OPTIONS,
        )
    other = Spec.from_regex("b*", NETWORK.alphabet)
    with pytest.raises(InputError, match="its spec is"):
        verify(CompiledNetwork(NETWORK), other, method="smc", settings=resume, **OPTIONS)


def test_missing_and_damaged_checkpoints_are_named(tmp_path) -> None:
    spec = Spec.from_regex("(b* a b* a)* b*", NETWORK.alphabet)
    model = CompiledNetwork(NETWORK)
    file = tmp_path / "run.checkpoint"
    resume = VerifySettings(checkpoint=str(file), resume=True)
    with pytest.raises(InputError, match="no checkpoint to resume"):
        verify(model, spec, settings=resume)
    with pytest.raises(InputError, match="--checkpoint"):
        verify(model, spec, settings=VerifySettings(resume=True))
    verify(model, spec, method="smc", settings=VerifySettings(checkpoint=str(file)), **OPTIONS)
    content = file.read_bytes()
    for damaged in (content[:-1], content[:50], b"", content[:60] + b"x" + content[61:], b"\n" * 40):
        file.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"run\.checkpoint"):
            verify(model, spec, method="smc", settings=resume, **OPTIONS)


def test_a_journal_never_changes_an_answer() -> None:
    """Other questions than those written down are asked of the model."""
    model = CompiledNetwork(NETWORK, threads=1)
    words = [word for length in range(8) for word in itertools.product(range(2), repeat=length)]
    journal = Journal()
    first = MembershipOracle(model, journal=journal)
    right = first.answers(words)
    for asked in (words[::-1], words[:100], words[50:], words):
        again = MembershipOracle(model, journal=Journal(journal.content()))
        expected = [right[words.index(word)] for word in asked]
        assert again.answers(asked).tolist() == expected


def test_a_full_journal_keeps_what_it_has() -> None:
    model = CompiledNetwork(NETWORK, threads=1)
    journal = Journal(most_bytes=60)
    oracle = MembershipOracle(model, journal=journal)
    answers = [oracle.answers([word]) for word in itertools.product(range(2), repeat=4)]
    kept = Journal(journal.content())
    assert 0 < len(journal.content()) <= 60
    again = MembershipOracle(model, journal=kept)
    assert [again.answers([word]).tolist() for word in itertools.product(range(2), repeat=4)] == [
        answer.tolist() for answer in answers
    ]


@pytest.mark.parametrize("writes", [(1, 3), pytest.param(range(1, 5), marks=pytest.mark.slow)], ids=["few", "many"])
def test_a_run_killed_inside_its_writes_goes_on(tmp_path, writes) -> None:
    """SIGKILL at every stage of writing the checkpoint; then to the end, with the verdict of a calm run."""
    file = tmp_path / "run.checkpoint"
    script = (
        "import sys, rnncheck\nfrom rnncheck import zoo, VerifySettings\nentry = zoo.entry('tokens-gru')\nimport "
        "os\nfile = sys.argv[1]\nsettings = VerifySettings(checkpoint=file, checkpoint_seconds=0.0, "
        "resume=os.path.exists(file))\nmodel = rnncheck.load_model(entry.path, threads=1)\nverdict = "
        "rnncheck.verify(model, entry.spec(), method='aamc', settings=settings)\nprint(verdict.outcome.value, "
        "verdict.guarantee.samples, len(verdict.hypothesis))\n"
    )
    command = [sys.executable, "-c", script]
    calm = subprocess.run([*command, tmp_path / "calm"], capture_output=True, text=True, check=True, timeout=300).stdout
    moments = list(itertools.product(STAGES, writes))
    for stage, write in kill_inside_writes([*command, file], tmp_path / "hooks", moments):
        assert file.exists() or stage != "after rename", f"{stage}, write {write}"
    final = subprocess.run([*command, file], capture_output=True, text=True, check=True, timeout=300).stdout
    assert final == calm
    assert list(tmp_path.glob("*.part")) == []


def test_from_the_command_line(tmp_path, capsys) -> None:
    from rnncheck.cli import main

    def run(*more: str) -> str:
        arguments = ["verify", str(zoo.path("even-elman")), "--regex", "(b* a b* a)* b*", "--method", "pdv", "--quiet"]
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--checkpoint", str(tmp_path / "c"), *more])
        assert ended.value.code == 0
        out = capsys.readouterr().out
        return "\n".join(line for line in out.splitlines() if "cost" not in line)

    assert run() == run("--resume")
