"""A classifier with three labels, checked one label against the others.

``tokens-gru`` of the zoo reads digits, points and signs, and labels the word: an integer, a decimal number, or
malformed. A specification of words needs accept or reject. So each label in turn means accept, and a regular expression
describes the words that should get it. With the relation ``equal`` both kinds of violations are searched: words that
get the label and should not, and words that should get it and do not.

Run it with ``python examples/token_labels.py``.
"""

import rnncheck
from rnncheck import zoo

INTEGER = "sign? digit+"
DECIMAL = "sign? digit* point digit+"
MEANING = {"integer": INTEGER, "decimal": DECIMAL, "malformed": f"!({INTEGER} | {DECIMAL})"}


def main() -> None:
    for label, expression in MEANING.items():
        model = rnncheck.load_model(zoo.path("tokens-gru"), label=label)
        spec = rnncheck.Spec.from_regex(expression, alphabet=model.alphabet)
        settings = rnncheck.VerifySettings(search_steps=100_000)
        verdict = rnncheck.verify(model, spec, relation="equal", epsilon=1e-3, timeout=60, settings=settings)
        print(f"{label} exactly for {expression}: {verdict.outcome.value}")
        if verdict.counterexample is not None:
            word = verdict.counterexample
            mistake = "says so of" if model.accepts(word) else "does not say so of"
            print(f"  the network {mistake} {rnncheck.format_word(word)}")
        elif verdict.guarantee is not None:
            print(f"  {verdict.guarantee}")


if __name__ == "__main__":
    main()
