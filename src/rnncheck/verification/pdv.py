"""Property-directed verification (the paper's Algorithm 3): learn and model-check in turns."""

from __future__ import annotations

from rnncheck.errors import LearningBoundReached
from rnncheck.probability.statistics import round_shown_epsilon
from rnncheck.verdict.value import Outcome
from rnncheck.verification.task import Algorithm, Finding, Task, refine, violated


def pdv(task: Task) -> Algorithm:
    """Check every hypothesis H against A at once; sample R against H only when H satisfies A."""
    learner = task.learner()
    tested = 0
    try:
        while True:
            task.state.hypothesis = hypothesis = learner.hypothesis
            task.state.rounds += 1
            yield
            suspect = task.relation.witness(hypothesis, task.spec)
            if suspect is not None:
                word = task.spec.alphabet.encode(suspect)
                if task.violates(word):
                    return violated(word, "a word of the learned automaton that breaks the property, confirmed")
            else:
                needed = task.words_needed_in_round(tested)
                tested += 1
                passed = 0
                while passed < needed:
                    drawn = task.sampler.draw(needed - passed, hypothesis)
                    if task.confirmed(drawn.violation):
                        return violated(drawn.violation, "a word drawn to test the learned automaton is a violation")
                    if drawn.difference is not None:
                        word = drawn.difference
                        break
                    passed += drawn.words
                    yield
                else:
                    shown = round_shown_epsilon(passed, task.gamma, tested - 1, task.bound)
                    return Finding(
                        Outcome.SATISFIED,
                        f"the learned automaton of {len(hypothesis)} states satisfies the specification, and the model "
                        f"agreed with it on {passed} sampled words",
                        hypothesis_epsilon=shown,
                    )
            refine(learner, word)
    except LearningBoundReached as bound:
        return Finding(Outcome.UNDECIDED, str(bound))
