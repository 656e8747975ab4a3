"""The paper's XML story: a network trained on a language that is not regular, verified against a regular property.

Documents are nested: every ``<a>`` and ``<b>`` is closed by its own tag, in the right order. No automaton can count
the depth; only the data bounds it here (at most 3). The properties are regular: every opening tag
is followed by its closing tag later on, and no tag is closed by the other one at once.

If the network accepts a document that breaks one, the script prints the shortest, and a loop in it that can be pumped.
No violation is well-formed, whatever its depth: the properties follow from the language.

Run it with ``python examples/matching_tags.py``. It needs the extra ``torch``, and trains for a few seconds.
"""

import numpy as np

import rnncheck
from rnncheck.training import LabelledWords, TrainingSettings, train_on_words

TAGS = ("<a>", "</a>", "<b>", "</b>")
CLOSES = {"</a>": "<a>", "</b>": "<b>"}
DEPTH = 3
PROPERTIES = {
    "every opening tag is followed by its closing tag": "G(('<a>' -> F '</a>') & ('<b>' -> F '</b>'))",
    "no tag is closed by the other one at once": "G(('<a>' -> !X '</b>') & ('<b>' -> !X '</a>'))",
}


def well_formed(document: tuple[str, ...]) -> bool:
    """The language itself: a stack, of any depth."""
    opened: list[str] = []
    for tag in document:
        if tag not in CLOSES:
            opened.append(tag)
        elif not opened or opened.pop() != CLOSES[tag]:
            return False
    return not opened


def document(rng: np.random.Generator, pairs: int) -> tuple[str, ...]:
    """A random well-formed document with this number of pairs of tags, at most ``DEPTH`` deep."""
    written: list[str] = []
    opened: list[str] = []
    while pairs or opened:
        if pairs and len(opened) < DEPTH and (not opened or rng.random() < 0.5):
            opened.append(str(rng.choice(["<a>", "<b>"])))
            written.append(opened[-1])
            pairs -= 1
        else:
            written.append(opened.pop().replace("<", "</"))
    return tuple(written)


def damaged(rng: np.random.Generator, word: tuple[str, ...]) -> tuple[str, ...]:
    """The same with one or two tags exchanged for others."""
    tags = list(word)
    for _ in range(int(rng.integers(1, 3))):
        tags[int(rng.integers(len(tags)))] = str(rng.choice(TAGS))
    return tuple(tags)


def main() -> None:
    rng = np.random.default_rng(0)
    good = [document(rng, int(rng.integers(1, 6))) for _ in range(1500)]
    words = {word: well_formed(word) for right in good for word in (right, damaged(rng, right))}
    labelled = LabelledWords.from_pairs(words.items(), rnncheck.Alphabet(TAGS))
    settings = TrainingSettings(cell=rnncheck.Cell.GRU, hidden=24, epochs=25, target_accuracy=0.99, timeout=60)
    trained = train_on_words(labelled, settings=settings)
    print(f"{trained.report.test_accuracy:.0%} of the test documents are answered rightly")
    model = rnncheck.CompiledNetwork(trained.network)
    for name, formula in PROPERTIES.items():
        spec = rnncheck.Spec.from_ltlf(formula, alphabet=model.alphabet)
        verdict = rnncheck.verify(model, spec, method="pdv", epsilon=0.01, gamma=0.01, timeout=60)
        print(f"{name}: {verdict.outcome.value}")
        if verdict.counterexample is not None:
            judged = "well-formed" if well_formed(verdict.counterexample) else "not well-formed"
            print(f"  accepted: {rnncheck.format_word(verdict.counterexample)} ({judged})")
        for flow in verdict.faulty_flows[:1]:
            print(f"  and so with {rnncheck.format_word(flow.loop)} repeated, {flow.hits} of {flow.pumps} times")


if __name__ == "__main__":
    main()
