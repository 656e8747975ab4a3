"""The paper's XML case: letters are tags, and every opening tag should be followed by its closing tag later on.

``xml-lstm`` of the zoo was trained on well-formed documents: lists of books, each with a title and authors. It accepts
a document when its probability is above 0.5. To miss no document, you may lower that threshold. The script
verifies the same three properties at both thresholds, and shows which tag is then no longer closed.

Run it with ``python examples/xml_tags.py``.
"""

import rnncheck
from rnncheck import zoo

TAGS = ("book", "title", "author")
THRESHOLDS = (0.5, 0.07)


def main() -> None:
    for threshold in THRESHOLDS:
        model = rnncheck.load_model(zoo.path("xml-lstm"), threshold=threshold)
        print(f"accepting above {threshold}:")
        for tag in TAGS:
            spec = rnncheck.Spec.from_ltlf(f"G('<{tag}>' -> F '</{tag}>')", alphabet=model.alphabet)
            settings = rnncheck.VerifySettings(search_steps=200_000)
            verdict = rnncheck.verify(model, spec, epsilon=2e-3, timeout=60, settings=settings)
            print(f"  every <{tag}> is followed by </{tag}>: {verdict.outcome.value}")
            if verdict.counterexample is not None:
                print(f"    not in {rnncheck.format_word(verdict.counterexample)}")


if __name__ == "__main__":
    main()
