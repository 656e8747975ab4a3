"""Python callables as models, and importing them by name."""

from __future__ import annotations

import math
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnncheck.errors import AlphabetError, InputError, ModelError
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.importing import import_model
from rnncheck.models.protocol import Model
from rnncheck.models.wrapping import wrap
from rnncheck.words import Alphabet, WordBatch

AB = Alphabet(["a", "b"])


def even_as(words):
    return [word.count("a") % 2 == 0 for word in words]


def share_of_as(words):
    return [word.count("a") / len(word) if word else 0.0 for word in words]


words_of_ab = st.lists(st.sampled_from("ab"), max_size=12).map(tuple)


@given(st.lists(words_of_ab, max_size=40), st.integers(1, 50))
def test_booleans_come_back_in_order_whatever_the_batch_size(words, size):
    model = wrap(even_as, AB, batch_size=size)
    assert model.accepts_batch(words).tolist() == even_as(words)
    assert [model.accepts(word) for word in words] == even_as(words)


@given(st.lists(words_of_ab, min_size=1, max_size=40), st.sampled_from([0.25, 0.5, 0.75]))
def test_a_number_means_yes_when_it_is_greater_than_the_threshold(words, threshold):
    model = wrap(share_of_as, AB, threshold=threshold)
    assert model.accepts_batch(words).tolist() == [value > threshold for value in share_of_as(words)]
    assert np.allclose(model.scores_batch(words), np.array(share_of_as(words)) - threshold)


def test_the_threshold_itself_is_a_no():
    assert not wrap(lambda words: [0.5] * len(words), AB).accepts(("a",))
    assert wrap(lambda words: [math.nextafter(0.5, 1)] * len(words), AB).accepts(("a",))


@pytest.mark.parametrize(
    "kind",
    [np.array, tuple, list, lambda v: np.array(v)[:, None], iter],
    ids=["array", "tuple", "list", "column", "iter"],
)
def test_answers_may_come_in_any_sequence(kind):
    model = wrap(lambda words: kind(share_of_as(words)), AB)
    assert model.accepts_batch([(), ("a",), ("b",), ("a", "a")]).tolist() == [False, True, False, True]


def test_answers_may_come_as_a_tensor():
    torch = pytest.importorskip("torch")
    model = wrap(lambda words: torch.tensor(share_of_as(words), requires_grad=True), AB)
    assert model.accepts_batch([("a",), ("b",)]).tolist() == [True, False]
    assert wrap(lambda words: torch.tensor(even_as(words)), AB).accepts(("b",))


def test_encoded_batches_are_taken():
    batch = WordBatch.from_codes([(), (0,), (1, 0, 0)])
    assert wrap(even_as, AB).accepts_batch(batch).tolist() == [True, False, True]
    assert wrap(even_as, AB).reference_answer((0, 0))


def test_booleans_have_no_scores():
    assert wrap(even_as, AB).scores_batch([("a",)]) is None


def test_no_call_is_larger_than_the_batch_size():
    sizes = []

    def spy(words):
        sizes.append(len(words))
        return even_as(words)

    wrap(spy, AB, batch_size=3).accepts_batch([("a",)] * 10)
    assert max(sizes) == 3


def test_the_callable_cannot_change_the_words_by_changing_its_list():
    def greedy(words):
        answers = even_as(words)
        words.clear()
        return answers

    assert wrap(greedy, AB).accepts_batch([("a",), ("b",)]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda words: even_as(words)[:-1], "one for each"),
        (lambda words: [*even_as(words), True], "one for each"),
        (lambda words: [math.nan] * len(words), "nan"),
        (lambda words: [np.float32("nan")] * len(words), "nan"),
        (lambda words: ["yes"] * len(words), "'yes'"),
        (lambda words: "y" * len(words), "str"),
        (lambda words: [None] * len(words), "None"),
        (lambda words: [1j] * len(words), "1j"),
        (lambda words: [[0.1, 0.9]] * len(words), r"\[0.1, 0.9\]"),
        (lambda words: dict.fromkeys(words, True), "dict"),
        (lambda words: 3, "TypeError"),
        (lambda words: None, "TypeError"),
    ],
)
def test_nonsense_is_refused(function, message):
    with pytest.raises(ModelError, match=message):
        wrap(function, AB)


def test_nonsense_is_refused_later_too():
    model = wrap(lambda words: [math.nan if len(word) > 90 else 0.0 for word in words], AB)
    with pytest.raises(ModelError, match="nan"):
        model.accepts(("a",) * 91)


def test_an_exception_names_the_word():
    def picky(words):
        if any(word[:2] == ("b", "b") and len(word) == 3 for word in words):
            raise KeyError("bb")
        return even_as(words)

    model = CallableModel(picky, AB, checks=0)
    with pytest.raises(ModelError, match=r"picky raised KeyError: .* for the word 'b b a'") as caught:
        model.accepts_batch([("a",)] * 300 + [("b", "b", "a")] + [("a",)] * 200)
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_exception_of_the_batch_alone_says_so():
    def small(words):
        if len(words) > 3:
            raise RuntimeError
        return even_as(words)

    with pytest.raises(ModelError, match="not for any of them alone"):
        CallableModel(small, AB, checks=0).accepts_batch([("a",)] * 9)


def test_a_function_that_changes_its_mind_is_refused():
    calls = iter(range(10**6))
    with pytest.raises(ModelError, match="always give the same answer"):
        wrap(lambda words: [next(calls) % 3 == 0 for _ in words], AB)


def test_answers_that_depend_on_the_batch_are_asked_one_at_a_time():
    def relative(words):
        longest = max(map(len, words))
        return [len(word) == longest for word in words]

    model = wrap(relative, AB)
    assert model.accepts_batch([(), ("a",), ("a", "b")]).all()
    assert any("each call has one word" in note for note in model.describe()["notes"])


def test_numbers_close_to_the_threshold_are_settled_alone():
    def noisy(words):
        return [0.5 + (1e-9 if len(words) == 1 else -1e-9) * (word == ("a",)) for word in words]

    model = wrap(noisy, AB)
    assert model.accepts(("a",))
    assert model.accepts_batch([("a",), ("b",), ("a",)]).tolist() == [True, False, True]


def test_what_float_noise_there_is_widens_the_margin():
    model = wrap(lambda words: [0.9 + 1e-5 * len(words)] * len(words), AB)
    assert isinstance(model, CallableModel)
    assert model.margin == pytest.approx(100 * 15e-5, rel=1e-3)


@pytest.mark.parametrize(
    "options", [{"threshold": math.nan}, {"threshold": math.inf}, {"batch_size": 0}, {"label": 1}, {"empty": True}]
)
def test_bad_options_are_refused(options):
    with pytest.raises(InputError):
        wrap(even_as, AB, **options)


def test_bad_letters_are_refused():
    with pytest.raises(AlphabetError):
        wrap(even_as, AB).accepts(("z",))
    with pytest.raises(AlphabetError):
        wrap(even_as, ["a", "a"])
    with pytest.raises(InputError, match="alphabet"):
        wrap(even_as)
    with pytest.raises(ModelError, match="neither"):
        wrap(3, AB)


def test_a_model_stays_itself():
    model = wrap(even_as, AB)
    assert wrap(model) is model
    assert wrap(model, AB) is model
    with pytest.raises(InputError, match="alphabet"):
        wrap(model, ["b", "a"])


def test_the_description_says_how_queries_are_answered():
    facts = wrap(even_as, AB, batch_size=7).describe()
    assert facts["name"] == "even_as"
    assert "7" in facts["queries"]


SOURCE = """
    from rnncheck.models.wrapping import wrap

    def ends_with_a(words):
        return [word[-1:] == ("a",) for word in words]

    def make():
        return ends_with_a

    def make_model():
        return wrap(ends_with_a, ["a", "b"])

    def broken():
        raise RuntimeError("no weights")

    class Holder:
        inner = staticmethod(ends_with_a)

    number = 3
"""


@pytest.fixture
def own_code(tmp_path, monkeypatch):
    (tmp_path / "own_code_for_test.py").write_text(textwrap.dedent(SOURCE))
    (tmp_path / "needs_more_for_test.py").write_text("import surely_not_installed\n")
    (tmp_path / "explodes_for_test.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_code_for_test", raising=False)


@pytest.mark.usefixtures("own_code")
class TestImport:
    @pytest.mark.parametrize("name", ["ends_with_a", "make", "make_model", "Holder.inner"])
    def test_a_function_a_factory_and_a_model(self, name):
        before = list(sys.path)
        model = import_model(f"own_code_for_test:{name}", AB)
        assert isinstance(model, Model)
        assert model.accepts_batch([("a",), ("b",), ()]).tolist() == [True, False, False]
        assert sys.path == before

    def test_a_model_brings_its_own_alphabet(self):
        assert import_model("own_code_for_test:make_model").alphabet == AB
        with pytest.raises(InputError, match="alphabet"):
            import_model("own_code_for_test:make")

    @pytest.mark.parametrize(
        ("reference", "message"),
        [
            ("own_code_for_test", "package.module:function"),
            ("own_code_for_test:", "package.module:function"),
            (":make", "package.module:function"),
            ("no_such_module_at_all:make", "no module 'no_such_module_at_all'"),
            ("needs_more_for_test:make", "surely_not_installed"),
            ("explodes_for_test:make", "ZeroDivisionError"),
            ("own_code_for_test:missing", "no 'missing'"),
            ("own_code_for_test:number", "neither"),
            ("own_code_for_test:broken", "no weights"),
            ("own_code_for_test.deep:make", "no module"),
        ],
    )
    def test_errors_name_the_reference_and_the_cause(self, reference, message):
        with pytest.raises(InputError, match=message) as caught:
            import_model(reference, AB)
        assert reference in str(caught.value)


def test_a_model_may_say_its_letters_itself() -> None:
    """Should take them in their order, and refuse others; what is no list of letters says nothing."""

    class Model:
        alphabet = ["b", "a"]  # noqa: RUF012

        def __call__(self, words: list[tuple[str, ...]]) -> list[bool]:
            return [len(word) > 1 for word in words]

    assert wrap(Model()).alphabet == Alphabet(["b", "a"])
    assert wrap(Model(), ["b", "a"]).alphabet == Alphabet(["b", "a"])
    with pytest.raises(InputError, match=r"has the alphabet 'b,a', and 'a,b' was given"):
        wrap(Model(), ["a", "b"])
    Model.alphabet = 26  # type: ignore[assignment]
    with pytest.raises(InputError, match="the alphabet is missing"):
        wrap(Model())
