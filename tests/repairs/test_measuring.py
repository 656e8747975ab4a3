"""What is told of answers that changed: who asked for it."""

import itertools

import numpy as np

from rnncheck import Spec
from rnncheck.automata.regex.regex_compiler import compile_regex
from rnncheck.models.adapters import DFAModel
from rnncheck.relations import Relation
from rnncheck.repairs.measuring import changed_answers
from rnncheck.repairs.own_words import Collection
from rnncheck.repairs.requirements import UNKNOWN, Requirement
from rnncheck.words import Alphabet, WordBatch

AB = Alphabet(["a", "b"])


def test_a_change_is_asked_for_by_a_property_by_a_label_or_by_nobody() -> None:
    """Should be told of every word of up to six letters as brute force tells it, and counted so."""
    before, asked = (compile_regex(text, AB) for text in ("a .*", "!(a a .*)"))
    requirement = Requirement("no two a", Spec.from_dfa(asked), Relation.SUBSET)
    words = [word for n in range(7) for word in itertools.product((0, 1), repeat=n)]
    # Labels of b b (now yes, as labelled), of b b a (no, as ever), and a word without one.
    own = Collection(WordBatch.from_codes([(1, 1), (1, 1, 0), (0, 1)]), np.array([1, 0, UNKNOWN]), "mine")
    after = compile_regex("(a b .*) | b b | b a", AB)
    changes = changed_answers(DFAModel(before), DFAModel(after), [requirement], words, AB, ("no", "yes"), own)
    told = {each.word: (each.required, each.labelled) for each in changes.shortest}
    for word in [word for n in range(4) for word in itertools.product("ab", repeat=n)]:
        then, now = before.accepts(word), after.accepts(word)
        assert (word in told) == (then != now)
        if then != now:
            assert told[word] == (then and not asked.accepts(word), word == ("b", "b"))
    assert changes.labelled == 1
    reasons = {each.word: each.why for each in changes.shortest}
    assert reasons["a", "a"] == "required by a property"
    assert reasons["b", "b"] == "your label"
    assert reasons["b", "a"] == "required by neither a property nor a label of yours"
    assert "1 by your labels" in changes.reasons()
