"""The names that others may rely on."""

import rnncheck

PUBLIC = {
    "Alphabet",
    "DFA",
    "DFAModel",
    "RnncheckError",
    "Spec",
    "Verdict",
    "VerifySettings",
    "WordDistribution",
    "__version__",
    "assert_satisfies",
    "complement",
    "extract_automaton",
    "format_word",
    "load_model",
    "parse_word",
    "verify",
    "wrap",
}


def test_all_names_the_public_surface() -> None:
    assert set(rnncheck.__all__) == PUBLIC
    assert len(set(rnncheck.__all__)) == len(rnncheck.__all__)
    for name in rnncheck.__all__:
        assert getattr(rnncheck, name) is not None


def test_public_classes_and_functions_are_documented() -> None:
    for name in PUBLIC - {"__version__"}:
        assert (getattr(rnncheck, name).__doc__ or "").strip(), name
