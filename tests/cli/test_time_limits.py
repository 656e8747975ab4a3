"""``--timeout`` covers all that a command does. What hangs here hangs for ever, so no test waits for the clock."""

import json
import socket

import pytest

from rnncheck import Verdict, wrap, zoo
from rnncheck.errors import ResourceLimitError

HANGING = "import time\n\ndef model(words):\n    while True:\n        time.sleep(0.01)\n"
HANGING_ON_IMPORT = "import time\nwhile True:\n    time.sleep(0.01)\n"
HANGING_MODULE = (
    "import time, torch\n\nclass Slow(torch.nn.Module):\n    def forward(self, letters):\n"
    "        while True:\n            time.sleep(0.01)\n\nmodel = Slow()\n"
)


@pytest.fixture
def own_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rnncheck.runtime.watchdog._LONGEST_IMPORT", 0)

    def write(text: str, name: str) -> str:
        (tmp_path / f"{name}.py").write_text(text)
        return f"{name}:model"

    return write


@pytest.mark.parametrize(
    ("text", "name"),
    [(HANGING, "hangs_when_asked"), (HANGING_ON_IMPORT, "hangs_on_import"), (HANGING_MODULE, "hangs_as_a_module")],
)
def test_a_model_that_hangs_while_it_is_wrapped_is_undecided_with_json(run, own_code, tmp_path, text, name) -> None:
    if text is HANGING_MODULE:
        pytest.importorskip("torch")
    out = tmp_path / "verdict.json"
    command = ["verify", "--module", own_code(text, name), "--alphabet", "a,b", "--regex", "a*"]
    result = run(*command, "--timeout", 0, "--json", out)
    assert result.code == 3, result
    verdict = Verdict.from_json(out.read_text())
    assert verdict.undecided
    assert "the time limit was reached while" in verdict.reason
    assert verdict.settings["timeout"] == 0
    assert run("replay", out).code in (0, 3)


def test_a_model_that_hangs_before_it_tells_its_letters_is_undecided_with_a_message(run, own_code) -> None:
    command = ["verify", "--module", own_code(HANGING_ON_IMPORT, "hangs_without_letters"), "--regex", "a*"]
    result = run(*command, "--timeout", 0)
    assert result.code == 3
    assert "the time limit was reached while the model was being loaded" in result.err


def test_replay_gives_up_a_model_that_hangs_while_it_is_wrapped(run, own_code, tmp_path) -> None:
    out = tmp_path / "verdict.json"
    run("verify", zoo.path("even-elman"), "--regex", "(b|(a b* a))*", "--epsilon", 0.1, "--gamma", 0.1, "--json", out)
    assert out.is_file()
    result = run("replay", out, "--module", own_code(HANGING, "hangs_for_replay"), "--timeout", 0)
    assert result.code == 3
    assert result.err.startswith("undecided: the time limit was reached while")
    assert "raise --timeout" in result.err


def test_extract_gives_up_a_model_that_hangs_while_it_is_wrapped(run, own_code, tmp_path) -> None:
    command = ["extract", "--module", own_code(HANGING, "hangs_for_extract"), "--alphabet", "a,b"]
    result = run(*command, "--timeout", 0, "-o", tmp_path / "a.dot")
    assert result.code == 3
    assert "the time limit was reached" in result.err


# The alarm may ring while the garbage collector calls a test library's function; it rings again a second later.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_compiling_a_specification_is_within_the_time_limit(run) -> None:
    command = ["verify", zoo.path("response-lstm"), "--alphabet", "a,b,c", "--ltlf", "at_most(a, 10000)"]
    result = run(*command, "--max-states", 1_000_000, "--timeout", 0, "--json", "-")
    assert result.code == 3, result
    assert "the time limit was reached" in json.loads(result.out)["reason"]


def test_connecting_to_a_cluster_is_within_the_time_limit(run) -> None:
    pytest.importorskip("distributed")
    with socket.socket() as silent:  # takes connections and never says a word
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        command = ["verify", zoo.path("response-lstm"), "--ltlf", "G(a -> F b)", "--alphabet", "a,b,c"]
        result = run(*command, "--cluster", address, "--timeout", 1, "--json", "-")
    assert result.code == 3, result
    assert json.loads(result.out)["verdict"] == "undecided"


def test_wrap_takes_a_time_limit() -> None:
    def hang(words):
        while True:
            pass

    with pytest.raises(ResourceLimitError, match="the time limit was reached while the model was evaluating the word"):
        wrap(hang, ["a", "b"], timeout=0)
