"""Weights for a module in a file, and names for its outputs, from the command line."""

from __future__ import annotations

import importlib
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

MODULE = """
import torch

class Net(torch.nn.Module):
    alphabet = ["a", "b"]
    def __init__(self, outputs):
        super().__init__()
        self.recurrent = torch.nn.GRU(2, 3, batch_first=True)
        self.head = torch.nn.Linear(3, outputs)
    def forward(self, words):
        return self.head(self.recurrent(words)[0][:, -1])

def one():
    torch.manual_seed(0)
    return Net(1)

def three():
    torch.manual_seed(0)
    return Net(3)

def named():
    net = three()
    net.labels = ["idle", "busy", "alarm"]
    return net

def untrained():
    torch.seed()
    return Net(1)

def function(words):
    return [True] * len(words)
"""
QUICK = ("--quiet", "--epsilon", "0.3", "--method", "smc")


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module in the current folder, with weights that say yes to all words, and to none."""
    name = f"net_of_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for file, bias in (("yes.pt", 9.0), ("no.pt", -9.0)):
        built = importlib.import_module(name).one()
        torch.nn.init.zeros_(built.head.weight)
        torch.nn.init.constant_(built.head.bias, bias)
        torch.save(built.state_dict(), file)
    return name


def test_the_weights_decide(net: str, run: Any) -> None:
    """Should be those of the file, whatever the code built, for every command that takes a module."""
    module = ("--module", f"{net}:one")
    words = ("--assume", "regex:. .*", "--ltlf", "false")
    assert run("verify", *module, "--state", "no.pt", *words, *QUICK).code == 0
    assert run("verify", *module, "--state", "yes.pt", *words, *QUICK, "--json", "v.json").code == 1
    few = ("--words", "50")
    assert run("replay", "v.json", *module, "--state", "yes.pt", *few).code == 0
    assert run("replay", "v.json", *module, "--state", "no.pt", *few).code == 2
    assert (
        run("classify", *module, "--state", "yes.pt", "--word", "a b").out
        != run("classify", *module, "--state", "no.pt", "--word", "a b").out
    )
    both = ("--old-module", f"{net}:one", "--new-module", f"{net}:one")
    assert run("diff", *both, "--old-state", "yes.pt", "--new-state", "yes.pt", *QUICK).code == 0
    differing = ("--old-state", "yes.pt", "--new-state", "no.pt", "--json", "diff.json", *QUICK)
    assert run("diff", *both, *differing).code == 1
    again = ("replay", "diff.json", *module, "--state", "no.pt", "--against-module", f"{net}:one")
    assert run(*again, "--against-state", "yes.pt", *few).code == 0
    assert run(*again, "--against-state", "no.pt", *few).code == 2
    assert "--against-module" in run(*again[:-2], "--against-state", "yes.pt", *few).err


def test_a_property_file_names_them(net: str, run: Any) -> None:
    assert run("init", "--module", f"{net}:one", "--state", "yes.pt", "-o", "started.toml").code == 0
    assert 'state = "yes.pt"' in Path("started.toml").read_text()
    models = "".join(f'[models.{name}]\nmodule = "{net}:one"\nstate = "{name}.pt"\n' for name in ("yes", "no"))
    terms = 'ltlf = "false"\nassume = "regex:. .*"\nepsilon = 0.1\nsearch_steps = 2000\n'
    Path("suite.toml").write_text(f"{models}[properties.none]\n{terms}")
    run("check", "suite.toml", "--quiet", "--json", "checked.json")
    outcomes = {
        one["model"]: one["verdict"]["verdict"] for one in json.loads(Path("checked.json").read_text())["checks"]
    }
    assert outcomes == {"yes": "violated", "no": "satisfied"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["inspect", "--module", "NET:one", "--state", "none.pt"], "none.pt"),
        (["inspect", "--module", "NET:three", "--label", "0", "--state", "yes.pt"], "not the weights of the module"),
        (["inspect", "--module", "NET:function", "--alphabet", "a,b", "--state", "yes.pt"], "is not a PyTorch module"),
        (["inspect", "yes.pt", "--alphabet", "a,b", "--state", "no.pt"], "--state has no effect without --module"),
        (["inspect", "--module", "NET:three", "--label", "busy"], "labels=[…], --labels"),
        (["inspect", "--module", "NET:named", "--label", "lazy"], "there are idle, busy, alarm"),
        (["inspect", "--module", "NET:three", "--label", "0", "--labels", "idle,busy"], "2 label names for 3 outputs"),
        (["inspect", "--module", "NET:one", "--labels", "idle,busy"], "2 label names for 1 outputs"),
    ],
)
def test_what_does_not_fit_is_one_line(net: str, run: Any, arguments: list[str], said: str) -> None:
    result = run(*(text.replace("NET", net) for text in arguments))
    assert result.code == 2
    assert said in result.err


def test_names_in_the_place_of_numbers(net: str, run: Any) -> None:
    """Should be shown, chosen by, and named in specifications, from the option or from the module itself."""
    given = ("--module", f"{net}:three", "--labels", "idle,busy,alarm")
    own = ("--module", f"{net}:named")
    for module in (given, own):
        assert "busy" in run("inspect", *module, "--label", "busy").out
        assert run("verify", *module, "--trace-ltlf", "G label=lazy", *QUICK).code == 2
    same = run(
        "diff",
        "--old-module",
        f"{net}:three",
        "--new-module",
        f"{net}:three",
        "--labels",
        "idle,busy,alarm",
        *QUICK,
        "--max-length",
        "6",
    )
    assert same.code == 0, same.err
    mixed = run("diff", "--old-module", f"{net}:one", "--new-module", f"{net}:three", *QUICK)
    assert mixed.code == 2
    assert "choose the one that means yes" in mixed.err
    asked = run("diff", "--old-module", f"{net}:three", "--new-module", f"{net}:three", "--ltlf", "G a", *QUICK)
    assert asked.code == 2


def test_labels_can_be_looked_at_before_one_is_chosen(net: str, run: Any) -> None:
    """Should show what there is to choose from, and say it where one is needed."""
    shown = run("inspect", "--module", f"{net}:named", "--alphabet", "a,b")
    assert shown.code == 0
    assert "idle, busy, alarm" in shown.out
    assert not re.search(r"^ *label ", shown.out, re.MULTILINE)
    asked = run("verify", "--module", f"{net}:named", "--ltlf", "F a")
    assert asked.code == 2
    assert "choose the one that means yes, idle or busy or alarm" in asked.err


def test_a_model_of_several_labels_is_asked_without_choosing_one(net: str, run: Any) -> None:
    """Should say the label of each word, and how far it is ahead: by the module itself."""
    module = importlib.import_module(net).named()
    result = run("classify", "--module", f"{net}:named", "--word", "a b", "--word", "b", "--word", "")
    assert result.code == 0
    rows = [line.split("\t") for line in result.out.splitlines()]
    for (label, lead, text), letters in zip(rows, [[0, 1], [1]], strict=False):
        outputs = module(torch.nn.functional.one_hot(torch.tensor([letters]), 2).float())[0]
        assert label == module.labels[int(outputs.argmax())]
        best, second = outputs.topk(2).values.tolist()
        assert float(lead) == pytest.approx(best - second, abs=2e-4)
        assert text == " ".join("ab"[letter] for letter in letters)
    assert rows[2] == ["no label", "", "ε"]


def test_a_property_file_to_begin_with_needs_no_label(net: str, run: Any) -> None:
    assert run("init", "--module", f"{net}:named", "-o", "labels.toml").code == 0
    text = Path("labels.toml").read_text()
    assert '# label = "idle"' in text
    assert "trace_ltlf" in text
    text = text.replace("epsilon = 0.01", 'epsilon = 0.3\nmethod = "smc"').replace(
        "# max_length = 200", "max_length = 4  #"
    )
    Path("labels.toml").write_text(text)
    assert run("check", "labels.toml", "--quiet", "--json", "checked.json").code in (0, 1)
    (one,) = json.loads(Path("checked.json").read_text())["checks"]
    assert one["verdict"]["label_question"]["labels"] == ["idle", "busy", "alarm"]
    # The same file with a property of yes and no says which label must be chosen, and why.
    Path("labels.toml").write_text(text.replace("# [properties.another]\n# regex", "[properties.another]\nregex"))
    assert run("check", "labels.toml", "--quiet", "--json", "checked.json").code == 2
    errors = [one["error"] for one in json.loads(Path("checked.json").read_text())["checks"]]
    assert errors[0] is None
    assert "idle or busy or alarm" in errors[1]


def test_what_accept_means_is_said(net: str, run: Any) -> None:
    asked = ("--module", f"{net}:named", "--label", "busy", "--ltlf", "F a", *QUICK)
    result = run("verify", *asked, "--report", "page.html")
    meaning = "the network accepts where it outputs busy, and rejects where it outputs idle or alarm"
    assert meaning in result.out
    top = Path("page.html").read_text().partition('id="meaning"')[0]
    assert meaning[1:] in top
    terms = 'label = "alarm"\n[properties.a]\nltlf = "false"\nassume = "regex:. .*"\nepsilon = 0.3\nmethod = "smc"\n'
    Path("suite.toml").write_text(f'[models.net]\nmodule = "{net}:named"\n{terms}')
    run("check", "suite.toml", "--quiet", "--junit", "junit.xml")
    assert "the network accepts it (outputs alarm), the specification rejects it" in Path("junit.xml").read_text()
    assert "accepts where" not in run("verify", "--module", f"{net}:one", "--ltlf", "F a", *QUICK).out


def test_random_weights_are_noted(net: str, run: Any) -> None:
    """Should be said of a function that builds another network each time, and of no other."""
    asked = ("--ltlf", "F a", *QUICK, "--json", "verdict.json")
    reported = {}
    for name, more in (("untrained", ()), ("untrained", ("--state", "yes.pt")), ("one", ()), ("function", ())):
        letters = ("--alphabet", "a,b") if name == "function" else ()
        result = run("verify", "--module", f"{net}:{name}", *more, *letters, *asked)
        noted = any("random" in note["message"] for note in json.loads(Path("verdict.json").read_text())["health"])
        assert noted == ("the weights are random" in result.out)
        reported[name, more] = noted
    assert reported == {key: key == ("untrained", ()) for key in reported}


def test_a_page_names_the_code_of_its_own_run_and_a_document_does_not(net: str, run: Any) -> None:
    asked = ("--module", f"{net}:one", "--state", "yes.pt", "--ltlf", "F a", *QUICK)
    run("verify", *asked, "--report", "own.html", "--json", "verdict.json")
    page = Path("own.html").read_text()
    assert f"rnncheck verify --module {net}:one --state yes.pt" in page
    assert f"rnncheck replay verdict.json --module {net}:one --state yes.pt" in page
    run("report", "verdict.json", "--report", "later.html")
    assert "--module MODULE:NAME --state yes.pt" in Path("later.html").read_text()
    both = ("--old-module", f"{net}:one", "--new-module", f"{net}:one", "--old-state", "yes.pt", "--new-state", "no.pt")
    Path("data.txt").write_text("a b\nb\n")
    run("diff", *both, *QUICK, "--on-data", "data.txt", "--report", "diff.html", "--json", "diff.json")
    page = Path("diff.html").read_text()
    again = f"--module {net}:one --state no.pt --against-module {net}:one --against-state yes.pt"
    assert f"rnncheck replay diff.json {again}" in page
    assert f"{net}:one with the weights of yes.pt" in page
    assert "answer of the old model" in page
    first = json.loads(Path("diff.json").read_text())["data"]["first"]
    assert [(each["old"], each["new"]) for each in first] == [("yes", "no")] * 2
    words = shlex.split(again)
    assert run("replay", "diff.json", *words, "--words", "20", "--on-data", "data.txt").code == 0


def test_two_networks_are_compared_by_labels_with_properties_of_labels(net: str, run: Any) -> None:
    short = ("--max-length", "4")
    both = ("--old-module", f"{net}:named", "--new-module", f"{net}:named", *QUICK, *short, "--json", "diff.json")
    assert run("diff", *both, "--trace-ltlf", "G !label=alarm").code == 0
    (change,) = json.loads(Path("diff.json").read_text())["comparison"]["properties"]
    assert change["text"] == "G !label=alarm"
    assert change["old"] == change["new"]
    Path("suite.toml").write_text('[properties.never]\ntrace_ltlf = "G !label=alarm"\n')
    assert run("diff", *both, "--spec", "suite.toml").code == 0
    refused = run("diff", *both, "--ltlf", "F a")
    assert refused.code == 2
    assert "idle or busy or alarm" in refused.err
    assert "--trace-ltlf" in refused.err


def test_a_note_of_two_models_is_told_once(net: str, run: Any) -> None:
    both = ("--old-module", f"{net}:one", "--new-module", f"{net}:one", *QUICK)
    assert run("diff", *both).out.count("does not take the empty word") == 1
