"""``rnncheck train | inspect | classify``, from arguments to exit code."""

import itertools

import pytest

from rnncheck import zoo

FAULTY = zoo.path("response-faulty-lstm")


def test_train_inspect_classify(run, tmp_path) -> None:
    path = tmp_path / "model.safetensors"
    trained = run(
        "train",
        "--ltlf",
        "G(a -> F b)",
        "--alphabet",
        "a,b,c",
        "--hidden",
        8,
        "--count",
        400,
        "--epochs",
        2,
        "-o",
        path,
    )
    assert trained.code == 0, trained
    assert "test words right" in trained.out
    shown = run("inspect", path)
    assert "lstm" in shown.out
    assert "test accuracy" in shown.out
    assert "stepped" in shown.out
    answer = run("classify", path, "--word", "a b", "--word", "ε")
    assert len(answer.out.splitlines()) == 2
    assert answer.code in (0, 1)


def test_train_on_labelled_words(run, tmp_path) -> None:
    words = tmp_path / "words.tsv"
    lines = [f"{'yes' if 'b' in word else 'no'}\t{' '.join(word)}" for word in _words()]
    words.write_text("\n".join(lines))
    path = tmp_path / "model.safetensors"
    result = run("train", "--words", words, "--cell", "gru", "--hidden", 8, "--epochs", 3, "-o", path)
    assert result.code == 0, result
    assert run("classify", path, "--word", "a b a").code in (0, 1)
    refused = run("train", "--words", words, "--alphabet", "a", "-o", path)
    assert refused.code == 2
    assert "'b'" in refused.err


def _words():
    return [word for n in range(1, 8) for word in itertools.product("ab", repeat=n)]


def test_classify_exits_with_1_for_a_refused_word(run) -> None:
    assert run("classify", FAULTY, "--word", "a b").code == 0
    result = run("classify", FAULTY, "--word", "a")
    assert result.code == 1
    assert result.out.startswith("rejected\t-")


def test_a_module_of_one_s_own(run, tmp_path, monkeypatch) -> None:
    (tmp_path / "mine.py").write_text("def model(words):\n    return [len(word) % 2 == 0 for word in words]\n")
    monkeypatch.chdir(tmp_path)
    assert run("classify", "--module", "mine:model", "--alphabet", "a,b", "--word", "a b").code == 0
    result = run("verify", "--module", "mine:model", "--alphabet", "a,b", "--regex", "(..)*", "--epsilon", 0.05,
                 "--gamma", 0.05)  # fmt: skip
    assert result.code == 0, result


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "-o", "x.safetensors"], "give a specification"),
        (["train", "--ltlf", "a", "-o", "x.safetensors", "--class-weights", "yes=x"], "'x' in 'yes=x' is not a number"),
        (["train", "--ltlf", "a", "-o", "x.safetensors", "--class-weights", "heavy"], "balanced, none"),
        (["train", "--ltlf", "a", "-o", "x.safetensors", "--class-weights", "maybe=2"], "no word is labelled 'maybe'"),
        (["train", "--ltlf", "a", "-o", "x.bin"], "must end in .safetensors"),
        (["train", "--ltlf", "a", "-o", "/nowhere/x.safetensors"], "there is no folder"),
        (["train", "--ltlf", "a", "-o", "x.safetensors", "--resume"], "--checkpoint"),
        (["train", "--words", "absent.tsv", "-o", "x.safetensors"], "absent.tsv"),
        (["inspect", "absent.pt"], "absent.pt"),
        (["classify", FAULTY], "there is no word"),
        (["classify", FAULTY, "--word", "a x"], "unknown letter 'x'"),
        (["classify", FAULTY, "--alphabet", "a,b", "--word", "a"], "alphabet"),
        (["classify", "--module", "nothing_of_the_sort:f", "--alphabet", "a", "--word", "a"], "nothing_of_the_sort"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(run, arguments, message: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.code == 2, result
    assert message in result.err
    assert "Traceback" not in result.err


def test_inspect_leaves_a_space_between_the_name_of_a_fact_and_the_fact(run) -> None:
    """Should be so for the longest names too, such as the validation accuracy of a network that was trained."""
    shown = run("inspect", zoo.path("response-lstm")).out
    assert "validation accuracy " in shown


def test_a_word_in_the_place_of_the_model_is_named(run) -> None:
    """Words stand after --word; the message asked for a model though --module named one."""
    result = run("classify", "--module", "package:name", "a b a")
    assert result.code == 2
    assert "not both (a b a is taken for the MODEL)" in result.err
