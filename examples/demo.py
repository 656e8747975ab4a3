"""The main job in a minute: verify a network that has a fault, look at the fault, and check the evidence again.

Run it with ``make demo``.
"""

import click

import rnncheck
from rnncheck import zoo
from rnncheck.cli.verdict_text import described
from rnncheck.verdict.replay import replay


def main() -> None:
    for name in ("response-faulty-lstm", "response-lstm"):
        entry = zoo.entry(name)
        model = rnncheck.load_model(entry.path)
        print(f"\n{name}: {entry.description}")
        print(f"specification: {entry.property_text}\n")
        verdict = rnncheck.verify(model, entry.spec(), timeout=60)
        click.echo("\n".join(described(verdict)))
        print(f"  replayed        {replay(verdict.to_json(), model).sentence()}")
    print(
        "\nThe same from the command line:\n"
        f"  .venv/bin/rnncheck verify {zoo.entry('response-faulty-lstm').path} \\\n"
        f"      --ltlf '{zoo.entry('response-faulty-lstm').property_text}'"
    )


if __name__ == "__main__":
    main()
