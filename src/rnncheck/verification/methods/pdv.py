"""Property-directed verification (the paper's Algorithm 3): learn and model-check in turns."""

from __future__ import annotations

from rnncheck.errors import LearningBoundReached
from rnncheck.learning.equivalence import EquivalenceName
from rnncheck.learning.learning_task import refining
from rnncheck.verdict.facts import Outcome
from rnncheck.verification.verification_task import Algorithm, Finding, Task, violated


def pdv(task: Task, preferred: EquivalenceName = "sampling") -> Algorithm:
    """Check every hypothesis H against A at once; test R against H only when H satisfies A."""
    learner, equivalence = task.learner(), task.equivalence(task.relation, preferred)
    try:
        yield from learner.starting()
        while True:
            task.begin_round(learner)
            hypothesis = learner.hypothesis
            yield None
            suspect = task.prop.witness(hypothesis)
            if suspect is not None:
                word = task.spec.alphabet.encode(suspect)
                if task.violates(word):
                    return violated(word, "a word of the learned automaton that breaks the property, confirmed")
                yield from refining(learner, word)
            else:
                answer = yield from equivalence.find_counterexample(hypothesis)
                if task.confirmed(answer.violation):
                    return violated(answer.violation, "a word queried to test the learned automaton is a violation")
                if answer.counterexample is None:
                    return Finding(
                        Outcome.SATISFIED,
                        f"the learned automaton of {len(hypothesis)} states satisfies the specification, and the model "
                        f"agreed with it on {answer.words} sampled words",
                        hypothesis_epsilon=answer.epsilon,
                    )
                if task.violates(answer.counterexample):
                    return violated(
                        answer.counterexample, "a word queried to test the learned automaton is a violation"
                    )
                yield from refining(learner, answer.counterexample, answer.others)
    except LearningBoundReached as bound:
        return Finding(Outcome.UNDECIDED, str(bound))
