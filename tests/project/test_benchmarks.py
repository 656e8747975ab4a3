"""The benchmarks' own command lines."""

import sys

import pytest

from support.paths import ROOT


def test_an_unknown_specification_is_an_error_of_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import certified_training

    for name in ("tomita7", "random-", "random-0", "7"):
        monkeypatch.setattr(sys, "argv", ["certified_training.py", "--results", "none.jsonl", "--specs", name])
        with pytest.raises(SystemExit, match="2"):
            certified_training.main()
        assert f"no specification is called '{name}'; choose response, tomita-4, tomita-7" in capsys.readouterr().err
