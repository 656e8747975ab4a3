"""An access log: a network that tells normal sessions from attacks, checked against a rule in LTLf.

The network is trained on labelled sessions: normal ones, and one kind of attack, guessing passwords. It is right on all
test sessions. The rule requires a login before anything is read or written. No session in the data breaks the rule, so
the network never learned it: verification finds this gap in the data.

Run it with ``python examples/access_log.py``. It takes a few seconds and needs the extra ``torch``.
"""

import numpy as np

import rnncheck
from rnncheck.training import LabelledWords, TrainingSettings, train_on_words

LETTERS = rnncheck.Alphabet(["login", "fail", "read", "write", "logout"])
RULE = "!{read write} W login"


def normal_session(rng: np.random.Generator) -> tuple[str, ...]:
    """At most two wrong passwords, then work, then the end."""
    work = rng.choice(["read", "write"], size=rng.integers(0, 8)).tolist()
    return ("fail",) * int(rng.integers(0, 3)) + ("login", *work, "logout")


def attack(rng: np.random.Generator) -> tuple[str, ...]:
    """Many wrong passwords, sometimes with success."""
    guesses = ("fail",) * int(rng.integers(4, 12))
    return (*guesses, "login", "read", "logout") if rng.random() < 0.5 else guesses


def main() -> None:
    rng = np.random.default_rng(0)
    sessions = {normal_session(rng): "yes" for _ in range(600)} | {attack(rng): "no" for _ in range(600)}
    trained = train_on_words(
        LabelledWords.from_pairs(sorted(sessions.items()), LETTERS),
        settings=TrainingSettings(cell=rnncheck.Cell.GRU, hidden=8, epochs=30),
    )
    print(f"the network is right about {trained.report.test_accuracy:.0%} of its test sessions")

    model = rnncheck.CompiledNetwork(trained.network)
    spec = rnncheck.Spec.from_ltlf(RULE, alphabet=model.alphabet)
    verdict = rnncheck.verify(model, spec, timeout=60, settings=rnncheck.VerifySettings(severity_samples=2_000))
    print(f"nothing is read or written before a login: {verdict.outcome.value}")
    if verdict.counterexample is not None:
        print(f"  taken for normal: {rnncheck.format_word(verdict.counterexample)}")
    if verdict.severity is not None:
        low, high = verdict.severity.interval
        print(f"  a random session is such a mistake with probability {low:.2f} to {high:.2f} (95 % interval)")


if __name__ == "__main__":
    main()
