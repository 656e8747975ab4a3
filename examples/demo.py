"""An overview in a minute: verify a network with a fault, look at the fault, check the evidence again,
and prove another network right for every word.

Run it with ``make demo``.
"""

import tempfile
from pathlib import Path

import rnncheck
from rnncheck import zoo


def main() -> None:
    for name in ("response-faulty-lstm", "response-lstm"):
        entry = zoo.entry(name)
        model = rnncheck.load_model(entry.path)
        print(f"\n{name}: {entry.description}")
        print(f"specification: {entry.property_text}\n")
        verdict = rnncheck.verify(model, entry.spec(), timeout=60)
        show(verdict)
        print(f"  replayed        {rnncheck.replay(verdict, model).sentence()}")
    prove("response-provable-lstm")
    print(
        "\nThe same from the command line:\n"
        f"  .venv/bin/rnncheck verify {zoo.entry('response-faulty-lstm').path} \\\n"
        f"      --ltlf '{zoo.entry('response-faulty-lstm').property_text}'"
    )


def prove(name: str) -> None:
    """A network that was trained to be provable: the certificate is written, and checked by code of its own."""
    entry = zoo.entry(name)
    model = rnncheck.load_model(entry.path)
    print(f"\n{name}: {entry.description}\n")
    with tempfile.TemporaryDirectory() as folder:
        certificate = Path(folder, "proof.cert")
        settings = rnncheck.VerifySettings(certificate=str(certificate))
        show(rnncheck.verify(model, entry.spec(), method="prove", relation="equal", settings=settings))
        print(f"  replayed        {rnncheck.replay(certificate.read_text(), model).sentence()}")


def show(verdict: rnncheck.Verdict) -> None:
    print(verdict.outcome.value.upper(), *([] if verdict.strength is None else [f"({verdict.strength.value})"]))
    if verdict.counterexample is not None:
        print(f"  counterexample  {rnncheck.format_word(verdict.counterexample)}")
    print(f"  reason          {verdict.reason}")
    if verdict.guarantee is not None:
        print(f"  known           {verdict.guarantee}")
    for flow in verdict.faulty_flows:
        print(f"  faulty flow     {flow}: {flow.hits} of n = 1 … {flow.pumps}")
    print(f"  cost            {verdict.cost.seconds:.2f} s, {verdict.cost.network_steps} network steps")


if __name__ == "__main__":
    main()
