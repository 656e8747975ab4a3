"""Commands that have options in common."""

from __future__ import annotations

ONE_MODEL = (
    *("verify", "prove", "robust", "repair", "harden", "inspect", "classify", "extract", "init"),
    "compare-surrogates",
)
WITH_MODEL = (*ONE_MODEL, "diff", "replay")
ONE_SPEC = (
    *("verify", "prove", "robust", "train", "harden", "compare-surrogates"),
    *("spec show", "spec test", "spec convert", "spec near"),
)
LEARNING = ("verify", "diff", "extract", "compare-surrogates")
DRAWING_WORDS = (*LEARNING, "prove", "repair")
EXPERIMENTS = ("bench random", "bench contacts")
CONTACT_FILES = ("contacts info", "contacts check", "contacts spec", "contacts dataset")
